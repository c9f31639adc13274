"""The blocks of barrier-synchronised requests, from the example scenario to their table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import anabranch
from anabranch.results import schema

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
BARRIER = ROOT / "scenarios/examples/barrier.toml"
SMALL = [
    "switch.buffer=85KB",
    "workload.reads.placement.senders=3",
    "workload.reads.barrier.blocks=4",
    'sweep={ "workload.reads.barrier.connections" = ["kept", "new"] }',
]


def test_blocks_load_and_their_number_of_threads_does_not_matter(tmp_path: Path) -> None:
    one, two = (
        anabranch.run(BARRIER, SMALL, out=tmp_path / str(threads), seeds=1, threads=threads) for threads in (1, 2)
    )
    assert one.blocks.equals(two.blocks)
    assert set(schema.BLOCKS) < set(one.blocks.columns)
    kept, new = (one.blocks.filter(pl.col("run") == run).sort("block") for run in ("p000-s1", "p001-s1"))
    for blocks in (kept, new):
        assert blocks["block"].to_list() == [0, 1, 2, 3]
        assert blocks["size_bytes"].to_list() == [3 * 256_000] * 4
        # The client asks for each block as soon as it has the one before.
        assert blocks["start_ns"][1:].to_list() == blocks["end_ns"][:-1].to_list()
    flows = one.flows
    assert flows.filter(pl.col("run") == "p000-s1")["block"].to_list() == [None] * 3
    assert sorted(flows.filter(pl.col("run") == "p001-s1")["block"].to_list()) == sorted([0, 1, 2, 3] * 3)


def test_the_goodput_of_the_reference_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    anabranch.run(BARRIER, [*SMALL, "sweep={}"], out=tmp_path / "results", seeds=1)
    (code,) = re.findall(
        r"^```python\n(blocks.*?)^```", (ROOT / "docs/reference/results.md").read_text(), re.DOTALL | re.MULTILINE
    )
    names = {"anabranch": anabranch, "pl": pl}
    exec(code.replace("blocks.group_by", "goodput = blocks.group_by"), names)
    frame = names["goodput"]
    assert isinstance(frame, pl.DataFrame)
    assert 1e7 < frame[:, -1].item() < 1e9


def test_a_run_without_barriers_has_no_blocks(tmp_path: Path) -> None:
    results = anabranch.run(ROOT / "scenarios/examples/hello.toml", out=tmp_path / "r")
    assert results.blocks.is_empty()
    assert not (tmp_path / "r/runs/p000-s1/blocks.parquet").exists()
