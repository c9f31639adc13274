"""Sweeps into an object store: an S3 server on loopback, with the bytes of a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import clusters
import polars as pl
import pytest

import anabranch
from anabranch import stats
from anabranch.base import places
from anabranch.errors import AnabranchError, ClusterError
from anabranch.running.cluster import destination

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def workers(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:  # noqa: ARG001 - its settings
    cluster = clusters.Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.work(pause=0.2)
    cluster.ready()
    yield cluster
    cluster.end()


def objects(url: str) -> dict[str, bytes]:
    root = places.place(url)
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path)[len(url) + 1 :]: path.read_bytes() for path in found}


def test_an_object_store_holds_the_bytes_of_a_folder(workers: clusters.Cluster, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO.replace("repeat = 20", "repeat = 3"))
    alone = anabranch.run(tmp_path / "a.toml", out=tmp_path / "r", threads=1)
    url = f"{bucket}/whole"
    seen: list[int] = []

    def tell(state: Mapping[str, Any]) -> bool:
        if 2 <= state["runs_done"] < 6 and not seen:
            seen.append(anabranch.load(url).flows["run"].n_unique())  # what is there can be read meanwhile
        return True

    results = anabranch.run(tmp_path / "a.toml", out=url, on=workers.address, progress=tell)
    assert seen[0] >= 2
    there = objects(url)
    tables = {name: content for name, content in there.items() if name.endswith(".parquet")}
    assert clusters.differing(tables, clusters.tables(tmp_path / "r")) == []
    names = {str(path.relative_to(tmp_path / "r")) for path in (tmp_path / "r").rglob("*") if path.is_file()}
    assert there.keys() == names
    # It reads as a folder does, lazily, too.
    assert results.flows.equals(alone.flows)
    loaded = anabranch.load(url)
    sizes = loaded.scan("flows").group_by("run").agg(pl.col("size_bytes").sum()).collect()
    assert sizes.height == 6
    assert stats.fct_table(loaded).equals(stats.fct_table(alone))

    # Three runs are lost, and one is only half there: these are made again, and no other.
    root = places.place(url)
    for name in ("p000-s1", "p000-s2", "p001-s1"):
        root.fs.rm(f"sweeps/whole/runs/{name}", recursive=True)  # type: ignore[attr-defined]
    (root / "runs/p001-s2/run.json").unlink()
    kept = {
        name: json.loads((root / "runs" / name / "run.json").read_text())["wall_s"] for name in ("p000-s3", "p001-s3")
    }
    anabranch.run(tmp_path / "a.toml", out=url, on=workers.address, resume=True)
    again = objects(url)
    assert again.keys() == names
    assert {name: json.loads(again[f"runs/{name}/run.json"])["wall_s"] for name in kept} == kept

    # A sweep whose points have other numbers finds its runs by their hashes.
    (tmp_path / "b.toml").write_text((tmp_path / "a.toml").read_text().replace('["ndp", "scdp"]', '["scdp", "ndp"]'))
    walls = sorted(json.loads(again[name])["wall_s"] for name in again if name.endswith("run.json"))
    turned = anabranch.run(tmp_path / "b.toml", out=url, on=workers.address, resume=True)
    assert sorted(run.wall_s for run in turned.manifest.runs) == walls
    assert {run.run: run.transport for run in turned.manifest.runs}["p000-s1"] == "scdp"


def test_another_experiment_is_not_deleted(workers: clusters.Cluster, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    url = f"{bucket}/other"
    anabranch.run(tmp_path / "a.toml", ["repeat=1"], out=url, on=workers.address)
    before = objects(url)
    with pytest.raises(AnabranchError, match="would be deleted"):
        anabranch.run(tmp_path / "a.toml", ["repeat=1", "host.jitter=1us"], out=url, on=workers.address)
    assert objects(url) == before
    (places.place(url) / "notes.txt").write_text("mine")
    anabranch.run(tmp_path / "a.toml", ["repeat=1"], out=url, on=workers.address)
    assert (places.place(url) / "notes.txt").read_text() == "mine"
    (places.place(url) / "runs/p000-s1/notes.txt").write_text("mine")
    with pytest.raises(AnabranchError, match="is not part of an experiment"):
        anabranch.run(tmp_path / "a.toml", ["repeat=1"], out=url, on=workers.address)


def test_a_sweep_that_loses_its_lock_stops(
    workers: clusters.Cluster, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    url = f"{bucket}/lost"
    monkeypatch.setattr(destination, "CHECK_EVERY_S", 0.0)

    def tell(state: Mapping[str, Any]) -> bool:
        if state["runs_done"] >= 2:
            (places.place(url) / ".anabranch-lock").unlink(missing_ok=True)
        return True

    with pytest.raises(ClusterError, match="the lock of this sweep was removed; this command has stopped"):
        anabranch.run(tmp_path / "a.toml", ["repeat=4"], out=url, on=workers.address, progress=tell)
    kept = [name for name in objects(url) if name.endswith("run.json")]
    assert 2 <= len(kept) < 8
    results = anabranch.run(tmp_path / "a.toml", ["repeat=4"], out=url, on=workers.address, resume=True)
    assert [run.status for run in results.manifest.runs] == ["complete"] * 8
    assert not any(name.startswith(".") for name in objects(url))


def test_urls_that_are_none_of_an_object_store_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    with pytest.raises(AnabranchError, match="not to sftp://"):
        anabranch.run(tmp_path / "a.toml", out="sftp://host/folder", on="local:1")
    with pytest.raises(AnabranchError, match="threads of this process write into a folder only"):
        anabranch.run(tmp_path / "a.toml", out="s3://bucket/folder")
