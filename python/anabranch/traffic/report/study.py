"""Traces studied for a report: verdicts over bin widths, capacities and what they are worth, percentiles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch import units
from anabranch.errors import AnabranchError
from anabranch.traffic import sweep as sweeps
from anabranch.traffic.bill import quantile
from anabranch.traffic.dimension import Capacity, dimension
from anabranch.traffic.fit import Fitted
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anabranch.traffic.series import Volumes
    from anabranch.traffic.sweep import Sweep, Verdict

MAIN = 0.1
"""The width in seconds at which the paper shows one width only: each trace is shown at its own closest one."""

DIMENSION_WIDTHS = (0.1, 0.5, 1.0)
"""Bin widths of the paper's Figure 6, in seconds; a trace that has none of them is dimensioned at its own."""

EPSILONS = (0.5, 0.1, 0.05, 0.01)
"""Shares of bins that may exceed a capacity, as in the paper's Figure 6."""

MODELS = ("lognormal", "weibull", "normal")
"""Models whose quantiles the paper uses."""

PERCENTILE = 95.0
"""Billed percentile, in per cent."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A capacity and how often it was exceeded.

    Attributes
    ----------
    method
        One of `anabranch.traffic.dimension.METHODS`.
    bin_s, epsilon
        Width of the bins in seconds, and the share of them that was to exceed at most.
    bps
        Capacity by all bins, in bits per second.
    share
        Share of all bins at or above it: epsilon-hat (eq. 7), as in the paper.
    held_out
        The same with the last third of the bins held out: fitted to the others, counted on these.
    """

    method: str
    bin_s: float
    epsilon: float
    bps: float
    share: float
    held_out: float | None

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {name: getattr(self, name) for name in ("method", "bin_s", "epsilon", "bps", "share", "held_out")}


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One trace.

    Attributes
    ----------
    number
        Its place in the report, from 1.
    name, dataset
        What it is called, and the set of traces that it belongs to.
    volumes
        By width in seconds: the series of each verdict.
    sweep
        Verdicts over the widths.
    promises
        Capacities.
    actual_bps, predicted_bps
        The 95th percentile of the rates at the main width (nearest rank), and by model the fitted one.
    """

    number: int
    name: str
    dataset: str
    volumes: Mapping[float, Volumes]
    sweep: Sweep
    promises: Sequence[Promise]
    actual_bps: float
    predicted_bps: Mapping[str, float]

    @property
    def main(self) -> Verdict:
        """The verdict at the width that is closest to 100 ms."""
        return min(self.sweep.verdicts, key=lambda verdict: abs(np.log(verdict.bin_s / MAIN)))

    @property
    def main_volumes(self) -> Volumes:
        """The series of that verdict."""
        return self.volumes[self.main.bin_s]

    @property
    def anomalous(self) -> bool:
        """Whether an outage, idle times or saturation were found at the main width."""
        return bool(self.main.anomalies)

    def at(self, bin_s: float) -> Verdict | None:
        """The verdict at a width in seconds, if there is one."""
        return next((verdict for verdict in self.sweep.verdicts if verdict.bin_s == bin_s), None)

    def promise(self, method: str, epsilon: float, bin_s: float) -> Promise | None:
        """A capacity, if the method has one."""
        wanted = (method, epsilon, bin_s)
        return next((one for one in self.promises if (one.method, one.epsilon, one.bin_s) == wanted), None)

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "number": self.number,
            "dataset": self.dataset,
            **self.sweep.as_json(),
            "promises": [one.as_json() for one in self.promises],
            "percentile": {"actual_bps": self.actual_bps, **self.predicted_bps},
        }


def gamma(verdict: Verdict | None, model: str) -> float | None:
    """The linear correlation coefficient of a model at one width, if it has a fit."""
    found = None if verdict is None else verdict.study.fits.get(model)
    return found.gamma if isinstance(found, Fitted) else None


def width(bin_s: float) -> str:
    """Write a bin width."""
    return units.time(bin_s * SECOND)


def datasets(traces: Sequence[Trace]) -> list[str]:
    """The sets of traces, in order."""
    return list(dict.fromkeys(trace.dataset for trace in traces))


def widths(traces: Sequence[Trace]) -> list[float]:
    """Every bin width of the traces, finest first."""
    return sorted({verdict.bin_s for trace in traces for verdict in trace.sweep.verdicts})


def study(
    traces: Sequence[Sequence[Volumes]],
    *,
    widths: Sequence[float] = sweeps.WIDTHS,
    epsilons: Sequence[float] = EPSILONS,
    capacity_bps: float | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> tuple[list[Trace], list[str]]:
    """Study traces for a report.

    Parameters
    ----------
    traces
        For each trace its series, of one width or of several.
    widths
        Bin widths in seconds; a trace of which none can be made is studied at its own.
    epsilons
        Shares of bins that may exceed a capacity, each between 0 and 1.
    capacity_bps
        Capacity of the links, if it is known.
    told
        Told the name of each trace before it is studied.

    Returns
    -------
    tuple[list[Trace], list[str]]
        The traces, and why others are not among them.

    Raises
    ------
    AnabranchError
        If nothing could be studied.
    """
    named = dict(zip(map(id, traces), _datasets([series[0] for series in traces]), strict=True))
    made: list[Trace] = []
    without: list[str] = []
    for series in traces:
        name = series[0].name
        told(name)
        if all(int(one.is_known.sum()) < sweeps.BINS_MIN for one in series):
            without.append(f"{name}: fewer than {sweeps.BINS_MIN} bins")
            continue
        if not any(one.known().any() for one in series):
            without.append(f"{name}: no traffic")
            continue
        found = sweeps.sweep(series, widths=widths, capacity_bps=capacity_bps)
        made.append(_trace(len(made) + 1, named[id(series)], series, found, epsilons))
    if not made:
        raise AnabranchError("nothing to report: " + "; ".join(without), hint="longer series, or finer bins")
    return made, without


def _trace(number: int, dataset: str, series: Sequence[Volumes], found: Sweep, epsilons: Sequence[float]) -> Trace:
    volumes = {}
    for verdict in found.verdicts:
        made = sweeps.at(series, verdict.bin_s)
        # A series that is studied at its own width may be too short for `at`.
        volumes[verdict.bin_s] = (
            next(one for one in series if one.bin_s == verdict.bin_s) if isinstance(made, str) else made
        )
    dimensioned = {w: one for w in DIMENSION_WIDTHS if not isinstance(one := sweeps.at(series, w), str)} or volumes
    partial = Trace(number, series[0].name, dataset, volumes, found, (), 0.0, {})
    rates = partial.main_volumes.rates()
    fits = partial.main.study.fits
    return Trace(
        number=number,
        name=series[0].name,
        dataset=dataset,
        volumes=volumes,
        sweep=found,
        promises=[one for v in dimensioned.values() for epsilon in epsilons for one in _promises(v, epsilon)],
        actual_bps=quantile(rates, PERCENTILE)[0],
        predicted_bps={
            name: fitted.quantile(PERCENTILE / 100) for name in MODELS if isinstance(fitted := fits.get(name), Fitted)
        },
    )


def _promises(volumes: Volumes, epsilon: float) -> list[Promise]:
    whole = dimension(volumes, epsilon=epsilon, held_out=0)
    split = dimension(volumes, epsilon=epsilon)
    later = {c.method: c.held_out for c in split.capacities if isinstance(c, Capacity)}
    made = []
    for capacity in whole.capacities:
        if isinstance(capacity, Inconclusive):
            continue
        unseen = later.get(capacity.method)
        held_out = None if unseen is None else unseen.share
        made.append(Promise(capacity.method, volumes.bin_s, epsilon, capacity.bps, capacity.in_sample.share, held_out))
    return made


def _datasets(series: Sequence[Volumes]) -> list[str]:
    """To which set each trace belongs: the folder of its file where there are several, and else the whole."""
    folders = [Path(one.source.split(", ")[0]).resolve().parent for one in series]
    names = Counter(folder.name for folder in set(folders))
    if len(names) < 2:  # noqa: PLR2004 - one folder tells nothing apart
        return ["all traces"] * len(series)
    return [folder.name if names[folder.name] == 1 else str(folder) for folder in folders]
