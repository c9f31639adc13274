"""Thesis chapter 4, experiment 1: NDP's short flows on a small fat-tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Experiment, Figure, at, cdf, means, ranked, stacked, transports, values_of
from anabranch.reproduce.experiments.common import FCT_MS, GBPS, GOODPUT, apart, ramp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.tables import Tables


def applications(flows: pl.DataFrame, hosts: int) -> pl.DataFrame:
    """Number of sending and of receiving applications at each server, zero where there are none.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``server``, ``applications`` and ``role``: ``sending`` or ``receiving``.
    """
    servers = _each(flows, {"server": range(hosts)})
    return pl.concat(
        servers.join(
            flows.group_by("run", pl.col(column).cast(pl.Int64).alias("server")).agg(pl.len().alias("applications")),
            on=["run", "server"],
            how="left",
            maintain_order="left",
        ).with_columns(pl.col("applications").fill_null(0), pl.lit(role).alias("role"))
        for role, column in (("sending", "src_host"), ("receiving", "dst_host"))
    )


def matrix(flows: pl.DataFrame, pods: Sequence[int]) -> pl.DataFrame:
    """Number of flows from each pod to each server, zero where there are none.

    Parameters
    ----------
    flows
        The flows.
    pods
        Pod of each host.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``server``, ``pod`` and ``flows``.
    """
    cells = _each(flows, {"server": range(len(pods)), "pod": sorted(set(pods))})
    pod = pl.col("src_host").cast(pl.Int64).replace_strict(range(len(pods)), list(pods), return_dtype=pl.Int64)
    counts = flows.group_by("run", pod.alias("pod"), pl.col("dst_host").cast(pl.Int64).alias("server"))
    return cells.join(
        counts.agg(pl.len().alias("flows")), on=["run", "server", "pod"], how="left", maintain_order="left"
    ).with_columns(pl.col("flows").fill_null(0))


def _each(flows: pl.DataFrame, values: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    """A row for each run and combination of values, so that a count of nothing is a zero."""
    rows = flows.select("run", "seed").unique(maintain_order=True)
    for name, numbers in values.items():
        rows = rows.join(pl.DataFrame({name: pl.Series(numbers, dtype=pl.Int64)}), how="cross")
    return rows


def draw_flows(results: Tables) -> tuple[Figure, ...]:
    """Figure 6: what the framework records of an experiment."""
    flows = results.flows.filter(at(workload="flows"))
    pods = [node.pod or 0 for node in results.fabric.nodes if node.level == "host"]
    ndp, rank, server = transports("ndp"), Axis("rank of flow"), Axis("server")
    roles = values_of("role", ("sending", "receiving"), "{} applications")
    senders = values_of("pod", sorted(set(pods)), lambda pod: f"from pod {pod}")
    panels = (
        ranked(flows, ndp, GBPS, x=rank, y=GOODPUT, key="a", caption="Goodput"),
        cdf(flows, ndp, FCT_MS, x=Axis("FCT (ms)"), key="b", caption="FCT"),
        ranked(
            flows,
            ndp,
            pl.col("packets_trimmed"),
            x=rank,
            y=Axis("received headers"),
            key="c",
            caption="Trimmed packets per flow",
        ),
        means(
            applications(flows, len(pods)),
            apart(roles, 2),
            pl.col("applications").sum(),
            over="server",
            x=server,
            y=Axis("applications"),
            key="d",
            caption="Applications at each server",
        ),
        stacked(
            matrix(flows, pods),
            ramp(senders),
            pl.col("flows").sum(),
            over="server",
            x=Axis("receiving server"),
            y=Axis("flows"),
            key="e",
            caption="Traffic matrix",
        ),
    )
    return (Figure("6", "2000 NDP short flows (150KB each) in a 6-FatTree (54 servers)", panels, columns=3),)


FIG6 = Experiment(
    name="ndp/fig6",
    title="2000 short flows on a 54-host fat-tree",
    question="What does NDP give 2000 short flows on a small fat-tree?",
    section="chapter 4, experiment 1",
    figures=("6a", "6b", "6c", "6d", "6e"),
    draw=draw_flows,
    quick=("fabric.k=4", "workload.flows.arrivals.rate=600", "workload.flows.sessions=320"),
    notes=(
        'The text states no numbers: "most flows achieved very high goodput and low Flow Completion Times". It has one '
        "seed. Panel c counts the packets that switches trimmed: each header reaches the receiver unless it is "
        "dropped. Panel e shows the traffic matrix by the pod of the sender."
    ),
)
