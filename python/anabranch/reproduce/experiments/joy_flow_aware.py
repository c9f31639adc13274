"""Joy, chapter 3: FA-DCTCP, which reduces the windows of short flows less than those of long ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce import (
    Axis,
    Claim,
    Experiment,
    Figure,
    at,
    bars,
    by_seed,
    compared,
    lowered,
    means,
    requests,
    time_series,
    transports,
    values_of,
)
from anabranch.reproduce.experiments.common import FCT_MS, in_order, spaced
from anabranch.showing.figures import Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anabranch.results.tables import Tables

LOAD = "workload.short.arrivals.load"
SIZE = "workload.short.sizes.size"
BETA = "transport.tcp.short_flow_beta"
BOTH = ("dctcp", "fa-dctcp")
LINKS = 11
"""Links of the star, of which the bottleneck is one: a load of all of them is so many times that of the bottleneck."""
LIGHT = 0.01
"""The load at which short flows seldom meet: the thesis's times are near those of one flow beside two."""
SAMPLED = 1500.0
RATES_UNKNOWN = (
    "*The thesis does not say* how often short flows arrive, on which the reduction depends: see the rows at 11, 33 "
    "and 55 % of the link, and the last figure. The thesis's mean with DCTCP, 310 ms (79 ms are 25.5 % of it), is near "
    "ours for 1 MB at 11 % (Figure 11)."
)
LINK_IDLE = (
    "*Measured.* With FA-DCTCP the link is without a packet for longer (Figure 14b), which is most of what long flows "
    "lose. Why it is was not examined. The thesis gives no interval."
)
STATISTICS: Mapping[str, tuple[str, pl.Expr]] = {
    "mean": ("mean", FCT_MS.mean()),
    "p95": ("95th percentile", FCT_MS.quantile(0.95, "linear")),
    "p99": ("99th percentile", FCT_MS.quantile(0.99, "linear")),
}
"""What Figures 11 to 13 show of the completion times of short flows, in ms."""


def bottleneck(results: Tables) -> int:
    """The directed link to the receiver: the one that sends most bytes."""
    links = results.links.group_by("link").agg(pl.col("bytes").sum()).sort("bytes")
    return int(links["link"][-1])


def queue(results: Tables) -> pl.DataFrame:
    """Samples of the bottleneck's queue, in packets."""
    return results.series.filter((pl.col("metric") == "queue_packets") & (pl.col("id") == bottleneck(results)))


def mean_queue(results: Tables, transport: str) -> dict[int, float]:
    """Time average of the bottleneck's queue, in full packets."""
    link = results.links.filter((pl.col("link") == bottleneck(results)) & at(transport=transport))
    return by_seed(link, pl.col("queue_mean_bytes").mean() / SAMPLED)


def scaling() -> Panel:
    """Figure 7: the factor alpha^beta of long flows and of short ones, drawn from Algorithm 1."""
    alpha = np.linspace(0.0, 1.0, 101)
    series = values_of("flows", ["long", "short"], "{} flows")
    values = {"long": alpha, "short": np.where(alpha > 0.6, alpha**2, alpha**3)}  # noqa: PLR2004 - Algorithm 1
    rows = [
        {"series": one.label, "x": float(x), "y": float(y), "low": None, "high": None}
        for one in series
        for x, y in zip(alpha, values[one.where["flows"]], strict=True)
    ]
    schema = {"series": pl.String(), "x": pl.Float64(), "y": pl.Float64(), "low": pl.Float64(), "high": pl.Float64()}
    return Panel(
        "", "", "curves", pl.DataFrame(rows, schema=schema), Axis("alpha"), Axis("alpha^beta", domain=(0, 1)), series
    )


def draw_queue(number: str, title: str, *names: str) -> Callable[[Tables], tuple[Figure, ...]]:
    """A figure of the queue over time, in one run."""

    def draw(results: Tables) -> tuple[Figure, ...]:
        samples = queue(results)
        panel = time_series(
            samples,
            transports(*names),
            pl.col("value").mean(),
            x=Axis("time (s)"),
            y=Axis("queue (packets)"),
            seed=min(results.manifest.seeds),
        )
        return (Figure(number, title, (panel,)),)

    return draw


def queue_claim(key: str, transport: str, where: str) -> Claim:
    """The queue "remains stable around 5 packets"."""
    (series,) = transports(transport)
    return Claim(
        key=key,
        statement=f"the queue stays around 5 packets: time average with {series.label}",
        where=where,
        paper=5.0,
        unit="packets",
        measure=lambda results: mean_queue(results, transport),
    )


FIG9 = Experiment(
    name="joy/fig09",
    title="Queue of two long DCTCP flows",
    question="How long is the queue that two long DCTCP flows make?",
    section="§3.6.1.5",
    figures=("9",),
    draw=draw_queue("9", "Queue at the bottleneck, two long DCTCP flows", "dctcp"),
    claims=(queue_claim("queue", "dctcp", "§3.6.1.5, Fig. 9"),),
    quick=("run.time_limit=20s", "repeat=2"),
    notes="The figure shows the first seed, a sample each 0.4 s; the number is the average over all time.",
)


def draw_flow_aware(results: Tables) -> tuple[Figure, ...]:
    """Figure 10 with Figure 7, which needs no run."""
    figure = Figure("7", "Window scaling factor of FA-DCTCP over alpha (formula)", (scaling(),))
    return (figure, *draw_queue("10", "Queue at the bottleneck", *BOTH)(results))


FIG10 = Experiment(
    name="joy/fig10",
    title="Queue with DCTCP and FA-DCTCP",
    question="Does FA-DCTCP keep the queue as short as DCTCP does?",
    section="§3.3.3, §3.6.3.1",
    figures=("7", "10"),
    draw=draw_flow_aware,
    claims=(
        queue_claim("queue-dctcp", "dctcp", "§3.6.3.1, Fig. 10"),
        queue_claim("queue-fa-dctcp", "fa-dctcp", "§3.6.3.1, Fig. 10"),
    ),
    quick=("run.time_limit=20s", "repeat=2"),
    notes="Two long flows and, as in Figures 11 to 14, short ones: of 500 KB, 11 % of the link.",
)


def short(results: Tables) -> pl.DataFrame:
    """The short flows."""
    return requests(results, workload="short")


def reduction(results: Tables, statistic: str, load: float) -> dict[str, dict[int, float]]:
    """By how many percent FA-DCTCP lowers a statistic of short flows: by size, then by seed."""
    flows = short(results).filter(at(**{LOAD: load}))
    value = STATISTICS[statistic][1]
    found = {}
    for size in in_order(flows, SIZE):
        base, ours = (by_seed(flows.filter(at(transport=name, **{SIZE: size})), value) for name in BOTH)
        found[size] = {seed: 100 * (1 - ours[seed] / base[seed]) for seed in base if seed in ours}
    return found


def largest(results: Tables, statistic: str, load: float) -> dict[int, float]:
    """`reduction` for the size for which it is largest on average: the thesis's "up to"."""
    known = [own for own in reduction(results, statistic, load).values() if own]
    return max(known, key=lambda own: float(np.mean(list(own.values()))), default={})


def throughput(results: Tables, load: float | None = None) -> pl.DataFrame:
    """Throughput of both long flows of each run, in Mbps."""
    long = results.flows.filter(at(workload="long", **({LOAD: load} if load is not None else {})))
    point = [name for name in ("run", "seed", "transport", LOAD, SIZE, BETA) if name in long.columns]
    return long.group_by(point, maintain_order=True).agg((pl.col("goodput_bps").sum() / 1e6).alias("mbps"))


def lost(results: Tables, load: float) -> dict[int, float]:
    """By how many percent FA-DCTCP lowers the throughput of long flows, all sizes of short ones together."""
    long = throughput(results, load)
    base, ours = (by_seed(long.filter(at(transport=name)), pl.col("mbps").mean()) for name in BOTH)
    return {seed: 100 * (1 - ours[seed] / base[seed]) for seed in base if seed in ours}


def _throughput_panels(results: Tables, long: pl.DataFrame, size: pl.Expr) -> tuple[Panel, ...]:
    link = results.links.filter(pl.col("link") == bottleneck(results)).filter(at(**{LOAD: LIGHT}))
    idle = 100 * (1 - pl.col("utilisation").mean())
    both = transports(*BOTH)
    y = Axis("throughput of both (Mbps)")
    return (
        bars(long, both, pl.col("mbps").mean(), over=size, y=y, key="a", caption="Both long flows"),
        bars(link, both, idle, over=size, y=Axis("time without a packet (%)"), key="b", caption="Their link"),
    )


def draw_completion(results: Tables) -> tuple[Figure, ...]:
    """Figures 11 to 14 at the light load, and how all of it depends on the load."""
    flows, long, both = short(results), throughput(results), transports(*BOTH)
    light = at(**{LOAD: LIGHT})
    size = pl.col(SIZE).map_elements(spaced, return_dtype=pl.String)
    figures = [
        Figure(
            number,
            f"Short flows: {STATISTICS[key][0]} of the completion time",
            (bars(flows.filter(light), both, STATISTICS[key][1], over=size, y=Axis("FCT (ms)")),),
        )
        for number, key in (("11", "mean"), ("12", "p95"), ("13", "p99"))
    ]
    figures.append(Figure("14", "Throughput of long flows", _throughput_panels(results, long.filter(light), size)))
    share = (100 * LINKS * pl.col(LOAD)).alias("share")
    panels = tuple(
        means(
            flows.filter(at(**{SIZE: one})),
            both,
            STATISTICS["mean"][1],
            over=share,
            x=Axis("load of short flows (% of the link)"),
            y=Axis("mean FCT (ms)"),
            key=key,
            caption=spaced(one),
        )
        for key, one in zip("abc", in_order(flows, SIZE), strict=True)
    )
    return (*figures, Figure("load", "Short flows by how often they arrive, which the thesis does not say", panels))


def faster(statistic: str, load: float, paper: float, figure: str) -> Claim:
    """FA-DCTCP lowers a statistic of the completion times of short flows by "up to" so much."""
    share = round(100 * LINKS * load)
    return Claim(
        key=f"{statistic}-{share}",
        statement=f"{STATISTICS[statistic][0]} of the FCT of short flows with FA-DCTCP: lower by up to",
        setting=f"short flows load {share} %",
        where=f"§3.6.3, Fig. {figure}",
        paper=paper,
        unit="%",
        measure=lambda results: largest(results, statistic, load),
        explanation=RATES_UNKNOWN,
    )


FIG11 = Experiment(
    name="joy/fig11",
    title="Completion of short flows with FA-DCTCP",
    question="How much sooner are short flows done with FA-DCTCP, and what do long flows pay?",
    section="§3.6.3",
    figures=("11", "12", "13", "14", "load"),
    draw=draw_completion,
    claims=(
        *(
            faster(statistic, load, paper, figure)
            for statistic, paper, figure in (("mean", 25.5, "11"), ("p95", 29.7, "12"), ("p99", 32.5, "13"))
            for load in (LIGHT, 0.03, 0.05)
        ),
        Claim(
            key="long",
            statement="throughput of the long flows with FA-DCTCP: lower by",
            where="§3.6.3.5, Fig. 14",
            paper=0.04,
            unit="%",
            measure=lambda results: lost(results, LIGHT),
            relation="at most",
            explanation=LINK_IDLE,
        ),
    ),
    quick=(
        "repeat=3",
        "workload.short.sessions=10",
        f'sweep."{LOAD}"=[{LIGHT}]',
    ),
    notes=(
        'The thesis does not say how often short flows arrive: each claim is measured at three loads. "Up to": the '
        "size with the largest difference. Figures 11 to 14 show the lightest load."
    ),
)


def draw_beta(results: Tables) -> tuple[Figure, ...]:
    """Completion, throughput and overshoot over beta."""
    flows, long, samples = short(results), throughput(results), queue(results)
    loads = values_of(LOAD, in_order(flows, LOAD), lambda load: f"short flows load {100 * LINKS * load:.0f} %")
    x = Axis("beta of short flows (1: DCTCP)")
    beta = pl.col(BETA)
    panels = (
        means(flows, loads, STATISTICS["mean"][1], over=beta, x=x, y=Axis("mean FCT (ms)"), key="a", caption="Mean"),
        means(
            flows,
            loads,
            STATISTICS["p99"][1],
            over=beta,
            x=x,
            y=Axis("p99 FCT (ms)"),
            key="b",
            caption="99th percentile",
        ),
        means(
            long,
            loads,
            pl.col("mbps").mean(),
            over=beta,
            x=x,
            y=Axis("throughput (Mbps)"),
            key="c",
            caption="Both long flows",
        ),
        means(
            samples,
            loads,
            100 * (pl.col("value") > OVERSHOOT).sum() / RUN_SAMPLES,
            over=beta,
            x=x,
            y=Axis(f"samples above {OVERSHOOT} packets (%)"),
            key="d",
            caption="Overshoot of the queue",
        ),
    )
    return (Figure("beta", "FA-DCTCP over the exponent of short flows", panels, columns=2),)


OVERSHOOT = 10
"""Twice the marking threshold."""
RUN_SAMPLES = pl.col("time_ns").max() / 1e6
"""Samples of the queue in a run: one each millisecond, of which those of an empty queue have no row."""

BETAS = Experiment(
    name="joy/beta",
    title="FA-DCTCP's exponent",
    question="Which exponent should FA-DCTCP give to short flows?",
    section="§3.3.3",
    figures=("beta",),
    draw=draw_beta,
    claims=(
        Claim(
            key="criterion",
            statement="criterion (c): beta = 3 lowers the mean FCT of short flows by at least 10 %",
            where="§3.3.3",
            paper=10.0,
            unit="%",
            relation="at least",
            measure=lambda results: gain(results, 3),
        ),
    ),
    quick=("repeat=2", "workload.short.sessions=20", f'sweep."{BETA}"=[1, 3]', f'sweep."{LOAD}"=[{LIGHT}]'),
    notes=(
        "The thesis gives criteria and no numbers. Overshoot is the share of samples, one each millisecond, in which "
        "more than twice the marking threshold waits; a sample without a row counts as an empty queue."
    ),
)


def gain(results: Tables, beta: int) -> dict[int, float]:
    """By how many percent an exponent lowers the mean completion time of short flows, against 1, at the light load."""
    flows = short(results).filter(at(**{LOAD: LIGHT}))
    return lowered(compared(flows, FCT_MS.mean(), {BETA: beta}, {BETA: 1}))
