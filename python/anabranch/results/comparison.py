"""What an experiment compares, worked out from what it varies; and the summary that table, JSON and report share.

The *series* are compared side by side: the transports, or the values of another sweep key if only that one varies.
Every other varying key splits the experiment into *panels*, each a comparison of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base import styles, units
from anabranch.results import naming, paired, stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.results.tables import Tables


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
    names, texts
        Column to its name for people, and to the texts of its values (by their text in tables):
        `anabranch.results.naming`.
    """

    series: str
    values: tuple[Any, ...]
    looks: Mapping[str, styles.Style]
    panel_keys: tuple[str, ...]
    panels: tuple[Mapping[str, Any], ...]
    names: Mapping[str, str]
    texts: Mapping[str, Mapping[str, str]]

    def look(self, value: object) -> styles.Style:
        """Look of a series value."""
        return self.looks[str(value)]

    def text(self, key: str, value: object) -> str:
        """Write a value of a column for people."""
        return self.texts.get(key, {}).get(str(value), str(value))

    def title(self, point: Mapping[str, Any]) -> str:
        """Name of a panel as a heading: ``load = 0.6, k = 8``; empty for the only one."""
        return ", ".join(f"{self.names.get(key, key)} = {self.text(key, value)}" for key, value in point.items())

    def words(self, point: Mapping[str, Any]) -> str:
        """Name of a panel within a sentence: ``load 0.6, k 8``."""
        return ", ".join(f"{self.names.get(key, key)} {self.text(key, value)}" for key, value in point.items())


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
    if_any
        Whether the row is left out where all its numbers are zero.
    """

    column: str
    name: str
    kind: str
    less: bool
    of_all: bool = False
    if_any: bool = False


METRICS = (
    Metric("fct_mean_ns", "mean FCT", "time", less=True),
    Metric("fct_p50_ns", "p50 FCT", "time", less=True),
    Metric("fct_p99_ns", "p99 FCT", "time", less=True),
    Metric("slowdown_mean", "mean slowdown", "ratio", less=True),
    Metric("slowdown_p99", "p99 slowdown", "ratio", less=True),
    Metric("goodput_mean_bps", "mean goodput", "rate", less=False),
    Metric("deadline_miss_rate", "missed deadlines", "share", less=True, of_all=True),
    Metric("timeout_share", "met a timeout", "share", less=True, of_all=True, if_any=True),
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
        It does not differ significantly from the best, seed by seed (`anabranch.results.paired`).
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


def compare(results: Tables) -> Comparison:
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
    names = naming.keys([*results.keys, *others])
    texts = {key: naming.values(runs[key].to_list()) for key in run_keys if key != "transport"}
    looks = styles.assign([str(value) for value in values])
    if series != "transport":
        looks = {text: _labelled(look, names[series], texts.get(series, {}).get(text)) for text, look in looks.items()}
    return Comparison(
        series=series,
        values=values,
        looks=looks,
        panel_keys=tuple(others),
        panels=_panels(results, others),
        names=names,
        texts=texts,
    )


def _labelled(look: styles.Style, key: str, value: str | None) -> styles.Style:
    """The look of a value of a sweep key, labelled with both."""
    return styles.Style(f"{key} = {value or look.label}", look.colour, look.dash, look.marker)


def _determines(runs: pl.DataFrame, key: str, other: str) -> bool:
    """Whether every value of `key` goes with one value of `other`."""
    return bool(runs.select(pl.col(other).n_unique().over(key).max()).item() == 1)


def _panels(results: Tables, keys: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
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


def summarise(results: Tables, comparison: Comparison) -> tuple[Panel, ...]:
    """Compute the summary of every panel.

    Raises
    ------
    StatisticsError
        Never for a comparison from `compare`: series and panels together cover whatever varies.
    """
    by = [comparison.series, *comparison.panel_keys]
    summary = _Summary(comparison, paired.level(len(comparison.panels)))
    flows = stats.fct_by_seed(results, by=by)
    of_background = [key for key in by if key != "workload"]
    behind = stats.background_by_seed(results, by=of_background)
    means = stats.averaged(flows)
    background = stats.background_table(results, by=of_background)
    found = []
    for point in comparison.panels:
        rows, seeds = (frame.filter(within(point, columns=frame.columns)) for frame in (means, flows))
        groups = []
        for bucket in stats.BUCKETS:
            of_bucket = pl.col("bucket") == bucket.name
            groups.append(summary.group(bucket.label, rows.filter(of_bucket), seeds.filter(of_bucket), METRICS))
        rows, seeds = (frame.filter(within(point, columns=frame.columns)) for frame in (background, behind))
        groups.append(summary.group("background flows", rows, seeds, BACKGROUND_METRICS))
        found.append(Panel(point, comparison.title(point), tuple(group for group in groups if sum(group.flows))))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Summary:
    """Maker of groups: what is compared, and the level at which numbers count as different."""

    comparison: Comparison
    confidence: float

    def group(self, name: str, means: pl.DataFrame, seeds: pl.DataFrame, metrics: Sequence[Metric]) -> Group:
        """The rows of a bucket from its means and its numbers of each seed."""
        found = {str(row[self.comparison.series]): row for row in means.to_dicts()}
        records = [found.get(str(value), {}) for value in self.comparison.values]
        own = seeds.partition_by(self.comparison.series, as_dict=True)
        by_seed = [own.get((value,), seeds.clear()) for value in self.comparison.values]
        unfinished = tuple(int(record.get("unfinished", 0)) for record in records)
        return Group(
            name=name,
            flows=tuple(int(record.get("flows", 0)) for record in records),
            unfinished=unfinished,
            rows=tuple(
                self._row(metric, records, by_seed, tuple(0 for _ in unfinished) if metric.of_all else unfinished)
                for metric in metrics
                if not metric.of_all or _told(metric, records)
            ),
        )

    def _row(
        self,
        metric: Metric,
        records: Sequence[Mapping[str, Any]],
        by_seed: Sequence[pl.DataFrame],
        unfinished: Sequence[int],
    ) -> Row:
        pairs: list[tuple[float | None, float | None]] = [
            (record.get(metric.column), record.get(f"{metric.column}_ci")) for record in records
        ]
        numbers = [value for value, _ in pairs if value is not None]
        scale, unit = _unit(metric.kind, numbers)
        # A number from which unfinished flows are missing cannot win.
        fair = {place: value for place, (value, _) in enumerate(pairs) if value is not None and not unfinished[place]}
        best = (min if metric.less else max)(fair, key=lambda place: fair[place]) if fair and len(numbers) > 1 else None
        seeds = {} if best is None else {place: _seeds(by_seed[place], metric) for place in fair}
        theirs = {} if best is None else seeds[best]
        cells = []
        for place, (value, ci) in enumerate(pairs):
            tied = place in seeds and place != best and self._alike(seeds[place], theirs)
            count, samples = (int(records[place].get(name) or 0) for name in ("seeds", "samples"))
            text = _text(value, ci, scale, most_decimals=2 if metric.kind == "share" else None)
            if value is not None and samples < count:
                text += f" ({samples} run{'' if samples == 1 else 's'})"
            cells.append(Cell(value, ci, text, unfinished[place], place == best, tied, count, samples))
        return Row(metric, unit, tuple(cells))

    def _alike(self, one: paired.Seeds, best: paired.Seeds) -> bool:
        return not paired.differ(one, best, confidence=self.confidence)


def _told(metric: Metric, records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a row has a number, or one that is not zero."""
    known = [record[metric.column] for record in records if record.get(metric.column) is not None]
    return any(known) if metric.if_any else bool(known)


def _seeds(rows: pl.DataFrame, metric: Metric) -> paired.Seeds:
    """Seed to the number of a metric, and the run that it comes from."""
    known = rows.select("seed", metric.column, "sample").drop_nulls(metric.column)
    return {seed: (value, sample) for seed, value, sample in known.iter_rows()}


def _unit(kind: str, numbers: Sequence[float]) -> tuple[float, str]:
    """Choose one unit for a row, by its least number."""
    least = min((abs(number) for number in numbers if number), default=0.0)
    if kind == "time":
        return units.time_unit(least)
    if kind == "rate":
        return units.rate_unit(least)
    return (0.01, "%") if kind == "share" else (1.0, "")


def _text(value: float | None, ci: float | None, scale: float, *, most_decimals: int | None) -> str:
    return "–" if value is None else units.with_interval(value, ci, scale, most_decimals=most_decimals)
