"""Numbers behind the timelines of single links: what controllers decided, over the queue and the throughput there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anabranch.base.fabric import Fabric
    from anabranch.results.tables import Tables

LINKS = 2
"""Links shown for each run at most."""

MOMENTS = 240
"""Points of a timeline at most."""

ON_QUEUE = {
    "set_marking_threshold_packets": ("marking threshold", "queue_packets"),
    "set_marking_threshold_bytes": ("marking threshold", "queue_bytes"),
    "set_buffer_packets": ("buffer", "queue_packets"),
    "set_buffer_bytes": ("buffer", "queue_bytes"),
}
"""Decisions that are lengths of a queue: their name, and the series that they are to be seen with."""

MOMENTARY = {"set_path_weight": ("weight", 1.0, ""), "set_rate_bps": ("rate", 1e9, " Gbps")}
"""Other decisions about a link: their name, and the unit in which they are told."""

SAMPLED = ("queue_packets", "queue_bytes", "utilisation", "bytes")


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is drawn of a link, times in nanoseconds."""

    link: str
    """Name of the link: ``left → right``."""
    queue: list[tuple[float, float]]
    """Time and length: the largest of the samples up to then."""
    queue_metric: str
    """``queue_packets`` or ``queue_bytes``."""
    throughput: list[tuple[float, float]]
    """Time and share of the link's rate: the mean since the time before."""
    steps: list[tuple[str, float, float]]
    """Name of a setting, time and value, in force until the next."""
    marks: list[tuple[float, str]]
    """Time and text of other decisions."""
    end: float
    """When the last row is."""


def timelines(results: Tables, decisions: pl.DataFrame) -> list[Timeline]:
    """Timelines of the links that were controlled in a run, those with the longest queues first.

    Parameters
    ----------
    results
        Where the samples are.
    decisions
        The decisions of one run.

    Returns
    -------
    list[Timeline]
        At most `LINKS`; none if nothing was sampled.
    """
    about = decisions.filter(pl.col("metric").is_in([*ON_QUEUE, *MOMENTARY]))
    if about.is_empty():
        return []
    run = about["run"][0]
    wanted = (
        (pl.col("run") == run) & pl.col("metric").is_in(SAMPLED) & pl.col("id").is_in(about["id"].unique().to_list())
    )
    samples = results.collect("series", results.scan("series").filter(wanted))
    interval = next((entry.interval_ns for entry in results.manifest.runs if entry.run == run), None)
    if samples.is_empty() or not interval:
        return []
    end = max(float(frame["time_ns"].max()) for frame in (samples, about))  # type: ignore[arg-type]
    links = _longest_queues(about, samples)
    return [_timeline(results.fabric, link, about, samples, interval=interval, end=end) for link in links]


def _longest_queues(about: pl.DataFrame, samples: pl.DataFrame) -> list[int]:
    """The controlled links by the sum of what was seen in their queues; without such samples, by what they carried."""
    chosen: list[int] = []
    for metrics in (("queue_packets", "queue_bytes"), ("utilisation", "bytes")):
        rows = samples.filter(pl.col("metric").is_in(metrics))
        seen = rows.group_by("id").agg(pl.col("value").sum()).sort(["value", "id"], descending=[True, False])
        chosen += [link for link in seen["id"].to_list() if link not in chosen]
    others = about["id"].unique().sort().to_list()
    return (chosen + [link for link in others if link not in chosen])[:LINKS]


def _timeline(
    fabric: Fabric, link: int, about: pl.DataFrame, samples: pl.DataFrame, *, interval: float, end: float
) -> Timeline:
    own = about.filter(pl.col("id") == link).sort("time_ns", maintain_order=True)
    here = samples.filter(pl.col("id") == link)
    rows = own.to_dicts()
    settings = [(*ON_QUEUE[row["metric"]], row["time_ns"], row["value"]) for row in rows if row["metric"] in ON_QUEUE]
    metric = settings[0][1] if settings else "queue_packets"
    steps = [(name, time, value) for name, series, time, value in settings if series == metric]
    marks = [(row["time_ns"], _words(row)) for row in rows if row["metric"] in MOMENTARY]
    cable = fabric.links[link // 2]
    used = _samples(here, "utilisation", interval, end)
    if used is None:
        sent = _samples(here, "bytes", interval, end)
        used = None if sent is None else sent * 8e9 / interval / cable.rate_bps
    queue = _samples(here, metric, interval, end)
    return Timeline(
        link=fabric.link_name(link),
        queue=[] if queue is None else thinned(queue, interval, np.max),
        queue_metric=metric,
        throughput=[] if used is None else thinned(used, interval, np.mean, moments=MOMENTS // 4),
        steps=steps,
        marks=marks,
        end=end,
    )


def _words(row: Mapping[str, Any]) -> str:
    name, scale, unit = MOMENTARY[row["metric"]]
    return f"{name} {row['value'] / scale:g}{unit}"


def _samples(here: pl.DataFrame, metric: str, interval: float, end: float) -> np.ndarray | None:
    """Values at all multiples of the interval; a sample without a row had the value 0. None if there is no row."""
    rows = here.filter(pl.col("metric") == metric)
    if rows.is_empty():
        return None
    values = np.zeros(int(end / interval + 0.5))
    places = (rows["time_ns"].to_numpy() / interval).round().astype(int) - 1
    inside = places < values.size
    values[places[inside]] = rows["value"].to_numpy()[inside]
    return values


def thinned(
    values: np.ndarray, interval: float, of: Callable[[np.ndarray], float], *, moments: int = MOMENTS
) -> list[tuple[float, float]]:
    """Few points for many samples.

    Examples
    --------
    >>> thinned(np.array([1.0, 5.0, 2.0, 0.0]), 10.0, np.max, moments=2)
    [(20.0, 5.0), (40.0, 2.0)]
    """
    if values.size == 0:
        return []
    parts = np.array_split(values, min(moments, values.size))
    ends = np.cumsum([part.size for part in parts]) * interval
    return [(float(time), float(of(part))) for time, part in zip(ends, parts, strict=True)]
