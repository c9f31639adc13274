"""Figures of an experiment, from its results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import AnabranchError
from anabranch.reproduce import prose
from anabranch.reproduce.looks import series_of
from anabranch.reproduce.model import quantity
from anabranch.reproduce.panels import panel
from anabranch.reproduce.rows import Source, in_order, located, where
from anabranch.reproduce.schema import nearest
from anabranch.showing.figures import Figure, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anabranch.reproduce.model import PanelOf

PLACEHOLDER = re.compile(r"\{([^{}:]+)(:[^{}]*)?\}")
"""A value of the rows in a caption."""


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
            made.append(panel(of, part, series, key=key, caption=_filled(of.caption, part)))
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


def placeholders(caption: str) -> list[str]:
    """The columns whose values stand in a caption.

    Raises
    ------
    AnabranchError
        If something in braces is no column with a format of numbers.

    Examples
    --------
    >>> placeholders("{size}, load {load:g}")
    ['size', 'load']
    """
    found = list(PLACEHOLDER.finditer(caption))
    for match in found:
        if not prose.FORMAT.fullmatch((match[2] or ":")[1:]):
            raise AnabranchError(f"{match[0]}: {match[2][1:]!r} is no format of a number", hint="such as .2f or g")
    if re.search(r"[{}]", PLACEHOLDER.sub("", caption)):
        raise AnabranchError(f"{caption}: expected {{COLUMN}} or {{COLUMN:FORMAT}}")
    return [match[1] for match in found]


def _filled(caption: str, frame: pl.DataFrame) -> str:
    """Put values of the rows into a caption: ``{size}``, ``{load:g}``; of a part without rows, a dash."""
    first: Mapping[str, Any] = frame.row(0, named=True) if frame.height else {}
    for column in placeholders(caption):
        if column not in frame.columns:
            raise AnabranchError(f"{caption}: the rows have no column {column!r}", hint=nearest(column, frame.columns))

    def value(match: re.Match[str]) -> str:
        found = first.get(match[1], "–")
        return prose.formatted(found, match[2][1:]) if match[2] and found != "–" else quantity(found)

    return PLACEHOLDER.sub(value, caption)
