"""The list of the papers' experiments, kept in the user's cache: making it takes seconds, and shells ask for it.

What is kept is used as long as no file changes that it was made from: the experiments, their scenarios, their recorded
times, and the simulator. ``anabranch.reproduce`` is imported only to make it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import bundle, cache
from anabranch.errors import AnabranchError
from anabranch.running import speed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anabranch.reproduce.model import Experiment

FORMAT = 1
"""Version of the file."""

FILE = "experiments.json"
"""Its name in the cache."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An experiment in a list.

    Attributes
    ----------
    name, title, figures
        As in `anabranch.reproduce.Experiment`.
    points, runs
        Number of sweep points, and of runs: a point is run under several seeds.
    work, longest
        Packets that this machine would simulate in the time of all runs, and of the longest.
    problem
        Why it cannot be planned; empty if it can.
    """

    name: str
    title: str
    figures: tuple[str, ...]
    points: int = 0
    runs: int = 0
    work: float = 0.0
    longest: float = 0.0
    problem: str = ""

    @property
    def paper(self) -> str:
        """The paper's name, the part before the slash."""
        return self.name.partition("/")[0]

    def under(self, seeds: int) -> Entry:
        """The same with another number of seeds."""
        runs = self.points * seeds
        return replace(self, runs=runs, work=self.work * runs / max(1, self.runs))

    def seconds(self, speed: float, threads: int) -> float:
        """Seconds that it takes with so many runs at a time, at so many packets per second of a core."""
        return max(self.work / max(1, min(threads, self.runs)), self.longest) / speed


def entries(*, quick: bool = False) -> tuple[tuple[Entry, ...], float]:
    """List all experiments in one size.

    Returns
    -------
    tuple[tuple[Entry, ...], float]
        The experiments, in the order of the papers, and the packets per second that a core of this machine simulates.
    """
    key, size = _key(), "quick" if quick else "full"
    kept = _read()
    if kept.get("key") != key:
        kept = {"key": key}
    try:
        return _entries(kept[size]), float(kept["speed"])
    except (KeyError, TypeError, ValueError):  # not there, or somebody else's
        kept[size] = [asdict(entry) for entry in _make(quick=quick)]
        kept["speed"] = _speed()
        cache.write(FILE, json.dumps(kept).encode())
    return _entries(kept[size]), float(kept["speed"])


def _entries(kept: Sequence[Mapping[str, Any]]) -> tuple[Entry, ...]:
    found = tuple(Entry(**{**entry, "figures": tuple(entry["figures"])}) for entry in kept)
    if not found:
        raise ValueError("an empty list")
    return found


def _sources() -> Iterator[Path]:
    """The files that the list is made from."""
    yield from bundle.PACKAGE.glob("_core*.so")
    yield from bundle.PACKAGE.glob("reproduce/**/*.py")
    for home in bundle.places():
        yield from home.glob("scenarios/**/*.*")
        yield from home.glob("docs/fidelity/data/**/*.cost.json")


def _key() -> str:
    """Name the state of those files, and the machine: a home may be shared by several."""
    digest = hashlib.sha256(f"{FORMAT} {platform.node()} {os.cpu_count()}".encode())
    for file in sorted({file.absolute() for file in _sources()}):
        try:
            state = file.stat()
        except OSError:  # a dangling link, such as an editor's lock
            continue
        digest.update(f"{file} {state.st_size} {state.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _read() -> dict[str, Any]:
    try:
        kept = json.loads(cache.read(FILE) or b"")
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def _speed() -> float:
    return speed.calibrate()


def _make(*, quick: bool) -> Iterator[Entry]:
    from anabranch.reproduce import registry  # noqa: PLC0415

    for one in registry.experiments():
        try:
            yield _entry(one, quick=quick)
        except AnabranchError as error:
            yield Entry(one.name, one.title, one.figures, problem=str(error).splitlines()[0])


def _entry(one: Experiment, *, quick: bool) -> Entry:
    from anabranch.reproduce import costs, runner  # noqa: PLC0415
    from anabranch.running import plan as planning  # noqa: PLC0415

    if one.calculate:
        return Entry(one.name, one.title, one.figures)
    times = costs.known(one.name, quick=quick)
    runs = planning.runs(bundle.find(one.file), one.overrides(quick=quick))
    points = [speed.point_key(run.point) for run in runs]
    if times is not None and all(point in times.seconds for point in points):
        each = [times.seconds[point] * times.speed for point in points]
    else:
        plan = runner.prepare(one, Path(), quick=quick).plan
        each = list(speed.predict(plan.runs, times, speed=1.0).values())
    return Entry(one.name, one.title, one.figures, len(set(points)), len(each), sum(each), max(each, default=0.0))
