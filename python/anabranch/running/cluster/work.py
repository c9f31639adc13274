"""The worker's side: makes one run and stores its results.

A run is written to a draft folder. Where the worker sees the result folder, the draft is there and is renamed when
complete; to an object store its files are uploaded; otherwise they are sent back to the client.
Errors are returned in an `Outcome`, not raised: the client decides whether to retry.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import uuid
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.base import core, places
from anabranch.errors import AnabranchError, ClusterError, SupersededError
from anabranch.running import outputs
from anabranch.running.cluster.package import Package, Unpacked, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REPORT_EVERY_S = 1.0
"""Seconds between two progress reports of a run."""

ENTRY = "run.json"
"""The file of a run that is written last."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request to make one run.

    Attributes
    ----------
    run, hash
        Its name and its content hash.
    out
        Folder or URL of the results.
    token
        Unique to the sweep. A file of that name is in its folder: a worker that finds it shares the folder. In an
        object store, the lock's.
    topic
        Dask topic of progress reports.
    identity
        Identity of the client's simulator (`anabranch.base.core.identity`).
    return_bytes
        Limit of the bytes that are sent back.
    """

    run: str
    hash: str
    out: str
    token: str
    topic: str
    identity: Mapping[str, str]
    return_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request.

    Attributes
    ----------
    run, worker
        Its name, and the address of the worker.
    entry
        Its entry in the manifest, as JSON; None if it has none.
    files
        Its files by name, if sent back.
    error
        The error message; None if it went well.
    kind
        Cause of the error: ``run`` (it would fail again), ``machine`` (memory, disk), ``skew`` (another simulator) or
        ``stopped`` (cancelled).
    """

    run: str
    worker: str
    entry: str | None = None
    files: Mapping[str, bytes] | None = None
    error: str | None = None
    kind: str = ""


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """Differences of two simulators, in words; None if they give the same results."""
    words = {"version": "version", "model": "model", "sources": "build"}
    differ = [name for name in words if ours[name] != theirs.get(name)]
    if not differ:
        return None
    named = ("version", *(name for name in differ if name != "version"))
    both = [", ".join(f"{words[name]} {one.get(name)}" for name in named) for one in (theirs, ours)]
    return f"it has {both[0]}, this machine {both[1]}"


def make_run(package: Package, request: RunRequest) -> Outcome:
    """Make a run: the task that Dask runs on a worker."""
    from distributed import get_worker  # noqa: PLC0415 - on workers it is there

    worker = get_worker()
    address, key, started = str(worker.address), worker.get_current_task(), time.monotonic()

    def failed(kind: str, error: object) -> Outcome:
        return Outcome(request.run, address, error=str(error) or type(error).__name__, kind=kind)

    differ = differences(request.identity, core.identity())
    if differ is not None:
        return failed("skew", differ)
    reported_at = started

    def report(text: str) -> bool:
        nonlocal reported_at
        # A task that was cancelled leaves the worker's table, or is marked there.
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            return False
        if time.monotonic() - reported_at >= REPORT_EVERY_S:
            reported_at = time.monotonic()
            state = json.loads(text)
            progress = {"run": request.run, "events": state["events"], "simulated_ns": state["simulated_ns"]}
            worker.log_event(request.topic, progress)
        return True

    worker.log_event(request.topic, {"run": request.run, "events": 0, "simulated_ns": 0.0})
    scratch = Path(worker.local_directory)
    scenario: Unpacked | None = None
    try:
        scenario = unpacked(package, scratch)
        if scenario.sweep.hash(request.run) != request.hash:
            raise AnabranchError(  # noqa: TRY301 - handled below, as every error
                f"{request.run}: the scenario differs from the client's: in a file that it names by an absolute path",
                hint="name data files relative to the scenario",
            )
        made = _run_and_store(scenario.sweep, request, scratch, report)
    except MemoryError:
        return failed("machine", "out of memory")
    except OSError as error:
        kind = "stopped" if isinstance(error, SupersededError) else "machine"
        return failed(kind, scenario.with_client_path(str(error)) if scenario else error)
    except Exception as error:  # noqa: BLE001 - the client reports it
        return failed("run", scenario.with_client_path(str(error)) if scenario else error)
    entry, files = made
    if json.loads(entry)["status"] == "interrupted":
        return failed("stopped", "cancelled")
    return Outcome(request.run, address, entry=entry, files=files)


def _run_and_store(
    sweep: core.Sweep, request: RunRequest, scratch: Path, report: Callable[[str], bool]
) -> tuple[str, Mapping[str, bytes] | None]:
    """Make a run and store it; returns its entry, and its files if they are to be sent back."""
    out = places.place(request.out)
    folder = outputs.folder(out)
    shared = not places.is_url(out) and (out / request.token).is_file() and os.access(out / "runs", os.W_OK | os.X_OK)
    visible = shared or places.is_url(out)
    # By a worker that died before its result reached the client.
    there = folder.stored(request.run, request.hash) if visible else None
    if there is not None:
        return there, None
    with ExitStack() as stack:
        folder_of_drafts = out / "runs"
        if not shared:
            own = tempfile.TemporaryDirectory(prefix="run-", dir=scratch, ignore_cleanup_errors=True)
            folder_of_drafts = Path(stack.enter_context(own))
        draft = stack.enter_context(_draft(folder_of_drafts, request.run))
        entry = sweep.run_one(request.run, str(draft), report)
        if json.loads(entry)["status"] == "interrupted":
            return entry, None
        if visible:
            return folder.publish(draft, request.run, request.hash, request.token), None
        return entry, _packed(draft, request)


@contextmanager
def _draft(folder: Path, run: str) -> Iterator[Path]:
    """The folder of a run until it is complete: of this worker alone.

    It goes, unless the run is complete and cannot be stored: then the next command finds it there, or has found it
    already.
    """
    draft = folder / f".{run}.{uuid.uuid4().hex[:8]}.part"
    complete = False
    try:
        yield draft
    except BaseException:
        complete = (draft / ENTRY).is_file()
        raise
    finally:
        if not complete:
            shutil.rmtree(draft, ignore_errors=True)


def _packed(draft: Path, request: RunRequest) -> Mapping[str, bytes]:
    """The content of the files of a run, to be sent back."""
    files = [path for path in draft.rglob("*") if path.is_file()]
    size = sum(file.stat().st_size for file in files)
    if size > request.return_bytes:
        raise AnabranchError(
            f"{request.run}: its results, {size} bytes, are too many to be sent back, and this machine does not see "
            f"{request.out}",
            hint="--out with a folder that all machines share, or the URL of an object store",
        )
    return {file.relative_to(draft).as_posix(): file.read_bytes() for file in files}


def unpack(files: Mapping[str, bytes], out: Path, run: str, known: str) -> str:
    """Write a run that was sent back; returns its entry."""
    with _draft(out / "runs", run) as draft:
        # The entry last: with it, a run is complete.
        for name, content in sorted(files.items(), key=lambda file: file[0] == ENTRY):
            target = Path(os.path.normpath(draft / name))
            if not target.is_relative_to(draft) or target == draft:
                raise ClusterError(f"{run}: a worker sent a file that leads out of its folder: {name!r}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return outputs.folder(out).publish(draft, run, known, None)
