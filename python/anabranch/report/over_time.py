"""Numbers behind the time series: what was measured in the first seed of each series value, on one grid of times."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import units
from anabranch.comparison import within
from anabranch.report.timeline import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anabranch.comparison import Comparison
    from anabranch.fabric import Fabric
    from anabranch.results import Results

MOMENTS = 240
"""Points of a curve at most."""

SINGLE = 2
"""Links or sessions of a metric that have a row of their own: those with the largest values, all series together."""

MOST_EVENTS = 40
"""Events on the axis; of more, none: they would cover the curves."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured metric: its column value, its unit and what that is, and how rows of it are made.

    Attributes
    ----------
    key
        Value of the column ``metric``.
    unit, scale
        Unit for people, and what a unit is in the table's.
    whole
        Name of the row of all links or sessions, and how their values at one time become one; None: no such row.
    of
        ``link`` or ``session``.
    thinned
        What becomes of several samples that fall on one point.
    instead
        Another metric that says the same: this one is left out if that is there.
    """

    key: str
    unit: str
    scale: float
    whole: tuple[str, Callable[[np.ndarray, int], np.ndarray]] | None
    of: str
    thinned: Callable[[np.ndarray], float] = np.mean
    instead: str = ""


def _largest(values: np.ndarray, _: int) -> np.ndarray:
    return np.asarray(values.max(axis=0))


def _total(values: np.ndarray, _: int) -> np.ndarray:
    return np.asarray(values.sum(axis=0))


def _mean(values: np.ndarray, count: int) -> np.ndarray:
    return np.asarray(values.sum(axis=0) / count)


def _mean_of_open(values: np.ndarray, _: int) -> np.ndarray:
    return np.asarray(values.sum(axis=0) / np.maximum((values > 0).sum(axis=0), 1))


METRICS = (
    Metric("goodput_bps", "Mbps", 1e6, ("Goodput of all sessions", _total), "session"),
    Metric("cwnd_bytes", "KB", 1e3, ("Congestion window, mean of open sessions", _mean_of_open), "session"),
    Metric("queue_packets", "packets", 1.0, ("Longest queue of all links", _largest), "link", np.max),
    Metric("queue_bytes", "KB", 1e3, ("Longest queue of all links", _largest), "link", np.max, instead="queue_packets"),
    Metric("utilisation", "%", 0.01, ("Utilisation, mean of all links", _mean), "link"),
    Metric("bytes", "KB a sample", 1e3, None, "link", instead="utilisation"),
)
"""What ``[measure]`` records, in the order of the page."""

NAMES = {
    "goodput_bps": "Goodput",
    "cwnd_bytes": "Congestion window",
    "queue_packets": "Queue",
    "queue_bytes": "Queue",
    "utilisation": "Utilisation",
    "bytes": "Volume",
}


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of the page: a title, the unit, and a curve for each label."""

    title: str
    unit: str
    curves: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class OverTime:
    """All rows of a sweep point on one axis of times, in nanoseconds, and what happened when."""

    times: np.ndarray
    strips: Sequence[Strip]
    events: Sequence[tuple[float, str]]


def over_time(results: Results, comparison: Comparison, point: Mapping[str, Any]) -> OverTime | None:
    """Gather what was measured over time at a sweep point; None if nothing was.

    Parameters
    ----------
    results
        An experiment.
    comparison
        Its sides.
    point
        The sweep point: a panel of the comparison.
    """
    runs = _first_runs(results, comparison, point)
    intervals = {entry.interval_ns for entry in results.manifest.runs if entry.run in runs.values()}
    interval = next(iter(intervals), None)
    if not runs or len(intervals) > 1 or not interval:
        return None
    keys = [metric.key for metric in METRICS]
    wanted = pl.col("run").is_in(list(runs.values())) & pl.col("metric").is_in([*keys, *SETTINGS])
    rows = results.collect(
        "series", results.scan("series").filter(wanted).select("run", "time_ns", "metric", "id", "value")
    )
    samples = rows.filter(pl.col("metric").is_in(keys))
    if samples.is_empty():
        return None
    count = round(float(samples["time_ns"].max()) / interval)  # type: ignore[arg-type]
    present = set(samples["metric"].unique().to_list())
    names = _Names(results, next(iter(runs.values())))
    strips = [
        strip
        for metric in METRICS
        if metric.key in present and metric.instead not in present
        for strip in _strips(
            metric, samples.filter(pl.col("metric") == metric.key), runs, names, interval=interval, count=count
        )
    ]
    moments = min(MOMENTS, count)
    times = np.cumsum([part.size for part in np.array_split(np.zeros(count), moments)]) * interval
    decisions = rows.filter(pl.col("metric").is_in(list(SETTINGS)) & (pl.col("run") == next(iter(runs.values()))))
    return OverTime(times, strips, _events(results.manifest.scenario_toml, decisions, float(times[-1])))


def _first_runs(results: Results, comparison: Comparison, point: Mapping[str, Any]) -> dict[str, str]:
    """Label of each series value to its run under the first seed."""
    runs = results.runs.filter((pl.col("status") != "interrupted") & within(point, columns=results.runs.columns))
    found = {}
    for value in comparison.values:
        own = runs.filter(pl.col(comparison.series) == value).sort("seed")
        if not own.is_empty():
            found[comparison.look(value).label] = own["run"][0]
    return found


class _Names:
    """What links and sessions are called."""

    def __init__(self, results: Results, run: str) -> None:
        self.fabric: Fabric = results.fabric
        self.count = {"link": 2 * len(self.fabric.links), "session": 0}
        flows = (
            results.scan("flows").filter(pl.col("run") == run).select("session", "src_host", "dst_host", "size_bytes")
        )
        rows = results.collect("flows", flows).unique("session", keep="first", maintain_order=True)
        self.sessions = {row[0]: row[1:] for row in rows.iter_rows()}

    def of(self, kind: str, number: int) -> str:
        if kind == "link":
            return self.fabric.link_name(number)
        if number not in self.sessions:
            return f"session {number}"
        source, destination, size = self.sessions[number]
        return f"session {number}, h{source} → h{destination}, {units.size(size)}"


def _strips(
    metric: Metric, rows: pl.DataFrame, runs: Mapping[str, str], names: _Names, *, interval: float, count: int
) -> list[Strip]:
    """The row of all links or sessions, and those of the largest."""
    matrices = {label: _matrix(rows.filter(pl.col("run") == run), interval, count) for label, run in runs.items()}
    sums: dict[int, float] = {}
    for ids, values in matrices.values():
        for number, value in zip(ids, values.sum(axis=1), strict=True):
            sums[number] = sums.get(number, 0.0) + float(value)
    largest = sorted(sums, key=lambda number: (-sums[number], number))[:SINGLE]
    found = []
    if metric.whole and len(sums) > 1:
        title, of = metric.whole
        curves = {
            label: _thin(of(values, names.count[metric.of]), metric) for label, (ids, values) in matrices.items() if ids
        }
        found.append(_strip(title, metric, curves))
    for number in largest:
        curves = {
            label: _thin(values[ids.index(number)], metric)
            for label, (ids, values) in matrices.items()
            if number in ids
        }
        found.append(_strip(f"{NAMES[metric.key]}, {names.of(metric.of, number)}", metric, curves))
    return found


def _strip(title: str, metric: Metric, curves: Mapping[str, np.ndarray]) -> Strip:
    """A row in the unit that its largest value reads best in."""
    most = max((float(curve.max()) for curve in curves.values()), default=0.0)
    scale, unit = units.rate_unit(most) if metric.key == "goodput_bps" and most else (metric.scale, metric.unit)
    return Strip(title, unit, {label: curve / scale for label, curve in curves.items()})


def _matrix(rows: pl.DataFrame, interval: float, count: int) -> tuple[list[int], np.ndarray]:
    """Links or sessions, and their values at all multiples of the interval: 0 where there is no row."""
    ids = rows["id"].unique().sort().to_list()
    places = {number: place for place, number in enumerate(ids)}
    values = np.zeros((len(ids), count))
    at = (rows["time_ns"].to_numpy() / interval).round().astype(int) - 1
    who = np.array([places[number] for number in rows["id"].to_list()], dtype=int)
    inside = (at >= 0) & (at < count)
    values[who[inside], at[inside]] = rows["value"].to_numpy()[inside]
    return ids, values


def _thin(values: np.ndarray, metric: Metric) -> np.ndarray:
    parts = np.array_split(values, min(MOMENTS, values.size))
    return np.array([float(metric.thinned(part)) for part in parts])


_TIME = re.compile(r"\s*([0-9.eE+]+)\s*(ns|us|µs|ms|s)\s*")
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def _nanoseconds(text: str) -> float | None:
    """Read a scenario's time; None if it is none.

    Examples
    --------
    >>> _nanoseconds("5ms"), _nanoseconds("soon")
    (5000000.0, None)
    """
    found = _TIME.fullmatch(text)
    try:
        return float(found[1]) * _NANOSECONDS[found[2]] if found else None
    except ValueError:
        return None


def _events(scenario: str, decisions: pl.DataFrame, end: float) -> list[tuple[float, str]]:
    """Failures that the scenario lists and what controllers decided, in order of time; none if there are very many."""
    try:
        failures = tomllib.loads(scenario).get("failure", [])
    except tomllib.TOMLDecodeError:
        failures = []
    found = []
    for failure in failures if isinstance(failures, list) else []:
        time = _nanoseconds(str(failure.get("at", "")))
        if time is not None and time <= end:
            found.append((time, f"{failure.get('link') or failure.get('switch')} {failure.get('action')}"))
    steps = decisions.unique(["time_ns", "metric", "value"], maintain_order=True)
    for row in steps.to_dicts() if steps.height <= MOST_EVENTS else []:
        name, unit, scale = SETTINGS[row["metric"]]
        found.append((row["time_ns"], f"{name.lower()} {row['value'] / scale:g} {unit}"))
    return sorted(found) if len(found) <= MOST_EVENTS else []
