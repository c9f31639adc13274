"""Ending a sweep by Ctrl-C, SIGTERM and SIGKILL: finished runs are kept, can be read, and the others can be added."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import anabranch
from anabranch import stats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broken.forks import Forks

SCENARIO = """\
name = "long"
repeat = 400
[fabric]
topology = "star"
hosts = 8
[transport]
name = "ndp"
[[workload]]
name = "w"
arrivals = { law = "poisson", load = 0.5 }
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
sessions = 40
"""


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    (folder / "a.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "anabranch", "run", "a.toml", "--threads", "1", "--out", "r", *more]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_runs(folder: Path, process: subprocess.Popen[str], wanted: int = 3) -> None:
    deadline = time.monotonic() + 120
    while len(list(folder.glob("r/runs/p*/run.json"))) < wanted:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no run finished"
        time.sleep(0.005)


def status(folder: Path) -> list[str]:
    return [run.status for run in anabranch.load(folder / "r").manifest.runs]


@pytest.fixture(autouse=True)
def _signals_end_programs() -> Iterator[None]:
    """A program inherits that hang-ups or Ctrl-C are ignored: under nohup, and in a background job.

    These tests may run there; what they start must not.
    """
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGHUP, hangup)
    signal.signal(signal.SIGINT, interrupt)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_keeps_the_finished_runs(tmp_path: Path, number: int, code: int) -> None:
    # A report takes longer than all else here: one is enough.
    more = () if number == signal.SIGINT else ("--no-report",)
    process = start(tmp_path, *more)
    wait_for_runs(tmp_path, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    kept = status(tmp_path).count("complete")
    assert 3 <= kept < 400
    assert f"interrupted: {kept} of 400 runs finished and are kept in r" in err
    assert "hint: the same command with --resume runs the others" in err
    assert (tmp_path / "r/report.html").is_file() == (not more)


def test_runs_that_were_there_before_are_told_and_brought_back(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    few = ("run", "a.toml", "--threads", "1", "--out", "r", "--no-report", "--seeds", "2")
    assert forks.run(tmp_path, *few).returncode == 0
    limit = ("--time-limit-wall", "0.001ms")  # no run is done in time
    limited = forks.run(tmp_path, *few, *limit)
    assert limited.returncode == 1
    assert "2 of the others finished earlier and are kept there under hidden names\nhint: " in limited.stderr
    assert limited.stderr.endswith("hint: the same command with --resume brings these back\n")
    more = forks.run(tmp_path, *few[:-1], "3", *limit)
    assert "hint: the same command with --resume brings these back and runs the rest\n" in more.stderr
    back = forks.run(tmp_path, *few, "--resume")
    assert back.returncode == 0
    assert "hint" not in back.stderr
    assert status(tmp_path) == ["complete"] * 2


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO.replace("repeat = 400", "repeat = 30"))
    line = ["nohup", sys.executable, "-m", "anabranch", "run", "a.toml", "--threads", "1", "--out", "r", "--no-report"]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_runs(tmp_path, process, 1)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert set(status(tmp_path)) == {"complete"}


def test_after_kill_9_everything_goes_on(forks: Forks, tmp_path: Path) -> None:
    process = start(tmp_path, "repeat=60")
    wait_for_runs(tmp_path, process)
    process.kill()
    process.communicate()
    there = {path.parent.name for path in tmp_path.glob("r/runs/p*/run.json")}

    # What finished can be loaded ...
    results = anabranch.load(tmp_path / "r")
    complete = {run.run for run in results.manifest.runs if run.complete}
    assert complete == there
    assert len(results.manifest.runs) == 60
    assert results.flows["run"].n_unique() == len(there)
    assert stats.fct_table(results)["samples"].max() == len(there)
    # ... reported ...
    report = forks.run(tmp_path, "report", "r")
    assert report.returncode == 1, report.stderr
    assert f"{60 - len(there)} of 60 runs did not complete" in " ".join(report.stdout.split())
    # ... and completed, with nothing run twice.
    before = {run: (tmp_path / "r/runs" / run / "flows.parquet").stat().st_mtime_ns for run in there}
    resumed = forks.run(
        tmp_path, "run", "a.toml", "repeat=60", "--out", "r", "--resume", "--threads", "1", "--no-report"
    )
    assert resumed.returncode == 0, resumed.stderr
    assert status(tmp_path) == ["complete"] * 60
    assert {run: (tmp_path / "r/runs" / run / "flows.parquet").stat().st_mtime_ns for run in there} == before
    left = [path.name for path in (tmp_path / "r").rglob("*") if "part" in path.name]
    assert left == []


def test_a_run_that_ended_after_the_manifest_was_written_counts(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    assert forks.run(tmp_path, "run", "a.toml", "repeat=3", "--out", "r", "--no-report").returncode == 0
    file = tmp_path / "r/manifest.json"
    manifest = json.loads(file.read_text())
    for run in manifest["runs"][1:]:
        run |= {"status": "interrupted", "message": "not begun", "fingerprint": "", "events": 0}
    manifest["runs"][2]["scenario_hash"] = "another"
    file.write_text(json.dumps(manifest))
    assert status(tmp_path) == ["complete", "complete", "interrupted"]


def test_without_a_manifest_the_hint_is_to_resume(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    assert forks.run(tmp_path, "run", "a.toml", "repeat=3", "--out", "r", "--no-report").returncode == 0
    (tmp_path / "r/manifest.json").unlink()
    report = forks.run(tmp_path, "report", "r")
    assert report.returncode == 2
    assert "r: has runs, but no manifest.json\nhint: `anabranch run FILE --out DIR --resume`" in report.stderr
    assert forks.run(tmp_path, "run", "a.toml", "repeat=3", "--out", "r", "--resume", "--no-report").returncode == 0
    assert forks.run(tmp_path, "report", "r").returncode == 0


def test_the_demonstration_can_be_resumed(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "scenarios/examples").mkdir(parents=True)
    (tmp_path / "scenarios/examples/demo.toml").write_text(SCENARIO.replace("repeat = 400", "repeat = 4"))
    assert forks.run(tmp_path, "demo").returncode == 0
    (tmp_path / "out/demo/runs/p000-s2/run.json").unlink()
    before = (tmp_path / "out/demo/runs/p000-s1/flows.parquet").stat().st_mtime_ns
    assert forks.run(tmp_path, "demo", "--resume").returncode == 0
    assert (tmp_path / "out/demo/runs/p000-s1/flows.parquet").stat().st_mtime_ns == before


def test_a_second_command_that_is_refused_touches_nothing(forks: Forks, tmp_path: Path) -> None:
    process = start(tmp_path, "--no-report")
    try:
        wait_for_runs(tmp_path, process)
        second = forks.run(tmp_path, "run", "a.toml", "--out", "r")
        assert second.returncode == 2
        assert "another run is writing to r" in second.stderr
        assert len(list(tmp_path.glob("r/runs/p*/run.json"))) >= 3
        assert (tmp_path / "r" / "manifest.json").is_file()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert forks.run(tmp_path, "report", "r").returncode in {0, 1}


def test_drafts_of_a_killed_program_are_removed(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    few = ("run", "a.toml", "repeat=2", "--out", "r", "--no-report")
    assert forks.run(tmp_path, *few).returncode == 0
    for name in ("manifest.part", ".manifest.json.part", "runs/.p000-s9.part/flows.parquet"):
        (tmp_path / "r" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "r" / name).write_text("half")
    assert forks.run(tmp_path, *few).returncode == 0
    assert [path.name for path in (tmp_path / "r").rglob("*.part")] == []


def test_hidden_files_of_others_are_in_nobodys_way(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    few = ("run", "a.toml", "repeat=2", "--out", "r", "--no-report")
    assert forks.run(tmp_path, *few).returncode == 0
    (tmp_path / "r" / "runs" / ".DS_Store").write_text("theirs")
    again = forks.run(tmp_path, *few)
    assert again.returncode == 0, again.stderr
    assert "holds 2 finished runs, which are made again; --resume keeps them" in again.stderr
    assert (tmp_path / "r" / "runs" / ".DS_Store").read_text() == "theirs"


@pytest.mark.parametrize("table", ["flows.parquet", "links.parquet"])
@pytest.mark.parametrize("cut", [True, False])
def test_resume_makes_a_run_again_that_has_lost_a_table(forks: Forks, tmp_path: Path, table: str, *, cut: bool) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    few = ("run", "a.toml", "repeat=2", "--out", "r", "--no-report")
    assert forks.run(tmp_path, *few).returncode == 0
    file = tmp_path / "r" / "runs" / "p000-s1" / table
    whole = file.read_bytes()
    file.unlink()
    if cut:
        file.write_bytes(whole[: len(whole) // 2])
    assert forks.run(tmp_path, *few, "--resume").returncode == 0
    assert file.read_bytes() == whole


def test_closed_standard_output_is_no_fault(tmp_path: Path) -> None:
    line = f'"{sys.executable}" -m anabranch --version >&-'
    done = subprocess.run(line, shell=True, cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode != 70
