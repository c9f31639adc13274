"""SCDP §V-G: how many short flows need decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, by_seed, means, requests, values_of

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

LOAD = "workload.background.placement.share"
ARRIVALS = "workload.short.arrivals.rate"
DECODED = 100 * pl.col("decoded").mean()


def draw_decoded(results: Tables) -> tuple[Figure, ...]:
    """Figure 14: share of short flows that needed decoding."""
    flows = requests(results, workload="short")
    panel = means(
        flows,
        values_of(LOAD, sorted(set(flows[LOAD].to_list())), "load {}"),
        DECODED,
        over=ARRIVALS,
        x=Axis("arrival rate λ of short flows (per second)"),
        y=Axis("decoded sessions (%)"),
    )
    return (Figure("14", "# decoded sessions", (panel,)),)


def decoded(load: float, paper: float) -> Claim:
    """Share of short flows that needed decoding at this load and the highest arrival rate."""
    return Claim(
        key=f"decoded-load{load}",
        statement=f"150 KB flows that need decoding at load {load}, λ = 8000",
        where="§V-G, Fig. 14",
        paper=paper,
        unit="%",
        measure=lambda results: by_seed(
            requests(results, workload="short").filter(at(**{LOAD: load}), pl.col(ARRIVALS) == pl.col(ARRIVALS).max()),
            DECODED,
        ),
    )


FIG14 = Experiment(
    name="scdp/fig14",
    title="Short flows that need decoding",
    question="How often does a short flow lose a symbol, and so pay for decoding and two symbols more?",
    section="§V-G",
    figures=("14",),
    draw=draw_decoded,
    claims=(decoded(0.5, 0.44), decoded(0.6, 1.2), decoded(0.7, 9.6)),
    quick=(
        "fabric.k=4",
        "workload.short.sessions=160",
        # 2000, 4000 and 8000 a second on 250 hosts, for 16 hosts.
        f'sweep."{ARRIVALS}"=[128, 256, 512]',
        "repeat=3",
    ),
    notes=(
        "The load is the share of hosts that run a long flow on a permutation matrix: the paper's only way of making "
        "background traffic that it describes (§V-A), and the parameter of its simulator (thesis, chapter 4: "
        "`percentLongFlowNodes`)."
    ),
)
