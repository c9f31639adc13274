"""How long an experiment will take, said before it begins.

From the times of recorded runs where there are any, scaled by the speed of this machine; else from the packets of
the plan and that speed. The speed is measured: a small scenario is run on one core (`calibrate`).
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import record
from anabranch.running.speed import calibrate, cores
from anabranch.running.speed import of as speed_of
from anabranch.running.speed import seconds as together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.results.manifest import Manifest
    from anabranch.running.plan import Plan, PlannedRun

__all__ = ["Estimate", "Times", "calibrate", "cores", "estimate", "known", "point_key", "predict", "read", "write"]


@dataclass(frozen=True, slots=True)
class Times:
    """Recorded times of one size of an experiment.

    Attributes
    ----------
    speed
        Packets per second that the machine simulated when they were recorded (`calibrate`).
    seconds
        Sweep point, as JSON, to seconds a run, mean over seeds.
    packets
        Packets of all recorded points, one run each.
    """

    speed: float
    seconds: Mapping[str, float]
    packets: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that runs will take, and how that is known."""

    seconds: float
    runs: int
    recorded: int

    @property
    def how(self) -> str:
        """Where the estimate comes from, in words."""
        if self.recorded == self.runs:
            return "recorded times"
        return "calibration" if not self.recorded else f"recorded times of {self.recorded} runs, calibration"


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
        speed = speed_of(runs)
    return {run.run: _seconds(run, times, speed)[0] for run in runs}


def known(name: str, *, quick: bool) -> Times | None:
    """The recorded times of an experiment in one size, if there are any."""
    file = bundle.locate(record.cost_path(Path(), name))
    return None if file is None else read(file, quick=quick)


def estimate(runs: Sequence[PlannedRun], times: Times | None, *, speed: float, threads: int = 0) -> Estimate:
    """Estimate the time that runs will take.

    Parameters
    ----------
    runs
        What is still to be run.
    times
        Recorded times, if any.
    speed
        Packets per second of this machine.
    threads
        Runs at a time; 0: one per core.
    """
    each = [_seconds(run, times, speed) for run in runs]
    return Estimate(together([seconds for seconds, _ in each], threads), len(each), sum(known for _, known in each))


def _seconds(run: PlannedRun, times: Times | None, speed: float) -> tuple[float, bool]:
    """Seconds of a run, and whether its very point was recorded."""
    if times is None or not times.seconds:
        return run.packets / speed, False
    factor = times.speed / speed
    known = times.seconds.get(point_key(run.point))
    if known is not None:
        return known * factor, True
    # A point that was not recorded: as costly for its packets as the others of its experiment.
    if times.packets and run.packets:
        return run.packets * sum(times.seconds.values()) / times.packets * factor, False
    return statistics.mean(times.seconds.values()) * factor, False


def point_key(point: Mapping[str, Any]) -> str:
    """Name a sweep point: JSON with sorted keys."""
    return json.dumps(point, sort_keys=True)


def read(file: Path, *, quick: bool) -> Times | None:
    """Read the recorded times of one size; None if there are none.

    Raises
    ------
    AnabranchError
        If the file is not a record of costs.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))["sizes"].get("quick" if quick else "full")
        if data is None:
            return None
        seconds = {point_key(run["point"]): float(run["seconds"]) for run in data["runs"]}
        return Times(float(data["packets_per_s"]), seconds, sum(float(run["packets"]) for run in data["runs"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnabranchError(f"{file}: not a record of costs ({type(error).__name__}: {error})") from error


def write(file: Path, manifest: Manifest, plan: Plan, *, quick: bool, speed: float) -> None:
    """Record the times of an experiment's runs, mean over seeds; those of the other size stay."""
    try:
        sizes = json.loads(file.read_text(encoding="utf-8"))["sizes"]
    except (OSError, ValueError, KeyError):
        sizes = {}
    packets = {point_key(run.point): run.packets for run in plan.runs}
    points: dict[str, list[Any]] = {}
    for run in manifest.runs:
        points.setdefault(point_key(run.point), []).append(run)
    sizes["quick" if quick else "full"] = {
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "packets_per_s": round(speed),
        "runs": [
            {
                "point": dict(runs[0].point),
                "packets": packets.get(key, 0),
                "events": round(statistics.mean(run.events for run in runs)),
                "seconds": round(statistics.mean(run.cost_s for run in runs), 3),
            }
            for key, runs in points.items()
        ],
    }
    record.write_json(file, {"schema": record.SCHEMA, "sizes": dict(sorted(sizes.items()))})


def _processor() -> str:
    """Name of the processor, as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
