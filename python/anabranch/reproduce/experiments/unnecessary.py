"""SCDP §V-H: symbols that receivers of one-to-many sessions have no use for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import (
    Axis,
    Claim,
    Experiment,
    Figure,
    at,
    by_seed,
    ccdf,
    compared,
    ranked,
    relative,
    requests,
    transports,
    values_of,
    variant,
)
from anabranch.reproduce.experiments.common import GBPS, GOODPUT, MEAN_GOODPUT, RATE, apart, in_order, like, spaced

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

SIZE = "workload.requests.sizes.size"
SYMBOL = 1436
"""Bytes of an object in a symbol packet of 1500 bytes with the default headers."""


def draw_overhead(results: Tables) -> tuple[Figure, ...]:
    """Figure 16: unnecessary symbols of a session, by rate of arrivals; and goodput at the highest rate."""
    sessions = requests(results)
    scdp = sessions.filter(at(transport="scdp"))
    sizes = in_order(sessions, SIZE)
    # Not the colours of SCDP and NDP, which panel c compares.
    rates = apart(values_of(RATE, in_order(scdp, RATE), "λ = {}"), 2)
    overhead = [
        ccdf(
            scdp.filter(at(**{SIZE: size})),
            rates,
            pl.col("overhead_symbols"),
            x=Axis("unnecessary symbols of a session"),
            y=Axis("CCDF", log=True),
            key=key,
            caption=f"SCDP, one-to-many, {spaced(size)}",
        )
        for key, size in zip("abcdefgh", sizes, strict=False)
    ]
    heaviest = max(in_order(sessions, RATE))
    goodput = ranked(
        sessions.filter(at(**{RATE: heaviest})),
        [
            like(name, text, {SIZE: size}) if turn == 0 else variant(name, text, {SIZE: size}, turn=turn)
            for name in ("scdp", "ndp")
            for turn, size in enumerate(sizes)
            for text in [f"{transports(name)[0].label}, {spaced(size)}"]
        ],
        GBPS,
        y=GOODPUT,
        key="abcdefgh"[len(overhead)],
        caption=f"Goodput, λ = {heaviest:g}",
    )
    return (Figure("16", "Unnecessary network overhead in one-to-many sessions", (*overhead, goodput)),)


def network_overhead(results: Tables) -> dict[int, float]:
    """Symbols beyond the source symbols in percent of these, over all receivers, at the highest rate of arrivals."""
    flows = results.flows.filter(at(workload="requests", transport="scdp"), pl.col(RATE) == pl.col(RATE).max())
    source = (pl.col("size_bytes") / SYMBOL).ceil()
    return by_seed(flows, 100 * pl.col("overhead_symbols").sum() / source.sum())


def outperforms(turn: int, name: str) -> Claim:
    """SCDP's mean goodput over NDP's at the highest rate; `turn` counts the sizes of the scenario."""

    def measure(results: Tables) -> dict[int, float]:
        sessions = requests(results)
        size = in_order(sessions, SIZE)[turn]
        chosen = sessions.filter(at(**{SIZE: size}), pl.col(RATE) == pl.col(RATE).max())
        return compared(chosen, MEAN_GOODPUT, {"transport": "scdp"}, {"transport": "ndp"})

    return relative(
        f"outperforms-{name.replace(' ', '')}",
        f"SCDP significantly outperforms NDP: mean goodput, SCDP over NDP, {name}, λ = 4000",
        "§V-H, Fig. 16c",
        measure,
        "at least",
    )


FIG16 = Experiment(
    name="scdp/fig16",
    title="Unnecessary symbols in one-to-many sessions",
    question="How many symbols reach receivers of one-to-many sessions that have no use for them?",
    section="§V-H",
    figures=("16a", "16b", "16c"),
    draw=draw_overhead,
    claims=(
        Claim(
            key="overhead",
            statement="network overhead when the network is very heavily congested (λ = 4000)",
            where="§I, on §V-H",
            paper=1.0,
            unit="%",
            measure=network_overhead,
            relation="at most",
        ),
        outperforms(0, "1 MB"),
        outperforms(1, "3 MB"),
    ),
    quick=(
        "fabric.k=6",  # HDFS places replicas in racks of three hosts at least
        "workload.requests.sessions=108",
        f'sweep."{SIZE}"=["250KB", "750KB"]',
        # 2000, 3000 and 4000 a second on 250 hosts, for 54.
        f'sweep."transport.name, {RATE}"=[["scdp", 432], ["scdp", 648], ["scdp", 864], ["ndp", 864]]',
        "repeat=2",
    ),
    notes=(
        "A symbol is *unnecessary* if it reaches a receiver beyond the number of source symbols of its block: the two "
        "symbols more that decoding asks for are counted. A session's number is the sum over its three receivers. NDP "
        "writes by multi-unicast."
    ),
)
