"""The rows of the comparison: what the papers say, what we measured, and the verdict; from records, never typed.

One list of rows serves the pages of ``docs/fidelity``, the terminal, and the reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anabranch.base import units
from anabranch.reproduce import prose, registry
from anabranch.reproduce.claims import TOLERANCE, Measured, judge
from anabranch.reproduce.explanations import lacks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.claims import Claim, Verdict
    from anabranch.reproduce.model import Experiment, Explanation
    from anabranch.reproduce.record import Record

WORDS: Mapping[Verdict, str] = {
    "agrees": f"within {100 * TOLERANCE:.0f} %",
    "holds": "holds",
    "within": "holds within the interval",
    "undecided": "not decided: the interval is too wide",
    "explained": "explained",
    "unexplained": "unexplained",
    "quick": "quick size: not judged",
    "missing": "not measured",
}
"""Verdicts for people."""

GOOD: frozenset[Verdict] = frozenset({"agrees", "holds", "within"})
"""Verdicts that need no explanation."""

UNRECORDED = "(not recorded)"
"""What stands in a text for a number that no record has."""

RELATIONS = {"equals": "", "at most": "≤ ", "at least": "≥ "}


@dataclass(frozen=True, slots=True)
class Row:
    """A claim beside our number, in an experiment's record; with the explanation why ours differs, in Markdown."""

    experiment: Experiment
    claim: Claim
    record: Record
    explanation: str = ""

    @property
    def ours(self) -> Measured:
        """What was measured; no values if nothing was."""
        return self.record.claims.get(self.claim.key, Measured({}))

    @property
    def why(self) -> Explanation | None:
        """The explanation of the claim."""
        return self.experiment.explanation.get(self.claim.explanation)

    @property
    def verdict(self) -> Verdict:
        """How ours stands to the paper's."""
        return judge(self.claim, self.ours.mean, quick=self.record.quick, ci=self.ours.ci, explained=bool(self.kind))

    @property
    def kind(self) -> str:
        """The kind of its explanation; empty without one, and for a text that explains nothing."""
        why = self.why
        return "" if why is None or why.kind == "not explained" or lacks(why, self.experiment) else why.kind

    @property
    def variant(self) -> bool:
        """Whether it was measured at other settings than the paper's."""
        return self.experiment.variant or self.claim.variant

    @property
    def paper(self) -> str:
        """The paper's number with its unit."""
        number = self.claim.paper
        said = f"{number:.0f}" if number.is_integer() else f"{number:g}"
        return f"{RELATIONS[self.claim.relation]}{said} {self.claim.unit}".rstrip()

    @property
    def measured(self) -> str:
        """Ours with its interval and unit; told if the seeds gave one and the same value, and if there is but one."""
        mean = self.ours.mean
        if mean is None:
            return "–"
        text = f"{units.with_interval(mean, self.ours.ci)} {self.claim.unit}".rstrip()
        if self.experiment.calculate:
            return text
        return f"{text} (under every seed)" if self.ours.alike else f"{text} (1 seed)" if self.alone else text

    @property
    def alone(self) -> bool:
        """Whether it was simulated under one seed."""
        return self.ours.alone and not self.experiment.calculate

    @property
    def words(self) -> str:
        """The verdict for people, with the kind of the explanation."""
        verdict, claim = self.verdict, self.claim
        if verdict == "agrees" and claim.tolerance != TOLERANCE:
            return f"within {100 * claim.tolerance:g} %" if claim.tolerance else "exact"
        said = f"{WORDS[verdict]}: {self.kind}" if verdict == "explained" else WORDS[verdict]
        missed = claim.relation != "equals" and verdict in {"explained", "unexplained"}
        return f"does not hold, {said}" if missed else said

    @property
    def ratio(self) -> str:
        """Ours over the paper's."""
        mean, paper = self.ours.mean, self.claim.paper
        if mean is None or not paper:
            return "–"
        return units.digits(mean / paper, 2 if abs(mean / paper) < 0.1 else 3)  # noqa: PLR2004 - 0.0300 says too much

    @property
    def size(self) -> str:
        """Size, which may be smaller than the paper's, and number of seeds."""
        if self.experiment.calculate:
            return "calculated"
        seeds = len(self.ours.values) or len(self.record.seeds)
        size = "quick" if self.record.quick else self.experiment.size.removesuffix(" size")
        return f"{size}, {seeds} seed{'' if seeds == 1 else 's'}"


def recorded(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[tuple[Experiment, Record]]:
    """The experiments that have a record, with it."""
    return [(one, records[one.name]) for one in experiments if one.name in records]


def rows(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[Row]:
    """The rows of all experiments that have a record, in their order."""
    text = facts(experiments, records).text
    return [
        replace(row, explanation=text(row.why.text, row.experiment, missing=UNRECORDED)) if row.why else row
        for row in bare(experiments, records)
    ]


def bare(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[Row]:
    """The rows without their explanations, which may refer to what is not there."""
    return [Row(one, claim, record) for one, record in recorded(experiments, records) for claim in one.claim]


def facts(experiments: Sequence[Experiment], records: Mapping[str, Record], root: Path | None = None) -> prose.Facts:
    """What explanations refer to: these records, but for the quick size, and those of other experiments."""
    known = {one.name: one for one in (*registry.experiments(), *experiments)}
    full: dict[str, Record | None] = {name: record for name, record in records.items() if not record.quick}
    return prose.Facts(tuple(known.values()), root, full)


def told(experiment: Experiment) -> str:
    """The decisions of an experiment where its paper is silent, with what they refer to."""
    return facts([experiment], {}).text(experiment.notes, experiment, missing=UNRECORDED)
