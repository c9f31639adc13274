"""Simulated loss beside the models that Song's chapter 3 stands on (`anabranch.routing.loss`)."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.reproduce.rows import by_seed, where
from anabranch.routing import loss

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.rows import Source

PACKET, PAYLOAD = 1492, 1452
"""Bytes of a packet on the wire, and of what it carries (Song, Table 5.3)."""
RATE = 1e9 / 8 / PACKET
"""Packets per second of the link, 1 Gbit/s."""
RTO_S = 0.2
"""Least retransmission timeout, seconds."""
LARGEST = 65535 / PAYLOAD
"""Packets of the largest window."""
LOST = pl.col("packets_dropped").sum() / pl.col("packets_sent").sum()
"""Share of the packets of several flows that was lost."""


def long_flows(source: Source, *, senders: str, buffer: str, rtt_s: float) -> pl.DataFrame:
    """Long flows that share a link, one row for each run, beside Eq. 3.1 and Padhye's formula.

    Parameters
    ----------
    source
        Results of a star whose flows end at one host.
    senders, buffer
        Columns that say how many flows there are, and the buffer as ``"50 packets"``.
    rtt_s
        Round-trip time of the idle path, seconds.

    Returns
    -------
    polars.DataFrame
        ``senders``, ``buffer`` (packets), ``seed``, ``measured`` and ``predicted`` loss (shares of packets),
        ``rate`` and ``padhye`` (packets per second and flow: those that arrive, fewer by the loss than the formula's,
        which are sent; the formula with the measured loss and queue).
    """
    keys = ["run", "seed", senders, buffer]
    flows = source.results.flows.group_by(keys, maintain_order=True).agg(
        LOST.alias("measured"),
        (pl.col("goodput_bps").mean() / 8 / PAYLOAD).alias("rate"),
    )
    queue = source.results.links.group_by("run", maintain_order=True).agg(pl.col("queue_mean_bytes").max())
    rows = []
    for row in flows.join(queue, on="run", maintain_order="left").iter_rows(named=True):
        room = float(row[buffer].removesuffix(" packets"))
        rtt = rtt_s + row["queue_mean_bytes"] / PACKET / RATE
        rows.append(
            {
                "senders": row[senders],
                "buffer": int(room),
                "seed": row["seed"],
                "measured": row["measured"],
                "predicted": loss.loss_rate(row[senders], rtt_s * RATE, room),
                "rate": row["rate"],
                "padhye": loss.throughput(row["measured"], rtt, RTO_S, most=LARGEST),
            }
        )
    return pl.DataFrame(rows)


def exponent(
    source: Source, *, rows: str, value: str, of: Mapping[str, object], to: Mapping[str, object], factor: float
) -> dict[int, float]:
    """The power of a quantity that a value follows, by seed: it grows `factor` times between two sets of rows."""
    frame = source.rows(rows)
    low, high = (by_seed(frame.filter(where(one)), pl.col(value).mean()) for one in (of, to))
    return {seed: log(high[seed] / low[seed]) / log(factor) for seed in low if seed in high and low[seed] > 0}


def synchronised_blocks(source: Source, *, senders: str, buffer: str, rtt_s: float) -> pl.DataFrame:
    """Barrier-synchronised blocks, one row for each run, beside `anabranch.routing.loss.block_goodput`.

    Parameters
    ----------
    source
        Results of a star with one client, whose connections last.
    senders, buffer
        Columns that say how many servers there are, and the buffer as ``"64KB"``.
    rtt_s
        Round-trip time of the idle path, seconds.

    Returns
    -------
    polars.DataFrame
        ``senders``, ``buffer`` (KB), ``seed``, ``loss`` (share of packets), ``gbps``, ``waits`` (timeouts a block of
        the server that has most), and what the model says with the measured loss, ``by_loss``, and with that of Eq.
        3.1, ``by_load`` (Gbit/s).
    """
    keys = ["seed", senders, buffer]
    flows = source.results.flows.group_by(keys, maintain_order=True).agg(
        LOST.alias("loss"),
        (8 * pl.col("size_bytes").sum() / (pl.col("end_ns").max() - pl.col("start_ns").min())).alias("gbps"),
        (pl.col("size_bytes").mean() / PAYLOAD).alias("packets"),
        pl.col("timeouts").max(),
    )
    blocks = int(source.experiment.setting("workload.blocks.barrier.blocks"))
    rows: list[dict[str, Any]] = []
    for row in flows.iter_rows(named=True):
        count, room = row[senders], float(row[buffer].removesuffix("KB"))
        packets = row["packets"] / blocks
        by_load = loss.loss_rate(count, rtt_s * RATE, room * 1e3 / PACKET)
        found = {
            name: PAYLOAD / PACKET * loss.block_goodput(count, packets, lost, packets_per_s=RATE, rto_s=RTO_S)
            for name, lost in (("by_loss", row["loss"]), ("by_load", by_load))
        }
        kept = {name: row[name] for name in ("seed", "loss", "gbps")}
        rows.append({"senders": count, "buffer": int(room), **kept, "waits": row["timeouts"] / blocks, **found})
    return pl.DataFrame(rows)
