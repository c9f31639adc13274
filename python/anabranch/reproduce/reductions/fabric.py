"""What servers and single links carry."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.rows import Source


def applications(source: Source) -> pl.DataFrame:
    """Number of sending and of receiving applications at each server, zero where there are none.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``server``, ``applications`` and ``role``: ``sending`` or ``receiving``.
    """
    flows, servers = source.rows("flows-of-workload"), range(len(_pods(source)))
    return pl.concat(
        _counted(flows, "applications", server=(pl.col(column), servers)).with_columns(pl.lit(role).alias("role"))
        for role, column in (("sending", "src_host"), ("receiving", "dst_host"))
    )


def matrix(source: Source) -> pl.DataFrame:
    """Number of flows from each pod to each server, zero where there are none.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``server``, ``pod`` and ``flows``.
    """
    flows, pods = source.rows("flows-of-workload"), _pods(source)
    pod = pl.col("src_host").cast(pl.Int64).replace_strict(range(len(pods)), pods, return_dtype=pl.Int64)
    return _counted(flows, "flows", server=(pl.col("dst_host"), range(len(pods))), pod=(pod, sorted(set(pods))))


def _pods(source: Source) -> list[int]:
    """Pod of each host."""
    return [node.pod or 0 for node in source.results.fabric.nodes if node.level == "host"]


def _counted(flows: pl.DataFrame, name: str, **by: tuple[pl.Expr, Sequence[int]]) -> pl.DataFrame:
    """How many flows each run has for each combination of these values, so that a count of nothing is a zero."""
    cells = flows.select("run", "seed").unique(maintain_order=True)
    for column, (_, values) in by.items():
        cells = cells.join(pl.DataFrame({column: pl.Series(values, dtype=pl.Int64)}), how="cross")
    keys = (of.cast(pl.Int64).alias(column) for column, (of, _) in by.items())
    counts = flows.group_by("run", *keys).agg(pl.len().alias(name))
    made = cells.join(counts, on=["run", *by], how="left", maintain_order="left")
    return made.with_columns(pl.col(name).fill_null(0))


def behind(source: Source) -> pl.DataFrame:
    """The receivers of writes, with whether they are ``slow`` and whether a slow one is in their group (``held``)."""
    failures = tomllib.loads(source.results.manifest.scenario_toml).get("failure", [])
    names = [failure["link"].split("-")[0] for failure in failures if failure["action"] == "slow"]
    slow = pl.col("dst_host").is_in([int(name.removeprefix("h")) for name in names])
    receivers = source.results.flows.filter(pl.col("workload") == "writes").with_columns(slow.alias("slow"))
    return receivers.with_columns(pl.col("slow").any().over("run", "session").alias("held"))
