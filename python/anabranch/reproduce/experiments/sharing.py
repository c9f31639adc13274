"""SCDP §V-I: how fast flows come to share a link fairly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.base.styles import TRANSPORTS
from anabranch.reproduce import (
    Axis,
    Experiment,
    Figure,
    at,
    by_seed,
    ratio_by_seed,
    relative,
    time_series,
    values_of,
)
from anabranch.reproduce.experiments.common import GOODPUT

if TYPE_CHECKING:
    from anabranch.results.tables import Tables


def goodput(results: Tables) -> pl.DataFrame:
    """Goodput of each flow over time."""
    return results.series.filter(pl.col("metric") == "goodput_bps")


def draw_convergence(results: Tables) -> tuple[Figure, ...]:
    """Figure 17: goodput of the flows over time, for each transport."""
    samples = goodput(results)
    flows = values_of("id", sorted(samples["id"].unique().to_list()), lambda flow: f"flow {flow + 1}")
    # The paper shows SCDP alone.
    panels = tuple(
        time_series(
            samples.filter(at(transport=name)),
            flows,
            pl.col("value").mean() / 1e9,
            x=Axis("time (s)"),
            y=GOODPUT,
            key=key,
            caption=TRANSPORTS[name].label,
        )
        for key, name in zip("abc", ("scdp", "ndp", "dctcp"), strict=True)
    )
    return (Figure("17", "Convergence test", panels),)


def fairness(results: Tables, transport: str) -> dict[int, float]:
    """Jain's index of the flows' goodputs at each sample while all of them send, mean over samples."""
    samples = goodput(results).filter(at(transport=transport), pl.col("value") > 0)
    ends = samples.group_by("run", "id").agg(pl.col("time_ns").min().alias("from"), pl.col("time_ns").max().alias("to"))
    # The samples in which the last flow starts and in which the first one ends hold only a part of them.
    window = ends.group_by("run").agg(pl.col("from").max(), pl.col("to").min(), pl.len().alias("flows"))
    inside = (pl.col("time_ns") > pl.col("from")) & (pl.col("time_ns") < pl.col("to"))
    value = pl.col("value")
    jain = value.sum().pow(2) / (pl.col("flows").first() * value.pow(2).sum())
    each = samples.join(window, on="run").filter(inside).group_by("seed", "time_ns").agg(jain.alias("jain"))
    return by_seed(each, pl.col("jain").mean())


FIG17 = Experiment(
    name="scdp/fig17",
    title="Convergence of five flows",
    question="How fast do flows that start and stop one after the other share a link fairly?",
    section="§V-I",
    figures=("17",),
    draw=draw_convergence,
    claims=(
        relative(
            "fair",
            "all flows achieve their fair share: Jain's index of SCDP's goodputs while all five send",
            "§V-I, Fig. 17",
            lambda results: fairness(results, "scdp"),
            "equals",
        ),
        relative(
            "as-dctcp",
            "SCDP performs equally well to DCTCP: Jain's index, SCDP over DCTCP",
            "§V-I",
            lambda results: ratio_by_seed(fairness(results, "scdp"), fairness(results, "dctcp")),
            "equals",
        ),
    ),
    quick=(
        'workload.flows.arrivals.times=["0s", "200ms", "400ms", "600ms", "800ms"]',
        "workload.flows.sizes.duration=1800ms",
        "measure.interval=20ms",
    ),
    notes=(
        "One seed: nothing but the order of packets that arrive at once is random. DCTCP has 100 packets of buffer and "
        "marks from 20; the paper refers to the DCTCP paper for its convergence."
    ),
)
