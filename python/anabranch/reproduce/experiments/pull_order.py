"""Pulls by priority against pulls in turns, which SCDP §V-I names and does not measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, bars, compared, relative, requests, variant
from anabranch.reproduce.experiments.common import GBPS, GOODPUT, apart, like
from anabranch.reproduce.experiments.realistic import (
    FCT,
    LOAD,
    LONG,
    MEAN,
    MEDIUM,
    MIXED_NOTE,
    SHORT,
    WRITES,
    short_and_long,
)

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

ORDER = "host.pull_order"
SERIES = (
    like("scdp", "SCDP, pulls in turns", {ORDER: "turns"}),
    # Bars tell series apart by colour alone.
    *apart((variant("scdp", "SCDP, pulls by priority", {ORDER: "priority"}, turn=1),), 2),
    like("pias", "PIAS", {}),
)


def draw(results: Tables) -> tuple[Figure, ...]:
    """What flows of three ranges of sizes get, and the requests beside them, by load."""
    flows, x = short_and_long(results), Axis("load of background traffic")
    load = (4 * pl.col(WRITES)).round(6).alias(LOAD)
    mean, goodput = (MEAN, FCT), (GBPS.fill_null(0.0).mean(), GOODPUT)
    panels = tuple(
        bars(frame, SERIES, value, over=LOAD, x=x, y=axis, key=key, caption=caption)
        for key, (frame, caption, (value, axis)) in zip(
            "abcde",
            (
                *((flows.filter(sizes.holds()), f"{sizes.label}: average", mean) for sizes in (SHORT, MEDIUM)),
                (flows.filter(LONG.holds()), f"{LONG.label}: average", goodput),
                *(
                    (
                        requests(results, workload=kind).with_columns(load),
                        f"{kind.capitalize()} of 4 MB: average",
                        goodput,
                    )
                    for kind in ("writes", "reads")
                ),
            ),
            strict=True,
        )
    )
    return (Figure("pull-order", "Pulls in turns and by priority", panels, columns=3),)


def ahead_of_pias(load: float, order: str) -> Claim:
    """SCDP with an order of pulls against PIAS: the mean completion time of short flows."""
    pulls = "in turns" if order == "turns" else "by priority, which the paper does not measure,"
    return relative(
        f"space-pias-load{load}-{order}",
        f"multicast and many senders make space for short flows: mean FCT of {SHORT.label}, SCDP with pulls {pulls} "
        f"over PIAS, load {load}",
        "§V-D, Fig. 10a",
        lambda results: compared(
            short_and_long(results).filter(SHORT.holds(), at(load=load)),
            MEAN,
            {"transport": "scdp", ORDER: order},
            {"transport": "pias"},
        ),
    )


PULL_ORDER = Experiment(
    name="scdp/pull-order",
    title="Pulls by priority",
    question="What do short flows gain, and who pays, when a receiver grants pulls by priority instead of in turns?",
    section="§V-I",
    figures=("pull-order",),
    draw=draw,
    claims=tuple(ahead_of_pias(load, order) for order in ("turns", "priority") for load in (0.5, 0.8)),
    quick=(
        "fabric.k=4",
        "workload.flows.arrivals.rate=160",
        "workload.flows.sessions=48",
        "workload.writes.until=350ms",
        "workload.reads.until=350ms",
        # HDFS wants racks of three hosts; those of k = 4 have two.
        "workload.writes.placement.policy=random",
        "workload.reads.placement.policy=random",
        "repeat=3",
    ),
    notes=(
        "Not in the paper, which says that priorities at the receiver would be straightforward. At load 0.8 the hosts "
        "are asked for more than their links carry, and queues of pulls grow for as long as a run lasts: with a fifth "
        "of Figure 10’s flows turns cost less than there. A request that did not finish counts as zero goodput. "
        f"{MIXED_NOTE}"
    ),
)
