"""Song §5.3: Stride(4), Random and Stride(2), and what of the gain comes from paths and what from windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, by_seed, relative, time_series
from anabranch.reproduce.experiments.song_schemes import (
    BEYOND,
    DUAL,
    DYNAMIC,
    ECMP,
    MULTIPATH,
    NORMAL,
    SCHEMES,
    SHORT,
    faster,
    gain,
    looks,
    named,
    over_all_buffers,
    pair,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.tables import Tables

PATTERN = "workload.data.placement"
PATTERNS: Mapping[str, tuple[str, str]] = {
    "Stride(4)": ("11", '{"pattern": "stride", "by": 4}'),
    "Random": ("12", '{"pattern": "random", "each": true}'),
    "Stride(2)": ("13", '{"pattern": "stride", "by": 2}'),
}
"""Traffic pattern, to the thesis's figure and the swept placement."""
MIDDLE = 50
"""Packets of buffer at which the thesis sees the largest gain."""


def of(results: Tables, pattern: str) -> pl.DataFrame:
    """The flows of a pattern."""
    return named(results).filter(at(**{PATTERN: PATTERNS[pattern][1]}))


def draw(results: Tables) -> tuple[Figure, ...]:
    """Figures 5.11 to 5.13."""
    return tuple(
        Figure(
            f"5.{number}", f"Average flow completion time and throughput, {pattern}", pair(of(results, pattern), names)
        )
        for pattern, (number, _) in PATTERNS.items()
        for names in [list(SCHEMES.values())]
    )


def _first(key: str, scheme: str, than: str, why: str = "") -> tuple[Claim, ...]:
    """One claim for each pattern: over all buffers a scheme is faster than another."""
    return tuple(
        relative(
            f"{key}-{pattern}",
            f"{SHORT[scheme]} completes sooner than {SHORT[than]}: ratio of completion times, mean over buffers",
            f"§5.3.4, Fig. 5.{number}",
            lambda results, pattern=pattern: over_all_buffers(of(results, pattern), scheme, than),  # type: ignore[misc]
            setting=pattern,
            explanation=why,
        )
        for pattern, (number, _) in PATTERNS.items()
    )


def _at(results: Tables, buffer: int) -> pl.DataFrame:
    return of(results, "Stride(4)").filter(at(buffer=buffer))


NEARBY = (40, MIDDLE)
"""Buffers about the one that the thesis names."""
STEEP = (
    "*Measured.* Normal Routing stops losing packets between 40 and 60 packets of buffer, and the difference falls "
    "steeply there (Figure 5.11): at 40 packets it is more than the thesis's, which says approximately 50."
)
LOSSES = (
    "*Measured.* Where buffers are small Normal Routing loses more than ECMP, which spreads its bursts; reordering "
    "makes ECMP the slower where nothing is lost: see the row at 90 packets."
)


FIG11 = Experiment(
    name="song/fig11",
    title="Stride(4), Random and Stride(2)",
    question="Do multipath routing and Front-Back finish synchronised flows sooner than Normal Routing?",
    section="§5.3.4",
    figures=("5.11", "5.12", "5.13"),
    draw=draw,
    claims=(
        *(
            claim
            for scheme in (MULTIPATH, DUAL)
            for buffer in NEARBY
            for claim in (
                Claim(
                    key=f"gain-{SHORT[scheme]}-{buffer}",
                    statement=f"{SHORT[scheme]} raises the average throughput by, Stride(4)",
                    where="§5.3.4, Fig. 5.11",
                    paper=80.0,
                    unit="%",
                    setting=f"{buffer} packets",
                    explanation=STEEP,
                    measure=lambda results, scheme=scheme, buffer=buffer: gain(_at(results, buffer), scheme),  # type: ignore[misc]
                ),
                Claim(
                    key=f"faster-{SHORT[scheme]}-{buffer}",
                    statement=f"{SHORT[scheme]} lowers the average completion time by, Stride(4)",
                    where="§5.3.4, Fig. 5.11",
                    paper=50.0,
                    unit="%",
                    relation="at least",
                    setting=f"{buffer} packets",
                    explanation=STEEP,
                    measure=lambda results, scheme=scheme, buffer=buffer: faster(_at(results, buffer), scheme),  # type: ignore[misc]
                ),
            )
        ),
        *_first("multipath-nr", MULTIPATH, NORMAL),
        *_first("multipath-ecmp", MULTIPATH, ECMP),
        *_first("dynamic-nr", DYNAMIC, NORMAL),
        *_first("nr-ecmp", NORMAL, ECMP, LOSSES),
        *(
            relative(
                f"nr-ecmp-90-{pattern}",
                "NR completes sooner than ECMP: ratio of completion times, 90 packets",
                f"§5.3.4, Fig. 5.{number}",
                lambda results, pattern=pattern: over_all_buffers(  # type: ignore[misc]
                    of(results, pattern).filter(at(buffer=90)), NORMAL, ECMP
                ),
                setting=pattern,
            )
            for pattern, (number, _) in PATTERNS.items()
        ),
    ),
    quick=(f'sweep."switch.buffer"=["20 packets", "{MIDDLE} packets", "90 packets"]', "repeat=3"),
    notes=(
        "Front-Back has two paths, as the sample output of Table 5.5 shows. A link's delay is 500 us, which Table 5.4 "
        "shows, too. An average is one over all flows of a run, then over runs. Random: each host sends one flow to "
        "another host, drawn for each seed."
    ),
)


SAMPLE = "workload.data.sessions"
SAMPLED: Mapping[str, tuple[float, str]] = {
    NORMAL: (9435.0, "a flow that loses nothing"),
    MULTIPATH: (16982.0, "all flows"),
}
"""Throughput of Tables 5.4 and 5.5 in units of 1024 B/s, headers included, and of what."""
ON_THE_WIRE = 1492 / 1452 * 1e9 / 1024
"""Bytes and nanoseconds of an object to the units of those tables."""


def sampled(results: Tables, scheme: str) -> dict[int, float]:
    """Throughput of the four flows of Tables 5.4 and 5.5; of a scheme with losses, that of the fastest flow."""
    flows = named(results).filter(at(scheme=scheme, **{SAMPLE: 4}))
    rate = pl.col("size_bytes") / pl.col("fct_ns") * ON_THE_WIRE
    return by_seed(flows, rate.max() if scheme == NORMAL else rate.mean())


def draw_cwnd(results: Tables) -> tuple[Figure, ...]:
    """Figure 5.10: the congestion window over time, mean over all flows, of one run."""
    runs = named(results).filter(at(**{SAMPLE: 16})).select("run", "scheme").unique(maintain_order=True)
    cwnd = results.series.filter(pl.col("metric") == "cwnd_bytes").join(runs, on="run")
    panel = time_series(
        cwnd,
        looks([NORMAL, ECMP, DYNAMIC, MULTIPATH]),
        pl.col("value").sum() / 16e3,
        x=Axis("time (s)"),
        y=Axis("congestion window (KB)"),
        seed=min(results.manifest.seeds),
    )
    return (Figure("5.10", "Congestion windows of a host, mean over the 16 hosts of Stride(4)", (panel,)),)


FIG10 = Experiment(
    name="song/fig10",
    title="Congestion windows, and the sample output",
    question="What happens to congestion windows when transfers begin?",
    section="§5.3.2, §5.3.3",
    figures=("5.10",),
    draw=draw_cwnd,
    claims=tuple(
        Claim(
            key=f"sample-{SHORT[scheme]}",
            statement=f"throughput of {what} of the sample output, {SHORT[scheme]}",
            where=f"§5.3.2, Table 5.{number}",
            paper=paper,
            unit="KiB/s",
            measure=lambda results, scheme=scheme: sampled(results, scheme),  # type: ignore[misc]
        )
        for number, (scheme, (paper, what)) in enumerate(SAMPLED.items(), start=4)
    ),
    quick=("repeat=1",),
    notes=(
        "The thesis shows one window of one flow and does not say at which buffer: here the mean over all hosts, at "
        "30 packets; both connections of Front-Back together. A flow that is done has no window. Tables 5.4 and 5.5 "
        "count IP packets; the tables' units are 1024 B."
    ),
)

WINDOW = "transport.tcp.receive_window"
KINDS: Mapping[tuple[str, ...], str] = {
    ("leftmost", "reno", "65535B"): "leftmost path, 1 connection",
    ("leftmost", "reno", "131070B"): "leftmost path, 1 connection of twice the window",
    ("leftmost", "front-back", "65535B"): "leftmost path, 2 connections",
    ("nix-vector", "reno", "65535B"): "random path, 1 connection",
    ("nix-vector", "reno", "131070B"): "random path, 1 connection of twice the window",
    ("nix-vector", "front-back", "65535B"): "2 random paths, 2 connections",
    ("nix-vector", "front-back", "32767B"): "2 random paths, 2 connections of half the window",
}
"""Routing scheme, transport and receive window, in words."""


def draw_windows(results: Tables) -> tuple[Figure, ...]:
    """Completion time and throughput by buffer, for each kind."""
    flows = named(results, KINDS, WINDOW)
    return (Figure("windows", "Stride(4) by paths, connections and windows", pair(flows, list(KINDS.values()))),)


def with_same_window(results: Tables, buffer: int) -> dict[int, float]:
    """By how many percent two paths raise the throughput of Normal Routing if both have the same window in all."""
    flows = named(results, KINDS, WINDOW).filter(at(buffer=buffer))
    return gain(flows, KINDS["nix-vector", "front-back", "32767B"], KINDS["leftmost", "reno", "65535B"])


WINDOWS = Experiment(
    name="song/windows",
    title="What comes from paths, and what from windows",
    question="How much of the gain comes from several paths, and how much from a second connection's window?",
    section=BEYOND,
    figures=("windows",),
    draw=draw_windows,
    claims=tuple(
        Claim(
            key=f"same-window-{buffer}",
            statement="the gain is that of several paths: MDNVR with half the window for each connection, Stride(4)",
            where="§5.3.4, Fig. 5.11",
            paper=80.0,
            unit="%",
            setting=f"{buffer} packets",
            explanation=(
                "*Measured.* A connection has 65535 B in a round trip of 6 ms, a tenth of its link, and Front-Back has "
                "two of them. With the same window in all, what is left is what Normal Routing loses by drops: nothing "
                "with large buffers. Two connections on the leftmost path gain as much as on two paths there (figure)."
            ),
            measure=lambda results, buffer=buffer: with_same_window(results, buffer),  # type: ignore[misc]
        )
        for buffer in (MIDDLE, 300)
    ),
    quick=('sweep."switch.buffer"=["50 packets", "300 packets"]', "repeat=2"),
)
