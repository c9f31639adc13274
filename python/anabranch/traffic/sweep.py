"""Every verdict over a sweep of bin widths: which distribution is best depends on the width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.base import units
from anabranch.traffic import tails
from anabranch.traffic.anomalies import anomalies
from anabranch.traffic.fit import Fitted, fit, variation
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND, Volumes
from anabranch.traffic.shape import modes
from anabranch.traffic.stationarity import stationarity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.traffic.anomalies import Anomaly
    from anabranch.traffic.fit import Study
    from anabranch.traffic.stationarity import Stationarity
    from anabranch.traffic.tails import Rule, Tail

WIDTHS = (0.005, 0.1, 1.0, 5.0)
"""The paper's bin widths, in seconds."""

BINS_MIN = 50
"""Fewer bins than this are not fitted: no test could tell the models apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Everything at one bin width.

    Attributes
    ----------
    bin_s
        Width in seconds.
    study
        Fits and comparisons.
    tails
        The power law under each rule for where its tail begins.
    anomalies
        Spikes at zero or at the top.
    stationarity
        ADF and KPSS, or why not.
    missing
        Bins of which nothing is known; they are no part of anything else.
    modes
        Rates at which the density has its modes, in bits per second: several are no single model's.
    """

    bin_s: float
    study: Study
    tails: Mapping[Rule, Tail | Inconclusive]
    anomalies: Sequence[Anomaly]
    stationarity: Stationarity | Inconclusive
    missing: int
    modes: tuple[float, ...]

    @property
    def multimodal(self) -> str:
        """A clause about several modes; empty if there is one."""
        if len(self.modes) <= 1:
            return ""
        *others, last = (units.rate(mode) for mode in self.modes)
        where = f"{', '.join(others)} and {last}"
        return f"the density has {len(self.modes)} modes, at {where}, which no single model describes"

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""

        def shown(value: Tail | Stationarity | Inconclusive) -> dict[str, Any]:
            return {"inconclusive": value.reason} if isinstance(value, Inconclusive) else value.as_json()

        return {
            "bin_s": self.bin_s,
            "missing": self.missing,
            "modes": list(self.modes),
            **self.study.as_json(),
            "tails": {rule: shown(tail) for rule, tail in self.tails.items()},
            "anomalies": [anomaly.as_json() for anomaly in self.anomalies],
            "stationarity": shown(self.stationarity),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One trace at several bin widths.

    Attributes
    ----------
    name
        Name of the trace.
    verdicts
        One for each width that could be made, finest first.
    skipped
        Width in seconds and reason for each that could not.
    """

    name: str
    verdicts: Sequence[Verdict]
    skipped: Sequence[tuple[float, str]]

    def variation(self, model: str) -> float | Inconclusive:
        """How much gamma of a model varies over the widths, eq. 2 of the paper."""
        fits = [verdict.study.fits.get(model) for verdict in self.verdicts]
        return variation([found.gamma for found in fits if isinstance(found, Fitted)])

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = list(self.verdicts[0].study.fits) if self.verdicts else []
        found = {name: self.variation(name) for name in names}
        return {
            "name": self.name,
            "widths": [verdict.as_json() for verdict in self.verdicts],
            "skipped": [{"bin_s": width, "reason": reason} for width, reason in self.skipped],
            "gamma_variation": {
                name: {"inconclusive": v.reason} if isinstance(v, Inconclusive) else v for name, v in found.items()
            },
        }


def verdict(volumes: Volumes, *, capacity_bps: float | None = None) -> Verdict:
    """Study one series at the width it has."""
    return Verdict(
        bin_s=volumes.bin_s,
        study=fit(volumes),
        tails={rule: tails.clauset(volumes, rule) for rule in tails.RULES},
        anomalies=anomalies(volumes, capacity_bps=capacity_bps),
        stationarity=stationarity(volumes),
        missing=int(volumes.missing.sum()),
        modes=modes(volumes.rates()),
    )


def sweep(
    series: Volumes | Sequence[Volumes], *, widths: Sequence[float] = WIDTHS, capacity_bps: float | None = None
) -> Sweep:
    """Study a trace at several bin widths.

    Parameters
    ----------
    series
        A series, or several of the same trace with different widths. A width is made from the series of that width, or
        from the widest of which it is a multiple.
    widths
        Widths in seconds. A series of which none can be made is studied at its own.
    capacity_bps
        Capacity of the link, if it is known.

    Returns
    -------
    Sweep
        Verdicts, none if the series is too short for any, and the widths that could not be made.
    """
    given = [series] if isinstance(series, Volumes) else list(series)
    verdicts: list[Verdict] = []
    skipped: list[tuple[float, str]] = []
    for width in sorted(widths):
        made = at(given, width)
        if isinstance(made, str):
            skipped.append((width, made))
        else:
            verdicts.append(verdict(made, capacity_bps=capacity_bps))
    if not verdicts:
        for one in given:
            known = int(one.is_known.sum())
            if known >= BINS_MIN:
                verdicts.append(verdict(one, capacity_bps=capacity_bps))
            else:
                skipped.append((one.bin_s, f"{known} bins: at least {BINS_MIN} are needed"))
    return Sweep(given[0].name, verdicts, skipped)


def at(given: Sequence[Volumes], width: float) -> Volumes | str:
    """A trace at a width in seconds: from the widest of its series that makes it; or why it cannot be made."""
    wanted = round(width * SECOND)
    fitting = [one for one in given if wanted % one.bin_ns == 0]
    if not fitting:
        finest = min(one.bin_ns for one in given)
        return f"bins of {units.time(finest)} do not make bins of {units.time(wanted)}"
    made = max(fitting, key=lambda one: one.bin_ns).at(width)
    known = int(made.is_known.sum())
    return made if known >= BINS_MIN else f"{known} bins: at least {BINS_MIN} are needed"
