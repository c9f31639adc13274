"""Panels from tables: one function for each way in which the papers plot.

Each takes a frame (flows, requests, links or series, already narrowed to what the panel shows), the series that are
compared, and Polars expressions for the values; and reduces seed by seed before it averages, so that every interval is
one over independent samples (Student's t).
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.base import styles
from anabranch.reproduce.reduce import where
from anabranch.results import stats
from anabranch.showing.curves import POINTS, thinned
from anabranch.showing.figures import Axis, Kind, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SCHEMA = {"series": pl.String(), "x": pl.Float64(), "y": pl.Float64(), "low": pl.Float64(), "high": pl.Float64()}
"""Columns of a panel's data; ``x`` is text in bars."""


@dataclass(frozen=True, slots=True)
class _About:
    """What a panel says of itself."""

    kind: Kind
    key: str
    caption: str
    x: Axis
    y: Axis


def transports(*names: str) -> tuple[Series, ...]:
    """Series of transports, each with the look that it has everywhere.

    Examples
    --------
    >>> [series.label for series in transports("scdp", "ndp")]
    ['SCDP', 'NDP']
    """
    looks = styles.assign(names)
    return tuple(Series(looks[name].label, {"transport": name}, looks[name]) for name in names)


def variant(base: str, label: str, condition: Mapping[str, Any], *, turn: int = 1) -> Series:
    """A series that is a transport used in another way (daisy-chained, with read-ahead): its colour, another dash.

    Parameters
    ----------
    base
        The transport, which is added to the condition.
    label
        Name for people.
    condition
        Column to value.
    turn
        1 for the first variant of a transport, 2 for the second.
    """
    look = styles.assign([base])[base]
    dashes = [dash for dash in ((8, 3), (2, 2), (10, 3, 2, 3), (5, 2)) if dash != look.dash]
    markers = [marker for marker in ("triangle-down", "diamond", "cross", "triangle-left") if marker != look.marker]
    style = styles.Style(label, look.colour, dashes[turn - 1], markers[turn - 1])
    return Series(label, {"transport": base, **condition}, style)


def values_of(column: str, values: Sequence[Any], label: str | Callable[[Any], str] = "{}") -> tuple[Series, ...]:
    """Series of the values of a swept key.

    Parameters
    ----------
    column
        The key as a column of the results.
    values
        Its values.
    label
        Name for people: a text with ``{}`` for the value, or a function of the value.

    Examples
    --------
    >>> [series.label for series in values_of("load", [0.5, 0.6], "load {}")]
    ['load 0.5', 'load 0.6']
    """
    name = label.format if isinstance(label, str) else label
    labels = [name(value) for value in values]
    looks = styles.assign(labels) if len(labels) <= len(styles.SPARE) else _wheel(labels)
    return tuple(Series(text, {column: value}, looks[text]) for text, value in zip(labels, values, strict=True))


def _wheel(labels: Sequence[str]) -> dict[str, styles.Style]:
    """Looks for more values than there are looks, as the ports of a switch: colours around the wheel."""
    looks = {}
    for turn, label in enumerate(labels):
        red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(turn / len(labels), 0.48, 0.55))
        spare = styles.SPARE[turn % len(styles.SPARE)]
        looks[label] = styles.Style(label, f"#{red:02x}{green:02x}{blue:02x}", spare.dash, spare.marker)
    return looks


def ranked(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    *,
    y: Axis,
    key: str = "",
    caption: str = "",
    x: Axis | None = None,
    points: int = POINTS,
) -> Panel:
    """Sessions ranked by a value, from the least; at each rank the mean over seeds of the value that has it.

    Sessions without a value, which did not finish, come first with zero: a curve that left them out would flatter.
    """
    x = x or Axis("rank of session")

    def curve(rows: pl.DataFrame) -> Iterable[Mapping[str, float]]:
        columns = [np.sort(own["v"].fill_null(0.0).to_numpy()) for own in _seeds(rows)]
        n = min((column.size for column in columns), default=0)
        places = np.unique(np.linspace(0, n - 1, min(n, points)).round().astype(int)) if n else np.empty(0, int)
        means = np.mean([_ranks(column, n)[places] for column in columns], axis=0) if n else places
        return ({"x": float(place + 1), "y": float(mean)} for place, mean in zip(places, means, strict=True))

    return _panel(_About("curves", key, caption, x, y), frame, series, value, curve)


def _ranks(column: np.ndarray, n: int) -> np.ndarray:
    """A sorted column at `n` ranks: seeds whose numbers of sessions differ are compared at equal shares."""
    return column if column.size == n else column[np.linspace(0, column.size - 1, n).round().astype(int)]


def means(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    *,
    over: str | pl.Expr,
    x: Axis,
    y: Axis,
    key: str = "",
    caption: str = "",
) -> Panel:
    """A statistic of each seed, its mean over seeds and 95 % interval, against a number (a swept key).

    Parameters
    ----------
    frame
        Rows to reduce.
    series
        What is compared.
    value
        Statistic of the rows of one seed: ``pl.col("goodput_bps").mean() / 1e9``.
    over
        Column or expression for the horizontal axis.
    x, y, key, caption
        As in `Panel`.
    """
    place = (pl.col(over) if isinstance(over, str) else over).alias("x")
    return _reduced(_About("means", key, caption, x, y), frame, series, value, place)


def bars(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    *,
    over: str | pl.Expr,
    y: Axis,
    x: Axis | None = None,
    key: str = "",
    caption: str = "",
) -> Panel:
    """The same as `means` against categories, as bars side by side; categories stay in the order of the frame."""
    place = (pl.col(over) if isinstance(over, str) else over).cast(pl.String).alias("x")
    return _reduced(_About("bars", key, caption, x or Axis(""), y), frame, series, value, place)


def stacked(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    *,
    over: str | pl.Expr,
    x: Axis,
    y: Axis,
    key: str = "",
    caption: str = "",
) -> Panel:
    """Bars whose parts are the series, such as the ports of a switch; means over seeds, without intervals."""
    place = (pl.col(over) if isinstance(over, str) else over).cast(pl.String).alias("x")
    return _without_intervals(_reduced(_About("stacked", key, caption, x, y), frame, series, value, place))


def cdf(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    *,
    x: Axis,
    y: Axis | None = None,
    key: str = "",
    caption: str = "",
    points: int = POINTS,
    above: bool = False,
) -> Panel:
    """Cumulative distribution over the rows of all seeds; rows without a value leave the curve short of 1.

    With `above` it is the share of rows above a value, and rows without one count as above every value: `ccdf`.
    """
    about = _About("steps", key, caption, x, y or Axis("CCDF" if above else "CDF", domain=(0, 1)))
    return _distribution(about, frame, series, value, points=points, above=above)


ccdf = partial(cdf, above=True)
"""Complementary cumulative distribution; parameters as of `cdf`."""


def _distribution(
    about: _About, frame: pl.DataFrame, series: Sequence[Series], value: pl.Expr, *, points: int, above: bool
) -> Panel:
    def curve(rows: pl.DataFrame) -> Iterable[Mapping[str, float]]:
        ordered = np.sort(rows["v"].drop_nulls().to_numpy())
        # One step for each value that occurs: counts have few.
        places = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], ordered.size > 0))
        places = places[thinned(places.size, points)]
        shares = (places + 1) / max(rows.height, 1)
        start = [] if not above or not ordered.size or ordered[0] <= 0 else [{"x": 0.0, "y": 1.0}]
        kept = [
            {"x": float(x), "y": float(1 - share if above else share)}
            for x, share in zip(ordered[places], shares, strict=True)
        ]
        # A logarithmic axis has no zero, which the last value's share above it would be.
        return start + [point for point in kept if point["y"] > 0 or not about.y.log]

    return _panel(about, frame, series, value, curve)


def time_series(
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    *,
    x: Axis,
    y: Axis,
    key: str = "",
    caption: str = "",
    scale: float = 1e-9,
    seed: int | None = None,
) -> Panel:
    """A value against time.

    Parameters
    ----------
    frame
        Rows with ``time_ns``: a part of ``results.series``.
    series
        What is compared.
    value
        Value of a row, or an aggregate of the rows of one time.
    x, y, key, caption
        As in `Panel`.
    scale
        Nanoseconds to the unit of the axis; default: seconds.
    seed
        Show one seed; default: the mean over seeds at each time.
    """
    rows = frame if seed is None else frame.filter(pl.col("seed") == seed)
    time = (pl.col("time_ns") * scale).alias("x")
    return _without_intervals(_reduced(_About("curves", key, caption, x, y), rows, series, value, time))


def _seeds(rows: pl.DataFrame) -> list[pl.DataFrame]:
    return rows.partition_by("seed", maintain_order=True) if rows.height else []


def _without_intervals(panel: Panel) -> Panel:
    nothing = pl.lit(None, pl.Float64)
    return replace(panel, data=panel.data.with_columns(nothing.alias("low"), nothing.alias("high")))


def _reduced(about: _About, frame: pl.DataFrame, series: Sequence[Series], value: pl.Expr, place: pl.Expr) -> Panel:
    """Reduce to one value per series, place and seed, then to means and intervals."""
    parts = []
    categories = about.kind in {"bars", "stacked"}
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
    data = pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)
    order = pl.col("x")
    if categories:
        names = frame.select(place)["x"].unique(maintain_order=True).to_list()
        order = order.replace_strict({name: turn for turn, name in enumerate(names)}, return_dtype=pl.Int64)
    return _finish(about, data.sort(order, maintain_order=True), series)


def _panel(
    about: _About,
    frame: pl.DataFrame,
    series: Sequence[Series],
    value: pl.Expr,
    curve: Callable[[pl.DataFrame], Iterable[Mapping[str, float]]],
) -> Panel:
    """Make the points of each series from its rows: ``seed``, and the value as ``v``."""
    points: list[Mapping[str, Any]] = []
    for one in series:
        rows = frame.filter(where(one.where)).select("seed", value.cast(pl.Float64).alias("v"))
        points += [{"series": one.label, "low": None, "high": None, **point} for point in curve(rows)]
    return _finish(about, pl.DataFrame(points, schema=SCHEMA), series)


def told_apart(series: Sequence[Series]) -> tuple[Series, ...]:
    """Give series of one colour, which dash and marker tell apart in curves, colours of their own for bars.

    Examples
    --------
    >>> base = transports("dctcp")
    >>> both = told_apart((*base, variant("dctcp", "DCTCP with more", {"more": True})))
    >>> both[0].style == base[0].style, both[0].style.colour == both[1].style.colour
    (True, False)
    """
    used = {one.style.colour for one in series}
    free = [spare.colour for spare in styles.SPARE if spare.colour not in used]
    seen: set[str] = set()
    told = []
    for one in series:
        again = one.style.colour in seen and bool(free)
        told.append(replace(one, style=replace(one.style, colour=free.pop(0))) if again else one)
        seen.add(one.style.colour)
    return tuple(told)


def _finish(about: _About, data: pl.DataFrame, series: Sequence[Series]) -> Panel:
    present = set(data["series"].to_list())
    shown = tuple(one for one in series if one.label in present)
    if about.kind in {"bars", "stacked"}:
        shown = told_apart(shown)
    return Panel(about.key, about.caption, about.kind, data, about.x, about.y, shown)
