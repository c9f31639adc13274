"""Polyraptor, SCDP's predecessor: Figure 1 of its poster (thesis, chapter 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import (
    Claim,
    Experiment,
    Figure,
    at,
    by_seed,
    compared,
    ranked,
    ratio_by_seed,
    relative,
    requests,
    variant,
)
from anabranch.reproduce.experiments.common import GBPS, GOODPUT, MEAN_GOODPUT, MODE, REPLICAS, in_order, like
from anabranch.reproduce.experiments.incast import SENDERS, SIZE, at_once, by_size, senders_panel

if TYPE_CHECKING:
    from anabranch.reproduce.claims import Relation
    from anabranch.results.tables import Tables


def draw_storage(results: Tables) -> tuple[Figure, ...]:
    """Figures 1a and 1b: ranked goodput of writes and reads."""
    sessions = requests(results, workload="requests")
    panels = []
    for key, mode, caption in (("a", "one_to_many", "One-to-many (write)"), ("b", "many_to_one", "Many-to-one (read)")):
        series = [
            one
            for name, label in (("polyraptor", "Polyraptor"), ("newreno", "TCP"))
            for one in (
                like(name, f"{label}, 1 replica", {REPLICAS: 1}),
                variant(name, f"{label}, 3 replicas", {REPLICAS: 3}),
            )
        ]
        rows = sessions.filter(at(**{MODE: mode}))
        panels.append(ranked(rows, series, GBPS, y=GOODPUT, key=key, caption=caption))
    return (Figure("1", "Polyraptor: goodput with one replica and three", tuple(panels)),)


def three_over_one(key: str, statement: str, mode: str, transport: str, relation: Relation) -> Claim:
    """Mean goodput with three replicas over that with one."""

    def measure(results: Tables) -> dict[int, float]:
        sessions = requests(results, workload="requests").filter(at(transport=transport, **{MODE: mode}))
        return compared(sessions, MEAN_GOODPUT, {REPLICAS: 3}, {REPLICAS: 1})

    return relative(key, statement, "Polyraptor, §3, Fig. 1", measure, relation)


STORAGE = Experiment(
    name="scdp/polyraptor-fig1",
    title="Polyraptor: storage with one replica and three",
    question="Does Polyraptor keep its goodput with three replicas, where TCP does not?",
    section="Polyraptor, §3",
    figures=("Polyraptor 1a", "Polyraptor 1b"),
    draw=draw_storage,
    claims=(
        three_over_one(
            "writes",
            "Polyraptor maintains its performance when replicating to 3 servers: mean goodput, three over one",
            "one_to_many",
            "polyraptor",
            "equals",
        ),
        three_over_one(
            "reads",
            "Polyraptor sustains its performance when reading from 3 servers: mean goodput, three over one",
            "many_to_one",
            "polyraptor",
            "at least",
        ),
    ),
    quick=(
        "fabric.k=4",
        "workload.requests.arrivals.rate=131",
        "workload.requests.sessions=48",
        "workload.background.arrivals.rate=33",
        "workload.background.sessions=12",
        "repeat=2",
    ),
    notes=(
        "The poster states no numbers; the table compares what it says of the curves. TCP writes by multi-unicast and "
        "reads a third of the object from each of three replicas, as the poster says."
    ),
)


def draw_incast(results: Tables) -> tuple[Figure, ...]:
    """Figure 1c: aggregate goodput by number of senders."""
    panel = senders_panel(results, by_size(results, "polyraptor", "newreno"), key="c", caption="Incast")
    return (Figure("1", "Polyraptor: Incast", (panel,)),)


def no_collapse(size: int, name: str) -> Claim:
    """Polyraptor's goodput with the most senders over the largest with any number; `size` counts from the smallest."""

    def measure(results: Tables) -> dict[int, float]:
        table = at_once(results).filter(at(transport="polyraptor"))
        table = table.filter(at(**{SIZE: in_order(table, SIZE)[size]}))
        largest = table.group_by("seed", SENDERS).agg(pl.col("goodput_bps").mean())
        most = by_seed(largest.filter(pl.col(SENDERS) == pl.col(SENDERS).max()), pl.col("goodput_bps").mean())
        return ratio_by_seed(most, by_seed(largest, pl.col("goodput_bps").max()))

    return relative(
        f"incast-{name.replace(' ', '')}",
        f"no Incast: Polyraptor's goodput with 70 senders of {name} over its largest with any number",
        "Polyraptor, §3, Fig. 1c",
        measure,
        "equals",
    )


INCAST = Experiment(
    name="scdp/polyraptor-fig1c",
    title="Polyraptor: Incast",
    question="Does Polyraptor suffer from Incast?",
    section="Polyraptor, §3",
    figures=("Polyraptor 1c",),
    draw=draw_incast,
    claims=(no_collapse(0, "70 KB"), no_collapse(1, "256 KB")),
    quick=("fabric.k=4", f'sweep."{SENDERS}"=[1, 5, 10, 15]', "repeat=3"),
    notes=(
        "*Goodput* is the sum of all senders' bytes over the time until the last of them has arrived. The poster names "
        "neither sizes nor numbers of senders: those of the SCDP paper (§V-E)."
    ),
)
