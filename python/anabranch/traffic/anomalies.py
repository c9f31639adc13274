"""Traces that no distribution fits because the link was down, idle or full part of the time (paper, section III-B).

Such a trace has a spike in its density at zero or at its capacity. A spike is not a matter of taste here: it is a
narrow range of rates that holds far more bins than the ranges next to it, which smooth densities, however skewed, do
not do at their ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special

from anabranch.base import units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.traffic.series import Floats, Volumes

LOW = 0.05
"""Rates below this share of the median are low: the link is down, or nobody uses it."""

FULL = 0.02
"""Rates within this share of the capacity, or of the highest rate, are full."""

SHARE = 0.01
"""A spike holds at least this share of the bins."""

CONCENTRATED = 0.1
"""An outage is a run that holds at least this share of the low bins; without one the link is idle now and then."""

SURPRISE = 1e-6
"""... and the chance of so many in it, were the density even over it and the range beside it, is below this."""


@dataclass(frozen=True, slots=True)
class Spell:
    """A run of bins on one end.

    Attributes
    ----------
    begin_ns
        Where it begins, as the series counts time.
    bins
        How long it lasts.
    """

    begin_ns: int
    bins: int


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A spike at an end of the range.

    Attributes
    ----------
    kind
        ``outage``: low bins come in long runs. ``idle``: low bins come and go. ``saturation``: bins at the top.
    share
        Share of the bins that are in the spike.
    spells
        The runs, longest first; at most ten.
    explanation
        What was seen and what it means for a fit.
    """

    kind: Literal["outage", "idle", "saturation"]
    share: float
    spells: tuple[Spell, ...]
    explanation: str

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        spells = [{"begin_ns": spell.begin_ns, "bins": spell.bins} for spell in self.spells]
        return {"kind": self.kind, "share": self.share, "spells": spells, "explanation": self.explanation}


def anomalies(volumes: Volumes, *, capacity_bps: float | None = None) -> list[Anomaly]:
    """Look for spikes at zero and at the top.

    Parameters
    ----------
    volumes
        A series.
    capacity_bps
        Capacity of the link; default: not known, so that the highest rate stands for it.

    Returns
    -------
    list[Anomaly]
        What was found; empty for a normal trace.
    """
    rates = volumes.rates()
    if rates.size == 0 or rates.max() <= 0:
        return []
    starts = volumes.starts_ns()[volumes.is_known]
    return [found for found in (_low(rates, starts, volumes), _full(rates, starts, volumes, capacity_bps)) if found]


def _low(rates: Floats, starts: NDArray[np.int64], volumes: Volumes) -> Anomaly | None:
    """Bins at zero, or nearly, with few bins between them and the rest."""
    # The median of the bins that are in use: with half of the bins down, that of all bins says nothing.
    busy = rates[rates > LOW * float(rates.max())]
    threshold = LOW * float(np.median(busy))
    low = rates < threshold
    beside = int(((rates >= threshold) & (rates < 3 * threshold)).sum())
    # Even density: a third of the bins below 3 x threshold would be below 1 x.
    if not _spike(int(low.sum()), beside, 1 / 3, rates.size):
        return None
    spells = _spells(low, starts, volumes.bin_ns)
    share = float(low.mean())
    # Were low bins scattered at random, a run of this length would not be expected in the whole series.
    by_chance = math.log(low.size) / -math.log(share) if share < 1 else low.size
    zeros = float((rates == 0).mean())
    what = f"{share:.1%} of the bins are below {LOW:.0%} of the median rate in use ({zeros:.1%} are empty)"
    if spells[0].bins > max(3 * by_chance, CONCENTRATED * int(low.sum())):
        length = units.time(spells[0].bins * volumes.bin_ns)
        text = f"{what}, in {_count(low)} runs of which the longest lasts {length}: the link was down or not in use"
        return Anomaly("outage", share, spells, f"{text}; fit the time in use, or model the share of empty bins")
    return Anomaly(
        "idle", share, spells, f"{what}, in short runs: traffic comes in bursts at this bin width; try wider bins"
    )


def _full(rates: Floats, starts: NDArray[np.int64], volumes: Volumes, capacity_bps: float | None) -> Anomaly | None:
    """Bins at the capacity, or piled up at the highest rate."""
    top = float(rates.max()) if capacity_bps is None else capacity_bps
    full = rates >= (1 - FULL) * top
    beside = int(((rates >= (1 - 2 * FULL) * top) & ~full).sum())
    # A link that always runs within a few per cent of one rate, near which all bins lie, is no link at its capacity.
    narrow = float(np.median(rates)) >= (1 - 4 * FULL) * top and capacity_bps is None
    if narrow or not _spike(int(full.sum()), beside, 1 / 2, rates.size):
        return None
    share = float(full.mean())
    name = "the capacity" if capacity_bps is not None else "the highest rate"
    text = (
        f"{share:.1%} of the bins are within {FULL:.0%} of {name} ({units.rate(top)}), more than just below it: "
        "the link was full, and the demand is not known"
    )
    return Anomaly(
        "saturation", share, _spells(full, starts, volumes.bin_ns), f"{text}; fit the bins below, or do not fit"
    )


def _spike(inside: int, beside: int, expected: float, n: int) -> bool:
    """Whether so many bins inside, of those inside and beside, are more than an even density has."""
    if inside < SHARE * n or inside == 0:
        return False
    # P(X >= inside) for a binomial of inside + beside.
    chance = float(special.betainc(inside, beside + 1, expected))
    return chance < SURPRISE


def _count(mask: NDArray[np.bool_]) -> int:
    """How many runs."""
    return int(np.count_nonzero(np.diff(mask.astype(np.int8)) == 1)) + int(mask[0])


def _spells(mask: NDArray[np.bool_], starts: NDArray[np.int64], bin_ns: int) -> tuple[Spell, ...]:
    """The longest runs. A gap of bins that are not known ends one."""
    edges = np.flatnonzero(np.diff(starts) > bin_ns) + 1
    runs = []
    for part, times in zip(np.split(mask, edges), np.split(starts, edges), strict=True):
        padded = np.diff(np.concatenate(([0], part.astype(np.int8), [0])))
        begins, ends = np.flatnonzero(padded == 1), np.flatnonzero(padded == -1)
        runs += [Spell(int(times[b]), int(e - b)) for b, e in zip(begins, ends, strict=True)]
    return tuple(sorted(runs, key=lambda spell: (-spell.bins, spell.begin_ns))[:10])
