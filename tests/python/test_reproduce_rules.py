"""Rules of verdicts: one seed, kinds of explanations, inputs, variants, reduced sizes, counts; and the inventory."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.errors import AnabranchError
from anabranch.reproduce import comparison, explanations, inventory, overview, registry, sections, verdicts
from anabranch.reproduce.claims import Claim, Measured, judge
from anabranch.reproduce.model import Experiment, Explanation, Paper, Reduced
from anabranch.reproduce.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
CLAIM = Claim("goodput", "mean goodput", "§V-A", 10.0, "Gbps")
EXPERIMENT = Experiment(name="scdp/fig99", title="T", question="Q?", section="§V-A", order=1, figure=(), claim=(CLAIM,))
GOOD, BAD = {1: 10.0, 2: 10.5, 3: 9.5}, {1: 20.0, 2: 21.0, 3: 19.0}


def record(**values: Mapping[int, float]) -> Record:
    seeds = tuple(sorted(set().union(*values.values())))
    return Record("scdp/fig99", False, seeds, "", "1.0", 0, {key: Measured(one) for key, one in values.items()})


def table(experiment: Experiment, **values: Mapping[int, float]) -> str:
    return sections.markdown([experiment], {experiment.name: record(**values)}, {})


# One seed.


def test_an_interval_stands_only_where_there_are_several_seeds() -> None:
    one, several = table(EXPERIMENT, goodput={1: 10.0}), table(EXPERIMENT, goodput=GOOD)
    assert "| **`scdp/fig99`** full, 1 seed |" in one
    assert "| 10 Gbps | 10.0 | within 20 % |" in one
    assert "confidence interval" not in one
    assert "are of one seed each" in one
    assert "| 10 Gbps | 10.0 ± 1.2 | within 20 % |" in several
    assert "confidence interval" in several
    assert "1 seed" not in several
    # A number of fewer seeds than its experiment has says so.
    more = replace(EXPERIMENT, claim=(CLAIM, replace(CLAIM, key="b"), replace(CLAIM, key="c")))
    assert "| 10 Gbps | 10.0 (1 seed) | within 20 % |" in table(more, goodput=GOOD, b=GOOD, c={1: 10.0})
    # What is calculated is of no seed.
    assert "seed" not in table(replace(EXPERIMENT, calculate="a.b"), goodput={0: 10.0}).partition("\n| ")[2]


# Kinds of explanations.

OURS, THEIRS = "{claim:goodput|.1f}", "{claim:scdp/fig98#goodput|.1f}"


@pytest.mark.parametrize(
    ("kind", "text", "lacks"),
    [
        ("measured", f"It is {OURS} here.", "measured, but no number of scdp/fig99"),
        ("measured", 'It is {= 2 * claim("goodput")|.1f} here.', "measured, but no number of scdp/fig99"),
        ("measured", "It is {claim:scdp/fig99#goodput|.1f} here.", "measured, but no number of scdp/fig99"),
        ("measured", "It is {claim:other|.1f} there.", ""),
        ("measured", "It is {record:1/a:SCDP@1} here.", ""),
        ("measured", "See {note:other}, and {claim:other}.", ""),
        (
            "measured",
            "It is {paper:goodput} there, and {setting:3} as a rule.",
            "measured, but no number of scdp/fig99",
        ),
        ("measured", f"It is {THEIRS} there.", "measured, but no number of scdp/fig99"),
        ("measured", "It is so (`anabranch run scenarios/a/b/b.toml`).", "measured, but no number of scdp/fig99"),
        ("measured", "It is {claim:other}. Why was not\nexamined.", "it says 'not examined'"),
        ("arithmetic", "It is {= 2 * 2|.0f}.", ""),
        ("arithmetic", f"It is {OURS}.", "arithmetic, but its text computes nothing"),
        ("arithmetic", "It is {= 2 * 2|.0f}. Not explained is why.", "it says 'Not explained'"),
        ("the paper does not say", "The load is open.", ""),
        ("the paper does not say", "{note:open}", "it says 'not examined'"),
        ("not explained", "Not explained.", ""),
    ],
)
def test_an_explanation_has_what_its_kind_needs_or_explains_nothing(kind: str, text: str, lacks: str) -> None:
    why = Explanation(kind, text, ("scdp/fig99",))  # type: ignore[arg-type]
    experiment = replace(
        EXPERIMENT,
        claim=(replace(CLAIM, explanation="why"),),
        explanation={"why": why},
        note={"other": "the other text", "open": "That was not examined."},
    )
    assert explanations.lacks(why, experiment).startswith(lacks)
    assert bool(explanations.lacks(why, experiment)) == bool(lacks)
    (row,) = comparison.bare([experiment], {"scdp/fig99": record(goodput=BAD)})
    explained = not lacks and kind != "not explained"
    assert (row.verdict, row.kind) == (("explained", kind) if explained else ("unexplained", ""))
    assert row.words == (f"explained: {kind}" if explained else "unexplained")


def test_a_bound_is_not_decided_by_an_interval_that_is_wider_than_the_tolerance() -> None:
    bound = replace(CLAIM, paper=1.0, relation="at least")
    assert judge(bound, 0.9, quick=False, ci=0.15) == "within"
    assert judge(bound, 0.853, quick=False, ci=1.698) == "undecided"
    assert judge(bound, 0.7, quick=False, ci=0.15) == "unexplained"


@pytest.mark.parametrize("experiment", registry.experiments(), ids=lambda one: one.name)
def test_what_is_beyond_the_paper_counts_apart(experiment: Experiment) -> None:
    beyond = experiment.section.startswith("beyond") or experiment.notes.strip().startswith("Not in the paper")
    assert experiment.variant or not beyond or not experiment.claim


@pytest.mark.parametrize("experiment", registry.experiments(), ids=lambda one: one.name)
def test_explanations_explain(experiment: Experiment) -> None:
    lacking = {name: explanations.lacks(why, experiment) for name, why in experiment.explained.items()}
    assert {name: lack for name, lack in lacking.items() if lack} == {}


# Inputs, variants, counts.


def test_claims_are_counted_by_verdict_and_variants_and_inputs_apart() -> None:
    why = {
        "measured": Explanation("measured", "It is {claim:good|.0f}.", ("scdp/fig99",)),
        "arithmetic": Explanation("arithmetic", "It is {= 1 + 1|.0f}."),
        "silent": Explanation("the paper does not say", "The load."),
        "open": Explanation("not explained", "Not explained."),
    }
    keys = ("good", "bound", "measured", "arithmetic", "silent", "open", "bare", "lost", "variant", "input")
    claims = [
        replace(
            CLAIM,
            key=key,
            statement=key,
            explanation=key if key in why else "",
            variant=key == "variant",
            input=key == "input",
        )
        for key in keys
    ]
    claims[1] = replace(claims[1], relation="at most", paper=30.0)
    experiment = replace(EXPERIMENT, claim=tuple(claims), explanation=why)
    values = {key: GOOD if key in {"good", "input"} else BAD for key in keys if key != "lost"}
    counts = (
        "Of 8 claims at the paper's settings 2 hold or lie within 20 %, 3 deviate and are explained (1 measured, 1 "
        "arithmetic, 1 the paper does not say), 2 are unexplained, 1 is not measured."
    )
    made = {"scdp/fig99": record(**values)}
    told = sections.counts([experiment], made, {})
    assert told == f"**{counts}** Counted apart: of 1 claim at other settings 1 is unexplained."
    said = table(experiment, **values)
    parts = re.split("<details><summary>What the paper fed|#### At other settings", said)
    named = [[key for key in keys if f"| {key} (§V-A) |" in part] for part in parts]
    assert named == [list(keys[:8]), ["input"], ["variant"]]
    assert "Numbers at other settings than the paper's, which count apart. **unexplained**: 1." in said
    # An experiment at other settings makes all of its claims variants.
    rows = comparison.bare([replace(experiment, variant=True)], {"scdp/fig99": record(**values)})
    assert verdicts.claims(rows) == []
    assert len(verdicts.claims(rows, variant=True)) == 9


def test_a_long_table_is_divided_by_sections_and_settings_are_columns() -> None:
    claims = [replace(CLAIM, key=f"c{place}", statement=f"claim {place}") for place in range(16)]
    settings = [
        replace(CLAIM, key=f"{name}{one}", statement=name, setting=one)
        for name, ones in (("x", "ab"), ("y", "cd"), ("z", "bc"))
        for one in ones
    ]
    one, other = replace(EXPERIMENT, claim=tuple(claims)), replace(EXPERIMENT, name="scdp/b", section="§V-B")
    other = replace(other, claim=(*settings[:4], *claims))
    made = record(**{claim.key: GOOD for claim in [*claims, *settings]})
    said = sections.markdown([one, other], {"scdp/fig99": made, "scdp/b": made}, {}, {"§V-A": "storage"})
    assert said.count("\n| the paper says |") == 2
    assert "### §V-A: storage\n" in said
    assert "### §V-B\n" in said
    assert "| claim 0 | 10 Gbps |" in said, "the section stands above"
    # What has no setting is first; statements without a common setting have columns of their own.
    heads = [line for line in said.splitlines() if line.startswith("| **")]
    assert heads[1:] == [
        "| **`scdp/b`** full, 3 seeds |  |  |  |  |",
        "| **`scdp/b`** |  | *a* | *b* |  |",
        "| **`scdp/b`** |  | *c* | *d* |  |",
    ]
    assert "| x (§V-A) | 10 Gbps | 10.0 ± 1.2 | 10.0 ± 1.2 | within 20 % |" in said
    joined = table(replace(EXPERIMENT, claim=tuple(settings)), **{claim.key: GOOD for claim in settings})
    assert "| **`scdp/fig99`** full, 3 seeds |  | *a* | *b* | *c* | *d* |  |\n" in joined
    assert "### The claims\n" in joined


def test_a_line_tells_each_number_apart_and_how_many_hold() -> None:
    claims = tuple(
        replace(CLAIM, key=of, statement="SCDP is faster: mean", setting=of, paper=paper, explanation="why")
        for of, paper in (("a", 10.0), ("b", 9.0), ("c", 10.0))
    )
    tail = replace(CLAIM, key="d", statement="SCDP is faster: tail", setting="a", relation="at most")
    why = Explanation("the paper does not say", "The load is open.")
    experiment = replace(EXPERIMENT, claim=(*claims, tail), explanation={"why": why})
    said = table(experiment, a=GOOD, b=BAD, c=BAD, d=BAD)
    assert "| SCDP is faster: mean (§V-A) | (…) Gbps | 10.0 ± 1.2 (10) | *20.0 ± 2.5* (9) |" in said
    assert "| 1 of 3 within 20 %, the paper does not say (a) |" in said
    assert "| … tail (§V-A) | ≤ 10 Gbps | **20.0 ± 2.5** |  |  | **unexplained** |" in said


def test_a_cause_is_said_once_and_one_that_includes_another_has_two_letters() -> None:
    why = {
        "links": Explanation("arithmetic", "Links need {= 1 + 1|.0f} us."),
        "both": Explanation("arithmetic", "Packets need {= 1 + 2|.0f} us. {explanation:links}"),
    }
    claims = [replace(CLAIM, key=f"c{place}", statement=f"claim {place}", explanation="both") for place in range(31)]
    claims += [replace(CLAIM, key="links", statement="links", explanation="links")]
    one = replace(EXPERIMENT, claim=tuple(claims), explanation=why)
    other = replace(one, name="scdp/b", section="§V-B", claim=(replace(claims[-1], variant=True),))
    made = record(**{claim.key: BAD for claim in claims})
    said = sections.markdown([one, other], {"scdp/fig99": made, "scdp/b": made}, {})
    assert "| claim 0 | 10 Gbps | *20.0 ± 2.5* | arithmetic (a, b) |" in said
    assert "| links | 10 Gbps | *20.0 ± 2.5* | arithmetic (b) |" in said
    assert "\n- **a** Packets need 3 us.\n- **b** Links need 2 us.\n" in said
    # What is explained at other settings is folded, and counted outside.
    apart = said.partition("### §V-B\n")[2]
    assert "Numbers at other settings than the paper's, which count apart. Explained: 1." in apart
    assert "<details><summary>The others: explained: 1</summary>" in apart
    assert "\n- **a** As **b** in §V-A.\n" in apart


def test_a_decision_that_experiments_share_is_said_once() -> None:
    one = replace(EXPERIMENT, note={"load": "The load is\na share."}, notes="Buffers are ours. {note:load}")
    other = replace(one, name="scdp/b", notes="{note:load}")
    made = record(goodput=GOOD)
    said = sections.markdown([one, other], {"scdp/fig99": made, "scdp/b": made}, {})
    assert "\n- `scdp/fig99`: Buffers are ours.\n- `scdp/fig99`, `scdp/b`: The load is a share.\n" in said


def test_what_is_older_than_the_model_is_counted_and_said_in_its_table() -> None:
    made, old = {"scdp/fig99": record(goodput=GOOD)}, {"scdp/fig99": "older"}
    assert "**Older than the model** are 1 of 1 records" in sections.counts([EXPERIMENT], made, old)
    said = sections.markdown([EXPERIMENT], made, old)
    assert "| **`scdp/fig99`** full, 3 seeds, older than the model |" in said


# Reduced sizes.

ABOUT = """\
title = "A"
question = "B?"
section = "§1"
order = 1
quick = ["repeat=1"]
series.one = [{ transport = "scdp" }]

[[figure]]
number = "9"
caption = "C"
kind = "cdf"
rows = "flows"
series = "one"
value = "fct_ns"
"""
SCENARIO = """\
workload = [{ name = "w", sessions = 500 }, { name = "v", sessions = 7 }]
sweep."workload.v.sessions" = [1, 2]
"""


def reduced(folder: Path, text: str) -> Experiment:
    home = folder / "scdp" / "a"
    home.mkdir(parents=True)
    (home / "a.toml").write_text(SCENARIO)
    (home / "experiment.toml").write_text(text + ABOUT)
    return registry.experiment(home / "experiment.toml", Paper(order=1, short="S", reference="R", name="scdp"))


def test_a_reduced_size_says_so_from_the_scenario(tmp_path: Path) -> None:
    made = reduced(tmp_path, 'reduced = { of = "sessions", paper = 2000, key = "workload.w.sessions" }\n')
    assert made.smaller == "500 of 2000 sessions"
    made = replace(made, name=EXPERIMENT.name, claim=(CLAIM,))
    (row,) = comparison.bare([made], {"scdp/fig99": record(goodput=GOOD)})
    assert row.size == "reduced: 500 of 2000 sessions, 3 seeds"
    (row,) = comparison.bare([replace(made, reduced=None)], {"scdp/fig99": record(goodput=GOOD)})
    assert row.size == "full, 3 seeds"
    assert replace(made, reduced=Reduced("receivers", 9, here=3)).smaller == "3 of 9 receivers"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{ of = "sessions", paper = 500, key = "workload.w.sessions" }',
            "500 sessions are not fewer than the paper's 500",
        ),
        ('{ of = "sessions", paper = 9, here = 10 }', "10 sessions are not fewer than the paper's 9"),
        ('{ of = "sessions", paper = 9, key = "workload.x.sessions" }', "no key 'workload.x.sessions'"),
        ('{ of = "sessions", paper = 9, key = "workload.v.sessions" }', "workload.v.sessions is swept"),
        ('{ of = "sessions", paper = 9 }', "expected either 'key', of the scenario, or 'here'"),
    ],
)
def test_a_reduced_size_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(AnabranchError) as caught:
        reduced(tmp_path, f"reduced = {text}\n")
    assert "reduced" in caught.value.message
    assert said in caught.value.message


# What the papers describe, and what of it is here.


def test_every_file_of_the_inventory_is_there() -> None:
    systems = inventory.read(ROOT)
    assert len({one.system for one in systems}) == len(systems)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("transport,A,000,works,core,a.rs,", ""),
        ("transport,A,000,missing,core,,", ""),
        ("transport,A,000,works,core,b.rs,", "b.rs is not there"),
        ("transport,A,000,works,core,,", "what is here names its files"),
        ("transport,A,000,missing,core,a.rs,", "what is missing none"),
        ("transport,A,000,there,core,a.rs,", "state 'there'"),
        ("transport,A,000,works,centre,a.rs,", "rank 'centre'"),
        ("transport,A,000,works,core,a.rs,note,more", "expected the columns"),
        ("transport,A,000,works,core,a.rs", "expected the columns"),
    ],
)
def test_a_row_of_the_inventory_that_is_wrong_is_refused(tmp_path: Path, row: str, said: str) -> None:
    file = tmp_path / inventory.FILE
    file.parent.mkdir(parents=True)
    (tmp_path / "a.rs").touch()
    file.write_text(f"{','.join(inventory.COLUMNS)}\n{row}\n")
    if not said:
        assert len(inventory.read(tmp_path)) == 1
        return
    with pytest.raises(AnabranchError, match="line 2") as caught:
        inventory.read(tmp_path)
    assert said in str(caught.value)


def test_the_overview_says_first_which_transports_are_here_and_what_came_out() -> None:
    systems = [
        inventory.System("transport", "SCDP", "001", "works", "core", ("docs/fidelity/scdp.md",), ""),
        inventory.System("transport", "PIAS", "001", "partly", "compared", ("crates/a.rs",), "static"),
        inventory.System("transport", "Homa", "000", "missing", "described", (), "the rival"),
    ]
    paper = Paper(order=1, short="SCDP", reference="R", name="scdp")
    made = overview.Overview(
        [paper], [EXPERIMENT], {"scdp/fig99": record(goodput=BAD)}, {"scdp/fig99": "older"}, systems
    )
    page = made.page()
    assert "| works | [SCDP](scdp.md) |\n| partly | PIAS (static) |\n| missing | Homa (the rival) |" in page
    assert "| [SCDP](scdp.md) | 1 | 0 | 0 | 1 | 0 | 0 |  | 1 of 1 |" in page
    assert "| core | 1 | 0 | 0 |" in page
    open_ = overview.Overview([paper], [EXPERIMENT], {"scdp/fig99": record(other=BAD)}, {}, systems)
    assert "| [SCDP](scdp.md) | 1 | 0 | 0 | 0 | 1 | 0 |  | 0 of 1 |" in open_.page(), "the columns add up"
    said = made.sentences()
    assert said.startswith("Of 1 claim of 1 papers at their own settings 1 is unexplained. ")
    assert "Of the 1 systems that are these papers' own work 1 work here, 0 partly, and 0 are missing. " in said
    assert "1 of 1 recorded experiments are older than the model" in said
