"""An object store loses no run, whenever a client is killed, and one client at a time writes to it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from math import inf
from typing import TYPE_CHECKING, Any, cast

import clusters
import pytest
import upath

import anabranch
from anabranch.base import core, places
from anabranch.errors import AnabranchError, ClusterError, StoreError, SupersededError
from anabranch.running import outputs
from anabranch.running.cluster import work
from anabranch.running.cluster.destination import Destination
from anabranch.running.objects import Objects
from anabranch.running.plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

SMALL = clusters.SCENARIO.replace("repeat = 20", "repeat = 2").replace("sessions = 30", "sessions = 3") + (
    '[measure]\ninterval = "10us"\nlinks = true\n'
)
"""Four runs, of four objects each."""

SWAPPED = SMALL.replace('["ndp", "scdp"]', '["scdp", "ndp"]')
"""The same four runs, each with the name of another."""


LOCK = ".anabranch-lock"
"""The lock's object."""


class KilledError(BaseException):
    """The client is killed; nothing handles it."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An object store in memory."""
    monkeypatch.setattr(places, "OBJECT_STORES", places.OBJECT_STORES | {"memory"})
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))  # clients that are killed leave folders there
    url = upath.UPath(f"memory://{tmp_path.name}/r")
    yield cast("Path", url)
    for file in url.fs.find(url.parent.path) if url.fs.exists(url.parent.path) else ():
        url.fs.rm_file(file)


def destination(scenario: Path, out: Path) -> Destination:
    return Destination(out, core.Sweep(str(scenario), ()))


def fill(scenario: Path, out: Path, scratch: Path) -> None:
    """Run a sweep as a client and a worker do, without Dask."""
    place = destination(scenario, out)
    for run in place.open(["fill"], resume=False):
        known = place.sweep.hash(run)
        request = work.RunRequest(run, known, place.name, place.token, "", core.identity(), 0)
        entry, _ = work._run_and_store(place.sweep, request, scratch, lambda _: True)
        place.record(work.Outcome(run, "", entry=entry), known)
    place.close()


def content(out: Path) -> dict[str, bytes]:
    fs, base = out.fs, out.path  # type: ignore[attr-defined]
    fs.invalidate_cache()
    return {file[len(base) + 1 :]: fs.cat_file(file) for file in fs.find(base)}


def put_back(out: Path, objects: Mapping[str, bytes]) -> None:
    fs = out.fs  # type: ignore[attr-defined]
    fs.rm(fs.find(out.path))  # type: ignore[attr-defined]
    for name, data in objects.items():
        fs.pipe_file((out / name).path, data)  # type: ignore[attr-defined]


def complete(out: Path) -> set[str]:
    """Hashes of the runs that pass for complete, each of which is there in whole."""
    found = outputs.folder(out).finished()
    there = content(out)
    assert {sum(name.startswith(f"runs/{run}/") for name in there) for run in found} == {4}
    return set(found.values())


def unlock(out: Path) -> None:
    out.fs.rm_file((out / LOCK).path)  # type: ignore[attr-defined]


def killed_after(operations: int, act: Callable[[], object], patch: pytest.MonkeyPatch, fs: type) -> bool:
    """Whether something is killed before it changes an object for so many times and one."""
    left = [operations]
    with patch.context() as here:
        for name in ("cp_file", "rm_file", "pipe_file"):
            whole = getattr(fs, name)

            def change(*args: Any, _whole: Any = whole, **more: Any) -> Any:  # noqa: ANN401 - of fsspec
                left[0] -= 1
                if left[0] < 0:
                    raise KilledError
                return _whole(*args, **more)

            here.setattr(fs, name, change)
        try:
            act()
        except KilledError:
            return True
    return False


def test_a_client_that_is_killed_at_any_moment_loses_no_run(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    swapped = tmp_path / "b.toml"
    swapped.write_text(SWAPPED)
    fill(tmp_path / "a.toml", store, tmp_path)
    before, known = content(store), complete(store)
    assert len(known) == 4
    other = {"p000": "p001", "p001": "p000"}
    tables = {name: data for name, data in before.items() if name.endswith("parquet")}
    wanted = {f"runs/{other[name[5:9]]}{name[9:]}": data for name, data in tables.items()}
    fs = type(store.fs)  # type: ignore[attr-defined]

    def resume() -> None:
        place = destination(swapped, store)
        try:
            assert place.open(["resume"], resume=True) == []
        finally:
            # A client that is killed closes nothing; here only what is on this machine.
            if sys.exc_info()[0] is KilledError:
                place.sweep.close()
            else:
                place.close()

    operations = 0
    while killed_after(operations, resume, monkeypatch, fs):
        assert complete(store) == known, operations
        if operations:
            unlock(store)
        # And once more, on the way back.
        if killed_after(operations // 2, resume, monkeypatch, fs):
            assert complete(store) == known, operations
            if operations // 2:
                unlock(store)
            # Nor does a new experiment delete what is aside.
            assert set(outputs.folder(store).finished().values()) == known
            resume()
        after = content(store)
        assert {name: data for name, data in after.items() if name.endswith("parquet")} == wanted, operations
        assert after.keys() == before.keys(), operations
        entry = json.loads(after["runs/p000-s1/run.json"])
        assert (entry["run"], entry["point"]) == ("p000-s1", {"transport.name": "scdp"})
        put_back(store, before)
        operations += 1
    assert operations > 48  # two cycles: six moves of four objects, each copied and removed


CHILD = """
import os, signal, sys
import s3fs
from anabranch.base import core, places
from anabranch.running.cluster.destination import Destination
scenario, url, left = sys.argv[1], sys.argv[2], [int(sys.argv[3])]
whole = s3fs.S3FileSystem.copy
def copy(self, sources, targets, **more):
    left[0] -= 1
    if left[0] < 0:
        whole(self, sources[:1], targets[:1], **more)
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self, sources, targets, **more)
s3fs.S3FileSystem.copy = copy
Destination(places.place(url), core.Sweep(scenario, (), {})).open([], resume=True)
"""


def test_a_client_that_is_killed_while_it_moves_runs_is_followed_by_another(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    (tmp_path / "b.toml").write_text(SWAPPED)
    out = places.place(f"{bucket}/killed")
    fill(tmp_path / "a.toml", out, tmp_path)
    before = content(out)
    line = [sys.executable, "-c", CHILD, str(tmp_path / "b.toml"), str(out), "2"]
    child = subprocess.run(line, check=False, timeout=120, capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    between = content(out)
    assert LOCK in between
    assert any(name.startswith("runs/.p") for name in between)
    told = json.loads(between["manifest.json"])["runs"]
    assert {run["status"] for run in told} == {"interrupted"}  # until they are in their places
    # The process is dead, which this machine knows: its lock holds nobody up.
    place = destination(tmp_path / "b.toml", out)
    assert place.open(["b"], resume=True) == []
    place.close()
    after = content(out)
    assert after.keys() == before.keys()
    for old, new in (("p000-s1", "p001-s1"), ("p000-s2", "p001-s2"), ("p001-s1", "p000-s1"), ("p001-s2", "p000-s2")):
        assert after[f"runs/{new}/flows.parquet"] == before[f"runs/{old}/flows.parquet"]
        walls = [json.loads(one[f"runs/{run}/run.json"])["wall_s"] for one, run in ((before, old), (after, new))]
        assert walls[0] == walls[1]
    assert [run.status for run in anabranch.load(str(out)).manifest.runs] == ["complete"] * 4


def test_one_client_at_a_time_writes(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    out = places.place(f"{bucket}/locked")
    first, second = destination(tmp_path / "a.toml", out), destination(tmp_path / "a.toml", out)
    assert len(first.open(["anabranch", "run"], resume=False)) == 4
    before = content(out)
    with pytest.raises(StoreError, match="another command writes there: ") as error:
        second.open(["other"], resume=True)
    for part in (
        str(out),
        f"process {os.getpid()}",
        os.uname().nodename,
        " UTC (anabranch run)",
        "nothing was touched",
    ):
        assert part in error.value.message
    second.close()
    assert content(out) == before
    # The hint is a command that works.
    assert error.value.hint is not None
    removal = error.value.hint.partition(": ")[2]
    subprocess.run([sys.executable, *shlex.split(removal)[1:]], check=True, timeout=120)
    third = destination(tmp_path / "a.toml", out)
    third.open(["third"], resume=True)
    # The first notices, and writes nothing any more.
    first._checked_at = -inf
    with pytest.raises(ClusterError, match=r"the lock of this sweep was taken by another command: .* \(third\)"):
        first.check()
    between = content(out)
    first.record_failure("p000-s1", "late")
    first.close()
    assert content(out) == between
    third.close()
    assert LOCK not in content(out)


@pytest.mark.parametrize("knows", [True, False])
def test_a_store_without_conditional_writes_is_locked_all_the_same(
    knows: bool, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    fs = type(store.fs)  # type: ignore[attr-defined]
    whole = fs.pipe_file

    def refuses(self: object, path: str, value: bytes, mode: str = "overwrite", **more: object) -> None:
        if mode == "create":
            raise OSError(errno.ENOSYS, "not implemented")
        whole(self, path, value, mode=mode, **more)

    def knows_none(self: object, path: str, value: bytes) -> None:
        whole(self, path, value)

    monkeypatch.setattr(fs, "pipe_file", refuses if knows else knows_none)
    first, second = destination(tmp_path / "a.toml", store), destination(tmp_path / "a.toml", store)
    first.open(["one"], resume=False)
    with pytest.raises(StoreError, match=r"\(one\)"):
        second.open(["two"], resume=False)
    first.close()
    second.open(["two"], resume=False)
    second.close()


def test_a_lock_is_created_under_the_condition_that_there_is_none_wherever_a_file_system_may_know_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs, asked = type(store.fs), []  # type: ignore[attr-defined]
    whole = fs.pipe_file

    def passes_on(self: object, path: str, value: bytes, **more: object) -> None:
        asked.append(more)
        whole(self, path, value, **more)

    monkeypatch.setattr(fs, "pipe_file", passes_on)
    objects = Objects(store)
    objects.create(LOCK, b"first")
    objects.create(LOCK, b"second")
    assert asked == [{"mode": "create"}] * 2
    assert content(store) == {LOCK: b"first"}


def test_a_mistake_in_a_file_system_is_not_taken_for_a_missing_ability(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    whole = type(store.fs).pipe_file  # type: ignore[attr-defined]

    def mistaken(self: object, path: str, value: bytes, mode: str = "overwrite") -> None:
        if mode == "create":
            raise TypeError("'NoneType' object is not subscriptable")
        whole(self, path, value)

    monkeypatch.setattr(type(store.fs), "pipe_file", mistaken)  # type: ignore[attr-defined]
    with pytest.raises(StoreError, match="TypeError: 'NoneType' object"):
        destination(tmp_path / "a.toml", store).open(["a"], resume=False)
    assert content(store) == {}


def test_an_interruption_ends_the_command_whatever_was_going_on(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    place = destination(tmp_path / "a.toml", store)
    run, *_ = place.open(["a"], resume=False)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def record_failure() -> None:
        place.record_failure(run, "it broke")

    place._checked_at = -inf
    for name, act in (("cat_file", place.check), ("pipe_file", record_failure)):
        with monkeypatch.context() as here:
            here.setattr(type(store.fs), name, interrupted)  # type: ignore[attr-defined]
            with pytest.raises(KeyboardInterrupt):
                act()
    place.close()
    assert LOCK not in content(store)


def test_a_lock_that_could_not_be_removed_once_is_removed(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    place = destination(tmp_path / "a.toml", store)
    place.open(["a"], resume=False)
    whole, tries = type(store.fs).rm, []  # type: ignore[attr-defined]

    def rm(self: object, paths: list[str]) -> None:
        tries.append(paths)
        if len(tries) == 1:
            raise TimeoutError("too many requests")
        whole(self, paths)

    monkeypatch.setattr(type(store.fs), "rm", rm)  # type: ignore[attr-defined]
    place.close()
    assert len(tries) == 2
    assert LOCK not in content(store)


def test_an_entry_that_cannot_be_read_is_not_taken_for_a_missing_one(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    fill(tmp_path / "a.toml", store, tmp_path)
    before = content(store)
    fs = type(store.fs)  # type: ignore[attr-defined]
    whole = fs.cat_file

    def cat_file(self: object, path: str, *args: object, **more: object) -> bytes:
        if path.endswith("p000-s1/run.json"):
            raise TimeoutError("too many requests")
        return cast("bytes", whole(self, path, *args, **more))

    with monkeypatch.context() as patch:
        patch.setattr(fs, "cat_file", cat_file)
        with pytest.raises(StoreError, match="too many requests"):
            destination(tmp_path / "a.toml", store).open(["a"], resume=True)
    assert content(store) == before


@pytest.mark.parametrize("where", ["folder", "store"])
def test_runs_that_were_finished_while_it_waited_are_not_lost(where: str, store: Path, tmp_path: Path) -> None:
    out = store if where == "store" else tmp_path / "r"
    (tmp_path / "a.toml").write_text(SMALL)
    (tmp_path / "b.toml").write_text(SMALL.replace("sessions = 3", "sessions = 4"))
    other = destination(tmp_path / "b.toml", out)
    fill(tmp_path / "a.toml", out, tmp_path)
    with pytest.raises(AnabranchError, match=r"holds 4 finished runs .* would be deleted"):
        other.open(["b"], resume=False)
    other.close()
    results = anabranch.load(str(out) if where == "store" else out)
    assert [run.status for run in results.manifest.runs] == ["complete"] * 4
    # With --force it is as it was said.
    other = destination(tmp_path / "b.toml", out)
    assert len(other.open(["b"], resume=False, force=True)) == 4
    other.close()


def test_an_entry_that_cannot_be_deleted_keeps_its_tables(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    fill(tmp_path / "a.toml", store, tmp_path)
    fs = type(store.fs)  # type: ignore[attr-defined]
    whole = fs.rm

    def rm(self: object, paths: list[str]) -> None:
        whole(self, [path for path in paths if not path.endswith("p000-s1/run.json")])

    monkeypatch.setattr(fs, "rm", rm)
    with pytest.raises(StoreError, match=r"p000-s1/run\.json: cannot be deleted"):
        destination(tmp_path / "a.toml", store).open(["a"], resume=False)
    assert {name for name in content(store) if "/p000-s1/" in name and name.endswith(".parquet")}


def test_a_store_is_listed_once_by_who_asks_and_once_by_who_opens_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    fill(tmp_path / "a.toml", store, tmp_path)
    whole, listed = Objects.find, []

    def find(self: Objects, below: str = "") -> list[str]:
        listed.append(below)
        return whole(self, below)

    monkeypatch.setattr(Objects, "find", find)
    planned = plan(tmp_path / "a.toml", ()).runs
    assert set(outputs.check(store, planned, resume=False, force=False).values()) == {run.hash for run in planned}
    assert listed == [""]
    place = destination(tmp_path / "a.toml", store)
    assert place.open(["a"], resume=True) == []
    assert listed == ["", ""]
    place.close()


def test_urls_that_would_be_patterns_are_refused() -> None:
    with pytest.raises(AnabranchError, match=r"s3://bucket/a\[1\]: a URL with one of"):
        places.place("s3://bucket/a[1]")


def test_a_worker_whose_client_is_gone_uploads_nothing(store: Path, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    place = destination(tmp_path / "a.toml", store)
    run, *_ = place.open(["a"], resume=False)
    request = work.RunRequest(run, place.sweep.hash(run), place.name, "an earlier one", "", core.identity(), 0)
    before = content(store)
    with pytest.raises(SupersededError, match="no longer locked by this sweep"):
        work._run_and_store(place.sweep, request, tmp_path, lambda _: True)
    assert content(store) == before
    place.close()


def test_a_worker_whose_client_is_gone_leaves_its_run_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    first, second = destination(tmp_path / "a.toml", tmp_path / "r"), destination(tmp_path / "a.toml", tmp_path / "r")
    run, *others = first.open(["a"], resume=False)
    request = work.RunRequest(run, first.sweep.hash(run), first.name, first.token, "", core.identity(), 0)
    whole = core.Folder.publish

    def publish(self: core.Folder, draft: Path, run: str, known: str, token: str | None) -> str:
        first.close()
        return whole(self, draft, run, known, token)

    with monkeypatch.context() as here:
        here.setattr(core.Folder, "publish", publish)
        with pytest.raises(SupersededError, match="no longer locked by this sweep"):
            work._run_and_store(first.sweep, request, tmp_path, lambda _: True)
    assert sorted(second.open(["b"], resume=True)) == sorted(others)
    second.close()
    assert outputs.folder(tmp_path / "r").finished() == {run: request.hash}


@pytest.mark.parametrize("sent_back", [False, True])
def test_a_complete_run_that_cannot_be_stored_is_left_to_the_next_command(sent_back: bool, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    out = tmp_path / "r"
    place = destination(tmp_path / "a.toml", out)
    run, *others = place.open(["a"], resume=False)
    theirs = out / "runs" / run / "theirs"

    def block(_: str) -> bool:
        theirs.mkdir(parents=True, exist_ok=True)
        return True

    token = "not there" if sent_back else place.token
    request = work.RunRequest(run, place.sweep.hash(run), place.name, token, "", core.identity(), 1 << 20)
    if sent_back:
        entry, files = work._run_and_store(place.sweep, request, tmp_path, block)
        with pytest.raises(OSError, match="not empty"):
            place.record(work.Outcome(run, "", entry=entry, files=files), request.hash)
    else:
        with pytest.raises(OSError, match="not empty"):
            work._run_and_store(place.sweep, request, tmp_path, block)
    assert list(tmp_path.glob("run-*")) == []
    place.close()
    theirs.rmdir()
    theirs.parent.rmdir()
    (draft,) = (out / "runs").iterdir()
    assert (draft / "run.json").is_file()
    second = destination(tmp_path / "a.toml", out)
    assert sorted(second.open(["b"], resume=True)) == sorted(others)
    second.close()
    assert outputs.folder(out).finished() == {run: request.hash}


def test_a_worker_stops_in_the_middle_when_another_client_takes_the_lock(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    place = destination(tmp_path / "a.toml", store)
    run, *_ = place.open(["a"], resume=False)
    request = work.RunRequest(run, place.sweep.hash(run), place.name, place.token, "", core.identity(), 0)
    fs = type(store.fs)  # type: ignore[attr-defined]
    whole = fs.put_file

    def put_file(self: object, *args: object) -> None:
        whole(self, *args)
        unlock(store)

    monkeypatch.setattr(fs, "put_file", put_file)
    with pytest.raises(SupersededError, match="no longer locked by this sweep"):
        work._run_and_store(place.sweep, request, tmp_path, lambda _: True)
    assert len([name for name in content(store) if name.startswith("runs/")]) == 1
    place.close()
