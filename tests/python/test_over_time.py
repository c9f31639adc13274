"""What was measured over time: the same grid for every row, zero where nothing was written, the largest chosen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fixtures
import numpy as np
import polars as pl

from anabranch import Results, load, report, schema
from anabranch.comparison import compare
from anabranch.report.multiples import multiples
from anabranch.report.over_time import OverTime, Strip, over_time

if TYPE_CHECKING:
    from pathlib import Path

FAILURES = """
[[failure]]
at = "2ms"
link = "agg0.0-core0"
action = "cut"
[[failure]]
at = "900ms"
link = "agg0.0-core0"
action = "restore"
"""


def measured(
    folder: Path, rows: dict[str, list[tuple[float, str, int, float]]], *, scenario: str = fixtures.SCENARIO
) -> Results:
    """Results of two transports whose runs have these samples: milliseconds, metric, link or session, and value."""
    fixture = fixtures.Fixture(sweep={"transport.name": list(rows)}, seeds=(1,), scenario=scenario)
    fixtures.write(folder, fixture)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in manifest["runs"]:
        entry["interval_ns"] = 1e6
        frame = pl.DataFrame(rows[entry["transport"]], schema=["time_ns", "metric", "id", "value"], orient="row")
        frame = frame.with_columns(pl.col("time_ns") * 1e6, pl.lit(entry["run"]).alias("run"))
        series = frame.select(pl.col(n).cast(t) for n, t in schema.SERIES.items())
        series.write_parquet(folder / "runs" / entry["run"] / "series.parquet")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return load(folder)


def found(results: Results) -> OverTime:
    comparison = compare(results)
    value = over_time(results, comparison, comparison.panels[0])
    assert value is not None
    return value


def test_rows_of_all_and_of_the_largest(tmp_path: Path) -> None:
    ndp = [(1.0, "queue_packets", 3, 4.0), (2.0, "queue_packets", 5, 7.0), (4.0, "queue_packets", 9, 1.0)]
    scdp = [(1.0, "queue_packets", 3, 2.0), (3.0, "queue_packets", 3, 2.0)]
    results = measured(tmp_path / "r", {"ndp": ndp, "scdp": scdp})
    value = found(results)
    assert value.times.tolist() == [1e6, 2e6, 3e6, 4e6]
    titles = [strip.title for strip in value.strips]
    name = results.fabric.link_name
    assert titles == ["Longest queue of all links", f"Queue, {name(3)}", f"Queue, {name(5)}"]
    curves = [{label: curve.tolist() for label, curve in strip.curves.items()} for strip in value.strips]
    assert curves[0] == {"NDP": [4, 7, 0, 1], "SCDP": [2, 0, 2, 0]}
    assert curves[1] == {"NDP": [4, 0, 0, 0], "SCDP": [2, 0, 2, 0]}
    assert curves[2] == {"NDP": [0, 7, 0, 0]}


def test_sessions_are_added_and_named(tmp_path: Path) -> None:
    ndp = [(at, "goodput_bps", session, 5e8) for at in (1.0, 2.0) for session in (0, 1, 2)]
    (whole, *single) = found(measured(tmp_path / "r", {"ndp": ndp})).strips
    assert (whole.title, whole.unit, whole.curves["NDP"].tolist()) == ("Goodput of all sessions", "Gbps", [1.5, 1.5])
    assert len(single) == 2
    assert single[0].title.startswith("Goodput, session 0, h")
    assert single[0].unit == "Mbps"


def test_many_samples_become_few_and_keep_the_longest_queue(tmp_path: Path) -> None:
    ndp = [(float(at), "queue_packets", 3, 90.0 if at == 777 else 1.0) for at in range(1, 1001)]
    value = found(measured(tmp_path / "r", {"ndp": ndp}))
    assert value.times.size == 240
    assert value.times[-1] == 1000e6
    assert max(strip.curves["NDP"].max() for strip in value.strips) == 90


def test_failures_are_on_the_axis_as_far_as_it_goes(tmp_path: Path) -> None:
    ndp = [(float(at), "utilisation", 3, 0.5) for at in range(1, 9)]
    value = found(measured(tmp_path / "r", {"ndp": ndp}, scenario=fixtures.SCENARIO + FAILURES))
    assert value.events == [(2e6, "agg0.0-core0 cut")]


def test_without_samples_there_is_no_section(results: Results) -> None:
    comparison = compare(results)
    assert over_time(results, comparison, comparison.panels[0]) is None
    assert "Over time" not in report.html(results)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    attack = '"]; alert(1); //</script>'
    curves = {"NDP": np.array([1.0, 2.0]), attack: np.array([0.0, 1.0])}
    looks = list(compare(measured(tmp_path / "r", {"ndp": [(1.0, "utilisation", 3, 0.5)]})).looks.values())
    value = OverTime(begin=0.0, step=1e6, count=2, interval=1e6, strips=[Strip("t", "u", curves)])
    spec = multiples(value, looks, {})
    (calculated,) = [step["calculate"] for step in spec["vconcat"][-1]["transform"] if "calculate" in step]
    assert json.loads(calculated.partition("[toNumber")[0]) == ["NDP", attack]


def test_each_sweep_point_has_names_of_its_own_fabric(tmp_path: Path) -> None:
    """A larger fabric than the first point's has more links than its drawing."""
    ndp = [(1.0, "queue_packets", 500, 4.0), (2.0, "queue_packets", 3, 7.0)]
    results = measured(tmp_path / "r", {"ndp": ndp})
    titles = [strip.title for strip in found(results).strips]
    assert "Queue, link 500" in titles
    assert report.html(results)


def test_failures_that_settings_change_are_not_marked(tmp_path: Path) -> None:
    ndp = [(float(at), "utilisation", 3, 0.5) for at in range(1, 9)]
    results = measured(tmp_path / "r", {"ndp": ndp}, scenario=fixtures.SCENARIO + FAILURES)
    manifest = json.loads((results.folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["overrides"] = ["failure.0.at=5ms"]
    (results.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert found(load(results.folder)).events == []


def test_a_manifest_from_elsewhere_cannot_ask_for_memory(tmp_path: Path) -> None:
    results = measured(tmp_path / "r", {"ndp": [(float(at), "utilisation", 3, 0.5) for at in range(1, 9)]})
    manifest = json.loads((results.folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in manifest["runs"]:
        entry["interval_ns"] = 1e-9
    (results.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    again = load(results.folder)
    comparison = compare(again)
    assert over_time(again, comparison, comparison.panels[0]) is None
