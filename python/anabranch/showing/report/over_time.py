"""Numbers behind the time series: what was measured in the first seed of each series value, on one grid of times.

The samples are kept as they were taken, as far as there is room: the page draws few points for many of them, and more
of them where a reader zooms in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.base import units
from anabranch.errors import StatisticsError
from anabranch.results.comparison import within
from anabranch.results.manifest import EMPTY
from anabranch.showing.report import happened
from anabranch.showing.report.timeline import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anabranch.results.comparison import Comparison
    from anabranch.results.tables import Tables

MOMENTS = 240
"""Points of a curve that are drawn at a time, at most."""

MOST_SAMPLES = 20_000_000
"""Sampling times of a run: more than any run keeps, since a manifest may come from someone else."""

MOST_NUMBERS = 1_500_000
"""Samples that are kept of a sweep point, of all curves together; of more, means or maxima of neighbours. Zeros take
next to no room in the file."""

ZERO = 1 / 8
"""What a sample that is zero counts for."""

MOST_DENSE = 20_000_000
"""Samples in memory at a time, zeros included: an interval may be as short as a manifest from elsewhere says."""

SINGLE = 2
"""Links, and sessions, with rows of their own: those with the largest values, all series together."""

TOUCHED = 2
"""As many again of those that a failure touched."""

OFFERED = 24
"""Links, and sessions, that the page offers to choose from, if there is room."""


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
    thinned: Callable[..., Any] = np.mean
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
class Choice:
    """What to show instead of the busiest and those that a failure touched.

    Attributes
    ----------
    links, sessions
        Names of links (``leaf0-spine0`` for both directions, ``leaf0 → spine0`` for one) and numbers of sessions;
        empty: the program chooses.
    begin, end
        Part of the run in nanoseconds; None: from its start, to its end.
    """

    links: tuple[str, ...] = ()
    sessions: tuple[int, ...] = ()
    begin: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of the page.

    Attributes
    ----------
    title, unit
        Name, and unit of the values.
    curves
        Label of a series value to its samples.
    of, who
        ``link`` or ``session`` with its number; empty for all of them.
    thinned
        What becomes of several samples that fall on one point.
    shown
        Whether the row is there from the start; the others can be chosen.
    """

    title: str
    unit: str
    curves: Mapping[str, np.ndarray]
    of: str = ""
    who: int = -1
    thinned: Callable[..., Any] = np.mean
    shown: bool = True


@dataclass(frozen=True, slots=True)
class OverTime:
    """All rows of a sweep point on one grid of times, and what happened when.

    Attributes
    ----------
    begin, step, count
        The first sample is at ``begin + step``, in nanoseconds; the last of `count` at ``begin + count * step``.
    interval
        Nanoseconds between two samples of the run: less than `step` where there was no room for all.
    strips, events
        The rows; times and texts.
    names
        Kind (``link``, ``session``) and number to the name of what the page offers.
    """

    begin: float
    step: float
    count: int
    interval: float
    strips: Sequence[Strip]
    events: Sequence[tuple[float, str]] = ()
    names: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @property
    def times(self) -> np.ndarray:
        """Times of the points that are drawn at first."""
        return self.begin + np.cumsum([part.size for part in _parts(np.zeros(self.count))]) * self.step

    @property
    def rows(self) -> list[Strip]:
        """The rows that are there from the start."""
        return [strip for strip in self.strips if strip.shown]


def _parts(values: np.ndarray) -> list[np.ndarray]:
    return np.array_split(values, min(MOMENTS, max(1, values.size)))


def points(strip: Strip, curve: np.ndarray) -> np.ndarray:
    """The few points of a curve that are drawn at first."""
    return np.array([float(strip.thinned(part)) for part in _parts(curve)])


def over_time(
    results: Tables,
    comparison: Comparison,
    point: Mapping[str, Any],
    choice: Choice | None = None,
    *,
    offered: int = 0,
    most: int = MOST_NUMBERS,
) -> OverTime | None:
    """Gather what was measured over time at a sweep point; None if nothing was.

    Parameters
    ----------
    results
        An experiment.
    comparison
        Its sides.
    point
        The sweep point: a panel of the comparison.
    choice
        What to show; default: the busiest, and what a failure touched.
    offered
        Links, and sessions, to gather besides those that are shown, if there is room.
    most
        Samples to keep.

    Raises
    ------
    StatisticsError
        If there is no such link or session, or nothing in that part of the run.
    """
    choice = choice or Choice()
    runs = first_runs(results, comparison, point)
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
    last = float(samples["time_ns"].max()) / interval  # type: ignore[arg-type]
    if not 0 < last <= MOST_SAMPLES:
        return None
    first = max(0, math.floor((choice.begin or 0.0) / interval))
    count = min(round(last), math.ceil((choice.end or math.inf) / interval) if choice.end else round(last)) - first
    if count <= 0:
        raise StatisticsError("no sample in that part of the run", hint=f"it ends at {units.time(last * interval)}")
    place = ((pl.col("time_ns") / interval).round().cast(pl.Int64) - 1 - first).alias("place")
    samples = samples.with_columns(place).filter(pl.col("place").is_between(0, count - 1))
    if samples.is_empty():
        raise StatisticsError("nothing was measured in that part of the run but zeros")
    run = next(iter(runs.values()))
    failures = happened.failures(results)
    gathered = _Gathered(samples, runs, _Names(results, runs), interval, count)
    picked = gathered.picked(choice, failures, first)
    gathered.coarse = gathered.needed(picked)
    strips = gathered.strips(picked, offered, most)
    size = gathered.group(strips, most)
    step = size * gathered.coarse
    decisions = rows.filter(pl.col("metric").is_in(list(SETTINGS)) & (pl.col("run") == run))
    begin = first * interval
    kept = math.ceil(count / step)
    return OverTime(
        begin=begin,
        step=interval * step,
        count=kept,
        interval=interval,
        strips=[gathered.grouped(strip, size) for strip in strips],
        events=[event for event in happened.events(failures, decisions, begin + count * interval) if event[0] >= begin],
        names={(strip.of, strip.who): gathered.names.of(strip.of, strip.who) for strip in strips if strip.of},
    )


def first_runs(results: Tables, comparison: Comparison, point: Mapping[str, Any]) -> dict[str, str]:
    """Label of each series value to its run under the first seed."""
    runs = results.runs.filter(~pl.col("status").is_in(EMPTY) & within(point, columns=results.runs.columns))
    found = {}
    for value in comparison.values:
        own = runs.filter(pl.col(comparison.series) == value).sort("seed")
        if not own.is_empty():
            found[comparison.look(value).label] = own["run"][0]
    return found


class _Names:
    """What links and sessions of the first run are called; fabrics may differ from sweep point to sweep point."""

    def __init__(self, results: Tables, runs: Mapping[str, str]) -> None:
        run = next(iter(runs.values()))
        links = results.scan("links").filter(pl.col("run") == run).select("link", "src", "dst")
        self.ends: dict[int, tuple[str, str]] = {
            link: (src, dst) for link, src, dst in results.collect("links", links).iter_rows()
        }
        self.links = {link: f"{src} → {dst}" for link, (src, dst) in self.ends.items()}
        flows = results.scan("flows").filter(pl.col("run").is_in(list(runs.values())))
        columns = ("run", "session", "src_host", "dst_host", "size_bytes", "end_ns")
        rows = results.collect("flows", flows.select(columns))
        end = pl.when(pl.col("end_ns").is_null().any()).then(math.inf).otherwise(pl.col("end_ns").max()).alias("end")
        self.ends_of_sessions: dict[str, dict[int, float]] = {}
        for name, session, at in rows.group_by("run", "session", maintain_order=True).agg(end).iter_rows():
            self.ends_of_sessions.setdefault(name, {})[session] = at
        own = rows.filter(pl.col("run") == run).drop("run", "end_ns")
        hosts = own.group_by("session", maintain_order=True).agg(pl.col("dst_host").n_unique().alias("receivers"))
        first = own.unique("session", keep="first", maintain_order=True).join(hosts, on="session")
        self.sessions = {row[0]: row[1:] for row in first.iter_rows()}

    def of(self, kind: str, number: int) -> str:
        if kind == "link":
            return self.links.get(number, f"link {number}")
        if number not in self.sessions:
            return f"session {number}"
        source, destination, size, receivers = self.sessions[number]
        where = f"h{destination}" if receivers == 1 else f"{receivers} hosts"
        return f"session {number}, h{source} → {where}, {units.size(size)}"

    def links_named(self, name: str) -> list[int]:
        """The directed links that a name stands for.

        Raises
        ------
        StatisticsError
            If there is none.
        """
        one = happened.Failure(name, "", "", 0.0)
        found = [link for link, (src, dst) in self.ends.items() if name == f"{src} → {dst}" or one.touches(src, dst)]
        if not found:
            example = next((f"{src}-{dst}" for src, dst in self.ends.values()), "none")
            raise StatisticsError(f"no link {name!r} in this fabric", hint=f"links have names such as {example!r}")
        return found


class _Gathered:
    """The samples of the runs of a sweep point, from which rows are made."""

    def __init__(
        self, samples: pl.DataFrame, runs: Mapping[str, str], names: _Names, interval: float, count: int
    ) -> None:
        self.samples = samples
        self.runs = runs
        self.names = names
        self.interval = interval
        self.count = count
        self.coarse = 1  # samples that become one at once, for want of memory
        present = set(samples["metric"].unique().to_list())
        self.metrics = [metric for metric in METRICS if metric.key in present and metric.instead not in present]

    def picked(
        self, choice: Choice, failures: Sequence[happened.Failure], first: int
    ) -> dict[str, tuple[list[int], list[int]]]:
        """For links and for sessions: those that are shown, and all others, the largest first."""
        found = {}
        kinds = tuple(dict.fromkeys(metric.of for metric in self.metrics))
        for kind, asked_for, keys in (
            ("link", choice.links, "queues = true or links = true"),
            ("session", choice.sessions, "goodput = true"),
        ):
            if asked_for and kind not in kinds:
                raise StatisticsError(f"nothing was measured of {kind}s", hint=f"[measure] with {keys} asks for it")
        for kind in kinds:
            ranked = self._ranked(kind)
            if kind == "link":
                asked = [link for name in choice.links for link in self.names.links_named(name)]
                touched = self._touched_links(ranked, failures)
            else:
                asked = list(choice.sessions)
                touched = self._touched_sessions(failures, first)
            unknown = [number for number in asked if kind == "session" and number not in self.names.sessions]
            if unknown:
                numbers = sorted(self.names.sessions)
                hint = f"they are numbered {numbers[0]} to {numbers[-1]}" if numbers else "there is none"
                raise StatisticsError(f"no session {unknown[0]}", hint=hint)
            busiest = ranked[:SINGLE]
            shown = asked or [*busiest, *[one for one in touched if one not in busiest][:TOUCHED]]
            found[kind] = (list(dict.fromkeys(shown)), [one for one in (*touched, *ranked) if one not in shown])
        return found

    def _ranked(self, kind: str) -> list[int]:
        """Links or sessions by the sum of the first metric that was measured of them."""
        metric = next(metric for metric in self.metrics if metric.of == kind)
        rows = self.samples.filter(pl.col("metric") == metric.key)
        sums = rows.group_by("id").agg(pl.col("value").sum()).sort(["value", "id"], descending=[True, False])
        return [int(number) for number in sums["id"].to_list()]

    def _touched_links(self, ranked: Sequence[int], failures: Sequence[happened.Failure]) -> list[int]:
        """Those that failures are of, in order of time; of a switch the busiest first."""
        order = {number: place for place, number in enumerate(ranked)}
        found = []
        for failure in failures:
            own = [link for link, ends in self.names.ends.items() if failure.touches(*ends)]
            found += sorted(own, key=lambda link: (order.get(link, len(order)), link))
        return list(dict.fromkeys(found))

    def _touched_sessions(self, failures: Sequence[happened.Failure], first: int) -> list[int]:
        """Those whose goodput fell with a failure, in any of the runs."""
        goodput = self.samples.filter(pl.col("metric") == "goodput_bps")
        if goodput.is_empty() or not failures:
            return []
        begin = first * self.interval
        here = [replace(one, at=one.at - begin) for one in failures if one.at >= begin]
        found: list[int] = []
        for run in self.runs.values():
            own = goodput.filter(pl.col("run") == run)
            ends = {session: end - begin for session, end in self.names.ends_of_sessions.get(run, {}).items()}
            found += happened.fallen(here, own, ends, self.interval, self.count)
        return list(dict.fromkeys(found))

    def _values(self, rows: pl.DataFrame) -> np.ndarray:
        """Values at all places; a sample without a row was 0."""
        values = np.zeros(self.count)
        values[rows["place"].to_numpy()] = rows["value"].to_numpy()
        return values

    def needed(self, picked: Mapping[str, tuple[list[int], list[int]]]) -> int:
        """How many samples have to become one for the rows to fit into memory."""
        rows = sum(1 + len(picked[metric.of][0]) for metric in self.metrics)
        return max(1, math.ceil(rows * len(self.runs) * self.count / MOST_DENSE))

    def strips(self, picked: Mapping[str, tuple[list[int], list[int]]], offered: int, most: int) -> list[Strip]:
        """The rows of all links or sessions, of those that are shown, and of others as long as there is room."""
        shown = {kind: here for kind, (here, _) in picked.items()}
        found = {metric.key: self._of_metric(metric, shown[metric.of]) for metric in self.metrics}
        room = most - sum(_numbers(strip) for strips in found.values() for strip in strips)
        for place in range(offered):
            for kind, (_, others) in picked.items():
                more = [
                    self._single(metric, number, shown=False)
                    for number in others[place : place + 1]
                    for metric in self.metrics
                    if metric.of == kind
                ]
                room -= sum(map(_numbers, more))
                if room < 0:
                    return [strip for strips in found.values() for strip in strips]
                for metric, strip in zip((one for one in self.metrics if one.of == kind), more, strict=False):
                    found[metric.key].append(strip)
        return [strip for strips in found.values() for strip in strips]

    def _of_metric(self, metric: Metric, numbers: Iterable[int]) -> list[Strip]:
        rows = self.samples.filter(pl.col("metric") == metric.key)
        found = []
        if metric.whole and rows["id"].n_unique() > 1:
            title, of = metric.whole
            joined = rows.group_by("run", "place").agg(of(max(1, len(self.names.links))).alias("value"))
            found.append(_strip(title, metric, self._curves(metric, joined)))
        return found + [self._single(metric, number, shown=True) for number in numbers]

    def _single(self, metric: Metric, number: int, *, shown: bool) -> Strip:
        rows = self.samples.filter((pl.col("metric") == metric.key) & (pl.col("id") == number))
        title = f"{NAMES[metric.key]}, {self.names.of(metric.of, number)}"
        return _strip(title, metric, self._curves(metric, rows), of=metric.of, who=number, shown=shown)

    def _curves(self, metric: Metric, rows: pl.DataFrame) -> dict[str, np.ndarray]:
        """By label of a run in which the metric was measured at all: a link or session without a row had 0."""
        measured = set(self.samples.filter(pl.col("metric") == metric.key)["run"].unique().to_list())
        return {
            label: _joined(self._values(rows.filter(pl.col("run") == run)), self.coarse, metric.thinned)
            for label, run in self.runs.items()
            if run in measured
        }

    @staticmethod
    def group(strips: Sequence[Strip], most: int) -> int:
        """How many samples become one, so that there is room for all."""
        return max(1, math.ceil(sum(_numbers(strip) for strip in strips) / max(1, most)))

    @staticmethod
    def grouped(strip: Strip, size: int) -> Strip:
        """A row with so many samples joined to one."""
        curves = {label: _joined(curve, size, strip.thinned) for label, curve in strip.curves.items()}
        return replace(strip, curves=curves)


def _joined(curve: np.ndarray, size: int, of: Callable[..., Any]) -> np.ndarray:
    """Join so many neighbours to one; of the last, as many as are left."""
    if size == 1:
        return curve
    whole = curve.size // size * size
    parts: np.ndarray = of(curve[:whole].reshape(-1, size), axis=1)
    return parts if whole == curve.size else np.append(parts, of(curve[whole:]))


def _numbers(strip: Strip) -> float:
    """How much room the samples of a row take."""
    zeros = {label: int(np.count_nonzero(curve == 0)) for label, curve in strip.curves.items()}
    return sum(curve.size - (1 - ZERO) * zeros[label] for label, curve in strip.curves.items())


def _strip(
    title: str,
    metric: Metric,
    curves: Mapping[str, np.ndarray],
    *,
    of: str = "",
    who: int = -1,
    shown: bool = True,
) -> Strip:
    """A row in the unit that its largest value reads best in."""
    most = max((float(curve.max()) for curve in curves.values()), default=0.0)
    scale, unit = units.rate_unit(most) if metric.key == "goodput_bps" and most else (metric.scale, metric.unit)
    scaled = {label: curve / scale for label, curve in curves.items()}
    return Strip(title, unit, scaled, of, who, metric.thinned, shown)
