"""Runs a case in a process of its own, forked or started, with limits, and lists what is wrong with the answer."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from broken.forks import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broken.case import Case
    from broken.forks import Forks

ADDRESS_SPACE = 8 << 30
"""Bytes of address space; a library may reserve much more than it uses, so the resident memory is checked apart."""

FILE_SIZE = 64 << 20
"""Bytes of the largest file that may be written, standard output included: no test fills the disk."""

OUTPUT = 64 << 10
"""Bytes of standard output, and of standard error, at most."""

ENVIRONMENT = {"PYTHONFAULTHANDLER": "1", "POLARS_MAX_THREADS": "2"}
"""Variables of every process."""

LINE = 2_000
"""Characters of a line of standard error at most: broken input is quoted, not printed whole."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program did."""

    code: int
    out: str
    err: str
    timed_out: bool
    resident: int


def snapshot(folder: Path) -> dict[str, str]:
    """What is in a folder: path to content (of links: where they lead; of folders: nothing)."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "special" if not path.is_dir() else "folder"
    return found


def execute(argv: Sequence[str], case: Case, folder: Path, forks: Forks | None = None) -> Answer:
    """Run ``anabranch`` in a folder with the limits of a case: in a fork, or as an interpreter of its own."""
    limits = {resource.RLIMIT_AS: ADDRESS_SPACE, resource.RLIMIT_FSIZE: FILE_SIZE}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(case.stdin)
        given.seek(0)
        streams = [file.fileno() for file in (given, out, err)]
        late = threading.Event()

        started: list[int] = []

        def stop() -> None:
            late.set()
            if started:
                os.kill(started[0], signal.SIGKILL)
            elif forks:
                forks.kill()

        # Before the start, which may hang, too.
        clock = threading.Timer(case.seconds, stop)
        clock.start()
        try:
            if forks:
                started.append(forks.start(argv, folder, case.environment, streams, limits))
                wait = forks.wait
            else:
                process, wait = _interpreter(argv, case, folder, streams, limits)
                started.append(process)
            status, resident = wait()
        finally:
            clock.cancel()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(OUTPUT + 1).decode(errors="replace"))
    return Answer(os.waitstatus_to_exitcode(status), texts[0], texts[1], late.is_set(), resident * 1024)


def _interpreter(
    argv: Sequence[str], case: Case, folder: Path, streams: Sequence[int], limits: Mapping[int, int]
) -> tuple[int, Callable[[], tuple[int, int]]]:
    """Start an interpreter; its process, and what waits for its status and the most resident memory in KiB."""
    environment = {**os.environ, **ENVIRONMENT, **case.environment}
    command = [sys.executable, *OPTIONS, "-m", "anabranch", *argv]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=streams[0], stdout=streams[1], stderr=streams[2]
    )
    # Set from outside, at once: nothing large is allocated while Python starts.
    with contextlib.suppress(ProcessLookupError):
        for which, limit in limits.items():
            resource.prlimit(process.pid, which, (limit, limit))

    def wait() -> tuple[int, int]:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return status, usage.ru_maxrss

    return process.pid, wait


def check(case: Case, folder: Path, forks: Forks | None = None) -> list[str]:
    """Run a case in an empty folder; everything that is wrong with the answer, nothing if it is right."""
    case.prepare(folder)
    before = snapshot(folder)
    answer = execute([part.replace("{folder}", str(folder)) for part in case.argv], case, folder, forks)
    after = snapshot(folder)
    return _faults(case, answer) + _harm(case, before, after)


def _faults(case: Case, answer: Answer) -> list[str]:
    found = []
    if answer.timed_out:
        found.append(f"no end after {case.seconds} s")
    elif answer.code not in case.exits:
        found.append(f"exit code {answer.code}, expected {' or '.join(map(str, sorted(case.exits)))}")
    for stream, text in (("output", answer.out), ("error", answer.err)):
        if "Traceback" in text or "panicked at" in text or "Fatal Python error" in text:
            found.append(f"a traceback on standard {stream}")
        if len(text.encode()) > OUTPUT:
            found.append(f"more than {OUTPUT} bytes on standard {stream}")
    found += [f"standard error lacks {text!r}" for text in case.says if text not in answer.err]
    if any(len(line) > LINE for line in answer.err.splitlines()):
        found.append(f"a line of more than {LINE} characters on standard error")
    if answer.resident > case.memory:
        found.append(f"{answer.resident >> 20} MiB of memory, {case.memory >> 20} allowed")
    if found:
        found.append(f"standard error was:\n{answer.err[:LINE]}")
    return found


def _harm(case: Case, before: dict[str, str], after: dict[str, str]) -> list[str]:
    def allowed(name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in case.writes)

    gone = [f"{name} is gone" for name in before if name not in after and not allowed(name)]
    other = [
        f"{name} was changed" for name in before if name in after and before[name] != after[name] and not allowed(name)
    ]
    new = [f"{name} was written" for name in after if name not in before and not allowed(name)]
    return gone + other + new
