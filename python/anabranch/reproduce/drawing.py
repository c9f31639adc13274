"""Figures of an experiment, from its results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import AnabranchError
from anabranch.reproduce import prose
from anabranch.reproduce.looks import series_of
from anabranch.reproduce.panels import panel
from anabranch.reproduce.rows import Source, expression, in_order, located, spaced, where
from anabranch.showing.figures import Axis, Figure, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.model import PanelOf, SeriesOf


def draw(source: Source) -> tuple[Figure, ...]:
    """Make the figures of an experiment."""
    listed = source.experiment.series
    return tuple(
        Figure(
            figure.number,
            figure.caption,
            tuple(made for of in figure.panel for made in _panels(source, of, listed)),
            columns=figure.columns,
        )
        for figure in source.experiment.figure
    )


def _panels(source: Source, of: PanelOf, listed: Mapping[str, tuple[SeriesOf, ...]]) -> list[Panel]:
    with located(f"{source.experiment.name}: panel {of.key or of.caption or of.kind}"):
        return _drawn(source, of, listed)


def _drawn(source: Source, of: PanelOf, listed: Mapping[str, tuple[SeriesOf, ...]]) -> list[Panel]:
    frame = source.rows(of.rows).filter(where(of.filter, of.condition))
    if of.seed:
        frame = frame.filter(pl.col("seed") == min(source.results.manifest.seeds))
    if not of.each:
        return [_panel(of, frame, listed, of.key)]
    found = in_order(frame, of.each)
    parts = [dict(zip(of.each, values, strict=True)) for values in (sorted(found) if of.sorted else found)]
    if len(parts) > len(of.key):
        raise AnabranchError(
            f"{source.experiment.name}: panel {of.key}: 'each' makes {len(parts)} panels, and 'key' has {len(of.key)} "
            "letters: expected a letter for each",
            hint=f"panels: {', '.join(map(str, parts))}",
        )
    return [_panel(of, frame.filter(where(part)), listed, key) for part, key in zip(parts, of.key, strict=False)]


def _panel(of: PanelOf, frame: pl.DataFrame, listed: Mapping[str, tuple[SeriesOf, ...]], key: str) -> Panel:
    over = None
    if of.over:
        over = pl.col(of.over) if of.over in frame.columns else expression(of.over)
        if frame.schema.get(of.over) == pl.String:
            over = over.map_elements(spaced, return_dtype=pl.String)
    return panel(
        of.kind,
        frame,
        [one for entry in listed[of.series] for one in series_of(entry, frame)],
        expression(of.value),
        over=over,
        x=_axis(of.x),
        y=_axis(of.y),
        key=key,
        caption=_filled(of.caption, frame),
    )


def _axis(of: Axis | str) -> Axis | None:
    return of if isinstance(of, Axis) else Axis(of) if of else None


def _filled(caption: str, frame: pl.DataFrame) -> str:
    """Put values of the rows into a caption: ``{size}``, ``{load:g}``."""
    first: Mapping[str, Any] = frame.row(0, named=True) if frame.height else {}

    def value(match: re.Match[str]) -> str:
        found = first.get(match[1], "–")
        return prose.formatted(found, match[2][1:]) if match[2] and found != "–" else spaced(found)

    return re.sub(r"\{([^{}:]+)(:[^{}]+)?\}", value, caption)
