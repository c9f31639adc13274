"""What an experiment compares, worked out from what it varies; and the summary that table, JSON and report share.

The *series* are compared side by side: the transports, or the values of another sweep key if only that one varies.
Every other varying key splits the experiment into *panels*, each a comparison of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import stats, styles, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.results import Results


@dataclass(frozen=True, slots=True)
class Comparison:
    """The sides of a comparison.

    Attributes
    ----------
    series
        Column whose values are compared.
    values
        Its values, in the order of the scenario.
    looks
        Look of each value (by its text).
    panel_keys
        Other columns that vary.
    panels
        Their combinations that occur, in order; one empty mapping if nothing else varies.
    """

    series: str
    values: tuple[Any, ...]
    looks: Mapping[str, styles.Style]
    panel_keys: tuple[str, ...]
    panels: tuple[Mapping[str, Any], ...]

    def look(self, value: object) -> styles.Style:
        """Look of a series value."""
        return self.looks[str(value)]


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of the summary.

    Attributes
    ----------
    column
        Column of a statistics table.
    name
        Name for people.
    kind
        Kind of number: ``time``, ``rate``, ``ratio`` or ``share``.
    less
        Whether less is better.
    of_all
        Whether unfinished flows are in it. Such a row is there only where it has a number.
    """

    column: str
    name: str
    kind: str
    less: bool
    of_all: bool = False


METRICS = (
    Metric("fct_mean_ns", "mean FCT", "time", less=True),
    Metric("fct_p50_ns", "p50 FCT", "time", less=True),
    Metric("fct_p99_ns", "p99 FCT", "time", less=True),
    Metric("slowdown_mean", "mean slowdown", "ratio", less=True),
    Metric("slowdown_p99", "p99 slowdown", "ratio", less=True),
    Metric("goodput_mean_bps", "mean goodput", "rate", less=False),
    Metric("deadline_miss_rate", "missed deadlines", "share", less=True, of_all=True),
)
"""Rows of the summary, for each size bucket."""

BACKGROUND_METRICS = (
    Metric("goodput_mean_bps", "mean goodput", "rate", less=False),
    Metric("goodput_min_bps", "least goodput", "rate", less=False),
    Metric("jain_index", "Jain's fairness index", "ratio", less=False),
)
"""Rows of the summary for background flows."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of the summary.

    Attributes
    ----------
    value
        Mean over seeds; None where no flow finished.
    ci
        Half width of its interval; None for one sample.
    text
        Both, in the row's unit.
    unfinished
        Flows that did not finish and are missing from the number.
    best
        The best of its row; never a number from which flows are missing.
    tied
        Its interval overlaps that of the best.
    seeds, samples
        Number of seeds, and of different runs among them: seeds that change nothing are one sample.
    """

    value: float | None
    ci: float | None
    text: str
    unfinished: int = 0
    best: bool = False
    tied: bool = False
    seeds: int = 0
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one bucket, for every series value."""

    metric: Metric
    unit: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one bucket, with the number of flows and of unfinished flows of every series value."""

    name: str
    flows: tuple[int, ...]
    unfinished: tuple[int, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The summary of one combination of the other sweep keys."""

    point: Mapping[str, Any]
    title: str
    groups: tuple[Group, ...]


def compare(results: Results) -> Comparison:
    """Work out what an experiment compares."""
    keys = list(stats.varying(results))
    run_keys = [key for key in keys if key != "workload"]
    runs = results.runs
    if "transport" in run_keys:
        series = "transport"
        # A key that names variants of transports (each value runs one transport) says more than the transport does.
        for key in run_keys:
            if key != "transport" and _determines(runs, key, "transport") and not _determines(runs, "transport", key):
                series = key
    else:
        # One transport: compare the values of the key with the fewest, which makes the fewest curves per chart.
        series = min(run_keys, key=lambda key: runs[key].n_unique(), default="transport")
    # Columns that follow from the series (or are followed by it, one to one) need no panel of their own.
    others = [key for key in keys if key != series and (key == "workload" or not _determines(runs, series, key))]
    if series != "transport" and "transport" in others and _determines(runs, series, "transport"):
        others.remove("transport")
    values = tuple(runs[series].unique(maintain_order=True))
    names = [str(value) for value in values]
    return Comparison(
        series=series,
        values=values,
        looks=styles.assign(names) if series == "transport" else _labelled(series, names),
        panel_keys=tuple(others),
        panels=_panels(results, others),
    )


def _labelled(series: str, names: Sequence[str]) -> dict[str, styles.Style]:
    looks = styles.assign(names)
    return {
        name: styles.Style(f"{series} = {look.label}", look.colour, look.dash, look.marker)
        for name, look in looks.items()
    }


def _determines(runs: pl.DataFrame, key: str, other: str) -> bool:
    """Whether every value of `key` goes with one value of `other`."""
    return bool(runs.group_by(key).agg(pl.col(other).n_unique().alias("n"))["n"].max() == 1)


def _panels(results: Results, keys: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    if not keys:
        return ({},)
    run_keys = [key for key in keys if key != "workload"]
    points: list[dict[str, Any]] = [{}]
    if run_keys:
        points = results.runs.select(run_keys).unique(maintain_order=True).to_dicts()
    if "workload" in keys:
        flows = results.scan("flows").filter(~pl.col("background")).select("workload").unique(maintain_order=True)
        workloads = results.collect("flows", flows)["workload"].to_list()
        points = [{**point, "workload": workload} for point in points for workload in workloads]
    return tuple(points)


def within(point: Mapping[str, Any], *, columns: Sequence[str]) -> pl.Expr:
    """Condition that a row belongs to a panel, as far as the table has the panel's columns."""
    conditions = [pl.col(key).eq_missing(pl.lit(value)) for key, value in point.items() if key in columns]
    return pl.all_horizontal(conditions) if conditions else pl.lit(value=True)


def title(point: Mapping[str, Any]) -> str:
    """Name of a panel: ``load = 0.6, k = 8``; empty for the only one."""
    return ", ".join(f"{key} = {value}" for key, value in point.items())


def summarise(results: Results, comparison: Comparison) -> tuple[Panel, ...]:
    """Compute the summary of every panel.

    Raises
    ------
    StatisticsError
        Never for a comparison from `compare`: series and panels together cover whatever varies.
    """
    by = [comparison.series, *comparison.panel_keys]
    table = stats.fct_table(results, by=by)
    background = stats.background_table(results, by=[key for key in by if key != "workload"])
    panels = []
    for point in comparison.panels:
        rows = table.filter(within(point, columns=table.columns))
        groups = [
            _group(bucket.label, rows.filter(pl.col("bucket") == bucket.name), METRICS, comparison)
            for bucket in stats.BUCKETS
        ]
        behind = background.filter(within(point, columns=background.columns))
        groups.append(_group("background flows", behind, BACKGROUND_METRICS, comparison))
        panels.append(Panel(point, title(point), tuple(group for group in groups if sum(group.flows))))
    return tuple(panels)


def _group(name: str, rows: pl.DataFrame, metrics: Sequence[Metric], comparison: Comparison) -> Group:
    found = {str(row[comparison.series]): row for row in rows.to_dicts()}
    records = [found.get(str(value), {}) for value in comparison.values]
    unfinished = tuple(int(record.get("unfinished", 0)) for record in records)
    return Group(
        name=name,
        flows=tuple(int(record.get("flows", 0)) for record in records),
        unfinished=unfinished,
        rows=tuple(
            _row(metric, records, tuple(0 for _ in unfinished) if metric.of_all else unfinished)
            for metric in metrics
            if not metric.of_all or any(record.get(metric.column) is not None for record in records)
        ),
    )


def _row(metric: Metric, records: Sequence[Mapping[str, Any]], unfinished: Sequence[int]) -> Row:
    pairs: list[tuple[float | None, float | None]] = [
        (record.get(metric.column), record.get(f"{metric.column}_ci")) for record in records
    ]
    numbers = [value for value, _ in pairs if value is not None]
    scale, unit = _unit(metric.kind, numbers)
    # A number from which unfinished flows are missing cannot win.
    fair = {
        place: (value, ci) for place, (value, ci) in enumerate(pairs) if value is not None and not unfinished[place]
    }
    best = None
    if fair and len(numbers) > 1:
        best = (min if metric.less else max)(fair, key=lambda place: fair[place][0])
    cells = []
    for place, (value, ci) in enumerate(pairs):
        tied = best is not None and place != best and place in fair and _overlap(fair[place], fair[best])
        seeds, samples = (int(records[place].get(name) or 0) for name in ("seeds", "samples"))
        text = _text(value, ci, scale)
        if value is not None and samples < seeds:
            text += f" ({samples} run{'' if samples == 1 else 's'})"
        cells.append(Cell(value, ci, text, unfinished[place], place == best, tied, seeds, samples))
    return Row(metric, unit, tuple(cells))


def _overlap(one: tuple[float, float | None], other: tuple[float, float | None]) -> bool:
    if one[1] is None or other[1] is None:
        return one[0] == other[0]
    return abs(one[0] - other[0]) <= one[1] + other[1]


def _unit(kind: str, numbers: Sequence[float]) -> tuple[float, str]:
    """Choose one unit for a row, by its least number."""
    least = min((abs(number) for number in numbers if number), default=0.0)
    if kind == "time":
        return units.time_unit(least)
    if kind == "rate":
        return units.rate_unit(least)
    return (0.01, "%") if kind == "share" else (1.0, "")


def _text(value: float | None, ci: float | None, scale: float) -> str:
    return "–" if value is None else units.with_interval(value, ci, scale)
