"""Thesis chapter 4, experiment 2: per-flow against per-packet ECMP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import (
    Axis,
    Experiment,
    Figure,
    at,
    by_seed,
    ratio_by_seed,
    relative,
    stacked,
    values_of,
)
from anabranch.reproduce.experiments.common import ramp

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

ROUTING = "routing.mode"
WAYS = {"per-flow": "Per-flow ECMP", "per-packet": "Per-packet ECMP"}
"""Values of the swept key, and what people call them."""


def core_ports(links: pl.DataFrame) -> pl.DataFrame:
    """What each port of each core switch received.

    Returns
    -------
    polars.DataFrame
        The rows of the links towards core switches, in the order of switches, and ``switch`` and ``port``: numbers from
        0, ports in the order of the links.
    """
    towards = links.filter(pl.col("dst_level") == "core")
    return towards.with_columns(
        # `core12` is switch 12.
        pl.col("dst").str.extract(r"(\d+)$").cast(pl.Int64).alias("switch"),
        pl.col("link").rank("ordinal").over("run", "dst").cast(pl.Int64).sub(1).alias("port"),
    ).sort("run", "switch", "port")


def draw_ports(results: Tables) -> tuple[Figure, ...]:
    """Figure 7: packets received at each port of each core switch."""
    ports = core_ports(results.links)
    series = ramp(values_of("port", sorted(ports["port"].unique().to_list()), lambda port: f"port {port + 1}"))
    panels = tuple(
        stacked(
            ports.filter(at(**{ROUTING: mode})),
            series,
            pl.col("packets").sum(),
            over=pl.col("switch") + 1,
            x=Axis("core switch"),
            y=Axis("received packets"),
            key=key,
            caption=caption,
        )
        for key, (mode, caption) in zip("ab", WAYS.items(), strict=True)
    )
    caption = (
        f"Per-flow vs per-packet ECMP: received packets at each port of {ports['switch'].n_unique()} core switches"
    )
    return (Figure("7", caption, panels),)


def imbalance(results: Tables, mode: str) -> dict[int, float]:
    """How unequally core switches share a pod's packets: standard deviation over mean, mean over pods.

    A port faces one pod, and pods differ in how much of their traffic leaves them: only equal ports are compared.
    """
    ports = core_ports(results.links).filter(at(**{ROUTING: mode}))
    packets = pl.col("packets").cast(pl.Float64)
    each = ports.group_by("seed", "port").agg((packets.std(ddof=0) / packets.mean()).alias("variation"))
    return by_seed(each, pl.col("variation").mean())


FIG7 = Experiment(
    name="ndp/fig7",
    title="Per-flow against per-packet ECMP in the core",
    question="How evenly do per-flow and per-packet ECMP load the core?",
    section="chapter 4, experiment 2",
    figures=("7",),
    draw=draw_ports,
    claims=(
        relative(
            "balance",
            "per-packet ECMP balances load better than per-flow ECMP: variation of the packets at equal ports of core "
            "switches, one over the other",
            "chapter 4, Fig. 7",
            lambda results: ratio_by_seed(imbalance(results, "per-packet"), imbalance(results, "per-flow")),
        ),
    ),
    quick=("fabric.k=6", "workload.flows.arrivals.rate=250", "workload.flows.sessions=625"),
    notes=("The text states no numbers. Packets of all kinds are counted: data, acknowledgements, pulls and headers."),
)
