"""``anabranch job``: from a file or a collective to a step time, as the page says it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli import app
from anabranch.results.jobs import job_table
from anabranch.running import job_transports, presets
from anabranch.running.fabrics import fabric
from anabranch.running.models import model
from anabranch.running.transports import transports

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/run-a-job.md"

COMMANDS = [
    line.removeprefix("$ anabranch ").split()
    for line in re.findall(r"^\$ anabranch job .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
]

SMALLER = {
    "dgx-h100": ["fabric.servers=2"],
    "leaf-spine": ["fabric.spines=4"],
    "slingshot": ["fabric.switches=2", "fabric.hosts_per_switch=8"],
}


def _fabric(command: list[str]) -> str:
    return command[command.index("--fabric") + 1] if "--fabric" in command else "dgx-h100"


FILES = [command for command in COMMANDS if Path(command[1]).suffix]
MODELS = presets.names("model")


def run(*argv: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, argv)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(autouse=True)
def _in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_page_has_a_command_for_each_format() -> None:
    assert {Path(command[1]).suffix for command in FILES} == {".goal", ".cm", ".et", ".txt"}
    assert [command[1] for command in COMMANDS if command not in FILES] == ["all-reduce", "llama-3-70b"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[1].rsplit("/", 1)[-1])
def test_the_commands_of_the_page_are_as_large_as_they_say(command: list[str], tmp_path: Path) -> None:
    code, stdout, stderr = run(*command, "--out", str(tmp_path / "r"), "--dry-run")
    assert code == 0, stderr
    assert re.search(r"^job: \d+ ranks, .* messages of .* in all", stderr, re.MULTILINE)
    assert "by an estimate" in stdout
    scenario = tomllib.loads((tmp_path / "r.toml").read_text(encoding="utf-8"))
    per_server = {"leaf-spine": None, "slingshot": 4}.get(_fabric(command), 8)
    assert scenario.get("host", {}).get("server", {}).get("hosts") == per_server
    # The scenario beside the results is one that runs.
    assert anabranch.plan(tmp_path / "r.toml").runs


@pytest.mark.parametrize("command", FILES, ids=lambda command: command[1].rsplit("/", 1)[-1])
def test_files_are_replayed(command: list[str], tmp_path: Path) -> None:
    small = SMALLER[_fabric(command)]
    code, _, stderr = run(*command, *small, "--out", str(tmp_path / "r"), "--no-report", "--progress", "none")
    assert code == 0, stderr
    (row,) = job_table(anabranch.load(tmp_path / "r")).to_dicts()
    assert row["unfinished"] == 0
    assert row["step_ns"] > 0
    # An idle fabric takes no longer but for how links are shared, and not nothing.
    assert 0.01 < row["idle_share"] < 1.05


def test_several_transports_are_rows_and_each_says_what_bounds_it(tmp_path: Path) -> None:
    code, stdout, stderr = run(
        "job", "all-reduce", "fabric.servers=2", "--ranks", "16", "--size", "1MB", "--algorithm", "hierarchical",
        "--transport", "ndp,hpcc,dctcp", "--out", str(tmp_path / "r"), "--progress", "none", "--no-report",
    )  # fmt: skip
    assert code == 0, stderr
    results = anabranch.load(tmp_path / "r")
    table = job_table(results)
    assert table["transport"].to_list() == ["ndp", "hpcc", "dctcp"]
    # Rails: seven of eight bytes stay inside servers.
    assert results.flows["size_bytes"].sum() == 3 * 2 * 1_000_000
    assert len(re.findall("bound it", " ".join(stdout.split()))) == 3


@pytest.mark.parametrize("name", presets.names("fabric"))
def test_every_fabric_takes_jobs_that_need_one_unit_more(name: str, tmp_path: Path) -> None:
    one = fabric(name)
    ranks = one.least * one.hosts + 1
    code, stdout, stderr = run(
        "job", "broadcast", "--ranks", str(ranks), "--size", "64KB", "--algorithm", "binomial", "--fabric", name,
        "--out", str(tmp_path / "r"), "--dry-run",
    )  # fmt: skip
    assert code == 0, stderr
    scenario = tomllib.loads((tmp_path / "r.toml").read_text(encoding="utf-8"))
    assert scenario["fabric"][one.grows] == one.least + 1
    assert one.source[:40] in (tmp_path / "r.toml").read_text(encoding="utf-8")
    hosts = int(stdout.splitlines()[1].split()[3])
    assert hosts == (one.least + 1) * one.hosts


def test_every_transport_that_repeats_what_is_lost_takes_jobs(tmp_path: Path) -> None:
    every = ",".join(one.name for one in transports() if one.name != "udp")
    code, stdout, stderr = run(
        "job", "all-to-all", "--ranks", "16", "--size", "64KB", "--fabric", "leaf-spine", "--transport", every,
        "--out", str(tmp_path / "r"), "--dry-run",
    )  # fmt: skip
    assert code == 0, stderr
    assert len([line for line in stdout.splitlines() if line.startswith("p0")]) == every.count(",") + 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nothing.goal"], "nothing.goal: no such file, collective or model"),
        (["all-reduce", "--ranks", "8"], "all-reduce needs --ranks and --size"),
        (["all-reduce", "--ranks", "8", "--size", "1MB", "--format", "goal"], "--format does not apply: all-reduce"),
        (["crates/job/tests/data/goal-comp.goal", "--size", "1MB"], "--size does not apply: crates"),
        (["all-reduce", "--ranks", "8", "--size", "1MB", "--fabric", "dgx"], "no fabric is named 'dgx'"),
        (["all-reduce", "--ranks", "8", "--size", "1MB", "--transport", "ndq"], "there is no 'ndq'"),
        (["all-reduce", "--ranks", "8", "--size", "1MB", "--transport", "ndp,ndp"], "named twice"),
        (["all-reduce", "--ranks", "8", "--size", "1MB", "--algorithm", "bruck"], "bruck does no all-reduce"),
        (["crates/job/tests/data/all_reduce.0.et", "--algorithm", "ring"], "of which collective?"),
        (["llama-3-70b", "--ranks", "64"], "--ranks does not apply: llama-3-70b is a model"),
        (["llama-3-70b", "--shape", "layer=8"], "unknown field `layer`"),
        (["llama-3-70b", "--shape", "layers.x=8"], "layers of llama-3-70b is no table"),
        (["llama-3-70b", "--shape", "experts.ranks=8"], "missing field `parameters`"),
        (["mixtral-8x7b", "--shape", "experts=8"], "expected struct Experts"),
        (["llama-3-70b", "--shape", "layers"], "expected KEY=NUMBER"),
        (["llama-3-70b", "--shape", "layers=10"], "10 layers are no multiple of 4 stages"),
        (["all-reduce", "--ranks", "8", "--size", "1MB", "--shape", "data=2"], "--shape does not apply"),
        (["crates/job/tests/data/simai-microAllReduce.txt"], "does not tell the format"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(argv: list[str], message: str, tmp_path: Path) -> None:
    code, _, stderr = run("job", *argv, "--out", str(tmp_path / "r"))
    assert code == 2
    assert message in stderr
    assert not list(tmp_path.iterdir())


def test_a_scenario_that_somebody_has_changed_is_not_overwritten(tmp_path: Path) -> None:
    command = ("job", "all-reduce", "--ranks", "16", "--size", "1MB", "--out", str(tmp_path / "r"), "--dry-run")
    scenario = tmp_path / "r.toml"
    assert run(*command)[0] == run(*command)[0] == 0
    scenario.write_text("mine")
    code, _, stderr = run(*command)
    assert (code, scenario.read_text()) == (2, "mine")
    assert "says something else" in stderr
    assert run(*command, "--force")[0] == 0
    assert "all-reduce" in scenario.read_text()


def test_other_sizes_and_settings_have_places_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    common = ("job", "broadcast", "--ranks", "16", "--fabric", "leaf-spine", "--no-report", "--progress", "none")
    for more in (("--size", "64KB"), ("--size", "2MB"), ("--size", "64KB", "fabric.spines=4")):
        code, _, stderr = run(*common, *more)
        assert code == 0, stderr
    name = "broadcast-16-{}-leaf-spine-ndp"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        [name.format("64KB"), name.format("64KB") + ",fabric.spines=4", name.format("64KB") + ".toml",
         name.format("2MB"), name.format("2MB") + ".toml"]
    )  # fmt: skip
    # Two trees, in chunks of 512 KiB: four of 2 MB, each to fifteen ranks.
    assert anabranch.load(tmp_path / "out" / name.format("2MB")).flows.height == 4 * 15


def test_at_100_gbps_transports_have_the_settings_in_which_all_are_compared() -> None:
    paper = tomllib.loads((ROOT / "scenarios/rivals/paper.toml").read_text(encoding="utf-8"))["common"]
    (rows,) = paper["100 Gbps switches"]
    compared = tomllib.loads(rows)["sweep"]["transport.name, switch"]
    for name, switch in compared:
        assert job_transports.switch(name, 100) == switch, name
    own = job_transports.constants([name for name, _ in compared], 100, "1500B")
    for line in paper["100 Gbps"]:
        keys, value = tomllib.loads(line), own
        path = line.partition("=")[0].strip().split(".")
        for key in path:
            keys = keys[key]
        for key in path[1:]:
            value = value[key]
        assert value == keys, line


def test_the_study_at_400_gbps_has_the_settings_that_jobs_get() -> None:
    names = ("ndp", "scdp", "eqds", "uec", "hpcc", "dcqcn")
    own = job_transports.constants(names, 400, "4160B")
    found = 0
    for file in sorted((ROOT / "scenarios/ai").glob("*/*.toml")):
        scenario = tomllib.loads(file.read_text(encoding="utf-8"))
        if "transport" not in scenario:
            continue
        for key, value in scenario["transport"].items():
            assert key == "name" or own[key] == value, f"{file}: {key}"
        if "switch" in scenario:
            assert scenario["switch"] == job_transports.switch("ndp", 400) == job_transports.switch("scdp", 400), file
        for keys, rows in scenario.get("sweep", {}).items():
            columns = keys.split(", ")
            if "switch" in columns:
                for row in rows:
                    named = dict(zip(columns, row, strict=True))
                    assert named["switch"] == job_transports.switch(named["transport.name"], 400), file
                    found += 1
    assert found > 20


@pytest.mark.parametrize("kind", ["fabric", "model"])
def test_presets_are_listed_with_their_sources(kind: str) -> None:
    code, stdout, _ = run("job", f"--{kind}s")
    assert code == 0
    known = presets.names(kind)
    assert set(known) <= set(stdout.splitlines())
    assert stdout.count("source: ") == len(known)


SMALL = {
    "llama-3-405b": "layers=2,pipeline=2,microbatches=2", "llama-3-70b": "layers=2,pipeline=2,microbatches=2,data=2",
    "gpt-3-175b": "layers=2,pipeline=2,microbatches=2", "mixtral-8x7b": "layers=2,pipeline=2,microbatches=2",
    "deepseek-v3": "layers=1,pipeline=1,microbatches=1,data=16,experts.ranks=16",
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_step_of_every_model_is_a_job(name: str, tmp_path: Path) -> None:
    code, _, stderr = run("job", name, "--shape", SMALL[name], "--out", str(tmp_path / "r"), "--dry-run")
    assert code == 0, stderr
    text = (tmp_path / "r.toml").read_text(encoding="utf-8")
    assert model(name).source in text
    shape = tomllib.loads(text)["workload"][0]["job"]["model"]
    ranks = shape["tensor"] * shape["pipeline"] * shape["data"]
    assert f"job: {ranks} ranks" in stderr


def test_a_step_of_a_model_is_simulated(tmp_path: Path) -> None:
    code, stdout, stderr = run(
        "job", "mixtral-8x7b", "fabric.servers=4", "--shape",
        "layers=2,hidden=64,pipeline=2,microbatches=2,sequence=512,experts.parameters=80000,experts.active=20000,attention=9000",
        "--out", str(tmp_path / "r"), "--progress", "none", "--no-report",
    )  # fmt: skip
    assert code == 0, stderr
    (row,) = job_table(anabranch.load(tmp_path / "r")).to_dicts()
    assert row["unfinished"] == 0
    assert row["step_ns"] > 0
    assert "job: " in stdout
