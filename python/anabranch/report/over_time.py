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
from anabranch.manifest import EMPTY
from anabranch.report.timeline import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anabranch.comparison import Comparison
    from anabranch.results import Results

MOMENTS = 240
"""Points of a curve at most."""

MOST_SAMPLES = 20_000_000
"""Sampling times of a run: more than any run keeps, since a manifest may come from someone else."""

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
        Name of the row of all links or sessions, and how their values at one time become one, given the number of
        links; None: no such row.
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
    whole: tuple[str, Callable[[int], pl.Expr]] | None
    of: str
    thinned: Callable[[np.ndarray], float] = np.mean
    instead: str = ""


def _largest(_: int) -> pl.Expr:
    return pl.col("value").max()


def _total(_: int) -> pl.Expr:
    return pl.col("value").sum()


def _mean(count: int) -> pl.Expr:
    return pl.col("value").sum() / count


def _mean_of_open(_: int) -> pl.Expr:
    return pl.col("value").filter(pl.col("value") > 0).mean().fill_null(0.0)


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
    if not 0 < count <= MOST_SAMPLES:
        return None
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
    return OverTime(times, strips, _events(_failures(results), decisions, float(times[-1])))


def _first_runs(results: Results, comparison: Comparison, point: Mapping[str, Any]) -> dict[str, str]:
    """Label of each series value to its run under the first seed."""
    runs = results.runs.filter(~pl.col("status").is_in(EMPTY) & within(point, columns=results.runs.columns))
    found = {}
    for value in comparison.values:
        own = runs.filter(pl.col(comparison.series) == value).sort("seed")
        if not own.is_empty():
            found[comparison.look(value).label] = own["run"][0]
    return found


class _Names:
    """What links and sessions of a run are called; fabrics may differ from sweep point to sweep point."""

    def __init__(self, results: Results, run: str) -> None:
        of_run = pl.col("run") == run
        links = results.collect("links", results.scan("links").filter(of_run).select("link", "src", "dst"))
        self.links = {link: f"{src} → {dst}" for link, src, dst in links.iter_rows()}
        flows = results.scan("flows").filter(of_run).select("session", "src_host", "dst_host", "size_bytes")
        rows = results.collect("flows", flows)
        hosts = rows.group_by("session", maintain_order=True).agg(pl.col("dst_host").n_unique().alias("receivers"))
        first = rows.unique("session", keep="first", maintain_order=True).join(hosts, on="session")
        self.sessions = {row[0]: row[1:] for row in first.iter_rows()}

    def of(self, kind: str, number: int) -> str:
        if kind == "link":
            return self.links.get(number, f"link {number}")
        if number not in self.sessions:
            return f"session {number}"
        source, destination, size, receivers = self.sessions[number]
        where = f"h{destination}" if receivers == 1 else f"{receivers} hosts"
        return f"session {number}, h{source} → {where}, {units.size(size)}"


def _strips(
    metric: Metric, rows: pl.DataFrame, runs: Mapping[str, str], names: _Names, *, interval: float, count: int
) -> list[Strip]:
    """The row of all links or sessions, and those of the largest."""
    rows = rows.with_columns(((pl.col("time_ns") / interval).round().cast(pl.Int64) - 1).alias("place"))
    rows = rows.filter(pl.col("place").is_between(0, count - 1))
    sums = rows.group_by("id").agg(pl.col("value").sum()).sort(["value", "id"], descending=[True, False])
    found = []
    if metric.whole and sums.height > 1:
        title, of = metric.whole
        joined = rows.group_by("run", "place").agg(of(max(1, len(names.links))).alias("value"))
        found.append(_strip(title, metric, _curves(metric, joined, runs, count)))
    for number in sums["id"].head(SINGLE).to_list():
        curves = _curves(metric, rows.filter(pl.col("id") == number), runs, count)
        found.append(_strip(f"{NAMES[metric.key]}, {names.of(metric.of, number)}", metric, curves))
    return found


def _curves(metric: Metric, rows: pl.DataFrame, runs: Mapping[str, str], count: int) -> dict[str, np.ndarray]:
    """By label of a run that has any rows: few points for many samples. A sample without a row was 0."""
    curves = {}
    for label, run in runs.items():
        own = rows.filter(pl.col("run") == run)
        if not own.is_empty():
            values = np.zeros(count)
            values[own["place"].to_numpy()] = own["value"].to_numpy()
            parts = np.array_split(values, min(MOMENTS, count))
            curves[label] = np.array([float(metric.thinned(part)) for part in parts])
    return curves


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


def _failures(results: Results) -> list[Mapping[str, Any]]:
    """The failures of a scenario; none where settings or the sweep change them, which its text does not know."""
    manifest = results.manifest
    if any(
        key.partition(".")[0] == "failure"
        for part in (*manifest.overrides, *manifest.sweep)
        for key in part.split(", ")
    ):
        return []
    try:
        found = tomllib.loads(manifest.scenario_toml).get("failure", [])
    except tomllib.TOMLDecodeError:
        return []
    return [failure for failure in found if isinstance(failure, dict)] if isinstance(found, list) else []


def _events(failures: Sequence[Mapping[str, Any]], decisions: pl.DataFrame, end: float) -> list[tuple[float, str]]:
    """Failures and what controllers decided, in order of time; none if there are very many."""
    found = []
    for failure in failures:
        time = _nanoseconds(str(failure.get("at", "")))
        if time is not None and time <= end:
            found.append((time, f"{failure.get('link') or failure.get('switch')} {failure.get('action')}"))
    steps = decisions.unique(["time_ns", "metric", "value"], maintain_order=True)
    for row in steps.to_dicts() if steps.height <= MOST_EVENTS else []:
        name, unit, scale = SETTINGS[row["metric"]]
        found.append((row["time_ns"], f"{name.lower()} {row['value'] / scale:g} {unit}"))
    return sorted(found) if len(found) <= MOST_EVENTS else []
