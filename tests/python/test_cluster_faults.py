"""What goes wrong in a sweep over Dask, seen without starting Dask: locks, lost reports, memory, interrupts, stores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import clusters
import pytest

import anabranch
from anabranch import core
from anabranch.cluster import work
from anabranch.cluster.destination import Destination

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text(clusters.SCENARIO.replace("repeat = 20", "repeat = 1"))
    return tmp_path / "a.toml"


def destination(scenario: Path, out: Path, overrides: tuple[str, ...] = ()) -> Destination:
    return Destination(out, core.Sweep(str(scenario), overrides, None))


def test_who_finds_a_folder_locked_removes_nothing(scenario: Path, tmp_path: Path) -> None:
    runs = anabranch.plan(scenario).runs
    first, second = destination(scenario, tmp_path / "r"), destination(scenario, tmp_path / "r")
    assert len(first.open(runs, ["one"], resume=False)) == 2
    draft = tmp_path / "r/runs/.p001-s1.deadbeef.part"
    draft.mkdir()
    with pytest.raises(OSError, match="another"):
        second.open(runs, ["two"], resume=True)
    second.close()
    assert draft.is_dir()
    assert (tmp_path / "r" / first.token).is_file()
    first.close()
    assert not draft.exists()


def test_a_run_at_its_limit_takes_its_place_though_its_report_was_lost(scenario: Path, tmp_path: Path) -> None:
    endless = ("workload.0.sessions=20000", "transport.name=ndp", "run.memory_limit=100GB")
    place = destination(scenario, tmp_path / "r", endless)
    (run,) = place.open(anabranch.plan(scenario, endless).runs, ["one"], resume=False)
    order = work.Order(run, place.sweep.hash(run), place.name, place.token, "", core.identity(), 0.05, 0)
    first, _ = work._make(place.sweep, order, tmp_path, lambda _: True)
    assert json.loads(first)["status"] == "wall_limit"
    # Made again: found there; or, if it came there meanwhile, the second one gives way.
    there, _ = work._make(place.sweep, order, tmp_path, lambda _: True)
    assert json.loads(there) == json.loads(first)
    draft = tmp_path / "r/runs/.p000-s1.deadbeef.part"
    draft.mkdir()
    (draft / "run.json").write_text(first)
    settled = work.settle(draft, tmp_path / "r/runs" / run, "{}", order.hash)
    assert json.loads(settled) == json.loads(first)
    place.close()
