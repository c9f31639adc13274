"""SCDP §V-B, §V-C and §V-D: web-search and data-mining traffic over background traffic."""

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
    compared,
    means,
    ranked,
    relative,
    transports,
)
from anabranch.reproduce.experiments.common import BACKGROUND, FCT_MS, GBPS, GOODPUT, in_order, spaced
from anabranch.results.stats import Bucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.results.tables import Tables

SHORT = Bucket("short", "(0, 100 KB]", 0, 100_000)
MEDIUM = Bucket("medium", "(100 KB, 1 MB]", 100_000, 1_000_000)
PUSHED = Bucket("pushed", "(0, 17 KB], which fit the initial window", 0, 12 * 1436)
"""Flows that need no pulls: they are pushed as a whole (12 packets of 1436 bytes of payload)."""
LONG = Bucket("long", "(1 MB, 10 MB]", 1_000_000, 10_000_000)

MEAN = FCT_MS.mean()
TAIL = FCT_MS.quantile(0.99, "linear")
LOAD = "load"
"""Column of `short_and_long`: the target load of background traffic."""
WRITES = "workload.writes.arrivals.load"
BUFFER = "switch.buffer"
DRAWN = ("scdp", "ndp", "pias")
"""The paper leaves NDP+ out of its plots, "to maintain clarity"."""

FCT = Axis("FCT (ms)")
BACKGROUND_LOAD = Axis("load of background traffic")


def foreground(results: Tables) -> pl.DataFrame:
    """The flows of the workload, without background traffic."""
    return results.flows.filter(at(workload="flows"))


def short_and_long(results: Tables) -> pl.DataFrame:
    """The flows of the workload, and the load of background traffic.

    Mixed background brings its load by writes, which arrive three times, and by as many reads: four times the load in
    writes.
    """
    flows = foreground(results)
    load = pl.col(BACKGROUND) if BACKGROUND in flows.columns else (4 * pl.col(WRITES)).round(6)
    return flows.with_columns(load.alias(LOAD))


def draw(results: Tables, number: str, caption: str) -> tuple[Figure, ...]:
    """Draw the four panels of Figures 7, 8, 10 and 11."""
    flows, series = short_and_long(results), transports(*DRAWN)
    short = flows.filter(SHORT.holds())
    heaviest = flows.filter(LONG.holds(), pl.col(LOAD) == pl.col(LOAD).max())
    panels = (
        means(short, series, MEAN, over=LOAD, x=BACKGROUND_LOAD, y=FCT, key="a", caption=f"{SHORT.label}: average"),
        means(
            short, series, TAIL, over=LOAD, x=BACKGROUND_LOAD, y=FCT, key="b", caption=f"{SHORT.label}: 99th percentile"
        ),
        means(
            flows.filter(MEDIUM.holds()),
            series,
            MEAN,
            over=LOAD,
            x=BACKGROUND_LOAD,
            y=FCT,
            key="c",
            caption=f"{MEDIUM.label}: average",
        ),
        ranked(
            heaviest,
            series,
            GBPS,
            x=Axis("rank of flow"),
            y=GOODPUT,
            key="d",
            caption=f"{LONG.label}, load {max(in_order(flows, LOAD)):g}",
        ),
    )
    return (Figure(number, caption, panels),)


def drawing(number: str, caption: str) -> Callable[[Tables], tuple[Figure, ...]]:
    """Make the function that draws a figure of this number."""
    return lambda results: draw(results, number, caption)


def fct(
    key: str, transport: str, load: float, value: pl.Expr, *, paper: float, section: str, sizes: Bucket = SHORT
) -> Claim:
    """Completion time of flows, of up to 100 KB if nothing else is said, at a load of background traffic."""
    kind = "99th percentile" if value is TAIL else "mean"
    return Claim(
        key=key,
        statement=f"{kind} FCT of {sizes.label}, {transports(transport)[0].label}, load {load}",
        where=section,
        paper=paper,
        unit="ms",
        measure=lambda results: by_seed(
            short_and_long(results).filter(sizes.holds(), at(transport=transport, load=load)), value
        ),
    )


def pushed(papers: tuple[float, float, float], section: str) -> tuple[Claim, ...]:
    """The tail of the flows that are pushed as a whole, for the transports that the paper compares, at load 0.5."""
    return tuple(
        fct(f"pushed-{name}", name, 0.5, TAIL, paper=paper, section=section, sizes=PUSHED)
        for name, paper in zip(DRAWN, papers, strict=True)
    )


def floor(key: str, value: pl.Expr, *, paper: float, section: str) -> Claim:
    """The same statistic of what those flows need on an idle fabric: no transport can be faster."""
    kind = "99th percentile" if value is TAIL else "mean"
    return Claim(
        key=key,
        statement=f"{kind} FCT of {SHORT.label} on an idle fabric: the least that any transport can have",
        where=section,
        paper=paper,
        unit="ms",
        relation="at most",
        measure=lambda results: by_seed(
            short_and_long(results).filter(SHORT.holds(), at(transport="scdp")).with_columns(fct_ns="ideal_fct_ns"),
            value,
        ),
    )


def long_goodput(key: str, paper: float, section: str, *, buffer: str = "") -> Claim:
    """Mean goodput of PIAS's flows of 1 to 10 MB at the highest load."""

    def measure(results: Tables) -> dict[int, float]:
        if buffer:
            flows = foreground(results).filter(at(**{BUFFER: buffer}))
        else:
            flows = short_and_long(results).filter(pl.col(LOAD) == pl.col(LOAD).max())
        return by_seed(flows.filter(LONG.holds(), at(transport="pias")), GBPS.mean())

    return Claim(
        key=key,
        statement=f"mean goodput of {LONG.label}, PIAS, load 0.8, buffer {spaced(buffer) if buffer else '100 KB'}",
        where=section,
        paper=paper,
        unit="Gbps",
        measure=measure,
    )


def largest_reduction(results: Tables, transport: str) -> dict[int, float]:
    """By how many percent SCDP's mean FCT of short flows is below another's, the largest of all loads."""
    flows = short_and_long(results).filter(SHORT.holds())
    mine, theirs = (
        flows.filter(at(transport=name)).group_by("seed", LOAD, maintain_order=True).agg(MEAN.alias("fct"))
        for name in ("scdp", transport)
    )
    both = mine.join(theirs, on=["seed", LOAD], suffix="_theirs")
    return by_seed(both, (100 * (1 - pl.col("fct") / pl.col("fct_theirs"))).max())


def reduction_up_to(transport: str, paper: float) -> Claim:
    """The reduction of short flows' completion times that the paper's introduction promises."""
    return Claim(
        key=f"reduction-{transport}",
        statement=f"SCDP reduces short flows' mean FCT by up to this, compared to {transports(transport)[0].label}",
        where="§I",
        paper=paper,
        unit="%",
        measure=lambda results: largest_reduction(results, transport),
    )


def table_one(*, shares: tuple[float, float, float, float], mean: float, long_flows: int) -> tuple[Claim, ...]:
    """What the paper says of a workload: shares of sizes, mean size, and the number of flows of 1 to 10 MB."""

    def first(results: Tables) -> pl.DataFrame:
        # Every transport and every load has the same flows.
        flows = short_and_long(results)
        return flows.filter(pl.col("transport") == flows["transport"][0], pl.col(LOAD) == flows[LOAD][0])

    def of_sizes(key: str, what: str, value: pl.Expr, paper: float, unit: str) -> Claim:
        return Claim(key, what, "§V-B, Table I", paper, unit, lambda results: by_seed(first(results), value))

    million = pl.col("size_bytes") / 1e6
    limits = (
        (0.0, 0.01, "0 – 10 KB"),
        (0.01, 0.1, "10 – 100 KB"),
        (0.1, 1.0, "100 KB – 1 MB"),
        (1.0, None, "1 MB and more"),
    )
    return (
        *(
            of_sizes(
                f"share-{turn}",
                f"share of flows of {name}",
                100 * ((million > above) & (million <= up_to if up_to else True)).mean(),
                share,
                "%",
            )
            for turn, ((above, up_to, name), share) in enumerate(zip(limits, shares, strict=True))
        ),
        of_sizes("mean-size", "mean size of flows", million.mean(), mean, "MB"),
        of_sizes("long-flows", f"number of flows of {LONG.label}", LONG.holds().sum(), long_flows, "flows"),
    )


LOAD_NOTE = (
    "The load is the share of hosts that run a long flow on a permutation, as in the simulator that the authors "
    "published (thesis, chapter 4: `percentLongFlowNodes`)."
)
SIZES_NOTE = (
    "Panels a and c split the flows of up to 1 MB at 100 KB: the text gives only their range together. All intervals "
    "are (above, up to]. A run ends when the flows of up to 10 MB are complete; larger ones are in none of the panels."
)

SEARCH = table_one(shares=(19, 43, 18, 20), mean=1.6, long_flows=4000)
MINING = table_one(shares=(78, 5, 8, 9), mean=7.4, long_flows=1500)

QUICK_UNICAST = (
    "fabric.k=4",
    "workload.flows.arrivals.rate=160",
    "workload.flows.sessions=48",
    f'sweep."{BACKGROUND}"=[0.3, 0.5, 0.8]',
    "repeat=3",
)

FIG7 = Experiment(
    name="scdp/fig07",
    title="Web-search traffic over unicast background",
    question="How fast do short and long flows of web-search traffic complete while long flows load the network?",
    section="§V-B",
    figures=("7a", "7b", "7c", "7d"),
    draw=drawing("7", "Web search workload with unicast flows as background traffic"),
    claims=(
        fct("mean-scdp", "scdp", 0.8, MEAN, paper=0.31, section="§V-B"),
        fct("mean-ndp-plus", "ndp+", 0.8, MEAN, paper=0.292, section="§V-B"),
        fct("mean-pias", "pias", 0.8, MEAN, paper=0.43, section="§V-B, Fig. 7a"),
        long_goodput("long-pias", 0.7, "§V-B, Fig. 7d"),
        fct("tail-scdp", "scdp", 0.5, TAIL, paper=0.277, section="§V-D, Fig. 7b"),
        fct("tail-ndp", "ndp", 0.5, TAIL, paper=0.306, section="§V-D, Fig. 7b"),
        fct("tail-pias", "pias", 0.5, TAIL, paper=0.386, section="§V-D, Fig. 7b"),
        *pushed((0.277, 0.306, 0.386), "§V-D, Fig. 7b"),
        floor("floor-mean", MEAN, paper=0.31, section="§V-B"),
        floor("floor-tail", TAIL, paper=0.277, section="§V-D, Fig. 7b"),
        reduction_up_to("ndp", 45),
        reduction_up_to("pias", 70),
        *SEARCH,
    ),
    quick=QUICK_UNICAST,
    notes=f"{LOAD_NOTE}\n\n{SIZES_NOTE}",
)

FIG8 = Experiment(
    name="scdp/fig08",
    title="Data-mining traffic over unicast background",
    question="How fast do short and long flows of data-mining traffic complete while long flows load the network?",
    section="§V-B",
    figures=("8a", "8b", "8c", "8d"),
    draw=drawing("8", "Data mining workload with unicast flows as background traffic"),
    claims=(reduction_up_to("ndp", 45), reduction_up_to("pias", 70), *MINING),
    quick=QUICK_UNICAST,
    notes=f"{LOAD_NOTE}\n\n{SIZES_NOTE}",
)


def draw_fast(results: Tables) -> tuple[Figure, ...]:
    """Figure 9: mean completion times on 10 Gbps links."""
    flows = short_and_long(results)
    panels = tuple(
        bars(
            flows.filter(bucket.holds()),
            transports("scdp", "ndp"),
            MEAN,
            over=LOAD,
            x=BACKGROUND_LOAD,
            y=FCT,
            key=key,
            caption=f"{bucket.label}: average",
        )
        for key, bucket in (("a", SHORT), ("b", MEDIUM))
    )
    return (Figure("9", "Web search workload with 10Gbps links", panels),)


def ahead_of(other: str, load: float, *, key: str, says: str, section: str) -> Claim:
    """SCDP's mean completion time of short flows against another transport's."""
    return relative(
        key,
        f"{says}: mean FCT of {SHORT.label}, SCDP over {transports(other)[0].label}, load {load}",
        section,
        lambda results: compared(
            short_and_long(results).filter(SHORT.holds(), at(load=load)),
            MEAN,
            {"transport": "scdp"},
            {"transport": other},
        ),
    )


def still_better(load: float) -> Claim:
    """SCDP against NDP on 10 Gbps links."""
    says = "SCDP still performs better than NDP"
    return ahead_of("ndp", load, key=f"still-better-load{load}", says=says, section="§V-C, Fig. 9")


def makes_space(section: str) -> tuple[Claim, ...]:
    """SCDP against the transports that the paper compares it with over mixed background, at two loads."""
    says = "multicast and many senders make space for short flows"
    return tuple(
        ahead_of(other, load, key=f"space-{other}-load{load}", says=says, section=section)
        for other in ("ndp", "pias")
        for load in (0.5, 0.8)
    )


FIG9 = Experiment(
    name="scdp/fig09",
    title="Web-search traffic on 10 Gbps links",
    question="Do short flows still gain from SCDP on 10 Gbps links, where decoding weighs more?",
    section="§V-C",
    figures=("9",),
    draw=draw_fast,
    claims=(still_better(0.5), still_better(0.9)),
    quick=(
        "fabric.k=4",
        "workload.flows.arrivals.rate=1600",
        "workload.flows.sessions=96",
        "repeat=3",
    ),
    notes=(
        f"{LOAD_NOTE}\n\nThe text names neither the sizes nor the statistic of this figure: here they are those of "
        "Figures 7a and 7c, with which it compares them."
    ),
)

QUICK_MIXED = (
    "fabric.k=4",
    "workload.flows.arrivals.rate=160",
    "workload.flows.sessions=48",
    # HDFS wants racks of three hosts; those of k = 4 have two.
    "workload.writes.placement.policy=random",
    "workload.reads.placement.policy=random",
    f'sweep."{WRITES}, workload.reads.arrivals.load"=[[0.075, 0.075], [0.125, 0.125], [0.2, 0.2]]',
    "repeat=2",
)
MIXED_NOTE = (
    "The load is what the background traffic brings to the hosts' links: a write arrives at three hosts, a read at "
    "one. That of Figures 7 and 8 is a share of hosts. NDP and PIAS write by multi-unicast and read from one replica. "
    "NDP+ is not run: the paper leaves it out of this comparison (§V-D)."
)

FIG10 = Experiment(
    name="scdp/fig10",
    title="Web-search traffic over one-to-many and many-to-one background",
    question="How fast do flows of web-search traffic complete while replicated writes and reads load the network?",
    section="§V-D",
    figures=("10a", "10b", "10c", "10d"),
    draw=drawing(
        "10", "Web search workload with a mixture of one-to-many and many-to-one sessions as background traffic"
    ),
    claims=(
        fct("tail-scdp", "scdp", 0.5, TAIL, paper=0.287, section="§V-D, Fig. 10b"),
        fct("tail-ndp", "ndp", 0.5, TAIL, paper=0.381, section="§V-D, Fig. 10b"),
        fct("tail-pias", "pias", 0.5, TAIL, paper=0.48, section="§V-D, Fig. 10b"),
        *pushed((0.287, 0.381, 0.48), "§V-D, Fig. 10b"),
        *makes_space("§V-D, Fig. 10a"),
    ),
    quick=QUICK_MIXED,
    notes=f"{MIXED_NOTE}\n\n{SIZES_NOTE}",
)

FIG11 = Experiment(
    name="scdp/fig11",
    title="Data-mining traffic over one-to-many and many-to-one background",
    question="How fast do flows of data-mining traffic complete while replicated writes and reads load the network?",
    section="§V-D",
    figures=("11a", "11b", "11c", "11d"),
    draw=drawing(
        "11", "Data mining workload with a mixture of one-to-many and many-to-one sessions as background traffic"
    ),
    claims=makes_space("§V-D, Fig. 11a"),
    quick=QUICK_MIXED,
    notes=f"{MIXED_NOTE}\n\n{SIZES_NOTE}",
)


def draw_buffers(results: Tables) -> tuple[Figure, ...]:
    """PIAS by buffer: short flows against long ones."""
    flows, pias = foreground(results), transports("pias")
    # Least first, as the scenario lists them.
    buffers = pl.col(BUFFER).map_elements(spaced, return_dtype=pl.String)
    x = Axis("buffer of a port")
    panels = tuple(
        bars(
            flows.filter(sizes.holds()), pias, value, over=buffers, x=x, y=y, key=key, caption=f"{sizes.label}: average"
        )
        for key, sizes, value, y in (("a", SHORT, MEAN, FCT), ("b", LONG, GBPS.mean(), GOODPUT))
    )
    return (Figure("buffers", "PIAS with three sizes of buffers, load 0.8", panels),)


def with_buffer(buffer: str, paper: float) -> Claim:
    """Mean completion time of PIAS's short flows with a buffer."""
    return Claim(
        key=f"mean-{buffer}",
        statement=f"mean FCT of {SHORT.label}, PIAS, load 0.8, buffer {spaced(buffer)}",
        where="§V-B",
        paper=paper,
        unit="ms",
        measure=lambda results: by_seed(foreground(results).filter(SHORT.holds(), at(**{BUFFER: buffer})), MEAN),
    )


BUFFERS = Experiment(
    name="scdp/buffers",
    title="PIAS with a small, the paper's and an unlimited buffer",
    question="What do short flows gain, and long flows lose, when switches never drop?",
    section="§V-B",
    figures=("buffers",),
    draw=draw_buffers,
    claims=(
        with_buffer("100KB", 0.43),
        with_buffer("unlimited", 0.32),
        long_goodput("long-100KB", 0.7, "§V-B", buffer="100KB"),
        long_goodput("long-unlimited", 0.5, "§V-B", buffer="unlimited"),
    ),
    quick=QUICK_UNICAST[:3] + QUICK_UNICAST[-1:],
    notes=(
        "The paper gives these numbers in the text, without a figure. A *very large buffer* is an unlimited one here. "
        f"20 packets, the buffer of SCDP and NDP, are added for comparison. {LOAD_NOTE}"
    ),
)
