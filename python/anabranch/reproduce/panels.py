"""Panels from tables: one kind for each way in which the papers plot.

Each reduces rows (flows, requests, links or series) seed by seed before it averages, so that every interval is one over
independent samples (Student's t).

``means`` and ``bars``: a statistic of each seed, its mean over seeds and 95 % interval, against a number or a category;
``stacked`` and ``curve``: the same without intervals. ``ranked``: rows by their value, from the least. ``cdf`` and
``ccdf``: distribution over the rows of all seeds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.reproduce.looks import told_apart
from anabranch.reproduce.model import quantity
from anabranch.reproduce.rows import expression, where
from anabranch.results import stats
from anabranch.showing.curves import POINTS, thinned
from anabranch.showing.figures import Axis, Kind, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anabranch.reproduce.model import PanelKind, PanelOf

    Curve = Callable[[pl.DataFrame], Iterable[Mapping[str, float]]]

SCHEMA = {"series": pl.String(), "x": pl.Float64(), "y": pl.Float64(), "low": pl.Float64(), "high": pl.Float64()}
"""Columns of a panel's data; ``x`` is text in bars."""
DRAWN: Mapping[PanelKind, tuple[Kind, str, Axis]] = {
    "means": ("means", "", Axis("")),
    "bars": ("bars", "", Axis("")),
    "stacked": ("stacked", "", Axis("")),
    "curve": ("curves", "", Axis("")),
    "ranked": ("curves", "rank of session", Axis("")),
    "cdf": ("steps", "", Axis("CDF", domain=(0, 1))),
    "ccdf": ("steps", "", Axis("CCDF", domain=(0, 1))),
}
"""How a kind is drawn, and its axes where nothing else is said."""


def panel(of: PanelOf, frame: pl.DataFrame, series: Sequence[Series], *, key: str, caption: str) -> Panel:
    """Make a panel, or one of those that it stands for: of rows that are narrowed to what it shows."""
    drawn, left, up = DRAWN[of.kind]
    y = of.y or up
    x, y = (one if isinstance(one, Axis) else Axis(one) for one in (of.x or left, y))
    value = expression(of.value)
    if not of.over:
        data = _distributions(frame, series, value, _curve(of.kind, log=y.log))
    else:
        data = _reduced(frame, series, value, _over(of.over, frame), categories=drawn in {"bars", "stacked"})
        if of.kind in {"stacked", "curve"}:
            data = data.with_columns(pl.lit(None, pl.Float64).alias("low"), pl.lit(None, pl.Float64).alias("high"))
    present = set(data["series"].to_list())
    shown = tuple(one for one in series if one.label in present)
    return Panel(key, caption, drawn, data, x, y, told_apart(shown) if drawn in {"bars", "stacked"} else shown)


def _over(text: str, frame: pl.DataFrame) -> pl.Expr:
    """The horizontal axis: a column, whose texts are written as people do, or an expression."""
    over = pl.col(text) if text in frame.columns else expression(text)
    if frame.schema.get(text) == pl.String:
        over = over.map_elements(quantity, return_dtype=pl.String)
    return over


def _reduced(
    frame: pl.DataFrame, series: Sequence[Series], value: pl.Expr, over: pl.Expr, *, categories: bool
) -> pl.DataFrame:
    """Reduce to one value per series, place and seed, then to means and intervals.

    Categories stay in the order of the frame.
    """
    place = (over.cast(pl.String) if categories else over).alias("x")
    parts = []
    for one in series:
        rows = frame.filter(where(one.where)).with_columns(place)
        per_seed = rows.group_by("x", "seed", maintain_order=True).agg(value.cast(pl.Float64).alias("y")).drop_nulls()
        table = stats.over_seeds(per_seed, ["x"], ["y"], stats.CONFIDENCE)
        parts.append(
            table.select(
                pl.lit(one.label).alias("series"),
                pl.col("x") if categories else pl.col("x").cast(pl.Float64),
                "y",
                (pl.col("y") - pl.col("y_ci")).alias("low"),
                (pl.col("y") + pl.col("y_ci")).alias("high"),
            )
        )
    order = pl.col("x")
    if categories:
        names = frame.select(place)["x"].unique(maintain_order=True).to_list()
        order = order.replace_strict({name: turn for turn, name in enumerate(names)}, return_dtype=pl.Int64)
    return (pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)).sort(order, maintain_order=True)


def _distributions(frame: pl.DataFrame, series: Sequence[Series], value: pl.Expr, curve: Curve) -> pl.DataFrame:
    """Make the points of each series from its rows: ``seed``, and the value as ``v``."""
    points: list[Mapping[str, Any]] = []
    for one in series:
        rows = frame.filter(where(one.where)).select("seed", value.cast(pl.Float64).alias("v"))
        points += [{"series": one.label, "low": None, "high": None, **point} for point in curve(rows)]
    return pl.DataFrame(points, schema=SCHEMA)


def _curve(kind: PanelKind, *, log: bool) -> Curve:
    return _ranked if kind == "ranked" else partial(_steps, above=kind == "ccdf", log=log)


def _ranked(rows: pl.DataFrame) -> Iterable[Mapping[str, float]]:
    """Values by rank: at each the mean over seeds of the value that has it.

    Sessions without a value, which did not finish, come first with zero: a curve that left them out would flatter.
    """
    seeds = rows.partition_by("seed", maintain_order=True) if rows.height else []
    columns = [np.sort(own["v"].fill_null(0.0).to_numpy()) for own in seeds]
    n = min((column.size for column in columns), default=0)
    places = np.unique(np.linspace(0, n - 1, min(n, POINTS)).round().astype(int)) if n else np.empty(0, int)
    means = np.mean([_ranks(column, n)[places] for column in columns], axis=0) if n else places
    return ({"x": float(place + 1), "y": float(mean)} for place, mean in zip(places, means, strict=True))


def _ranks(column: np.ndarray, n: int) -> np.ndarray:
    """A sorted column at `n` ranks: seeds whose numbers of sessions differ are compared at equal shares."""
    return column if column.size == n else column[np.linspace(0, column.size - 1, n).round().astype(int)]


def _steps(rows: pl.DataFrame, *, above: bool, log: bool) -> Iterable[Mapping[str, float]]:
    """Share of rows up to a value; rows without a value leave the curve short of 1, or count as above every value."""
    ordered = np.sort(rows["v"].drop_nulls().to_numpy())
    # One step for each value that occurs: counts have few.
    places = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], ordered.size > 0))
    places = places[thinned(places.size, POINTS)]
    shares = (places + 1) / max(rows.height, 1)
    start = [] if not above or not ordered.size or ordered[0] <= 0 else [{"x": 0.0, "y": 1.0}]
    kept = [
        {"x": float(x), "y": float(1 - share if above else share)}
        for x, share in zip(ordered[places], shares, strict=True)
    ]
    # A logarithmic axis has no zero, which the last value's share above it would be.
    return start + [point for point in kept if point["y"] > 0 or not log]
