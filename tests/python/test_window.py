"""The measured window: what it leaves out of statistics, and the load that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import anabranch
from anabranch import stats
from anabranch.results.notes import notes
from anabranch.showing import report

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch import Results

pytest.importorskip("anabranch._core")

SCENARIO = """
name = "window"
fabric = { topology = "star", hosts = 8, rate = "1Gbps", delay = "10us" }
transport = { name = "ndp" }
[[workload]]
arrivals = { law = "poisson", load = 0.5 }
sizes = { law = "log-normal", mean = "200KB", sigma = 1.0 }
placement = { pattern = "random" }
sessions = 600
"""
WINDOW = '[measure]\nwarmup = "20ms"\nwindow = "60ms"\n'


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Results]:
    """The same runs with the default window, and with a warm-up."""
    folder: Path = tmp_path_factory.mktemp("window")
    made = []
    for name, text in (("plain", SCENARIO), ("window", SCENARIO + WINDOW)):
        file = folder / f"{name}.toml"
        file.write_text(text)
        made.append(anabranch.run(file, out=folder / name, seeds=2))
    plain, windowed = made
    return plain, windowed


def test_the_window_leaves_out_what_is_requested_outside(both: tuple[Results, Results]) -> None:
    plain, windowed = both
    assert plain.flows["measured"].all()
    flows = windowed.flows
    inside = (flows["start_ns"] >= 20e6) & (flows["start_ns"] < 80e6)
    assert (flows["measured"] == inside).all()
    assert stats.fct_table(windowed).filter(bucket="all")["flows"][0] == inside.sum() < flows.height
    # The runs are the same.
    assert plain.runs["fingerprint"].to_list() == windowed.runs["fingerprint"].to_list()
    assert notes(plain) == []
    (note,) = notes(windowed)
    assert (
        note
        == f"{(~inside).sum()} of 1200 flows were requested outside of the measured window: no statistic counts them"
    )


def test_the_load_that_is_offered_is_carried_in_the_window(both: tuple[Results, Results]) -> None:
    plain, windowed = both
    for results in both:
        (row,) = stats.load_table(results).to_dicts()
        flows = results.flows.filter(stats.MEASURED)
        bits = 8 * flows["size_bytes"].sum() / 2
        assert row["offered"] == pytest.approx(bits / (8e9 * row["window_s"]), rel=0.05)
        # What is asked for is carried: with headers of 64 B in 1500, an ACK and a pull for each packet, and what was
        # trimmed.
        assert 0.85 * row["offered"] < row["carried"] < 1.3 * row["offered"]
    assert stats.load_table(windowed)["window_s"][0] == pytest.approx(0.06)
    whole = stats.layer_table(plain).filter(src_level="host")
    assert whole["utilisation"][0] < whole["utilisation_window"][0]


def test_the_report_says_what_was_offered(both: tuple[Results, Results]) -> None:
    for results in both:
        text = report.html(results)
        assert "of what the hosts&#39; links carry, by payload, in a measured window of" in text
        assert "mean utilisation, measured window" in text


def test_results_without_a_window_show_none(tmp_path: Path) -> None:
    file = tmp_path / "once.toml"
    file.write_text(SCENARIO.replace('{ law = "poisson", load = 0.5 }', '{ law = "synchronised" }').replace("600", "8"))
    results = anabranch.run(file, out=tmp_path / "r", seeds=1)
    assert stats.load_table(results).is_empty()
    text = report.html(results)
    assert "Offered load" not in text
    assert "measured window" not in text
    older = results.flows.drop("measured").with_columns(pl.lit(None, dtype=pl.Boolean()).alias("measured"))
    assert older.filter(stats.MEASURED).height == results.flows.height


def test_a_burst_and_blocks_have_no_load(tmp_path: Path) -> None:
    burst = SCENARIO.replace('{ law = "poisson", load = 0.5 }', '{ law = "synchronised", jitter = "10us" }')
    burst = burst.replace("sessions = 600", "sessions = 40")
    blocks = SCENARIO.replace('{ law = "poisson", load = 0.5 }', '{ law = "poisson", rate = 1000.0 }')
    blocks = blocks.replace('placement = { pattern = "random" }', 'placement = { pattern = "incast", senders = 3 }')
    blocks = blocks.replace("sessions = 600", 'sessions = 30\nbarrier = { blocks = 3, connections = "new" }')
    blocks = blocks.replace('{ law = "log-normal", mean = "200KB", sigma = 1.0 }', '{ law = "fixed", size = "20KB" }')
    for name, text in (("burst", burst), ("blocks", blocks)):
        file = tmp_path / f"{name}.toml"
        file.write_text(text)
        results = anabranch.run(file, out=tmp_path / name, seeds=1)
        assert stats.load_table(results).is_empty(), name
        assert "Offered load" not in report.html(results)
