"""Figures: panels of series on axes, drawn for the page and for print from the same data.

`Figure` is data; `drawing` makes Vega-Lite, SVG and PDF of it, `files` writes them, `html` places them on a page.
"""

from anabranch.showing.figures.files import csv_name, write
from anabranch.showing.figures.model import Axis, Figure, Kind, Panel, Reference, Series, published

__all__ = ["Axis", "Figure", "Kind", "Panel", "Reference", "Series", "csv_name", "published", "write"]
