"""SCDP §I and §V-A: writing to and reading from replicated storage."""

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
    relative,
    requests,
    transports,
    variant,
    where,
)
from anabranch.reproduce.experiments.common import GBPS, GOODPUT, MEAN_GOODPUT, MODE, RATE, REPLICAS, excess, like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anabranch.reproduce import Series
    from anabranch.reproduce.claims import Relation
    from anabranch.results.tables import Tables

WAY = "workload.requests.fallback"
BLOCKS = "workload.requests.placement.blocks"
LINK = 1e9
"""Rate of a link, bit/s."""
AVAILABLE = LINK * 1436 / 1500
"""Bit/s that the paper's "available bandwidth" stands for: the payload that a link carries."""

BANDWIDTH_NOTE = (
    "*Available bandwidth* is the payload that a link of 1 Gbps carries: of the 1500 bytes of a packet 1436 here, so "
    "0.957 Gbps. The paper does not define it; its symbols have 1500 bytes, headers apart."
)
UP_TO_NOTE = (
    "*Up to* is the largest gain of mean goodput over all sizes and rates of arrivals, against the better of the two "
    "ways in which the other transport is used. The paper gives one number for writes and reads together."
)


def draw_motivation(results: Tables) -> tuple[Figure, ...]:
    """Figure 1: unicast transports with one replica and with three."""
    sessions = requests(results)

    def ways(name: str, label: str) -> tuple[Series, ...]:
        write, read = {MODE: "one_to_many"}, {MODE: "many_to_one"}
        one, three = {REPLICAS: 1}, {REPLICAS: 3}
        many = {**write, **three, WAY: "multi-unicast"}
        return (
            like(name, f"{label}, 1 replica", one),
            variant(name, f"{label}, 3 replicas (multi-unicast)", many, turn=1),
            variant(name, f"{label}, 3 replicas (daisy chain)", {**write, **three, WAY: "daisy-chain"}, turn=2),
            variant(name, f"{label}, 3 replicas (one is read)", {**read, **three}, turn=3),
        )

    series = (*ways("ndp", "NDP"), *ways("newreno", "TCP"))
    panels = [
        ranked(sessions.filter(at(**{MODE: mode})), series, GBPS, y=GOODPUT, key=key, caption=caption)
        for key, mode, caption in (
            ("a", "one_to_many", "One-to-many (write)"),
            ("b", "many_to_one", "Many-to-one (read)"),
        )
    ]
    return (Figure("1", "Goodput of reads and writes with unicast transports", tuple(panels), columns=2),)


def mean_of(
    key: str, statement: str, above: Mapping[str, object], below: Mapping[str, object], relation: Relation = "at most"
) -> Claim:
    """A statement of §I without a number: that one mean goodput is below, or above, another."""
    return relative(
        key, statement, "§I, Fig. 1", lambda results: compared(requests(results), MEAN_GOODPUT, above, below), relation
    )


def _one(mode: str, transport: str, replicas: int, way: str = "") -> dict[str, object]:
    return {MODE: mode, "transport": transport, REPLICAS: replicas, **({WAY: way} if way else {})}


FIG1 = Experiment(
    name="scdp/fig01",
    title="Storage over unicast transports: one replica and three",
    question="What does a storage client get from unicast transports, with one replica of a block and with three?",
    section="§I",
    figures=("1a", "1b"),
    draw=draw_motivation,
    claims=(
        mean_of(
            "tcp-over-ndp",
            "TCP performs poorly with one replica, NDP very well: mean goodput of writes, TCP over NDP",
            _one("one_to_many", "newreno", 1),
            _one("one_to_many", "ndp", 1),
        ),
        mean_of(
            "three-writes",
            "NDP performs poorly when it writes three replicas: mean goodput, three (multi-unicast) over one",
            _one("one_to_many", "ndp", 3, "multi-unicast"),
            _one("one_to_many", "ndp", 1),
        ),
        mean_of(
            "daisy-chain",
            "daisy chaining performs better than multi-unicasting: mean goodput of NDP's writes, one over the other",
            _one("one_to_many", "ndp", 3, "daisy-chain"),
            _one("one_to_many", "ndp", 3, "multi-unicast"),
            "at least",
        ),
        mean_of(
            "three-reads",
            "NDP performs poorly when it reads one of three replicas: mean goodput, of three over of one",
            _one("many_to_one", "ndp", 3),
            _one("many_to_one", "ndp", 1),
        ),
    ),
    quick=(
        "fabric.k=6",  # HDFS places replicas in racks of three hosts at least
        "workload.requests.arrivals.rate=216",
        "workload.requests.sessions=54",
        "workload.requests.sizes.size=1MB",
        "workload.background.placement.share=0.15",
        "repeat=2",
    ),
    notes="The paper states no numbers for this figure; the table compares what it says of the curves.",
)


def objects(results: Tables) -> pl.DataFrame:
    """The requests, with the size of what was asked for: three blocks of read-ahead are one object."""
    return requests(results).with_columns((pl.col("size_bytes") / 1e6).round(3).alias("object_mb"))


def loads(frame: pl.DataFrame) -> list[tuple[float, float]]:
    """Object size in MB and rate of arrivals of each panel, in order."""
    return sorted(frame.select("object_mb", RATE).unique().rows())


def lightest(frame: pl.DataFrame) -> pl.DataFrame:
    """The requests of the first panel: the smallest objects at the lowest rate."""
    return frame.filter(pl.col("object_mb") == pl.col("object_mb").min(), pl.col(RATE) == pl.col(RATE).min())


def heaviest(frame: pl.DataFrame) -> pl.DataFrame:
    """The requests of the last panel: the largest objects at the highest rate."""
    return frame.filter(pl.col("object_mb") == pl.col("object_mb").max(), pl.col(RATE) == pl.col(RATE).max())


def by_load(results: Tables, series: Sequence[Series], number: str, caption: str) -> tuple[Figure, ...]:
    """One panel of ranked goodput for each size and rate."""
    frame = objects(results)
    panels = [
        ranked(
            frame.filter(at(object_mb=size, **{RATE: rate})),
            series,
            GBPS,
            y=GOODPUT,
            key=key,
            caption=f"{size:g} MB, λ = {rate:g}",
        )
        for key, (size, rate) in zip("abcdefgh", loads(frame), strict=False)
    ]
    return (Figure(number, caption, tuple(panels), columns=2 if len(panels) == 4 else None),)  # noqa: PLR2004


def share_above(
    key: str, transport: str, share: float, ways: Mapping[str, object], *, paper: float, section: str
) -> Claim:
    """Share of the requests of the first panel whose goodput is above a share of the available bandwidth."""
    name = transports(transport)[0].label
    above = (pl.col("goodput_bps") > share * AVAILABLE).fill_null(value=False)
    return Claim(
        key=key,
        statement=f"{name} sessions above {share:.0%} of the available bandwidth, 1 MB, λ = 2000",
        where=section,
        paper=paper,
        unit="%",
        measure=lambda results: by_seed(
            lightest(objects(results)).filter(at(transport=transport), where(ways)), 100 * above.mean()
        ),
    )


def background(results: Tables, transport: str, ways: Mapping[str, object]) -> dict[int, float]:
    """Mean goodput of the background flows in the runs of the last panel, Gbps."""
    runs = heaviest(objects(results)).filter(at(transport=transport), where(ways))["run"].unique()
    flows = results.flows.filter(at(workload="background"), pl.col("run").is_in(runs.implode()))
    return by_seed(flows, GBPS.mean())


def beside(key: str, statement: str, paper: float, measure: Callable[[Tables], Mapping[int, float]]) -> Claim:
    """Mean goodput of the background flows beside storage traffic, which §V-A gives for each transport."""
    return Claim(key, statement, "§V-A", paper, "Gbps", measure)


def background_goodput(transport: str, paper: float, ways: Mapping[str, object]) -> Claim:
    """Mean goodput of the background flows beside the heaviest storage traffic."""
    what = f"mean goodput of background traffic, {transports(transport)[0].label}, 4 MB, λ = 4000"
    return beside(f"background-{transport}", what, paper, lambda results: background(results, transport, ways))


def goodputs(results: Tables, transport: str, way: str) -> pl.DataFrame:
    """Mean goodput of each seed, size, rate and way of a transport; what did not finish counts as zero."""
    frame = objects(results).filter(at(transport=transport))
    return frame.group_by("seed", "object_mb", RATE, pl.col(way).alias("way"), maintain_order=True).agg(MEAN_GOODPUT)


def _best(table: pl.DataFrame) -> pl.DataFrame:
    return table.group_by("seed", "object_mb", RATE, maintain_order=True).agg(pl.col("goodput_bps").max())


def largest_gain(results: Tables, transport: str, way: str) -> dict[int, float]:
    """The largest gain of SCDP's mean goodput over another transport's better way, in percent."""
    mine, theirs = (_best(goodputs(results, name, way)) for name in ("scdp", transport))
    both = mine.join(theirs, on=["seed", "object_mb", RATE], suffix="_theirs")
    return by_seed(both, excess(pl.col("goodput_bps"), pl.col("goodput_bps_theirs")).max())


def gain_up_to(transport: str, paper: float, way: str) -> Claim:
    """The gain in goodput that the paper's introduction promises."""
    name = transports(transport)[0].label
    return Claim(
        key=f"gain-over-{transport}",
        statement=f"SCDP improves goodput by up to this, compared to {name}",
        where="§I",
        paper=paper,
        unit="%",
        measure=lambda results: largest_gain(results, transport, way),
    )


def mean_gain(results: Tables, transport: str, over: Sequence[str], way: str, *, same_way: bool) -> dict[int, float]:
    """Gain of a transport's mean goodput over others', in percent: mean over sizes, rates, ways and the others.

    Parameters
    ----------
    results
        The experiment.
    transport
        Whose gain.
    over
        Over whom.
    way
        Column of the ways in which a transport is used.
    same_way
        Whether each way is compared with the same way; else each with all (SCDP has one way only).
    """
    place = ["seed", "object_mb", RATE, *(["way"] if same_way else [])]
    mine = goodputs(results, transport, way)
    both = pl.concat([mine.join(goodputs(results, other, way), on=place, suffix="_theirs") for other in over])
    return by_seed(both, excess(pl.col("goodput_bps"), pl.col("goodput_bps_theirs")).mean())


WRITES: Mapping[str, object] = {WAY: "multi-unicast"}
READS: Mapping[str, object] = {BLOCKS: 1}


def draw_writes(results: Tables) -> tuple[Figure, ...]:
    """Figure 5: ranked goodput of writes. NDP+ is left out, as in the paper."""
    daisy = {WAY: "daisy-chain"}
    series = (
        *transports("scdp"),
        like("ndp", "NDP (multi-unicast)", WRITES),
        variant("ndp", "NDP (daisy chain)", daisy),
        like("pias", "PIAS (multi-unicast)", WRITES),
        variant("pias", "PIAS (daisy chain)", daisy),
    )
    return by_load(results, series, "5", "Write I/O with 3 replicas (one-to-many)")


def _freed(results: Tables) -> dict[int, float]:
    scdp, ndp = (background(results, name, WRITES) for name in ("scdp", "ndp"))
    return {seed: 100e9 * (value - ndp[seed]) / LINK for seed, value in scdp.items() if seed in ndp}


QUICK_LOADS = (
    "fabric.k=6",  # HDFS places replicas in racks of three hosts at least
    # 2000 and 4000 a second on 250 hosts, for 54.
    f'sweep."{RATE}"=[432, 864]',
    "repeat=2",
)

FIG5 = Experiment(
    name="scdp/fig05",
    title="Goodput of writes to three replicas",
    question="What goodput does a client see that writes a block to three replicas?",
    section="§V-A",
    figures=("5a", "5b", "5c", "5d"),
    draw=draw_writes,
    claims=(
        share_above("above-90", "scdp", 0.9, {}, paper=50, section="§V-A, Fig. 5"),
        share_above("above-60", "scdp", 0.6, {}, paper=100, section="§V-A, Fig. 5"),
        background_goodput("scdp", 0.408, WRITES),
        background_goodput("ndp", 0.252, WRITES),
        background_goodput("pias", 0.182, WRITES),
        Claim(
            key="freed",
            statement="bandwidth freed up for background traffic: SCDP less NDP, 4 MB, λ = 4000",
            where="§V-A",
            paper=15.6,
            unit="% of the link",
            measure=_freed,
        ),
        Claim(
            key="ndp-plus-over-ndp",
            statement="NDP+ is on average better than NDP in goodput by",
            where="§V-A",
            paper=14,
            unit="%",
            measure=lambda results: mean_gain(results, "ndp+", ["ndp"], WAY, same_way=True),
        ),
        Claim(
            key="ndp-plus-below-scdp",
            statement="NDP+ is on average worse than SCDP in goodput by",
            where="§V-A",
            paper=21,
            unit="%",
            measure=lambda results: {
                seed: -gain for seed, gain in mean_gain(results, "ndp+", ["scdp"], WAY, same_way=False).items()
            },
        ),
        gain_up_to("ndp", 50, WAY),
        gain_up_to("pias", 60, WAY),
    ),
    quick=(
        *QUICK_LOADS,
        'sweep."workload.requests.sizes.size"=["250KB", "1MB"]',
        "workload.requests.sessions=54",
    ),
    notes=(
        f"{BANDWIDTH_NOTE}\n\n{UP_TO_NOTE}\n\n"
        "The paper does not say whether NDP and PIAS multi-unicast or daisy-chain where it gives the goodput of "
        "background traffic: here they multi-unicast. NDP+ *on average* is the mean over sizes, rates and both ways "
        "of writing. NDP+ is not drawn, as in the paper."
    ),
)


def draw_reads(results: Tables) -> tuple[Figure, ...]:
    """Figure 6: ranked goodput of reads. NDP+ is left out, as in the paper."""
    ahead = {BLOCKS: 3}
    series = (
        *transports("scdp"),
        like("ndp", "NDP (1 block)", READS),
        variant("ndp", "NDP (3 blocks)", ahead),
        like("pias", "PIAS (1 block)", READS),
        variant("pias", "PIAS (3 blocks)", ahead),
    )
    return by_load(results, series, "6", "Read I/O with 3 replicas (many-to-one)")


def _quick_reads() -> str:
    """The sweep of Figure 6 with smaller objects and fewer of them."""
    transports = (("scdp", "20 packets"), ("ndp", "20 packets"), ("ndp+", "20 packets"), ("pias", "100KB"))
    points = [
        f'["{name}", "{buffer}", {blocks}, "{size // blocks}B", {54 * blocks}]'
        for size in (250_000, 1_000_000)
        for name, buffer in transports
        for blocks in ((1,) if name == "scdp" else (1, 3))
    ]
    keys = ("transport.name", "switch.buffer", BLOCKS, "workload.requests.sizes.size", "workload.requests.sessions")
    return f'sweep."{", ".join(keys)}"=[{", ".join(points)}]'


FIG6 = Experiment(
    name="scdp/fig06",
    title="Goodput of reads with three replicas",
    question="What goodput does a client see that reads a block of which three replicas exist?",
    section="§V-A",
    figures=("6a", "6b", "6c", "6d"),
    draw=draw_reads,
    claims=(
        share_above("above-90-scdp", "scdp", 0.9, READS, paper=82, section="§V-A, Fig. 6"),
        share_above("above-90-ndp", "ndp", 0.9, READS, paper=10, section="§V-A, Fig. 6"),
        share_above("above-90-pias", "pias", 0.9, READS, paper=23, section="§V-A, Fig. 6"),
        background_goodput("ndp", 0.342, READS),
        background_goodput("pias", 0.152, READS),
        Claim(
            key="ndp-plus-over-both",
            statement="NDP+ is on average better in goodput than NDP and PIAS by",
            where="§V-A",
            paper=7,
            unit="%",
            measure=lambda results: mean_gain(results, "ndp+", ["ndp", "pias"], BLOCKS, same_way=True),
        ),
        gain_up_to("ndp", 50, BLOCKS),
        gain_up_to("pias", 60, BLOCKS),
    ),
    quick=(*QUICK_LOADS, _quick_reads()),
    notes=(
        f"{BANDWIDTH_NOTE}\n\n{UP_TO_NOTE}\n\n"
        "Where the paper names NDP or PIAS alone, a request reads a single block. NDP+ *on average* is the mean over "
        "sizes, rates, both ways of reading and both other transports. NDP+ is not drawn, as in the paper."
    ),
)
