"""A paper's comparison as Markdown, by the paper's sections: one table each, the causes below it, the rest folded.

Claims at the paper's settings come first. Of those at other settings what is unexplained stands in a table of its own;
the others, what the paper fed its experiments with, and decisions are folded.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anabranch.reproduce import verdicts
from anabranch.reproduce.causes import Causes
from anabranch.reproduce.comparison import GOOD, bare, facts
from anabranch.reproduce.decisions import decisions, folded, origins
from anabranch.reproduce.tables import NEAR, statements, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.comparison import Row
    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record

SEVERAL = """\
± is the 95 % confidence interval of a mean over seeds (Student's t); where all seeds give the same number, or there is
but one seed, there is none."""
SINGLE = "The measured numbers are of one seed each and have no intervals."
KEY = f"""\
A plain number agrees: it is {NEAR} of the paper's, or a bound that holds. One in *italics* deviates, and the cause is
known: *measured* by an experiment of ours, by *arithmetic*, or *the paper does not say* what decides it. One in
**bold** is unexplained. Letters lead to the list below the table. Where the paper's number is another one for each
setting, it stands in brackets beside ours. Figures without numbers in the paper's text are not listed."""
LONG = 30
"""Rows of one table that fit on two screens; a page of more has a table for each of the paper's sections."""


def counts(experiments: Sequence[Experiment], records: Mapping[str, Record], old: Mapping[str, str]) -> str:
    """How many claims came out, and how many records are older than the model; empty if nothing is recorded."""
    first, *others = verdicts.summary(bare(experiments, records)) or [""]
    there = sum(one.name in records for one in experiments)
    if old:
        others.append(
            f"**Older than the model** are {len(old)} of {there} records, as their tables say: they wait to be made "
            "again, and their numbers may differ then."
        )
    return " ".join(filter(None, (f"**{first}**" if first else "", *others)))


def markdown(
    experiments: Sequence[Experiment],
    records: Mapping[str, Record],
    old: Mapping[str, str],
    titles: Mapping[str, str] | None = None,
) -> str:
    """Write how to read the tables, then the sections of a paper's page.

    Parameters
    ----------
    experiments, records
        Those of the paper.
    old
        The experiments whose records are older than the model, with what they are older than.
    titles
        What the paper's sections are about.
    """
    rows, told, titles = bare(experiments, records), facts(experiments, records), titles or {}
    if not rows:
        return "Nothing has been recorded yet."
    seeds = SEVERAL if any(len(row.ours.values) > 1 for row in rows) else ""
    seeds = seeds or (SINGLE if any(row.record.seeds for row in rows) else "")
    blocks, texts = [f"{KEY}\n{seeds}".strip()], dict[str, tuple[str, str]]()
    divided = len(statements([row for row in rows if not row.claim.input])) > LONG
    for section in dict.fromkeys(one.section if divided else "" for one in experiments):
        own = [one for one in experiments if one.section == section or not divided]
        mine = [row for row in rows if row.experiment in own]
        said = [*_section(mine, Causes(told, section, texts), old), decisions(own, records, told)]
        title = f"{section}: {titles[section]}" if section in titles else section or "The claims"
        if any(said):
            blocks += [f"### {title[0].upper()}{title[1:]}", *filter(None, said)]
    return "\n\n".join([*blocks, *origins(experiments, records, old)])


def _section(rows: Sequence[Row], causes: Causes, old: Mapping[str, str]) -> list[str]:
    """The tables of a section, each with its causes."""
    claims, variants, fed = verdicts.claims(rows), verdicts.claims(rows, variant=True), verdicts.inputs(rows)
    lines = statements(variants)
    open_ = [row for line in lines if not all(map(_settled, line)) for row in line]
    others = [row for row in variants if row not in open_]

    def told(mine: Sequence[Row]) -> list[str]:
        return [table(mine, causes, old, causes.section), *causes.listing()]

    blocks = told(claims) if claims else []
    if fed:
        blocks.append(folded("What the paper fed its experiments with, and we ours: no results", *told(fed)))
    if variants and blocks:
        blocks.append(f"#### {causes.section} at other settings" if causes.section else "#### At other settings")
    if variants:
        counted = _counted(variants).capitalize()
        blocks.append(f"Numbers at other settings than the paper's, which count apart. {counted}.")
    if open_:
        blocks += told(open_)
    if others:
        blocks.append(folded(f"The others: {_counted(others)}", *told(others)))
    return blocks


def _settled(row: Row) -> bool:
    return row.verdict in GOOD or row.verdict == "explained"


def _counted(rows: Sequence[Row]) -> str:
    found = Counter("agree" if row.verdict in GOOD else row.verdict for row in rows)
    words = {"agree": "agree", "explained": "explained", "unexplained": "**unexplained**"}
    words |= {"undecided": "not decided", "missing": "not measured"}
    return ", ".join(f"{word}: {found[verdict]}" for verdict, word in words.items() if found[verdict])
