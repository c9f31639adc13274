"""What goes wrong in a sweep over Dask, seen without starting Dask: locks, lost reports, memory, interrupts, stores."""

from __future__ import annotations

import concurrent.futures
import json
import logging
import pickle
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import clusters
import dask
import distributed
import pytest
import upath

import anabranch
from anabranch.base import core
from anabranch.cli.progress import describe
from anabranch.errors import ClusterError, StoreError
from anabranch.running import outputs
from anabranch.running.cluster import dispatch, start, target, work
from anabranch.running.cluster import run as runs_elsewhere
from anabranch.running.cluster.destination import Destination
from anabranch.running.cluster.dispatch import Dispatcher
from anabranch.running.cluster.package import pack
from anabranch.running.cluster.start import Connection
from anabranch.running.cluster.target import Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO.replace("repeat = 20", "repeat = 1"))
    return tmp_path / "a.toml"


class Future:
    """One that never ends."""

    status = "pending"

    def add_done_callback(self, _call: object) -> None:
        pass


class Client:
    """A scheduler that has these workers, which do nothing; it notes what it is asked for."""

    status = "running"
    scheduler = SimpleNamespace(address="tcp://nowhere:1")

    def __init__(self, *workers: dict[str, Any]) -> None:
        self.there = {str(number): {"nthreads": 1, "memory_limit": 0} | one for number, one in enumerate(workers)}
        self.submitted: list[dict[str, Any]] = []
        self.topics: list[str] = []

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:  # noqa: ARG002
        return {"workers": self.there}

    def processing(self) -> dict[str, list[str]]:
        return {address: [] for address in self.there}

    def run(self, *_: object, **__: object) -> dict[str, Any]:
        return {address: core.identity() for address in self.there}

    def submit(self, *_: object, **more: Any) -> Future:  # noqa: ANN401
        self.submitted.append(more)
        return Future()

    def subscribe_topic(self, topic: str, _call: object) -> None:
        self.topics = [topic]

    def unsubscribe_topic(self, topic: str) -> None:
        self.topics.remove(topic)

    def cancel(self, *_: object, **__: object) -> None:
        pass


def connection(*workers: dict[str, Any], wait_s: float | None = None) -> Connection:
    return Connection(Client(*workers), Settings(wait_s=wait_s), None)


def dispatcher(scenario: Path, connected: Connection, place: Destination) -> Dispatcher:
    runs = anabranch.plan(scenario).runs
    return Dispatcher(
        connected, pack(place.sweep, str(scenario), (), {}), place, {run.run: run.hash for run in runs},
        memory={run.run: run.memory_bytes for run in runs},
    )  # fmt: skip


def destination(scenario: Path, out: Path) -> Destination:
    return Destination(out, core.Sweep(str(scenario), ()))


def test_who_finds_a_folder_locked_removes_nothing(scenario: Path, tmp_path: Path) -> None:
    first, second = destination(scenario, tmp_path / "r"), destination(scenario, tmp_path / "r")
    assert len(first.open(["one"], resume=False)) == 2
    draft = tmp_path / "r/runs/.p001-s1.deadbeef.part"
    draft.mkdir()
    with pytest.raises(OSError, match="another"):
        second.open(["two"], resume=True)
    second.close()
    assert draft.is_dir()
    assert (tmp_path / "r" / first.token).is_file()
    first.close()
    assert not draft.exists()


def test_a_run_at_its_limit_takes_its_place_though_its_report_was_lost(scenario: Path, tmp_path: Path) -> None:
    endless = ("workload.0.sessions=20000", "transport.name=ndp", "run.memory_limit=100GB")
    place = Destination(tmp_path / "r", core.Sweep(str(scenario), endless, {"time_limit_wall_s": 0.05}))
    (run,) = place.open(["one"], resume=False)
    request = work.RunRequest(run, place.sweep.hash(run), place.name, place.token, "", core.identity(), 0)
    first, _ = work._run_and_store(place.sweep, request, tmp_path, lambda _: True)
    assert json.loads(first)["status"] == "wall_limit"
    # Made again: found there; or, if it came there meanwhile, the second one gives way.
    there, _ = work._run_and_store(place.sweep, request, tmp_path, lambda _: True)
    assert json.loads(there) == json.loads(first)
    draft = tmp_path / "r/runs/.p000-s1.deadbeef.part"
    draft.mkdir()
    (draft / "run.json").write_text(first)
    settled = outputs.folder(tmp_path / "r").publish(draft, run, request.hash, place.token)
    assert json.loads(settled) == json.loads(first)
    place.close()


def test_runs_that_no_worker_has_the_memory_for_are_an_error_before_anything_runs(scenario: Path) -> None:
    runs = anabranch.plan(scenario).runs
    assert start.most_memory([]) == inf
    assert start.most_memory([{"memory_limit": 0, "resources": {}}, {"memory_limit": 5, "resources": {}}]) == inf
    assert start.most_memory([{"memory_limit": 7, "resources": {"memory": 5}}]) == 5
    with pytest.raises(ClusterError, match=r"p00\d-s1 needs about .* more than 64.0 B; nothing was run"):
        runs_elsewhere._fits(runs, connection({"resources": {"memory": 64}}, {"resources": {"memory": 10}}))
    runs_elsewhere._fits(runs, connection({"resources": {"memory": 64}}, {"resources": {}}))


def test_runs_that_no_worker_takes_end_the_sweep(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0.01)
    monkeypatch.setattr(dispatch, "WORKERS_POLL_S", 0.01)
    monkeypatch.setattr(dispatch, "STOP_TIMEOUT_S", 0.0)
    connected = connection({"resources": {"memory": 64}}, {"resources": {"memory": 10}}, wait_s=0.1)
    sweep = dispatcher(scenario, connected, destination(scenario, tmp_path / "r"))
    with pytest.raises(ClusterError, match=r"no worker has accepted p000-s1 for 0 s, .*: 0 of 2 runs are done"):
        sweep.run(["p000-s1", "p001-s1"], lambda _: True)
    assert connected.client.topics == []
    # No run waits for more than there is.
    reserved = [more["resources"] for more in connected.client.submitted if more.get("resources")]
    assert reserved == [{"memory": 64}, {"memory": 64}]


@pytest.mark.parametrize("resume", [False, True])
def test_a_sweep_without_workers_tells_that_it_waits_and_can_be_interrupted(
    scenario: Path, tmp_path: Path, *, resume: bool
) -> None:
    told: list[Mapping[str, Any]] = []

    def tell(state: Mapping[str, Any]) -> bool:
        told.append(state)
        return len(told) < 3

    results = anabranch.run(scenario, on=connection(), out=tmp_path / "r", progress=tell, resume=resume)
    assert [(state["runs_done"], state["runs_total"], state["threads"]) for state in told] == [(0, 2, 0)] * 3
    assert describe(told[0], 1).endswith("waiting for workers")
    assert [run.status for run in results.manifest.runs] == ["interrupted"] * 2
    sweep = anabranch.sweep(scenario, on=connection(), out=tmp_path / "s", resume=resume)
    clusters.until(lambda: "0 of 2 runs, waiting for workers" in repr(sweep), "nothing told")
    sweep.cancel()
    assert sweep.wait(30)
    assert sweep.results.manifest.runs[0].status == "interrupted"


@pytest.mark.parametrize(("kind", "command"), target.BATCH_SYSTEMS.items())
def test_a_batch_system_that_is_not_there_is_named(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, command: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=f"--on {kind}: this machine has no command `{command}`"):
        anabranch.sweep(scenario, on=kind, out=tmp_path / "r")
    with pytest.raises(ClusterError, match=f"--on {kind}: this machine has no command `{command}`"):
        anabranch.run(scenario, on=kind, out=tmp_path / "r")


def test_a_batch_system_leaves_ctrl_c_to_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sbatch").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("dask_jobqueue")]:
        monkeypatch.delitem(sys.modules, name)
    with concurrent.futures.ThreadPoolExecutor() as thread:
        with pytest.raises(ClusterError, match="must be imported by the main thread"):
            thread.submit(start._jobqueue, "slurm").result()
        before = signal.getsignal(signal.SIGINT)
        start.prepare("slurm")
        assert signal.getsignal(signal.SIGINT) is before
        assert hasattr(thread.submit(start._jobqueue, "slurm").result(), "SLURMCluster")


class GoneError(Exception):
    """What no other library calls so."""


def test_a_store_that_is_away_for_a_moment_costs_nothing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = upath.UPath(f"memory://{tmp_path.name}/r")
    away: list[bool] = []
    whole = type(url.fs)._open

    def opened(*args: Any, **more: Any) -> Any:  # noqa: ANN401
        if away:
            raise GoneError("connection refused")
        return whole(*args, **more)

    monkeypatch.setattr(type(url.fs), "_open", opened)
    place = destination(scenario, cast("Path", url))
    place.open(["one"], resume=False)
    away.append(True)
    place.record_failure("p000-s1", "first")
    away.clear()
    place.record_failure("p001-s1", "second")
    there = json.loads((url / "manifest.json").read_text())
    assert [run["message"] for run in there["runs"]] == ["first", "second"]
    place.close()

    # One that stays away is an error at the end.
    place = destination(scenario, cast("Path", url))
    place.open(["one"], resume=False)
    away.append(True)
    place.record_failure("p000-s1", "first")
    with pytest.raises(StoreError, match=r"memory://.* cannot be reached \(GoneError"):
        place.close()
    # At the beginning, at once; and a worker's error is one of its machine.
    again = destination(scenario, cast("Path", url))
    with pytest.raises(StoreError, match="cannot be reached"):
        again.open(["one"], resume=False)
    with suppress(StoreError):
        again.close()
    away.clear()
    place = destination(scenario, cast("Path", url))
    place.open(["one"], resume=False)
    monkeypatch.setattr(type(url.fs), "put_file", opened)
    away.append(True)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(StoreError, match="cannot be reached"):
        outputs.folder(cast("Path", url)).publish(tmp_path, "p000-s1", "", place.token)
    away.clear()
    place.close()


def test_jobs_may_wait_in_their_queue_as_long_as_it_takes() -> None:
    client = Client()
    assert Connection(client, Settings(), None).wait_for_worker_s == target.DEFAULT_WAIT_S
    assert Connection(client, Settings(), None, queued=True).wait_for_worker_s == inf
    assert Connection(client, Settings(wait_s=5), None, queued=True).wait_for_worker_s == 5
    with pytest.raises(ClusterError, match="no worker came to tcp://nowhere:1 in 0 s"):
        Connection(client, Settings(wait_s=0), None, queued=True).wait_for_workers()
    patient = Connection(client, Settings(), None, queued=True)
    answers = [False, True, True]
    assert not patient.wait_for_workers(answers.pop)
    assert answers == []


def test_nothing_that_belongs_to_the_caller_stays_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    name, level = "distributed.scheduler.allowed-failures", logging.getLogger("distributed").level
    before, seen = dask.config.get(name), []
    monkeypatch.setattr(distributed, "Client", Client)
    monkeypatch.setattr(start, "silence_dask", lambda: pytest.fail("a client's messages are its owner's"))
    client = Client()
    with start.connected(client) as connected:
        assert connected.client is client
    with pytest.raises(ClusterError, match="options for a client"), start.connected(client, "o.toml"):
        pass

    def started(_: target.Target) -> None:
        seen.append(dask.config.get(name))
        raise RuntimeError("no")

    monkeypatch.setattr(start, "_started", started)
    monkeypatch.setattr(start, "silence_dask", lambda: None)
    there = target.Target("local:1", "local", settings=Settings(retries=17))
    with pytest.raises(ClusterError, match="cannot be started"), start.connected(there):
        pass
    assert (seen, dask.config.get(name)) == ([17], before)
    assert logging.getLogger("distributed").level == level


def test_a_folder_that_a_worker_may_not_write_is_written_by_the_client(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = destination(scenario, tmp_path / "r")
    run, _ = place.open(["one"], resume=False)
    request = work.RunRequest(run, place.sweep.hash(run), place.name, place.token, "", core.identity(), 10**9)
    monkeypatch.setattr("os.access", lambda path, _: path != tmp_path / "r/runs")
    _, files = work._run_and_store(place.sweep, request, tmp_path, lambda _: True)
    assert files is not None
    assert {"flows.parquet", "links.parquet", "run.json"} <= files.keys()
    assert list((tmp_path / "r/runs").iterdir()) == []
    place.close()


def test_a_scenario_is_hashed_once(scenario: Path) -> None:
    sweep = core.Sweep(str(scenario), ())
    package = pack(sweep, str(scenario), (), {})
    assert package.digest != pack(sweep, str(scenario), (), {"seeds": 2}).digest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hashlib.sha256", lambda _: pytest.fail("hashed again"))
        there = pickle.loads(pickle.dumps(package))
        assert (there, there.digest) == (package, package.digest)


def test_a_scenario_that_ends_every_worker_ends_the_sweep(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0.0)
    monkeypatch.setattr(dispatch, "STOP_TIMEOUT_S", 0.0)
    monkeypatch.setattr(Future, "status", "error")
    connected = connection({"resources": {}})
    sweep = dispatcher(scenario, connected, destination(scenario, tmp_path / "r"))
    with pytest.raises(ClusterError, match=r"the scenario was lost with its workers 4 times, .*: 0 of 2 runs are done"):
        sweep.run(["p000-s1", "p001-s1"], lambda _: True)


@pytest.mark.parametrize("name", ["../p001-s1/run.json", "/etc/passwd", "a/../../x", "."])
def test_what_a_worker_sends_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(ClusterError, match="leads out of its folder"):
        work.unpack({"run.json": b"{}", name: b""}, tmp_path, "p000-s1", "")
    assert [path.name for path in tmp_path.rglob("*")] == ["runs"]
