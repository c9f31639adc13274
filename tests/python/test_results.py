"""Loading: what a folder says is what the frames hold, and damage is reported by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fixtures
import polars as pl
import pytest

from anabranch import ResultError, Results, load, run

if TYPE_CHECKING:
    from pathlib import Path


def test_flows_carry_the_columns_of_their_run(results: Results) -> None:
    assert results.keys == ("transport",)
    flows = results.flows
    assert flows.height == 4 * 3 * (120 + 4)
    assert set(flows["seed"].unique()) == {1, 2, 3}
    by_run = flows.group_by("run").agg(pl.col("transport", "seed").n_unique())
    assert by_run.select(pl.col("transport", "seed").max()).row(0) == (1, 1)
    own = flows.filter(pl.col("run") == "p002-s3").select("transport", "seed").unique()
    assert own.row(0) == ("dctcp", 3)


def test_one_session_is_the_same_in_every_transport(results: Results) -> None:
    sizes = results.flows.filter(~pl.col("background")).group_by("seed", "session").agg(pl.col("size_bytes").n_unique())
    assert sizes["size_bytes"].max() == 1


def test_links_match_the_fabric(results: Results) -> None:
    fabric = results.fabric
    assert (fabric.hosts, fabric.switches, len(fabric.links)) == (16, 20, 48)
    one = results.links.filter(pl.col("run") == "p000-s1")
    assert one.height == 2 * len(fabric.links)


def test_series_are_optional(results: Results, tmp_path: Path) -> None:
    assert results.series.is_empty()
    assert "transport" in results.series.columns
    with_series = load(fixtures.write(tmp_path / "series", fixtures.Fixture(seeds=(1,), series=True)))
    assert with_series.series.height == 4 * 2


def test_scan_is_lazy_and_knows_its_tables(results: Results) -> None:
    assert isinstance(results.scan("flows"), pl.LazyFrame)
    with pytest.raises(ResultError, match="no table called 'flow'"):
        results.scan("flow")


def test_a_sweep_key_does_not_hide_a_column(tmp_path: Path) -> None:
    fixture = fixtures.Fixture(sweep={"mode": ["unicast", "one_to_many"]}, seeds=(1,))
    results = load(fixtures.write(tmp_path / "r", fixture))
    assert results.keys == ("point.mode", "transport")
    assert results.flows.filter(pl.col("point.mode") == "one_to_many")["mode"].unique().to_list() == ["unicast"]


def test_a_key_that_repeats_the_transport_is_one_column(results: Results) -> None:
    assert results.keys == ("transport",)
    assert results.runs["transport.name"].to_list() == results.runs["transport"].to_list()
    assert "transport.name" not in results.flows.columns


def test_sweep_values_of_mixed_types_become_text(tmp_path: Path) -> None:
    fixture = fixtures.Fixture(sweep={"window": [1, "10KB", [1, 2]]}, seeds=(1,))
    runs = load(fixtures.write(tmp_path / "r", fixture)).runs
    assert runs["window"].to_list() == ["1", "10KB", "[1, 2]"]


def test_numbers_and_truths_keep_their_type(tmp_path: Path) -> None:
    fixture = fixtures.Fixture(sweep={"load": [0.5, 1], "k": [4, 8], "sack": [True, False]}, seeds=(1,))
    runs = load(fixtures.write(tmp_path / "r", fixture)).runs
    assert [runs[key].dtype for key in ("load", "k", "sack")] == [pl.Float64(), pl.Int64(), pl.Boolean()]


def test_interrupted_runs_have_no_rows(stalled: Results) -> None:
    assert "p001-s3" not in stalled.flows["run"].unique().to_list()
    assert stalled.runs.filter(pl.col("run") == "p001-s3")["status"].item() == "interrupted"
    assert {run.run for run in stalled.manifest.incomplete} == {"p001-s3", "p003-s2"}


def test_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(ResultError, match=r"has no manifest\.json"):
        load(tmp_path)


def test_a_complete_run_without_its_table_is_an_error(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r")
    (folder / "runs" / "p000-s1" / "links.parquet").unlink()
    with pytest.raises(ResultError, match="p000-s1"):
        _ = load(folder).links


def test_a_table_without_a_column_is_an_error(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r")
    path = folder / "runs" / "p000-s1" / "flows.parquet"
    pl.read_parquet(path).drop("slowdown").write_parquet(path)
    with pytest.raises(ResultError, match="column 'slowdown' is missing"):
        _ = load(folder).flows


def test_results_of_a_version_without_deadlines_have_none(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r")
    files = sorted((folder / "runs").glob("*/flows.parquet"))
    for n, path in enumerate(files):
        flows = pl.read_parquet(path)
        # Of two versions, as a resumed experiment may be.
        new = flows.with_columns(deadline_ns=pl.lit(2e6)) if n % 2 else flows.drop("deadline_ns")
        new.write_parquet(path)
    flows = load(folder).flows
    assert flows["deadline_ns"].dtype == pl.Float64()
    assert flows["deadline_ns"].drop_nulls().unique().to_list() == [2e6]
    met = flows.group_by("run").agg((pl.col("fct_ns") <= pl.col("deadline_ns")).count()).sort("run")
    assert [count > 0 for count in met["fct_ns"]] == [bool(n % 2) for n in range(len(files))]


def test_a_table_that_is_not_parquet_is_an_error(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r")
    (folder / "runs" / "p000-s1" / "flows.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ResultError, match="cannot be read as Parquet"):
        _ = load(folder).flows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "result layout 99"),
        ({"runs": "none"}, "not an Anabranch manifest"),
        ({"command": None}, "wrong type"),
        ({"runs": [{"run": "../../etc", "seed": 1, "transport": "ndp", "status": "complete"}]}, "not a run's name"),
        ({"runs": [{"run": "p0", "seed": 1, "transport": "ndp", "status": "fine"}]}, "unknown status 'fine'"),
        ({"runs": [{"run": "p0", "seed": 1, "status": "complete"}]}, "'transport' is missing"),
    ],
)
def test_a_bad_manifest_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1,)))
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ResultError, match=message):
        load(folder)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"nodes": [{"name": "h0", "level": "attic"}], "links": []}',
        '{"nodes": [{"name": "h0", "level": "host"}], "links": [{"a": 0, "b": 7, "rate_bps": 1, "delay_ns": 1}]}',
    ],
)
def test_a_bad_fabric_is_refused(tmp_path: Path, text: str) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1,)))
    (folder / "fabric.json").write_text(text)
    with pytest.raises(ResultError):
        _ = load(folder).fabric


ONE_TRANSFER = """
[fabric]
topology = "star"
hosts = 2
rate = "1Gbps"
delay = "1us"

[transport]
name = "udp"

[[workload]]
sizes = { law = "fixed", size = "125KB" }
placement = { pattern = "pairs", pairs = [[0, 1]] }

[run]
time_limit = "10ms"
"""


@pytest.mark.parametrize(("background", "measured_ns"), [("true", 10e6), ("false", None)])
def test_links_are_measured_to_the_last_completion_or_to_the_end(
    background: str, measured_ns: float | None, tmp_path: Path
) -> None:
    (tmp_path / "one.toml").write_text(ONE_TRANSFER)
    results = run(tmp_path / "one.toml", [f"workload.0.background={background}"], out=tmp_path / "out")
    if measured_ns is None:
        measured_ns = float(results.flows["end_ns"][0])
        assert 1e6 < measured_ns < 1.1e6
    sender = results.links.filter(pl.col("src") == "h0").row(0, named=True)
    # A byte takes 8 ns at 1 Gbps.
    assert sender["utilisation"] == pytest.approx(8 * sender["bytes"] / measured_ns, rel=1e-9)
