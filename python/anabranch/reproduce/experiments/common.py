"""What several experiments share: looks of a transport used in several ways, units, and the points of a sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base.styles import SPARE, Style
from anabranch.reproduce.panels import transports, values_of
from anabranch.showing.figures import Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.showing.figures import Kind

TRIMMED = pl.col("packets_trimmed")
GBPS = pl.col("goodput_bps") / 1e9
"""Goodput of a row in Gbps."""
FCT_MS = pl.col("fct_ns") / 1e6
"""Completion time of a row in milliseconds."""
MEAN_GOODPUT = pl.col("goodput_bps").fill_null(0.0).mean()
"""Mean goodput in bps; what did not finish counts as zero."""
GOODPUT = Axis("goodput (Gbps)")
"""Axis of goodput."""

RATE = "workload.requests.arrivals.rate"
"""Requests per second, of workloads called ``requests``."""
MODE = "workload.requests.mode"
OWN = "workload.background.exclusive"
"""Whether hosts of background flows do nothing else."""
REPLICAS = "workload.requests.placement.replicas"
BACKGROUND = "workload.background.placement.share"
"""Share of the hosts that exchange long flows on a permutation: the load of background traffic."""


# From dark to light and on to red, neighbours a step apart: twelve parts of a bar can be told apart.
RAMP = (
    "#173f5f",
    "#1f6f8b",
    "#2a9d8f",
    "#57b894",
    "#8ab17d",
    "#bfc06a",
    "#e9c46a",
    "#f0a95c",
    "#f4865f",
    "#e76f51",
    "#c44536",
    "#8f2d56",
)


def like(name: str, label: str, condition: Mapping[str, Any]) -> Series:
    """Name a series that is a transport used in its plainest way: its own look, and a condition.

    The other ways have `anabranch.reproduce.variant`.

    Examples
    --------
    >>> like("ndp", "NDP (multi-unicast)", {"fallback": "multi-unicast"}).where
    {'transport': 'ndp', 'fallback': 'multi-unicast'}
    """
    (plain,) = transports(name)
    return replace(plain, label=label, where={**plain.where, **condition})


def apart(series: Sequence[Series], skip: int) -> tuple[Series, ...]:
    """Give series the free looks from `skip` on, so that a figure's other panels may use the looks before.

    Examples
    --------
    >>> from anabranch.reproduce import values_of
    >>> [one.style.colour for one in apart(values_of("rate", [2000, 4000]), 2)]
    ['#0c8f68', '#a04fb5']
    """
    looks = [SPARE[(skip + turn) % len(SPARE)] for turn in range(len(series))]
    return tuple(replace(one, style=replace(look, label=one.label)) for one, look in zip(series, looks, strict=True))


def ramp(series: Sequence[Series]) -> tuple[Series, ...]:
    """Give the parts of stacked bars, such as the ports of a switch, colours in order.

    Examples
    --------
    >>> from anabranch.reproduce import values_of
    >>> [one.style.colour for one in ramp(values_of("port", [0, 1, 2]))]
    ['#173f5f', '#8ab17d', '#f4865f']
    """
    step = max(1, len(RAMP) // max(1, len(series)))
    colours = [RAMP[turn * step % len(RAMP)] for turn in range(len(series))]
    return tuple(
        replace(one, style=Style(one.label, colour, (), "square")) for one, colour in zip(series, colours, strict=True)
    )


def in_order(frame: pl.DataFrame, column: str) -> list[Any]:
    """List the values of a column, each once, in the order of the runs: that of the scenario.

    Examples
    --------
    >>> in_order(pl.DataFrame({"size": ["1MB", "1MB", "4MB"]}), "size")
    ['1MB', '4MB']
    """
    return frame[column].unique(maintain_order=True).to_list()


def spaced(quantity: str) -> str:
    """Write a quantity of a scenario as people do.

    Examples
    --------
    >>> spaced("70KB"), spaced("10Gbps"), spaced("20 packets"), spaced("unlimited")
    ('70 KB', '10 Gbps', '20 packets', 'unlimited')
    """
    number = quantity.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = quantity[len(number) :].strip()
    return f"{number} {unit}" if number else quantity


def excess(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """By how many percent one quantity is above another."""
    return 100 * (above / below - 1)


def drawn(
    kind: Kind, rows: pl.DataFrame, names: Sequence[str], *, x: Axis, y: Axis, key: str = "", caption: str = ""
) -> Panel:
    """A panel of values that were calculated: columns ``series``, ``x`` and ``y``, without intervals."""
    nothing = pl.lit(None, pl.Float64)
    place = pl.col("x") if kind in {"bars", "stacked"} else pl.col("x").cast(pl.Float64)
    data = rows.select("series", place, pl.col("y").cast(pl.Float64), nothing.alias("low"), nothing.alias("high"))
    return Panel(key, caption, kind, data, x, y, values_of("series", names))
