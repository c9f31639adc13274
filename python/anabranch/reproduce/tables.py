"""A paper's comparison as Markdown: the counts, a row for each claim with the verdict beside the number, explanations.

Claims at the paper's settings, those at other settings, and inputs stand apart. A claim that is measured under several
settings has a column for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce import verdicts
from anabranch.reproduce.claims import TOLERANCE
from anabranch.reproduce.comparison import GOOD, UNRECORDED, facts, recorded, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.comparison import Row
    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record

SEVERAL = """\
A number with ± is a mean over seeds with its 95 % confidence interval (Student's t); that of one seed says so and has
none."""
SINGLE = "The measured numbers are of one seed each and have no intervals."
ABOUT = f"""\
A number that is off by more than {100 * TOLERANCE:.0f} %, and a bound that does not hold, has an explanation, or is
*unexplained*. There are three kinds of explanations: *measured* by an experiment of ours, *arithmetic*, and that *the
paper does not say* what decides it. A bound holds, or holds within the interval if that includes it. Figures without
numbers in the paper's text are not listed."""
VARIANTS = "Measured at settings that are not the paper's: none of these rows counts among its claims."
INPUTS = "What the paper fed its experiments with, beside what ours were fed: no results."
LONG = 30
"""Rows of a table that fit on two screens; more are divided by the paper's sections."""


def markdown(experiments: Sequence[Experiment], records: Mapping[str, Record], old: Mapping[str, str]) -> str:
    """Write the comparison of a paper's page, with the explanations below it.

    Parameters
    ----------
    experiments, records
        Those of the paper.
    old
        The experiments whose records are older than the model, with what they are older than.
    """
    table, notes = rows(experiments, records), Footnotes()
    waiting = [f"`{one.name}`" for one in experiments if one.name not in records]
    blocks = _head(table, old) if table else ["Nothing has been recorded yet."]
    for title, about, claims in (
        (verdicts.PAPER, "", verdicts.claims(table)),
        (verdicts.VARIANT, VARIANTS, verdicts.claims(table, variant=True)),
        ("inputs", INPUTS, verdicts.inputs(table)),
    ):
        blocks += [f"### {title.capitalize()}", about, *_of_claims(claims, notes)] if claims else []
    if notes:
        blocks += ["### Explanations", "\n".join(f"{number}. {why}" for why, number in notes.items())]
    blocks += _records(experiments, records)
    if waiting and table:
        blocks.append(f"Not recorded yet: {', '.join(waiting)}.")
    return "\n\n".join(filter(None, blocks))


def _head(table: Sequence[Row], old: Mapping[str, str]) -> list[str]:
    """The counts, which records are older than the model, and how to read the tables."""
    several = any(len(row.ours.values) > 1 for row in table)
    first, *others = verdicts.summary(table) or [""]
    blocks = [" ".join((f"**{first}**", *others))] if first else []
    if old:
        names = ", ".join(f"`{name}`" for name in old)
        blocks.append(
            f"**Older than the model** are the records of {names}: they wait to be made again, and their numbers may "
            "differ then."
        )
    seeds = SEVERAL if several else SINGLE if any(row.record.seeds for row in table) else ""
    return [*blocks, f"{seeds}\n{ABOUT}".strip()]


def _records(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[str]:
    """What the records rest on: decisions where the paper is silent, and the code that made them."""
    there, told = recorded(experiments, records), facts(experiments, records)
    notes = {one.name: flow(told.text(one.notes, one, missing=UNRECORDED)) for one, _ in there if one.notes}
    decisions = [f"- `{name}`: {text}" for name, text in notes.items()]
    commits: dict[str, list[str]] = {}
    for one, record in there:
        commits.setdefault(record.commit or "a commit not known", []).append(f"`{one.name}`")
    blocks = ["### Decisions where the paper is silent", "\n".join(decisions)] if decisions else []
    if commits:
        said = "\n".join(f"- {commit}: {', '.join(names)}" for commit, names in commits.items())
        blocks += ["Recorded with the code of", said]
    return blocks


class Footnotes(dict[str, int]):
    """Explanations, each once, by number."""

    def verdict(self, row: Row) -> str:
        """The verdict, with the number of its explanation: one that agrees, or is not there, needs none."""
        verdict = f"**{row.words}**" if row.verdict == "unexplained" else row.words
        if row.verdict in GOOD or row.verdict == "missing" or not (why := flow(row.explanation)):
            return verdict
        return f"{verdict} ({self.setdefault(why, len(self) + 1)})"


def flow(text: str) -> str:
    """Write a text on one line, as an item of a list."""
    return " ".join(text.split())


def _of_claims(table: Sequence[Row], notes: Footnotes) -> list[str]:
    """The tables of these claims: those of one setting together, then each experiment's of several."""
    single = [row for row in table if not row.claim.setting]
    blocks = []
    if len(single) > LONG:
        for section in dict.fromkeys(row.experiment.section for row in single):
            mine = [row for row in single if row.experiment.section == section]
            blocks += [f"#### {section}", _overall(mine, notes)]
    elif single:
        blocks.append(_overall(single, notes))
    for one in dict.fromkeys(row.experiment.name for row in table):
        several = [row for row in table if row.claim.setting and row.experiment.name == one]
        for mine in _sharing_settings(several):
            blocks += [f"`{one}` ({mine[0].size}), by setting:", _by_setting(mine, notes)]
    return blocks


def _sharing_settings(table: Sequence[Row]) -> list[list[Row]]:
    """Divide rows so that statements without a common setting have tables of their own."""
    groups: list[tuple[set[str], set[str]]] = []
    for statement in dict.fromkeys(row.claim.statement for row in table):
        settings = {row.claim.setting for row in table if row.claim.statement == statement}
        joined = [one for one in groups if one[1] & settings]
        groups = [one for one in groups if one not in joined]
        groups.append(({statement}.union(*(one[0] for one in joined)), settings.union(*(one[1] for one in joined))))
    return [[row for row in table if row.claim.statement in statements] for statements, _ in groups]


def grid(*lines: Sequence[str]) -> str:
    """A table with its head; a cell has no bars."""
    head, *others = ("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *others])


def _overall(table: Sequence[Row], notes: Footnotes) -> str:
    """The claims that are measured under one setting."""
    heads = ("experiment", "size", "the paper says", "paper", "measured", "verdict")
    lines = (
        (
            f"`{row.experiment.name}`",
            row.size,
            f"{row.claim.says} ({row.claim.where})",
            row.paper,
            row.measured,
            notes.verdict(row),
        )
        for row in table
    )
    return grid(heads, *lines)


def _by_setting(table: Sequence[Row], notes: Footnotes) -> str:
    """Claims that are measured under several settings, with a column for each."""
    settings = list(dict.fromkeys(row.claim.setting for row in table))
    lines = [("the paper says", "paper", *settings)]
    for statement in dict.fromkeys(row.claim.statement for row in table):
        mine = [row for row in table if row.claim.statement == statement]
        places = ", ".join(dict.fromkeys(row.claim.where for row in mine))
        papers = list(dict.fromkeys(row.paper for row in mine))
        # Where the paper's number is another one for each setting it stands beside ours.
        cells = {
            row.claim.setting: f"{row.measured}{f' ({row.paper})' if len(papers) > 1 else ''}, {notes.verdict(row)}"
            for row in mine
        }
        paper = papers[0] if len(papers) == 1 else "in brackets"
        lines.append((f"{statement} ({places})", paper, *(cells.get(setting, "") for setting in settings)))
    return grid(*lines)
