"""Charts along the keys of a sweep: curves along one, a family of curves over two, heat maps over more values."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from anabranch.results import settings, stats
from anabranch.showing.axes import as_low, inline, log_axis
from anabranch.showing.report.charts import Chart, Charts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.comparison import Comparison, Panel

FAMILY = 6
"""Charts beside each other that a reader still compares; of more combinations, heat maps."""

MAPS = 4
"""Heat maps of a series value at most: one for each combination of the keys that are not on its axes."""

CELL = 16
"""Height of a heat map's row in pixels at least."""

QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*[A-Za-zµ%]*\s*")
"""A number with or without a unit: ``64KB``, ``10 packets``."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is drawn along the keys: a column of the table, its name, its unit, and how much of it is one of that."""

    column: str
    name: str
    unit: str
    scale: float

    @property
    def title(self) -> str:
        """Title of an axis."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


SLOWDOWN = Measure("slowdown_p99", "p99 slowdown", "", 1.0)
MEASURES = (Measure("fct_p99_ns", "p99 FCT", "ms", 1e6), SLOWDOWN)


@dataclass(frozen=True, slots=True)
class Section:
    """Charts of one measure: heading, what they show, and whether they are there from the start."""

    heading: str
    key: str
    charts: Sequence[Chart]
    open: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """A sweep key: its column, its name, its values in order, and whether they are numbers."""

    key: str
    name: str
    values: tuple[Any, ...]
    numeric: bool

    @property
    def size(self) -> bool:
        """Whether the values are numbers, with a unit or without: they make a curve."""
        return self.numeric or all(QUANTITY.fullmatch(str(value)) for value in self.values)


def axes(comparison: Comparison) -> list[Axis]:
    """The keys that split an experiment into settings; of keys that vary together only the first."""
    found: list[Axis] = []
    for key in comparison.panel_keys:
        column = [str(point[key]) for point in comparison.panels]
        pairs = [
            set(zip(([str(point[axis.key]) for point in comparison.panels]), column, strict=True)) for axis in found
        ]
        own = len(set(column))
        if any(len(pair) == own == len(axis.values) for pair, axis in zip(pairs, found, strict=True)):
            continue
        values = tuple({str(point[key]): point[key] for point in comparison.panels}.values())
        numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        found.append(Axis(key, comparison.names.get(key, key), values, numeric))
    return found


def sections(charts: Charts, table: pl.DataFrame, panels: Sequence[Panel]) -> list[Section]:
    """Draw how the tail follows the sweep keys; empty where nothing is swept but what is compared.

    Parameters
    ----------
    charts
        Maker of the experiment's charts, which knows the looks.
    table
        `anabranch.stats.fct_table` by the series and the panel keys.
    panels
        The summary of every setting.
    """
    keys = axes(charts.comparison)
    if not any(axis.key != "workload" for axis in keys) or table.is_empty():
        return []
    x = max((axis for axis in keys if axis.key != "workload"), key=lambda axis: (axis.size, len(axis.values)))
    others = [axis for axis in keys if axis is not x]
    buckets = [bucket for bucket in stats.BUCKETS if (table["bucket"] == bucket.name).any()]
    single = buckets[:-1] if len(buckets) > 2 else buckets[-1:]  # noqa: PLR2004 - one bucket and all of them
    drawn = _Drawn(charts, table, x)
    if not others:
        return drawn.curves(single if len(single) == 1 else buckets)
    chosen = [(SLOWDOWN, buckets[-1]), *((of, one) for one in single for of in MEASURES)]
    chosen = list(dict.fromkeys(chosen))
    if math.prod(len(axis.values) for axis in others) <= FAMILY:
        return [drawn.family(of, bucket, others, first=place == 0) for place, (of, bucket) in enumerate(chosen)]
    y = max(others, key=lambda axis: (axis.size, len(axis.values)))
    rest = [axis for axis in others if axis is not y]
    found = [drawn.maps(of, bucket, y, rest, first=place == 0) for place, (of, bucket) in enumerate(chosen)]
    best = drawn.best(panels, y, rest)
    return [*([best] if best else []), *found]


class _Drawn:
    """Maker of the charts along `x`."""

    def __init__(self, charts: Charts, table: pl.DataFrame, x: Axis) -> None:
        self.charts = charts
        self.comparison = charts.comparison
        self.table = table
        self.x = x

    def curves(self, buckets: Sequence[stats.Bucket]) -> list[Section]:
        """One key: a chart for each bucket and measure."""
        found = []
        for of in MEASURES:
            made = []
            for bucket in buckets:
                data = self._data(of, bucket, {})
                if data:
                    made.append(Chart(bucket.label, "bars: 95 % interval over seeds", self._lines(of, data, data)))
            if made:
                found.append(Section(of.name, "", made, open=True))
        return found

    def family(self, of: Measure, bucket: stats.Bucket, others: Sequence[Axis], *, first: bool) -> Section:
        """Charts side by side on one vertical axis, one for each combination of the other keys."""
        combinations = [
            dict(zip((axis.key for axis in others), values, strict=True))
            for values in itertools.product(*(axis.values for axis in others))
        ]
        every = self._data(of, bucket, {})
        made = []
        for combination in combinations:
            data = self._data(of, bucket, combination)
            if data:
                title = self.comparison.title(combination)
                made.append(Chart(title, "bars: 95 % interval over seeds", self._lines(of, data, every)))
        names = " and ".join(axis.name for axis in others)
        key = f"One chart for each {names}, on one vertical axis."
        return Section(f"{of.name}, {bucket.label}", key, made, open=first)

    def maps(self, of: Measure, bucket: stats.Bucket, y: Axis, rest: Sequence[Axis], *, first: bool) -> Section:
        """A heat map for each series value, all on one scale of colours."""
        combinations, left = self._combinations(rest)
        every = self._data(of, bucket, {})
        made = []
        for value, label in zip(self.comparison.values, self.charts.labels, strict=True):
            for combination in combinations:
                data = self._data(of, bucket, {**combination, self.comparison.series: value}, y=y)
                if data:
                    heading = ", ".join(part for part in (label, self.comparison.title(combination)) if part)
                    made.append(Chart(heading, "", self._map(of, data, every, y)))
        return Section(f"{of.name}, {bucket.label}", f"One scale of colours for all.{left}", made, open=first)

    def best(self, panels: Sequence[Panel], y: Axis, rest: Sequence[Axis]) -> Section | None:
        """Which series value is best in which setting; pale where another does not differ significantly."""
        heading, _, lines = settings.lines(panels)
        if len(self.comparison.values) < 2 or not lines:  # noqa: PLR2004 - nothing to compare
            return None
        combinations, left = self._combinations(rest)
        made = []
        for combination in combinations:
            data = []
            for line in lines:
                place = next((place for place, cell in enumerate(line.cells) if cell.best), None)
                if place is None or any(str(line.point[key]) != str(value) for key, value in combination.items()):
                    continue
                data.append(
                    {
                        "x": self._text(self.x, line.point),
                        "y": self._text(y, line.point),
                        "series": self.charts.labels[place],
                        "clear": 0.35 if any(cell.tied for cell in line.cells) else 1.0,
                        "numbers": "; ".join(
                            f"{label} {cell.text}" for label, cell in zip(self.charts.labels, line.cells, strict=True)
                        ),
                    }
                )
            if data:
                made.append(Chart(self.comparison.title(combination) or "Best", "", self._winners(data, y)))
        key = f"Pale: another does not differ significantly from it, seed by seed.{left}"
        return Section(f"Best in {heading}", key, made, open=True) if made else None

    def _combinations(self, rest: Sequence[Axis]) -> tuple[list[dict[str, Any]], str]:
        """The first combinations of the keys that a map has no axis for, and a word on those that are left out."""
        every = [
            dict(zip((axis.key for axis in rest), values, strict=True))
            for values in itertools.product(*(axis.values for axis in rest))
        ]
        left = len(every) - MAPS
        words = f" {left} more combinations of {', '.join(axis.name for axis in rest)} are in the CSV only."
        return every[:MAPS], words if left > 0 else ""

    def _text(self, axis: Axis, row: Mapping[str, Any]) -> str:
        return self.comparison.text(axis.key, row[axis.key])

    def _data(
        self, of: Measure, bucket: stats.Bucket, point: Mapping[str, Any], *, y: Axis | None = None
    ) -> list[dict[str, Any]]:
        """The rows of a part of the table: ``x``, ``value``, ``low``, ``high``, ``series``, and ``y`` of a map."""
        conditions = [pl.col(key).eq_missing(pl.lit(value)) for key, value in point.items()]
        rows = self.table.filter(pl.col("bucket") == bucket.name, *conditions).drop_nulls(of.column)
        data = []
        for row in rows.to_dicts():
            value, half = row[of.column] / of.scale, (row[f"{of.column}_ci"] or 0.0) / of.scale
            if value <= 0:  # a logarithmic axis has none
                continue
            data.append(
                {
                    "x": row[self.x.key] if self.x.numeric and y is None else self._text(self.x, row),
                    "value": float(f"{value:.5g}"),
                    "low": float(f"{max(value - half, value / 100):.5g}"),
                    "high": float(f"{value + half:.5g}"),
                    "series": self.comparison.look(row[self.comparison.series]).label,
                    **({} if y is None else {"y": self._text(y, row)}),
                }
            )
        return data

    def _horizontal(self) -> alt.X:
        """The axis of the key, with ticks at the values that were swept and at no others."""
        axis = alt.Axis(values=list(self.x.values), format="~g") if self.x.numeric else alt.Axis(labelAngle=0)
        if not self.x.numeric:
            order = [self.comparison.text(self.x.key, value) for value in self.x.values]
            return alt.X("x:O", title=self.x.name, sort=order, axis=axis)
        scale = alt.Scale(type="log") if geometric(self.x.values) else alt.Scale(zero=False)
        return alt.X("x:Q", title=self.x.name, scale=scale, axis=axis)

    def _lines(self, of: Measure, data: list[dict[str, Any]], every: list[dict[str, Any]]) -> dict[str, Any]:
        base = alt.Chart(inline(data)).encode(x=self._horizontal())
        y = log_axis(alt.Y("value:Q", title=of.title), [row[end] for row in every for end in ("low", "high")])
        looks = self.charts.encodings()
        lines = base.mark_line(strokeWidth=1.8).encode(
            y=y,
            color=looks["color"],
            strokeDash=alt.StrokeDash("series:N", scale=self.charts.dash, legend=None),
        )
        bars = base.mark_rule(strokeWidth=1.4).encode(y=as_low(y), y2="high:Q", color=looks["color"])
        points = base.mark_point(filled=True, size=56, opacity=1).encode(y=y, tooltip=self._tips(of), **looks)
        return self.charts.finish(alt.layer(lines, bars, points))

    def _tips(self, of: Measure) -> list[alt.Tooltip]:
        return [
            alt.Tooltip("series:N", title=self.charts.series_name),
            alt.Tooltip("x:Q" if self.x.numeric else "x:N", title=self.x.name),
            alt.Tooltip("value:Q", title=of.title, format=".4~g"),
            alt.Tooltip("low:Q", title="from", format=".4~g"),
            alt.Tooltip("high:Q", title="to", format=".4~g"),
        ]

    def _cells(self, data: list[dict[str, Any]], y: Axis) -> alt.Chart:
        """One rectangle for each setting; rows from the bottom up, as on any axis."""
        columns = [self.comparison.text(self.x.key, value) for value in self.x.values]
        rows = [self.comparison.text(y.key, value) for value in reversed(y.values)]
        cells: alt.Chart = alt.Chart(inline(data)).mark_rect()
        return cells.encode(
            x=alt.X("x:O", title=self.x.name, sort=columns, axis=alt.Axis(grid=False)),
            y=alt.Y("y:O", title=y.name, sort=rows, axis=alt.Axis(grid=False)),
        )

    def _map(self, of: Measure, data: list[dict[str, Any]], every: list[dict[str, Any]], y: Axis) -> dict[str, Any]:
        values = [row["value"] for row in every]
        low, high = min(values), max(values)
        scale = alt.Scale(type="log", domain=[low, high if high > low else 1.01 * low], scheme="viridis", reverse=True)
        ticks = sorted({float(f"{tick:.2g}") for tick in np.geomspace(low, high, 4)})
        legend = alt.Legend(
            title=of.title,
            orient="bottom",
            direction="horizontal",
            gradientLength=180,
            values=ticks,
            format="~g",
            labelColor="currentColor",
            titleColor="currentColor",
        )
        tips = self._tips(of)
        tips[1:2] = [alt.Tooltip("x:N", title=self.x.name), alt.Tooltip("y:N", title=y.name)]
        colour = alt.Color("value:Q", scale=scale, legend=legend)
        return self.charts.finish(alt.layer(self._cells(data, y).encode(color=colour, tooltip=tips)), self._height(y))

    def _winners(self, data: list[dict[str, Any]], y: Axis) -> dict[str, Any]:
        tips = [
            alt.Tooltip("series:N", title="best"),
            alt.Tooltip("x:N", title=self.x.name),
            alt.Tooltip("y:N", title=y.name),
            alt.Tooltip("numbers:N", title="numbers"),
        ]
        opacity = alt.Opacity("clear:Q", scale=None, legend=None)
        cells = self._cells(data, y).encode(color=self.charts.encodings()["color"], opacity=opacity, tooltip=tips)
        return self.charts.finish(alt.layer(cells), self._height(y))

    @staticmethod
    def _height(y: Axis) -> int:
        return max(180, CELL * len(y.values))


def geometric(values: Sequence[float]) -> bool:
    """Whether numbers are spread by factors rather than by steps, so that a logarithmic axis spaces them evenly.

    Examples
    --------
    >>> geometric([8, 16, 32, 64]), geometric([0.2, 0.4, 0.6, 0.8]), geometric([0, 1, 10])
    (True, False, False)
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size < 3 or ordered[0] <= 0:  # noqa: PLR2004 - two are spaced either way
        return False
    steps, factors = np.diff(ordered), np.diff(np.log(ordered))
    return bool(factors.std() / factors.mean() < steps.std() / steps.mean())
