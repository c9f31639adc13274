"""Times, rates and shares as people type them: ``5ms``, ``1Gbps``.

Numbers are read as decimals: ``0.3s`` are 300 000 000 ns, whatever binary floating point makes of 0.3.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from anabranch.errors import AnabranchError

TIMES = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
"""Units of time, in nanoseconds."""

RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
"""Units of rate, in bits per second."""

LONGEST_NS = 2**63
"""Times are counted in signed 64-bit integers: 292 years."""

_PATTERN = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Zµ]+)\s*", re.ASCII)


def _quantity(text: str, units: dict[str, int], what: str, example: str) -> Decimal:
    match = _PATTERN.fullmatch(text)
    known = {name.lower(): scale for name, scale in units.items()}
    if match is not None and match[2].lower() in known:
        try:
            value = Decimal(match[1]) * known[match[2].lower()]
        except ArithmeticError:
            value = Decimal(0)
        if value > 0 and math.isfinite(float(value)):
            return value
    expected = f"expected a number above zero and a unit ({', '.join(units)})"
    raise AnabranchError(f"{what} {text!r}: {expected}", hint=example)


def nanoseconds(text: str, what: str = "time") -> int:
    """Read a time; `what` begins the message of an error.

    Raises
    ------
    AnabranchError
        If it is none, not a whole number of nanoseconds, or longer than a 64-bit clock counts.

    Examples
    --------
    >>> nanoseconds("5ms"), nanoseconds("0.5 s"), nanoseconds("5min")
    (5000000, 500000000, 300000000000)
    """
    value = _quantity(text, TIMES, what, "100ms, 1s, 5min")
    if value >= LONGEST_NS:
        raise AnabranchError(f"{what} {text!r}: longer than a clock of 64 bits counts, 292 years", hint="1d")
    if value != int(value):
        raise AnabranchError(f"{what} {text!r}: not a whole number of nanoseconds", hint="1ns is the least; 100ms")
    return int(value)


def seconds(text: str, what: str = "time") -> float:
    """Read a time as seconds; errors as those of `nanoseconds`.

    Examples
    --------
    >>> seconds("5ms"), seconds("5 min")
    (0.005, 300.0)
    """
    return nanoseconds(text, what) / 10**9


def widths(text: str) -> list[float]:
    """Read bin widths with commas between, in seconds.

    Examples
    --------
    >>> widths("5ms,100ms,1s")
    [0.005, 0.1, 1.0]
    """
    return [seconds(part, "bin width") for part in text.split(",")]


def bps(text: str, what: str = "rate") -> float:
    """Read a rate, in bits per second.

    Examples
    --------
    >>> bps("1Gbps"), bps("940 Mbps")
    (1000000000.0, 940000000.0)
    """
    return float(_quantity(text, RATES, what, "1Gbps, 250Mbps"))
