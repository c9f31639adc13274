"""What a report says first: the sentences agree with the table, and claim no more than the seeds can."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fixtures
import polars as pl
import pytest

from anabranch import Results, load, stats
from anabranch.results.findings import findings
from anabranch.results.paired import Ratio, ratio

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, sizes: dict[str, tuple[int, dict[str, list[float | None]]]]) -> Results:
    """Results with given completion times: name of a size to bytes, and transport to one time for each seed."""
    transports = list(next(iter(sizes.values()))[1])
    seeds = tuple(range(1, 1 + len(next(iter(next(iter(sizes.values()))[1].values())))))
    fixture = fixtures.Fixture(sweep={"transport.name": transports}, seeds=seeds, sessions=len(sizes), background=0)
    results = load(fixtures.write(folder, fixture))
    for run in results.manifest.runs:
        file = folder / "runs" / run.run / "flows.parquet"
        flows = pl.read_parquet(file).head(len(sizes))
        times = [times[run.transport][run.seed - 1] for _, times in sizes.values()]
        flows = flows.with_columns(
            pl.Series("size_bytes", [size for size, _ in sizes.values()], pl.UInt64()),
            pl.Series("fct_ns", times, pl.Float64()),
            pl.Series("end_ns", times, pl.Float64()),
        )
        flows.write_parquet(file)
    return load(folder)


SMALL, LARGE = 5_000, 5_000_000


def test_the_best_and_how_far_the_others_are(tmp_path: Path) -> None:
    results = write(
        tmp_path / "r",
        {
            "short": (SMALL, {"ndp": [30e3, 31e3, 29e3], "scdp": [10e3, 10.1e3, 9.9e3], "dctcp": [100e3, 104e3, 96e3]}),
            "long": (LARGE, {"ndp": [50e6, 52e6, 51e6], "scdp": [51e6, 51e6, 51.5e6], "dctcp": [80e6, 81e6, 82e6]}),
        },
    )
    short, long = findings(results)
    assert short.startswith("Flows ≤ 10 KB, p99 FCT: SCDP 10.0 ± 0.2 µs; NDP takes 3.00 (")
    assert "times as long, DCTCP 9.99 (9.28 to 10.8) times." in short
    assert long.startswith(
        "Flows > 1 MB, mean FCT: NDP 51.0 ± 2.5 ms; SCDP does not differ significantly, DCTCP takes 1.59 ("
    )


def test_flows_that_did_not_finish_are_told_and_not_ranked(tmp_path: Path) -> None:
    results = write(
        tmp_path / "r", {"short": (SMALL, {"ndp": [30e3, 31e3], "scdp": [1e3, None], "dctcp": [100e3, 104e3]})}
    )
    best, lost = findings(results)
    assert best.startswith("Flows, p99 FCT: NDP ")
    assert "SCDP" not in best
    assert lost == "Did not finish: 1 of 2 flows of SCDP."


def test_one_seed_has_ratios_without_intervals(tmp_path: Path) -> None:
    (only,) = findings(write(tmp_path / "r", {"short": (SMALL, {"ndp": [30e3], "scdp": [10e3]})}))
    assert only == "Flows, p99 FCT: SCDP 10.0 µs; NDP takes 3.00 times as long."


def test_one_transport_is_told_by_itself(tmp_path: Path) -> None:
    (only,) = findings(write(tmp_path / "r", {"short": (SMALL, {"ndp": [30e3, 32e3, 31e3]})}))
    assert only == "Flows, p99 FCT: NDP 31.0 ± 2.5 µs."


def test_a_sweep_tells_the_range(swept: Results) -> None:
    sentences = findings(swept)
    assert sentences
    assert all("(load 0." in sentence and " to " in sentence for sentence in sentences)
    assert all("load =" not in sentence for sentence in sentences)


def test_the_numbers_are_the_tables(results: Results) -> None:
    table = stats.fct_table(results, by=["transport"])
    first = table.filter(pl.col("bucket") == "<=10KB").sort("fct_p99_ns").row(0, named=True)
    sentence = next(text for text in findings(results) if text.startswith("Flows ≤ 10 KB"))
    assert f"{first['fct_p99_ns'] / 1e3:.3g}"[:3] in sentence


def test_nothing_is_found_where_nothing_ran(tmp_path: Path) -> None:
    status = {f"p{point:03}-s1": "interrupted" for point in range(4)}
    assert findings(load(fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1,), status=status)))) == []


@pytest.mark.parametrize(
    ("found", "differs"),
    [(Ratio(1.0), False), (Ratio(1.01), True), (Ratio(1.1, 0.9, 1.3), False), (Ratio(1.1, 1.05, 1.2), True)],
)
def test_what_differs_is_what_the_interval_says(found: Ratio, *, differs: bool) -> None:
    assert found.significant is differs


def test_several_settings_tell_those_that_differ(tmp_path: Path) -> None:
    """Two settings without a difference, and one with one: neither the others' ratios nor a range over all are told."""
    fixture = fixtures.Fixture(
        sweep={"load": [0.1, 0.2, 0.3], "transport.name": ["ndp", "scdp"]}, seeds=(1, 2, 3), sessions=1, background=0
    )
    folder = fixtures.write(tmp_path / "r", fixture)
    for run in load(folder).manifest.runs:
        file = folder / "runs" / run.run / "flows.parquet"
        slow = 3.0 if run.transport == "ndp" and run.point["load"] == 0.3 else 1.0
        noise = {("ndp", 1): 1.3, ("scdp", 2): 1.2, ("ndp", 3): 0.9}.get((run.transport, run.seed), 1.0)
        time = 1e5 * slow * (noise if run.point["load"] != 0.3 else 1 + run.seed / 1e3)
        values = {"size_bytes": SMALL, "fct_ns": time, "end_ns": time}
        pl.read_parquet(file).head(1).with_columns(**{k: pl.lit(v) for k, v in values.items()}).write_parquet(file)
    (only,) = findings(load(folder))
    assert only == (
        "Flows, p99 FCT: SCDP is best in the mean over 3 settings; NDP takes 3.00 times as long in 1 of 3 settings, "
        "with no significant difference in the others."
    )


def test_seeds_that_gave_the_same_runs_count_once() -> None:
    same = {1: (2.0, "a"), 2: (2.0, "a"), 3: (2.0, "a")}
    one = ratio(same, {1: (1.0, "b"), 2: (1.0, "b"), 3: (1.0, "b")})
    assert one == Ratio(2.0)
    assert ratio(same, {9: (1.0, "b")}) is None, "no seed in common"
    wide = ratio({**same, 4: (3.0, "c")}, {1: (1.0, "b"), 2: (1.0, "b"), 3: (1.0, "b"), 4: (1.0, "d")})
    assert wide is not None
    assert wide == ratio({1: (2.0, "a"), 4: (3.0, "c")}, {1: (1.0, "b"), 4: (1.0, "d")})
