"""What an experiment is: a scenario, the figures that are drawn from its results, and the paper's numbers to compare.

Everything here is data; `anabranch.reproduce.panels` makes panels from results, `anabranch.showing.figures` draws them,
`anabranch.reproduce.claims` judges the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.showing.figures import published

if TYPE_CHECKING:
    import polars as pl

    from anabranch.reproduce.claims import Claim
    from anabranch.results.manifest import Manifest, RunEntry
    from anabranch.results.tables import Tables
    from anabranch.showing.figures import Figure


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
    calculate
        For an experiment that needs no simulation: makes its tables, which `draw` and the claims find in what they are
        given by `anabranch.reproduce.calculated.table`. It has no scenario then, and no quick size.
    open_ended
        Whether runs end at ``run.time_limit`` by intention, with sessions that are not finished.
    """

    name: str
    title: str
    question: str
    section: str
    figures: tuple[str, ...]
    draw: Callable[[Tables], tuple[Figure, ...]]
    claims: tuple[Claim, ...] = ()
    quick: tuple[str, ...] = field(default=())
    scenario: str = ""
    notes: str = ""
    reference: str | None = None
    calculate: Callable[[], Mapping[str, pl.DataFrame]] | None = None
    open_ended: bool = False

    def incomplete(self, manifest: Manifest) -> tuple[RunEntry, ...]:
        """Runs that did not complete although they should have."""
        return tuple(run for run in manifest.incomplete if not (self.open_ended and run.status == "time_limit"))

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
        """Its scenario file, relative to the repository; empty if it is a calculation."""
        return "" if self.calculate else self.scenario or f"scenarios/{self.name}.toml"
