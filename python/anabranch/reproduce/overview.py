"""The overview ``docs/fidelity/README.md``: which transports are here, how many claims come out, what is missing.

Its numbers are of the records, its systems of the inventory.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

from anabranch.reproduce import comparison, inventory, verdicts
from anabranch.reproduce.comparison import GOOD
from anabranch.reproduce.model import ExplanationKind
from anabranch.reproduce.tables import grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.claims import Verdict
    from anabranch.reproduce.comparison import Row
    from anabranch.reproduce.inventory import System
    from anabranch.reproduce.model import Experiment, Paper
    from anabranch.reproduce.record import Record

PAGE = "docs/fidelity/README.md"
OPEN: frozenset[Verdict] = frozenset({"undecided", "quick", "missing"})
"""Verdicts that say nothing of the claim yet."""
HEAD = """\
<!-- Written by `anabranch reproduce --pages` from `data/`; do not edit. -->

# Can I trust this simulator with my transport?

If it is here, so are its rules: each page names the paper or RFC, what is implemented, what differs, and the test of
each rule. TCP is [compared with ns-3](crosscheck-ns3.md) besides. What a paper measured is another question: the second
table says how much of it comes out."""
TRUST = """\
**What to trust.** Comparisons that you run yourself, under the same arrivals and over several seeds. A claim that holds
came out here, too; where the number is of one seed, or its record is older than the model, it may be chance. One that
is *explained* was traced to a cause, or to something that the paper leaves open. *Unexplained* means that nobody knows
whether the paper's experiment or ours is another one than its text says: do not build on such a number, in the paper or
here."""
RANKS = """\
*Core*: a paper's own work. *Compared*: what a paper measures it against. *Described*: its background. *Cited*: named
only. Papers: 000 is Alasmar's thesis, 001 the SCDP paper, 003 Joy's thesis, 004 Song's."""


class Overview:
    """What the overview says, of all papers."""

    def __init__(
        self,
        papers: Sequence[Paper],
        experiments: Sequence[Experiment],
        records: Mapping[str, Record],
        old: Mapping[str, str],
        systems: Sequence[System],
    ) -> None:
        self.papers, self.experiments, self.records, self.old, self.systems = papers, experiments, records, old, systems
        self.rows = comparison.bare(experiments, records)

    def page(self) -> str:
        """The whole page."""
        kinds = dict.fromkeys(one.kind for one in self.systems)
        blocks = [
            HEAD,
            "**Is it here?**",
            self._transports(),
            "**Do the papers' numbers come out?**",
            self._papers(),
            TRUST,
        ]
        blocks += ["## All that the papers describe", self._ranks(), RANKS]
        for kind in kinds:
            blocks += [f"### {kind.capitalize()}", _systems([one for one in self.systems if one.kind == kind])]
        return "\n\n".join(blocks) + "\n"

    def sentences(self) -> str:
        """Three sentences of results for the project's own page."""
        claims = verdicts.claims(self.rows)
        core = Counter(one.state for one in self.systems if one.rank == "core")
        recorded = [one for one in self.experiments if one.name in self.records]
        counted = verdicts.told(claims, f"of {len(self.papers)} papers at their own settings")
        return (
            f"{counted} Of the {core.total()} systems that are these papers' own work {core['works']} work here, "
            f"{core['partly']} partly, and {core['missing']} are missing. {len(self.old)} of {len(recorded)} recorded "
            "experiments are older than the model and wait to be made again. [What that means for your "
            "transport](docs/fidelity/README.md)."
        )

    def _transports(self) -> str:
        lines = [
            (state, "; ".join(_linked(one) for one in self.systems if one.kind == "transport" and one.state == state))
            for state in get_args(inventory.State)
        ]
        return grid(("", "transports"), *lines)

    def _papers(self) -> str:
        heads = (
            "paper",
            "claims",
            "hold or within 20 %",
            "explained",
            "unexplained",
            "not decided, or not measured",
            "of these claims: one seed",
            "at other settings: hold",
            "records older than the model",
        )
        return grid(heads, *(self._paper(paper) for paper in self.papers))

    def _paper(self, paper: Paper) -> tuple[str, ...]:
        rows = [row for row in self.rows if row.experiment.paper == paper.name]
        claims = verdicts.claims(rows)
        there = [one for one in self.experiments if one.paper == paper.name and one.name in self.records]
        kinds = Counter(row.kind for row in claims if row.verdict == "explained")
        by_kind = ", ".join(f"{kinds[kind]} {kind}" for kind in get_args(ExplanationKind) if kinds[kind])
        variants = verdicts.claims(rows, variant=True)
        return (
            f"[{paper.short}]({paper.name}.md)",
            str(len(claims)),
            str(_good(claims)),
            f"{kinds.total()}{f' ({by_kind})' if by_kind else ''}",
            str(sum(row.verdict == "unexplained" for row in claims)),
            str(sum(row.verdict in OPEN for row in claims)),
            str(sum(row.alone for row in claims)),
            f"{_good(variants)} of {len(variants)}" if variants else "",
            f"{sum(one.name in self.old for one in there)} of {len(there)}",
        )

    def _ranks(self) -> str:
        states = get_args(inventory.State)
        lines = []
        for rank in get_args(inventory.Rank):
            count = Counter(one.state for one in self.systems if one.rank == rank)
            lines.append((rank, *(str(count[state]) for state in states)))
        return grid(("systems", *states), *lines)


def _good(rows: Sequence[Row]) -> int:
    return sum(row.verdict in GOOD for row in rows)


def _linked(one: System) -> str:
    """A system with its page, and what to know of it where it does not just work."""
    page = next((path.rpartition("/")[2] for path in one.where if path.startswith("docs/fidelity/")), "")
    name = f"[{one.system}]({page})" if page else one.system
    return f"{name} ({one.note})" if one.note and one.state != "works" else name


def _systems(systems: Sequence[System]) -> str:
    lines = ((one.system, one.seed, one.rank, one.state, " ".join(map(_place, one.where)), one.note) for one in systems)
    return grid(("system", "described in", "rank", "here", "where", ""), *lines)


def _place(path: str) -> str:
    """A page as a link, code as its path."""
    if not path.endswith(".md"):
        return f"`{path}`"
    name, page = path.rpartition("/")[2].removesuffix(".md"), path.removeprefix("docs/")
    return f"[{name}]({page.removeprefix('fidelity/') if page.startswith('fidelity/') else f'../{page}'})"
