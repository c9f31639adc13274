"""The options of the command line for sweeps on several processes: targets, their options, signals, the exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clusters
import psutil
import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli.main import app
from anabranch.errors import AnabranchError, ClusterError
from anabranch.running.cluster import start, target

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = clusters.SCENARIO.replace("sessions = 30", "sessions = 20000")
"""40 runs of half a second."""


@pytest.fixture(autouse=True)
def _signals_end_programs() -> Iterator[None]:
    """A program inherits that Ctrl-C is ignored, in background jobs; what these tests start must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def of_group(group: int) -> list[psutil.Process]:
    """The processes of a group that have not ended."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def run(folder: Path, *argv: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "anabranch", "run", "a.toml", "--out", "r", "--no-report", *argv]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)


def test_processes_of_this_machine_make_the_same_and_say_little(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    done = run(tmp_path, "repeat=3", "--on", "local:1", "--json")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("dashboard: http://127.0.0.1:")
    assert done.stdout.lstrip().startswith(("{", "["))
    anabranch.run(tmp_path / "a.toml", ["repeat=3"], out=tmp_path / "alone", threads=1)
    assert clusters.differing(clusters.tables(tmp_path / "r"), clusters.tables(tmp_path / "alone")) == []


def test_an_experiment_of_a_paper_is_the_same_on_processes_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = []
    with clusters.forked_workers():
        for out, how in (("alone", ("--threads", "1")), ("local", ("--on", "local:2"))):
            done = CliRunner().invoke(app, ["reproduce", "ndp/fig7", "--quick", "--out", out, *how])
            assert done.exit_code == 0, done.output
            # What took how long, and a PDF's date, differ.
            files = (path for path in (tmp_path / out).rglob("*") if path.is_file() and path.suffix != ".pdf")
            there = {str(path.relative_to(tmp_path / out)): path.read_bytes() for path in files}
            entries = clusters.entries(tmp_path / out / "ndp/fig7-quick/results")
            for name in [name for name in there if name.endswith(("manifest.json", "run.json"))]:
                there[name] = b""
            made.append((there, entries, done.stdout))
    assert clusters.differing(made[0][0], made[1][0]) == []
    assert made[0][1:] == made[1][1:]
    assert {Path(name).suffix for name in made[0][0]} == {".csv", ".html", ".json", ".parquet", ".svg"}
    assert len(made[0][1]) == 2 * 5, "both ways of routing, five seeds"


def test_nobody_else_on_this_machine_can_use_local_workers() -> None:
    import distributed
    from distributed.security import Security

    with clusters.forked_workers(), start.connected("local:1") as connection:
        connection.wait_for_workers()
        address = connection.client.scheduler.address
        (worker,) = connection.workers()
        for place in (address, worker):
            assert place.startswith("tls://127.0.0.1:")
        # Without a certificate, and with one that somebody else has made.
        with pytest.raises(OSError, match=r"Timed out|TCP|TLS"):
            distributed.Client(address.replace("tls", "tcp"), timeout=1, set_as_default=False)
        with pytest.raises(OSError, match=r"Timed out|TCP|TLS"):
            distributed.Client(address, security=Security.temporary(), timeout=1, set_as_default=False)
        assert connection.client.submit(sum, [1, 2]).result(timeout=30) == 3


def test_ctrl_c_stops_the_workers_and_leaves_what_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(LONG)
    line = [sys.executable, "-m", "anabranch", "run", "a.toml", "--out", "r", "--no-report", "--on", "local:1"]
    process = subprocess.Popen(
        line, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        clusters.until(lambda: len(list(tmp_path.glob("r/runs/p*/run.json"))) >= 2, "no run", 120)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=60)
    finally:
        clusters.end(process)
    assert process.returncode == 130, err
    assert "of 40 runs finished and are kept in r\nhint: the same command with --resume runs the others" in err
    assert "Traceback" not in err
    assert "distributed" not in err
    clusters.until(lambda: not of_group(process.pid), "somebody is left")
    runs = anabranch.load(tmp_path / "r").manifest.runs
    assert {entry.status for entry in runs} == {"complete", "interrupted"}
    assert [path.name for path in tmp_path.rglob("*") if path.name.endswith(".part")] == []
    assert [path.name for path in (tmp_path / "r").iterdir() if path.name.startswith(".")] == []


def test_failed_runs_are_listed_and_the_exit_code_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # UDP sends all packets at once: more than this memory holds, which shows only when it runs.
    text = clusters.SCENARIO.replace('["ndp", "scdp"]', '["udp", "ndp"]').replace("repeat = 20", "repeat = 1")
    text = text.replace("sessions = 30", "sessions = 2").replace("100KB", "1MB")
    (tmp_path / "a.toml").write_text(f'{text}[run]\nmemory_limit = "60KB"\n')
    monkeypatch.chdir(tmp_path)
    command = ["run", "a.toml", "--out", "r", "--no-report"]
    with clusters.forked_workers():
        done = CliRunner().invoke(app, [*command, "--on", "local:1"])
    assert done.exit_code == 1, done.stderr
    assert "p000-s1: FAILED: no results: " in done.stderr, done.stderr
    assert "a.toml" in done.stderr
    assert "packets on their way" in done.stderr
    assert "hint: the same command with --resume runs these again, and keeps the others" in done.stderr
    assert {entry.run: entry.status for entry in anabranch.load(tmp_path / "r").manifest.runs} == {
        "p000-s1": "failed",
        "p001-s1": "complete",
    }
    # With enough memory, which does not change what a run does, it goes on.
    again = CliRunner().invoke(app, [*command, "--threads", "1", "--resume", "run.memory_limit=1GB"])
    assert again.exit_code == 0, again.stderr


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("--on", "nowhere"), "error: --on nowhere: expected local:4, tcp://SCHEDULER:8786, slurm"),
        (("--on", "k8s"), "hint: start a scheduler and workers there with the Dask operator"),
        (("--on", "local:0"), "error: --on local:0: expected"),
        (("--on", "ssh:hosts"), "error: --on ssh:hosts: cannot be read"),
        (("--on", "local:2", "--threads", "2"), "hint: --on local:4 starts 4 processes"),
        (
            ("--on", "local:2", "--on-options", "bad.toml"),
            "bad.toml:1: [locl]: unknown table; expected one of: local, ",
        ),
        (("--on", "local:2", "--on-options", "bad.toml"), "hint: did you mean `local`?"),
        (
            ("--on", "local:2", "--on-options", "sweep.toml"),
            "sweep.toml:2: [sweep] retrys: unknown key; expected one of: ",
        ),
        (("--on", "local:2", "--on-options", "sweep.toml"), "hint: did you mean `retries`?"),
        (("--on", "local:2", "--on-options", "value.toml"), "value.toml: [sweep] wait_s = 'long': expected a number"),
        (("--on", "local:2", "--on-options", "local.toml"), "local.toml:3: [local] memory_limt: unknown key; expected"),
        (("--on", "local:2", "--on-options", "local.toml"), "hint: did you mean `memory_limit`?"),
        (("--on", "ssh:two", "--on-options", "ssh.toml"), "ssh.toml:2: [ssh.worker_options] nthread: unknown key"),
        (("--on", "ssh:two", "--on-options", "ssh.toml"), "hint: did you mean `nthreads`?"),
        (("--on", "slurm", "--on-options", "slurm.toml"), "slurm.toml:2: [slurm] job_extra_directive: unknown key"),
        (("--on", "slurm", "--on-options", "slurm.toml"), "expected one of the arguments of Dask's SLURMCluster:\n"),
        (("--on", "slurm", "--on-options", "slurm.toml"), "hint: did you mean `job_extra_directives`?"),
        (("--on", "local:2", "--on-options", "none.toml"), "none.toml: cannot be read"),
        (("--on-options", "bad.toml"), "error: --on-options says how to use --on, which is missing"),
        (("--time-limit-wall", "soon"), "error: --time-limit-wall soon: expected a duration such as 90s"),
        (("--out", "s3://bucket/x"), "hint: say what to run on, too: --on local:4"),
    ],
)
def test_what_makes_no_sense_is_an_error(tmp_path: Path, argv: tuple[str, ...], told: str) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    (tmp_path / "bad.toml").write_text("[locl]\n")
    (tmp_path / "sweep.toml").write_text("[sweep]\nretrys = 2\n")
    (tmp_path / "value.toml").write_text('[sweep]\nwait_s = "long"\n')
    (tmp_path / "local.toml").write_text('# Local processes.\n[local]\nmemory_limt = "8GB"\n')
    (tmp_path / "ssh.toml").write_text("[ssh]\nworker_options = { n_workers = 2, nthread = 1 }\n")
    (tmp_path / "slurm.toml").write_text('[slurm]\njob_extra_directive = ["--exclusive"]\n')
    (tmp_path / "two").write_text("head\nnode\n")
    (tmp_path / "sbatch").touch(mode=0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        done = CliRunner().invoke(app, ["run", "a.toml", *argv])
    assert done.exit_code == 2, done.output
    assert told in done.stderr
    assert not (tmp_path / "r").exists()


def test_without_dask_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    with pytest.raises(ClusterError, match="needs Dask, which is not installed") as error:
        anabranch.run(tmp_path / "a.toml", out=tmp_path / "r", on="local:1")
    assert error.value.hint == "pip install 'anabranch[cluster]'"
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(AnabranchError, match="s3://bucket/x"):
        anabranch.load("s3://bucket/x")


@pytest.mark.parametrize(
    ("kind", "submitted", "lines"),
    [
        ("slurm", "sbatch", ["#SBATCH -p long", "#SBATCH --cpus-per-task=8", "#SBATCH -t 02:00:00"]),
        ("pbs", "qsub", ["#PBS -q long", "#PBS -l walltime=02:00:00"]),
        ("lsf", "bsub", ["#BSUB -q long", "#BSUB -n 8"]),
    ],
)
def test_batch_systems_get_jobs_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, submitted: str, lines: list[str]
) -> None:
    """A batch system that only notes what it is asked for."""
    asked = tmp_path / "asked"
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in (submitted, "scancel", "qdel", "bkill"):
        script = commands / name
        script.write_text(f'#!/bin/sh\n[ "{name}" = {submitted} ] && cat "$@" >> {asked} && echo "Job <1234>"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    options = tmp_path / "o.toml"
    walltime = '"02:00:00"' if kind != "lsf" else '"02:00"'
    options.write_text(
        f'[{kind}]\njobs = 3\ncores = 8\nprocesses = 8\nmemory = "16GB"\nqueue = "long"\nwalltime = {walltime}\n'
        'scheduler_options = { host = "127.0.0.1", dashboard_address = "127.0.0.1:0" }\n'
        "[sweep]\nwait_s = 0.5\n"
    )
    chosen = target.read(kind, options)
    assert chosen.workers == 3
    with start.connected(chosen) as connection:
        clusters.until(lambda: asked.exists() and asked.read_text().count("distributed.cli.dask_worker") >= 3, "no job")
        with pytest.raises(ClusterError, match="no worker came to tcp://"):
            connection.wait_for_workers()
    script_text = asked.read_text()
    for line in lines:
        assert line in script_text, script_text
    assert "--nthreads 1 " in script_text
    assert "--nworkers 8 --nanny" in script_text


def test_hosts_are_reached_by_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    hosts = tmp_path / "hosts"
    hosts.write_text("# the scheduler, and two workers\nhead\nnode1\n\nnode2\n")
    options = tmp_path / "o.toml"
    options.write_text('[ssh]\nworker_options = { nthreads = 1, n_workers = 8 }\nremote_python = "/opt/bin/python"\n')
    asked: list[tuple[Any, Any]] = []

    def cluster(names: list[str], **more: object) -> None:
        asked.append((names, more))
        raise RuntimeError("no such host")

    monkeypatch.setattr(distributed, "SSHCluster", cluster)
    with (
        pytest.raises(ClusterError, match=r"cannot be started .RuntimeError: no such host"),
        start.connected(f"ssh:{hosts}", options),
    ):
        pass
    assert asked == [
        (
            ["head", "node1", "node2"],
            {"worker_options": {"nthreads": 1, "n_workers": 8}, "remote_python": "/opt/bin/python"},
        )
    ]
    hosts.write_text("head\n")
    with pytest.raises(ClusterError, match="expected at least two hosts"):
        target.read(f"ssh:{hosts}")


def test_a_scenario_travels_with_its_files(tmp_path: Path) -> None:
    from anabranch.base import core
    from anabranch.running.cluster.package import Unpacked, pack

    home = tmp_path / "home/scenarios"
    home.mkdir(parents=True)
    (tmp_path / "home/sizes.csv").write_text("# interpolation: linear\n10000,0.5\n50000,1\n")
    text = clusters.SCENARIO.replace('{ law = "fixed", size = "100KB" }', '{ law = "cdf", file = "../sizes.csv" }')
    (home / "a.toml").write_text(text)
    file = str(home / "a.toml")
    here = core.Sweep(file, ["repeat=1"])
    package = pack(here, file, ("repeat=1",), {})
    away = tmp_path / "away"
    away.mkdir()
    there = Unpacked(package, away)
    assert there.file.is_relative_to(away)
    assert there.sweep.hash("p000-s1") == here.hash("p000-s1")
    assert there.with_client_path(f"{there.file}:3: wrong") == f"{file}:3: wrong"
