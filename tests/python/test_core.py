"""The compiled core keeps the contract of ``_core.pyi``, end to end on the smallest scenario."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import anabranch
from anabranch.base import core
from anabranch.cli import app
from anabranch.running.options import RunOptions, passed, table

ROOT = Path(__file__).parents[2]
HELLO = ROOT / "scenarios/examples/hello.toml"


def test_plan_names_every_run() -> None:
    plan = anabranch.plan(HELLO, ["transport.name=ndp"], seeds=2)
    assert [(run.run, run.transport, run.hosts, run.sessions) for run in plan.runs] == [
        ("p000-s1", "ndp", 4, 1),
        ("p000-s2", "ndp", 4, 1),
    ]


def test_a_run_ends_in_tables_that_load(tmp_path: Path) -> None:
    results = anabranch.run(HELLO, out=tmp_path / "r", progress=lambda _: True)
    assert [run.status for run in results.manifest.runs] == ["complete"]
    flow = results.flows.to_dicts()[0]
    assert flow["size_bytes"] == 1_000_000
    # 1 MB at 1 Gbps cannot take less than 8 ms, and an idle path should not take much more.
    assert 8e6 < flow["fct_ns"] < 12e6
    assert flow["slowdown"] >= 1
    counts = results.manifest.runs[0].conservation
    assert counts["trimmed"] == counts["dropped"] == 0
    assert counts["sent"] + counts["replicated"] == counts["delivered"] + counts["in_flight"]
    assert results.links.height == 2 * len(results.fabric.links) == 8
    assert results.manifest.scenario_toml == HELLO.read_text()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = (anabranch.run(HELLO, out=tmp_path / str(threads), seeds=2, threads=threads) for threads in (1, 2))
    fingerprints = [[run.fingerprint for run in results.manifest.runs] for results in (one, two)]
    assert fingerprints[0] == fingerprints[1]
    assert len(fingerprints[0][0]) == 16
    key = ["run", "session", "dst_host"]
    assert one.flows.sort(key).equals(two.flows.sort(key))
    assert one.flows.select(pl.col("run").n_unique()).item() == 2


def test_a_bad_key_is_named_with_its_place(tmp_path: Path) -> None:
    text = HELLO.read_text().replace("topology", "topologie")
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(anabranch.ScenarioError, match=r"bad\.toml:\d+") as caught:
        anabranch.plan(tmp_path / "bad.toml")
    assert "topolog" in str(caught.value)


def test_stopping_leaves_a_manifest(tmp_path: Path) -> None:
    results = anabranch.run(HELLO, out=tmp_path / "r", seeds=200, threads=1, progress=lambda _: False)
    statuses = {run.status for run in results.manifest.runs}
    assert statuses <= {"complete", "interrupted"}
    assert results.flows["run"].n_unique() == sum(run.complete for run in results.manifest.runs)


def test_the_core_takes_the_options_that_say_so_and_no_others(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.toml")
    defaults = {**{name: option.default for name, option in table(RunOptions).items()}, "out": "r", "command": []}
    with pytest.raises(anabranch.ScenarioError, match=r"none\.toml"):
        core.call("run", missing, [], passed(defaults, "run", "folder"), None)
    with pytest.raises(anabranch.ScenarioError, match=r"none\.toml"):
        core.Sweep(missing, (), passed(defaults, "run"))
    for make in (
        lambda given: core.call("run", missing, [], given, None),
        lambda given: core.Sweep(missing, (), given),
    ):
        with pytest.raises(TypeError, match="sedes: the core has no such option"):
            make({"sedes": 2})
    with pytest.raises(ValueError, match="out: a run needs a result folder"):
        core.call("run", str(HELLO), [], {}, None)


def test_schema_and_reference() -> None:
    assert "properties" in json.loads(core.call("schema"))
    assert core.call("reference").startswith("#")


def test_the_program_end_to_end(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, ["run", str(HELLO), "--out", str(tmp_path / "r"), "--json"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["fct"]
    assert (tmp_path / "r" / "report.html").stat().st_size > 500_000


def test_a_run_has_a_folder_by_default_and_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert anabranch.run(HELLO).folder == Path("out/hello")
    assert capsys.readouterr().err == ""
    assert anabranch.run(HELLO, ["run.time_limit=1s"], seeds=2, progress=True).folder.parent == Path("out")
    assert capsys.readouterr().err.endswith("\r")
