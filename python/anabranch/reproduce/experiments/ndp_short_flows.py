"""Thesis chapter 4, experiment 1: NDP's short flows on a small fat-tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Experiment, Figure, Series, at, cdf, means, ranked, stacked, transports, values_of
from anabranch.reproduce.experiments.common import FCT_MS, GBPS, GOODPUT
from anabranch.styles import SPARE

if TYPE_CHECKING:
    from anabranch.results import Results


def applications(flows: pl.DataFrame, hosts: int) -> pl.DataFrame:
    """Number of sending and of receiving applications at each server, zero where there are none.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``role`` (``sending`` or ``receiving``), ``server`` and ``applications``.
    """
    servers = (
        flows.select("run", "seed")
        .unique(maintain_order=True)
        .join(pl.DataFrame({"server": pl.Series(range(hosts), dtype=pl.UInt32)}), how="cross")
    )
    counts = [
        servers.join(
            flows.group_by("run", pl.col(column).alias("server")).agg(pl.len().alias("applications")),
            on=["run", "server"],
            how="left",
            maintain_order="left",
        ).with_columns(pl.col("applications").fill_null(0), pl.lit(role).alias("role"))
        for role, column in (("sending", "src_host"), ("receiving", "dst_host"))
    ]
    return pl.concat(counts)


def draw_flows(results: Results) -> tuple[Figure, ...]:
    """Figure 6: what the framework records of an experiment."""
    flows = results.flows.filter(at(workload="flows"))
    hosts = [node for node in results.fabric.nodes if node.level == "host"]
    pods = dict(enumerate(node.pod for node in hosts))
    names = sorted({pod for pod in pods.values() if pod is not None})
    from_pods = flows.with_columns(pl.col("src_host").replace_strict(pods, return_dtype=pl.Int64).alias("pod"))
    ndp, rank, server = transports("ndp"), Axis("rank of flow"), Axis("server")
    roles = [
        Series(f"{role} applications", {"role": role}, look)
        for role, look in zip(("sending", "receiving"), SPARE, strict=False)
    ]
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
            applications(flows, len(hosts)),
            roles,
            pl.col("applications").sum(),
            over="server",
            x=server,
            y=Axis("applications"),
            key="d",
            caption="Applications at each server",
        ),
        stacked(
            from_pods.sort("dst_host"),
            values_of("pod", names, lambda pod: f"from pod {pod}"),
            pl.len(),
            over="dst_host",
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
