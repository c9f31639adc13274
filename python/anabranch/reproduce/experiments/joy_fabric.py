"""Beyond Joy's thesis: FA-DCTCP and its relatives on a fat-tree of 10 and 100 Gbps, with web-search flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Experiment, Figure, at, bars, transports
from anabranch.reproduce.experiments.common import in_order, spaced
from anabranch.reproduce.experiments.joy_adaptation import BEYOND

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

RATE = "fabric.rate"
LOAD = "workload.search.arrivals.load"
SHORT = 100_000
LONG = 1_000_000
"""Bytes up to which FA-DCTCP takes a flow for a short one."""


def draw(results: Tables) -> tuple[Figure, ...]:
    """A figure for each rate: slowdown by load, for flows of three sizes."""
    flows = results.flows.with_columns(pl.format("load {}", pl.col(LOAD)).alias("at"))
    names = transports("dctcp", "fa-dctcp", "l2dct", "hull", "pfabric")
    size = pl.col("size_bytes")
    mean, tail = pl.col("slowdown").mean(), pl.col("slowdown").quantile(0.99, "linear")
    groups = (
        ("a", "Flows up to 100 KB, mean", size <= SHORT, mean),
        ("b", "Flows up to 100 KB, 99th percentile", size <= SHORT, tail),
        ("c", "Flows of 100 KB to 1 MB, mean", size.is_between(SHORT, LONG, closed="right"), mean),
        ("d", "Flows above 1 MB, mean", size > LONG, mean),
    )
    figures = []
    for rate in in_order(flows, RATE):
        mine = flows.filter(at(**{RATE: rate}))
        panels = tuple(
            bars(mine.filter(chosen), names, value, over="at", y=Axis("slowdown"), key=key, caption=caption)
            for key, caption, chosen, value in groups
        )
        number = f"fabric-{rate.removesuffix('Gbps')}"
        figures.append(Figure(number, f"Web search at {spaced(rate)}", panels, columns=2))
    return tuple(figures)


FABRIC = Experiment(
    name="joy/fabric",
    title="Web search at 10 and 100 Gbps",
    question="Does flow awareness help on a fast fabric with web-search flows?",
    section=BEYOND,
    figures=("fabric-10", "fabric-100"),
    draw=draw,
    quick=("repeat=2", "workload.search.sessions=100", f'sweep."{LOAD}"=[0.7]'),
    notes=(
        "Slowdown is the completion time over that on the idle fabric. To FA-DCTCP, flows above 1 MB are long ones."
    ),
)
