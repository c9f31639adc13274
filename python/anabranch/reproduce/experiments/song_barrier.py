"""Song §5.3.4: a barrier-synchronised workload, 3, 5 and 7 senders for each client."""

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
    means,
    relative,
    transports,
    values_of,
)
from anabranch.reproduce.experiments.song_schemes import (
    BEYOND,
    BUFFER,
    DUAL,
    DYNAMIC,
    MULTIPATH,
    NORMAL,
    SCHEMES,
    SHORT,
    faster,
    looks,
    named,
    over_all_buffers,
    pair,
    transfers,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.tables import Tables

SENDERS = "workload.blocks.placement.senders"
STATED: Mapping[int, tuple[str, int, float]] = {3: ("14", 80, 75.0), 5: ("15", 140, 80.0), 7: ("16", 180, 80.0)}
"""Senders, to the thesis's figure, the buffer with the largest improvement, and the percent that it states at least."""
OPEN = (
    "*Measured*: the thesis does not say whether connections last and whether clients wait for each other. If they "
    "last, or clients drift apart after the first losses, fewer bursts meet, and Front-Back's two connections for each "
    "server lose more than one on a random path."
)
BUFFERS_DIFFER = (
    "*Measured*: the reduction depends on the buffer, and is the thesis's at the buffers beside this one "
    "(`song/fig14`)."
)


def of(results: Tables, senders: int) -> pl.DataFrame:
    """The transfers of a number of senders: all that one server sends to one client."""
    return transfers(named(results).filter(at(**{SENDERS: senders})))


def draw(results: Tables) -> tuple[Figure, ...]:
    """Figures 5.14 to 5.16."""
    return tuple(
        Figure(
            f"5.{number}",
            f"Average flow completion time and throughput, {senders} Senders",
            pair(of(results, senders), list(SCHEMES.values())),
        )
        for senders, (number, _, _) in STATED.items()
    )


def _stated(senders: int, scheme: str) -> Claim:
    number, buffer, percent = STATED[senders]
    return Claim(
        key=f"{SHORT[scheme]}-{senders}",
        statement=f"{SHORT[scheme]} lowers the average completion time by, {senders} Senders, {buffer} packets",
        where=f"§5.3.4, Fig. 5.{number}",
        paper=percent,
        unit="%",
        relation="at least",
        explanation=BUFFERS_DIFFER,
        measure=lambda results: faster(of(results, senders).filter(at(buffer=buffer)), scheme),
    )


def _outperforms(senders: int, scheme: str) -> Claim:
    return relative(
        f"{SHORT[scheme]}-nr-{senders}",
        f"{SHORT[scheme]} completes sooner than NR: ratio of completion times, mean over buffers",
        "§5.3.4",
        lambda results: over_all_buffers(of(results, senders), scheme),
        setting=f"{senders} Senders",
    )


FIG14 = Experiment(
    name="song/fig14",
    title="3, 5 and 7 Senders",
    question="Do multipath routing and Front-Back keep a barrier-synchronised workload from Incast?",
    section="§5.3.4",
    figures=("5.14", "5.15", "5.16"),
    draw=draw,
    claims=(
        *(_stated(senders, scheme) for senders in STATED for scheme in (MULTIPATH, DUAL)),
        *(_outperforms(senders, scheme) for scheme in (MULTIPATH, DUAL, DYNAMIC) for senders in STATED),
    ),
    quick=('sweep."switch.buffer"=["40 packets", "80 packets", "140 packets", "180 packets"]', "repeat=2"),
    notes=(
        "A flow is all that a server sends to a client. Each block has connections of its own, and all clients wait "
        "for each other: the thesis does not say so, and the result depends on it (`song/variants`). Each host has as "
        "many clients as servers, drawn for each seed. A request reaches its servers after the delay of an idle path."
    ),
)

FIG17 = Experiment(
    name="song/fig17",
    title="7 Senders with a retransmission timer of 1 ms",
    question="Does a retransmission timer of 1 ms leave anything to gain for multipath routing?",
    section="§5.3.4",
    figures=("5.17",),
    draw=lambda results: (
        Figure("5.17", "7 Senders with RTO_min = 1 ms", pair(transfers(named(results)), list(SCHEMES.values()))),
    ),
    claims=tuple(
        relative(
            f"{SHORT[scheme]}-nr",
            f"{SHORT[scheme]} still completes sooner than NR: ratio of completion times, mean over buffers",
            "§5.3.4, Fig. 5.17",
            lambda results, scheme=scheme: over_all_buffers(transfers(named(results)), scheme),  # type: ignore[misc]
        )
        for scheme in (MULTIPATH, DUAL, DYNAMIC)
    ),
    quick=('sweep."switch.buffer"=["40 packets", "180 packets"]', "repeat=2"),
)

CONNECTIONS, CHOICE = "workload.blocks.barrier.connections", "workload.blocks.placement.choice"
TOGETHER, QUICK = "workload.blocks.barrier.together", "transport.tcp.quick_acks"
DELAYED, DELAY, FIRST = "transport.tcp.delayed_ack", "fabric.delay", "transport.tcp.initial_window"
AS_DRAWN: Mapping[str, object] = {
    CONNECTIONS: "new",
    TOGETHER: True,
    QUICK: 1,
    CHOICE: "balanced",
    DELAYED: True,
    DELAY: "500us",
    FIRST: 1,
}
"""Settings of Figures 5.14 to 5.16 here."""
KINDS: Mapping[str, Mapping[str, object]] = {
    "as in Figs. 5.14-5.16": {},
    "clients by themselves": {TOGETHER: False},
    "connections last": {CONNECTIONS: "kept"},
    "both": {TOGETHER: False, CONNECTIONS: "kept"},
    "first ACK delayed": {QUICK: 0},
    "servers next to client": {CHOICE: "consecutive"},
    "servers at random": {CHOICE: "random"},
    "each packet acknowledged": {DELAYED: False},
    "round trip of 500 us": {DELAY: "41us"},
    "first window of 10": {FIRST: 10},
}
"""What is different."""


def variants(results: Tables) -> pl.DataFrame:
    """By how many percent a scheme lowers the mean time from a server's first block to its last.

    Returns
    -------
    polars.DataFrame
        ``kind``, ``scheme``, ``senders``, ``seed`` and ``percent``.
    """
    servers = transfers(named(results), SENDERS, *AS_DRAWN)
    rows = []
    for kind, different in KINDS.items():
        point = {**AS_DRAWN, **different}
        for senders in STATED:
            mine = servers.filter(at(**point, **{SENDERS: senders}))
            times = {
                name: by_seed(mine.filter(at(scheme=name)), pl.col("fct_ns").mean())
                for name in (NORMAL, DYNAMIC, MULTIPATH, DUAL)
            }
            rows += [
                {"kind": kind, "scheme": name, "senders": senders, "seed": seed, "percent": 100 * (1 - took / base)}
                for name in (DYNAMIC, MULTIPATH, DUAL)
                for seed, took in times[name].items()
                if (base := times[NORMAL].get(seed))
            ]
    return pl.DataFrame(rows)


def reduced(results: Tables, kind: str, scheme: str, senders: int) -> dict[int, float]:
    """The reduction of a scheme where one thing is different, seed by seed."""
    table = variants(results).filter(at(kind=kind, scheme=scheme, senders=senders))
    return by_seed(table, pl.col("percent").mean())


def draw_variants(results: Tables) -> tuple[Figure, ...]:
    """The reduction of each scheme by what is different."""
    table = variants(results)
    panels = tuple(
        bars(
            table.filter(at(senders=senders)),
            looks([DYNAMIC, MULTIPATH, DUAL]),
            pl.col("percent").mean(),
            over="kind",
            y=Axis("completion time lower than NR's by (%)"),
            key=str(senders),
            caption=f"{senders} Senders, {STATED[senders][1]} packets",
        )
        for senders in STATED
    )
    return (Figure("variants", "Reduction of completion times by what the thesis leaves open", panels, columns=1),)


VARIANTS = Experiment(
    name="song/variants",
    title="What the thesis leaves open of its senders",
    question="Which of the things that the thesis leaves open decide the gains that it reports for 3, 5 and 7 senders?",
    section=BEYOND,
    figures=("variants",),
    draw=draw_variants,
    claims=tuple(
        Claim(
            key=f"{kind.split()[0]}-{senders}",
            statement=f"MDNVR lowers the completion time, {kind}",
            where="§5.3.4",
            paper=percent,
            unit="%",
            relation="at least",
            setting=f"{senders} Senders, {buffer} packets",
            explanation=OPEN,
            measure=lambda results, kind=kind, senders=senders: reduced(results, kind, MULTIPATH, senders),  # type: ignore[misc]
        )
        for kind in ("clients by themselves", "connections last", "both")
        for senders, (_, buffer, percent) in STATED.items()
    ),
    notes=(
        "ns-3 3.14, with which the thesis was made, agrees in all of these: three seeds of it, by "
        "`tests/crosscheck/ns3_blocks.cc` ([how](crosscheck-ns3.md))."
    ),
    quick=("repeat=2",),
)

PORTS, SUBFLOWS, CONTROL = "fabric.m", "transport.front_back.subflows", "transport.front_back.congestion"
RTO, QUEUE = "transport.tcp.rto_min", "switch.queue"
LARGER: Mapping[tuple[str, ...], str] = {
    ("leftmost", "reno", "2", "reno", "200ms"): "Reno, leftmost path, 200 ms",
    ("nix-vector", "reno", "2", "reno", "200ms"): "Reno, random path, 200 ms",
    ("nix-vector", "front-back", "2", "reno", "200ms"): "Front-Back, 2 paths, 200 ms",
    ("nix-vector", "front-back", "4", "reno", "200ms"): "Front-Back, 4 paths, 200 ms",
    ("leftmost", "reno", "2", "reno", "10us"): "Reno, leftmost path",
    ("nix-vector", "reno", "2", "reno", "10us"): "Reno, random path",
    ("nix-vector", "front-back", "2", "reno", "10us"): "Front-Back, 2 paths",
    ("nix-vector", "front-back", "4", "reno", "10us"): "Front-Back, 4 paths",
    ("nix-vector", "front-back", "8", "reno", "10us"): "Front-Back, 8 paths",
    ("nix-vector", "mptcp", "2", "reno", "10us"): "MPTCP, 4 paths",
    ("nix-vector", "dctcp", "2", "reno", "10us"): "DCTCP, random path",
    ("nix-vector", "front-back", "4", "dctcp", "10us"): "Front-Back over DCTCP, 4 paths",
    ("per-packet", "ndp", "2", "reno", "10us"): "NDP, all paths",
    ("per-packet", "scdp", "2", "reno", "10us"): "SCDP, all paths",
}
"""Routing scheme, transport, subflows and control of Front-Back, and least timeout, in words."""


def draw_larger(results: Tables) -> tuple[Figure, ...]:
    """Goodput of a client, over all of its blocks, by transport."""
    flows = named(results, LARGER, SUBFLOWS, CONTROL, RTO)
    took = pl.col("end_ns").max() - pl.col("start_ns").min()
    clients = flows.group_by(PORTS, "scheme", "seed", "dst_host", maintain_order=True).agg(
        (8 * pl.col("size_bytes").sum() / took).alias("gbps")
    )
    hosts = {8: "FT(8, 3), 128 hosts", 16: "FT(16, 3), 1024 hosts"}
    clients = clients.with_columns(pl.col(PORTS).replace_strict(hosts).alias("fabric"))
    panel = bars(
        clients,
        values_of("fabric", list(hosts.values())),
        pl.col("gbps").mean(),
        over="scheme",
        y=Axis("goodput of a client (Gbps)"),
    )
    return (Figure("larger", "7 Senders on larger fat-trees: goodput of a client's blocks", (panel,)),)


LARGE = Experiment(
    name="song/larger",
    title="Larger fat-trees, other transports",
    question="Where does multipath routing still pay, for a barrier-synchronised workload?",
    section=BEYOND,
    figures=("larger",),
    draw=draw_larger,
    quick=('sweep."fabric.m"=[8]', "repeat=1", "workload.blocks.barrier.blocks=1"),
    notes=(
        "Goodput of a client: its bytes over the time from its first request to its last block. Where no time is "
        "given, the retransmission timer is 10 us at least."
    ),
)

RTT, SRU, PORT, SERVERS = DELAY, "workload.blocks.sizes.size", BUFFER, "workload.blocks.placement.senders"
PAPERS_SETTINGS: Mapping[tuple[str, str, str], tuple[str, str]] = {
    ("25us", "64KB", "85KB"): ("a", "ICTCP, SRU 64 KB"),
    ("25us", "128KB", "85KB"): ("b", "ICTCP, SRU 128 KB"),
    ("25us", "256KB", "85KB"): ("c", "ICTCP, SRU 256 KB"),
    ("25us", "10KB", "128KB"): ("d", "Preventing TCP Incast, SRU 10 KB"),
    ("25us", "100KB", "128KB"): ("e", "Preventing TCP Incast, SRU 100 KB"),
    ("70us", "100KB", "128KB"): ("f", "FUSO, SRU 100 KB"),
}
"""Delay of a link, size of a fragment and buffer of a port, to a panel and the paper (Song §5.2.1)."""


def draw_settings(results: Tables) -> tuple[Figure, ...]:
    """Goodput of the client by number of servers, in each paper's setting."""
    took = pl.col("end_ns").max() - pl.col("start_ns").min()
    where = [RTT, SRU, PORT, SERVERS, "transport", "seed"]
    rows = results.flows.group_by(where, maintain_order=True).agg((8 * pl.col("size_bytes").sum() / took).alias("gbps"))
    panels = tuple(
        means(
            rows.filter(at(**{RTT: delay, SRU: sru, PORT: buffer})),
            transports("newreno", "dctcp", "front-back"),
            pl.col("gbps").mean(),
            over=SERVERS,
            x=Axis("servers", log=True),
            y=Axis("goodput (Gbps)"),
            key=key,
            caption=caption,
        )
        for (delay, sru, buffer), (key, caption) in PAPERS_SETTINGS.items()
    )
    return (Figure("settings", "One client, barrier-synchronised blocks, by setting", panels, columns=3),)


SETTINGS = Experiment(
    name="song/settings",
    title="Incast in the settings of other papers",
    question="At how many servers does goodput collapse in the settings that the thesis lists?",
    section="§5.2.1, " + BEYOND,
    figures=("settings",),
    draw=draw_settings,
    quick=("repeat=1", "workload.blocks.barrier.blocks=10", f'sweep."{SERVERS}"=[1, 8, 46]'),
    notes="A star: all that multipath routing could spread is spread. Front-Back has two connections for each server.",
)
