"""Timelines of the ranks of jobs: a row for each rank, coloured by what it did (a Gantt chart)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from anabranch.base import units
from anabranch.results.activities import COMPUTES, NETWORK, SERVER, WAITS, activities
from anabranch.showing.axes import CONFIG, inline, spec_of
from anabranch.showing.report.over_time import first_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.activities import Activities
    from anabranch.showing.report.charts import Charts

COLOURS = {COMPUTES: "#6b7a8f", NETWORK: "#d9822b", SERVER: "#2a9d8f", WAITS: "#e3c9a8"}
"""Where a rank has nothing to do, its row is blank."""

ROW = 11
"""Height of a rank's row, in pixels."""

LEAST = 40
"""Height of a timeline at least."""

RANKS = 32
"""Ranks of a run that are shown at most."""

PARTS = (60, 480)
"""Parts of time of a rank, at least and at most."""

MOST_PARTS = 200_000
"""The same of a page, all ranks of all runs together: what it takes in the file."""


def timelines(charts: Charts, point: Mapping[str, Any], most: int = MOST_PARTS) -> dict[str, Any] | None:
    """Make the timelines of a sweep point, one below the other; None if no operations were recorded.

    Parameters
    ----------
    charts
        The maker of the page's charts.
    point
        The sweep point: a panel of the comparison. Of each value of the series it is the first seed.
    most
        Parts of time of all ranks together, at most.
    """
    runs = first_runs(charts.results, charts.comparison, point)
    parts = max(PARTS[0], min(PARTS[1], most // (RANKS * max(1, len(runs)))))
    made = ((label, activities(charts.results, run, parts=parts, most=RANKS)) for label, run in runs.items())
    found = [(label, one) for label, one in made if one is not None]
    if not found:
        return None
    end = max(one.end for _, one in found)
    begin = min(one.begin for _, one in found)
    rows = [_row(label, one, begin, end, last=place + 1 == len(found)) for place, (label, one) in enumerate(found)]
    whole = alt.vconcat(*rows, spacing=10).resolve_scale(color="shared")
    spec = spec_of(whole)
    spec["config"] = CONFIG
    return spec


def _row(label: str, of: Activities, begin: float, end: float, *, last: bool) -> alt.Chart:
    """The ranks of one run."""
    scale, unit = units.time_unit(end - begin)
    several = len({workload for workload, _ in of.ranks}) > 1
    names = [f"{workload} {rank}" if several else f"rank {rank}" for workload, rank in of.ranks]
    data = [
        {"rank": names[place], "from": (first - begin) / scale, "to": (until - begin) / scale, "does": what}
        for place, first, until, what in of.spans()
    ]
    domain = alt.Scale(domain=[0, (end - begin) / scale], nice=False)
    axis = alt.Axis(labels=last, ticks=last, domain=last)
    key = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    legend = alt.Legend(title=None, orient="top", labelColor="currentColor", labelLimit=300)
    bars = alt.Chart(
        inline(data), title=alt.Title(label, anchor="start", color="currentColor", fontSize=12)
    ).mark_rect()
    drawn: alt.Chart = bars.encode(
        x=alt.X("from:Q", title=f"time since the first operation ({unit})" if last else None, scale=domain, axis=axis),
        x2="to:Q",
        y=alt.Y("rank:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=alt.Axis(grid=False)),
        color=alt.Color("does:N", scale=key, legend=legend),
        tooltip=[
            alt.Tooltip("rank:N"),
            alt.Tooltip("does:N"),
            alt.Tooltip("from:Q", title=f"from ({unit})", format=".4~g"),
            alt.Tooltip("to:Q", title=f"to ({unit})", format=".4~g"),
        ],
    )
    return drawn.properties(height=max(LEAST, ROW * len(names)))
