"""Timelines of ranks: what each did when, as recorded and as the report draws it."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli import app
from anabranch.results import tracing
from anabranch.results.activities import ACTIVITIES, COMPUTES, NETWORK, NOTHING, SERVER, WAITS, activities
from anabranch.showing.report import page

if TYPE_CHECKING:
    from anabranch import Results

STEP = """
repeat = 2
sweep = { "transport.name" = ["ndp", "dctcp"] }
[fabric]
topology = "rail"
segments = 1
servers = 4
rails = 2
spines = 2
rate = "100Gbps"
delay = "500ns"
[host.server]
hosts = 2
rate = "800Gbps"
latency = "1us"
[[workload]]
name = "step"
[workload.job.model]
layers = 4
hidden = 512
attention = 1048576
feed_forward = 2097152
sequence = 1024
microbatches = 2
tensor = 2
pipeline = 2
data = 2
tflops = 50
[measure]
operations = true
"""

HIDDEN = """num_ranks 2
rank 0 {
a: send 100000b to 1
b: calc 400000
c: calc 50000
c requires b
}
rank 1 {
recv 100000b from 0
}
"""

PAIR = """
fabric = { topology = "star", hosts = 2, rate = "10Gbps" }
transport = { name = "ndp" }
workload = [{ job = { file = "x.goal" } }]
measure = { operations = true }
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("timelines")
    (folder / "step.toml").write_text(STEP, encoding="utf-8")
    return anabranch.run(folder / "step.toml", out=folder / "r")


def test_shares_of_time_are_those_of_the_ranks_table(step: Results) -> None:
    for (run,), ranks in step.ranks.group_by("run"):
        found = activities(step, str(run))
        assert found is not None
        assert [rank for _, rank in found.ranks] == list(range(8))
        assert found.shares.shape == (8, 480, len(ACTIVITIES))
        assert np.allclose(found.shares.sum(axis=2), 1.0)
        assert found.shares.min() > -1e-9
        took = (found.end - found.begin) / 480 * found.shares.sum(axis=1)
        own = ranks.sort("rank")
        assert took[:, ACTIVITIES.index(COMPUTES)] == pytest.approx(own["computing_ns"].to_numpy(), rel=1e-6)
        # Tensor-parallel ranks share a server; stages and replicas do not.
        assert took[:, ACTIVITIES.index(SERVER)].min() > 0
        assert took[:, ACTIVITIES.index(NETWORK)].min() > 0
        assert found.end == pytest.approx(own["end_ns"].max())
        # The second stage has nothing to compute before the first one sends it something.
        waits = found.shares[4:, :, ACTIVITIES.index(WAITS)]
        first = [np.flatnonzero(row > 0.5).min(initial=480) for row in found.shares[4:, :, 0]]
        assert all(waits[place, :until].sum() > 0 for place, until in enumerate(first))


def test_messages_that_a_computation_hides_are_not_shown_and_neighbours_are_one(tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(HIDDEN, encoding="utf-8")
    (tmp_path / "s.toml").write_text(PAIR, encoding="utf-8")
    done = anabranch.run(tmp_path / "s.toml", out=tmp_path / "r")
    found = activities(done, done.ranks["run"][0])
    assert found is not None
    assert found.end == 450_000
    receives = done.ranks.filter(pl.col("rank") == 1)["end_ns"][0]
    sending = found.spans()
    assert [span[0] for span in sending] == [0, 1]
    assert sending[0] == (0, 0.0, 450_000.0, COMPUTES)
    assert (sending[1][1], sending[1][3]) == (0.0, NETWORK)
    assert sending[1][2] == pytest.approx(receives, abs=450_000 / 480)
    assert not {WAITS, NOTHING} & {span[3] for span in sending}


def test_of_many_ranks_some_are_shown_and_the_last_one(step: Results) -> None:
    run = step.ranks["run"][0]
    ranks = step.ranks.filter(pl.col("run") == run)
    last = set(ranks.filter(pl.col("end_ns") == pl.col("end_ns").max())["rank"])
    found = activities(step, run, most=3)
    assert found is not None
    shown = [rank for _, rank in found.ranks]
    assert len(shown) == 3
    assert 0 in shown
    assert last & set(shown)


def test_results_without_operations_have_no_timelines(step: Results, tmp_path: Path) -> None:
    folder = step.folder.parent
    changes = ["measure.operations=false", "sweep={}", 'transport={name="ndp"}']
    plain = anabranch.run(folder / "step.toml", changes, out=tmp_path / "r", seeds=1)
    assert activities(plain, plain.ranks["run"][0]) is None
    assert plain.operations.is_empty()
    assert "What ranks do" not in page.html(plain)


def _specs(html: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', html, re.DOTALL)
    assert found
    specs: list[dict[str, Any]] = json.loads(found[1])
    return specs


def test_the_report_draws_one_timeline_for_each_transport(step: Results) -> None:
    html = page.html(step)
    place = re.search(r'What ranks do</h3>\s*<div class="chart rows" data-spec="(\d+)"', html)
    assert place
    spec = _specs(html)[int(place[1])]
    rows = spec["vconcat"]
    assert [row["title"]["text"] for row in rows] == ["NDP", "DCTCP"]
    ends = [max(bar["to"] for bar in spec["datasets"][row["data"]["name"]]) for row in rows]
    assert len({tuple(row["encoding"]["x"]["scale"]["domain"]) for row in rows}) == 1
    assert max(ends) == pytest.approx(rows[0]["encoding"]["x"]["scale"]["domain"][1], rel=1 / 480)


def test_a_trace_has_a_slice_for_each_operation_and_none_overlap(step: Results, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(step.folder), "--trace", str(tmp_path / "t.json")])
    assert done.exit_code == 0, done.output
    trace = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    slices = [event for event in trace if event["ph"] == "X"]
    assert len(slices) == step.operations.height
    named = {(event["pid"], event["tid"]) for event in trace if event["name"] == "thread_name"}
    threads: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in slices:
        threads.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert threads.keys() == named
    for spans in threads.values():
        spans.sort()
        assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(spans))
    computing = sum(event["dur"] for event in slices if event["name"] == "compute")
    assert computing == pytest.approx(sum(step.ranks["computing_ns"].to_list()) / 1e3)
    assert len([event for event in trace if event["name"] == "process_name"]) == step.runs.height


def test_a_trace_without_operations_is_refused(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "scenarios/examples/incast.toml"
    plain = anabranch.run(example, ["sweep={}"], out=tmp_path / "r", seeds=1)
    done = CliRunner().invoke(app, ["report", str(plain.folder), "--trace", str(tmp_path / "t.json")])
    assert done.exit_code == 2
    assert "no operations were recorded" in done.output
    assert not (tmp_path / "t.json").exists()


def test_what_has_not_ended_lasts_until_the_run_does(step: Results, tmp_path: Path) -> None:
    file = step.folder.parent / "step.toml"
    changes = ["sweep={}", 'transport={name="ndp"}', 'run.time_limit="150us"']
    cut = anabranch.run(file, changes, out=tmp_path / "r", seeds=1)
    assert cut.operations["end_ns"].null_count() > 0
    found = activities(cut, cut.ranks["run"][0])
    assert found is not None
    assert found.end == 150_000
    # Nobody has done all that it had to do.
    assert found.shares[:, -1, ACTIVITIES.index(NOTHING)].max() < 1e-9
    tracing.write(cut, tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    open_ones = [event for event in trace if event["args"].get("ended") is False]
    assert len(open_ones) == cut.operations["end_ns"].null_count()
    assert all(event["ts"] + event["dur"] == pytest.approx(150) for event in open_ones)


def test_jobs_beside_each_other_have_rows_and_processes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(HIDDEN, encoding="utf-8")
    first, second = ('{ name = "a", job = { file = "x.goal" } }', '{ name = "b", job = { file = "x.goal", LATER } }')
    second = second.replace("LATER", 'start = "100us", hosts = [2, 3]')
    text = PAIR.replace("hosts = 2", "hosts = 4").replace('{ job = { file = "x.goal" } }', f"{first}, {second}")
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    two = anabranch.run(tmp_path / "s.toml", out=tmp_path / "r")
    found = activities(two, two.ranks["run"][0])
    assert found is not None
    assert list(found.ranks) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert [(place, first, last) for place, first, last, what in found.spans() if what == COMPUTES] == [
        (0, 0.0, pytest.approx(450_000, abs=found.end / 480)),
        (2, pytest.approx(100_000, abs=found.end / 480), 550_000.0),
    ]
    processes = [event["args"]["name"] for event in tracing.events(two) if event["name"] == "process_name"]
    assert [name.split()[-1] for name in processes] == ["a", "b"]


def test_as_many_messages_at_once_as_there_are_have_threads_of_their_own(tmp_path: Path) -> None:
    many = 1200
    sends = "".join(f"send 8b to 1 tag {tag}\n" for tag in range(many))
    receives = "".join(f"recv 8b from 0 tag {tag}\n" for tag in range(many))
    goal = f"num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n"
    (tmp_path / "x.goal").write_text(goal, encoding="utf-8")
    (tmp_path / "s.toml").write_text(PAIR, encoding="utf-8")
    done = anabranch.run(tmp_path / "s.toml", out=tmp_path / "r")
    slices = [event for event in tracing.events(done) if event["ph"] == "X"]
    assert len(slices) == 2 * many
    assert len({event["tid"] for event in slices}) > many


def test_times_that_are_none_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(HIDDEN, encoding="utf-8")
    (tmp_path / "s.toml").write_text(PAIR, encoding="utf-8")
    done = anabranch.run(tmp_path / "s.toml", out=tmp_path / "r")
    (file,) = (tmp_path / "r/runs").glob("*/operations.parquet")
    rows = pl.read_parquet(file)
    spoilt = rows.with_columns(pl.when(pl.col("rank") == 1).then(float("nan")).otherwise("start_ns").alias("start_ns"))
    spoilt.write_parquet(file)
    found = activities(anabranch.load(done.folder), done.ranks["run"][0])
    assert found is not None
    assert list(found.ranks) == [("workload0", 0)]
