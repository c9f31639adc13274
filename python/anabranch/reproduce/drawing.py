"""Figures of an experiment, from its results: panels of one kind for each way in which the papers plot.

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

from anabranch.errors import AnabranchError
from anabranch.reproduce.captions import filled
from anabranch.reproduce.looks import series_of, told_apart
from anabranch.reproduce.model import quantity
from anabranch.reproduce.rows import Source, expression, in_order, located, where
from anabranch.results import stats
from anabranch.showing.curves import POINTS, evenly, thinned
from anabranch.showing.figures import Axis, Figure, Kind, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anabranch.reproduce.model import PanelKind, PanelOf

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


def draw(source: Source, *, quick: bool = False) -> tuple[Figure, ...]:
    """Make the figures of an experiment.

    Parameters
    ----------
    source
        Its results.
    quick
        Whether they are of the quick size, which may lack what a panel shows.

    Raises
    ------
    AnabranchError
        If a panel of the full size has no rows, or its rows lack what it needs.
    """
    return tuple(
        Figure(
            figure.number,
            figure.caption,
            tuple(made for of in figure.panel for made in _panels(source, of, quick=quick)),
            columns=figure.columns,
        )
        for figure in source.experiment.figure
    )


def _panels(source: Source, of: PanelOf, *, quick: bool) -> list[Panel]:
    at = f"{source.experiment.name}: panel {of.key or of.caption or of.kind}"
    with located(at):
        frame = source.rows(of.rows).filter(where(of.filter, of.condition))
        if not frame.height and not quick:
            raise AnabranchError(f"{at}: none of rows.{of.rows} fits its filter and condition: expected some")
        if of.seed:
            frame = frame.filter(pl.col("seed") == min(source.results.manifest.seeds))
        made = []
        for key, part in _parts(of, frame, at):
            series = [one for entry in source.experiment.series[of.series] for one in series_of(entry, part)]
            made.append(panel(of, part, series, key=key, caption=filled(of.caption, part)))
        return made


def _parts(of: PanelOf, frame: pl.DataFrame, at: str) -> Iterable[tuple[str, pl.DataFrame]]:
    """The rows of each panel that one stands for, with its letter."""
    if not of.each:
        return [(of.key, frame)]
    found = in_order(frame, of.each)
    parts = [dict(zip(of.each, values, strict=True)) for values in (sorted(found) if of.sorted else found)]
    if len(parts) > len(of.key):
        raise AnabranchError(
            f"{at}: 'each' makes {len(parts)} panels, and 'key' has {len(of.key)} letters: expected a letter for each",
            hint=f"panels: {', '.join(map(str, parts))}",
        )
    return [(key, frame.filter(where(part))) for key, part in zip(of.key, parts, strict=False)]


def panel(of: PanelOf, frame: pl.DataFrame, series: Sequence[Series], *, key: str, caption: str) -> Panel:
    """Make a panel, or one of those that it stands for: of rows that are narrowed to what it shows."""
    drawn, left, up = DRAWN[of.kind]
    x, y = (one if isinstance(one, Axis) else Axis(one) for one in (of.x or left, of.y or up))
    value = expression(of.value)
    if not of.over:
        curve = _ranked if of.kind == "ranked" else partial(_steps, above=of.kind == "ccdf", log=y.log)
        data = _distributions(frame, series, value, curve)
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
    place = over.cast(pl.String if categories else pl.Float64).alias("x")
    parts = [pl.DataFrame(schema={**SCHEMA, "x": frame.select(place).schema["x"]})]
    for one in series:
        rows = frame.filter(where(one.where)).with_columns(place)
        per_seed = rows.group_by("x", "seed", maintain_order=True).agg(value.cast(pl.Float64).alias("y")).drop_nulls()
        table = stats.over_seeds(per_seed, ["x"], ["y"], stats.CONFIDENCE).with_columns(
            pl.lit(one.label).alias("series"),
            (pl.col("y") - pl.col("y_ci")).alias("low"),
            (pl.col("y") + pl.col("y_ci")).alias("high"),
        )
        parts.append(table.select(*SCHEMA))
    order = pl.col("x")
    if categories:
        names = frame.select(place)["x"].unique(maintain_order=True).to_list()
        order = order.replace_strict({name: turn for turn, name in enumerate(names)}, return_dtype=pl.Int64)
    return pl.concat(parts).sort(order, maintain_order=True)


def _distributions(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    curve: Callable[[pl.DataFrame], Iterable[Mapping[str, float]]],
) -> pl.DataFrame:
    """Make the points of each series from its rows: ``seed``, and the value as ``v``."""
    points: list[Mapping[str, Any]] = []
    for one in series:
        rows = frame.filter(where(one.where)).select("seed", value.cast(pl.Float64).alias("v"))
        points += [{"series": one.label, "low": None, "high": None, **point} for point in curve(rows)]
    return pl.DataFrame(points, schema=SCHEMA)


def _ranked(rows: pl.DataFrame) -> list[dict[str, float]]:
    """Values by rank: at each the mean over seeds of the value that has it.

    Sessions without a value, which did not finish, come first with zero: a curve that left them out would flatter.
    Seeds whose numbers of sessions differ are compared at equal shares.
    """
    if not rows.height:
        return []
    columns = [np.sort(own["v"].fill_null(0.0).to_numpy()) for own in rows.partition_by("seed", maintain_order=True)]
    n = min(column.size for column in columns)
    places = evenly(n, min(n, POINTS))
    means = np.mean([column[evenly(column.size, n)][places] for column in columns], axis=0)
    return [{"x": float(place + 1), "y": float(mean)} for place, mean in zip(places, means, strict=True)]


def _steps(rows: pl.DataFrame, *, above: bool, log: bool) -> list[dict[str, float]]:
    """Share of rows up to a value; rows without a value leave the curve short of 1, or count as above every value."""
    ordered = np.sort(rows["v"].drop_nulls().to_numpy())
    # One step for each value that occurs: counts have few.
    places = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], ordered.size > 0))
    places = places[thinned(places.size, POINTS)]
    shares = (places + 1) / max(rows.height, 1)
    start = [{"x": 0.0, "y": 1.0}] if above and ordered.size and ordered[0] > 0 else []
    both = zip(ordered[places], 1 - shares if above else shares, strict=True)
    # A logarithmic axis has no zero, which the last value's share above it would be.
    return start + [{"x": float(x), "y": float(share)} for x, share in both if share > 0 or not log]
