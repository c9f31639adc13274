"""The results of a sweep on the client's side: its folder, which the core manages, and what workers send back."""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING, Any

from anabranch.base import places
from anabranch.running import outputs
from anabranch.running.cluster import work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.base import core

CHECK_EVERY_S = 10.0
"""Seconds between two checks that the lock of an object store is still held."""


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
        self._checked_at = time.monotonic()

    @property
    def name(self) -> str:
        """Path or URL of the results, as workers open it."""
        return str(self.out if places.is_url(self.out) else self.out.resolve())

    def open(self, command: Sequence[str], *, resume: bool, force: bool = False) -> list[str]:
        """Open the place; returns the missing runs, longest first.

        Raises
        ------
        AnabranchError
            If finished runs of another experiment would be lost and `force` is false. They may have come since the
            command began: it may have waited for workers for hours. Or if another command writes there.
        """
        storage = outputs.storage(self.out)
        return self.sweep.open(storage, command, resume=resume, force=force, token=self.token)

    def check(self) -> None:
        """Check from time to time that no other client writes there.

        Raises
        ------
        ClusterError
            If the lock of an object store was removed or taken.
        """
        now = time.monotonic()
        if places.is_url(self.out) and now - self._checked_at >= CHECK_EVERY_S:
            self._checked_at = now
            self.sweep.check()

    def record(self, outcome: work.Outcome, known: str) -> Mapping[str, Any]:
        """Enter a finished run in the manifest, after writing its files if they were sent back; returns its entry."""
        entry = outcome.entry or ""
        if outcome.files is not None:
            entry = work.unpack(outcome.files, self.out, outcome.run, known)
        self.sweep.enter(entry)
        about: Mapping[str, Any] = json.loads(entry)
        return about

    def record_failure(self, run: str, message: str) -> None:
        """Enter a failed run in the manifest."""
        self.sweep.fail(run, message)

    def close(self) -> None:
        """Write the manifest for the last time, and remove the drafts of workers that died.

        Raises
        ------
        OSError
            If the manifest cannot be written.
        """
        self.sweep.close()
