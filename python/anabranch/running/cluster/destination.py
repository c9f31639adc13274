"""The results of a sweep on the client's side: runs that can be kept, the manifest, and what workers send back.

A folder is managed by the core: its lock, its manifest, runs by content hash. An object store has the same layout; the
core then writes the manifest to a temporary folder, from which it is copied whenever it has changed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import places
from anabranch.running import outputs
from anabranch.running.cluster import work
from anabranch.running.cluster.lock import Lock
from anabranch.running.cluster.objects import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.base import core
    from anabranch.running.plan import PlannedRun

COPIED = ("manifest.json", "fabric.json")
"""Files that the core writes beside the runs."""


class Destination:
    """Where the results of a sweep go.

    Parameters
    ----------
    out
        Folder, or `UPath` of an object store.
    sweep
        The sweep, whose folder this opens and closes.
    """

    def __init__(self, out: Path, sweep: core.Sweep) -> None:
        self.out = out
        self.sweep = sweep
        self.token = f".sweep-{uuid.uuid4().hex}"
        self.lock = Lock(out, self.token) if places.is_url(out) else None
        """The lock of an object store; the core locks a folder."""
        self.staging = Path(tempfile.mkdtemp(prefix="anabranch-")) if places.is_url(out) else None
        self._opened = False
        """Whether opening succeeded: otherwise another sweep may have the lock, and the drafts are its."""
        self.copy_error: OSError | None = None
        """Error of the last copy of the manifest to the object store; the next copy may succeed."""
        self._copied: dict[str, bytes] = {}

    @property
    def name(self) -> str:
        """Path or URL of the results, as workers open it."""
        return str(self.out) if self.staging is not None else str(self.out.resolve())

    def open(
        self, runs: Sequence[PlannedRun], command: Sequence[str], *, resume: bool, force: bool = False
    ) -> list[str]:
        """Open the place; returns the missing runs, longest first.

        Raises
        ------
        AnabranchError
            If finished runs of another experiment would be lost and `force` is false. They may have come since the
            command began: it may have waited for workers for hours.
        """
        if self.lock is None:
            if not force:
                outputs.guard(self.out, runs, resume=resume)
            missing = self.sweep.open(str(self.out), command, resume=resume)
            self._opened = True
            for stale in self.out.glob(".sweep-*"):
                stale.unlink(missing_ok=True)
            (self.out / self.token).touch()
            return missing
        self.lock.acquire(command)
        with places.answering(self.out):
            if not force:
                outputs.guard(self.out, runs, resume=resume)
            runs_there = Runs(self.out)
            kept = runs_there.adopt(runs) if resume else {}
            if not resume:
                runs_there.clear()
        entries = [json.dumps(entry) for entry in kept.values()]
        missing = self.sweep.open(str(self.staging), command, resume=False, elsewhere=entries)
        self._opened = True
        self._copy()
        self._check_copied()
        return missing

    def check(self) -> None:
        """Check from time to time that no other client writes there.

        Raises
        ------
        ClusterError
            If the lock of an object store was removed or taken.
        """
        if self.lock is not None:
            self.lock.check()

    def record(self, outcome: work.Outcome, known: str) -> Mapping[str, Any]:
        """Enter a finished run in the manifest, after writing its files if they were sent back; returns its entry."""
        entry = outcome.entry or ""
        if outcome.files is not None:
            entry = work.unpack(outcome.files, self.out / "runs" / outcome.run, entry, known)
        self.sweep.enter(entry)
        self._copy()
        about: Mapping[str, Any] = json.loads(entry)
        return about

    def record_failure(self, run: str, message: str) -> None:
        """Enter a failed run in the manifest."""
        self.sweep.fail(run, message)
        self._copy()

    def close(self) -> None:
        """Write the manifest for the last time, and remove the drafts of workers that died.

        Raises
        ------
        OSError
            If the manifest cannot be written.
        """
        try:
            if self._opened and self.staging is None:
                (self.out / self.token).unlink(missing_ok=True)
                for draft in (self.out / "runs").glob(".p*.part"):
                    if outputs.RUN.fullmatch(draft.name):
                        shutil.rmtree(draft, ignore_errors=True)
        finally:
            try:
                self.sweep.close()
                self._copy()
                self._check_copied()
            finally:
                if self.staging is not None:
                    shutil.rmtree(self.staging, ignore_errors=True)
                if self.lock is not None:
                    self.lock.release()

    def _copy(self) -> None:
        """Copy manifest and fabric to the object store if they have changed; an error is kept for later."""
        try:
            for name in COPIED if self.lock is not None and self.lock.held else ():
                source = (self.staging or Path()) / name
                content = source.read_bytes() if source.is_file() else b""
                if content and content != self._copied.get(name):
                    with places.answering(self.out):
                        (self.out / name).write_bytes(content)
                    self._copied[name] = content
            self.copy_error = None
        except OSError as error:
            self.copy_error = error

    def _check_copied(self) -> None:
        if self.copy_error is not None:
            raise self.copy_error
