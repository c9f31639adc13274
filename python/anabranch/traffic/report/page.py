"""The report: one HTML file that works offline, with the paper's figures for any set of traces."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from anabranch.base import targets
from anabranch.showing.figures import Figure, html
from anabranch.showing.figures import write as write_figure
from anabranch.showing.report.page import asset, environment, script_json, vega
from anabranch.traffic import tails
from anabranch.traffic.fit import KS_WARN, Fitted
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.report import distribution, single, uses
from anabranch.traffic.report.findings import findings
from anabranch.traffic.report.frames import label
from anabranch.traffic.report.study import EPSILONS, datasets, gamma, width, widths
from anabranch.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.traffic.report.study import Trace
    from anabranch.traffic.sweep import Verdict
    from anabranch.traffic.tails import Rule

MOST_DETAILS = 24
"""Traces with charts of their own; the others have their row of the table."""

EPSILON = 0.01
"""Share of bins that exceed the capacities of the table and of Figure 5; the smallest one, if this is not asked for."""

KEYS = {
    "1": "Each point is a trace. R < 0: the other model is more likely than the power law; R > 0: less. Circled: the "
    "test does not decide (p ≥ 0.1), or the model is most likely where it becomes the power law (R = 0). Where there "
    "is no point there is no ratio.",
    "2": "Each point is a trace at one bin width; circled: the test does not decide (p ≥ 0.1).",
    "3": "Histogram of the mean rates of bins, empty ones included, and the densities of the fitted models.",
    "4": "Red: 0.95, above which the paper calls a fit good. Bars: mean and standard deviation over the traces.",
    "5": "In the legend: the capacity, and the share of the bins at or above it (epsilon-hat, eq. 7).",
    "6": "At 100 ms, 500 ms and 1 s, or else at the trace’s own width. Mean over the traces; lines: standard error of "
    "the distance from epsilon (red). Fitted to and counted on the "
    "same bins, as in the paper.",
    "6-held-out": "Below the red line too much capacity is bought, above it the promise is broken.",
    "7": "Each point is a trace at the width of Figure 1; red: predictions that are right. Both are of the same bins.",
}
"""What each figure shows, for the reader."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report holds.

    Attributes
    ----------
    traces
        The traces.
    figures
        The paper's figures of them.
    epsilon
        Share of bins that exceed the capacities of the table and of Figure 5.
    notes
        What should be known first.
    command
        The command that makes it.
    """

    traces: Sequence[Trace]
    figures: Sequence[Figure]
    epsilon: float
    notes: Sequence[str]
    command: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Every number as JSON values."""
        rows = uses.table(self.traces)
        return {
            "traces": [trace.as_json() for trace in self.traces],
            "table_1": [{"model": r.model, "nrmse": r.nrmse, "median_error": r.median} for r in rows],
            "notes": list(self.notes),
        }


def make(
    traces: Sequence[Trace],
    *,
    epsilons: Sequence[float] = EPSILONS,
    shown: str | None = None,
    notes: Sequence[str] = (),
    command: Sequence[str] = (),
) -> Report:
    """Draw the paper's figures of some traces.

    Parameters
    ----------
    traces
        Of `anabranch.traffic.report.study`.
    epsilons
        Shares of bins that may exceed a capacity, as they were studied.
    shown
        Name or number of the trace of Figures 3 and 5; default: the one without anomalies that a log-normal fits best.
    notes
        What should be known first.
    command
        The command that makes the report, for its last section.

    Raises
    ------
    AnabranchError
        If no trace has the name.
    """
    epsilon = EPSILON if EPSILON in epsilons else min(epsilons)
    if len(traces) == 1:
        # Figures that compare traces would have one point each; the trace's own are drawn with its verdicts.
        uses.normal_and_anomalous(traces, shown)
        return Report(traces, (), epsilon, notes, command)
    good, odd = uses.normal_and_anomalous(traces, shown)
    one, two, four = distribution.figures(traces)
    drawn = [one, two, uses.densities(good, odd), four]
    drawn.append(uses.capacities(good, epsilon))
    drawn += [f for held_out in (False, True) if (f := uses.exceedance(traces, epsilons, held_out=held_out))]
    drawn += [f for f in (uses.percentiles(traces),) if f]
    return Report(traces, drawn, epsilon, notes, command)


def write_figures(report: Report, folder: Path) -> None:
    """Write every figure as SVG and PDF, and its data as CSV; of a report of one trace, the trace's own."""
    for figure in report.figures or [_own(trace, report.epsilon) for trace in report.traces]:
        write_figure(folder, figure)


def write(report: Report, file: Path) -> None:
    """Write the page, which appears when it is complete."""
    page = render(report)
    with targets.whole(file) as draft:
        # Names of files that are no text (surrogates) are no text in UTF-8 either.
        draft.write_text(page, encoding="utf-8", errors="replace")


def render(report: Report) -> str:
    """Make the page: one HTML document without references to anything outside itself."""
    templates = environment("traffic.report", "showing.figures")
    templates.globals.update(width=width)
    specs: list[Mapping[str, Any]] = []
    figures = [html.place(figure, specs, key=KEYS[figure.number]) for figure in report.figures]
    details = [_details(trace, specs, report.epsilon) for trace in report.traces[:MOST_DETAILS]]
    return templates.get_template("traffic.html.j2").render(
        title=_title(report.traces),
        findings=findings(report.traces, report.epsilon),
        facts=_facts(report),
        notes=report.notes,
        rows=[_row(trace, report.epsilon) for trace in report.traces],
        several=len(datasets(report.traces)) > 1,
        epsilon=f"{report.epsilon:g}",
        figures=figures,
        datasets=datasets(report.traces),
        table=[(label(row.model), row) for row in uses.table(report.traces)] if len(report.traces) > 1 else [],
        details=details,
        more=len(report.traces) - len(details),
        command=shlex.join(report.command),
        version=__version__,
        css=Markup(asset("report.css") + asset("traffic.css", package="anabranch.traffic.report")),  # noqa: S704 - ours
        js=Markup(asset("report.js")),  # noqa: S704
        vega=vega(),
        specs=script_json(specs),
    )


def _title(traces: Sequence[Trace]) -> str:
    return traces[0].name if len(traces) == 1 else f"{len(traces)} traces"


def _facts(report: Report) -> list[tuple[str, str]]:
    sets = datasets(report.traces)
    counts = Counter(trace.dataset for trace in report.traces)
    return [
        ("Traces", ", ".join(f"{name}: {counts[name]}" for name in sets) if len(sets) > 1 else str(len(report.traces))),
        ("Bin widths T", ", ".join(map(width, widths(report.traces)))),
        (
            "Capacities for epsilon",
            ", ".join(f"{e:g}" for e in sorted({p.epsilon for t in report.traces for p in t.promises})),
        ),
    ]


def _row(trace: Trace, epsilon: float) -> dict[str, Any]:
    """A row of the table of traces."""
    verdict = trace.main
    promise = next(
        (p for p in trace.promises if p.method == "lognormal" and p.epsilon == epsilon and p.bin_s == verdict.bin_s),
        None,
    )
    return {"trace": trace, "promise": promise, **_verdict(verdict)}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    study = verdict.study
    best = study.fitted[0] if study.fitted else None
    tied = [label(name) for name in study.tied]
    return {
        "bin": width(verdict.bin_s),
        "study": study,
        "best": None if best is None else best.model.label,
        "tied": ", ".join(tied),
        "ks": None if best is None else best.ks,
        "bad": best is not None and best.ks > KS_WARN,
        "gammas": [gamma(verdict, model) for model in ("lognormal", "normal")],
        "ratios": [_ratio(verdict, rule) for rule, _ in distribution.RULES],
        "anomalies": verdict.anomalies,
        "stationarity": verdict.stationarity,
        "missing": verdict.missing,
    }


def _ratio(verdict: Verdict, rule: Rule) -> str:
    """R of the power law against the log-normal, and on how many bins it rests."""
    tail = verdict.tails[rule]
    if isinstance(tail, Inconclusive):
        return "–"
    test = tail.against["lognormal"]
    if isinstance(test, Inconclusive):
        return f"{'same' if tails.same(test) else '–'} ({tail.n_tail})"
    return f"{test.r:+.1f}{' ○' if test.verdict == 'inconclusive' else ''} ({tail.n_tail})"


def _details(trace: Trace, specs: list[Mapping[str, Any]], epsilon: float) -> dict[str, Any]:
    """The charts of a trace, and its verdict at every width."""
    key = "Red: where measured and model quantiles are the same. Models describe bins with traffic."
    fits = [fit for fit in trace.main.study.fitted if isinstance(fit, Fitted)]
    return {
        "trace": trace,
        "figure": html.place(_own(trace, epsilon), specs, key=key),
        "verdicts": [_verdict(verdict) for verdict in trace.sweep.verdicts],
        "parameters": [(fit.model.label, _parameters(fit), fit) for fit in fits],
        "skipped": [(width(bin_s), reason) for bin_s, reason in trace.sweep.skipped],
    }


def _own(trace: Trace, epsilon: float) -> Figure:
    """Density, Q-Q plot and rate of a trace."""
    rate = f"Rate, and capacities for epsilon = {epsilon:g}"
    panels = [
        single.density(trace, key="a", caption="Density"),
        single.quantiles(trace, key="b", caption="Q-Q plot"),
        single.rate(trace, epsilon, uses.METHODS, key="c", caption=rate),
    ]
    return Figure(f"trace-{trace.number}", trace.name, tuple(panel for panel in panels if panel.data.height))


def _parameters(fit: Fitted) -> str:
    """Parameters with their intervals, in bits per second where they have a scale."""
    bounds = fit.intervals()
    return ", ".join(
        f"{name} {value:.4g} ({bounds[name][0]:.4g} to {bounds[name][1]:.4g})"
        if name in bounds
        else f"{name} {value:.4g}"
        for name, value in fit.model.parameters().items()
    )
