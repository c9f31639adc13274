"""The storage requests of SCDP §V-A with the settings of the simulators that its authors have published."""

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
    raised,
    requests,
    transports,
    values_of,
    where,
)
from anabranch.reproduce.experiments.common import GBPS, GOODPUT, MEAN_GOODPUT, MODE, OWN, TRIMMED, in_order
from anabranch.reproduce.experiments.storage import AVAILABLE, BANDWIDTH_NOTE, beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.tables import Tables

KEYS = (
    "fabric.delay",
    "host.pull_pace",
    OWN,
    "switch.pushed_first",
    "switch.victim",
    "transport.scdp.priority_by",
)
TEXT, SHORT_LINKS, FAST, SHARED, SHORT_SHARED, QUEUES, QUEUES_SHARED = (
    "10 µs (text)",
    "1 µs",
    "1 µs, fast pulls",
    "10 µs, shared hosts",
    "1 µs, shared hosts",
    "published queues",
    "published queues, shared",
)
SETTINGS = {
    ("10us", 1.0, True, False, "auto", "sent"): TEXT,
    ("1us", 1.0, True, False, "auto", "sent"): SHORT_LINKS,
    ("1us", 1.0313, True, False, "auto", "sent"): FAST,
    ("10us", 1.0, False, False, "auto", "sent"): SHARED,
    ("1us", 1.0, False, False, "auto", "sent"): SHORT_SHARED,
    ("1us", 1.0313, True, True, "arriving", "size"): QUEUES,
    ("1us", 1.0313, False, True, "arriving", "size"): QUEUES_SHARED,
}
WINDOW = "transport.scdp.initial_window"
SIZE = "workload.requests.sizes.size"
WRITES = {MODE: "one_to_many"}
READS = {MODE: "many_to_one", SIZE: "1MB"}
HEAVY = {MODE: "many_to_one", SIZE: "4MB"}
REQUESTS = ", ".join(
    (
        MODE,
        "workload.requests.placement",
        SIZE,
        "workload.requests.arrivals.rate",
        "transport.name",
        "switch.buffer",
        WINDOW,
    )
)
"""What the scenario sweeps besides the settings."""


def quick_requests() -> str:
    """The requests of the quick size: as many a second for each of its 54 hosts as the scenario has for each of 250."""
    replicas = '{{ pattern = "replicas", replicas = 3, policy = "hdfs", access = "{}" }}'
    write, read = (replicas.format(access) for access in ("write", "read"))
    storage = (("one_to_many", write, "1MB", 432), ("many_to_one", read, "1MB", 432), ("many_to_one", read, "4MB", 864))
    names = (("scdp", "20 packets"), ("ndp", "20 packets"), ("pias", "100KB"))
    rows = [(*what, *name, 12) for what in storage for name in names]
    rows += [("unicast", '{ pattern = "random" }', "1.5MB", 432, *names[0], window) for window in (12, 20, 52)]
    listed = (
        f'["{mode}", {placement}, "{size}", {rate}, "{name}", "{buffer}", {window}]'
        for mode, placement, size, rate, name, buffer, window in rows
    )
    return f'sweep."{REQUESTS}"=[{", ".join(listed)}]'


def settled(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of results, with the name of their settings."""
    named = pl.DataFrame(
        [dict(zip((*KEYS, "settings"), (*point, name), strict=True)) for point, name in SETTINGS.items()]
    )
    return rows.join(named, on=KEYS, how="left", maintain_order="left")


def sessions(results: Tables) -> pl.DataFrame:
    """The requests, with the name of their settings."""
    return settled(requests(results))


def above(share: float) -> pl.Expr:
    """Percentage of the requests whose goodput is above this share of the available bandwidth."""
    return 100 * (pl.col("goodput_bps") > share * AVAILABLE).fill_null(value=False).mean()


def draw_settings(results: Tables) -> tuple[Figure, ...]:
    """Goodput, the share of fast requests, and trimmed packets, by settings."""
    frame = sessions(results)
    goodput = (GBPS.fill_null(0.0).mean(), Axis(f"mean {GOODPUT.title}"))
    fast_ones = (above(0.9), Axis("sessions above 90 % (%)", domain=(0, 100)))
    shown: tuple[tuple[str, Mapping[str, object], tuple[pl.Expr, Axis]], ...] = (
        ("Writes of 1 MB to 3 replicas", WRITES, goodput),
        ("Reads of 1 MB from 3 replicas", READS, goodput),
        ("Reads of 4 MB, λ = 4000", HEAVY, goodput),
        ("Writes of 1 MB to 3 replicas", WRITES, fast_ones),
        ("Reads of 1 MB from 3 replicas", READS, fast_ones),
    )
    panels = [
        bars(
            frame.filter(where(kind)),
            transports("scdp", "ndp", "pias"),
            value,
            over="settings",
            y=axis,
            key="abcdef"[turn],
            caption=caption,
        )
        for turn, (caption, kind, (value, axis)) in enumerate(shown)
    ]
    unicast = frame.filter(at(**{MODE: "unicast"}))
    windows = values_of(WINDOW, in_order(unicast, WINDOW), label="w = {}")
    trimmed_ones = bars(
        unicast,
        windows,
        TRIMMED.mean(),
        over="settings",
        y=Axis("trimmed packets per session"),
        key="f",
        caption="Unicast, 1.5 MB, SCDP",
    )
    return (
        Figure(
            "settings",
            "Settings that the text states and that the published code has",
            (*panels, trimmed_ones),
            columns=3,
        ),
    )


def fast(key: str, transport: str, kind: Mapping[str, object], share: float, *, paper: float, settings: str) -> Claim:
    """Share of a transport's requests above a share of the bandwidth, with these settings."""
    (series,) = transports(transport)
    what, figure = ("writes", 5) if kind is WRITES else ("reads", 6)
    return Claim(
        key=key,
        statement=f"{settings}: {series.label}, {what} of 1 MB above {share:.0%} of the available bandwidth",
        where=f"§V-A, Fig. {figure}",
        paper=paper,
        unit="%",
        measure=lambda results: by_seed(
            sessions(results).filter(at(transport=transport, settings=settings), where(kind)), above(share)
        ),
    )


def trimmed(window: int, settings: str, paper: float) -> Claim:
    """Trimmed packets of a unicast session with an initial window."""
    return Claim(
        key=f"trimmed-w{window}, {settings}",
        statement=f"{settings}: trimmed packets per 1.5 MB session at w = {window}",
        where="§V-F, Fig. 13b",
        paper=paper,
        unit="packets",
        measure=lambda results: by_seed(
            sessions(results).filter(at(settings=settings, **{MODE: "unicast", WINDOW: window})), TRIMMED.mean()
        ),
    )


def gain(transport: str, settings: str, paper: float) -> Claim:
    """By how much SCDP's mean goodput of reads is above another's, at the heaviest load."""

    def measure(results: Tables) -> dict[int, float]:
        reads = sessions(results).filter(at(settings=settings), where(HEAVY))
        return raised(compared(reads, MEAN_GOODPUT, {"transport": "scdp"}, {"transport": transport}))

    label = transports(transport)[0].label
    return Claim(
        key=f"gain-over-{transport}, {settings}",
        statement=f"{settings}: SCDP improves goodput by this, compared to {label}, reads of one block, 4 MB, λ = 4000",
        where="§I",
        paper=paper,
        unit="%",
        measure=measure,
    )


def background(transport: str, paper: float) -> Claim:
    """Mean goodput of background flows beside the heaviest reads, until these are done."""
    (series,) = transports(transport)

    def measure(results: Tables) -> dict[int, float]:
        flows = settled(results.flows).filter(at(workload="background", transport=transport, settings=QUEUES_SHARED))
        return by_seed(flows.filter(where(HEAVY)), GBPS.mean())

    says = f"{QUEUES_SHARED}: mean goodput of background traffic, {series.label}, reads, 4 MB, λ = 4000"
    return beside(f"background-{transport}", says, paper, measure)


PUBLISHED = Experiment(
    name="scdp/published",
    title="Storage requests with the settings of the published code",
    question="How much of what the paper reports follows from settings that its text does not state?",
    section="§V-A",
    figures=("settings",),
    draw=draw_settings,
    claims=(
        fast("writes-90", "scdp", WRITES, 0.9, paper=50, settings=SHORT_LINKS),
        fast("writes-60", "scdp", WRITES, 0.6, paper=100, settings=SHORT_LINKS),
        *(
            fast(f"reads-90-{transport}{key}", transport, READS, 0.9, paper=paper, settings=settings)
            for key, settings in (
                ("", SHORT_LINKS),
                ("-shared", SHARED),
                ("-shared-1us", SHORT_SHARED),
                ("-queues", QUEUES),
                ("-queues-shared", QUEUES_SHARED),
            )
            for transport, paper in (("scdp", 82), ("ndp", 10), ("pias", 23))
        ),
        *(
            gain(transport, settings, paper)
            for settings in (TEXT, SHARED, QUEUES, QUEUES_SHARED)
            for transport, paper in (("ndp", 50), ("pias", 60))
        ),
        *(background(transport, paper) for transport, paper in (("ndp", 0.342), ("pias", 0.152))),
        *(
            trimmed(window, settings, paper)
            for settings in (QUEUES, QUEUES_SHARED)
            for window, paper in ((12, 13), (20, 32), (52, 39))
        ),
    ),
    quick=(
        "fabric.k=6",  # HDFS places replicas in racks of three hosts at least
        "workload.requests.sessions=54",
        quick_requests(),
        "repeat=2",
    ),
    notes=(
        "The paper states links of 10 µs. The simulators that its authors published have 1 µs (NDP) and 0 µs "
        "(Polyraptor). NDP’s paces pulls by 12 µs while a packet takes 12.376 µs, 1547 bytes with the headers of NDP, "
        "IPv4 and PPP: its pulls ask for 3.1 % more than the link carries (*fast pulls*). SCDP’s own simulator is not "
        "published. In the published ones, hosts of background flows do nothing else; with *shared hosts* they send "
        "and receive requests, too, as the text may be read. The *published queues* put packets of initial windows, "
        "which bear *syn*, before all others and never trim them, trim what arrives at a full buffer, and have "
        "priorities by size, but PIAS’s (`scdp/models` adds one after the other); they come with links of 1 µs and "
        "fast pulls. "
        f"{BANDWIDTH_NOTE}"
    ),
)
