"""What several experiments share: looks of a transport used in several ways, units, and the points of a sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.reproduce.model import Axis, Series
from anabranch.reproduce.panels import transports

if TYPE_CHECKING:
    from collections.abc import Mapping

GBPS = pl.col("goodput_bps") / 1e9
"""Goodput of a row in Gbps."""
FCT_MS = pl.col("fct_ns") / 1e6
"""Completion time of a row in milliseconds."""
GOODPUT = Axis("goodput (Gbps)")
"""Axis of goodput."""

RATE = "workload.requests.arrivals.rate"
"""Requests per second, of workloads called ``requests``."""
MODE = "workload.requests.mode"
REPLICAS = "workload.requests.placement.replicas"
BACKGROUND = "workload.background.placement.share"
"""Share of the hosts that exchange long flows on a permutation: the load of background traffic."""


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
