"""Thesis chapter 4, experiment 4: NDP under web-search traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce import Axis, Experiment, Figure, at, cdf, values_of
from anabranch.reproduce.experiments.common import BACKGROUND, FCT_MS, in_order
from anabranch.results.stats import Bucket

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

RANGES = (Bucket("short", "(0, 100 KB]", 0, 100_000), Bucket("long", "(100 KB, 10 MB]", 100_000, 10_000_000))


def draw_times(results: Tables) -> tuple[Figure, ...]:
    """Figure 9: completion times of two ranges of sizes, by load."""
    flows = results.flows.filter(at(workload="flows"))
    loads = values_of(BACKGROUND, in_order(flows, BACKGROUND), "load {}")
    panels = tuple(
        cdf(
            flows.filter(bucket.holds()),
            loads,
            FCT_MS,
            x=Axis("FCT (ms)", log=True),
            key=key,
            caption=bucket.label,
        )
        for key, bucket in zip("ab", RANGES, strict=True)
    )
    return (Figure("9", "FCT of web search workload flows (two ranges) at different background loads", panels),)


FIG9 = Experiment(
    name="ndp/fig9",
    title="NDP under web-search traffic",
    question="How fast does NDP complete web-search flows at two loads of background traffic?",
    section="chapter 4, experiment 4",
    figures=("9",),
    draw=draw_times,
    quick=("fabric.k=4", "workload.flows.arrivals.rate=160", "workload.flows.sessions=96", "repeat=2"),
    notes=(
        "The text states no numbers and does not name its two ranges of sizes: up to 100 KB, and more than that up to "
        "10 MB. The load is the share of hosts that run a long flow on a permutation (`percentLongFlowNodes`)."
    ),
)
