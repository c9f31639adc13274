"""Thesis chapter 4, experiment 2: per-flow against per-packet ECMP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, Series, at, by_seed, ratio_by_seed, stacked
from anabranch.styles import Style

if TYPE_CHECKING:
    from anabranch.results import Results

ROUTING = "routing.mode"
WAYS = {"per-flow": "Per-flow ECMP", "per-packet": "Per-packet ECMP"}
"""Values of the swept key, and what people call them."""

# Ports have an order: from dark to light, neighbours a step apart, so that twelve can be told apart in a bar.
PORT_COLOURS = (
    "#173f5f",
    "#1f6f8b",
    "#2a9d8f",
    "#57b894",
    "#8ab17d",
    "#bfc06a",
    "#e9c46a",
    "#f0a95c",
    "#f4865f",
    "#e76f51",
    "#c44536",
    "#8f2d56",
)


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


def draw_ports(results: Results) -> tuple[Figure, ...]:
    """Figure 7: packets received at each port of each core switch."""
    ports = core_ports(results.links)
    series = [
        Series(f"port {port + 1}", {"port": port}, Style(f"port {port + 1}", PORT_COLOURS[port % 12], (), "square"))
        for port in sorted(ports["port"].unique().to_list())
    ]
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


def imbalance(results: Results, mode: str) -> dict[int, float]:
    """Standard deviation of the packets of all ports of the core, over their mean."""
    ports = core_ports(results.links).filter(at(**{ROUTING: mode}))
    return by_seed(ports, pl.col("packets").std(ddof=0) / pl.col("packets").mean())


FIG7 = Experiment(
    name="ndp/fig7",
    title="Per-flow against per-packet ECMP in the core",
    question="How evenly do per-flow and per-packet ECMP load the core?",
    section="chapter 4, experiment 2",
    figures=("7",),
    draw=draw_ports,
    claims=(
        Claim(
            key="balance",
            statement=(
                "per-packet ECMP balances load better than per-flow ECMP: standard deviation over mean of the packets "
                "at core ports, one over the other"
            ),
            where="chapter 4, Fig. 7",
            paper=1.0,
            unit="",
            relation="at most",
            measure=lambda results: ratio_by_seed(imbalance(results, "per-packet"), imbalance(results, "per-flow")),
        ),
    ),
    quick=("fabric.k=6", "workload.flows.arrivals.rate=250", "workload.flows.sessions=625"),
    notes=("The text states no numbers. Packets of all kinds are counted: data, acknowledgements, pulls and headers."),
)
