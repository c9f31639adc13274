"""What a single distribution cannot say of a series: that its density has several modes.

`anabranch.traffic.cycle` looks for what repeats every day.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from anabranch.traffic.series import Floats

GRID = 512
"""Cells of the histogram that is smoothed."""

INDEPENDENT = 200
"""Neighbouring bins resemble each other: of more bins than this no finer density is estimated."""

VALLEY = 0.5
"""Two peaks are two modes if the density between them falls below this share of the lower one ..."""

NARROW = (0.5, 0.25)
"""... or, with half of the bandwidth, below a quarter of it. Many modes make the spread so wide, and with it the usual
bandwidth, that they melt into each other; half of it follows chance more, and chance digs no valleys so deep ..."""

HOLDS = 0.05
"""... and on either side of the valley lies at least this share of the bins ..."""

FEWEST = 20
"""... and so many of them."""

DISTINCT = 0.2
"""Different rates, as a share of the bins, below which their steps would pass for modes. Whole multiples of the
smallest step, as rounded rates are, are spread evenly over it; of others, such as sums of a few packets, no modes are
told."""


ROUNDED = 1e-3
"""Part of a step by which a multiple of it may be off."""


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
    used = np.sort(rates[rates > 0])
    if used.size == 0:
        return ()
    if np.unique(used).size < DISTINCT * used.size:
        spread_out = _spread(used)
        if spread_out is None:
            return (float(np.median(used)),)
        used = spread_out
    logs = np.log10(used)
    low, high = np.quantile(logs, [0.25, 0.75])
    spread = min(float(logs.std()), float(high - low) / 1.34) or float(logs.std())
    if spread == 0:
        return (float(used[0]),)
    usual = 0.9 * spread * min(logs.size, INDEPENDENT) ** -0.2
    found = _modes(logs, usual, VALLEY)
    return found if len(found) > 1 else _modes(logs, NARROW[0] * usual, NARROW[1])


def _spread(ordered: Floats) -> Floats | None:
    """Rounded rates, equal ones spread evenly over the step that they were rounded to; None without such a step."""
    values, counts = np.unique(ordered, return_counts=True)
    step = float(np.diff(values).min()) if values.size > 1 else 0.0
    places = values / step if step > 0 else values
    if step <= 0 or np.abs(places - np.round(places)).max() > ROUNDED:
        return None
    ranks = np.arange(ordered.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return ordered + step * ((ranks + 0.5) / np.repeat(counts, counts) - 0.5)


def _modes(logs: Floats, bandwidth: float, valley: float) -> tuple[float, ...]:
    """Modes of the density with a bandwidth, apart by valleys of a depth."""
    edges = np.linspace(logs.min() - 4 * bandwidth, logs.max() + 4 * bandwidth, GRID + 1)
    counts, _ = np.histogram(logs, edges)
    density = ndimage.gaussian_filter1d(counts.astype(float), bandwidth / (edges[1] - edges[0]), mode="constant")
    peaks = _peaks(density, counts, valley)
    return tuple(float(10 ** ((edges[peak] + edges[peak + 1]) / 2)) for peak in peaks)


def _peaks(density: Floats, counts: np.ndarray, deep: float) -> list[int]:
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
        if max(depth) <= deep and min(held) >= max(HOLDS, FEWEST / counts.sum()):
            break
        # The least of all: the lower peak at the shallowest valley, or the peak that holds fewest.
        if max(depth) > deep:
            at = int(np.argmax(depth))
            peaks.pop(at if density[peaks[at]] < density[peaks[at + 1]] else at + 1)
        else:
            peaks.pop(int(np.argmin(held)))
    return peaks or [int(np.argmax(density))]
