"""SCDP §V-F: the effect of the initial window, and how it must grow with the link rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, by_seed, means, requests, transports, values_of
from anabranch.reproduce.experiments.common import TRIMMED

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

WINDOW = "transport.scdp.initial_window"
RATE = "fabric.rate"
FULL = 0.95
"""A window fills the link if it brings this share of the largest mean goodput of any window."""


def draw_windows(results: Tables) -> tuple[Figure, ...]:
    """Figure 13: goodput and trimmed packets by window."""
    sessions = requests(results)
    scdp = transports("scdp")
    window = Axis("initial window (symbol packets)")
    return (
        Figure(
            "13",
            "The effect of the initial window size",
            (
                means(
                    sessions,
                    scdp,
                    pl.col("goodput_bps").mean() / 1e9,
                    over=WINDOW,
                    x=window,
                    y=Axis("goodput (Gbps)"),
                    key="a",
                    caption="Goodput performance",
                ),
                means(
                    sessions,
                    scdp,
                    TRIMMED.mean(),
                    over=WINDOW,
                    x=window,
                    y=Axis("trimmed packets per session"),
                    key="b",
                    caption="# trimmed pkts",
                ),
            ),
        ),
    )


def trimmed(window: int, paper: float) -> Claim:
    """Mean number of trimmed packets of a session with this window."""
    return Claim(
        key=f"trimmed-w{window}",
        statement=f"average number of trimmed packets per 1.5 MB session at w = {window}",
        where="§V-F, Fig. 13b",
        paper=paper,
        unit="packets",
        measure=lambda results: by_seed(requests(results).filter(at(**{WINDOW: window})), TRIMMED.mean()),
    )


FIG13 = Experiment(
    name="scdp/fig13",
    title="Goodput and trimmed packets by initial window",
    question="How large must the initial window be to keep the receiver's link busy, and what does a larger one cost?",
    section="§V-F",
    figures=("13a", "13b"),
    draw=draw_windows,
    claims=tuple(trimmed(window, paper) for window, paper in ((12, 13), (20, 32), (52, 39))),
    quick=(
        "fabric.k=4",
        "workload.sessions.arrivals.rate=128",  # the same rate per host
        "workload.sessions.sessions=128",
        f'sweep."{WINDOW}"=[1, 4, 12, 20, 52]',
        "repeat=3",
    ),
)


def spaced(rate: str) -> str:
    """Write a rate as people do.

    Examples
    --------
    >>> spaced("10Gbps")
    '10 Gbps'
    """
    return rate.replace("Gbps", " Gbps")


def draw_rates(results: Tables) -> tuple[Figure, ...]:
    """Figure 15: goodput by window, for each link rate."""
    sessions = requests(results)
    rates = list(dict.fromkeys(sessions[RATE].to_list()))
    panel = means(
        sessions,
        values_of(RATE, rates, spaced),
        pl.col("goodput_bps").mean() / 1e9,
        over=WINDOW,
        x=Axis("initial window (symbol packets)"),
        y=Axis("goodput (Gbps)"),
    )
    return (Figure("15", "Varying w & link rates", (panel,)),)


def filling(results: Tables, rate: str) -> dict[int, float]:
    """The least window of each seed whose mean goodput is at least `FULL` of the largest one of that seed."""
    sessions = requests(results).filter(at(**{RATE: rate}))
    table = sessions.group_by("seed", WINDOW).agg(pl.col("goodput_bps").mean())
    enough = pl.col("goodput_bps") >= FULL * pl.col("goodput_bps").max().over("seed")
    return by_seed(table.filter(enough), pl.col(WINDOW).min())


def fills(rate: str, paper: float) -> Claim:
    """The window that fills links of this rate."""
    return Claim(
        key=f"fills-{rate}",
        statement=f"initial window that fully utilises a link of {spaced(rate)}",
        where="§V-F, Fig. 15",
        paper=paper,
        unit="packets",
        measure=lambda results: filling(results, rate),
    )


FIG15 = Experiment(
    name="scdp/fig15",
    title="Goodput by initial window at 1, 5 and 10 Gbps",
    question="How must the initial window grow with the link rate?",
    section="§V-F",
    figures=("15",),
    draw=draw_rates,
    claims=(fills("1Gbps", 12), fills("5Gbps", 24), fills("10Gbps", 32)),
    quick=(
        "fabric.k=4",
        "workload.sessions.arrivals.rate=128",
        "workload.sessions.sessions=40",
        f'sweep."{WINDOW}"=[4, 12, 24, 32, 52]',
        "repeat=3",
    ),
    notes=(
        "*Fills the link* means here: the least window whose mean goodput is at least 95 % of the largest mean goodput "
        "of any window. The paper does not say how it reads the windows off its figure."
    ),
)
