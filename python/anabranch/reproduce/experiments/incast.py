"""SCDP §V-E: Incast and Outcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import (
    Axis,
    Claim,
    Experiment,
    Figure,
    at,
    bars,
    by_seed,
    cdf,
    compared,
    means,
    relative,
    transports,
    variant,
)
from anabranch.reproduce.experiments.common import FCT_MS, GBPS, in_order, like, spaced

if TYPE_CHECKING:
    from anabranch.reproduce import Panel, Series
    from anabranch.results.tables import Tables

SIZE = "workload.answers.sizes.size"
SENDERS = "workload.answers.placement.senders"


def together(flows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Goodput of flows taken together: their bytes over the time from the first start to the last end.

    Parameters
    ----------
    flows
        The flows.
    by
        Columns to keep; flows that agree in them, in `run` and in `seed` are taken together.

    Returns
    -------
    polars.DataFrame
        Those columns and ``goodput_bps``: zero where a flow did not finish.
    """
    end = pl.when(pl.col("end_ns").is_null().any()).then(None).otherwise(pl.col("end_ns").max())
    goodput = 8e9 * pl.col("size_bytes").sum() / (end - pl.col("start_ns").min())
    keys = list(dict.fromkeys(("run", "seed", *by)))
    return flows.group_by(keys, maintain_order=True).agg(goodput.fill_null(0.0).alias("goodput_bps"))


def answers(results: Tables) -> pl.DataFrame:
    """The flows of an Incast, without background traffic."""
    return results.flows.filter(at(workload="answers"))


def at_once(results: Tables) -> pl.DataFrame:
    """Aggregate goodput of each Incast."""
    return together(answers(results), ["transport", SIZE, SENDERS])


def by_size(results: Tables, *names: str) -> tuple[Series, ...]:
    """Series of transports and sizes: the smaller size has the transport's own look."""
    series: list[Series] = []
    for name in names:
        label = transports(name)[0].label
        for turn, size in enumerate(in_order(answers(results), SIZE)):
            text, condition = f"{label}, {spaced(size)}", {SIZE: size}
            series.append(like(name, text, condition) if turn == 0 else variant(name, text, condition, turn=turn))
    return tuple(series)


def senders_panel(results: Tables, series: tuple[Series, ...], *, key: str = "", caption: str = "") -> Panel:
    """Aggregate goodput by number of senders."""
    return means(
        at_once(results),
        series,
        GBPS.mean(),
        over=SENDERS,
        x=Axis("number of senders"),
        y=Axis("aggregate goodput (Gbps)"),
        key=key,
        caption=caption,
    )


def draw_incast(results: Tables) -> tuple[Figure, ...]:
    """Figure 12a and 12b: aggregate goodput, and completion times with the most senders."""
    series = by_size(results, "scdp", "ndp", "newreno")
    flows = answers(results)
    most = max(in_order(flows, SENDERS))
    panels = (
        senders_panel(results, series, key="a", caption="Incast: aggregate goodput"),
        cdf(
            flows.filter(at(**{SENDERS: most})),
            series,
            FCT_MS,
            x=Axis("FCT (ms)", log=True),
            key="b",
            caption=f"Incast: FCT, {most} senders",
        ),
    )
    return (Figure("12", "Incast", panels),)


def with_most(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    """The rows with the most senders of a size; `size` counts from the smallest."""
    chosen = in_order(rows, SIZE)[size]
    return rows.filter(at(**{SIZE: chosen}), pl.col(SENDERS) == pl.col(SENDERS).max())


def goodput_with_most(key: str, statement: str, size: int, above: str, below: str) -> Claim:
    """Aggregate goodput of a transport over that of another, with the most senders."""
    mean = pl.col("goodput_bps").mean()
    return relative(
        key,
        statement,
        "§V-E, Fig. 12a",
        lambda results: compared(with_most(at_once(results), size), mean, {"transport": above}, {"transport": below}),
        "at least" if below == "ndp" else "at most",
    )


def median_with_most(size: int, name: str) -> Claim:
    """Median completion time of SCDP over NDP's, with the most senders."""
    return relative(
        f"median-{name}",
        f"SCDP is faster for most sessions: median FCT, SCDP over NDP, 70 senders of {spaced(name)}",
        "§V-E, Fig. 12b",
        lambda results: compared(
            with_most(answers(results), size), FCT_MS.median(), {"transport": "scdp"}, {"transport": "ndp"}
        ),
    )


INCAST = Experiment(
    name="scdp/fig12-incast",
    title="Incast",
    question="Who collapses when up to 70 senders answer one receiver at once?",
    section="§V-E",
    figures=("12a", "12b"),
    draw=draw_incast,
    claims=(
        *(
            goodput_with_most(
                f"scdp-over-ndp-{name}",
                "SCDP performs slightly better than NDP under Incast: goodput, SCDP over NDP, 70 senders of "
                f"{spaced(name)}",
                size,
                "scdp",
                "ndp",
            )
            for size, name in enumerate(("70KB", "256KB"))
        ),
        *(
            goodput_with_most(
                f"tcp-over-scdp-{name}",
                f"TCP collapses under Incast: goodput, TCP over SCDP, 70 senders of {spaced(name)}",
                size,
                "newreno",
                "scdp",
            )
            for size, name in enumerate(("70KB", "256KB"))
        ),
        median_with_most(0, "70KB"),
        median_with_most(1, "256KB"),
    ),
    quick=(
        "fabric.k=4",
        f'sweep."{SENDERS}"=[1, 4, 7, 10]',
        "repeat=3",
    ),
    notes=(
        "*Aggregate goodput* is the sum of all senders' bytes over the time until the last of them has arrived. The "
        "paper does not say which of its two sizes Figure 12b shows: both are drawn."
    ),
)

GROUPS = {"near": "2 flows, 4 hops", "far": "12 flows, 6 hops"}
"""Workloads of the Outcast scenario, and what people call them."""
BOTH = "both groups"


def shares(results: Tables) -> pl.DataFrame:
    """What each group of an Outcast gets of the bottleneck while both still send.

    Once a group is complete the other has the link to itself, so that its goodput up to its own end would say little of
    how the two shared. What counts is what was delivered until the first group is complete, over that time.

    Returns
    -------
    polars.DataFrame
        ``run``, ``seed``, ``transport``, ``group`` (both together have a row of their own) and ``goodput_bps``.
    """
    flows = results.flows.filter(pl.col("workload").is_in(list(GROUPS)))
    complete = pl.when(pl.col("end_ns").is_null().any()).then(None).otherwise(pl.col("end_ns").max())
    ends = flows.group_by("run", "workload").agg(complete.alias("until"))
    # If none is ever complete: until the run ends.
    until = ends.group_by("run").agg(pl.col("until").min()).join(results.runs.select("run", "simulated_ns"), on="run")
    until = until.select("run", pl.coalesce("until", "simulated_ns").alias("until"))
    samples = results.series.filter(pl.col("metric") == "goodput_bps")
    # There is no sample where nothing was delivered; a sample tells of the interval before it.
    interval = samples["time_ns"].unique().sort().diff().min()
    inside = samples.join(until, on="run").filter(pl.col("time_ns") < pl.col("until") + interval)
    delivered = inside.join(flows.select("run", pl.col("session").alias("id"), "workload"), on=["run", "id"])
    rate = (pl.col("value").sum() * interval / pl.col("until").first()).alias("goodput_bps")
    keys = ["run", "seed", "transport"]
    groups = delivered.group_by(*keys, "workload").agg(rate)
    groups = groups.select(*keys, pl.col("workload").replace_strict(GROUPS).alias("group"), "goodput_bps")
    total = groups.group_by(*keys).agg(pl.lit(BOTH).alias("group"), pl.col("goodput_bps").sum())
    order = [*GROUPS.values(), BOTH]
    place = pl.col("group").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
    return pl.concat([groups, total]).sort("run", place)


def draw_outcast(results: Tables) -> tuple[Figure, ...]:
    """Figure 12d: goodput of the two groups, and of both."""
    panel = bars(
        shares(results),
        transports("scdp", "newreno"),
        GBPS.mean(),
        over="group",
        y=Axis("aggregate goodput (Gbps)"),
        key="d",
        caption="Outcast: aggregate goodput",
    )
    return (Figure("12", "Outcast", (panel,)),)


def group_goodput(transport: str, group: str, paper: float, unit: str) -> Claim:
    """Goodput of a group of Outcast flows."""
    name = {"newreno": "TCP"}.get(transport, transports(transport)[0].label)
    label = GROUPS.get(group, BOTH)
    scale = {"Mbps": 1e6, "Gbps": 1e9}[unit]
    return Claim(
        key=f"{transport}-{group}",
        statement=f"aggregate goodput under Outcast, {name}, {label}",
        where="§V-E, Fig. 12d",
        paper=paper,
        unit=unit,
        measure=lambda results: by_seed(
            shares(results).filter(at(transport=transport, group=label)), pl.col("goodput_bps").mean() / scale
        ),
    )


OUTCAST = Experiment(
    name="scdp/fig12-outcast",
    title="Outcast",
    question="Is a bottleneck shared fairly between few flows from near and many from far?",
    section="§V-E",
    figures=("12d",),
    draw=draw_outcast,
    claims=(
        group_goodput("newreno", "near", 113, "Mbps"),
        group_goodput("newreno", "far", 274, "Mbps"),
        group_goodput("newreno", "both", 0.387, "Gbps"),
        group_goodput("scdp", "near", 460, "Mbps"),
        group_goodput("scdp", "far", 435, "Mbps"),
        group_goodput("scdp", "both", 0.9, "Gbps"),
    ),
    quick=("repeat=3",),
    notes=(
        "*Aggregate goodput* of a group is what its flows receive together, per time, until the first of the two "
        "groups is complete: the paper's numbers add up to its overall goodput, as only goodputs over the same time "
        "do. SCDP delivers a block of 100 symbols at once, so that what is known of its flows is that coarse. Figure "
        "12c is a drawing of the topology; the scenario's fabric file is the same in text."
    ),
)
