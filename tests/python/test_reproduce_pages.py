"""The papers' pages as a reader meets them: short heads without typed results, short sections, and every claim."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.errors import AnabranchError
from anabranch.reproduce import comparison, documents, overview, prose, record, registry

if TYPE_CHECKING:
    from anabranch.reproduce.model import Paper

ROOT = Path(__file__).parents[2]
LINE, SCREENS, HEAD = 120, 100, 10 * 150
"""Characters of a line, lines of two screens, and characters of a head of ten lines as wide as a page shows them."""
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
PAPERS = registry.papers()
GENERATED = [*(documents.PAGE.format(one.name) for one in PAPERS), overview.PAGE, "docs/fidelity/traffic.md"]


def page(paper: Paper) -> str:
    return (ROOT / documents.PAGE.format(paper.name)).read_text(encoding="utf-8")


def seen(line: str) -> str:
    """A line as a reader sees it: without marks, bars, and the targets of links."""
    return " ".join(re.sub(r"[*`|]|<!--.*?-->", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)).split())


def screens(text: str) -> dict[str, int]:
    """How many lines each section shows, by its heading; what is folded does not count."""
    parts = re.split(r"^(?=#{1,6} )", FOLDED.sub("", text), flags=re.MULTILINE)
    shown = {part.partition("\n")[0]: map(seen, part.splitlines()) for part in parts if part}
    return {title: sum(-(-len(line) // LINE) for line in lines if line.strip("- ")) for title, lines in shown.items()}


def test_lines_are_counted_as_they_are_seen() -> None:
    text = f"# A\n\n{'x' * 121}\n\n| **a** | `b` |\n|---|---|\n\n<details>\n\n{'y' * 999}\n\n</details>\n\n## B\n"
    assert screens(text) == {"# A": 4, "## B": 1}


@pytest.mark.parametrize("name", GENERATED)
def test_no_section_is_longer_than_two_screens(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    long = {title: lines for title, lines in screens(text).items() if lines > SCREENS}
    assert long == {}, "say less, or fold what only few readers need"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda one: one.name)
def test_a_head_has_no_typed_result(paper: Paper) -> None:
    head = page(paper).partition("\n## ")[0]
    begin, end = map(re.escape, documents.HEAD)
    written = re.sub(rf"{begin}.*?{end}", "", head, flags=re.DOTALL)
    assert prose.typed(written) == "", "results stand in the paper's `summary`, as references"
    assert prose.typed(paper.summary) == ""


@pytest.mark.parametrize("paper", [one for one in PAPERS if one.summary], ids=lambda one: one.name)
def test_a_head_has_ten_lines(paper: Paper) -> None:
    experiments = registry.of_paper(paper.name)
    facts = comparison.facts(experiments, record.read_all(ROOT, experiments))
    said = facts.text(paper.summary, paper)
    assert len(" ".join(seen(line) for line in said.splitlines())) <= HEAD
    parts = ("holds", "does not", "to trust") if documents.has_claims(experiments) else ("to trust",)
    assert said.count("**What ") >= len(parts)


@pytest.mark.parametrize(
    "paper", [one for one in PAPERS if documents.has_claims(registry.of_paper(one.name))], ids=lambda one: one.name
)
def test_every_claim_has_its_number(paper: Paper) -> None:
    experiments = registry.of_paper(paper.name)
    rows = comparison.bare(experiments, record.read_all(ROOT, experiments))
    table = documents.BEGIN + page(paper).partition(documents.BEGIN)[2]
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("| ")]
    claims = [cells for cells in lines if cells[1].strip() not in {"", "paper"}]
    numbers = [cell for cells in claims for cell in cells[2:-1] if cell.strip()]
    assert len(numbers) == len(rows)
    bold = sum(cell.strip().startswith("**") for cell in numbers)
    assert bold == sum(row.verdict == "unexplained" for row in rows)


def test_a_summary_types_no_number(tmp_path: Path) -> None:
    file = tmp_path / "paper.toml"
    file.write_text('order = 1\nshort = "S"\nreference = "R"\nsummary = "It is 12 % faster."\n')
    with pytest.raises(AnabranchError, match="summary: the number 12 is typed"):
        registry.paper(file)


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ("It is {claim:best} % faster.", "of which experiment?"),
        ("It is {claim:a/b#best} % faster.", "no experiment is called 'a/b'"),
        ("It is {claim:scdp/fig05#best} % faster.", "no claim is called 'best'"),
        ('It is {= max(claim("scdp/fig05#best-*"))} % faster.', "no claims are called 'best-*'"),
    ],
)
def test_a_summary_refers_to_what_is_there(summary: str, said: str) -> None:
    with pytest.raises(AnabranchError, match=re.escape(said)):
        prose.Facts(registry.experiments(), ROOT).text(summary, PAPERS[0], missing="")


def test_lists_of_numbers_are_computed_one_by_one_and_claims_named_together() -> None:
    (one,) = registry.find(["scdp/fig05"])
    facts = prose.Facts(registry.experiments(), ROOT)
    least = facts.text('{= min(claim("better-ndp-*"))|.3f}', one)
    each = [facts.text(f"{{claim:{claim.key}|.3f}}", one) for claim in one.claim if claim.key.startswith("better-ndp-")]
    assert least == min(each)
    same = 'record("scdp/published#settings/a:SCDP")'
    assert facts.text(f"{{= max({same} / {same})|.0f}}", one) == "1"
