"""All transports beside each other: the quick size of every experiment, its measures, and the ranks."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli.main import app
from anabranch.errors import AnabranchError
from anabranch.reproduce import Experiment, measures, ranking, record, registry, runner, versions
from anabranch.reproduce.measures import Setting, Value
from anabranch.reproduce.model import Paper

EXPERIMENTS = registry.of_paper("rivals")
APART = {"udp", "front-back", "polyraptor"}
"""Transports that take no part; `paper.toml` says why."""
LOSSLESS = {one.name for one in anabranch.transports() if one.lossless}
TAKING_PART = {one.name for one in anabranch.transports()} - APART
BESIDE = {"p50 all", "p99 all", *ranking.OTHERS}


def taking_part(experiment: Experiment) -> set[str]:
    """The transports of an experiment: links cannot fail in a fabric with priority flow control."""
    return TAKING_PART - (LOSSLESS if "failure" in experiment.scenario else set())


def setting(**values: tuple[float, float | None]) -> Setting:
    return Setting("one", {name: {"p99 all": Value(*value)} for name, value in values.items()})


def test_transports_whose_intervals_overlap_share_a_rank() -> None:
    found = ranking.ranks(setting(a=(5.0, 0.5), b=(2.0, 0.3), c=(2.5, 0.3), d=(5.2, None)), "p99")
    assert list(found.items()) == [("b", (1, 2)), ("c", (1, 2)), ("a", (3, 4)), ("d", (3, 4))]


def test_a_wide_interval_gives_a_wide_rank_and_no_better_one() -> None:
    found = ranking.ranks(setting(a=(170.0, 1.0), b=(175.0, 1.0), noisy=(180.0, 12.0), c=(200.0, 1.0)), "p99")
    assert list(found.items()) == [("a", (1, 2)), ("b", (2, 3)), ("noisy", (1, 3)), ("c", (4, 4))]


def test_a_difference_below_one_percent_is_none() -> None:
    found = ranking.ranks(setting(a=(100.0, None), b=(100.9, None), c=(101.5, None)), "p99")
    assert found == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}


def test_more_goodput_is_better() -> None:
    of = Setting("one", {"a": {"goodput": Value(1e9, 1e8)}, "b": {"goodput": Value(2e9, 1e8)}})
    assert ranking.ranks(of, "goodput") == {"b": (1, 1), "a": (2, 2)}


def test_who_does_not_finish_comes_last() -> None:
    of = setting(a=(1.0, None), b=(9.0, 1.0), c=(2.0, None))
    of = Setting("one", {**of.transports, "a": {**of.transports["a"], "unfinished": Value(3.0, None)}})
    assert ranking.ranks(of, "p99") == {"c": (1, 1), "b": (2, 2), "a": (3, 3)}
    assert "did not finish: 3 flows" in ranking.table(
        Setting("one", {"ndp": of.transports["c"], "scdp": of.transports["a"]}), "p99"
    )


@pytest.mark.parametrize("name", ["dcqcn", "timely"])
def test_dcqcn_and_timely_have_the_constants_of_their_presets_at_100_gbps(name: str) -> None:
    folder = EXPERIMENTS[0].folder
    assert folder is not None
    paper = tomllib.loads((folder.parent / "paper.toml").read_text(encoding="utf-8"))
    given = tomllib.loads("\n".join(paper["common"]["100 Gbps"]))["transport"][name]
    (preset,) = (one for of in anabranch.transports() for one in of.presets if one.name == f"{name}-100g")
    # Packets are longer here, and each is measured.
    given.pop("segment", None)
    assert given == {key: preset.keys["transport"][name][key] for key in given}
    if name == "dcqcn":
        (switch,) = re.findall(r'\["dcqcn", (.*)\],', paper["common"]["100 Gbps switches"][0])
        assert tomllib.loads(f"switch = {switch}")["switch"]["red"] == preset.keys["switch"]["red"]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_every_transport_takes_part_with_what_it_was_made_for(experiment: Experiment) -> None:
    job = runner.prepare(experiment, Path(), quick=True)
    assert {run.transport for run in job.plan.runs} == taking_part(experiment)
    assert experiment.ranking is not None
    assert set(experiment.ranking.home) <= taking_part(experiment)
    for run in job.plan.runs:
        assert ("pfc" in run.point["switch"]) == (run.transport in LOSSLESS)
        # DCQCN's marks at 100 Gbps are those of HPCC's simulator; all others have what `auto` chooses.
        assert "queue" not in run.point["switch"] or run.transport == "dcqcn"
    # What does not fit a transport is said, and why it is left so.
    said = {remark.text.partition(":")[0] for run in job.plan.runs for remark in run.remarks}
    assert said <= ({"scdp"} if "decoder" in experiment.notes else set())


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quick size of all experiments."""
    folder = tmp_path_factory.mktemp("rivals")
    done = CliRunner().invoke(app, ["reproduce", "rivals", "--quick", "--threads", "1", "--out", str(folder)])
    assert done.exit_code == 0, done.output[-4000:]
    assert "rivals/incast, 8 senders: 1" in done.stdout
    return folder


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_every_transport_finishes_its_flows_and_has_every_measure(experiment: Experiment, out: Path) -> None:
    file = out / f"{experiment.name}-quick" / "record.json"
    made = record.read(file)
    assert made is not None
    now = versions.now(experiment, quick=True)
    assert now is not None
    assert (made.model, made.parts, made.incomplete) == (now.model, now.parts, 0)
    assert made.as_json() == json.loads(file.read_text())
    for one in measures.from_json(made.settings):
        assert set(one.transports) == taking_part(experiment)
        sizes = {name for own in one.transports.values() for name in own if name.startswith("p")}  # slowdowns, pauses
        for transport, own in one.transports.items():
            assert own.keys() >= BESIDE | sizes, f"{one.name}, {transport}"
            assert ranking.unfinished(own) == 0, f"{one.name}, {transport}"
            assert own["p99 all"].mean >= own["p50 all"].mean >= 1.0
            assert own["paused"].mean == 0 or transport in LOSSLESS


def test_the_page_has_every_setting_and_ranks_at_home_and_away(out: Path) -> None:
    records = {one.name: record.read(out / f"{one.name}-quick" / "record.json") for one in EXPERIMENTS}
    page = ranking.markdown(EXPERIMENTS, {name: made for name, made in records.items() if made}, {})
    table = page.partition("### Home and away")[2].partition("\n### ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(TAKING_PART)
    assert len(re.findall(r"^#### ", page, re.MULTILINE)) == sum(
        len(made.settings) for made in records.values() if made
    )
    index = (out / "index.html").read_text()
    assert all(f"<h3>{one.title}</h3>" in index for one in EXPERIMENTS)
    assert "<th>goodput (Gbps)</th>" in (out / "rivals/incast-quick/report.html").read_text()


ABOUT = 'title = "T"\nquestion = "Q?"\nsection = "S"\norder = 1\nquick = ["repeat=1"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "figure: the key is missing: expected figures, or a ranking"),
        ('[ranking]\nsetting = "one"\ncommon = ["fasst"]\n', "'fasst' is not among the 'common' of rivals"),
        ('[ranking]\nsetting = "{a:z}"\ncommon = ["fast"]\n', "'z' is no format of a number"),
        ('[ranking]\nsetting = "one"\ncommon = ["fast"]\nhome = ["npd"]\n', "'npd' is not among the transports"),
        ('[ranking]\nsetting = "one"\ncommon = ["fast"]\nby = "p95"\n', "expected one of 'p50', 'p99', 'goodput'"),
    ],
)
def test_what_does_not_fit_a_ranking_is_said(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(ABOUT + text)
    paper = Paper(order=1, short="R", reference="R", name="rivals", common={"fast": ('fabric.rate="100Gbps"',)})
    with pytest.raises(AnabranchError, match=re.escape(said)):
        registry.experiment(file, paper)


def test_common_settings_are_those_of_both_sizes_and_of_the_hash(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(ABOUT + '[ranking]\nsetting = "one"\ncommon = ["fast", "short"]\n')
    common = {"fast": ('fabric.rate="100Gbps"',), "short": ('fabric.delay="1us"',)}
    one = registry.experiment(file, Paper(order=1, short="R", reference="R", name="rivals", common=common))
    assert one.overrides(quick=False) == ('fabric.rate="100Gbps"', 'fabric.delay="1us"')
    assert one.overrides(quick=True) == (*one.overrides(quick=False), "repeat=1")
    without = replace(one, common=())
    assert record.fingerprint(one, "seed = 1", quick=False) != record.fingerprint(without, "seed = 1", quick=False)


def test_settings_of_one_name_are_an_error(out: Path) -> None:
    (one,) = registry.find(["rivals/incast"])
    assert one.ranking is not None
    results = anabranch.load(out / "rivals/incast-quick/results")
    with pytest.raises(AnabranchError, match="several settings are called 'an Incast'"):
        measures.measured(results, replace(one, ranking=replace(one.ranking, setting="an Incast")))


def test_slowdown_is_over_the_least_ideal_time_of_all_transports(out: Path) -> None:
    """HPCC's headers and telemetry make its own ideal time longer."""
    (one,) = registry.find(["rivals/incast"])
    results = anabranch.load(out / "rivals/incast-quick/results")
    flows = results.flows.filter(pl.col("workload.incast.placement.senders") == 2)
    least = flows.group_by("seed", "session").agg(pl.col("ideal_fct_ns").min().alias("least"))
    of = flows.filter(pl.col("transport") == "hpcc").join(least, on=["seed", "session"])
    assert (of["ideal_fct_ns"] > of["least"]).all()
    each = of.group_by("seed").agg((pl.col("fct_ns") / pl.col("least")).median().alias("p50"))
    found = measures.measured(results, one)[0].transports["hpcc"]["p50 all"].mean
    assert found == pytest.approx(each["p50"].mean())
