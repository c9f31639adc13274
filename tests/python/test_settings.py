"""Sweeps of several keys: charts, few lines, CSV; and statistics that cannot be given leave the table standing."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
from typing import TYPE_CHECKING, Any

import fixtures
import polars as pl
import pytest
from rich.console import Console
from test_report import specs
from typer.testing import CliRunner

import anabranch
from anabranch import Results, load, stats
from anabranch.cli import app
from anabranch.results import naming, paired, settings
from anabranch.results.comparison import compare, summarise
from anabranch.results.findings import findings
from anabranch.results.notes import notes
from anabranch.showing import report, table
from anabranch.showing.report import along
from anabranch.showing.report.charts import Charts

if TYPE_CHECKING:
    from pathlib import Path

TWO: dict[str, list[Any]] = {
    "buffer": ["64KB", "256KB", "1MB"],
    "load": [0.2, 0.4, 0.6, 0.8],
    "transport.name": ["scdp", "ndp"],
}


def swept(folder: Path, sweep: dict[str, list[Any]], *, seeds: tuple[int, ...] = (1, 2), sessions: int = 30) -> Results:
    fixture = fixtures.Fixture(sweep=sweep, seeds=seeds, sessions=sessions, background=0)
    return load(fixtures.write(folder, fixture))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A sweep of two keys, for tests that only read it."""
    return swept(tmp_path_factory.mktemp("two") / "r", TWO)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same with a third of the settings, each of which is drawn in a report."""
    return swept(tmp_path_factory.mktemp("few") / "r", {key: values[-2:] for key, values in TWO.items()})


def printed(results: Results) -> str:
    console = Console(width=200, file=io.StringIO(), no_color=True)
    console.print(table.render(results))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def sections(results: Results) -> list[along.Section]:
    comparison = compare(results)
    frame = stats.fct_table(results, by=[comparison.series, *comparison.panel_keys])
    return along.sections(Charts(results, comparison), frame, summarise(results, comparison))


@pytest.mark.usefixtures("checked_charts")
def test_two_keys_make_a_family_of_curves(two: Results) -> None:
    found = sections(two)
    first = found[0]
    assert (first.heading, first.open) == ("p99 slowdown, all sizes", True)
    assert [chart.heading for chart in first.charts] == ["buffer = 64KB", "buffer = 256KB", "buffer = 1MB"]
    assert {one.heading.partition(",")[0] for one in found} == {"p99 slowdown", "p99 FCT"}
    # One vertical axis, and ticks at what was swept.
    layers = [chart.spec["layer"][0]["encoding"] for chart in first.charts]
    assert len({json.dumps(layer["y"]["scale"]) for layer in layers}) == 1
    assert layers[0]["x"]["axis"]["values"] == [0.2, 0.4, 0.6, 0.8]
    text = report.html(two)
    assert "Along load and buffer" in text or "Along buffer and load" in text
    assert text.count('<input type="radio" name="view"') == 0, "24 runs are chosen from a list"
    assert text.count("<option ") == 24


@pytest.mark.usefixtures("checked_charts")
@pytest.mark.parametrize(
    ("sweep", "maps"),
    [
        ({"k": list(range(9)), "load": [n / 10 for n in range(1, 8)], "transport.name": ["scdp", "ndp"]}, 2),
        ({"a.x": list(range(7)), "b.x": list(range(8)), "rto": ["1ms"]}, 7),
        ({"k": [1, 2, 3], "n": list(range(7)), "m": [1, 2, 3], "transport.name": ["scdp", "ndp"]}, 6),
    ],
)
def test_more_values_make_heat_maps(sweep: dict[str, list[Any]], maps: int, tmp_path: Path) -> None:
    results = swept(tmp_path / "r", sweep, seeds=(1,), sessions=4)
    found = sections(results)
    if "b.x" in sweep:  # one transport: the key with the fewest values is compared, the other makes curves
        assert compare(results).names == {"a.x": "a.x", "b.x": "b.x", "rto": "rto", "transport": "transport"}
        assert found
        return
    slowdown = next(one for one in found if one.heading == "p99 slowdown, all sizes")
    assert len(slowdown.charts) == maps
    scales = {json.dumps(chart.spec["layer"][0]["encoding"]["color"]["scale"]) for chart in slowdown.charts}
    assert len(scales) == 1, "one scale of colours"
    assert found[0].heading == "Best in p99 slowdown, all sizes"


@pytest.mark.usefixtures("checked_charts")
def test_keys_that_vary_together_are_one_axis(tmp_path: Path) -> None:
    results = swept(tmp_path / "r", {"k": [1, 2, 3], "transport.name": ["scdp", "ndp"]})
    manifest = json.loads((results.folder / "manifest.json").read_text())
    for run in manifest["runs"]:
        run["point"]["also"] = 10 * run["point"]["k"]
    (results.folder / "manifest.json").write_text(json.dumps(manifest))
    again = load(results.folder)
    assert compare(again).panel_keys == ("k", "also")
    assert [axis.key for axis in along.axes(compare(again))] == ["k"]


def test_many_settings_print_few_lines_and_make_a_small_page(tmp_path: Path) -> None:
    sweep: dict[str, list[Any]] = {
        "buffer": [f"{n} packets" for n in range(7)],
        "load": [n / 20 for n in range(1, 7)],
        "transport.name": ["scdp", "ndp"],
    }
    results = swept(tmp_path / "r", sweep, seeds=(1,), sessions=6)
    shown = printed(results)
    assert len(shown.splitlines()) < 80
    assert "Over 42 settings" in shown
    assert "--csv FILE" in shown
    text = report.html(results)
    assert len(text.encode()) < 2_500_000
    assert "The first 8 of 42 settings" in text
    assert len(re.findall(r"<tr[ >]", text)) < 900


def test_nine_settings_are_listed(tmp_path: Path) -> None:
    results = swept(tmp_path / "r", {"n": [1, 2, 3], "load": [0.2, 0.4, 0.6], "transport.name": ["scdp", "ndp"]})
    shown = printed(results)
    comparison = compare(results)
    frame = stats.fct_table(results, by=["transport", "n", "load"]).filter(pl.col("bucket") == "all")
    row = frame.filter(pl.col("n") == 2, pl.col("load") == 0.4, pl.col("transport") == "ndp").row(0, named=True)
    line = next(line for line in shown.splitlines() if re.match(r"\s*2\s+0\.4\s", line))
    assert f"{row['slowdown_p99']:.3g}"[:4] in line
    tallies = settings.tallies(summarise(results, comparison), comparison)
    for _, own in itertools.groupby(tallies, key=lambda one: (one.group, one.metric.column)):
        assert sum(tally.best for tally in own) == 9


@pytest.mark.usefixtures("checked_charts")
def test_one_key_has_curves_of_slowdown_too(swept: Results) -> None:
    headings = [(one.heading, one.open) for one in sections(swept)]
    assert headings == [("p99 FCT", True), ("p99 slowdown", True)]


def test_findings_name_a_key_once_and_short(tmp_path: Path) -> None:
    key = "workload.web.arrivals.load"
    results = swept(tmp_path / "r", {key: [0.1, 0.5, 0.9], "transport.name": ["scdp", "newreno"]}, sessions=300)
    assert all(key not in sentence for sentence in findings(results))
    comparison = compare(results)
    assert comparison.words(comparison.panels[0]) == "load 0.1"
    assert comparison.title(comparison.panels[0]) == "load = 0.1"


@pytest.mark.parametrize("kind", ["statistics", "layers", "runs", "flows", "links"])
def test_csv_is_the_table(kind: str, few: Results, tmp_path: Path) -> None:
    file = tmp_path / "new" / "out.csv"
    done = CliRunner().invoke(app, ["report", str(few.folder), "--csv", str(file), "--table", kind])
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    frame = pl.read_csv(file, infer_schema_length=None)
    if kind == "statistics":
        whole = stats.fct_table(few)
        assert frame.height == whole.height
        assert frame["fct_p99_ns"].to_list() == pytest.approx(whole["fct_p99_ns"].to_list())
        assert frame["load"].unique().sort().to_list() == TWO["load"][-2:]
    else:
        expected = {"layers": stats.layer_table(few), "runs": few.runs}.get(kind)
        assert frame.height == (few.collect(kind) if expected is None else expected).height


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--table", "runs"], "--table runs: it says which table --csv writes"),
        (["--csv", "x.csv", "--json"], "--csv and --json"),
        (["--csv", "{folder}/manifest.json"], "belongs to the input"),
        (["--csv", "{folder}/runs/p000-s1/flows.parquet"], "belongs to the input"),
        (["--csv", "-"], "/dev/stdout"),
        (["--csv", "{folder}"], "is a folder"),
        (["--csv", "x.csv", "--table", "series"], "the table series is empty"),
        (["--show", "leaf7-spine9"], "no link 'leaf7-spine9'"),
        (["--show", "99999"], "nothing was measured of sessions"),
    ],
)
def test_what_a_report_is_not_made_of_is_refused(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fixture = fixtures.Fixture(seeds=(1,), sessions=10, series="--show" in words, sweep={"transport.name": ["ndp"]})
    folder = fixtures.write(tmp_path / "r", fixture)
    manifest = folder / "manifest.json"
    if "--show" in words:
        manifest.write_text(manifest.read_text().replace('"wall_s"', '"interval_ns": 1000000.0, "wall_s"'))
    before = manifest.read_bytes()
    done = CliRunner().invoke(app, ["report", str(folder), *(word.format(folder=folder) for word in words)])
    assert done.exit_code == 2
    assert message in done.stderr
    assert "hint: " in done.stderr or "nothing was written" in done.stderr
    assert manifest.read_bytes() == before
    assert not (tmp_path / "x.csv").exists()


# What a statistic cannot give.


def test_seeds_that_change_nothing_under_a_sweep_over_tables(tmp_path: Path) -> None:
    file = tmp_path / "tables.toml"
    file.write_text(
        'repeat = 2\n[fabric]\ntopology = "star"\nhosts = 4\n[transport]\nname = "ndp"\n'
        '[[workload]]\nname = "w"\nsizes = { law = "fixed", size = "64KB" }\nplacement = { pattern = "permutation" }\n'
        '[sweep]\n"workload.w.placement" = [{ pattern = "permutation" }, { pattern = "stride", by = 1 }]\n'
        '"workload.w.sizes" = [{ law = "fixed", size = "64KB" }, { law = "fixed", size = "8KB" }]\n'
    )
    results = anabranch.run(file, out=tmp_path / "out")
    shown = printed(results)
    assert "no interval" in shown
    assert "(1 run)" in shown
    assert any("identical fingerprints" in note and "stride, by = 1" in note for note in notes(results))
    text = report.html(results)
    assert "no interval" in text
    assert "{&#39;pattern" not in text, "no dictionaries of Python"


@pytest.mark.parametrize("count", [2, 3, 40, 400])
@pytest.mark.parametrize("spread", [1e-9, 0.5, 1e3, 1e12])
def test_few_seeds_and_many_settings_leave_the_table_standing(count: int, spread: float) -> None:
    level = paired.level(count)
    found = paired.ratio({1: (1.0, "a"), 2: (spread, "b")}, {1: (1.0, "c"), 2: (2.0, "d")}, confidence=level)
    assert found is not None
    assert found.text
    assert not math.isnan(found.value)
    if found.high is not None and math.isinf(found.high):
        assert "no interval" in found.text
        assert not found.significant


@pytest.mark.parametrize("goodput", [0.0, None])
def test_numbers_that_are_none_are_null(goodput: float | None, tmp_path: Path) -> None:
    fixture = fixtures.Fixture(sweep={"transport.name": ["ndp", "scdp"]}, seeds=(1, 2), sessions=5, background=3)
    folder = fixtures.write(tmp_path / "r", fixture)
    for file in folder.glob("runs/*/flows.parquet"):
        frame = pl.read_parquet(file)
        frame.with_columns(pl.lit(goodput, pl.Float64).alias("goodput_bps")).write_parquet(file)
    results = load(folder)
    assert json.dumps(table.as_json(results), allow_nan=False)
    assert "nan" not in printed(results)
    assert "Background" not in " ".join(findings(results))
    assert specs(report.html(results))


# Sentences and marks.


def test_pairs_of_seeds_decide_in_sentences_and_tables_alike(tmp_path: Path) -> None:
    """Intervals that overlap although one is 3 % longer under every seed."""
    fixture = fixtures.Fixture(sweep={"transport.name": ["ndp", "scdp"]}, seeds=(1, 2, 3, 4), sessions=20, background=0)
    folder = fixtures.write(tmp_path / "r", fixture)
    for run in load(folder).manifest.runs:
        file = folder / "runs" / run.run / "flows.parquet"
        time = 1e6 * run.seed * (1.03 + run.seed / 1e4 if run.transport == "ndp" else 1.0)
        columns = {"size_bytes": 5_000, "fct_ns": time, "end_ns": time}
        frame = pl.read_parquet(file).with_columns(**{name: pl.lit(value) for name, value in columns.items()})
        frame.select(pl.col(name).cast(kind) for name, kind in pl.read_parquet_schema(file).items()).write_parquet(file)
    results = load(folder)
    (sentence,) = findings(results)
    assert re.search(r"NDP takes 1\.03 \(1\.03 to 1\.03\) times", sentence), sentence
    (panel,) = summarise(results, compare(results))
    cells = {row.metric.column: row.cells for group in panel.groups for row in group.rows}["fct_p99_ns"]
    first, second = cells
    assert first.ci is not None
    assert second.ci is not None
    assert first.value is not None
    assert second.value is not None
    assert abs(first.value - second.value) < first.ci + second.ci, "the intervals overlap"
    assert (second.best, first.tied) == (True, False)


def test_what_is_not_significant_above_is_marked_below(tmp_path: Path) -> None:
    """For every setting and rival of synthetic results: told as a difference if and only if there is no tilde."""
    results = swept(
        tmp_path / "r", {"load": [0.1, 0.5, 0.9], "transport.name": ["scdp", "ndp", "newreno"]}, seeds=(1, 2, 3)
    )
    comparison = compare(results)
    by_seed = stats.fct_by_seed(results, by=["transport", "load"])
    for panel in summarise(results, comparison):
        for group in panel.groups:
            bucket = next(one.name for one in stats.BUCKETS if one.label == group.name)
            row = next(row for row in group.rows if row.metric.column == "fct_p99_ns")
            best = next(place for place, cell in enumerate(row.cells) if cell.best)
            for place, cell in enumerate(row.cells):
                if place == best:
                    continue
                sides = []
                for value in (comparison.values[place], comparison.values[best]):
                    own = by_seed.filter(
                        pl.col("bucket") == bucket, pl.col("load") == panel.point["load"], pl.col("transport") == value
                    )
                    sides.append({r["seed"]: (r["fct_p99_ns"], r["sample"]) for r in own.to_dicts()})
                found = paired.ratio(*sides, confidence=paired.level(3))
                assert found is not None
                assert cell.tied is not found.significant


def test_flows_that_met_a_timeout_are_a_row(tmp_path: Path) -> None:
    fixture = fixtures.Fixture(sweep={"transport.name": ["ndp", "newreno"]}, seeds=(1, 2), sessions=20, background=2)
    folder = fixtures.write(tmp_path / "r", fixture)
    assert "met a timeout" not in printed(load(folder)), "a row of zeros says nothing"
    for run in load(folder).manifest.runs:
        if run.transport == "newreno":
            file = folder / "runs" / run.run / "flows.parquet"
            frame = pl.read_parquet(file)
            # Two timeouts of one flow are one flow that met a timeout.
            hit = pl.when(pl.col("session") < 5 * run.seed).then(2).otherwise(0).cast(pl.UInt64)
            frame.with_columns(hit.alias("timeouts")).write_parquet(file)
    results = load(folder)
    shown = stats.fct_table(results).filter(pl.col("bucket") == "all", pl.col("transport") == "newreno")
    assert shown["timeout_share"].to_list() == [pytest.approx((5 / 20 + 10 / 20) / 2)]
    assert re.search(r"met a timeout +% .*37\.5", printed(results))
    assert "met a timeout" in report.html(results)


def test_names_stay_apart_and_short() -> None:
    assert naming.keys(["a.b.c", "x.b.c", "c"]) == {"a.b.c": "a.b.c", "x.b.c": "x.b.c", "c": "c"}
    long = naming.values(['{"hosts": "' + "1" * 90 + 'a"}', '{"hosts": "' + "1" * 90 + 'b"}'])
    assert len(set(long.values())) == 2
    assert all(len(text) < 60 for text in long.values())
    assert list(naming.values(['{"a": 1}', "off"]).values()) == ["a = 1", "off"]
