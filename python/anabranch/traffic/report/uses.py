"""What the models are good for: the paper's Figures 3, 5, 6 and 7 and its Table I."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError
from anabranch.showing.figures import Axis, Figure, Reference
from anabranch.traffic.forecast import nrmse
from anabranch.traffic.report import single
from anabranch.traffic.report.frames import label, letters, panel, scale, series
from anabranch.traffic.report.study import MODELS, datasets, gamma, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.report.study import Promise, Trace

METHODS = ("lognormal", "weibull", "meent")
"""Methods of Figures 5 and 6."""

ERROR = "standard error of the distance from epsilon"

PAIR = 2
"""Values that have a spread."""


def chosen(names: Sequence[str], wanted: str) -> int:
    """The place of the trace that somebody wants to see, by its name or its number from 1.

    Examples
    --------
    >>> chosen(["a", "b"], "b"), chosen(["a", "b"], "1")
    (1, 0)

    Raises
    ------
    AnabranchError
        If no trace has that name or number, or several have the name.
    """
    found = [place for place, name in enumerate(names) if name == wanted]
    if not found and wanted in {str(number) for number in range(1, len(names) + 1)}:
        return int(wanted) - 1
    if len(found) == 1:
        return found[0]
    if found:
        raise AnabranchError(f"{len(found)} traces are named {wanted!r}", hint=f"say its number: {found[0] + 1}")
    raise AnabranchError(f"no trace {wanted!r}", hint="one of " + ", ".join(names[:8]))


def normal_and_anomalous(traces: Sequence[Trace], shown: str | None = None) -> tuple[Trace, Trace | None]:
    """The traces of Figures 3 and 5: the one that a log-normal fits best, and the most anomalous one, if there is one.

    Parameters
    ----------
    traces
        All traces.
    shown
        Name or number of the trace to show instead of the first.

    Raises
    ------
    AnabranchError
        If that is not one trace.
    """
    odd = max(
        (t for t in traces if t.anomalous), key=lambda t: max(one.share for one in t.main.anomalies), default=None
    )
    if shown is not None:
        return traces[chosen([trace.name for trace in traces], shown)], odd
    calm = [trace for trace in traces if not trace.anomalous] or list(traces)
    return max(calm, key=lambda trace: gamma(trace.main, "lognormal") or 0.0), odd


def densities(good: Trace, odd: Trace | None) -> Figure:
    """Figure 3: the density of an anomalous trace, and of one that is not."""
    shown = [good] if odd is None or odd is good else [odd, good]
    panels = []
    for key, trace in zip(letters(len(shown)), shown, strict=True):
        kinds = " and ".join(dict.fromkeys(anomaly.kind for anomaly in trace.main.anomalies))
        caption = f"{trace.name}, T = {width(trace.main.bin_s)}: {kinds or 'not anomalous'}"
        panels.append(single.density(trace, key=key, caption=caption))
    normal = "two anomalous traces" if good.anomalous else "an anomalous and of a normal trace"
    title = f"Density of the rates of {normal}" if len(panels) > 1 else "Density of the rates"
    return Figure("3", title, tuple(panels))


def capacities(trace: Trace, epsilon: float) -> Figure:
    """Figure 5: the rate of a trace, and the capacity that each method asks for."""
    caption = f"Rate of {trace.name} and capacities for epsilon = {epsilon:g}"
    return Figure("5", caption, (single.rate(trace, epsilon, METHODS),))


def exceedance(traces: Sequence[Trace], epsilons: Sequence[float], *, held_out: bool) -> Figure | None:
    """Figure 6: mean epsilon-hat over the traces of a set, with the standard error of its distance from epsilon."""
    panels = []
    bins = sorted({bin_s for trace in traces for bin_s in trace.dimensioned})
    shown = series(map(width, bins))
    cells = [(method, epsilon) for method in METHODS for epsilon in epsilons]
    for key, (method, epsilon) in zip(letters(len(cells)), cells, strict=True):
        rows = []
        for dataset in datasets(traces):
            own = [trace for trace in traces if trace.dataset == dataset]
            for bin_s in bins:
                at = [trace for trace in own if bin_s in trace.dimensioned]
                found = [p for trace in at if (p := trace.promise(method, epsilon, bin_s)) is not None]
                shares = [share for p in found if (share := _share(p, held_out=held_out)) is not None]
                if not shares:
                    continue
                mean = statistics.mean(shares)
                off = [abs(share - epsilon) for share in shares]
                error = statistics.stdev(off) / len(off) ** 0.5 if len(off) >= PAIR else None
                ends = {} if error is None else {"low": max(0.0, mean - error), "high": mean + error}
                rows.append({"series": width(bin_s), "x": dataset, "y": mean} | ends)
        caption = f"{label(method)}, epsilon = {epsilon:g}"
        panels.append(
            panel(
                "bars",
                rows,
                shown,
                x=Axis(""),
                y=Axis("mean epsilon-hat"),
                key=key,
                caption=caption,
                references=(Reference(epsilon),),
                interval=ERROR,
            )
        )
    if not any(one.data.height for one in panels):
        return None
    if held_out:
        title = "The same with the capacities of the first two thirds, on the last third"
        return Figure("6-held-out", title, tuple(panels), columns=len(epsilons), label="Figure 6, held out")
    return Figure("6", "Share of bins that exceed the capacity", tuple(panels), columns=len(epsilons))


def _share(promise: Promise, *, held_out: bool) -> float | None:
    return promise.held_out if held_out else promise.share


def percentiles(traces: Sequence[Trace]) -> Figure | None:
    """Figure 7: the 95th percentile that models predict against the actual one; None if no model predicts one."""
    told = [trace for trace in traces if trace.actual_bps > 0 and any(bps > 0 for bps in trace.predicted_bps.values())]
    if not told:
        return None
    sets = datasets(told)
    panels = []
    for key, dataset in zip(letters(len(sets)), sets, strict=True):
        own = [trace for trace in told if trace.dataset == dataset]
        unit, name = scale(max(trace.actual_bps for trace in own))
        rows = [
            {"series": label(model), "x": trace.actual_bps / unit, "y": bps / unit, "name": trace.name}
            for model in MODELS
            for trace in own
            if (bps := trace.predicted_bps.get(model, 0.0)) > 0
        ]
        caption = dataset if len(sets) > 1 else ""
        shown = series(map(label, MODELS))
        panels.append(
            panel(
                "points",
                rows,
                shown,
                x=Axis(f"actual ({name})", log=True),
                y=Axis(f"predicted ({name})", log=True),
                key=key,
                caption=caption,
                references=(Reference(),),
            )
        )
    return Figure("7", "95th percentile: predicted against actual rates", tuple(panels))


@dataclass(frozen=True, slots=True)
class Goodness:
    """A row of Table I.

    Attributes
    ----------
    model
        Name of the model.
    nrmse
        By set of traces: the root mean squared error of the predicted 95th percentile over the standard deviation of
        the actual ones; None where there are fewer than two traces, or all are alike.
    median
        By set of traces: the median of the relative error, without sign.
    """

    model: str
    nrmse: dict[str, float | None]
    median: dict[str, float]


def table(traces: Sequence[Trace]) -> list[Goodness]:
    """Table I: how well the models predict the 95th percentile."""
    rows = []
    for model in MODELS:
        found: dict[str, float | None] = {}
        median: dict[str, float] = {}
        for dataset in datasets(traces):
            own = [t for t in traces if t.dataset == dataset and model in t.predicted_bps and t.actual_bps > 0]
            actual, predicted = [t.actual_bps for t in own], [t.predicted_bps[model] for t in own]
            found[dataset] = nrmse(actual, predicted) if len(set(actual)) >= PAIR else None
            if own:
                median[dataset] = statistics.median(abs(p / a - 1) for a, p in zip(actual, predicted, strict=True))
        rows.append(Goodness(model, found, median))
    return rows
