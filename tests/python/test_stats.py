"""Statistics against definitions computed another way, and the populations they may not mix."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import fixtures
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from anabranch import Results, load, stats
from anabranch.errors import StatisticsError
from anabranch.results.comparison import compare, summarise
from anabranch.results.notes import notes

if TYPE_CHECKING:
    from pathlib import Path

values = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@given(st.lists(values, min_size=2, max_size=30))
def test_interval_is_students_t(numbers: list[float]) -> None:
    mean, half = stats.interval(numbers)
    assert mean == pytest.approx(math.fsum(numbers) / len(numbers), abs=1e-3)
    assert half is not None
    error = reference.sem(numbers)
    if error > 1e-6:
        low, high = reference.t.interval(0.95, len(numbers) - 1, loc=mean, scale=error)
        assert half == pytest.approx((high - low) / 2, rel=1e-6)
    else:
        assert half == pytest.approx(0, abs=1e-3)


def test_interval_of_one_and_of_none() -> None:
    assert stats.interval([4.0]) == (4.0, None)
    mean, half = stats.interval([])
    assert math.isnan(mean)
    assert half is None


def test_table_equals_numpy_per_seed(results: Results) -> None:
    table = stats.fct_table(results)
    flows = results.flows.filter(~pl.col("background"))
    for bucket, low, high in [("<=10KB", 0, 1e4), ("10-100KB", 1e4, 1e5), ("100KB-1MB", 1e5, 1e6), (">1MB", 1e6, 1e99)]:
        for transport in ("scdp", "newreno"):
            row = table.filter((pl.col("bucket") == bucket) & (pl.col("transport") == transport)).to_dicts()[0]
            per_seed = []
            for seed in (1, 2, 3):
                own = flows.filter((pl.col("seed") == seed) & (pl.col("transport") == transport))
                size, fct = own["size_bytes"].to_numpy(), own["fct_ns"].to_numpy()
                per_seed.append(np.percentile(fct[(size > low) & (size <= high)], 99))
            assert row["fct_p99_ns"] == pytest.approx(np.mean(per_seed))
            half = reference.t.ppf(0.975, 2) * np.std(per_seed, ddof=1) / 3**0.5
            assert row["fct_p99_ns_ci"] == pytest.approx(half)


def test_buckets_part_the_flows(results: Results) -> None:
    table = stats.fct_table(results)
    parts = table.filter(pl.col("bucket") != "all").group_by("transport").agg(pl.col("flows").sum())
    assert parts["flows"].to_list() == [360] * 4
    assert table.filter(pl.col("bucket") == "all")["flows"].to_list() == [360] * 4


@given(st.integers(min_value=1, max_value=10**12))
def test_every_size_has_one_bucket(size: int) -> None:
    frame = pl.DataFrame({"size_bytes": [size]})
    held = [bucket for bucket in stats.BUCKETS[:-1] if frame.filter(bucket.holds()).height]
    assert len(held) == 1


def test_a_bound_belongs_to_the_smaller_bucket() -> None:
    frame = pl.DataFrame({"size_bytes": [10_000, 10_001]})
    assert frame.filter(stats.BUCKETS[0].holds())["size_bytes"].to_list() == [10_000]


def test_background_flows_are_apart(results: Results) -> None:
    everything = stats.fct_table(results).filter(pl.col("bucket") == "all")
    assert everything["flows"].sum() == results.flows.filter(~pl.col("background")).height
    background = stats.background_table(results)
    assert background["flows"].to_list() == [12] * 4
    one = results.flows.filter(pl.col("background") & (pl.col("transport") == "ndp") & (pl.col("seed") == 1))
    goodput = one["goodput_bps"].to_numpy()
    jain = goodput.sum() ** 2 / (goodput.size * (goodput**2).sum())
    assert 1 / 4 <= jain <= 1
    only = load(results.folder)
    per_seed = stats.background_table(only).filter(pl.col("transport") == "ndp")["jain_index"].item()
    assert per_seed == pytest.approx(jain, abs=0.2)


def test_mixing_sweep_points_is_refused_unless_meant(swept: Results) -> None:
    with pytest.raises(StatisticsError, match="mixes flows of different load"):
        stats.fct_table(swept, by=["transport"])
    pooled = stats.fct_table(swept, by=["transport"], pool=True).filter(pl.col("bucket") == "all")
    assert pooled["flows"].to_list() == [3 * 360, 3 * 360]
    assert pooled["seeds"].to_list() == [3, 3]
    by_point = stats.fct_table(swept, by=["load", "transport"])
    assert by_point.height == 3 * 2 * 5


def test_unknown_columns_and_none_are_refused(swept: Results) -> None:
    with pytest.raises(StatisticsError, match="cannot group by 'lod'"):
        stats.fct_table(swept, by=["lod"])
    with pytest.raises(StatisticsError, match="no column"):
        stats.fct_table(swept, by=[])


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    results = load(fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(7,))))
    table = stats.fct_table(results)
    assert table["fct_mean_ns_ci"].null_count() == table.height
    assert table["fct_mean_ns"].null_count() == 0
    assert any(note.startswith("one seed: no interval") for note in notes(results))


def test_packets_without_headroom_are_noted(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1, 2)))
    file = next(iter(sorted(folder.glob("runs/*/links.parquet"))))
    links = pl.read_parquet(file)
    lost = pl.when(pl.col("link") <= 1).then(3 + pl.col("link")).otherwise(0).cast(pl.UInt64)
    links.with_columns(lost.alias("headroom_drops")).write_parquet(file)
    most = links.row(1, named=True)
    where = f"most from {most['src']} to {most['dst']}"
    assert any(
        note.startswith("7 packets were lost for want of headroom") and where in note for note in notes(load(folder))
    )


def test_unfinished_flows_are_counted_and_cannot_win(stalled: Results) -> None:
    table = stats.fct_table(stalled)
    newreno = table.filter((pl.col("transport") == "newreno") & (pl.col("bucket") == "all"))
    assert newreno["unfinished"].item() == 12  # every tenth of 120 flows in one run
    assert newreno["incomplete_runs"].item() == 1
    assert "did not complete" in notes(stalled)[0]
    panel = summarise(stalled, compare(stalled))[0]
    column = [str(value) for value in compare(stalled).values].index("newreno")
    for group in panel.groups:
        if group.unfinished[column]:
            assert not any(row.cells[column].best or row.cells[column].tied for row in group.rows)


def test_uneven_seeds_are_noted(stalled: Results) -> None:
    assert any("same seeds" in note for note in notes(stalled))


def test_runs_without_finished_flows(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1, 2), background=0))
    for path in folder.glob("runs/p000-*/flows.parquet"):
        gone = ("end_ns", "fct_ns", "slowdown", "goodput_bps")
        pl.read_parquet(path).with_columns(pl.lit(None, pl.Float64).alias(name) for name in gone).write_parquet(path)
    results = load(folder)
    row = stats.fct_table(results).filter((pl.col("transport") == "scdp") & (pl.col("bucket") == "all")).to_dicts()[0]
    assert (row["flows"], row["unfinished"], row["fct_mean_ns"], row["fct_mean_ns_ci"]) == (240, 240, None, None)
    cells = summarise(results, compare(results))[0].groups[0].rows[0].cells
    assert (cells[0].value, cells[0].text, cells[0].best) == (None, "–", False)
    assert sum(cell.best for cell in cells) == 1


def test_layers_follow_a_path(results: Results) -> None:
    table = stats.layer_table(results).filter(pl.col("transport") == "ndp")
    layers = list(zip(table["src_level"], table["dst_level"], strict=True))
    assert layers == [
        ("host", "edge"),
        ("edge", "aggregation"),
        ("aggregation", "core"),
        ("core", "aggregation"),
        ("aggregation", "edge"),
        ("edge", "host"),
    ]
    links = results.links.filter(pl.col("transport") == "ndp")
    assert table["trimmed"].sum() == pytest.approx(links["trimmed"].sum() / 3)
    assert table["links"].to_list() == [16.0] * 6


def test_the_best_is_the_least_time_and_the_greatest_goodput(results: Results) -> None:
    for panel in summarise(results, compare(results)):
        for group in panel.groups:
            for row in group.rows:
                found = [cell.value for cell in row.cells if cell.value is not None]
                best = [cell.value for cell in row.cells if cell.best]
                assert best == [min(found) if row.metric.less else max(found)]


def test_seeds_that_change_nothing_are_one_sample(tmp_path: Path) -> None:
    alike = {"scdp": {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, "ndp": {1: 1, 2: 1, 3: 3, 4: 3, 5: 5}}
    seeds = (1, 2, 3, 4, 5)
    five = fixtures.Fixture(seeds=seeds, alike=alike, sweep={"transport.name": ["scdp", "ndp", "dctcp"]})
    three = fixtures.Fixture(seeds=(1, 3, 5), sweep={"transport.name": ["ndp"]})
    results = load(fixtures.write(tmp_path / "five", five))
    table = stats.fct_table(results).filter(pl.col("bucket") == "all")
    rows = {row["transport"]: row for row in table.to_dicts()}
    assert [(row["seeds"], row["samples"]) for row in rows.values()] == [(5, 1), (5, 3), (5, 5)]
    assert rows["scdp"]["fct_mean_ns_ci"] is None
    # Mean and interval are those of the three different runs.
    alone = (
        stats.fct_table(load(fixtures.write(tmp_path / "three", three))).filter(pl.col("bucket") == "all").to_dicts()
    )
    for name in ("fct_mean_ns", "fct_mean_ns_ci", "fct_p99_ns", "fct_p99_ns_ci"):
        assert rows["ndp"][name] == pytest.approx(alone[0][name])
    background = {row["transport"]: row for row in stats.background_table(results).to_dicts()}
    assert background["scdp"]["goodput_mean_bps_ci"] is None
    assert background["ndp"]["samples"] == 3
    (note,) = [text for text in notes(results) if "identical" in text]
    assert note.startswith(
        "5 seeds, one run: identical fingerprints (scdp); 5 seeds, 3 different runs: identical fingerprints (ndp). "
    )
    assert "`host.jitter`" in note
    comparison = compare(results)
    cells = summarise(results, comparison)[0].groups[0].rows[0].cells
    assert cells[0].text.endswith(" (1 run)")
    assert "±" not in cells[0].text
    assert cells[1].text.endswith(" (3 runs)")
    assert "±" in cells[1].text
    assert "run" not in cells[2].text


def test_runs_without_a_fingerprint_are_samples_each(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r")
    manifest = folder / "manifest.json"
    data = json.loads(manifest.read_text())
    for run in data["runs"]:
        run["fingerprint"] = ""
    manifest.write_text(json.dumps(data))
    assert stats.fct_table(load(folder))["samples"].unique().to_list() == [3]


def test_missed_deadlines_are_those_of_late_and_of_unfinished_flows(tmp_path: Path) -> None:
    status = {"p003-s2": "stalled"}
    results = load(fixtures.write(tmp_path / "r", fixtures.Fixture(status=status, deadline=1.5)))
    table = stats.fct_table(results).filter(pl.col("bucket") == "all")
    for transport in ("scdp", "newreno"):
        rates = []
        for seed in (1, 2, 3):
            of_run = (pl.col("transport") == transport) & (pl.col("seed") == seed)
            own = results.flows.filter(of_run & pl.col("deadline_ns").is_not_null())
            late = [fct is None or fct > deadline for fct, deadline in own.select("fct_ns", "deadline_ns").iter_rows()]
            assert len(late) == 40  # every third flow
            rates.append(sum(late) / 40)
        row = table.filter(pl.col("transport") == transport).to_dicts()[0]
        assert row["deadline_miss_rate"] == pytest.approx(np.mean(rates))
        assert row["deadlines"] == 120
        assert row["deadlines_missed"] == round(40 * sum(rates))
        assert row["deadline_miss_rate_ci"] > 0
    newreno = table.filter(pl.col("transport") == "newreno")
    assert newreno["unfinished"].item() == 12
    assert newreno["deadlines_missed"].item() >= 4  # of the unfinished flows 3, 33, 63 and 93 have deadlines


def test_flows_that_did_not_finish_are_in_the_rate_of_missed_deadlines(tmp_path: Path) -> None:
    # So loose that nobody who finishes is late; every tenth flow of one run did not, and 4 of its 40
    # flows with deadlines are among these: a mean of 1/30 over three runs.
    fixture = fixtures.Fixture(status={"p003-s2": "stalled"}, deadline=1e6)
    results = load(fixtures.write(tmp_path / "r", fixture))
    panel = summarise(results, compare(results))[0]
    row = next(row for row in panel.groups[-2].rows if row.metric.column == "deadline_miss_rate")
    column = [str(value) for value in compare(results).values].index("newreno")
    assert row.unit == "%"
    assert row.cells[column].value == pytest.approx(1 / 30)
    assert row.cells[column].unfinished == 0  # none is missing from the number
    assert [cell.value for place, cell in enumerate(row.cells) if place != column] == [0, 0, 0]
    assert row.cells[0].best


def test_without_deadlines_there_is_no_rate_of_missed_ones(results: Results) -> None:
    assert not stats.has_deadlines(results)
    assert not [column for column in stats.fct_table(results).columns if "deadline" in column]
    rows = [row for group in summarise(results, compare(results))[0].groups for row in group.rows]
    assert "deadline_miss_rate" not in {row.metric.column for row in rows}
