"""Thesis chapter 4, experiment 3: NDP's goodput over the initial window, the size of flows and their rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, by_seed, means, transports
from anabranch.reproduce.experiments.common import GBPS, GOODPUT
from anabranch.reproduce.experiments.window import FULL

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.results.tables import Tables

WINDOW = "transport.ndp.initial_window"
SIZE = "workload.flows.sizes.size"
RATE = "workload.flows.arrivals.rate"
CAPTION = "NDP goodput when varying specific parameters"
SECTION = "chapter 4, experiment 3"


def flows(results: Tables) -> pl.DataFrame:
    """The flows; all are foreground."""
    return results.flows.filter(at(workload="flows"))


def drawing(key: str, caption: str, over: str | pl.Expr, x: Axis) -> Callable[[Tables], tuple[Figure, ...]]:
    """Make the function that draws a panel of Figure 8: mean goodput over one parameter."""

    def draw(results: Tables) -> tuple[Figure, ...]:
        panel = means(
            flows(results), transports("ndp"), GBPS.mean(), over=over, x=x, y=GOODPUT, key=key, caption=caption
        )
        return (Figure("8", CAPTION, (panel,)),)

    return draw


def filling(results: Tables) -> dict[int, float]:
    """The least window of each seed whose mean goodput is at least `FULL` of the largest of any window."""
    table = flows(results).group_by("seed", WINDOW).agg(GBPS.mean().alias("goodput"))
    enough = pl.col("goodput") >= FULL * pl.col("goodput").max().over("seed")
    return by_seed(table.filter(enough), pl.col(WINDOW).min())


FIG8A = Experiment(
    name="ndp/fig8a",
    title="NDP's goodput over the initial window",
    question="How large must NDP's initial window be?",
    section=SECTION,
    figures=("8a",),
    draw=drawing("a", "Initial window", WINDOW, Axis("initial window (packets)")),
    claims=(
        Claim(
            key="fills",
            statement="initial window with which NDP approaches the link's capacity",
            where="chapter 4, Fig. 8a",
            paper=16,
            unit="packets",
            measure=filling,
        ),
    ),
    quick=("fabric.k=4", "workload.flows.arrivals.rate=128", "workload.flows.sessions=64", "repeat=2"),
    notes=(
        "*Approaches the capacity* means: the least window whose mean goodput is at least 95 % of the largest mean "
        "goodput of any window. Flow size and rate are not stated: 1.5 MB and 2000 a second are those of its other "
        "experiments."
    ),
)


FIG8B = Experiment(
    name="ndp/fig8b",
    title="NDP's goodput over the size of flows",
    question="How does NDP's goodput depend on the size of flows?",
    section=SECTION,
    figures=("8b",),
    draw=drawing("b", "Flow size", pl.col("size_bytes") / 1e3, Axis("flow size (KB)", log=True)),
    quick=(
        "fabric.k=4",
        "workload.flows.arrivals.rate=160",
        "workload.flows.sessions=64",
        f'sweep."{SIZE}"=["15KB", "150KB", "750KB", "1.5MB"]',
        "repeat=2",
    ),
    notes="The text states no numbers and names no sizes.",
)


FIG8C = Experiment(
    name="ndp/fig8c",
    title="NDP's goodput over the rate of arrivals",
    question="How does NDP's goodput fall with the rate of arrivals?",
    section=SECTION,
    figures=("8c",),
    draw=drawing("c", "Arrival rate", RATE, Axis("arrival rate λ (per second)")),
    quick=(
        "fabric.k=4",
        "workload.flows.sessions=96",
        # 500 to 8000 a second on 250 hosts, for 16.
        f'sweep."{RATE}"=[32, 128, 256, 512]',
        "repeat=2",
    ),
    notes="The text states no numbers and names no rates.",
)
