"""Times, rates and shares as people type them: ``5ms``, ``1Gbps``, ``1/3``."""

from __future__ import annotations

import math
import re

from anabranch.errors import AnabranchError

TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of time, in seconds."""

RATES = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
"""Units of rate, in bits per second."""

_PATTERN = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Zµ]+)\s*")


def _quantity(text: str, units: dict[str, float], what: str, example: str) -> float:
    match = _PATTERN.fullmatch(text)
    known = {name.lower(): scale for name, scale in units.items()}
    try:
        if match is not None and match[2].lower() in known:
            value = float(match[1]) * known[match[2].lower()]
            if math.isfinite(value) and value > 0:
                return value
    except ValueError:
        pass
    expected = f"expected a number above zero and a unit ({', '.join(units)})"
    raise AnabranchError(f"{what} {text!r}: {expected}", hint=example)


def seconds(text: str, what: str = "time") -> float:
    """Read a time; `what` begins the message of an error.

    Examples
    --------
    >>> seconds("5ms"), seconds("5 min")
    (0.005, 300.0)
    """
    return _quantity(text, TIMES, what, "100ms, 1s, 5min")


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
    return _quantity(text, RATES, what, "1Gbps, 250Mbps")
