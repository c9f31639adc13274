"""What a reader must know before trusting a table: incomplete runs, uneven seeds, missing intervals, modelled costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.results import naming, stats
from anabranch.results.manifest import EMPTY
from anabranch.results.remarks import remarked

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

STATUS = {
    "complete": "complete",
    "stalled": "STALLED: flows wait and nothing is scheduled",
    "time_limit": "TIME LIMIT reached before every flow finished",
    "wall_limit": "WALL-CLOCK LIMIT reached: stopped, partial results kept",
    "interrupted": "INTERRUPTED: not finished, no results kept",
    "failed": "FAILED: no results",
}
"""Run status to words."""

NAMED = 3
"""Sweep points that a note names."""


def notes(results: Tables) -> list[str]:
    """List the reservations about an experiment's numbers, the gravest first; empty if there are none."""
    found = []
    incomplete = results.manifest.incomplete
    if incomplete:
        names = ", ".join(f"{run.run} ({run.status})" for run in incomplete[:4])
        more = f" and {len(incomplete) - 4} more" if len(incomplete) > 4 else ""  # noqa: PLR2004 - four fit a line
        found.append(
            f"{len(incomplete)} of {len(results.manifest.runs)} runs did not complete: {names}{more}; "
            "statistics cover the flows that finished"
        )
    found += remarked(run.remarks for run in results.manifest.runs)
    runs = results.runs.filter(~pl.col("status").is_in(EMPTY))
    if runs.is_empty():
        return [*found, "no run has results"]
    seeds = runs.group_by(results.keys).agg(pl.col("seed").unique().sort())["seed"].to_list()
    if any(own != seeds[0] for own in seeds):
        found.append("the sweep points were not run under the same seeds: differences between them may be the seeds'")
    if max(len(own) for own in seeds) == 1:
        found.append("one seed: no interval, since nothing is known of the spread")
    found += _same(results)
    found += _outside(results)
    found += _without_headroom(results)
    models = dict.fromkeys(run.decode_latency for run in results.manifest.runs if run.decode_latency is not None)
    if models:
        found.append(f"decode latency of SCDP's blocks: {'; or '.join(models)}")
    return found


def _outside(results: Tables) -> list[str]:
    """Say how many flows the statistics leave out, for they were requested before or after the measured window."""
    finite = results.scan("flows").filter(~pl.col("background"))
    counted = results.collect("flows", finite.select(pl.len().alias("all"), (~stats.MEASURED).sum().alias("outside")))
    total, outside = counted.row(0)
    if not outside:
        return []
    return [f"{outside} of {total} flows were requested outside of the measured window: no statistic counts them"]


def _without_headroom(results: Tables) -> list[str]:
    """Say how many packets a lossless fabric has lost, and where most of them."""
    lost = pl.col("headroom_drops").sum()
    by_link = results.scan("links").group_by("src", "dst").agg(lost).filter(pl.col("headroom_drops") > 0)
    links = results.collect("links", by_link.sort("headroom_drops", "src", "dst", descending=[True, False, False]))
    if links.is_empty():
        return []
    src, dst, _ = links.row(0)
    count = links["headroom_drops"].sum()
    lost_where = f"{count} packets were lost for want of headroom in a fabric that is to lose none"
    return [f'{lost_where}, most from {src} to {dst}: headroom = "auto" is enough']


def _same(results: Tables) -> list[str]:
    """Say where seeds changed nothing, and what would make them count."""
    same = stats.same_runs(results)
    if not same:
        return []
    # The columns of the runs, since a swept value may be a table or a list.
    keys = [key for key in results.keys if results.runs[key].n_unique() > 1]
    shown = {key: naming.values(results.runs[key].to_list()) for key in keys}
    texts = []
    for seeds, distinct in dict.fromkeys((one.seeds, one.distinct) for one in same):
        names = [
            ", ".join(shown[key][str(one.point[key])] for key in keys)
            for one in same
            if (one.seeds, one.distinct) == (seeds, distinct)
        ]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        where = f" ({'; '.join(names[:NAMED])}{more})" if keys else ""
        runs = "one run" if distinct == 1 else f"{distinct} different runs"
        texts.append(f"{seeds} seeds, {runs}: identical fingerprints{where}")
    return [
        "; ".join(texts) + ". Identical runs are one sample, without an interval if there is no other; what differs by "
        "seed is up to the scenario: random arrivals, starts (`jitter` of synchronised arrivals), sizes or places, or "
        "`host.jitter`"
    ]
