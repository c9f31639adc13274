"""What an emulator adds to a network, and what that makes of the gain of ECN adaptation (Joy, chapter 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Claim, Experiment, Series, at, bars, by_seed, ratio_by_seed, transports
from anabranch.reproduce.experiments.joy_adaptation import BEYOND, NAMES, NOT_FULL
from anabranch.showing.figures import Axis, Figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.tables import Tables

DELAY, JITTER = "fabric.delay", "host.jitter"
PACKET, DELAYED = "transport.tcp.packet", "transport.tcp.delayed_ack"
UPPER = "controller.0.upper"
RAISED = "15KB"
KINDS: Mapping[str, tuple[str, str, str, bool]] = {
    "as in Figures 19, 20": ("150us", "0us", "1500B", True),
    "each packet acknowledged": ("150us", "0us", "1500B", False),
    "RTT 2 ms": ("500us", "0us", "1500B", True),
    "RTT 4 ms": ("1ms", "0us", "1500B", True),
    "RTT 8 ms": ("2ms", "0us", "1500B", True),
    "hosts pause up to 200 us": ("150us", "200us", "1500B", True),
    "9 KB at once": ("150us", "0us", "9000B", True),
    "9 KB, RTT 4 ms, pauses": ("1ms", "200us", "9000B", True),
}
"""What is different, to delay of a link, jitter, packet size and delayed ACKs."""


def gains(results: Tables) -> pl.DataFrame:
    """By how many percent adaptation raises the throughput of the long flows: a row for each kind, scheme and seed."""
    time = pl.col("end_ns").max() - pl.col("start_ns").min()
    point = ["seed", "transport", UPPER, DELAY, JITTER, PACKET, DELAYED]
    flows = results.flows.group_by(point, maintain_order=True).agg((pl.col("size_bytes").sum() / time).alias("rate"))
    rows = []
    for kind, (delay, jitter, packet, delayed) in KINDS.items():
        mine = flows.filter(at(**{DELAY: delay, JITTER: jitter, PACKET: packet, DELAYED: delayed}))
        for transport in NAMES:
            raised, fixed = (
                by_seed(mine.filter(at(transport=transport), (pl.col(UPPER) == RAISED) == up), pl.col("rate").first())
                for up in (True, False)
            )
            gained = ratio_by_seed(raised, fixed)
            rows += [
                {"kind": kind, "transport": transport, "seed": seed, "gain": 100 * (ratio - 1)}
                for seed, ratio in gained.items()
            ]
    return pl.DataFrame(rows)


def largest(results: Tables, transport: str) -> dict[int, float]:
    """The largest of all gains of a scheme, in each seed."""
    return by_seed(gains(results).filter(at(transport=transport)), pl.col("gain").max())


def draw(results: Tables) -> tuple[Figure, ...]:
    """The gain of both schemes by what is different."""
    series = tuple(Series(NAMES[name], {"transport": name}, look.style) for name in NAMES for look in transports(name))
    panel = bars(gains(results), series, pl.col("gain").mean(), over="kind", y=Axis("gain of throughput (%)"))
    return (Figure("emulator", "Gain of ECN adaptation by what an emulator may add", (panel,)),)


EMULATOR = Experiment(
    name="joy/emulator",
    title="ECN adaptation and what an emulator adds",
    question="Could what an emulator adds explain the gain that the thesis reports for ECN adaptation?",
    section=BEYOND,
    figures=("emulator",),
    draw=draw,
    claims=tuple(
        Claim(
            key=transport,
            statement=f"{label}, the largest gain of all rows of the figure: the thesis's, or more",
            where="§4.4.3",
            paper=paper,
            unit="%",
            relation="at least",
            explanation=NOT_FULL,
            measure=lambda results, transport=transport: largest(results, transport),  # type: ignore[misc]
        )
        for (transport, label), paper in zip(NAMES.items(), (12.0, 22.0), strict=True)
    ),
    quick=("repeat=2", "workload.long.sizes.size=20MB"),
    notes="Packets of 9 KB stand for segmentation offload: the queue holds and marks bursts of six segments.",
)
