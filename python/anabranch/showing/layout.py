"""Tables that fit the terminal: another layout, rather than columns that are cut, where it is narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

UNLIMITED = 10_000
"""Columns of a terminal into which everything fits."""


def narrowing(table: Table) -> Fitting:
    """A table as it is where it fits; else its rows below each other, each cell on a line with its column's name."""
    return Fitting(lambda: [table], lambda: [_records(table)])


def _records(table: Table) -> Text:
    """A table's rows, one after the other, headed by their first cells; what is empty is left out."""
    first, *others = table.columns
    names = [str(column.header) for column in others]
    lines = [Text(str(table.title), style="bold")] if table.title else []
    for name, *cells in zip(*(column.cells for column in table.columns), strict=True):
        lines.append(Text.assemble((f"{first.header} " if str(first.header) else "", "dim"), (str(name), "bold")))
        known = [(label, str(cell)) for label, cell in zip(names, cells, strict=True) if str(cell).strip()]
        lines += [Text(f"  {label}: {cell}" if label else f"  {cell}") for label, cell in known]
    return Text("\n").join([*lines, Text()])


class Fitting:
    """The first of several layouts of the same content that fits the width; the last if none does.

    Parameters
    ----------
    layouts
        Each makes its parts, from the widest layout to the narrowest, which may wrap.
    """

    def __init__(self, *layouts: Callable[[], Sequence[RenderableType]]) -> None:
        self.layouts = layouts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        *wider, narrowest = self.layouts
        for layout in wider:
            parts = layout()
            if all(_width(console, options, part) <= options.max_width for part in parts):
                yield from parts
                return
        yield from narrowest()


def _width(console: Console, options: ConsoleOptions, part: RenderableType) -> int:
    """Columns that a part needs. Of a table, cells that must not wrap are needed whole."""
    # Measured within the width, what does not fit seems to.
    free = options.update(width=UNLIMITED)
    if isinstance(part, Table):
        for column in part.columns:
            if column.no_wrap:
                cells = [column.header, *column.cells]
                column.min_width = max(Measurement.get(console, free, cell).maximum for cell in cells)
    return Measurement.get(console, free, part).minimum
