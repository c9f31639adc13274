"""Song §5.3: Stride(4), Random and Stride(2), and what of the gain comes from paths and what from windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, time_series
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

    from anabranch.results import Results

PATTERN = "workload.data.placement"
PATTERNS: Mapping[str, tuple[str, str]] = {
    "Stride(4)": ("11", '{"pattern":"stride","by":4}'),
    "Random": ("12", '{"pattern":"random","each":true}'),
    "Stride(2)": ("13", '{"pattern":"stride","by":2}'),
}
"""Traffic pattern, to the thesis's figure and the swept placement."""
MIDDLE = 50
"""Packets of buffer at which the thesis sees the largest gain."""


def of(results: Results, pattern: str) -> pl.DataFrame:
    """The flows of a pattern."""
    return named(results).filter(at(**{PATTERN: PATTERNS[pattern][1]}))


def draw(results: Results) -> tuple[Figure, ...]:
    """Figures 5.11 to 5.13."""
    return tuple(
        Figure(f"5.{number}", f"Average flow completion time and throughput, {pattern}", pair(of(results, pattern), names))
        for pattern, (number, _) in PATTERNS.items()
        for names in [list(SCHEMES.values())]
    )


def _first(key: str, scheme: str, than: str, why: str = "") -> tuple[Claim, ...]:
    """One claim for each pattern: over all buffers a scheme is faster than another."""
    return tuple(
        Claim(
            key=f"{key}-{pattern}",
            statement=f"{SHORT[scheme]} completes sooner than {SHORT[than]}: ratio of completion times, mean over buffers",
            where=f"§5.3.4, Fig. 5.{number}",
            paper=1.0,
            unit="",
            relation="at most",
            setting=pattern,
            explanation=why,
            measure=lambda results, pattern=pattern: over_all_buffers(of(results, pattern), scheme, than),  # type: ignore[misc]
        )
        for pattern, (number, _) in PATTERNS.items()
    )


def _at_50(results: Results) -> pl.DataFrame:
    return of(results, "Stride(4)").filter(at(buffer=MIDDLE))


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
            for claim in (
                Claim(
                    key=f"gain-{SHORT[scheme]}",
                    statement=f"{SHORT[scheme]} raises the average throughput by, Stride(4), 50 packets",
                    where="§5.3.4, Fig. 5.11",
                    paper=80.0,
                    unit="%",
                    measure=lambda results, scheme=scheme: gain(_at_50(results), scheme),  # type: ignore[misc]
                ),
                Claim(
                    key=f"faster-{SHORT[scheme]}",
                    statement=f"{SHORT[scheme]} lowers the average completion time by, Stride(4), 50 packets",
                    where="§5.3.4, Fig. 5.11",
                    paper=50.0,
                    unit="%",
                    relation="at least",
                    measure=lambda results, scheme=scheme: faster(_at_50(results), scheme),  # type: ignore[misc]
                ),
            )
        ),
        *_first("multipath-nr", MULTIPATH, NORMAL),
        *_first("multipath-ecmp", MULTIPATH, ECMP),
        *_first("dynamic-nr", DYNAMIC, NORMAL),
        *_first("nr-ecmp", NORMAL, ECMP),
    ),
    quick=(f'sweep."switch.buffer"=["20 packets", "{MIDDLE} packets", "90 packets"]', "repeat=3"),
    notes=(
        "Front-Back has two paths, as the sample output of Table 5.5 shows. A link's delay is 500 us, which Table 5.4 "
        "shows, too. An average is one over all flows of a run, then over runs. Random: each host sends one flow to "
        "another host, drawn for each seed."
    ),
)


def draw_windows(results: Results) -> tuple[Figure, ...]:
    """Figure 5.10: the congestion window of a flow over time, in one run."""
    cwnd = results.series.filter(pl.col("metric") == "cwnd_bytes")
    key = ["run", "routing.mode", "transport"]
    flows = named(results).select("run", "scheme").unique(maintain_order=True)
    panel = time_series(
        cwnd.join(flows, on="run").select(pl.exclude(key[1:])),
        looks([NORMAL, ECMP, DYNAMIC, MULTIPATH]),
        (pl.col("value") / 1e3).mean(),
        x=Axis("time (s)"),
        y=Axis("congestion window (KB)"),
        seed=min(results.manifest.seeds),
    )
    return (Figure("5.10", "Congestion windows, mean over the flows of Stride(4)", (panel,)),)


__all__ = ["BEYOND", "FIG11"]
