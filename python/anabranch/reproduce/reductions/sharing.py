"""How flows share a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.rows import Source


def outcast(source: Source, *, samples: str, groups: Mapping[str, str]) -> pl.DataFrame:
    """What each group of an Outcast gets of the bottleneck while both still send.

    Once a group is complete the other has the link to itself, so that its goodput up to its own end would say little of
    how the two shared. What counts is what was delivered until the first group is complete, over that time.

    Parameters
    ----------
    source
        An experiment's results.
    samples
        Goodput of the flows over time.
    groups
        Workload to group.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``transport``, ``group`` (both together have a row of their own) and ``goodput_bps``.
    """
    until = _first_complete(source, groups)
    sampled = source.rows(samples)
    # There is no sample where nothing was delivered; a sample tells of the interval before it.
    interval = sampled["time_ns"].unique().sort().diff().min()
    inside = sampled.join(until, on="run").filter(pl.col("time_ns") < pl.col("until") + interval)
    rate = (pl.col("value").sum() * interval / pl.col("until").first()).alias("goodput_bps")
    keys = ["run", "seed", "transport"]
    each = inside.group_by(*keys, "workload").agg(rate)
    each = each.select(*keys, pl.col("workload").replace_strict(groups).alias("group"), "goodput_bps")
    total = each.group_by(*keys).agg(pl.lit("both groups").alias("group"), pl.col("goodput_bps").sum())
    order = [*groups.values(), "both groups"]
    place = pl.col("group").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
    return pl.concat([each, total]).sort("run", place)


def carried(source: Source, *, groups: Mapping[str, str]) -> pl.DataFrame:
    """What the links to the receivers of each group of an Outcast carry while both still send.

    Unlike `outcast` it does not depend on when receivers deliver: SCDP delivers whole blocks. Headers count, those of
    trimmed packets, too.

    Parameters
    ----------
    source
        An experiment's results, with the volumes of links over time.
    groups
        Workload to group.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``transport``, ``group`` and ``bps``: bits until the first group is complete, over that time.
    """
    results, until = source.results, _first_complete(source, groups)
    flows = results.flows.filter(pl.col("workload").is_in(list(groups)))
    receivers = flows.select("run", "seed", "transport", "workload", dst=pl.format("h{}", "dst_host")).unique()
    links = results.links.select("run", "dst", "link").join(receivers, on=["run", "dst"], maintain_order="left")
    volumes = results.series.filter(pl.col("metric") == "bytes")
    sampled = volumes.select("run", "time_ns", pl.col("id").cast(links["link"].dtype).alias("link"), "value")
    sampled = sampled.join(links, on=["run", "link"], maintain_order="left").join(until, on="run")
    interval = sampled["time_ns"].unique().sort().diff().min()
    inside = sampled.filter(pl.col("time_ns") < pl.col("until") + interval)
    rate = (8e9 * pl.col("value").sum() / pl.col("until").first()).alias("bps")
    keys = ["run", "seed", "transport", "workload"]
    each = inside.group_by(*keys, maintain_order=True).agg(rate)
    return each.with_columns(pl.col("workload").replace_strict(groups).alias("group")).sort("run", "group")


def _first_complete(source: Source, groups: Mapping[str, str]) -> pl.DataFrame:
    """When the first of the groups of a run is complete (``until``); if none ever is, when the run ends."""
    flows = source.results.flows.filter(pl.col("workload").is_in(list(groups)))
    complete = pl.when(pl.col("end_ns").is_null().any()).then(None).otherwise(pl.col("end_ns").max())
    ends = flows.group_by("run", "workload").agg(complete.alias("until"))
    runs = source.results.runs.select("run", "simulated_ns")
    until = ends.group_by("run").agg(pl.col("until").min()).join(runs, on="run")
    return until.select("run", pl.coalesce("until", "simulated_ns").alias("until"))
