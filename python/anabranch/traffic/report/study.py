"""Traces studied for a report: verdicts over bin widths, capacities and what they are worth, percentiles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.base import units
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
        """The verdict at a nominal width in seconds, if there is one."""
        return next((verdict for verdict in self.sweep.verdicts if nominal(verdict.bin_s) == bin_s), None)

    def promise(self, method: str, epsilon: float, bin_s: float) -> Promise | None:
        """A capacity at a nominal width in seconds, if the method has one."""
        wanted = (method, epsilon, nominal(bin_s))
        return next((one for one in self.promises if (one.method, one.epsilon, nominal(one.bin_s)) == wanted), None)

    @property
    def dimensioned(self) -> list[float]:
        """The nominal widths of Figure 6: the paper's, or the trace's own if it has none of them."""
        found = sorted({nominal(one.bin_s) for one in self.promises})
        return [one for one in found if one in DIMENSION_WIDTHS] or found

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


def nominal(bin_s: float) -> float:
    """A bin width to three digits: hosts that are polled every 299.9 and every 300.1 s are polled every 300 s.

    Examples
    --------
    >>> nominal(300.4), nominal(0.033333)
    (300.0, 0.0333)
    """
    return float(f"{bin_s:.3g}")


def width(bin_s: float) -> str:
    """Write a bin width."""
    return units.time(nominal(bin_s) * SECOND)


def datasets(traces: Sequence[Trace]) -> list[str]:
    """The sets of traces, in order."""
    return list(dict.fromkeys(trace.dataset for trace in traces))


def widths(traces: Sequence[Trace]) -> list[float]:
    """Every nominal bin width of the traces, finest first."""
    return sorted({nominal(verdict.bin_s) for trace in traces for verdict in trace.sweep.verdicts})


def study(
    traces: Sequence[Sequence[Volumes]],
    *,
    widths: Sequence[float] = sweeps.WIDTHS,
    epsilons: Sequence[float] = EPSILONS,
    capacity_bps: float | None = None,
    sets: Sequence[str] | None = None,
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
    sets
        For each trace the name of the set to which it belongs; default: all to one.
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
    named = ["all traces"] * len(traces) if sets is None else sets
    made: list[Trace] = []
    without: list[str] = []
    for dataset, given in zip(named, traces, strict=True):
        name = given[0].name
        told(name)
        series = [one for one in given if int(one.is_known.sum()) >= sweeps.BINS_MIN]
        if not series:
            without.append(f"{name}: fewer than {sweeps.BINS_MIN} bins")
            continue
        if not any(one.known().any() for one in series):
            without.append(f"{name}: no traffic")
            continue
        found = sweeps.sweep(series, widths=widths, capacity_bps=capacity_bps)
        made.append(_trace(len(made) + 1, dataset, series, found, epsilons))
    if not made:
        raise AnabranchError("nothing to report: " + "; ".join(without), hint="longer series, or finer bins")
    return made, without


def _trace(number: int, dataset: str, series: Sequence[Volumes], found: Sweep, epsilons: Sequence[float]) -> Trace:
    made = {verdict.bin_s: sweeps.at(series, verdict.bin_s) for verdict in found.verdicts}
    volumes = {bin_s: one for bin_s, one in made.items() if not isinstance(one, str)}
    partial = Trace(number, series[0].name, dataset, volumes, found, (), 0.0, {})
    dimensioned = {w: one for w in DIMENSION_WIDTHS if not isinstance(one := sweeps.at(series, w), str)} or volumes
    # Figure 5 and the table show the main width, whether Figure 6 has it or not.
    dimensioned = {**dimensioned, partial.main.bin_s: partial.main_volumes}
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


def folders(files: Sequence[Path]) -> list[str]:
    """Name the sets of traces by the folders of their files, where there are several.

    Examples
    --------
    >>> folders([Path("a/x.csv"), Path("b/y.csv")]), folders([Path("a/x.csv"), Path("a/y.csv")])
    (['a', 'b'], ['all traces', 'all traces'])
    """
    parents = [file.resolve().parent for file in files]
    names = Counter(parent.name for parent in set(parents))
    if len(set(parents)) == 1:
        return ["all traces"] * len(files)
    return [parent.name if names[parent.name] == 1 else str(parent) for parent in parents]
