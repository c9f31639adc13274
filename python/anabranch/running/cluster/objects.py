"""The runs of a result folder in an object store: found by content hash, moved to the names of a sweep, removed.

Objects cannot be renamed. A run is moved by copying its objects, ``run.json`` last, and then removing the source,
``run.json`` first. So at every moment a folder with a ``run.json`` holds a whole run, and a client that is killed
leaves each run under at least one name, where the next client finds it by its hash.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anabranch.base import places
from anabranch.errors import StoreError
from anabranch.results import manifest
from anabranch.running import outputs
from anabranch.running.cluster import work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from anabranch.running.plan import PlannedRun

Entry = dict[str, Any]


class Runs:
    """The runs of a result folder; only the holder of its lock may change them.

    Parameters
    ----------
    out
        The folder's `UPath`.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / "runs"
        self.fs = out.fs  # type: ignore[attr-defined]

    def clear(self) -> None:
        """Remove all runs."""
        files = self._files()
        if files:
            self._remove_manifest()
            self._remove([file for each in files.values() for file in each])

    def adopt(self, planned: Sequence[PlannedRun]) -> dict[str, Entry]:
        """Find the runs of a plan, and move those that have another name; returns their entries, by name.

        Runs of other plans stay unless they have a name of this plan; incomplete runs and second copies are removed.
        """
        files = self._files()
        entries = self._entries(files)
        found = _found(planned, entries)
        names, hashes = {run.run for run in planned}, {run.hash for run in planned}
        sources = set(found.values())
        others = {name for name, entry in entries.items() if name not in names and entry["scenario_hash"] not in hashes}
        keep = sources | others
        useless = [file for name, each in files.items() if name not in keep for file in each]
        aside = uuid.uuid4().hex[:8]
        moves = list(order({source: target for target, source in found.items() if source != target}, aside))
        if useless or moves:
            self._remove_manifest()  # it tells other names than the folders have from now on
        self._remove(useless)
        by_name = {run.run: run for run in planned}
        told = {name: _named(entries[source], by_name[name]) for name, source in found.items()}
        for source, target in moves:
            files[target] = self._move(files.pop(source), source, target, told.get(target))
        return told

    def _files(self) -> dict[str, list[str]]:
        """Objects of every run and of every piece of one, by the name of its folder."""
        self.fs.invalidate_cache()
        base = len(self.folder.path) + 1  # type: ignore[attr-defined]
        found: dict[str, list[str]] = defaultdict(list)
        for file in self.fs.find(self.folder.path):  # type: ignore[attr-defined]
            name, slash, _ = file[base:].partition("/")
            if slash and outputs.RUN.fullmatch(name):
                found[name].append(file)
        return found

    def _entries(self, files: Mapping[str, Sequence[str]]) -> dict[str, Entry]:
        """Entries of the complete runs, by the name of their folder."""
        candidates = [
            name
            for name, each in sorted(files.items())
            if {work.ENTRY, *work.TABLES} <= {file.rpartition("/")[2] for file in each}
        ]
        found = {}
        contents = places.contents([self.folder / name / work.ENTRY for name in candidates])
        for name, content in zip(candidates, contents, strict=True):
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(content or b"")
                if entry["status"] in manifest.FINAL and entry["scenario_hash"]:
                    found[name] = entry
        return found

    def _move(self, files: Sequence[str], source: str, target: str, entry: Entry | None) -> list[str]:
        """Copy a run to another name, with another entry if there is one, and remove it at the old one."""
        old, new = f"{self.folder.path}/{source}/", f"{self.folder.path}/{target}/"  # type: ignore[attr-defined]
        names = [file[len(old) :] for file in files]
        tables = [name for name in names if name != work.ENTRY]
        self.fs.copy([old + name for name in tables], [new + name for name in tables])
        if entry is None:
            self.fs.cp_file(old + work.ENTRY, new + work.ENTRY)
        else:
            self.fs.pipe_file(new + work.ENTRY, f"{json.dumps(entry, indent=2)}\n".encode())
        self._remove(files)
        return [new + name for name in names]

    def _remove(self, files: Sequence[str]) -> None:
        """Remove objects, ``run.json`` first."""
        last = f"/{work.ENTRY}"
        entries = [file for file in files if file.endswith(last)]
        others = [file for file in files if not file.endswith(last)]
        if entries:
            self.fs.rm(entries)
            self.fs.invalidate_cache()
            # S3 deletes many objects at a time, and s3fs tells nobody of those that it did not.
            left = set(entries) & set(self.fs.find(self.folder.path))  # type: ignore[attr-defined]
            if left:
                raise StoreError(f"{min(left)}: cannot be deleted", hint="the same command tries it again")
        if others:
            self.fs.rm(others)
        self.fs.invalidate_cache()

    def _remove_manifest(self) -> None:
        path = (self.out / "manifest.json").path  # type: ignore[attr-defined]
        if self.fs.exists(path):
            self.fs.rm_file(path)


def _found(planned: Sequence[PlannedRun], entries: Mapping[str, Entry]) -> dict[str, str]:
    """The folder of every run of a plan that there is, by the name of the run: under its own name if possible."""
    by_hash: dict[str, list[str]] = defaultdict(list)
    for name in sorted(entries):
        by_hash[str(entries[name]["scenario_hash"])].append(name)
    found = {}
    # Points that differ in name only have one hash.
    for run in planned:
        if run.run in by_hash.get(run.hash, ()):
            found[run.run] = run.run
            by_hash[run.hash].remove(run.run)
    for run in planned:
        if run.run not in found and by_hash.get(run.hash):
            found[run.run] = by_hash[run.hash].pop()
    return found


def _named(entry: Entry, run: PlannedRun) -> Entry:
    """An entry with its name and point as a plan has them."""
    return {**entry, "run": run.run, "point": dict(run.point)}


def order(moves: Mapping[str, str], unique: str) -> Iterator[tuple[str, str]]:
    """Order moves, from source to target, so that each target is free; a cycle is broken by a temporary name.

    Examples
    --------
    >>> list(order({"p0-s1": "p1-s1", "p1-s1": "p2-s1"}, "0123abcd"))
    [('p1-s1', 'p2-s1'), ('p0-s1', 'p1-s1')]
    >>> list(order({"p0-s1": "p1-s1", "p1-s1": "p0-s1"}, "0123abcd"))
    [('p0-s1', '.p0-s1.0123abcd.part'), ('p1-s1', 'p0-s1'), ('.p0-s1.0123abcd.part', 'p1-s1')]
    """
    left = dict(moves)
    while left:
        first = next(iter(left))
        chain = [first]
        while left[chain[-1]] in left and left[chain[-1]] != first:
            chain.append(left[chain[-1]])
        if left[chain[-1]] == first:
            aside = f".{first.lstrip('.').partition('.')[0]}.{unique}.part"
            yield first, aside
            left[aside] = left.pop(first)
            chain[0] = aside
        for source in reversed(chain):
            yield source, left.pop(source)
