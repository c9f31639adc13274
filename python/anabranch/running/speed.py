"""How fast this machine simulates, and so how long runs will take: measured by running a small scenario."""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.base import core
from anabranch.running.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.running.plan import PlannedRun

TYPICAL = 1e6
"""Packets per second of one core that are assumed where measuring the speed would take longer than the runs."""

SHORT = 3e6
"""Packets of runs that are so short."""


@cache
def calibrate() -> float:
    """Packets that one core of this machine simulates per second: the best of two runs."""
    with as_file(files("anabranch.running").joinpath("assets", "calibration.toml")) as file:
        packets = plan(file).runs[0].packets
        with tempfile.TemporaryDirectory(prefix="anabranch-") as folder:
            times = []
            for turn in range(2):
                out = str(Path(folder) / str(turn))
                made = json.loads(core.call("run", str(file), [], None, out, 1, [], False, True, None, None))["runs"][0]  # noqa: FBT003 - by position
                times.append(float(made["wall_s"] if made["cpu_s"] is None else made["cpu_s"]))
    return packets / max(min(times), 1e-6)


def of(runs: Sequence[PlannedRun]) -> float:
    """The speed to predict these runs with: measured, unless they are short."""
    return calibrate() if sum(run.packets for run in runs) > SHORT else TYPICAL


def cores(threads: int) -> int:
    """How many runs are done at a time; 0: one per core."""
    return threads or os.cpu_count() or 1


def seconds(each: Sequence[float], threads: int) -> float:
    """How long runs take together: they end when all work is done, and the longest of them."""
    return max(sum(each) / max(1, min(cores(threads), len(each))), max(each, default=0.0))
