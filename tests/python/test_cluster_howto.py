"""The page about clusters is true: its commands run, with a scheduler's real address in the place of its name."""

from __future__ import annotations

import importlib
import re
import shlex
from typing import TYPE_CHECKING, Any

import clusters
import howtos
import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli.main import app
from anabranch.running.cluster import target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = howtos.ROOT / "docs/how-to/run-on-a-cluster.md"
TEXT = PAGE.read_text(encoding="utf-8")


def files() -> dict[str, str]:
    return dict(re.findall(r"<!-- ([\w.]+) -->\n\n```toml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))


def commands() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


@pytest.fixture(autouse=True)
def _forked() -> Iterator[None]:
    with clusters.forked_workers():
        yield


def test_its_commands_and_its_python_run(tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The report has tests of its own, and takes longer than all else here.
    monkeypatch.setattr(importlib.import_module("anabranch.cli.runs"), "write_report", lambda _: None)
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    lines = commands()
    assert lines[0] == "pip install 'anabranch[cluster]'"
    dask = [line for line in lines if line.startswith("dask ")]
    assert dask == ["dask scheduler", "dask worker tcp://HEAD:8786 --nworkers 2 --nthreads 1"]
    cluster = clusters.Cluster(tmp_path)  # which is the first of them, at a port of the system's choice
    (tmp_path / "shared").mkdir()
    made = {"tcp://HEAD:8786": cluster.address, "s3://BUCKET": bucket, "/shared": str(tmp_path / "shared")}

    def real(text: str) -> str:
        for name, there in made.items():
            text = text.replace(name, there)
        return text

    try:
        worker = cluster.dask(*shlex.split(real(dask[1]))[1:], "--host", "127.0.0.1", "--no-dashboard")
        cluster.workers.append(worker)
        ours = [line for line in lines if line.startswith("anabranch ") and "slurm" not in line]
        assert len(ours) == 4
        for line in ours:
            done = CliRunner().invoke(app, shlex.split(real(line))[1:])
            assert done.exit_code == 0, f"{line}\n{done.output}"
    finally:
        cluster.end()
    alone = anabranch.run("sweep.toml", out="alone", threads=1)
    wanted = clusters.tables(tmp_path / "alone")
    assert len(alone.manifest.runs) == 10
    assert clusters.differing(clusters.tables(tmp_path / "results"), wanted) == []
    assert clusters.differing(clusters.tables(tmp_path / "shared/sweep"), wanted) == []
    assert anabranch.load(f"{bucket}/sweep").flows.equals(alone.flows)
    for code in re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE):
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(code, namespace)
        if "sweep" in namespace:
            assert namespace["sweep"].wait(60)
            assert namespace["sweep"].failed == {}
    assert clusters.differing(clusters.tables(tmp_path / "again"), wanted) == []


def test_its_options_are_read(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(files()["cluster.toml"])
    slurm = target.read("slurm", tmp_path / "cluster.toml")
    assert slurm.workers == 4
    # The page says what is so by default, but for jobs.
    assert slurm.settings == target.Settings(wait_s=target.DEFAULT_WAIT_S)
    assert target.read("local:2", tmp_path / "cluster.toml").options == {"memory_limit": "8GB"}


def test_the_table_names_every_target() -> None:
    for kind in ("local:4", "tcp://", *target.BATCH_SYSTEMS, "ssh:"):
        assert f"`{kind}" in TEXT
