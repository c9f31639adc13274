"""Claims: one value per seed, mean, interval, ratio, verdict; and the tables that are made of them."""

from __future__ import annotations

import math
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import AnabranchError
from anabranch.reproduce import age, comparison, documents, fairness, record, sections
from anabranch.reproduce.claims import Claim, Measured, deviation, judge, measure
from anabranch.reproduce.model import Experiment, Explanation
from anabranch.reproduce.record import Record, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch import Results

CLAIM = Claim("goodput", "mean goodput | of SCDP", "§V-A", 10.0, "Gbps", explanation="why")
EXPERIMENT = Experiment(
    name="scdp/fig99",
    title="Title",
    question="Question?",
    section="§V-A",
    order=1,
    figure=(),
    claim=(replace(CLAIM, explanation=""),),
    explanation={
        "why": Explanation("arithmetic", "Because\nof the *buffer*, {paper:goodput|.0f} of {= 2 * 10|.0f}."),
        "open": Explanation("not explained", "Nobody knows."),
    },
)
LACKS = "arithmetic, but its text computes nothing: expected {= EXPRESSION}"
TOML = '# Comment\nname = "a"\nrepeat = 3\n[fabric]\nk = 4\n'


def recorded(values: dict[int, float], **changes: object) -> Record:
    measured = {"goodput": Measured(values)}
    made = Record("scdp/fig99", False, (1, 2, 3), fingerprint(EXPERIMENT, TOML, quick=False), "1.0", 0, measured)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_claim_is_a_mean_over_seeds(results: Results) -> None:
    measured = measure({1: 9.0, 2: 11.0, 3: 13.0}, results)
    assert measured.mean == 11.0
    # t(0.975, 2) = 4.3027 times 2 / sqrt(3)
    assert measured.ci == pytest.approx(4.3027 * 2 / math.sqrt(3), rel=1e-4)
    one = Measured({1: 9.0})
    assert (one.mean, one.ci) == (9.0, None)
    nothing = measure({1: math.nan}, results)
    assert (nothing.mean, nothing.ci) == (None, None)


@pytest.mark.parametrize(
    ("mean", "relation", "explained", "verdict"),
    [
        (12.0, "equals", False, "agrees"),
        (12.1, "equals", False, "unexplained"),
        (7.9, "equals", False, "unexplained"),
        (7.9, "equals", True, "explained"),
        (8.1, "equals", True, "agrees"),
        (99.0, "at least", False, "holds"),
        (10.0, "at least", False, "holds"),
        (9.9, "at least", False, "unexplained"),
        (9.9, "at least", True, "explained"),
        (0.0, "at most", False, "holds"),
        (10.1, "at most", False, "unexplained"),
        (None, "equals", True, "missing"),
    ],
)
def test_more_than_20_percent_needs_an_explanation(mean: float, relation: str, explained: bool, verdict: str) -> None:
    claim = replace(CLAIM, relation=relation)  # type: ignore[arg-type]
    assert judge(claim, mean, quick=False, explained=explained) == verdict
    assert judge(claim, mean, quick=True) == ("quick" if mean is not None else "missing")


def test_a_bound_has_no_tolerance_but_its_interval() -> None:
    faster = replace(CLAIM, paper=1.0, relation="at least", unit="")
    assert judge(faster, 0.952, quick=False, ci=0.01) == "unexplained"
    assert judge(faster, 0.952, quick=False, ci=0.05) == "within"
    experiment = replace(EXPERIMENT, claim=(replace(faster, explanation="open"),))

    def words(values: dict[int, float]) -> str:
        (row,) = comparison.rows([experiment], {"scdp/fig99": recorded(values)})
        return row.words

    assert words({1: 0.952, 2: 0.952001, 3: 0.951999}) == "does not hold, unexplained"
    assert words({1: 0.952, 2: 1.1, 3: 0.9}) == "not decided: the interval is too wide"
    assert words({1: 0.952, 2: 1.02, 3: 0.93}) == "holds within the interval"
    assert words({1: 1.2, 2: 1.1, 3: 1.3}) == "holds"
    table = sections.markdown([experiment], {"scdp/fig99": recorded({1: 0.952, 2: 0.952})}, {})
    assert "| **`scdp/fig99`** full, 2 seeds |" in table
    assert "| ≥ 1 | **0.952** | **unexplained** (a) |" in table


def test_one_value_under_every_seed_has_no_interval() -> None:
    assert Measured({1: 0.5, 2: 0.5, 3: 0.5}).ci is None
    assert Measured({1: 0.5, 2: 0.5, 3: 0.6}).ci is not None
    assert not Measured({1: 0.5}).alike


@given(st.floats(0.01, 1e6), st.floats(0, 1e6))
def test_a_bound_is_never_off_on_its_good_side(paper: float, mean: float) -> None:
    both = {deviation(paper, mean, "at most"), deviation(paper, mean, "at least")}
    assert both == {0.0, deviation(paper, mean)}


def test_a_row_tells_paper_measured_ratio_and_size() -> None:
    (row,) = comparison.rows([EXPERIMENT], {"scdp/fig99": recorded({1: 9.0, 2: 11.0, 3: 13.0})})
    assert (row.paper, row.measured, row.ratio) == ("10 Gbps", "11.0 ± 5.0 Gbps", "1.10")
    assert (row.verdict, row.size) == ("agrees", "full, 3 seeds")
    bound = replace(EXPERIMENT, claim=(replace(CLAIM, relation="at least", unit="%"),))
    (row,) = comparison.rows([bound], {"scdp/fig99": recorded({1: 0.001}, quick=True)})
    assert (row.paper, row.measured, row.ratio, row.size) == (
        "≥ 10 %",
        "0.00100 % (1 seed)",
        "0.00010",
        "quick, 1 seed",
    )
    assert comparison.rows([EXPERIMENT], {}) == []
    nought = replace(EXPERIMENT, claim=(replace(CLAIM, paper=0.0),))
    (row,) = comparison.rows([nought], {"scdp/fig99": recorded({1: 1.0})})
    assert (row.ratio, row.verdict) == ("–", "explained")


def test_the_table_is_markdown_with_explanations_below() -> None:
    other = replace(CLAIM, key="fct", statement="mean FCT")
    claims = (*EXPERIMENT.claim, other, replace(EXPERIMENT.claim[0], key="lost"))
    experiment = replace(EXPERIMENT, claim=claims, notes="A choice.")
    made = recorded({}, claims={"goodput": Measured({1: 20.0}), "fct": Measured({1: 20.0})})
    both = [experiment, replace(EXPERIMENT, name="scdp/fig98")]
    lines = sections.markdown(both, {"scdp/fig99": made}, {}).splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert rows[:2] == [
        "| the paper says | paper | ours | verdict, cause |",
        "| **`scdp/fig99`** full, 1 seed |  |  |  |",
    ]
    assert rows[2] == "| mean goodput \\| of SCDP (§V-A) | 10 Gbps | **20.0** | **unexplained** |"
    assert rows[3].endswith("| *20.0* | arithmetic (a) |")
    assert rows[4].endswith("| – | not measured |"), "two claims of one statement are two rows"
    assert "- **a** Because of the *buffer*, 10 of 20." in lines
    assert "- `scdp/fig99`: A choice." in lines
    assert "Not recorded yet: `scdp/fig98`." in lines


def test_the_table_goes_between_its_markers() -> None:
    page = f"# Page\n\n{documents.BEGIN}\nold\n{documents.END}\n\nText.\n"
    once = documents.insert(page, "| new |")
    assert once == f"# Page\n\n{documents.BEGIN}\n\n| new |\n\n{documents.END}\n\nText.\n"
    assert documents.insert(once, "| new |") == once
    with pytest.raises(AnabranchError, match=r"docs/a.md: the markers"):
        documents.insert("# Page\n", "| new |", where="docs/a.md")


def test_what_keeps_a_table_from_being_fair_is_found(tmp_path: Path) -> None:
    file = tmp_path / EXPERIMENT.file
    file.parent.mkdir(parents=True)
    file.write_text(TOML)

    def problems(made: Record) -> list[str]:
        return fairness.problems(tmp_path, [EXPERIMENT], {"scdp/fig99": made}, {})

    assert problems(recorded({1: 10.0})) == []
    assert problems(recorded({1: 20.0})) == ["scdp/fig99, goodput: 20.0 Gbps (1 seed) against 10 Gbps, unexplained"]
    assert problems(recorded({})) == ["scdp/fig99, goodput: not measured"]
    assert problems(recorded({1: 10.0}, incomplete=2)) == ["scdp/fig99: 2 runs did not complete"]
    quick = fingerprint(EXPERIMENT, TOML, quick=True)
    assert problems(recorded({1: 20.0}, quick=True, scenario=quick)) == ["scdp/fig99: recorded in the quick size only"]
    file.write_text(TOML.replace("Comment", "Another comment").replace("k = 4", "k  =  4  # four"))
    assert problems(recorded({1: 10.0})) == []
    file.write_text(TOML.replace("k = 4", "k = 6"))
    assert problems(recorded({1: 10.0})) == [f"scdp/fig99: recorded with another version of {EXPERIMENT.file}"]


def test_every_text_that_a_record_does_not_fit_is_a_problem(tmp_path: Path) -> None:
    texts = ('{= claim("goodput") / (claim("goodput") - 10)}', "{claim:goodput|d}", "{claim:lost}")
    explanation = {f"why{place}": Explanation("arithmetic", text) for place, text in enumerate(texts)}
    claims = [replace(CLAIM, key=f"goodput{place}", explanation=name) for place, name in enumerate(explanation)]
    claims += [replace(CLAIM, key=key, explanation="") for key in ("goodput", "lost")]
    experiment = replace(EXPERIMENT, claim=tuple(claims), explanation=explanation, calculate="a.b")
    made = recorded({1: 10.0}, scenario=fingerprint(experiment, "", quick=False))
    found = fairness.problems(tmp_path, [experiment], {"scdp/fig99": made}, {})
    computes = [problem for problem in found if "computes nothing" in problem]
    found = [problem for problem in found if problem not in computes]
    assert computes == [f"scdp/fig99: explanation.{name}: {LACKS}" for name in ("why1", "why2")]
    assert found[:4] == [f"scdp/fig99, {key}: not measured" for key in ("goodput0", "goodput1", "goodput2", "lost")]
    said = ["not arithmetic: float division by zero", "'d' does not fit 10.0", "has not measured lost"]
    assert [part in text for part, text in zip(said, found[4:], strict=True)] == [True] * 3


def test_the_fingerprint_is_of_content_and_quick_settings() -> None:
    full = fingerprint(EXPERIMENT, TOML, quick=False)
    assert fingerprint(replace(EXPERIMENT, quick=("fabric.k=4",)), TOML, quick=False) == full
    quick = fingerprint(EXPERIMENT, TOML, quick=True)
    assert fingerprint(replace(EXPERIMENT, quick=("fabric.k=4",)), TOML, quick=True) != quick


def test_a_record_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b.json"
    assert record.read(file) is None
    made = recorded({1: 9.123456789, 2: 11.0})
    record.write(file, made)
    assert not list(file.parent.glob(".*"))
    kept = record.read(file)
    assert kept is not None
    assert kept.claims["goodput"].values == {1: 9.12346, 2: 11.0}
    assert kept.commit is None
    assert (kept.experiment, kept.quick, kept.seeds, kept.scenario) == ("scdp/fig99", False, (1, 2, 3), made.scenario)
    before = file.read_bytes()
    record.write(file, kept)
    assert file.read_bytes() == before


def test_a_record_names_the_commit_that_made_it(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", "-C", tmp_path, *who, *words], capture_output=True, text=True, check=True).stdout

    assert age.commit(tmp_path) is None
    git("init", "--quiet")
    (tmp_path / "a").write_text("one")
    git("add", "a")
    git("commit", "--quiet", "--message", "one")
    made = age.commit(tmp_path)
    assert made is not None
    assert git("rev-parse", "HEAD").startswith(made)
    # A record that was just written is no change of the code.
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "record.json").write_text("{}")
    git("add", "docs")
    assert age.commit(tmp_path) == made
    (tmp_path / "a").write_text("two")
    assert age.commit(tmp_path) == f"{made}-dirty"
    old = recorded({1: 9.0}, commit=made)
    assert f"- {made}: `scdp/fig99`" in sections.markdown([EXPERIMENT], {"scdp/fig99": old}, {})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 7}', '{"schema": 1, "claims": 3}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(text)
    with pytest.raises(AnabranchError, match=r"b\.json"):
        record.read(file)
