"""What was measured over time: the same grid for every row, zero where nothing was written, the largest chosen."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING

import fixtures
import numpy as np
import polars as pl
import pytest

from anabranch import Results, load
from anabranch.errors import StatisticsError
from anabranch.results import schema
from anabranch.results.comparison import compare
from anabranch.showing import report
from anabranch.showing.report.multiples import multiples, with_samples
from anabranch.showing.report.over_time import Choice, OverTime, Strip, over_time

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
    assert curves[2] == {"NDP": [0, 7, 0, 0], "SCDP": [0, 0, 0, 0]}


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


def scattered(folder: Path, *, count: int = 6000, scenario: str = fixtures.SCENARIO) -> Results:
    """Two links of which one has a spike of a single sample, over many samples."""
    rows = [(float(at), "queue_packets", 3, 10.0) for at in range(1, count + 1)]
    rows += [(1.0, "queue_packets", 9, 0.5)]
    rows += [(float(at), "queue_packets", 7, 80.0 if at == 3001 else 1.0) for at in range(1, count + 1)]
    return measured(folder, {"ndp": rows}, scenario=scenario)


def unpacked(text: str, most: float) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u2") * most / 0xFFFF


def test_the_page_keeps_every_sample(tmp_path: Path) -> None:
    """6000 samples are drawn as 240 points, and are all there for a reader who zooms in."""
    results = scattered(tmp_path / "r")
    value = found(results)
    assert (value.step, value.interval, value.count, value.times.size) == (1e6, 1e6, 6000, 240)
    spec = with_samples(value, multiples(value, list(compare(results).looks.values()), {}))
    strip = next(strip for strip in spec["usermeta"]["strips"] if strip["who"] == 7)
    ((label, most, text),) = strip["curves"]
    samples = unpacked(text, most)
    assert (label, samples.size, int(samples.argmax()), float(samples.max())) == ("NDP", 6000, 3000, 80.0)
    assert samples[2999] == pytest.approx(1, rel=1e-3)
    assert (spec["usermeta"]["step"], spec["usermeta"]["interval"]) == (1e6, 1e6)


def test_where_there_is_no_room_for_all_the_page_says_how_long_a_point_is(tmp_path: Path) -> None:
    results = scattered(tmp_path / "r")
    comparison = compare(results)
    value = over_time(results, comparison, comparison.panels[0], most=6000)
    assert value is not None
    assert (value.step, value.interval) == (3e6, 1e6)
    assert value.count == 2000
    (seven,) = [strip for strip in value.strips if strip.who == 7]
    assert seven.curves["NDP"].max() == 80, "of a queue the largest sample counts"


def test_a_part_of_the_run_shows_finer_samples(tmp_path: Path) -> None:
    results = scattered(tmp_path / "r")
    comparison = compare(results)
    value = over_time(results, comparison, comparison.panels[0], Choice(begin=2990e6, end=3010e6))
    assert value is not None
    assert value.times.tolist() == [n * 1e6 for n in range(2991, 3011)]
    seven = next(strip for strip in value.strips if strip.who == 7)
    assert seven.curves["NDP"].tolist() == [80.0 if n == 3001 else 1.0 for n in range(2991, 3011)]
    with pytest.raises(StatisticsError, match="no sample in that part"):
        over_time(results, comparison, comparison.panels[0], Choice(begin=7000e6))


def test_links_and_sessions_can_be_chosen(tmp_path: Path) -> None:
    rows = [(1.0, "queue_packets", link, 100.0 - link) for link in range(20)]
    rows += [(1.0, "goodput_bps", session, 1e9 - session) for session in range(9)]
    results = measured(tmp_path / "r", {"ndp": rows})
    comparison, name = compare(results), results.fabric.link_name
    both, one = name(14).replace(" → ", "-"), name(17)

    def titles(choice: Choice) -> list[str]:
        value = over_time(results, comparison, comparison.panels[0], choice)
        assert value is not None
        return [strip.title for strip in value.rows if strip.of]

    assert titles(Choice(links=(both, one)))[2:] == [f"Queue, {name(n)}" for n in (14, 15, 17)]
    assert titles(Choice(sessions=(8, 2)))[0].startswith("Goodput, session 8,")
    for choice, message in ((Choice(links=("a-b",)), "no link 'a-b'"), (Choice(sessions=(9999,)), "no session 9999")):
        with pytest.raises(StatisticsError, match=message):
            titles(choice)


def test_the_page_offers_others(tmp_path: Path) -> None:
    rows = [(1.0, "queue_packets", link, 100.0 - link) for link in range(40)]
    results = measured(tmp_path / "r", {"ndp": rows})
    comparison = compare(results)
    value = over_time(results, comparison, comparison.panels[0], offered=24)
    assert value is not None
    assert len(value.rows) == 1 + 2
    assert len(value.names) == 2 + 24


@pytest.mark.parametrize(
    ("failure", "links"),
    [
        ('link = "agg0.0-core0"', ["agg0.0 → core0", "core0 → agg0.0"]),
        ('link = "core0 - agg0.0"', ["agg0.0 → core0", "core0 → agg0.0"]),
        ('switch = "core3"', ["agg0.1 → core3", "core3 → agg0.1"]),
    ],
)
def test_links_that_a_failure_touched_are_rows(failure: str, links: list[str], tmp_path: Path) -> None:
    scenario = fixtures.SCENARIO + f'[[failure]]\nat = "2ms"\n{failure}\naction = "cut"\n'
    rows = [(float(at), "utilisation", link, 0.5) for at in range(1, 9) for link in (3, 5)]
    value = found(measured(tmp_path / "r", {"ndp": rows}, scenario=scenario))
    titles = [strip.title for strip in value.rows]
    assert len(titles) == 1 + 2 + 2
    assert titles[3:] == [f"Utilisation, {link}" for link in links]


def test_sessions_that_lost_goodput_at_a_failure_are_rows(tmp_path: Path) -> None:
    scenario = fixtures.SCENARIO + '[[failure]]\nat = "50ms"\nlink = "agg0.0-core0"\naction = "cut"\n'
    # Session 4 falls silent at the failure and goes on later; 5 ends there; 1 to 3 do not care.
    rows = [(float(at), "goodput_bps", session, 9e8) for at in range(1, 201) for session in (1, 2, 3)]
    rows += [(float(at), "goodput_bps", 4, 1e8) for at in (*range(1, 51), *range(90, 201))]
    rows += [(float(at), "goodput_bps", 5, 1e8) for at in range(1, 51)]
    folder = tmp_path / "r"
    measured(folder, {"ndp": rows}, scenario=scenario)
    (file,) = folder.glob("runs/*/flows.parquet")
    ends = pl.when(pl.col("session") == 5).then(50e6).otherwise(200e6)
    pl.read_parquet(file).with_columns(ends.alias("end_ns")).write_parquet(file)
    shown = [strip.who for strip in found(load(folder)).rows if strip.of == "session"]
    assert shown == [1, 2, 4]


def test_memory_does_not_depend_on_the_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.showing.report.over_time.MOST_DENSE", 9000)
    value = found(scattered(tmp_path / "r"))
    assert (value.step, value.count) == (2e6, 3000)
    seven = next(strip for strip in value.strips if strip.who == 7)
    assert (int(seven.curves["NDP"].argmax()), float(seven.curves["NDP"].max())) == (1500, 80.0)
