"""On what the goodput of background flows depends, which SCDP §V-A gives as one number for each transport."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, by_seed, time_series, transports
from anabranch.reproduce.experiments.common import MODE, OWN
from anabranch.reproduce.experiments.storage import beside

if TYPE_CHECKING:
    from anabranch.results.tables import Tables


def so_far(results: Tables) -> pl.DataFrame:
    """Mean goodput of the background flows of a run, in Gbps, from the start until each sample: column ``so_far``."""
    flows = results.flows.filter(at(workload="background")).select("run", pl.col("session").alias("id"))
    samples = results.series.filter(pl.col("metric") == "goodput_bps").with_columns(
        pl.col("id").cast(flows["id"].dtype)
    )
    point = ["run", "seed", MODE, OWN, "transport"]
    each = samples.join(flows, on=["run", "id"]).group_by(*point, "time_ns").agg(pl.col("value").mean() / 1e9)
    each = each.sort("run", "time_ns")
    return each.with_columns((pl.col("value").cum_sum() / pl.col("value").cum_count()).over("run").alias("so_far"))


def draw(results: Tables) -> tuple[Figure, ...]:
    """One panel for writes and one for reads, with hosts of their own and shared."""
    goodput = so_far(results)
    panels = tuple(
        time_series(
            goodput.filter(at(**{MODE: mode, OWN: own})),
            transports("scdp", "ndp", "pias"),
            pl.col("so_far").mean(),
            x=Axis("measured for (s)"),
            y=Axis("mean goodput until then (Gbps)"),
            key=key,
            caption=f"{what}, background flows on {whose}",
        )
        for key, mode, what, own, whose in (
            ("a", "one_to_many", "Writes", True, "hosts of their own"),
            ("b", "one_to_many", "Writes", False, "shared hosts"),
            ("c", "many_to_one", "Reads", True, "hosts of their own"),
            ("d", "many_to_one", "Reads", False, "shared hosts"),
        )
    )
    return (Figure("background", "Goodput of background traffic by how long it is measured", panels, columns=2),)


def shared(mode: str, transport: str, paper: float) -> Claim:
    """Mean goodput of background flows on hosts that do other things, too, over the whole run."""
    (series,) = transports(transport)
    what = "writes" if mode == "one_to_many" else "reads"

    def measure(results: Tables) -> dict[int, float]:
        goodput = so_far(results).filter(at(transport=transport, **{MODE: mode, OWN: False}))
        return by_seed(goodput, pl.col("so_far").sort_by("time_ns").last())

    says = f"background traffic on shared hosts, beside {what}: mean goodput over two seconds, {series.label}"
    return beside(f"shared-{what}-{transport}", says, paper, measure)


BACKGROUND = Experiment(
    name="scdp/background",
    title="Background flows beside storage traffic, over time",
    question="On what does the goodput of background flows beside storage traffic depend, besides the transport?",
    section="§V-A",
    figures=("background",),
    draw=draw,
    claims=(
        shared("one_to_many", "scdp", 0.408),
        shared("one_to_many", "ndp", 0.252),
        shared("one_to_many", "pias", 0.182),
        shared("many_to_one", "ndp", 0.342),
        shared("many_to_one", "pias", 0.152),
    ),
    quick=(
        "fabric.k=6",  # HDFS places replicas in racks of three hosts at least
        "workload.requests.arrivals.rate=864",  # the same rate per host
        "workload.requests.sessions=108",
        "workload.requests.sizes.size=1MB",
        "measure.interval=10ms",
        "run.time_limit=250ms",
        "repeat=2",
    ),
    notes=(
        "The paper says neither whether the hosts of background flows do anything else nor for how long their goodput "
        "is measured; `scdp/fig05` and `scdp/fig06` give them hosts of their own, as the authors' framework does, and "
        "measure until all requests are complete, which takes each transport another time. Here all are measured for "
        "as long."
    ),
)
