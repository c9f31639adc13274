"""Samples that nobody believes: a hundred times the median of their series.

Most are of a counter that was reset, read wrongly or wrapped twice, and decide a bill or a fit. They stay, because a
backup in an idle night looks the same; but they are named, and the rate of the line tells the impossible ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.base import units
from anabranch.base.moments import moment

if TYPE_CHECKING:
    from anabranch.traffic.bin import Binned
    from anabranch.traffic.series import Volumes

TIMES = 100
"""A sample of so many times the median is named."""

SAMPLES = 20
"""Samples that make a median worth comparing with."""

SHOWN = 3
"""Samples of a series that are named."""

READERS = frozenset({"counters", "csv-volumes"})
"""What is polled; packets come in bursts."""


def spikes(volumes: Volumes) -> list[tuple[int, float, float]]:
    """The samples of more than `TIMES` the median of those above zero: start in ns, rate in bps, times the median.

    Examples
    --------
    >>> from anabranch.traffic.series import Volumes
    >>> [(start, round(times)) for start, _, times in spikes(Volumes.of([100.0] * 30 + [5e5], bin_s=1))]
    [(30000000000, 5000)]
    """
    rates = volumes.rates()
    busy = rates[rates > 0]
    if busy.size < SAMPLES:
        return []
    median = float(np.median(busy))
    found = np.flatnonzero(rates > TIMES * median)
    if not found.size:
        return []
    starts = volumes.starts_ns()[volumes.is_known]
    return [(int(starts[i]), float(rates[i]), float(rates[i]) / median) for i in found]


def remarks(binned: Binned) -> list[str]:
    """A line for each of the largest, of the finest series of every name that was read from tables."""
    said = []
    finest: dict[str, int] = {}
    for place, one in enumerate(binned):
        polled = all(binned.files[number].reader in READERS for number in binned.sources[place])
        if polled and (one.name not in finest or one.bin_ns < binned[finest[one.name]].bin_ns):
            finest[one.name] = place
    for name, place in finest.items():
        found = sorted(spikes(binned[place]), key=lambda spike: -spike[1])
        for start, bps, times in found[:SHOWN]:
            said.append(
                f"{name}: {units.rate(bps)} at {moment(start)} is {times:.0f} times the median: if the line cannot "
                "carry that, say what it can: --line-rate 1Gbps"
            )
        if len(found) > SHOWN:
            said.append(f"{name}: {len(found) - SHOWN} more samples of over {TIMES} times the median")
    return said
