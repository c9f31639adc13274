"""How fast this machine simulates, and so how long runs will take: measured by running a small scenario.

Runs of which times were recorded, on whatever machine, are predicted from these (`Times`); others from their packets.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import core
from anabranch.running.plan import plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anabranch.running.plan import PlannedRun

TYPICAL = 1e6
"""Packets per second of one core that are assumed where measuring the speed would take longer than the runs."""

SHORT = 3e6
"""Packets of runs that are so short."""

LARGE = 128
"""Hosts of a fabric from which on runs were faster on several cores: a fat-tree of k = 8."""

LONG = 1.0
"""Seconds from which on a run is taken to be faster on several cores."""

GAIN = 1.25
"""How many times as fast a large run is taken to be on several cores. By default two made NDP at k = 8
1.1 to 1.5 times as fast (``benches/RESULTS.md``, ``--spare``)."""


@cache
def calibrate() -> float:
    """Packets that one core of this machine simulates per second: the best of two runs."""
    with as_file(files("anabranch.running").joinpath("assets", "calibration.toml")) as file:
        packets = plan(file).runs[0].packets
        with tempfile.TemporaryDirectory(prefix="anabranch-") as folder:
            times = []
            for turn in range(2):
                out = str(Path(folder) / str(turn))
                made = json.loads(core.call("run", str(file), [], {"out": out, "threads": 1}, None))["runs"][0]
                times.append(float(made["wall_s"] if made["cpu_s"] is None else made["cpu_s"]))
    return packets / max(min(times), 1e-6)


def of(runs: Sequence[PlannedRun]) -> float:
    """The speed to predict these runs with: measured, unless they are short."""
    return calibrate() if sum(run.packets for run in runs) > SHORT else TYPICAL


@dataclass(frozen=True, slots=True)
class Times:
    """Recorded times of the runs of a scenario.

    Attributes
    ----------
    speed
        Packets per second that the machine simulated when they were recorded (`calibrate`).
    seconds
        Sweep point, by its `point_key`, to seconds a run, mean over seeds.
    packets
        Packets of all recorded points, one run each.
    """

    speed: float
    seconds: Mapping[str, float]
    packets: float

    def of(self, run: PlannedRun) -> float:
        """Seconds of a run on that machine: recorded, or as costly for its packets as those that were recorded."""
        known = self.seconds.get(point_key(run.point))
        if known is not None:
            return known
        if self.packets and run.packets:
            return run.packets * sum(self.seconds.values()) / self.packets
        return statistics.mean(self.seconds.values())


def point_key(point: Mapping[str, Any]) -> str:
    """Name a sweep point: JSON with sorted keys."""
    return json.dumps(point, sort_keys=True)


def predict(runs: Sequence[PlannedRun], times: Times | None = None, *, speed: float | None = None) -> dict[str, float]:
    """Predict how many seconds each run takes.

    Parameters
    ----------
    runs
        What is to be run.
    times
        Recorded times, if any.
    speed
        Packets per second of this machine; default: measured, unless the runs are short.
    """
    if speed is None:
        speed = of(runs)
    if times is None or not times.seconds:
        return {run.run: run.packets / speed for run in runs}
    return {run.run: times.of(run) * times.speed / speed for run in runs}


def cores(threads: int) -> int:
    """How many runs are done at a time; 0: one per core that this process may use."""
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared(runs: Iterable[PlannedRun], predicted: Mapping[str, float], threads: int) -> dict[str, float]:
    """Predict what runs take that were predicted for one core each, if the longest share the cores that are left."""
    left = max(0, cores(threads) - len(predicted))
    several = set(sorted(predicted, key=lambda name: -predicted[name])[:left])
    several &= {run.run for run in runs if run.hosts >= LARGE}
    return {name: time / GAIN if name in several and time >= LONG else time for name, time in predicted.items()}


def seconds(each: Sequence[float], threads: int) -> float:
    """How long runs take together: they end when all work is done, and the longest of them."""
    return max(sum(each) / max(1, min(cores(threads), len(each))), max(each, default=0.0))
