"""What a single distribution cannot say of a series: that its density has several modes, that it follows the day."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from anabranch.traffic.stationarity import DAY_NS, correlation, seasonal

if TYPE_CHECKING:
    from anabranch.traffic.series import Floats, Volumes

HOUR_NS = DAY_NS // 24

GRID = 512
"""Cells of the histogram that is smoothed."""

INDEPENDENT = 200
"""Neighbouring bins resemble each other: of more bins than this no finer density is estimated."""

VALLEY = 0.5
"""Two peaks are two modes if the density between them falls below this share of the lower one ..."""

HOLDS = 0.05
"""... and on either side of the valley lies at least this share of the bins ..."""

FEWEST = 20
"""... and so many of them."""

DISTINCT = 0.2
"""Different rates, as a share of the bins, below which steps of a few packets would pass for modes: none are told."""

DAYS = 3
"""Days that a series must last to show a daily cycle."""


def modes(rates: Floats) -> tuple[float, ...]:
    """Rates at which the density of the logarithm of the rates has its modes; bins without traffic are left out.

    A Gaussian kernel estimate with Silverman's bandwidth (Silverman 1986, eq. 3.31), as if there were at most
    `INDEPENDENT` bins. It is a description, no test: modes that a reader would see in the histogram.

    Parameters
    ----------
    rates
        Rates in any unit, not below zero.

    Returns
    -------
    tuple[float, ...]
        The modes in ascending order; one for most series, none without traffic. Where few rates are different, the
        median instead.
    """
    used = rates[rates > 0]
    logs = np.log10(used)
    if logs.size == 0:
        return ()
    if np.unique(used).size < DISTINCT * used.size:
        return (float(np.median(used)),)
    low, high = np.quantile(logs, [0.25, 0.75])
    spread = min(float(logs.std()), float(high - low) / 1.34) or float(logs.std())
    if spread == 0:
        return (float(rates[rates > 0][0]),)
    bandwidth = 0.9 * spread * min(logs.size, INDEPENDENT) ** -0.2
    edges = np.linspace(logs.min() - 4 * bandwidth, logs.max() + 4 * bandwidth, GRID + 1)
    counts, _ = np.histogram(logs, edges)
    density = ndimage.gaussian_filter1d(counts.astype(float), bandwidth / (edges[1] - edges[0]), mode="constant")
    peaks = _peaks(density, counts)
    return tuple(float(10 ** ((edges[peak] + edges[peak + 1]) / 2)) for peak in peaks)


def _peaks(density: Floats, counts: np.ndarray) -> list[int]:
    """Peaks with valleys between them that are deep, and parts beside these that hold enough."""
    inner = (density[1:-1] > density[:-2]) & (density[1:-1] >= density[2:])
    peaks = [int(place) + 1 for place in np.flatnonzero(inner)]
    share = np.cumsum(counts) / counts.sum()
    while len(peaks) > 1:
        valleys = [a + int(np.argmin(density[a : b + 1])) for a, b in itertools.pairwise(peaks)]
        bounds = [0.0, *(float(share[valley]) for valley in valleys), 1.0]
        depth = [
            density[valley] / min(density[a], density[b])
            for valley, a, b in zip(valleys, peaks, peaks[1:], strict=False)
        ]
        held = [later - earlier for earlier, later in itertools.pairwise(bounds)]
        if max(depth) <= VALLEY and min(held) >= max(HOLDS, FEWEST / counts.sum()):
            break
        # The least of all: the lower peak at the shallowest valley, or the peak that holds fewest.
        if max(depth) > VALLEY:
            at = int(np.argmax(depth))
            peaks.pop(at if density[peaks[at]] < density[peaks[at + 1]] else at + 1)
        else:
            peaks.pop(int(np.argmin(held)))
    return peaks or [int(np.argmax(density))]


@dataclass(frozen=True, slots=True)
class DailyCycle:
    """How a series follows the day.

    Attributes
    ----------
    correlation
        Autocorrelation of the rates at one day.
    present
        Whether that is a daily cycle.
    peak_h, trough_h
        Hours of the day, counted as the series counts time, with the largest and the smallest mean rate.
    ratio
        The largest over the smallest; infinite where the smallest is zero.
    """

    correlation: float
    present: bool
    peak_h: int
    trough_h: int
    ratio: float


def daily_cycle(volumes: Volumes) -> DailyCycle | None:
    """Look for a daily cycle; None where the series is shorter than `DAYS` or its bins are longer than an hour.

    Parameters
    ----------
    volumes
        A series; unknown bins are left out.
    """
    if volumes.bin_ns > HOUR_NS or len(volumes) * volumes.bin_ns < DAYS * DAY_NS:
        return None
    day, half = (correlation(volumes, lag) for lag in (DAY_NS, DAY_NS // 2))
    if day is None or half is None:
        return None
    hours = (volumes.starts_ns() // HOUR_NS % 24).astype(int)
    known = volumes.is_known
    values = np.full(len(volumes), np.nan)
    values[known] = volumes.rates()
    means = np.array(
        [values[known & (hours == hour)].mean() if (known & (hours == hour)).any() else np.nan for hour in range(24)]
    )
    peak, trough = int(np.nanargmax(means)), int(np.nanargmin(means))
    ratio = float(means[peak] / means[trough]) if means[trough] > 0 else float("inf")
    return DailyCycle(day, seasonal(day, half), peak, trough, ratio)
