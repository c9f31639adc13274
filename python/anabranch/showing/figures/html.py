"""Figures on a page: what ``figures.j2`` shows of them, their specifications moved to the page's one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.showing.figures import drawing
from anabranch.showing.figures.files import csv_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.showing.figures.model import Figure

BLOCKS = frozenset({"bars", "stacked"})
"""Kinds of panels whose legend shows areas."""

DOTS = frozenset({"points"})
"""Kinds of panels whose legend shows markers without a line."""

PAIR = 2
"""Panels that stand side by side rather than three in a row."""


def place(figure: Figure, specs: list[Mapping[str, Any]], *, key: str) -> dict[str, Any]:
    """Move the specifications of a figure to the page's list, and return what ``figures.j2`` shows of it.

    Parameters
    ----------
    figure
        The figure.
    specs
        The page's list; a panel keeps its number in it.
    key
        What is drawn, for the reader: below the panels.
    """
    panels = []
    shared = drawing.alike(figure)
    for panel in figure.panels:
        own = () if shared or len(panel.series) == 1 else panel.series
        panels.append(
            {
                "key": panel.key,
                "caption": panel.caption,
                "spec": len(specs),
                "csv": csv_name(figure, panel.key),
                "series": own,
                "look": _look({panel.kind}),
            }
        )
        specs.append(drawing.page_spec(panel))
    return {
        "number": figure.number,
        "heading": figure.heading,
        "series": figure.panels[0].series if shared else (),
        "look": _look({panel.kind for panel in figure.panels}),
        "panels": panels,
        "beside": "one" if len(panels) == 1 else "pairs" if figure.columns == PAIR or len(panels) % PAIR == 0 else "",
        "key": key,
    }


def _look(kinds: set[str]) -> str:
    """How a legend shows its series: as areas, as markers, or as lines with markers."""
    return "block" if kinds <= BLOCKS else "dot" if kinds <= DOTS else "line"
