"""What the figures of a report share: series with looks, and panels from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base import styles, units
from anabranch.showing.figures import Axis, Kind, Panel, Reference, Series
from anabranch.traffic.dimension import LABELS
from anabranch.traffic.models import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMA = {
    "series": pl.String(),
    "x": pl.Float64(),
    "y": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "ring": pl.Boolean(),
    "name": pl.String(),
}
"""Columns of a panel's data; ``x`` is text in bars."""


def label(name: str) -> str:
    """Name of a model or a method for people."""
    return LABELS[name] if name in LABELS else MODELS[name].label


def series(labels: Iterable[str]) -> tuple[Series, ...]:
    """One series for each label, each with a look of its own."""
    return tuple(Series(name, {}, look) for name, look in styles.assign(labels).items())


def panel(
    kind: Kind,
    rows: Sequence[dict[str, Any]],
    shown: tuple[Series, ...],
    *,
    x: Axis,
    y: Axis,
    key: str = "",
    caption: str = "",
    references: tuple[Reference, ...] = (),
    interval: str = "",
) -> Panel:
    """Make a panel of rows with the columns of `SCHEMA`; what a row lacks is null."""
    schema = SCHEMA | {"x": pl.String()} if kind == "bars" else SCHEMA
    if x.dates:
        schema = schema | {"x": pl.Datetime("ms", "UTC")}
    wanted = {name for row in rows for name in row} | {"series", "x", "y"}
    frame = pl.DataFrame(rows, schema={name: kind for name, kind in schema.items() if name in wanted})
    for name in ("low", "high"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, dtype=pl.Float64()).alias(name))
    return Panel(key, caption, kind, frame, x, y, shown, references, interval)


def letters(count: int) -> list[str]:
    """Letters of the panels of a figure; none for a figure of one.

    Examples
    --------
    >>> letters(3), letters(1)
    (['a', 'b', 'c'], [''])
    """
    if count == 1:
        return [""]
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [alphabet[i] if i < len(alphabet) else f"{alphabet[i // 26 - 1]}{alphabet[i % 26]}" for i in range(count)]


def scale(bps: float) -> tuple[float, str]:
    """Unit in which rates up to this one read best: bits per second in it, and its name."""
    return units.rate_unit(bps)
