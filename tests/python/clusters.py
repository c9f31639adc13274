"""A scheduler of Dask and its workers as processes of their own, on loopback, for tests."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

SCENARIO = """\
name = "tiny"
repeat = 20
[fabric]
topology = "star"
hosts = 6
[transport]
name = "ndp"
[[workload]]
arrivals = { law = "poisson", load = 0.5 }
sizes = { law = "fixed", size = "100KB" }
placement = { pattern = "random" }
sessions = 30
[sweep]
"transport.name" = ["ndp", "scdp"]
"""
"""A sweep of 40 runs, a few milliseconds each."""

POISON = """\
import errno, os, time
from anabranch.base import core
from anabranch.errors import PanicError
# Dask loads this more than once.
whole = core.whole = getattr(core, "whole", core.Sweep.run_one)
def run_one(self, run, folder, progress):
    match {poison}.get(run):
        case "panic":
            raise PanicError(f"run {{run}}: the simulator panicked: index out of bounds")
        case "dies":
            os._exit(9)
        case "disk":
            raise OSError(errno.ENOSPC, "No space left on device", folder)
        case "memory":
            raise MemoryError
    time.sleep({pause})
    return whole(self, run, folder, progress)
core.Sweep.run_one = run_one
"""
"""Makes some runs fail on the workers that load it, and the others take longer."""


def forked_workers() -> AbstractContextManager[Any]:
    """Within it, processes of ``local:N`` are forked as well; by default each of them imports all that it needs."""
    import dask
    import distributed  # noqa: F401 - it adds its defaults, which would go with these settings if they came within

    forked: AbstractContextManager[Any] = dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    return forked


def until(true: Callable[[], object], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


FORKS = multiprocessing.get_context("forkserver")
"""Imports Dask once, which takes longer than most tests, and forks every scheduler and worker."""
FORKS.set_forkserver_preload(["distributed.cli.dask_scheduler", "distributed.cli.dask_worker"])

SETTINGS = {
    # By default runs are retried three times, each time with a new worker: seconds.
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver",
}


def _dask(kind: str, argv: list[str], log: str, environment: dict[str, str]) -> None:
    """What a forked process does: `dask scheduler` or `dask worker`."""
    import dask

    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    dask.config.refresh()
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    importlib.import_module(f"distributed.cli.dask_{kind}").main(argv, prog_name=f"dask {kind}")


class Forked:
    """A forked process, as `subprocess.Popen` has it."""

    def __init__(self, kind: str, argv: list[str], log: str, environment: dict[str, str]) -> None:
        self.process = FORKS.Process(target=_dask, args=(kind, argv, log, environment))
        self.process.start()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()

    def wait(self, timeout: float) -> int:
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it has not ended"
        return self.process.exitcode


class Cluster:
    """A scheduler, and workers that come and go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Forked] = []
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start the scheduler, at the port that it had before, if it had one."""
        file = self.folder / f"scheduler-{time.monotonic_ns()}.json"
        self.scheduler = self.dask(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        )
        until(lambda: file.exists() and file.stat().st_size, "no scheduler")
        self.address = str(json.loads(file.read_text())["address"])
        self.port = int(self.address.rpartition(":")[2])

    def work(self, *, pause: float = 0.0, preload: str | None = None, nanny: bool = False, threads: int = 1) -> None:
        """Start a worker, whose runs take so many seconds longer."""
        script = self.folder / f"preload-{len(self.workers)}.py"
        script.write_text(POISON.format(poison={}, pause=pause) if preload is None else preload)
        self.workers.append(
            self.dask(
                "worker",
                self.address,
                "--host",
                "127.0.0.1",
                "--nthreads",
                str(threads),
                "--no-dashboard",
                "--nanny" if nanny else "--no-nanny",
                "--preload",
                str(script),
                "--local-directory",
                str(self.folder / "scratch"),
            )
        )

    def ready(self) -> None:
        """Wait until all workers are there."""
        until(lambda: (self.folder / "log").read_text().count("Registered to") >= len(self.workers), "no worker")

    def dask(self, kind: str, *argv: str) -> Forked:
        log = self.folder / "log"
        log.touch()
        return Forked(kind, list(argv), str(log), {**os.environ, **SETTINGS})

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            end(process)
        self.workers.clear()


def end(process: subprocess.Popen[Any] | Forked) -> None:
    """Kill a process and those that it started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):  # one that has just begun has no group yet
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait(timeout=30)


def tables(folder: Path) -> dict[str, bytes]:
    """Every file of the runs but their entries, which tell the time that they took."""
    files = (path for path in sorted((folder / "runs").rglob("*")) if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def differing(made: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    """The files that are in one only, or have another content: a failure names these, and does not print the bytes."""
    return sorted(name for name in made.keys() | wanted.keys() if made.get(name) != wanted.get(name))


def entries(folder: Path) -> list[dict[str, Any]]:
    """The manifest's entries without the time that they took."""
    runs = json.loads((folder / "manifest.json").read_text())["runs"]
    return [{key: value for key, value in run.items() if key not in {"wall_s", "cpu_s"}} for run in runs]
