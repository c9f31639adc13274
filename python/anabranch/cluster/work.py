"""What a worker does: makes one run, and puts it where the results belong.

A run is made in a folder of its own, which gets its name when it is complete. Where the worker sees the folder of the
results, it is drafted there and renamed; to an object store its files go one by one, ``run.json`` last; else they are
sent back. What goes wrong comes back as an `Outcome`, in words: the client decides what it is worth.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import core, manifest, places
from anabranch.cluster.package import Package, Unpacked, unpacked
from anabranch.errors import AnabranchError, ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EVERY = 1.0
"""Seconds between two reports about a run."""

FINAL = "run.json"
"""Written last: a run with it is complete."""


@dataclass(frozen=True, slots=True)
class Order:
    """One run that a worker is to make.

    Attributes
    ----------
    run, hash
        Its name, and the hash of all that it depends on.
    out
        Folder or URL of the results.
    token
        Name of a file that is in the folder as long as the sweep goes on: who sees it sees the folder.
    topic
        Where reports go.
    identity
        What the client's core is (`anabranch.core.identity`).
    limit_s
        Wall-clock seconds that it may take.
    return_bytes
        Most bytes that may be sent back.
    """

    run: str
    hash: str
    out: str
    token: str
    topic: str
    identity: Mapping[str, str]
    limit_s: float | None
    return_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order.

    Attributes
    ----------
    run, worker
        Its name, and the address of who made it.
    entry
        Its entry in the manifest, as JSON; None if it has none.
    files
        Its files by name, if they were sent back.
    error
        What went wrong.
    kind
        Whose fault that is: ``run`` (it will fail again), ``machine`` (memory, disk), ``skew`` (another simulator) or
        ``stopped`` (it was told to).
    """

    run: str
    worker: str
    entry: str | None = None
    files: Mapping[str, bytes] | None = None
    error: str | None = None
    kind: str = ""


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """What two cores differ in, in words; None if they give the same results."""
    words = {"version": "version", "model": "model", "sources": "build"}
    differ = [name for name in words if ours[name] != theirs.get(name)]
    if not differ:
        return None
    told = ("version", *(name for name in differ if name != "version"))
    both = [", ".join(f"{words[name]} {one.get(name)}" for name in told) for one in (theirs, ours)]
    return f"it has {both[0]}, this machine {both[1]}"


def make(package: Package, order: Order) -> Outcome:
    """Make a run; called by Dask on a worker."""
    from distributed import get_worker  # noqa: PLC0415 - on workers it is there

    worker = get_worker()
    address, key, started = str(worker.address), worker.get_current_task(), time.monotonic()

    def failed(kind: str, error: object) -> Outcome:
        return Outcome(order.run, address, error=str(error) or type(error).__name__, kind=kind)

    differ = differences(order.identity, core.identity())
    if differ is not None:
        return failed("skew", differ)
    told = started

    def tell(text: str) -> bool:
        nonlocal told
        # A task that was cancelled leaves the worker's table, or is marked there.
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            return False
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            state = json.loads(text)
            news = {"run": order.run, "events": state["events"], "simulated_ns": state["simulated_ns"]}
            worker.log_event(order.topic, news)
        return True

    worker.log_event(order.topic, {"run": order.run, "events": 0, "simulated_ns": 0.0})
    scratch = Path(worker.local_directory)
    scenario: Unpacked | None = None
    try:
        scenario = unpacked(package, scratch)
        if scenario.sweep.hash(order.run) != order.hash:
            raise AnabranchError(  # noqa: TRY301 - every fault ends here
                f"{order.run}: the scenario is not the client's here: a file that it names by an absolute path differs",
                hint="name data files relative to the scenario",
            )
        made = _make(scenario.sweep, order, scratch, tell)
    except MemoryError:
        return failed("machine", "out of memory")
    except OSError as error:
        return failed("machine", scenario.spelt(str(error)) if scenario else error)
    except Exception as error:  # noqa: BLE001 - it is told, whatever it is
        return failed("run", scenario.spelt(str(error)) if scenario else error)
    entry, files = made
    if json.loads(entry)["status"] == "interrupted":
        return failed("stopped", "it was told to stop")
    return Outcome(order.run, address, entry=entry, files=files)


def _make(
    sweep: core.Sweep, order: Order, scratch: Path, tell: Callable[[str], bool]
) -> tuple[str, Mapping[str, bytes] | None]:
    """Make a run and put it into its place; returns its entry, and its files if they are to be sent back."""
    out = places.place(order.out)
    shared = not places.is_url(out) and (out / order.token).is_file() and os.access(out / "runs", os.W_OK | os.X_OK)
    if shared or places.is_url(out):
        there = _there(out / "runs" / order.run, order.hash)
        if there is not None:
            return there, None
    name = f".{order.run}.{uuid.uuid4().hex[:8]}.part"
    draft = (out / "runs" if shared else Path(tempfile.mkdtemp(prefix="run-", dir=scratch))) / name
    try:
        entry = sweep.run_one(order.run, str(draft), order.limit_s, tell)
        if json.loads(entry)["status"] == "interrupted":
            return entry, None
        if shared:
            return settle(draft, out / "runs" / order.run, entry, order.hash), None
        if places.is_url(out):
            _upload(draft, out / "runs" / order.run)
            return entry, None
        return entry, _packed(draft, order)
    finally:
        shutil.rmtree(draft if shared else draft.parent, ignore_errors=True)


def _there(place: Path, known: str) -> str | None:
    """The entry of a run that is there already: another worker made it, and was lost before it could say so."""
    try:
        with places.answering(place):
            text = (place / FINAL).read_text(encoding="utf-8")
        entry: dict[str, Any] = json.loads(text)
        # One that had reached its limit is of this sweep: those of earlier ones went when it began.
        same = entry["scenario_hash"] == known and entry["status"] in (*manifest.FINAL, "wall_limit")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return text if same else None


def settle(draft: Path, place: Path, entry: str, known: str) -> str:
    """Give a run its place; of two that made the same run the first one counts. Returns the entry that is there."""
    try:
        draft.rename(place)
    except OSError:
        there = _there(place, known)
        if there is None:
            raise
        return there
    return entry


def _files(draft: Path) -> list[Path]:
    """The files of a run, the one that says that it is complete last."""
    files = [path for path in sorted(draft.rglob("*")) if path.is_file()]
    return sorted(files, key=lambda path: path == draft / FINAL)


def _upload(draft: Path, place: Path) -> None:
    """Copy a run into an object store."""
    for file in _files(draft):
        target = place.joinpath(*file.relative_to(draft).parts)
        with places.answering(target):
            target.fs.put_file(str(file), target.path)  # type: ignore[attr-defined]


def _packed(draft: Path, order: Order) -> Mapping[str, bytes]:
    """The files of a run, to be sent back."""
    files = _files(draft)
    size = sum(file.stat().st_size for file in files)
    if size > order.return_bytes:
        raise AnabranchError(
            f"{order.run}: its results, {size} bytes, are too many to be sent back, and this machine does not see "
            f"{order.out}",
            hint="--out with a folder that all machines share, or the URL of an object store",
        )
    return {file.relative_to(draft).as_posix(): file.read_bytes() for file in files}


def unpack(files: Mapping[str, bytes], place: Path, entry: str, known: str) -> str:
    """Write a run that was sent back, and give it its place."""
    draft = place.with_name(f".{place.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        for name, content in files.items():
            target = Path(os.path.normpath(draft / name))
            if not target.is_relative_to(draft) or target == draft:
                raise ClusterError(f"{place.name}: a worker sent a file that leads out of its folder: {name!r}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return settle(draft, place, entry, known)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
