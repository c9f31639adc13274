"""Beyond the papers: slow receivers, switches that do not trim, TCP beside SCDP, faster links, other fabrics."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base.styles import SPARE, TRANSPORTS
from anabranch.reproduce import (
    Axis,
    Experiment,
    Figure,
    Series,
    at,
    bars,
    cdf,
    means,
    ranked,
    requests,
    transports,
    values_of,
)
from anabranch.reproduce.experiments.common import FCT_MS, GBPS, GOODPUT, apart, in_order, spaced
from anabranch.reproduce.experiments.incast import SENDERS
from anabranch.reproduce.experiments.realistic import FCT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce import Panel
    from anabranch.results.tables import Tables

OWN = "beyond the paper"
"""Section of experiments that the papers do not have."""
WRITES = "writes"
QUICK_WRITES = ("fabric.k=6", "workload.writes.arrivals.rate=432", "workload.writes.sessions=108")
"""Writes in a smaller fat-tree, as many a second for each of its hosts."""

POLICY = "transport.scdp.straggler.policy"
POLICIES = {"wait": "wait (the paper)", "detach": "detach", "drop": "drop after a quorum"}


def slow_hosts(results: Tables) -> list[int]:
    """The hosts whose links the scenario makes slow."""
    failures = tomllib.loads(results.manifest.scenario_toml).get("failure", [])
    names = [failure["link"].split("-")[0] for failure in failures if failure["action"] == "slow"]
    return sorted(int(name.removeprefix("h")) for name in names)


def behind(results: Tables) -> pl.DataFrame:
    """The receivers of writes, with whether they are ``slow`` and whether a slow one is in their group (``held``)."""
    slow = pl.col("dst_host").is_in(slow_hosts(results))
    receivers = results.flows.filter(at(workload=WRITES)).with_columns(slow.alias("slow"))
    return receivers.with_columns(pl.col("slow").any().over("run", "session").alias("held"))


def draw_stragglers(results: Tables) -> tuple[Figure, ...]:
    """Completion times of the receivers whose group has a slow one, and of the slow ones."""
    receivers = behind(results)
    series = values_of(POLICY, in_order(receivers, POLICY), lambda policy: POLICIES[policy])
    groups = (
        ("a", "Receivers beside a slow one", pl.col("held") & ~pl.col("slow")),
        ("b", "Slow receivers", pl.col("slow")),
        ("c", "Receivers of other groups", ~pl.col("held")),
    )
    panels = tuple(
        cdf(receivers.filter(chosen), series, FCT_MS, x=Axis("FCT (ms)", log=True), key=key, caption=caption)
        for key, caption, chosen in groups
    )
    return (Figure("stragglers", "One-to-many with slow receivers, by what the sender does with them", panels),)


STRAGGLERS = Experiment(
    name="scdp/stragglers",
    title="A slow receiver in a group",
    question="What does a slow receiver cost the others of its group, and what do straggler policies gain?",
    section=OWN,
    figures=("stragglers",),
    draw=draw_stragglers,
    quick=(
        # k = 8 stays: the scenario names its slow hosts.
        "workload.writes.sizes.size=1MB",
        "workload.writes.sessions=80",
        "workload.background.placement.share=0.1",
        "repeat=2",
    ),
    notes=(
        "A curve that ends below 1 has receivers that never got the object: with `drop` the sender gives them up. The "
        "paper waits for all receivers (§IV-D)."
    ),
)

QUEUE = "switch.queue"
MULTICAST = "switch.trim_multicast"
SWITCHES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("trim everything (the paper)", {QUEUE: "mlfq-trim", MULTICAST: True}),
    ("trim unicast, drop multicast", {QUEUE: "mlfq-trim", MULTICAST: False}),
    ("priorities, no trimming", {QUEUE: "mlfq"}),
    ("drop-tail", {QUEUE: "drop-tail"}),
)


def draw_trimming(results: Tables) -> tuple[Figure, ...]:
    """Goodput and completion times of writes, by what switches do when they are full."""
    sessions = requests(results)
    series = [Series(label, condition, look) for (label, condition), look in zip(SWITCHES, SPARE, strict=False)]
    panels = (
        ranked(sessions, series, GBPS, y=GOODPUT, key="a", caption="Goodput of writes"),
        cdf(sessions, series, FCT_MS, x=Axis("FCT (ms)", log=True), key="b", caption="Completion of writes"),
    )
    return (Figure("trimming", "One-to-many over switches that trim all, unicast only, and nothing", panels),)


TRIMMING = Experiment(
    name="scdp/trimming",
    title="One-to-many on switches that do not trim",
    question="Does SCDP need switches that trim?",
    section=OWN,
    figures=("trimming",),
    draw=draw_trimming,
    quick=(*QUICK_WRITES, "repeat=3"),
    notes="A write that did not finish counts as zero goodput, and its curve of completion times ends below 1.",
)

TCP = "workload.tcp-long.transport"
DISCIPLINES = {
    "fair": "fair queues",
    "mlfq-trim": "SCDP's queue",
    "ecn": "marking queue",
    "drop-tail": "drop-tail",
}


def draw_coexistence(results: Tables) -> tuple[Figure, ...]:
    """Long and short flows of both transports on shared links, by queue discipline."""
    flows = results.flows.with_columns(pl.col(QUEUE).replace_strict(DISCIPLINES).alias("discipline"))
    # A flow that did not finish is later than any other.
    late = FCT_MS.fill_null(float("inf")).median()
    kinds = (("long", GBPS.mean(), GOODPUT, "mean of long flows"), ("short", late, FCT, "median of 100 KB"))
    panels: list[Panel] = []
    for kind, value, y, what in kinds:
        for tcp in in_order(flows, TCP):
            beside = TRANSPORTS[tcp]
            series = [
                Series(look.label, {"workload": f"{side}-{kind}"}, look)
                for side, look in (("scdp", TRANSPORTS["scdp"]), ("tcp", beside))
            ]
            rows = flows.filter(at(**{TCP: tcp}))
            caption = f"SCDP and {beside.label}: {what}"
            key = "abcdefgh"[len(panels)]
            panels.append(bars(rows, series, value, over="discipline", y=y, key=key, caption=caption))
    return (Figure("coexistence", "SCDP beside TCP", tuple(panels), columns=len(panels) // len(kinds)),)


COEXISTENCE = Experiment(
    name="scdp/coexistence",
    title="SCDP beside TCP",
    question="Can SCDP and TCP use the same network, with a queue for each or with one for both?",
    section="thesis, chapter 5",
    figures=("coexistence",),
    draw=draw_coexistence,
    quick=(
        "fabric.k=4",
        "run.time_limit=60ms",
        "workload.scdp-short.until=30ms",
        "workload.tcp-short.until=30ms",
        "repeat=3",
    ),
    open_ended=True,
    notes=(
        "Runs end at a limit of time, by intention: the long flows have no end. A short flow that did not finish "
        "counts as later than every other. The thesis leaves the coexistence open and suggests fair queues."
    ),
)

WINDOW = "transport.scdp.initial_window"
FABRIC_RATE = "fabric.rate"
DECODER = "transport.scdp.decode_rate"
MODES = {"unicast": "unicast", "writes": "one-to-many", "reads": "many-to-one"}


def draw_fast_links(results: Tables) -> tuple[Figure, ...]:
    """Share of the link that sessions get on faster links, by window and decoder."""
    sessions = requests(results)
    gbps = pl.col(FABRIC_RATE).str.extract(r"^([\d.]+)").cast(pl.Float64)
    share = 100 * GBPS.fill_null(0.0) / gbps
    place = pl.format("{} Gbps, w = {}", gbps.cast(pl.Int64), pl.col(WINDOW))
    series = values_of("workload", list(MODES), lambda name: MODES[name])
    panels = tuple(
        bars(
            sessions.filter(at(**{DECODER: rate})),
            series,
            share.mean(),
            over=place,
            y=Axis("goodput (% of the link)", domain=(0, 100)),
            key=key,
            caption=f"Decoding at {spaced(rate)}",
        )
        for key, rate in zip("abcd", in_order(sessions, DECODER), strict=False)
    )
    return (Figure("fast-links", "SCDP at 100 and 400 Gbps", panels, columns=1),)


FAST_LINKS = Experiment(
    name="scdp/fast-links",
    title="SCDP at 100 and 400 Gbps",
    question="Does SCDP fill links of 100 and 400 Gbps, and with which initial window?",
    section=OWN,
    figures=("fast-links",),
    draw=draw_fast_links,
    quick=(
        *(f"workload.{name}.sizes.size=5MB" for name in MODES),
        "workload.unicast.sessions=20",
        "workload.writes.sessions=10",
        "workload.reads.sessions=10",
        "repeat=2",
    ),
    notes="Windows: the paper’s, and the bandwidth-delay product; the scenario has the arithmetic.",
)


def draw_large(results: Tables) -> tuple[Figure, ...]:
    """Writes in a fat-tree of 1024 hosts, and the background traffic beside them."""
    series = transports("scdp", "ndp")
    sessions = requests(results)
    background = results.flows.filter(at(workload="background")).with_columns(pl.lit("long flows").alias("what"))
    writes = ranked(sessions, series, GBPS, y=GOODPUT, key="a", caption="Writes to three replicas")
    beside = bars(background, series, GBPS.mean(), over="what", y=GOODPUT, key="b", caption="Background traffic")
    return (Figure("k16", "Replicated writes in a fat-tree of 1024 hosts", (writes, beside)),)


K16 = Experiment(
    name="scdp/k16",
    title="1024 hosts",
    question="Do the results for 250 hosts hold for 1024?",
    section=OWN,
    figures=("k16",),
    draw=draw_large,
    quick=(*QUICK_WRITES, "repeat=2"),
    notes="The quick size has k = 6, and says nothing of 1024 hosts.",
)

FABRIC_NAME = "name"


def slowdowns(results: Tables) -> pl.DataFrame:
    """Slowdown of each request: its time over that of its slowest part alone on the idle fabric.

    Returns
    -------
    polars.DataFrame
        The columns of the run, ``seed``, ``workload``, ``request`` and ``slowdown``: null where a part did not finish.
    """
    flows = results.flows.filter(~pl.col("background"))
    about = [pl.col(name).first() for name in (*results.keys, "seed", "workload")]
    end = pl.when(pl.col("end_ns").is_null().any()).then(None).otherwise(pl.col("end_ns").max())
    slowdown = (end - pl.col("start_ns").min()) / pl.col("ideal_fct_ns").max()
    return flows.group_by("run", "request", maintain_order=True).agg(*about, slowdown.alias("slowdown"))


def draw_topologies(results: Tables) -> tuple[Figure, ...]:
    """Mean slowdown of unicast flows, writes and reads, by fabric and transport."""
    table = slowdowns(results)
    panels = tuple(
        bars(
            table.filter(at(workload=name)),
            transports("scdp", "ndp", "dctcp"),
            pl.col("slowdown").mean(),
            over=FABRIC_NAME,
            y=Axis("mean slowdown"),
            key=key,
            caption=caption,
        )
        for key, (name, caption) in zip(
            "abc",
            {"unicast": "Unicast, 150 KB", "writes": "Writes to 3 replicas", "reads": "Reads with 3 replicas"}.items(),
            strict=True,
        )
    )
    return (Figure("topologies", "Six fabrics, one load", panels, columns=1),)


TOPOLOGIES = Experiment(
    name="scdp/topologies",
    title="Other fabrics",
    question="Does SCDP depend on the topology?",
    section="thesis, chapter 5",
    figures=("topologies",),
    draw=draw_topologies,
    quick=(*(f"workload.{name}.until=10ms" for name in MODES), "repeat=2"),
    notes=(
        "*Slowdown* is the time of a request over that of its slowest part alone on the idle fabric; what did not "
        "finish is left out of the mean. NDP and DCTCP write by multi-unicast and read from one replica."
    ),
)

TABLE = "transport.scdp.decode_table"
POLYNOMIAL = "transport.scdp.decode_polynomial"
DECODERS = {"default": "1.3 Gbps (§V-C)", "measured": "this project’s codec"}
"""Decoders that take time, and what people call them."""


def decoders(results: Tables) -> pl.DataFrame:
    """Each Incast with each decoder.

    Returns
    -------
    polars.DataFrame
        The swept keys, ``seed``, ``decoder`` (``none``: it takes no time), ``added``: by how many per cent the mean
        completion time exceeds that of the same Incast with a decoder that takes no time, and ``decoded``: the share
        of sessions that were decoded, in per cent.
    """
    decoder = (
        pl.when(pl.col(TABLE) == "measured")
        .then(pl.lit("measured"))
        .when(pl.col(POLYNOMIAL) != "[]")
        .then(pl.lit("none"))
        .otherwise(pl.lit("default"))
    )
    keys = [FABRIC_RATE, SENDERS, "seed"]
    each = (
        results.flows.with_columns(decoder.alias("decoder"))
        .group_by("run", *keys, "decoder", maintain_order=True)
        .agg(FCT_MS.mean().alias("fct"), (100 * pl.col("decoded").mean()).alias("decoded"))
    )
    free = each.filter(pl.col("decoder") == "none").select(*keys, pl.col("fct").alias("free"))
    added = 100 * (pl.col("fct") / pl.col("free") - 1)
    return each.join(free, on=keys, maintain_order="left").with_columns(added.alias("added"))


def draw_decoders(results: Tables) -> tuple[Figure, ...]:
    """What decoding adds to completion times under Incast, by link rate and decoder."""
    table = decoders(results)
    rates = in_order(table, FABRIC_RATE)
    x = Axis("number of senders", log=True)
    panels = [
        means(
            table.filter(at(**{FABRIC_RATE: rate})),
            values_of("decoder", list(DECODERS), lambda name: DECODERS[name]),
            pl.col("added").mean(),
            over=SENDERS,
            x=x,
            y=Axis("added to the mean FCT (%)"),
            key=key,
            caption=f"{spaced(rate)}: time added by decoding",
        )
        for key, rate in zip("ab", rates, strict=False)
    ]
    panels.append(
        means(
            table.filter(pl.col("decoder") == "none"),
            apart(values_of(FABRIC_RATE, rates, spaced), len(DECODERS)),
            pl.col("decoded").mean(),
            over=SENDERS,
            x=x,
            y=Axis("sessions decoded (%)", domain=(0, 100)),
            key="c",
            caption="Sessions that need decoding",
        )
    )
    return (Figure("decode-latency", "Incast with two decoders, and with one that takes no time", tuple(panels)),)


DECODE_LATENCY = Experiment(
    name="scdp/decode-latency",
    title="Decode latency",
    question="How much does it matter how long decoding takes?",
    section=OWN,
    figures=("decode-latency",),
    draw=draw_decoders,
    quick=("fabric.k=4", f'sweep."{SENDERS}"=[1, 2, 5, 10]'),
    notes=(
        "*Added* is by how much the mean completion time of the sessions exceeds that of the same Incast with a "
        "decoder that takes no time. Where nothing is lost, nothing is decoded and nothing added; where all sessions "
        "are decoded, the latency is the same for each, and the more senders share the link, the less it is of their "
        "time."
    ),
)
