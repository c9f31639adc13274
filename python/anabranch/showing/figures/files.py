"""Figures as files: SVG and PDF of the whole, and the data of each panel as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.base import targets

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.showing.figures.model import Figure


def write(folder: Path, figure: Figure) -> None:
    """Write a figure as SVG and PDF, and the data of each panel as CSV."""
    from anabranch.showing.figures import drawing  # noqa: PLC0415 - Altair takes a second to load

    targets.put(folder / f"fig{figure.number}.svg", drawing.svg(figure))
    targets.put(folder / f"fig{figure.number}.pdf", drawing.pdf(figure))
    for panel in figure.panels:
        targets.put(folder / csv_name(figure, panel.key), panel.data.write_csv())


def csv_name(figure: Figure, key: str) -> str:
    """Name of the file that holds the data of a panel."""
    return f"fig{figure.number}{key}.csv"
