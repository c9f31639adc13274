"""Which distribution? The paper's Figures 1, 2 and 4: likelihood ratios and correlation coefficients of all traces."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch.showing.figures import Axis, Figure, Panel, Reference
from anabranch.traffic import tails
from anabranch.traffic.outcome import LEVEL, Inconclusive
from anabranch.traffic.report.frames import label, letters, panel, series
from anabranch.traffic.report.study import datasets, gamma, width, widths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.traffic.report.study import Trace
    from anabranch.traffic.sweep import Verdict
    from anabranch.traffic.tails import Rule

ALTERNATIVES = ("lognormal", "weibull", "exponential")
"""What the power law is compared with in Figure 1."""

CORRELATED = ("lognormal", "normal")
"""Models of Figure 4."""

GOOD = 0.95
"""Above this gamma the paper calls a fit good."""

RULES: tuple[tuple[Rule, str], ...] = (("whole", "x_min: the smallest volume"), ("fitted", "x_min fitted"))
"""Rules for where the tail begins, of which the paper does not say which it used, and their names."""

SPREAD = "one standard deviation over traces"

RATIO = Axis("normalised log-likelihood ratio R")
NUMBER = Axis("trace")


def figures(traces: Sequence[Trace]) -> list[Figure]:
    """Figures 1, 2 and 4."""
    return [_alternatives(traces), _over_widths(traces), _correlation(traces)]


def _places(traces: Sequence[Trace]) -> Iterator[tuple[str, Rule, str]]:
    """Every rule and set of traces, with a caption."""
    sets = datasets(traces)
    for rule, name in RULES:
        for dataset in sets:
            yield dataset, rule, f"{dataset}, {name}" if len(sets) > 1 else name


def _point(trace: Trace, verdict: Verdict, rule: Rule, alternative: str) -> dict[str, Any] | None:
    """R of the power law against an alternative; circled if the test does not decide."""
    tail = verdict.tails[rule]
    if isinstance(tail, Inconclusive):
        return None
    test = tail.against[alternative]
    if isinstance(test, Inconclusive):
        # The best alternative is where it becomes the power law: the ratio is nothing, and says nothing.
        same = {"x": trace.number, "y": 0.0, "ring": True, "name": trace.name}
        return same if tails.same(test) else None
    return {"x": trace.number, "y": test.r, "ring": test.p >= LEVEL, "name": trace.name}


def _alternatives(traces: Sequence[Trace]) -> Figure:
    panels = []
    places = list(_places(traces))
    for key, (dataset, rule, caption) in zip(letters(len(places)), places, strict=True):
        rows = [
            {"series": label(name)} | found
            for name in ALTERNATIVES
            for trace in traces
            if trace.dataset == dataset and (found := _point(trace, trace.main, rule, name)) is not None
        ]
        panels.append(_ratios(rows, [label(name) for name in ALTERNATIVES], key, caption))
    caption = f"Power law against other models: normalised log-likelihood ratios, T = {_mains(traces)}"
    return Figure("1", caption, tuple(panels), columns=len(datasets(traces)) if len(datasets(traces)) > 1 else None)


def _over_widths(traces: Sequence[Trace]) -> Figure:
    panels = []
    shown = [width(w) for w in widths(traces)]
    places = list(_places(traces))
    for key, (dataset, rule, caption) in zip(letters(len(places)), places, strict=True):
        rows = [
            {"series": width(verdict.bin_s)} | found
            for trace in traces
            if trace.dataset == dataset
            for verdict in trace.sweep.verdicts
            if (found := _point(trace, verdict, rule, "lognormal")) is not None
        ]
        panels.append(_ratios(rows, shown, key, caption))
    caption = "Power law against log-normal at every bin width"
    return Figure("2", caption, tuple(panels), columns=len(datasets(traces)) if len(datasets(traces)) > 1 else None)


def _ratios(rows: Sequence[dict[str, Any]], labels: Sequence[str], key: str, caption: str) -> Panel:
    ends = (Reference(0.0),)
    return panel("points", rows, series(labels), x=NUMBER, y=RATIO, key=key, caption=caption, references=ends)


def _mains(traces: Sequence[Trace]) -> str:
    found = sorted({trace.main.bin_s for trace in traces})
    return " or ".join(map(width, found[:3])) + (" ..." if len(found) > 3 else "")  # noqa: PLR2004 - a caption is short


def _correlation(traces: Sequence[Trace]) -> Figure:
    """Gamma of the traces in ascending order, its variation over the widths, and its mean at each."""
    sets = datasets(traces)
    rows: list[tuple[str, Panel]] = []
    made = []
    for dataset in sets:
        own = [trace for trace in traces if trace.dataset == dataset]
        of = f"{dataset}: " if len(sets) > 1 else ""
        made += [(f"{of}{label(model)}", _ranked(own, model)) for model in CORRELATED]
        made += [(f"{of}variation over T (eq. 2)", _variations(own)), (f"{of}mean over traces", _means(own))]
    rows = [(caption, one) for caption, one in made if one.data.height]
    keyed = [
        replace(one, key=key, caption=caption) for key, (caption, one) in zip(letters(len(rows)), rows, strict=True)
    ]
    return Figure("4", "Linear correlation coefficient of the traces at every bin width", tuple(keyed), columns=2)


def _ranked(traces: Sequence[Trace], model: str) -> Panel:
    rows = []
    for bin_s in widths(traces):
        found = sorted((g, t.name) for t in traces if (g := gamma(t.at(bin_s), model)) is not None)
        rows += [
            {"series": width(bin_s), "x": rank, "y": value, "name": name}
            for rank, (value, name) in enumerate(found, start=1)
        ]
    shown = series(map(width, widths(traces)))
    x, good = Axis("traces, ordered by gamma"), (Reference(GOOD),)
    return panel("points", rows, shown, x=x, y=_gammas(rows), references=good)


def _gammas(rows: Sequence[dict[str, Any]]) -> Axis:
    """An axis from below the least gamma to 1."""
    least = min((row["y"] for row in rows), default=0.0)
    return Axis("gamma", domain=(math.floor(10 * least - 0.01) / 10, 1.0))


def _variations(traces: Sequence[Trace]) -> Panel:
    rows = []
    for model in CORRELATED:
        found = sorted((v, t.name) for t in traces if isinstance(v := t.sweep.variation(model), float))
        rows += [
            {"series": label(model), "x": rank, "y": value, "name": name}
            for rank, (value, name) in enumerate(found, start=1)
        ]
    shown = series(map(label, CORRELATED))
    return panel("points", rows, shown, x=Axis("traces, ordered by variation"), y=Axis("variation of gamma"))


def _means(traces: Sequence[Trace]) -> Panel:
    rows = []
    for bin_s in widths(traces):
        for model in CORRELATED:
            found = [g for t in traces if (g := gamma(t.at(bin_s), model)) is not None]
            if found:
                mean, spread = statistics.mean(found), statistics.stdev(found) if len(found) > 1 else None
                ends = {} if spread is None else {"low": mean - spread, "high": mean + spread}
                rows.append({"series": label(model), "x": width(bin_s), "y": mean} | ends)
    shown = series(map(label, CORRELATED))
    return panel("bars", rows, shown, x=Axis("T"), y=Axis("gamma"), references=(Reference(GOOD),), interval=SPREAD)
