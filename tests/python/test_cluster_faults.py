"""What goes wrong in a sweep over Dask, seen without starting Dask: locks, lost reports, memory, interrupts, stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import clusters
import pytest

import anabranch
from anabranch import core
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
