"""The lock of a result folder in an object store: one client at a time writes there.

Object stores have no locks. This one is an object that can only be created where there is none: S3 does that with
``If-None-Match: *``, GCS with a generation of 0. A store that ignores the condition is still checked before and after,
which leaves a gap of one round trip. A client that is killed leaves its lock. The next client removes it if the process
is known to be dead, which it can know on the same machine only; otherwise a person has to.
"""

from __future__ import annotations

import errno
import fcntl
import getpass
import hashlib
import json
import os
import platform
import shlex
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.base import places
from anabranch.errors import ClusterError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAME = ".anabranch-lock"
"""The lock's object in the result folder."""

CHECK_EVERY_S = 10.0
"""Seconds between two checks that the lock is still held."""

TAKE_OVER_WITHIN_S = 10.0
"""Seconds to wait for other processes of this machine that take over the same lock."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: the content of its object, as JSON.

    Attributes
    ----------
    token
        Unique to the sweep.
    user, host, pid
        Its process.
    since
        When it was created: UTC, ISO 8601.
    command
        Its command line.
    machine
        Boot and process namespace, within which `pid` and `started` name one process; empty where not known.
    started
        Start of the process, in ticks since boot.
    """

    token: str
    user: str
    host: str
    pid: int
    since: str
    command: str
    machine: str = ""
    started: str = ""

    def __str__(self) -> str:
        what = f" ({self.command})" if self.command else ""
        return f"{self.user} on {self.host}, process {self.pid}, since {self.since}{what}"

    def is_dead(self) -> bool:
        """Whether the process is known to have ended; one of which this user may see nothing is taken to be alive."""
        if not self.machine or self.machine != _machine():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:  # another user's
            pass
        started = _started(self.pid)
        return bool(self.started) and started is not None and started != self.started


class Lock:
    """The lock of one result folder.

    Parameters
    ----------
    out
        The folder's `UPath`.
    token
        Unique to the sweep.
    """

    def __init__(self, out: Path, token: str) -> None:
        self.out = out
        self.token = token
        self.file = out / NAME
        self.held = False
        self._checked_at = 0.0

    def acquire(self, command: Sequence[str]) -> None:
        """Create the lock.

        Raises
        ------
        StoreError
            If another client holds it; the message says who, the hint how to remove it.
        """
        with places.answering(self.out):
            there = holder(self.out)
            content = json.dumps(asdict(_this_process(self.token, command)), indent=2).encode()
            if there is not None and there.is_dead():
                with _exclusive(self.out):
                    # Another command may have taken it over meanwhile: on this machine, where alone its end is known.
                    if holder(self.out) == there:
                        self._remove()
                        self._create(content)
                there = holder(self.out)
            elif there is None:
                self._create(content)
                there = holder(self.out)
            if there is None or there.token != self.token:
                raise StoreError(
                    f"{self.out}: another command writes there: {there or 'it has just ended'}; nothing was touched",
                    hint=f"if that command no longer runs, remove its lock: {removal(self.out)}",
                )
        self.held, self._checked_at = True, time.monotonic()

    def _create(self, content: bytes) -> None:
        fs, path = self.file.fs, self.file.path  # type: ignore[attr-defined]
        try:
            fs.pipe_file(path, content, mode="create")
        except FileExistsError:
            return  # who holds it is read next
        except (NotImplementedError, TypeError):  # a file system of fsspec that has no conditional writes
            fs.pipe_file(path, content)
        except OSError as error:
            if error.errno == errno.ENOSYS:  # the store refuses conditional writes
                fs.pipe_file(path, content)
            elif holder(self.out) is None:  # two at once may both be refused
                raise

    def check(self) -> None:
        """See from time to time whether the lock is still there.

        Raises
        ------
        ClusterError
            If it was removed, or is another client's now: then there may be two, and this one must not write on.
        """
        now = time.monotonic()
        if not self.held or now - self._checked_at < CHECK_EVERY_S:
            return
        self._checked_at = now
        try:
            with places.answering(self.out):
                there = holder(self.out)
        except StoreError:
            return  # it may be back at the next check
        if there is None or there.token != self.token:
            self.held = False
            by = "was removed" if there is None else f"was taken by another command: {there}"
            raise ClusterError(
                f"{self.out}: the lock of this sweep {by}; this command has stopped, and what is finished is kept",
                hint="when no other command writes there, the same command with --resume runs the others",
            )

    def release(self) -> None:
        """Remove the lock, if it is held."""
        if self.held:
            self.held = False
            with places.answering(self.out):
                there = holder(self.out)
                if there is not None and there.token == self.token:
                    self._remove()

    def _remove(self) -> None:
        with suppress(FileNotFoundError):
            self.file.fs.rm_file(self.file.path)  # type: ignore[attr-defined]


def holder(out: Path) -> Holder | None:
    """Who holds the lock of a folder; None if nobody does."""
    try:
        content = out.fs.cat_file((out / NAME).path)  # type: ignore[attr-defined]
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
        known = {one.name: found[one.name] for one in fields(Holder) if one.name in found}
        return Holder(**known)
    except (ValueError, TypeError):
        return Holder("", "somebody", "an unknown host", 0, "an unknown time", "")


def removal(out: Path) -> str:
    """The command that removes a lock, to paste into a shell, which takes any name of the folder for a name.

    Examples
    --------
    >>> removal(Path("s3/$(reboot)"))
    "python -c 'import sys, upath; upath.UPath(sys.argv[1]).unlink()' 's3/$(reboot)/.anabranch-lock'"
    """
    return shlex.join(["python", "-c", "import sys, upath; upath.UPath(sys.argv[1]).unlink()", str(out / NAME)])


def _this_process(token: str, command: Sequence[str]) -> Holder:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        user = f"user {os.getuid()}"
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
    pid = os.getpid()
    return Holder(token, user, platform.node(), pid, since, shlex.join(command), _machine(), _started(pid) or "")


@contextmanager
def _exclusive(out: Path) -> Iterator[None]:
    """Keep other processes of this machine out, of any user.

    Raises
    ------
    StoreError
        If another one does not finish: any user can lock the file, and must not stop this command for ever.
    """
    name = hashlib.sha256(str(out).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"anabranch-{name}.lock"
    try:
        file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except PermissionError:  # another user's, in a folder where such files are not opened to be created
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    deadline = time.monotonic() + TAKE_OVER_WITHIN_S
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{out}: its lock is of a process that has ended, and another process keeps {path} locked",
                        hint=f"see who does, with `fuser {shlex.quote(str(path))}`; or remove the lock: {removal(out)}",
                    ) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(file)


def _machine() -> str:
    """Boot and process namespace; empty where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - no path
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """Start of a process, in ticks since boot (proc(5), field 22 of ``stat``); empty if it ended, None if unknown."""
    try:
        state, *others = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return "" if state in "ZX" else others[18]
