"""The comparison table: what the papers say, what we measured, and the ratio; from records, never typed.

One list of rows serves the pages of ``docs/fidelity``, the terminal, and the reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anabranch.base import units
from anabranch.errors import AnabranchError
from anabranch.reproduce import age, costs, prose, registry
from anabranch.reproduce.claims import TOLERANCE, Measured, judge
from anabranch.reproduce.record import fingerprint, read_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.claims import Claim, Verdict
    from anabranch.reproduce.model import Experiment, Explanation
    from anabranch.reproduce.record import Record

BEGIN = "<!-- comparison: written by `anabranch reproduce --record`; do not edit -->"
END = "<!-- end of comparison -->"
PAGE = "docs/fidelity/{}.md"
"""Page of a paper's table, below the repository."""

WORDS: Mapping[Verdict, str] = {
    "agrees": f"within {100 * TOLERANCE:.0f} %",
    "holds": "holds",
    "within": "holds within the interval",
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

ABOUT = f"""\
Mean over seeds ± 95 % confidence interval (Student's t). Deviations over {100 * TOLERANCE:.0f} %, and
bounds that do not hold, have an explanation, or are *unexplained*. A bound holds, or holds within the
interval if that includes it. Figures without numbers in the paper's text are not listed."""
"""What stands above a table."""

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
        explained = self.why is not None and self.why.kind != "not explained"
        return judge(self.claim, self.ours.mean, quick=self.record.quick, ci=self.ours.ci, explained=explained)

    @property
    def paper(self) -> str:
        """The paper's number with its unit."""
        return f"{RELATIONS[self.claim.relation]}{self.claim.paper:g} {self.claim.unit}".rstrip()

    @property
    def measured(self) -> str:
        """Ours with its interval and unit; told if the seeds gave one and the same value."""
        mean = self.ours.mean
        if mean is None:
            return "–"
        text = f"{units.with_interval(mean, self.ours.ci)} {self.claim.unit}".rstrip()
        return f"{text} (under every seed)" if self.ours.alike else text

    @property
    def words(self) -> str:
        """The verdict for people; of a bound that does not hold, with what it would need."""
        verdict, mean, claim = self.verdict, self.ours.mean, self.claim
        said = WORDS[verdict]
        if verdict == "agrees" and claim.tolerance != TOLERANCE:
            said = f"within {100 * claim.tolerance:g} %" if claim.tolerance else "exact"
        if claim.relation == "equals" or verdict not in {"explained", "unexplained"} or mean is None:
            return said
        return f"does not hold ({units.digits(mean)}, needs {RELATIONS[claim.relation]}{claim.paper:g}), {said}"

    @property
    def ratio(self) -> str:
        """Ours over the paper's."""
        mean, paper = self.ours.mean, self.claim.paper
        if mean is None or not paper:
            return "–"
        return units.digits(mean / paper, 2 if abs(mean / paper) < 0.1 else 3)  # noqa: PLR2004 - 0.0300 says too much

    @property
    def size(self) -> str:
        """Size and number of seeds."""
        if self.experiment.calculate:
            return "calculated"
        seeds = len(self.ours.values) or len(self.record.seeds)
        return f"{'quick' if self.record.quick else 'full'}, {seeds} seed{'' if seeds == 1 else 's'}"


def _recorded(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[tuple[Experiment, Record]]:
    return [(one, records[one.name]) for one in experiments if one.name in records]


def rows(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[Row]:
    """The rows of all experiments that have a record, in their order."""
    text = _facts(experiments, records).text
    return [
        replace(row, explanation=text(row.why.text, row.experiment, missing=UNRECORDED)) if row.why else row
        for row in _unexplained(experiments, records)
    ]


def _unexplained(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[Row]:
    """The rows without their explanations, which may refer to what is not there."""
    return [Row(one, claim, record) for one, record in _recorded(experiments, records) for claim in one.claim]


def _facts(experiments: Sequence[Experiment], records: Mapping[str, Record], root: Path | None = None) -> prose.Facts:
    """What explanations refer to: these records, but for the quick size, and those of other experiments."""
    known = {one.name: one for one in (*registry.experiments(), *experiments)}
    full: dict[str, Record | None] = {name: record for name, record in records.items() if not record.quick}
    return prose.Facts(tuple(known.values()), root, full)


def told(experiment: Experiment) -> str:
    """The decisions of an experiment where its paper is silent, with what they refer to."""
    return _facts([experiment], {}).text(experiment.notes, experiment, missing=UNRECORDED)


def markdown(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """Write the table of a paper's page, with the explanations below it."""
    table, notes = rows(experiments, records), Footnotes()
    recorded = _recorded(experiments, records)
    waiting = [f"`{one.name}`" for one in experiments if one.name not in records]
    facts = _facts(experiments, records)
    decisions = [(one.name, facts.text(one.notes, one, missing=UNRECORDED)) for one, _ in recorded if one.notes]
    commits: dict[str, list[str]] = {}
    for one, record in recorded:
        commits.setdefault(record.commit or "a commit not known", []).append(f"`{one.name}`")
    blocks = [ABOUT, _overall([row for row in table if not row.claim.setting], notes)]
    for one, _ in recorded:
        blocks += _by_setting([row for row in table if row.claim.setting and row.experiment is one], notes)
    if not table:
        blocks = ["Nothing has been recorded yet."]
    blocks.append("\n".join(f"{number}. {why}" for why, number in notes.items()))
    if decisions:
        said = "\n".join(f"- `{name}`: {_flow(text)}" for name, text in decisions)
        blocks += ["Decisions where the paper is silent:", said]
    if commits:
        said = "\n".join(f"- {commit}: {', '.join(names)}" for commit, names in commits.items())
        blocks += ["Recorded with the code of", said]
    if waiting and table:
        blocks.append(f"Not recorded yet: {', '.join(waiting)}.")
    return "\n\n".join(filter(None, blocks))


class Footnotes(dict[str, int]):
    """Explanations, each once, by number."""

    def verdict(self, row: Row) -> str:
        """The verdict, with the number of its explanation: a number that agrees needs none."""
        verdict = f"**{row.words}**" if row.verdict == "unexplained" else row.words
        if row.verdict in GOOD or not (why := _flow(row.explanation)):
            return verdict
        return f"{verdict} ({self.setdefault(why, len(self) + 1)})"


def _table(*lines: Sequence[str]) -> str:
    """A table with its head; a cell has no bars."""
    head, *others = ("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *others])


def _overall(table: Sequence[Row], notes: Footnotes) -> str:
    """The claims that are measured under one setting."""
    heads = ("experiment", "the paper says", "paper", "measured", "ratio", "size", "verdict")
    named = ((f"`{row.experiment.name}`", f"{row.claim.says} ({row.claim.where})", row) for row in table)
    return _table(
        heads, *((*name, row.paper, row.measured, row.ratio, row.size, notes.verdict(row)) for *name, row in named)
    )


def _by_setting(table: Sequence[Row], notes: Footnotes) -> list[str]:
    """An experiment's claims that are measured under several settings, with a column for each; nothing without any."""
    if not table:
        return []
    settings = list(dict.fromkeys(row.claim.setting for row in table))
    lines = [("the paper says", "paper", *settings)]
    for statement in dict.fromkeys(row.claim.statement for row in table):
        mine = [row for row in table if row.claim.statement == statement]
        places = ", ".join(dict.fromkeys(row.claim.where for row in mine))
        papers = list(dict.fromkeys(row.paper for row in mine))
        # Where the paper's number is another one for each setting it stands beside ours.
        cells = {
            row.claim.setting: f"{row.measured}{f' ({row.paper})' if len(papers) > 1 else ''}: {notes.verdict(row)}"
            for row in mine
        }
        paper = papers[0] if len(papers) == 1 else "in brackets"
        lines.append((f"{statement} ({places})", paper, *(cells.get(setting, "") for setting in settings)))
    return [f"`{table[0].experiment.name}` ({table[0].size}), by setting:", _table(*lines)]


def cost(root: Path, experiments: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """Say what the recorded runs cost, from their recorded times; empty where none are."""
    recorded = [record for _, record in _recorded(experiments, records)]
    found = [(one, costs.read(costs.path(root, one.experiment), quick=one.quick)) for one in recorded]
    known = [(len(one.seeds), times.seconds.values()) for one, times in found if times is not None]
    runs = sum(seeds * len(seconds) for seeds, seconds in known)
    if not runs:
        return ""
    took = units.duration(sum(seeds * sum(seconds) for seeds, seconds in known))
    return (
        f"The recorded runs, {runs} in all, took at most {took} of one core, on the machines named in `data/` (time on "
        "a processor; on the wall for runs that tell no other, whatever ran beside them)."
    )


def _flow(text: str) -> str:
    """Write a text on one line, as an item of a list."""
    return " ".join(text.split())


def insert(page: str, table: str, *, where: str = "page") -> str:
    """Put a table between the markers of a page.

    Raises
    ------
    AnabranchError
        If the page lacks the markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise AnabranchError(f"{where}: the markers of the comparison table are missing", hint=f"{BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def pages(root: Path) -> list[tuple[Path, str]]:
    """Make the papers' pages as the records have them: file and text, of which only the table is made here."""
    made = []
    for paper in registry.papers():
        page = root / PAGE.format(paper.name)
        experiments = registry.of_paper(paper.name)
        records = read_all(root, experiments)
        parts = (markdown(experiments, records), cost(root, experiments, records))
        table = "\n\n".join(part for part in parts if part)
        made.append((page, insert(page.read_text(encoding="utf-8"), table, where=str(page))))
    return made


def problems(root: Path, experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[str]:
    """List what keeps the tables from being a fair comparison; empty if nothing does.

    Unexplained deviations, claims without a number, references to what is not recorded, runs that did not complete,
    records of another version of the scenario, and records of the quick size.
    """
    found = []
    for row in _unexplained(experiments, records):
        said = f"{row.measured} against {row.paper}, {row.words}" if row.verdict == "unexplained" else "not measured"
        if row.verdict in {"unexplained", "missing"}:
            found.append(f"{row.experiment.name}, {row.claim.key}: {said}")
    facts = _facts(experiments, records, root)
    for experiment, record in _recorded(experiments, records):
        for text in (experiment.notes, *(why.text for why in experiment.explained.values())):
            try:
                facts.text(text, experiment)
            except AnabranchError as error:
                found.append(str(error))
        file = root / experiment.file
        text = file.read_text(encoding="utf-8") if experiment.file and file.is_file() else ""
        if record.scenario != fingerprint(experiment, text, quick=record.quick):
            found.append(f"{experiment.name}: recorded with another version of {experiment.file}")
        if record.incomplete:
            found.append(f"{experiment.name}: {record.incomplete} runs did not complete")
        if record.quick:
            found.append(f"{experiment.name}: recorded in the quick size only")
    return found


def remarks(root: Path, experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[str]:
    """List what to know of the records: those older than the model, claims of one seed, numbers that none holds."""
    found = []
    for one, record in _recorded(experiments, records):
        if not one.calculate and (older := age.older(root, record)):
            found.append(f"{one.name}: {older}")
        single = [key for key, measured in record.claims.items() if len(measured.values) == 1 and not one.calculate]
        if single:
            found.append(f"{one.name}: one seed: {', '.join(single)}")
        for at, text in prose.shown(one).items():
            if once := [*prose.once(text), *(["what a command shows"] if prose.commands(text) else [])]:
                found.append(f"{one.name}: {at}: measured once, not recorded: {', '.join(once)}")
    return found
