"""SCDP §V-F against §V: the link delay with which the paper’s windows fill its links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Experiment, Figure, means, requests, values_of

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

DELAY = "fabric.delay"
RATE = "fabric.rate"
WINDOW = "transport.scdp.initial_window"
BPS = {"1Gbps": 1e9, "5Gbps": 5e9, "10Gbps": 10e9}


def draw_delays(results: Tables) -> tuple[Figure, ...]:
    """Goodput as a share of the link’s rate, over the links' delay."""
    sessions = requests(results).with_columns(
        share=100 * pl.col("goodput_bps") / pl.col(RATE).replace_strict(BPS, return_dtype=pl.Float64()),
        delay_us=pl.col(DELAY).str.strip_suffix("us").cast(pl.Float64),
    )
    windows = dict(sessions.select(RATE, WINDOW).unique(maintain_order=True).iter_rows())

    def label(rate: str) -> str:
        return f"{rate.replace('Gbps', ' Gbps')}, w = {windows[rate]}"

    panel = means(
        sessions,
        values_of(RATE, list(windows), label),
        pl.col("share").mean(),
        over="delay_us",
        x=Axis("delay of a link (µs)"),
        y=Axis("mean goodput (% of the link’s rate)", domain=(0, 100)),
    )
    return (Figure("delay", "The paper’s windows over the delay of links", (panel,)),)


DELAYS = Experiment(
    name="scdp/delay",
    title="The link delay that the paper’s windows imply",
    question="With which link delay do windows of 12, 24 and 32 symbols fill links of 1, 5 and 10 Gbps?",
    section="§V-F",
    figures=("delay",),
    draw=draw_delays,
    quick=("fabric.k=4", "workload.sessions.sessions=30", f'sweep."{DELAY}"=["1us", "5us", "10us"]', "repeat=2"),
    notes=(
        "Not in the paper. A window of *w* packets moves at most *w* packets in a round trip. Over six links of 10 µs "
        "and store-and-forward switches, a packet of 1500 B and its pull of 64 B need 195 µs at 1 Gbps, 135 µs at "
        "5 Gbps and 128 µs at 10 Gbps; 12, 24 and 32 packets last for 144, 58 and 38 µs."
    ),
)
