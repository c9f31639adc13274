"""Processes of ``anabranch`` that are forked from one with the libraries in it, so that no start imports them again.

A child goes on as ``python -m anabranch`` does: exit code, tracebacks and flushing are those of the program. What an
interpreter takes apart at its end, all modules that were imported, is left to the kernel: a crash there shows only in
cases for which an interpreter is started.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from typer.testing import CliRunner

import anabranch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIBRARIES = ("anabranch._core", "numpy", "scipy.stats", "polars", "altair", "vl_convert")
"""What commands import; with them all modules of `anabranch`."""

IDLE = {"polars-ooc-clea"}
"""Threads that a fork leaves behind and that no command here needs."""

ALONE = {"OPENBLAS_NUM_THREADS": "1", "_RJEM_MALLOC_CONF": "background_thread:false"}
"""Settings with which the libraries start no threads when they are imported."""

ENDS_WITHIN_S = 10
"""Time that the process has to end."""

RUNS_WITHIN_S = 300
"""Time that a command has to end."""

OPTIONS = ("-W", "error::ResourceWarning")
"""Options of the interpreter."""


class Forks:
    """A process that forks; each child runs one command."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._begin()

    def _begin(self) -> None:
        command = [sys.executable, *OPTIONS, "-m", "broken.forks"]
        alone = {**self._environment, **ALONE, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            command, env=alone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(
        self,
        folder: Path,
        *argv: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        limits: Mapping[int, int] = MappingProxyType({}),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with what this process has in its environment now."""
        with Path(os.devnull).open("rb") as given, TemporaryFile() as out, TemporaryFile() as err:
            streams = [given.fileno(), out.fileno(), err.fileno()]
            clock = threading.Timer(RUNS_WITHIN_S, self.kill)
            clock.start()
            try:
                self.start(argv, folder, {**os.environ, **environment}, streams, limits)
                status, _ = self.wait()
            except EOFError:
                self._process.communicate()
                self._begin()
                raise
            finally:
                clock.cancel()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="surrogateescape"))
        return subprocess.CompletedProcess(list(argv), os.waitstatus_to_exitcode(status), *texts)

    def start(
        self,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: Sequence[int],
        limits: Mapping[int, int],
    ) -> int:
        """Start a command, with standard input, output and error, and limits of resources; its process."""
        asked = {
            "argv": list(argv),
            "folder": str(folder),
            "environment": dict(environment),
            "streams": [f"/proc/{os.getpid()}/fd/{stream}" for stream in streams],
            "limits": list(limits.items()),
        }
        assert self._process.stdin
        self._process.stdin.write(json.dumps(asked) + "\n")
        return int(self._answer())

    def wait(self) -> tuple[int, int]:
        """Wait for its end: its status as `os.wait` has it, and the most resident memory in KiB."""
        status, resident = json.loads(self._answer())
        return status, resident

    def close(self) -> None:
        """End the process."""
        try:
            self._process.communicate(timeout=ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.communicate()

    def kill(self) -> None:
        """End the process at once: it is asked nothing more."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the process that forks has ended")
        return line


def become(
    *,
    argv: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    streams: Sequence[str],
    limits: Sequence[tuple[int, int]],
) -> None:
    """Make this child the process that a case asks for."""
    for target, path in enumerate(streams):
        opened = os.open(path, os.O_RDONLY if target == 0 else os.O_WRONLY)
        os.dup2(opened, target)
        os.close(opened)
    os.chdir(folder)
    os.environ.update(environment)
    for which, limit in limits:
        resource.setrlimit(which, (limit, limit))
    sys.argv = ["anabranch", *argv]


def serve() -> bool:
    """Fork for each question, and say how the child ended; True in a child."""
    for question in sys.stdin:
        child = os.fork()
        if child == 0:
            become(**json.loads(question))
            return True
        print(child, flush=True)
        _, status, usage = os.wait4(child, 0)
        print(json.dumps([status, usage.ru_maxrss]), flush=True)
    return False


def run() -> None:
    """Run the command of this child, to its end."""
    try:
        runpy.run_module("anabranch", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as an interpreter does first
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


def prepare() -> None:
    """Import what commands import."""
    for library in LIBRARIES:
        importlib.import_module(library)
    for module in pkgutil.walk_packages(anabranch.__path__, "anabranch."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    # A command without effects: what Typer imports to read arguments takes half the time of a command that is refused.
    assert CliRunner().invoke(importlib.import_module("anabranch.cli").app, ["schema"]).exit_code == 0
    names = {task.joinpath("comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    assert threading.active_count() == 1
    # At its end an interpreter looks at all objects, and a child copies what it looks at, unless they are frozen.
    gc.collect()
    gc.freeze()
    assert len(names - IDLE) == 1, names


if __name__ == "__main__":
    prepare()
    if serve():
        run()
