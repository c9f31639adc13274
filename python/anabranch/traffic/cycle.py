"""Cycles of a day, and of something that is nearly one.

A day of 23.6 hours is found, too: of a table whose rows are not as far apart as it says, or of a poller that is late.
Taken for a day of 24 its busy hours move through the clock, and their mean looks like no cycle at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anabranch.traffic.stationarity import DAY_NS, correlation, seasonal

if TYPE_CHECKING:
    from anabranch.traffic.series import Floats, Volumes

HOUR_NS = DAY_NS // 24

DAYS = 3
"""Days that a series must last to show a daily cycle."""

AROUND = (18, 30)
"""Hours between which a period is looked for: half a day and two days are something else."""

PHASES = 24
"""Parts of a period: those of a day are its hours."""

SAMPLES = 48
"""Bins of a period that the search needs; finer ones are joined."""

NEAR_NS = HOUR_NS
"""The best lag is the period to within this, as the tops of autocorrelations are flat."""

SAME = 0.98
"""A day explains the series as well as the best period if it explains this share of what that does ..."""

CHANCE = 2.0
"""... or as much, but for so many times what is left over, divided by the cycles there are."""


@dataclass(frozen=True, slots=True)
class DailyCycle:
    """How a series follows the day, or a period near it.

    Attributes
    ----------
    period_ns
        The period: a day, unless another describes the series better than chance explains.
    correlation
        Autocorrelation of the rates at the period.
    present
        Whether that is a cycle.
    peak_h, trough_h
        Hours with the largest and the smallest mean rate: of the day, counted as the series counts time, or 24ths of
        another period, counted from the beginning of the series.
    ratio
        The largest over the smallest; infinite where the smallest is zero.
    """

    period_ns: int
    correlation: float
    present: bool
    peak_h: int
    trough_h: int
    ratio: float

    @property
    def is_day(self) -> bool:
        """Whether the period is a day."""
        return self.period_ns == DAY_NS


def daily_cycle(volumes: Volumes) -> DailyCycle | None:
    """Look for a daily cycle; None where the series is shorter than `DAYS` or its bins are longer than an hour.

    Parameters
    ----------
    volumes
        A series; unknown bins are left out.
    """
    if volumes.bin_ns > HOUR_NS or len(volumes) * volumes.bin_ns < DAYS * DAY_NS:
        return None
    found = _at(volumes, _period(volumes))
    if found is None or (not found.present and not found.is_day):
        return _at(volumes, DAY_NS)
    return found


def _at(volumes: Volumes, period_ns: int) -> DailyCycle | None:
    """What a period says of a series."""
    whole, half = (correlation(volumes, lag) for lag in (period_ns, period_ns // 2))
    if whole is None or half is None:
        return None
    begin = 0 if period_ns == DAY_NS else volumes.start_ns
    means = _means(_phases(volumes.starts_ns()[volumes.is_known] - begin, period_ns), volumes.rates())
    peak, trough = int(np.nanargmax(means)), int(np.nanargmin(means))
    ratio = float(means[peak] / means[trough]) if means[trough] > 0 else float("inf")
    return DailyCycle(period_ns, whole, seasonal(whole, half), peak, trough, ratio)


def _phases(times_ns: np.ndarray, period_ns: float) -> np.ndarray:
    """Parts of the period in which times lie."""
    return np.minimum((times_ns % period_ns * PHASES // period_ns).astype(np.int64), PHASES - 1)


def _means(phases: np.ndarray, rates: Floats) -> Floats:
    """Mean rate of every part; NaN where nothing is known."""
    counts = np.bincount(phases, minlength=PHASES)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(phases, rates, minlength=PHASES) / counts)


def _period(volumes: Volumes) -> int:
    """The period near a day that explains most of the series; a day if that explains as much."""
    joined = volumes.rebin(max(1, DAY_NS // SAMPLES // volumes.bin_ns))
    known, length = joined.is_known, len(joined) * joined.bin_ns
    times, rates = joined.starts_ns()[known] - joined.start_ns, joined.rates()
    if rates.size < SAMPLES or np.ptp(rates) == 0:
        return DAY_NS
    low, high = (hours * HOUR_NS // joined.bin_ns for hours in AROUND)
    lags = [lag * joined.bin_ns for lag in range(low, high + 1) if 2 * lag <= len(joined)]
    best = max(lags, key=lambda lag: correlation(joined, lag) or -1.0, default=DAY_NS)
    # So close that over the whole series two neighbours differ by half of a part.
    step = max(1, DAY_NS * DAY_NS // (2 * PHASES * length))
    periods = np.arange(best - NEAR_NS, best + NEAR_NS + 1, step)
    shares = np.array([_explained(times, rates, int(period)) for period in periods])
    top, day = float(shares.max()), _explained(times, rates, DAY_NS)
    left = CHANCE * (1 - top) * DAY_NS / length
    if day >= SAME * top or day >= top - left:
        return DAY_NS
    return int(periods[int(shares.argmax())])


def _explained(times_ns: np.ndarray, rates: Floats, period_ns: float) -> float:
    """Share of the variance that lies between the parts of a period."""
    phases = _phases(times_ns, period_ns)
    means = _means(phases, rates)
    return float(np.var(means[phases]) / np.var(rates))
