"""The program: streams, exit codes, and folders it may and may not touch. The core is a stand-in."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import fixtures
import pytest
from typer.testing import CliRunner, Result

from anabranch.base import core as door
from anabranch.cli import app
from anabranch.errors import AnabranchError, CoreMissingError
from anabranch.running import plan as planning
from anabranch.running import run as running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import StandIn

run = CliRunner()


def invoke(*arguments: str) -> Result:
    return run.invoke(app, list(arguments), catch_exceptions=False)


def test_run_prints_a_table_and_writes_the_report(core: StandIn, folder: Path) -> None:
    result = invoke("run", "a.toml", "load=0.5", "--seeds", "2", "--threads", "3")
    assert result.exit_code == 0
    assert "TCP NewReno" in result.stdout
    assert "p99 FCT" in result.stdout
    assert "report: out/a,load=0.5,seeds=2/report.html" in result.stderr
    assert "warning: a.toml: the load exceeds" in result.stderr
    assert "warning: warning:" not in result.stderr
    assert (folder / "out/a,load=0.5,seeds=2/report.html").is_file()
    place = "out/a,load=0.5,seeds=2"
    command = ["anabranch", "run", "a.toml", "load=0.5", "--out", place, "--seeds", "2"]
    options = {"out": place, "seeds": 2, "threads": 3, "time_limit_wall_s": None, "resume": False}
    options |= {"force": False, "command": command}
    assert core.calls[-1] == ("run", "a.toml", ["load=0.5"], options)


def test_json_is_alone_on_stdout(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    result = invoke("run", "a.toml", "--json", "--no-report", "--out", "here")
    data = json.loads(result.stdout)
    assert {row["bucket"] for row in data["fct"]} == {"<=10KB", "10-100KB", "100KB-1MB", ">1MB", "all"}
    assert len(data["runs"]) == 12
    assert data["notes"] == []
    assert not (folder / "here/report.html").exists()


def test_plain_output_has_no_control_codes(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    result = invoke("run", "a.toml")
    assert "\x1b" not in result.stdout + result.stderr


def test_bad_input_is_an_error_without_traceback(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    result = invoke("run", "bad.toml")
    assert result.exit_code == 2
    assert result.stderr == "error: bad.toml:3:5: unknown key `lod`\nhint: did you mean `load`?\n"
    assert result.stdout == ""
    assert not (folder / "out").exists()


def test_dry_run_lists_and_writes_nothing(core: StandIn, folder: Path) -> None:
    result = invoke("run", "a.toml", "--dry-run")
    assert result.exit_code == 0
    assert "p003-s3" in result.stdout
    assert "12 runs" in result.stdout
    data = json.loads(invoke("run", "a.toml", "--dry-run", "--json").stdout)
    assert data["runs"][0] == {
        "run": "p000-s1",
        "point": {"transport.name": "scdp"},
        "transport": "scdp",
        "seed": 1,
        "hosts": 16,
        "sessions": 120,
        "packets": 21_000,
        "samples": 0,
        "memory_bytes": 190_000,
        "seconds": 0.021,
        "remarks": [],
    }
    assert list(folder.iterdir()) == []
    assert {call[0] for call in core.calls} == {"plan"}


def test_a_foreign_folder_is_left_alone(core: StandIn, folder: Path) -> None:
    (folder / "home").mkdir()
    (folder / "home/thesis.tex").write_text("years")
    result = invoke("run", "a.toml", "--out", "home")
    assert result.exit_code == 2
    assert "thesis.tex" in result.stderr
    assert (folder / "home/thesis.tex").read_text() == "years"
    assert all(call[0] != "run" for call in core.calls)


def test_a_file_in_the_way_is_refused(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    (folder / "out").write_text("a file")
    assert invoke("run", "a.toml", "--out", "out").exit_code == 2
    assert (folder / "out").read_text() == "a file"


def test_a_folder_that_cannot_be_made_is_an_error(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    (folder / "file").write_text("")
    result = invoke("run", "a.toml", "--out", "file/r")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: file/r")


def test_the_same_experiment_is_replaced_whole(core: StandIn, folder: Path) -> None:
    core.fixture = fixtures.Fixture(seeds=(1,))
    assert invoke("run", "a.toml", "--no-report").exit_code == 0
    core.fixture = fixtures.Fixture()
    assert invoke("run", "a.toml", "--no-report").exit_code == 0
    assert len(list((folder / "out/a/runs").iterdir())) == 12


def test_why_finished_runs_are_in_the_way(core: StandIn, folder: Path) -> None:
    assert invoke("run", "a.toml", "--out", "r").exit_code == 0
    core.hashes = "ffff"
    core.fixture = fixtures.Fixture(seeds=(7,))
    result = invoke("run", "a.toml", "--out", "r")
    assert result.exit_code == 2
    assert "this experiment does not make them again" in result.stderr
    assert "another version" not in result.stderr
    assert (folder / "r" / "report.html").exists()


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_finished_runs_of_another_experiment_are_not_deleted(
    core: StandIn, folder: Path, more: tuple[str, ...]
) -> None:
    assert invoke("run", "a.toml", "--out", "out/first").exit_code == 0
    before = everything(folder)
    core.hashes = "ffff"  # another scenario
    result = invoke("run", "b.toml", "--out", "out/first", *more)
    assert result.exit_code == 2
    assert (
        "out/first holds 12 finished runs of fixture.toml; 12 of them (p000-s1, p000-s2, p000-s3 ...)" in result.stderr
    )
    assert "they are of another version of the scenario or of the simulator" in result.stderr
    assert "hint: choose another folder with --out, or say --force" in result.stderr
    assert everything(folder) == before
    with pytest.raises(AnabranchError, match="12 finished runs"):
        running.run("b.toml", out="out/first")
    assert everything(folder) == before
    assert invoke("run", "b.toml", "--out", "out/first", *more, "--force", "--no-report").exit_code == 0


def test_fewer_seeds_do_not_delete_the_others(core: StandIn, folder: Path) -> None:
    assert invoke("run", "a.toml", "--no-report").exit_code == 0
    result = invoke("run", "a.toml", "--seeds", "1", "--out", "out/a")
    assert result.exit_code == 2
    assert "8 of them" in result.stderr
    # In a folder of their own, by default.
    core.fixture = fixtures.Fixture(seeds=(1,))
    assert invoke("run", "a.toml", "--seeds", "1", "--no-report").exit_code == 0
    assert len(list((folder / "out/a/runs").iterdir())) == 12


def test_what_finished_without_a_manifest_is_not_deleted_either(core: StandIn, folder: Path) -> None:
    assert invoke("run", "a.toml", "--no-report").exit_code == 0
    (folder / "out/a/manifest.json").unlink()
    core.hashes = "ffff"
    assert "12 finished runs; 12 of them" in invoke("run", "a.toml").stderr


@pytest.mark.parametrize(
    "name", ["manifest.json", "report.html", "runs/2024-01-01/model.bin", "runs", "runs/p000-s1/thesis.tex"]
)
def test_force_deletes_nothing_but_results(core: StandIn, folder: Path, name: str) -> None:
    if "p000" in name:
        fixtures.write(folder / "home")
    path = folder / "home" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"name": "a web application"}')
    before = everything(folder)
    result = invoke("run", "a.toml", "--out", "home", "--force")
    assert result.exit_code == 2
    assert "which is not part of an experiment" in result.stderr
    assert everything(folder) == before
    assert all(call[0] != "run" for call in core.calls)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("fig.pdf", ()),
        ("fig.pdf", ("--force",)),
        ("fig.pdf", ("--resume",)),
        ("figures/fig.pdf", ()),
        ("runs/notes.txt", ("--force",)),
        ("runs/.git/HEAD", ("--resume",)),
    ],
)
def test_other_files_in_a_result_folder_stay(core: StandIn, folder: Path, name: str, option: tuple[str, ...]) -> None:
    fixtures.write(folder / "home")
    path = folder / "home" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    core.hashes = "ffff" if option == ("--force",) else ""
    assert invoke("run", "a.toml", "--out", "home", "--no-report", *option).exit_code == 0
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", [".p000-s1", "..p000-s1", ".p000-s1.0a1b2c3d.part"])
def test_what_a_killed_program_left_under_another_name_is_not_deleted(core: StandIn, folder: Path, name: str) -> None:
    assert invoke("run", "a.toml", "--out", "home", "--no-report").exit_code == 0
    runs = folder / "home/runs"
    (runs / "p000-s1").rename(runs / name)
    # The folder stays usable, and nothing is lost without --force: not by another experiment ...
    core.hashes = "ffff"
    before = everything(folder)
    result = invoke("run", "a.toml", "--out", "home", "--no-report")
    assert result.exit_code == 2
    assert "12 of them" in result.stderr
    assert everything(folder) == before
    # ... nor by one that is resumed and needs the name.
    result = invoke("run", "a.toml", "--out", "home", "--no-report", "--resume")
    assert result.exit_code == 2
    assert "12 of them" in result.stderr
    assert everything(folder) == before
    core.hashes = ""
    assert invoke("run", "a.toml", "--out", "home", "--no-report", "--resume").exit_code == 0


def test_an_invalid_scenario_keeps_the_older_experiment(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    assert invoke("run", "a.toml", "--out", "out/x", "--no-report").exit_code == 0
    assert invoke("run", "bad.toml", "--out", "out/x").exit_code == 2
    assert len(list((folder / "out/x/runs").iterdir())) == 12


def reports(state: dict[str, object]) -> Callable[[Callable[[str], bool]], None]:
    """What a core does that reports one state."""

    def during(progress: Callable[[str], bool]) -> None:
        progress(json.dumps(state))

    return during


def test_runs_that_did_not_take_their_threads_say_why(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    shared = {"divided": 1, "sequential": {"packets are captured": 2}, "restarted": {"an endpoint gives up": 1}}
    core.during = reports({"runs_done": 12, "on_several_threads": shared})
    result = invoke("run", "a.toml", "--threads", "4", "--json", "--no-report")
    assert json.loads(result.stdout)["on_several_threads"] == shared
    assert "note: 2 runs took one core, not several: packets are captured" in result.stderr
    assert "note: 1 run was restarted on one core: an endpoint gives up" in result.stderr
    unasked = invoke("run", "a.toml", "--no-report", "--force")
    assert "took one core" not in unasked.stderr
    assert "note: 1 run was restarted on one core" in unasked.stderr
    core.during = reports({"runs_done": 12})
    elsewhere = invoke("run", "a.toml", "--json", "--no-report", "--force")
    assert "on_several_threads" not in json.loads(elsewhere.stdout)
    assert "note: " not in elsewhere.stderr.replace("note: out/", "")


@pytest.mark.parametrize("status", ["stalled", "time_limit"])
def test_an_incomplete_run_is_kept_marked_and_fails(core: StandIn, folder: Path, status: str) -> None:
    core.fixture = fixtures.Fixture(status={"p001-s2": status})
    result = invoke("run", "a.toml")
    assert result.exit_code == 1
    assert "flows 3, 13 wait for a pull" in result.stderr
    assert "1 of 12 runs did not complete" in result.stdout
    assert "Not every run completed" in (folder / "out/a/report.html").read_text()
    assert invoke("report", "out/a").exit_code == 1


def interrupt_when_told(wanted: int) -> Callable[[Callable[[str], bool]], None]:
    """A core that sends Ctrl-C to the process, then reports until it is asked to stop."""

    def during(progress: Callable[[str], bool]) -> None:
        for _ in range(wanted):
            os.kill(os.getpid(), signal.SIGINT)
        deadline = time.monotonic() + 20
        while progress(json.dumps({"runs_done": 9, "runs_total": 12})):
            assert time.monotonic() < deadline, "never asked to stop"
            time.sleep(0.01)

    return during


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A job that a shell starts in the background inherits that Ctrl-C is ignored; these tests may run in one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_finished_runs(core: StandIn, folder: Path) -> None:
    core.during = interrupt_when_told(1)
    core.fixture = fixtures.Fixture(status={f"p003-s{seed}": "interrupted" for seed in (1, 2, 3)})
    result = invoke("run", "a.toml")
    assert result.exit_code == 130
    assert "interrupted: 9 of 12 runs finished and are kept in out/a" in result.stderr
    assert (folder / "out/a/report.html").is_file()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("older", "rest"), [((1, 3), " and runs the rest"), ((1, 2, 3), "")])
def test_ctrl_c_tells_of_runs_that_were_there_before(
    core: StandIn, folder: Path, older: tuple[int, ...], rest: str
) -> None:
    interrupt = interrupt_when_told(1)

    def during(progress: Callable[[str], bool]) -> None:
        for seed in older:
            home = folder / f"out/a/runs/.p003-s{seed}"
            home.mkdir(parents=True)
            for table in ("flows", "links"):
                (home / f"{table}.parquet").write_bytes(b"PAR1")
            entry = {"status": "complete", "scenario_hash": f"{3:016x}{seed:016x}"}
            (home / "run.json").write_text(json.dumps(entry))
        interrupt(progress)

    core.during = during
    core.fixture = fixtures.Fixture(status={f"p003-s{seed}": "interrupted" for seed in (1, 2, 3)})
    result = invoke("run", "a.toml", "--no-report")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "interrupted: 9 of 12 runs finished and are kept in out/a\n"
        f"{len(older)} of the others finished earlier and are kept there under hidden names\n"
        f"hint: the same command with --resume brings these back{rest}\n"
    )


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_before_any_run_finished(core: StandIn, folder: Path) -> None:  # noqa: ARG001
    core.during = interrupt_when_told(1)
    runs = [f"p{p:03}-s{s}" for p in range(4) for s in (1, 2, 3)]
    core.fixture = fixtures.Fixture(status=dict.fromkeys(runs, "interrupted"))
    result = invoke("run", "a.toml")
    assert result.exit_code == 130
    assert "interrupted: 0 of 12" in result.stderr


def test_report_of_nothing(folder: Path) -> None:
    result = invoke("report", "nowhere")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
    assert "hint:" in result.stderr
    assert list(folder.iterdir()) == []


def test_report_writes_again(folder: Path) -> None:
    fixtures.write(folder / "r")
    assert invoke("report", "r").exit_code == 0
    assert (folder / "r/report.html").is_file()
    assert not list((folder / "r").glob(".report*"))


def test_schema_version_and_help(core: StandIn) -> None:  # noqa: ARG001
    assert json.loads(invoke("schema").stdout)["title"] == "Scenario"
    assert invoke("schema", "--reference").stdout == "# Scenario\n"
    assert invoke("--version").stdout.startswith("anabranch ")
    text = " ".join(invoke("run", "--help").stdout.split())
    for code in ("0 every run", "1 a run stalled", "2 bad input", "130 interrupted"):
        assert code in text


def test_unknown_options_are_usage_errors() -> None:
    assert invoke("run", "a.toml", "--sedes", "3").exit_code == 2
    assert invoke("run", "a.toml", "--seeds", "0").exit_code == 2


def test_demo_runs_the_repositorys_scenario(core: StandIn, folder: Path) -> None:
    (folder / "scenarios/examples").mkdir(parents=True)
    (folder / "scenarios/examples/demo.toml").write_text("")
    assert invoke("demo", "--quick").exit_code == 0
    _, path, overrides, options = core.calls[-1]
    assert (path, overrides, options["seeds"]) == ("scenarios/examples/demo.toml", [], 1)
    assert options["out"] == "out/demo-quick"


def test_a_missing_core_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:  # noqa: ARG001
    monkeypatch.setitem(__import__("sys").modules, "anabranch._core", None)
    with pytest.raises(CoreMissingError, match="make setup"):
        door.call("version")
    result = invoke("run", "a.toml")
    assert result.exit_code == 1
    assert "hint: run `make setup`" in result.stderr


def test_run_from_python(core: StandIn, folder: Path) -> None:
    told: list[int] = []
    core.during = lambda progress: told.append(progress('{"runs_done": 3}'))
    results = running.run("a.toml", out=folder / "r", progress=lambda state: state["runs_done"] == 3)
    assert told == [True]
    assert results.flows.height > 0
    assert planning.plan("a.toml").warnings == ("warning: a.toml: the load exceeds the core's capacity",)
