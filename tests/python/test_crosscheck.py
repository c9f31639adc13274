"""The cross-check against ns-3 (`tests/crosscheck`), without ns-3: what it reads, judges and writes."""

from pathlib import Path

import blocks
import pytest
from compare import Explained, Run, Setting, judge, measure, parse, read_explained, table
from crosscheck_page import Row, full_table, record, summary

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/fidelity/crosscheck-ns3.md"


def star(took_ns: int) -> Run:
    """Two flows without end of 50 Mbit/s in all, two short ones, a queue of ten packets."""
    lines = [
        "flow,0,10,3125000,0",
        "flow,1,10,3125000,0",
        f"flow,5,10,250000,{took_ns}",
        f"flow,3,10,250000,{3 * took_ns}",
        "port,11,0,1000,0,0,0",
        f"port,11,10,1502000,{10 * 1502 * 1_000_000_000},0,250",
        "run,1000000000,1234",
    ]
    return parse("\n".join(lines), 0.5)


def row(verdict: str, *, changed: str = "", ours: float = 1.0) -> Row:
    return Row("star", "dctcp-k5", changed, "FCT mean, ms", ours, 2.0, verdict)


def test_long_flows_count_as_goodput_and_short_ones_by_their_completion() -> None:
    metrics = measure("star", [star(1_000_000)])
    assert metrics["goodput of long flows, Mbit/s"] == pytest.approx(50)
    assert metrics["FCT mean, ms"] == pytest.approx(2)
    assert metrics["FCT p99, ms"] == pytest.approx(2.98)
    assert metrics["bottleneck queue, mean, packets"] == pytest.approx(10)
    assert metrics["packets dropped or marked, %"] == pytest.approx(25, rel=1e-3)


def test_a_difference_is_explained_only_within_its_range_and_for_its_setting() -> None:
    known = [Explained(Setting("star", "dctcp-k5"), "FCT mean", (0.4, 0.6), "floor")]
    assert judge(1.05, "FCT mean, ms", known) == "ok"
    assert judge(0.5, "FCT mean, ms", known) == "explained: floor"
    assert judge(0.7, "FCT mean, ms", known) == "OFF"
    runs = [(star(1_000_000), star(2_000_000))]
    as_it_is, changed = Setting("star", "dctcp-k5"), Setting("star", "dctcp-k5", ("ns3_floor=1",), "floor")
    assert table(as_it_is, runs, known)[1].verdict == "explained: floor"
    assert table(changed, runs, known)[1].verdict == "OFF"


def test_every_reason_is_a_section_of_the_page() -> None:
    differences, experiments = read_explained(ROOT / "tests/crosscheck/explained.toml")
    assert experiments
    page = PAGE.read_text(encoding="utf-8").lower()
    for reason in {e.why for e in differences}:
        assert f"- **{reason.lower()}.**" in page, reason


def test_the_summary_counts_what_ns3_does_as_it_is_and_lists_the_experiments() -> None:
    rows = [row("explained: floor"), row("ok", ours=2.0), row("ok", changed="two segments", ours=1.9)]
    text = summary(rows, "ns-3 3.37")
    assert (
        "Of 2 metrics 1 are within 10 % of ns-3's, 1 differ for a reason that is known, 0 for one that is not" in text
    )
    assert "| star | 2 | 1 | floor |" in text
    assert "| star | dctcp-k5 | nothing | 0.50 to 1.00 |" in text
    assert "| star | dctcp-k5 | two segments | 0.95 to 0.95 |" in text


def test_tables_go_between_their_markers_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    record(page, result="RESULT", table=full_table([row("ok")]))
    once = page.read_text(encoding="utf-8")
    assert "do not edit -->\nRESULT\n<!-- end of result -->" in once
    assert "| star | dctcp-k5 |  | FCT mean, ms | 1 | 2 | 0.500 | ok |" in once
    record(page, result="RESULT", table=full_table([row("ok")]))
    assert page.read_text(encoding="utf-8") == once


def test_a_page_without_a_place_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for the result"):
        record(page, result="RESULT")
    assert page.read_text(encoding="utf-8") == "no markers"


def test_the_table_of_blocks_is_that_of_its_runs() -> None:
    runs = blocks.read(blocks.DATA)
    assert {run.seed for run in runs} == set(blocks.SEEDS)
    assert blocks.table(runs) in PAGE.read_text(encoding="utf-8")
