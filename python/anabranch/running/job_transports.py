"""Transports for jobs on links of any rate: the switches and the constants that depend on it.

Where a source gives numbers for 100 Gbps, they are in proportion to the rate: queues that are as long in time. These
are the settings in which all transports are compared at 100 Gbps (``scenarios/rivals/paper.toml``, where each has its
source).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PFC = ("roce", "dcqcn", "timely", "hpcc")
"""They are made for switches that pause."""

MARKED = ("dctcp", "d2tcp", "fa-dctcp", "ecn-star", "l2dct", "pias")
"""Their switches mark above a threshold."""

TRIMMED = ("scdp", "ndp", "ndp+", "eqds", "uec")
"""Their switches trim."""

TABLES = {
    "scdp": ("scdp",), "polyraptor": ("scdp",), "ndp": ("ndp",), "ndp+": ("ndp",), "eqds": ("uec",), "uec": ("uec",),
    "homa": ("homa",), "phost": ("phost",), "roce": ("roce",), "dcqcn": ("roce", "dcqcn"),
    "timely": ("roce", "timely"), "hpcc": ("roce",),
}  # fmt: skip
"""Where the parameters of each are; those of all others are TCP's."""


def switch(name: str, gbps: float) -> dict[str, Any]:
    """The table ``switch`` for a transport at a link rate.

    Examples
    --------
    >>> switch("ndp", 100)
    {'shared_buffer': '32MB', 'header_buffer': '72KB'}
    >>> switch("dctcp", 400)
    {'shared_buffer': '128MB', 'ecn_threshold': '1200KB'}
    """
    table: dict[str, Any] = {"shared_buffer": _bytes(0.32 * gbps, "MB")}
    if name in TRIMMED:
        table["header_buffer"] = "72KB"
    if name in PFC:
        table["pfc"] = {}
    if name in MARKED:
        table["ecn_threshold"] = _bytes(3 * gbps, "KB")
    if name == "pias":
        table["buffer"] = "unlimited"
    if name == "hull":
        table["phantom"] = {"threshold": _bytes(gbps, "KB")}
    if name == "dcqcn":
        table["queue"] = "red"
        table["red"] = {
            "min_threshold": _bytes(4 * gbps, "KB"), "max_threshold": _bytes(16 * gbps, "KB"), "max_probability": 0.2,
            "weight": 1.0, "gentle": False, "spread": False,
        }  # fmt: skip
    return table


def constants(names: Sequence[str], gbps: float, packet: str) -> dict[str, Any]:
    """The table ``transport`` for some of them, but for the name: packets of a size, and what holds at a link rate.

    Examples
    --------
    >>> constants(["eqds"], 400, "4160B")
    {'window': 'bdp', 'uec': {'packet': '4160B', 'rto_initial': '1ms'}}
    """
    used = {table for name in names for table in TABLES.get(name, ("tcp",))}
    return {"window": "bdp", **{name: table for name, table in _tables(gbps, packet).items() if name in used}}


def _tables(gbps: float, packet: str) -> dict[str, dict[str, Any]]:
    increase = 0.2 * gbps
    return {
        "tcp": {"packet": packet, "rto_min": "1ms", "rto_initial": "1ms", "handshake": False, "sack": True},
        "ndp": {"packet": packet, "rto_initial": "1ms", "return_to_sender": True},
        "scdp": {"packet": packet, "pull_timeout": "1ms", "probe_timeout": "4ms", "decode_table": "measured"},
        "uec": {"packet": packet, "rto_initial": "1ms"},
        "homa": {"packet": packet, "resend_timeout": "1ms"},
        "phost": {"packet": packet},
        "roce": {"packet": packet},
        "dcqcn": {
            "rules": "connectx", "timer": "55us", "alpha_timer": "50us", "fast_recovery": 1,
            "additive_increase": f"{increase:g}Mbps", "hyper_increase": f"{10 * increase:g}Mbps", "min_rate": "1Gbps",
        },
        "timely": {
            "variant": "per-rtt", "segment": "1B", "weight": 0.875, "additive_increase": f"{gbps:g}Mbps",
            "min_rate": "1Gbps",
        },
    }  # fmt: skip


def _bytes(number: float, unit: str) -> str:
    return f"{round(number):d}{unit}"
