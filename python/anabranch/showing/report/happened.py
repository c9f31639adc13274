"""What happened during a run: failures and decisions on the axis of times, and what the failures touched."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.showing.report.timeline import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anabranch.results.tables import Tables

MOST_EVENTS = 40
"""Events on the axis; of more, none: they would cover the curves."""

AROUND = 20
"""Samples before and after a failure of which the means are compared."""

FELL = 0.5
"""Share of its goodput that a session must have lost at a failure to count as touched by it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A change of a link, or of all links of a switch: its names, what happens, and when, in nanoseconds."""

    link: str
    switch: str
    action: str
    at: float

    def touches(self, src: str, dst: str) -> bool:
        """Whether it is one of a directed link, by the names of its ends."""
        if self.switch:
            return self.switch in {src, dst}
        # Names may contain hyphens themselves, and spaces may stand around the one between them.
        ends = {re.sub(r"\s*-\s*", "-", name) for name in (f"{src}-{dst}", f"{dst}-{src}")}
        return re.sub(r"\s*-\s*", "-", self.link.strip()) in ends


_TIME = re.compile(r"\s*([0-9.eE+]+)\s*(ns|us|µs|ms|s)\s*")
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def nanoseconds(text: str) -> float | None:
    """Read a scenario's time; None if it is none.

    Examples
    --------
    >>> nanoseconds("5ms"), nanoseconds("soon")
    (5000000.0, None)
    """
    found = _TIME.fullmatch(text)
    try:
        return float(found[1]) * _NANOSECONDS[found[2]] if found else None
    except ValueError:
        return None


def failures(results: Tables) -> list[Failure]:
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
    listed = [failure for failure in found if isinstance(failure, dict)] if isinstance(found, list) else []
    return list(_known(listed))


def _known(listed: Sequence[Mapping[str, Any]]) -> Iterator[Failure]:
    for failure in listed:
        time = nanoseconds(str(failure.get("at", "")))
        if time is not None:
            link, switch, action = (str(failure.get(key) or "") for key in ("link", "switch", "action"))
            yield Failure(link, switch, action, time)


def events(found: Sequence[Failure], decisions: pl.DataFrame, end: float) -> list[tuple[float, str]]:
    """Failures and what controllers decided, in order of time; none if there are very many."""
    told = [(one.at, f"{one.link or one.switch} {one.action}") for one in found if one.at <= end]
    steps = decisions.unique(["time_ns", "metric", "value"], maintain_order=True)
    for row in steps.to_dicts() if steps.height <= MOST_EVENTS else []:
        name, unit, scale = SETTINGS[row["metric"]]
        told.append((row["time_ns"], f"{name.lower()} {row['value'] / scale:g} {unit}"))
    return sorted(told) if len(told) <= MOST_EVENTS else []


def fallen(
    found: Sequence[Failure], goodput: pl.DataFrame, ends: Mapping[int, float], step: float, count: int
) -> list[int]:
    """Sessions that lost most of their goodput when something failed, those that lost most first.

    Parameters
    ----------
    found
        The failures.
    goodput
        Samples of one run: ``id``, ``place`` (from 0; that at the time ``(place + 1) * step``) and ``value``; a sample
        without a row is 0.
    ends
        Session to the time of its end; infinite if it has none. One that ends soon after a failure is not counted: it
        would look as if it were touched by it.
    step, count
        Nanoseconds between two samples, and their number.
    """
    lost: dict[int, float] = {}
    for failure in found:
        if failure.action == "restore":
            continue
        place = round(failure.at / step)
        was, now = (
            _means(goodput, max(0, begin), min(count, end))
            for begin, end in ((place - AROUND, place), (place, place + AROUND))
        )
        for session, mean in was.items():
            left = now.get(session, 0.0)
            if left < (1 - FELL) * mean and ends.get(session, math.inf) > failure.at + AROUND * step:
                lost[session] = max(lost.get(session, 0.0), mean - left)
    return sorted(lost, key=lambda session: (-lost[session], session))


def _means(goodput: pl.DataFrame, begin: int, end: int) -> dict[int, float]:
    """Session to its mean from a place to another, of those that have any sample there."""
    rows = goodput.filter(pl.col("place") >= begin, pl.col("place") < end)
    sums = rows.group_by("id").agg(pl.col("value").sum() / max(1, end - begin))
    return {int(session): float(mean) for session, mean in sums.iter_rows()}
