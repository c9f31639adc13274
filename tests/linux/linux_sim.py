"""The simulator's side: each case as a scenario of scenarios/fidelity."""

from math import ceil, floor
from pathlib import Path

import polars as pl
from linux_case import FRAME, PAYLOAD, RFC, ROOT, RULES, Case, Measured
from linux_lab import inside, percentiles

import anabranch

LONG = ROOT / "scenarios/fidelity/linux-joy.toml"
BLOCKS = ROOT / "scenarios/fidelity/linux-incast.toml"

HEADER = FRAME - PAYLOAD

REQUEST_US = 0.6
"""Between two requests of a client, where it is not known over what time the kernel's leave: their time on the wire."""

TRANSPORTS = {"reno": "newreno", "dctcp": "dctcp", "ecn-star": "ecn-star"}
"""The kernel's Reno repairs losses as NewReno with SACK does."""


def handshake_us(case: Case) -> float:
    """The round trip that a connection knows when it is open: of two packets without data over two links each."""
    return 4 * (case.delay + HEADER * 8 / case.rate)


def settings(case: Case, rules: str, spread_us: float | None) -> list[str]:
    """What differs from the scenario's file. Requests leave within `spread_us` microseconds."""
    long = case.requests == 1
    spread_us = REQUEST_US * case.senders if spread_us is None else spread_us
    given = [
        *RULES[rules],
        f"transport.name={TRANSPORTS[case.transport]}",
        f"fabric.hosts={case.senders + 1}",
        f"fabric.rate={case.rate}Mbps",
        f"fabric.delay={case.delay}us",
        f"switch.buffer={case.buffer * FRAME}B",
        f"workload.0.sizes.size={case.size}B",
        *([] if long else [f"transport.tcp.known_rtt={handshake_us(case):.3f}us"]),
        f"workload.0.arrivals.jitter={case.jitter * 1e6 if long else spread_us:.1f}us",
    ]
    if case.mark is None:
        # Of no effect then, and its threshold is not to be above a short buffer.
        given += ["switch.queue=drop-tail", "switch.ecn_threshold=auto"]
    else:
        given.append(f"switch.ecn_threshold={case.mark * FRAME}B")
    if long:
        pairs = [[sender, case.senders] for sender in range(case.senders)]
        given.append(f"workload.0.placement.pairs={pairs}")
    else:
        given += [f"workload.0.placement.senders={case.senders}", f"workload.0.placement.receiver={case.senders}"]
    return given


def _queue(series: pl.DataFrame, link: int, times: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    """Percentiles of the queue's samples, of which an empty queue has none."""
    rows = series.filter((pl.col("metric") == "queue_packets") & (pl.col("id") == link))
    found = {round(time / 1e6): value for time, value in rows.select("time_ns", "value").iter_rows()}
    return percentiles(inside([found.get(at, 0.0) for at in range(max(found) + 1)], 0.0, 0.001, times))


def _steady(series: pl.DataFrame, times: tuple[tuple[float, float], ...]) -> float:
    """Goodput of all flows while all were running, in Mbit/s."""
    begin, end = max(start for start, _ in times) + 1, min(end for _, end in times)
    begin, end = ceil(begin * 1e3), floor(end * 1e3)
    rows = series.filter((pl.col("metric") == "goodput_bps") & pl.col("time_ns").is_between(begin * 1e6 + 1, end * 1e6))
    return float(rows["value"].sum()) / (end - begin) * 1e-6


def run(case: Case, folder: Path, *, seeds: int, rules: str = RFC, spread_us: float | None = None) -> list[Measured]:
    """So many runs; of a case of several requests, so many times as many, as those are runs of their own here."""
    long = case.requests == 1
    results = anabranch.run(
        LONG if long else BLOCKS,
        settings(case, rules, spread_us),
        out=folder,
        seeds=seeds * case.requests,
        progress=False,
    )
    flows = results.flows.sort("run").partition_by("run", as_dict=True, maintain_order=True)
    to_receiver = results.links.filter((pl.col("dst") == f"h{case.senders}") & (pl.col("src_level") != "host"))
    counts = {
        run: (marked, dropped) for run, marked, dropped in to_receiver.select("run", "marked", "dropped").iter_rows()
    }
    (link,) = to_receiver["link"].unique()
    made = []
    for (run,), table in flows.items():
        times = tuple((start * 1e-9, end * 1e-9) for start, end in table.select("start_ns", "end_ns").iter_rows())
        marked, dropped = counts[run]
        told = {"marked": marked, "dropped": dropped}
        if long:
            series = results.series.filter(pl.col("run") == run)
            made.append(Measured((times,), case.size, _queue(series, link, times), told, _steady(series, times)))
        else:
            made.append(Measured((times,), case.size, (), told))
    if long:
        return made
    grouped = [made[at : at + case.requests] for at in range(0, len(made), case.requests)]
    return [
        Measured(
            tuple(one.flows[0] for one in group),
            case.size,
            (),
            {name: sum(one.counts[name] for one in group) for name in ("marked", "dropped")},
        )
        for group in grouped
    ]
