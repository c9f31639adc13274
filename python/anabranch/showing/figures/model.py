"""What a figure is: panels of series on axes, as data. `anabranch.showing.figures.drawing` draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl

    from anabranch.base.styles import Style

Kind = Literal["curves", "steps", "means", "points", "bars", "stacked"]
"""How a panel is drawn.

``curves``: a line through many points (ranked goodput, time series). ``steps``: the same as a staircase (CDF, CCDF).
``means``: one point with its interval for each value of a number. ``points``: markers without lines, circled where the
column ``ring`` says so. ``bars``: one bar with its interval for each
category, series side by side. ``stacked``: one bar for each category, series on top of each other.
"""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, or one colour of bars.

    Attributes
    ----------
    label
        Name for people; unique within a panel.
    where
        Column to value: which rows of the results belong to it.
    style
        Its look.
    """

    label: str
    where: Mapping[str, Any]
    style: Style


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title with the unit, whether it is logarithmic, and its ends where the data do not decide them.

    On an axis of dates the data are date-times, shown in UTC.
    """

    title: str
    log: bool = False
    domain: tuple[float, float] | None = None
    dates: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A line that no data made, such as where all points should lie.

    Attributes
    ----------
    y
        Its height; None: the diagonal, on which y is x.
    """

    y: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of a figure.

    Attributes
    ----------
    key
        The paper's letter; empty for a figure of one part.
    caption
        What the paper writes below it.
    kind
        How it is drawn.
    data
        Columns ``series`` (label), ``x``, ``y``, ``low`` and ``high`` (ends of the interval, null where there is none).
        A ``y`` that is null breaks a curve. For ``points`` also ``ring`` (bool) and ``name`` (what a point is), if
        they are wanted.
    x, y
        The axes.
    series
        What is drawn, in the order of the legend.
    references
        Lines to compare with, drawn in red.
    interval
        What ``low`` and ``high`` are the ends of.
    """

    key: str
    caption: str
    kind: Kind
    data: pl.DataFrame
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()
    interval: str = "95 % interval"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper.

    Attributes
    ----------
    number
        As the paper counts: ``13``; also part of file names.
    caption
        The paper's caption.
    panels
        Its parts, in order.
    columns
        Parts side by side in print; default: all, up to four.
    label
        What stands before the caption; default: ``Figure 13``. Empty for a figure that no paper has.
    """

    number: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int | None = None
    label: str | None = None

    @property
    def heading(self) -> str:
        """Label and caption in one line."""
        label = (f"Figure {self.number}" if published(self.number) else "") if self.label is None else self.label
        return ": ".join(part for part in (label, self.caption) if part)


def published(figure: str) -> bool:
    """Tell whether a figure is a paper's: those have numbers, our own have names.

    Examples
    --------
    >>> published("13a"), published("Polyraptor 1a"), published("k16")
    (True, True, False)
    """
    return figure.rpartition(" ")[2][:1].isdigit()
