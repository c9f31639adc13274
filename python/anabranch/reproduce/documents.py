"""The documents that records make: each paper's page and the overview below ``docs/fidelity``, results in README.md."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from anabranch.base import units
from anabranch.errors import AnabranchError
from anabranch.reproduce import age, comparison, costs, findings, inventory, overview, ranking, registry, sections
from anabranch.reproduce.comparison import recorded
from anabranch.reproduce.record import read_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.model import Experiment, Paper
    from anabranch.reproduce.record import Record

HEAD = ("<!-- summary: written by `anabranch reproduce --pages`; do not edit -->", "<!-- end of summary -->")
BEGIN = "<!-- comparison: written by `anabranch reproduce --record`; do not edit -->"
END = "<!-- end of comparison -->"
RESULTS = ("<!-- results: written by `anabranch reproduce --pages`; do not edit -->", "<!-- end of results -->")
"""Markers around what is made here: a paper's summary and comparison, and the results on the project's page."""
WIDTH = 120
"""Characters of a line of a summary."""
PAGE = "docs/fidelity/{}.md"
"""Page of a paper's table, below the repository."""


def cost(root: Path, experiments: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """Say what the recorded runs cost, from their recorded times; empty where none are."""
    there = [record for _, record in recorded(experiments, records)]
    found = [(one, costs.read(costs.path(root, one.experiment), quick=one.quick)) for one in there]
    known = [(len(one.seeds), times.seconds.values()) for one, times in found if times is not None]
    runs = sum(seeds * len(seconds) for seeds, seconds in known)
    if not runs:
        return ""
    took = units.duration(sum(seeds * sum(seconds) for seeds, seconds in known))
    return (
        f"The recorded runs, {runs} in all, took at most {took} of one core, on the machines named in `data/` (time on "
        "a processor; on the wall for runs that tell no other, whatever ran beside them)."
    )


def insert(page: str, text: str, marks: tuple[str, str] = (BEGIN, END), *, where: str = "page") -> str:
    """Put a text between the markers of a page.

    Raises
    ------
    AnabranchError
        If the page lacks the markers.
    """
    begin, end = marks
    before, first, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise AnabranchError(f"{where}: the markers are missing", hint=f"{begin} and {end}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def has_claims(experiments: Sequence[Experiment]) -> bool:
    """Whether they are a paper's: a study of ours, or a ranking, has none."""
    return any(one.claim for one in experiments)


def _of_paper(root: Path, paper: Paper, page: Path, records: Mapping[str, Record], old: Mapping[str, str]) -> str:
    """A paper's page, with its summary, if it has one, and its tables; the counts stand in the first of these."""
    own = registry.of_paper(paper.name)
    theirs = {one.name: old[one.name] for one in own if one.name in old}
    text, told, parts = page.read_text(encoding="utf-8"), "", [cost(root, own, records)]
    if paper.ranks:
        parts.insert(0, ranking.markdown(own, records, theirs))
    elif has_claims(own):
        told = sections.counts(own, records, theirs)
        parts.insert(0, sections.markdown(own, records, theirs, paper.sections))
    else:
        parts.insert(0, findings.markdown(own, records, theirs))
    if paper.summary:
        said = comparison.facts(own, records).text(paper.summary, paper, missing=comparison.UNRECORDED)
        paragraphs = [fill(part, WIDTH, break_long_words=False, break_on_hyphens=False) for part in said.split("\n\n")]
        text = insert(text, "\n\n".join(filter(None, [*paragraphs, told])), HEAD, where=str(page))
    else:
        parts.insert(0, told)
    return insert(text, "\n\n".join(filter(None, parts)), where=str(page))


def pages(root: Path) -> list[tuple[Path, str]]:
    """Make the pages as the records have them, file and text: the papers', and, with an inventory, the overview."""
    experiments = registry.experiments()
    records = read_all(root, experiments)
    old = age.old(root, experiments, records)
    made = []
    for one in registry.papers():
        page = root / PAGE.format(one.name)
        made.append((page, _of_paper(root, one, page, records, old)))
    compared = [one for one in registry.papers() if has_claims(registry.of_paper(one.name))]
    if (root / inventory.FILE).is_file():
        about = overview.Overview(compared, experiments, records, old, inventory.read(root))
        readme = root / "README.md"
        made.append((root / overview.PAGE, about.page()))
        said = insert(readme.read_text(encoding="utf-8"), about.sentences(), RESULTS, where=str(readme))
        made.append((readme, said))
    return made


def stale(root: Path) -> list[str]:
    """What keeps the pages from being what the records make."""
    try:
        made = pages(root)
    except AnabranchError as error:
        return [str(error)]
    old = [page for page, text in made if not page.is_file() or page.read_text(encoding="utf-8") != text]
    return [f"{page}: not what the records make; run `anabranch reproduce --pages`" for page in old]
