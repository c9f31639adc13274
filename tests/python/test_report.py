"""The report: what is in the file, and that hostile text in a scenario stays text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import altair as alt
import fixtures
import numpy as np
import polars as pl
import pytest
from altair.utils import schemapi
from hypothesis import given
from hypothesis import strategies as st

from anabranch import Results, load
from anabranch.results import schema
from anabranch.results.comparison import compare
from anabranch.showing import axes, report
from anabranch.showing.curves import cdf, ranks, thinned
from anabranch.showing.report.controlled import thinned as thinned_samples
from anabranch.showing.report.controlled import timelines
from anabranch.showing.report.drawing import draw
from anabranch.showing.report.timeline import envelope

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.floats(min_value=1e-3, max_value=1e9), min_size=1, max_size=3000), st.integers(20, 400))
def test_a_thinned_distribution_lies_on_the_full_one(values: list[float], points: int) -> None:
    x, y = cdf(np.array(values), points=points)
    ordered = np.sort(values)
    assert x.size <= points
    assert (x[0], x[-1], y[-1]) == (ordered[0], ordered[-1], 1.0)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) > 0).all()
    assert np.array_equal(ordered[np.rint(y * len(values)).astype(int) - 1], x)


@given(st.integers(min_value=0, max_value=10**7))
def test_thinning_keeps_the_ends_and_the_tail(n: int) -> None:
    places = thinned(n)
    assert places.size <= 300
    assert (np.diff(places) > 0).all()
    if n:
        assert (places[0], places[-1]) == (0, n - 1)
    # The greatest values are all there, and the last hundredth is a curve, not a corner.
    assert (places >= n - 5).sum() == min(n, 5)
    if n > 10_000:
        assert (places > 0.99 * n).sum() > 40


def test_unfinished_flows_leave_the_curve_short_of_one() -> None:
    _, y = cdf(np.array([1.0, 2.0]), total=8)
    assert y.tolist() == [1 / 8, 2 / 8]


@given(st.lists(st.floats(min_value=0, max_value=1e9), min_size=1, max_size=2000))
def test_ranks_ascend(values: list[float]) -> None:
    x, y = ranks(np.array(values))
    assert x.size <= 300
    assert ((x > 0) & (x < 1)).all()
    assert (np.diff(y) >= 0).all()


def specs(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', text, re.DOTALL)
    assert found
    data: list[dict[str, Any]] = json.loads(found.group(1))
    return data


def test_charts_are_checked_where_a_test_asks_for_it(request: pytest.FixtureRequest) -> None:
    wrong: Any = {"stack": "never"}
    with axes.unchecked():
        assert axes.spec_of(alt.Chart().mark_point().encode(alt.X("a:Q", **wrong)))["encoding"]
    request.getfixturevalue("checked_charts")
    with pytest.raises(schemapi.SchemaValidationError, match="never"), axes.unchecked():
        axes.spec_of(alt.Chart().mark_point().encode(alt.X("a:Q", **wrong)))


def test_nobody_copies_the_rows_of_a_chart() -> None:
    rows = [{"a": 1}]
    base = alt.Chart(axes.inline(rows)).encode(x="a:Q")
    chart = alt.layer(alt.layer(base.mark_point(), base.mark_line()), alt.Chart(axes.inline([{"a": 2}])).mark_rule())
    found = list(axes.spec_of(chart.properties(height=9))["datasets"].values())
    assert found == [rows, [{"a": 2}]]
    assert found[0] is rows


def test_a_page_leaves_the_switch_as_it_was_whoever_is_done_first() -> None:
    pages = [axes.unchecked() for _ in range(2)]
    for one in pages:
        one.__enter__()
    for one in pages:
        assert not schemapi.DEBUG_MODE
        one.__exit__(None, None, None)
    assert schemapi.DEBUG_MODE


@pytest.mark.usefixtures("checked_charts")
def test_it_holds_everything(results: Results) -> None:
    text = report.html(results)
    assert len(text.encode()) < 3_000_000
    for words in (
        "Web search on a fat-tree",
        "How do four transports compare on short-flow tails?",
        "Make it again",
        "anabranch run fixture.toml --out out/fixture",
        "topology = &#34;fat-tree&#34;",
        "law = poisson, load = 0.6",
        "Links by layer",
        "p003-s3",
    ):
        assert words in text
    for run in results.manifest.runs:
        assert run.fingerprint in text
    # CDFs of five buckets with their tails, two slowdown charts and the median by size, two rank plots.
    assert len(specs(text)) == 2 * 5 + 2 + 1 + 2


@pytest.mark.usefixtures("checked_charts")
def test_what_controllers_set_is_a_timeline(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(background=0, seeds=(1, 2)))
    for place, home in enumerate(sorted((folder / "runs").iterdir())):
        # Of the second seed other numbers, which are not shown.
        value = [40.0, 38.0, 30.0] if home.name.endswith("-s1") else [900.0, 900.0, 900.0]
        rows = {"time_ns": [1e6, 1e6, 2e6], "metric": "set_marking_threshold_packets", "id": [3, 5, 3], "value": value}
        frame = pl.DataFrame({"run": home.name, **rows})
        if place % 2 == 0 or "s2" in home.name:
            frame.select(pl.col(n).cast(t) for n, t in schema.SERIES.items()).write_parquet(home / "series.parquet")
    text = report.html(load(folder))
    assert "What controllers set" in text
    timeline = specs(text)[-1]
    (rows,) = timeline["datasets"].values()
    found = [row for row in rows if row["series"] == "SCDP"]
    assert [(row["x"], row["low"], row["y"], row["high"]) for row in found] == [
        (1, 38, 39, 40),
        (2, 30, 34, 38),
        (1500, 30, 34, 38),
    ]
    assert "What controllers set" not in report.html(load(fixtures.write(tmp_path / "none", fixtures.Fixture())))


def controlled(folder: Path) -> Results:
    """Results of one run in which two links were controlled, sampled each millisecond for 8 ms."""
    fixtures.write(folder, fixtures.Fixture(background=0, seeds=(1,), sweep={"transport.name": ["dctcp"]}))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (entry,) = manifest["runs"]
    entry["interval_ns"] = 1e6
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    rows: list[tuple[float, str, int, float]] = [
        (at * 1e6, "queue_packets", 3, value) for at, value in ((2, 4.0), (3, 30.0), (8, 2.0))
    ]
    rows += [(2e6, "queue_packets", 5, 40.0), (1e6, "queue_packets", 7, 999.0)]
    rows += [(at * 1e6, "utilisation", 3, 0.5) for at in range(1, 9)]
    rows += [(at, "set_marking_threshold_packets", 3, value) for at, value in ((1.5e6, 20.0), (4.5e6, 3.0))]
    rows += [(2.5e6, "set_path_weight", 5, 0.0), (2.5e6, "set_rate_bps", 4, 2e9), (9e5, "set_admission", 0, 1.0)]
    frame = pl.DataFrame(rows, schema=["time_ns", "metric", "id", "value"], orient="row")
    frame = frame.with_columns(pl.lit(entry["run"]).alias("run"))
    series = frame.select(pl.col(n).cast(t) for n, t in schema.SERIES.items())
    series.write_parquet(folder / "runs" / entry["run"] / "series.parquet")
    return load(folder)


@pytest.mark.usefixtures("checked_charts")
def test_decisions_are_drawn_over_queue_and_throughput(tmp_path: Path) -> None:
    results = controlled(tmp_path / "r")
    decisions = results.collect("series").filter(pl.col("metric").str.starts_with("set_"))
    five, three = timelines(results, decisions)
    nodes, link = results.fabric.nodes, results.fabric.links[1]
    assert three.link == f"{nodes[link.b].name} → {nodes[link.a].name}"
    # A sample without a row is an empty queue.
    milliseconds = [(time / 1e6, value) for time, value in three.queue]
    assert milliseconds == [(1, 0), (2, 4), (3, 30), (4, 0), (5, 0), (6, 0), (7, 0), (8, 2)]
    assert three.steps == [("marking threshold", 1.5e6, 20), ("marking threshold", 4.5e6, 3)]
    assert {value for _, value in three.throughput} == {0.5}
    assert (five.marks, five.steps, max(value for _, value in five.queue)) == ([(2.5e6, "weight 0")], [], 40)
    text = report.html(results)
    assert f"<strong>{three.link}</strong>" in text or three.link in text
    drawn = next(spec for spec in specs(text) if "marking threshold" in json.dumps(spec) and "vconcat" not in spec)
    assert drawn["resolve"] == {"scale": {"y": "independent"}}
    steps = [rows for rows in drawn["datasets"].values() if rows[0]["name"] == "marking threshold"]
    # In force until the end.
    assert [(row["x"], row["y"]) for row in steps[0]] == [(1.5, 20), (4.5, 3), (8, 3)]
    assert "weight 0" in json.dumps(specs(text))


def test_without_samples_there_is_nothing_to_draw_decisions_over(tmp_path: Path) -> None:
    results = controlled(tmp_path / "r")
    decisions = results.collect("series").filter(pl.col("metric").str.starts_with("set_"))
    (home,) = (results.folder / "runs").iterdir()
    decisions.select(schema.SERIES.keys()).write_parquet(home / "series.parquet")
    bare = load(results.folder)
    assert timelines(bare, decisions) == []
    assert timelines(bare, decisions.filter(pl.col("metric") == "set_admission")) == []
    assert "over queue and throughput" not in report.html(bare)


@given(st.lists(st.floats(0, 9), max_size=900))
def test_thinning_samples_keeps_the_peak_and_the_end(values: list[float]) -> None:
    found = thinned_samples(np.array(values), 2.0, np.max)
    assert len(found) == min(len(values), 240)
    if values:
        assert found[-1][0] == 2.0 * len(values)
        assert max(value for _, value in found) == max(values)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 9), st.integers(1, 50)), min_size=1, max_size=900))
def test_an_envelope_ends_with_the_last_values(steps: list[tuple[int, int, int]]) -> None:
    steps.sort(key=lambda step: step[0])
    found = envelope(*map(list, zip(*steps, strict=True)), moments=50)
    last = list({port: value for _, port, value in steps}.values())
    assert len(found) <= 50
    assert found[-1] == (steps[-1][0], min(last), np.median(last), max(last))
    assert [time for time, *_ in found] == sorted({time for time, *_ in found})


def test_curves_are_thin(results: Results) -> None:
    for spec in specs(report.html(results)):
        for layer in spec["layer"]:
            per_series: dict[str, int] = {}
            for row in layer.get("data", spec.get("data", {})).get("values", []):
                per_series[row["series"]] = per_series.get(row["series"], 0) + 1
            assert all(count <= 500 for count in per_series.values())


def test_stalled_runs_are_loud(stalled: Results) -> None:
    text = report.html(stalled)
    assert "Not every run completed" in text
    assert "p003-s2: flows 3, 13 wait for a pull" in text
    assert "STALLED" in text


def test_nothing_outside_is_referred_to(results: Results) -> None:
    text = report.html(results)
    page = re.sub(r'<script type="module">.*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!data:)", page)
    assert "http" not in page.replace("http-equiv", "")
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    scenario = f'# Question: {attack}\ndescription = "{attack}"\n'
    results = load(fixtures.write(tmp_path / "r", fixtures.Fixture(sweep={"x": [attack, "b"]}, scenario=scenario)))
    text = report.html(results)
    assert text.count("</script>") == 4
    assert "<script>alert" not in text
    assert "<img" not in re.sub(r'<script type="module">.*?</script>', "", text, flags=re.DOTALL)


def test_a_scenario_that_is_not_toml_is_shown_as_text(tmp_path: Path) -> None:
    results = load(fixtures.write(tmp_path / "r", fixtures.Fixture(scenario="{ not toml", seeds=(1,))))
    assert "{ not toml" in report.html(results)


@pytest.mark.usefixtures("checked_charts")
def test_a_sweep_has_panels_and_charts_along_it(swept: Results) -> None:
    text = report.html(swept)
    assert text.count('<details class="panel"') == 3
    assert "Along load" in text
    assert len(specs(text)) == 3 * 15 + 2 * 5, "p99 FCT and p99 slowdown of five buckets"


def test_the_drawing_has_every_link_and_host(results: Results) -> None:
    drawing = draw(results, compare(results))
    assert drawing
    assert drawing.svg.count("<path ") == 48
    assert drawing.svg.count("<circle ") == 16
    assert drawing.svg.count("<rect ") == 20
    assert [look for look, _ in drawing.views] == ["SCDP", "NDP", "DCTCP", "TCP NewReno"]
    for view in drawing.data["views"]:
        assert all(len(numbers) == 96 for numbers in view.values())
    for steps in drawing.data["steps"].values():
        assert steps == sorted(steps)
        assert len(steps) == 7
    # Every link of the fixture points from its lower end to its higher one.
    assert set(drawing.data["up"]) == {1}


def test_numbers_of_another_fabric_are_not_drawn(results: Results, tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1,)))
    (folder / "fabric.json").write_text(json.dumps(fixtures.fat_tree(6)))
    other = load(folder)
    assert draw(other, compare(other)) is None
    assert "The fabric</h2>" not in report.html(other)
    assert "The fabric</h2>" in report.html(results)


def test_links_between_equals_are_arcs(tmp_path: Path) -> None:
    folder = fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1,)))
    fabric = fixtures.fat_tree(4)
    for node in fabric["nodes"]:
        node["level"] = "edge" if node["level"] != "host" else "host"
    (folder / "fabric.json").write_text(json.dumps(fabric))
    results = load(folder)
    drawing = draw(results, compare(results))
    assert drawing
    assert drawing.svg.count("Q") == 32  # all but the 16 links to hosts


@pytest.mark.parametrize("background", [0, 4])
def test_experiments_without_some_flows(tmp_path: Path, background: int) -> None:
    fixture = fixtures.Fixture(seeds=(1,), sessions=0 if background else 3, background=background)
    text = report.html(load(fixtures.write(tmp_path / "r", fixture)))
    assert ("background flows" in text) == bool(background)
