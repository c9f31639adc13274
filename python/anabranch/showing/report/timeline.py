"""Numbers behind the timelines: settings that many ports have, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

MOMENTS = 200
"""Points of a timeline at most."""

SETTINGS = {
    "set_marking_threshold_packets": ("Marking threshold", "packets", 1.0),
    "set_marking_threshold_bytes": ("Marking threshold", "kB", 1e3),
    "set_buffer_packets": ("Buffer", "packets", 1.0),
    "set_buffer_bytes": ("Buffer", "kB", 1e3),
    "set_rate_bps": ("Link rate", "Gbps", 1e9),
    "set_path_weight": ("Path weight", "1 if never set", 1.0),
    "set_admission": ("New flows", "0 begin, 1 wait, 2 refused", 1.0),
}
"""Metrics of the time series that are decisions: their name, unit, and what a unit is."""


def envelope(
    times: Sequence[float], ports: Sequence[int], values: Sequence[float], *, moments: int = MOMENTS
) -> list[tuple[float, float, float, float]]:
    """How the values of many ports spread, over time.

    Parameters
    ----------
    times, ports, values
        Which port got which value when, in order of time.
    moments
        Points of time at most; the last is always among them.

    Returns
    -------
    list[tuple[float, float, float, float]]
        Time, smallest, median and largest value of the ports that have been set by then.

    Examples
    --------
    >>> envelope([1.0, 1.0, 2.0], [7, 8, 7], [10.0, 20.0, 40.0])
    [(1.0, 10.0, 15.0, 20.0), (2.0, 20.0, 30.0, 40.0)]
    """
    steps = np.unique(np.asarray(times, dtype=float))
    shown = set(steps[np.unique(np.linspace(0, len(steps) - 1, min(moments, len(steps))).round().astype(int))])
    now: dict[int, float] = {}
    found = []
    for place, time in enumerate(times):
        now[ports[place]] = values[place]
        if time in shown and (place + 1 == len(times) or times[place + 1] != time):
            low, middle, high = np.percentile(list(now.values()), [0, 50, 100])
            found.append((float(time), float(low), float(middle), float(high)))
    return found
