"""What an experiment is: a scenario, the figures that are drawn from its results, and the paper's numbers to compare.

Everything here is data; `anabranch.reproduce.panels` makes panels from results, `anabranch.reproduce.drawing` draws
them, `anabranch.reproduce.claims` judges the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl

    from anabranch.reproduce.claims import Claim
    from anabranch.results import Results
    from anabranch.styles import Style

Kind = Literal["curves", "steps", "means", "bars", "stacked"]
"""How a panel is drawn.

``curves``: a line through many points (ranked goodput, time series). ``steps``: the same as a staircase (CDF, CCDF).
``means``: one point with its interval for each value of a number. ``bars``: one bar with its interval for each
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
    """An axis: its title with the unit, whether it is logarithmic, and its ends where the data do not decide them."""

    title: str
    log: bool = False
    domain: tuple[float, float] | None = None


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
    x, y
        The axes.
    series
        What is drawn, in the order of the legend.
    """

    key: str
    caption: str
    kind: Kind
    data: pl.DataFrame
    x: Axis
    y: Axis
    series: tuple[Series, ...]


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


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose evaluation is reproduced: its name in commands and files, its short name, and its reference."""

    name: str
    short: str
    reference: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of a paper.

    Attributes
    ----------
    name
        Paper and figure, as on the command line: ``scdp/fig13``.
    title
        What is measured, in a few words.
    question
        What the experiment answers.
    section
        Where the paper describes it: ``§V-F``.
    figures
        The figures and parts of figures that it makes: ``("13a", "13b")``.
    draw
        Makes the figures from the results.
    claims
        The numbers that the paper states.
    quick
        Settings of ``--quick``, as ``anabranch run`` takes them: the same shape in seconds. ``sweep."KEY"=[...]``
        replaces the values of a swept key.
    scenario
        Scenario file, relative to the repository; default ``scenarios/NAME.toml``.
    notes
        Decisions where the paper is silent, in Markdown; shown with the figures.
    reference
        Where it was published, if not in the paper of its name; empty for an experiment of our own.
    """

    name: str
    title: str
    question: str
    section: str
    figures: tuple[str, ...]
    draw: Callable[[Results], tuple[Figure, ...]]
    claims: tuple[Claim, ...] = ()
    quick: tuple[str, ...] = field(default=())
    scenario: str = ""
    notes: str = ""
    reference: str | None = None

    @property
    def paper(self) -> str:
        """The paper's name, the part before the slash."""
        return self.name.partition("/")[0]

    @property
    def own(self) -> bool:
        """Whether none of its figures is a paper's."""
        return not any(map(published, self.figures))

    @property
    def file(self) -> str:
        """Its scenario file, relative to the repository."""
        return self.scenario or f"scenarios/{self.name}.toml"
