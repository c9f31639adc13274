"""Sweeps on several processes: the bytes of one thread, whoever dies meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import clusters
import duckdb
import pytest

import anabranch
from anabranch.errors import AnabranchError, ClusterError
from anabranch.running.cluster import start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenario, and what one thread makes of it."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "a.toml").write_text(clusters.SCENARIO)
    anabranch.run(folder / "a.toml", out=folder / "r", threads=1)
    return folder


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[clusters.Cluster]:
    cluster = clusters.Cluster(tmp_path)
    yield cluster
    cluster.end()


def options(folder: Path, **settings: object) -> Path:
    file = folder / "options.toml"
    file.write_text("[sweep]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
    return file


def same(folder: Path, alone: Path) -> None:
    """Check that a folder holds what one thread makes, and nothing else."""
    assert clusters.differing(clusters.tables(folder), clusters.tables(alone / "r")) == []
    assert clusters.entries(folder) == clusters.entries(alone / "r")
    assert (folder / "fabric.json").read_bytes() == (alone / "r" / "fabric.json").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["fabric.json", "manifest.json", "runs"]
    assert len(list((folder / "runs").iterdir())) == 40


def after(done: int, act: Callable[[], object]) -> Callable[[Mapping[str, Any]], bool]:
    """Tells nothing; does something once, when so many runs are done."""
    acts = [act]

    def tell(state: Mapping[str, Any]) -> bool:
        if acts and state["runs_done"] >= done:
            acts.pop()()
        return True

    return tell


def test_a_worker_that_is_killed_costs_nothing(alone: Path, cluster: clusters.Cluster, tmp_path: Path) -> None:
    cluster.work(pause=0.05)
    cluster.work(pause=0.05)
    seen: list[int] = []

    def kill() -> None:
        # What is there can be read while the others go on.
        partial = anabranch.load(tmp_path / "r")
        seen.append(partial.flows["run"].n_unique())
        parts = f"{tmp_path}/r/runs/p*/flows.parquet"
        assert len(duckdb.execute(f"SELECT run, count(*) FROM '{parts}' GROUP BY run").fetchall()) >= 7
        assert {run.status for run in partial.manifest.runs} == {"complete", "interrupted"}
        cluster.workers[0].kill()

    anabranch.run(alone / "a.toml", out=tmp_path / "r", on=cluster.address, progress=after(7, kill))
    assert 7 <= seen[0] < 40
    assert cluster.workers[0].wait(timeout=10) == -9
    same(tmp_path / "r", alone)


def test_a_scheduler_that_is_started_again_goes_on(alone: Path, cluster: clusters.Cluster, tmp_path: Path) -> None:
    cluster.work(pause=0.05)

    def restart() -> None:
        clusters.end(cluster.scheduler)
        clusters.end(cluster.workers[0])
        cluster.start()
        cluster.work()

    made: dict[str, int] = {}

    def note() -> None:
        made.update({path.parent.name: path.stat().st_ino for path in tmp_path.glob("r/runs/p*/run.json")})
        restart()

    results = anabranch.run(alone / "a.toml", out=tmp_path / "r", on=cluster.address, progress=after(5, note))
    same(results.folder, alone)
    # What was there was not made again.
    assert len(made) >= 5
    assert {run: (tmp_path / "r/runs" / run / "run.json").stat().st_ino for run in made} == made


def test_a_scheduler_that_stays_away_is_an_error_and_resume_goes_on(
    alone: Path, cluster: clusters.Cluster, tmp_path: Path
) -> None:
    cluster.work(pause=0.05)
    cluster.ready()

    def end() -> None:
        clusters.end(cluster.scheduler)

    with pytest.raises(ClusterError, match=r"the scheduler has been gone for 1 s: \d+ of 40 runs are done and kept"):
        anabranch.run(
            alone / "a.toml", out=tmp_path / "r", on=cluster.address, on_options=options(tmp_path, wait_s=1),
            progress=after(5, end),
        )  # fmt: skip
    kept = [run for run in anabranch.load(tmp_path / "r").manifest.runs if run.complete]
    assert 5 <= len(kept) < 40
    # On threads of this process, too.
    anabranch.run(alone / "a.toml", out=tmp_path / "r", threads=1, resume=True)
    same(tmp_path / "r", alone)


def test_poisoned_runs_take_no_other_with_them(alone: Path, cluster: clusters.Cluster, tmp_path: Path) -> None:
    poison = {"p000-s3": "panic", "p000-s4": "dies", "p001-s5": "disk", "p001-s6": "memory"}
    cluster.work(preload=clusters.POISON.format(poison=poison, pause=0), nanny=True, threads=2)
    cluster.work(preload=clusters.POISON.format(poison=poison, pause=0), nanny=True)
    results = anabranch.run(alone / "a.toml", out=tmp_path / "r", on=cluster.address)
    failed = {run.run: run for run in results.manifest.runs if run.status == "failed"}
    assert sorted(failed) == sorted(poison)
    assert failed["p000-s3"].message == "run p000-s3: the simulator panicked: index out of bounds"
    assert str(failed["p000-s4"].message).startswith("its worker died")
    assert "No space left on device" in str(failed["p001-s5"].message)
    assert "out of memory" in str(failed["p001-s6"].message)
    assert sum(run.complete for run in results.manifest.runs) == 36
    assert [path.name for path in (tmp_path / "r" / "runs").iterdir() if path.name.startswith(".")] == []
    # What failed has no results, and is made again.
    assert not set(results.flows["run"].unique()) & set(poison)
    anabranch.run(alone / "a.toml", out=tmp_path / "r", threads=1, resume=True)
    same(tmp_path / "r", alone)


def test_another_simulator_on_a_worker_is_an_error_before_anything_runs(
    alone: Path, cluster: clusters.Cluster, tmp_path: Path
) -> None:
    other = (
        "from anabranch.base import core\nours = core.identity()\ncore.identity = lambda: ours | {'sources': 'other'}\n"
    )
    cluster.work()
    cluster.work(preload=other)
    cluster.ready()
    with pytest.raises(ClusterError, match="not all workers have the simulator of this machine") as error:
        anabranch.run(alone / "a.toml", out=tmp_path / "r", on=cluster.address)
    version = anabranch.__version__
    assert f"it has version {version}, build other, this machine version {version}, build " in str(error.value)
    assert "worker tcp://127.0.0.1:" in str(error.value)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.kills)])
def test_kills_at_random_points_cost_nothing(tmp_path: Path, kills: int) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO.replace("repeat = 20", f"repeat = {max(20, 3 * kills)}"))
    alone = anabranch.run(tmp_path / "a.toml", out=tmp_path / "alone", threads=1)
    chance = random.Random(kills)
    killed, due = [0], [2]
    with clusters.forked_workers(), start.connected("local:2") as connection:

        def tell(state: Mapping[str, Any]) -> bool:
            if killed[0] < kills and state["runs_done"] >= due[0]:
                there = [nanny.pid for nanny in connection.cluster.workers.values() if getattr(nanny, "pid", None)]
                with suppress(IndexError, ProcessLookupError):
                    os.kill(chance.choice(there), signal.SIGKILL)
                    killed[0] += 1
                    due[0] += chance.randrange(1, 5)
            return True

        anabranch.run(tmp_path / "a.toml", out=tmp_path / "r", on=connection, progress=tell)
    assert killed == [kills]
    assert clusters.differing(clusters.tables(tmp_path / "r"), clusters.tables(tmp_path / "alone")) == []
    assert clusters.entries(tmp_path / "r") == clusters.entries(tmp_path / "alone")
    assert len(alone.manifest.runs) == 2 * max(20, 3 * kills)


def test_an_unreachable_scheduler_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.running.cluster.start.CONNECT_TIMEOUT_S", 1.0)
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    with pytest.raises(AnabranchError, match="no scheduler answers there"):
        anabranch.run(tmp_path / "a.toml", out=tmp_path / "r", on="tcp://127.0.0.1:1")
    assert not (tmp_path / "r").exists()


def test_results_are_sent_back_where_workers_do_not_see_the_folder(
    alone: Path, cluster: clusters.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.running.cluster.destination import Destination

    cluster.work()
    whole = Destination.open

    def hidden(self: Destination, command: Sequence[str], **more: bool) -> list[str]:
        missing = whole(self, command, **more)
        (self.out / self.token).unlink()
        return missing

    monkeypatch.setattr(Destination, "open", hidden)
    anabranch.run(alone / "a.toml", out=tmp_path / "r", on=cluster.address)
    same(tmp_path / "r", alone)
    # But not whatever their size.
    small = options(tmp_path, return_bytes=100)
    results = anabranch.run(alone / "a.toml", ["repeat=1"], out=tmp_path / "s", on=cluster.address, on_options=small)
    assert {run.status for run in results.manifest.runs} == {"failed"}
    assert "are too many to be sent back" in str(results.manifest.runs[0].message)
    assert json.loads((tmp_path / "s/manifest.json").read_text())["runs"][0]["status"] == "failed"


def test_a_handle_tells_how_far_a_sweep_is_and_stops_it(alone: Path, cluster: clusters.Cluster, tmp_path: Path) -> None:
    import distributed

    cluster.work(pause=0.05)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        sweep = anabranch.sweep(alone / "a.toml", on=client, out=tmp_path / "r")
        clusters.until(lambda: sweep.progress.get("runs_done", 0) >= 3, "no run")
        assert "of 40 runs" in repr(sweep)
        assert '<progress value="' in sweep._repr_html_()
        part = sweep.results
        assert 3 <= part.scan("flows").select("run").unique().collect().height < 40
        sweep.cancel()
        assert sweep.wait(60)
        kept = sum(run.complete for run in sweep.results.manifest.runs)
        assert 3 <= kept < 40
        assert {run.status for run in sweep.results.manifest.runs} == {"complete", "interrupted"}
        assert clusters.tables(tmp_path / "r").items() < clusters.tables(alone / "r").items()
        again = anabranch.sweep(alone / "a.toml", on=client, out=tmp_path / "r", resume=True)
        assert again.wait(60)
        assert again.failed == {}
        assert again.progress["runs_kept"] == kept
    same(tmp_path / "r", alone)
    # On threads of this process it is the same.
    here = anabranch.sweep(alone / "a.toml", threads=1, out=tmp_path / "r", resume=True)
    assert here.wait(60)
    assert here.progress.get("runs_kept", 40) == 40


def test_a_handle_raises_what_went_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.running.cluster.start.CONNECT_TIMEOUT_S", 1.0)
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    sweep = anabranch.sweep(tmp_path / "a.toml", on="tcp://127.0.0.1:1", out=tmp_path / "r")
    with pytest.raises(ClusterError, match="no scheduler answers there"):
        sweep.wait(60)
    assert sweep.failed == {}


def test_endless_runs_are_stopped_and_marked(alone: Path, cluster: clusters.Cluster, tmp_path: Path) -> None:
    cluster.work()
    endless = ["repeat=1", "workload.0.sessions=50000", "transport.name=ndp", "run.memory_limit=100GB"]
    there = anabranch.run(alone / "a.toml", endless, out=tmp_path / "r", on=cluster.address, time_limit_wall_s=0.5)
    here = anabranch.run(alone / "a.toml", endless, out=tmp_path / "h", threads=1, time_limit_wall_s=0.5)
    for results in (there, here):
        (run,) = results.manifest.runs
        assert run.status == "wall_limit"
        assert str(run.message).startswith("stopped after ")
        assert set(results.flows["status"].unique()) == {"wall_limit"}
        assert results.flows["end_ns"].is_not_null().any()
        assert results.flows["end_ns"].is_null().any()
    # Resumed, it is run again.
    again = anabranch.run(alone / "a.toml", endless, out=tmp_path / "h", threads=1, time_limit_wall_s=0.5, resume=True)
    assert (
        again.manifest.runs[0].events != here.manifest.runs[0].events
        or again.manifest.runs[0].wall_s != here.manifest.runs[0].wall_s
    )
