"""What the runs of an experiment cost when they were recorded: ``docs/fidelity/data/PAPER/FIGURE.cost.json``."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import record
from anabranch.running import speed
from anabranch.running.speed import Times, point_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.results.manifest import Manifest
    from anabranch.running.plan import Plan, PlannedRun


def path(root: Path, experiment: str) -> Path:
    """Where the times of an experiment are, below the repository."""
    return record.path(root, f"{experiment}.cost")


def known(name: str, *, quick: bool) -> Times | None:
    """The recorded times of an experiment in one size, if there are any."""
    file = bundle.locate(path(Path(), name))
    return None if file is None else read(file, quick=quick)


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


def write(file: Path, manifest: Manifest, plan: Plan, *, quick: bool) -> None:
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
        "packets_per_s": round(speed.calibrate()),
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


def threads(runs: Sequence[PlannedRun], asked: int) -> int:
    """How many threads to run these on so that each takes one core: on several, a run costs more."""
    return min(speed.cores(asked), max(1, len(runs)))


def _processor() -> str:
    """Name of the processor, as the system tells it."""
    with suppress(OSError):
        if found := re.search(r"(?m)^model name.*?: *(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return found[1].strip()
    return platform.processor() or platform.machine()
