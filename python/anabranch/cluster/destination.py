"""The results of a sweep on the client's side: runs that can be kept, the manifest, and what workers send back.

A folder is managed by the core: its lock, its manifest, runs by content hash. An object store has the same layout; the
core then writes the manifest to a temporary folder, from which it is copied whenever it has changed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import manifest, outputs, places
from anabranch.cluster import work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from anabranch import core
    from anabranch.api import PlannedRun

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

    def open(self, runs: Sequence[PlannedRun], command: Sequence[str], *, resume: bool) -> list[str]:
        """Open the place; returns the missing runs, longest first."""
        if self.staging is None:
            missing = self.sweep.open(str(self.out), command, resume=resume)
            self._opened = True
            for stale in self.out.glob(".sweep-*"):
                stale.unlink(missing_ok=True)
            (self.out / self.token).touch()
            return missing
        kept: Mapping[str, str] = {}
        with places.answering(self.out):
            if resume:
                kept = self._kept(runs)
            else:
                self._clear(set())
        missing = self.sweep.open(str(self.staging), command, resume=False, elsewhere=list(kept.values()))
        self._opened = True
        self._copy()
        self._check_copied()
        return missing

    def _kept(self, runs: Sequence[PlannedRun]) -> Mapping[str, str]:
        """Entries, by name, of the runs that the object store has; those that it has under another name are moved.

        Other runs stay, for another experiment, unless they are in the way; pieces of runs go.
        """
        there: dict[str, dict[str, Mapping[str, Any]]] = {}
        files = list(self.out.glob("runs/p*/run.json"))
        for file, content in zip(files, places.contents(files), strict=True):
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(content or b"")
                tables = all((file.parent / f"{table}.parquet").is_file() for table in ("flows", "links"))
                if entry["status"] in manifest.FINAL and tables:
                    there.setdefault(str(entry["scenario_hash"]), {})[file.parent.name] = entry
        found: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for run in runs:
            by_name = there.get(run.hash, {})
            name = run.run if run.run in by_name else next(iter(sorted(by_name)), None)
            if name is not None:
                found[run.run] = (name, by_name.pop(name))
        strangers = {name for by_name in there.values() for name in by_name}
        stay = {name for name, _ in found.values()} | (strangers - {run.run for run in runs})
        moved = {name: source for name, (source, _) in found.items() if source != name}
        # All step aside before any takes its place: two may have to change places.
        for source in moved.values():
            self._move(source, f".{source}")
        self._clear(stay - set(moved.values()), aside={f".{source}" for source in moved.values()})
        for name, source in moved.items():
            self._move(f".{source}", name)
        return {run: json.dumps({**entry, "run": run}) for run, (_, entry) in found.items()}

    def _move(self, source: str, target: str) -> None:
        runs = self.out / "runs"
        fs, old, new = runs.fs, (runs / source).path, (runs / target).path  # type: ignore[attr-defined]
        for file in sorted(fs.find(old), key=lambda file: file.endswith(work.ENTRY)):
            fs.cp_file(file, new + file[len(old) :])
        fs.rm(old, recursive=True)
        fs.invalidate_cache()

    def _clear(self, stay: set[str], aside: AbstractSet[str] = frozenset()) -> None:
        """Remove all other runs, and pieces of runs."""
        runs = self.out / "runs"
        for run in runs.iterdir() if runs.is_dir() else ():
            if run.name not in stay | aside and outputs.RUN.fullmatch(run.name):
                run.fs.rm(run.path, recursive=True)  # type: ignore[attr-defined]
        self.out.fs.invalidate_cache()  # type: ignore[attr-defined]

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

    def _copy(self) -> None:
        """Copy manifest and fabric to the object store if they have changed; an error is kept for later."""
        try:
            for name in COPIED if self.staging is not None else ():
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
