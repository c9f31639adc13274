"""Is the series stationary? Two tests with opposite null hypotheses, read together, and a look for the cycle of a day.

ADF's null hypothesis is a unit root, KPSS's is stationarity; neither alone says much about traffic. The lags are fixed
by the number of bins, not searched for: statsmodels' default for ADF refits the regression for every lag, a hundred
times the work.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND, Volumes

if TYPE_CHECKING:
    from anabranch.traffic.series import Floats

SIGNIFICANCE = 0.05
"""Level of both tests."""

BINS_MAX = 20_000
"""Longer series are joined to at most so many bins: the tests are about slow changes, and take minutes on more."""

DAY_NS = 24 * 3600 * SECOND
"""A day."""

SEASONAL = 0.3
"""A series whose bins correlate by more than this with those of a day before has a daily cycle ..."""

ABOVE_HALF = 0.1
"""... if they correlate by so much less with those of half a day before: a trend does with both."""

READINGS = {
    (True, True): ("stationary", "the unit root is rejected, stationarity is not"),
    (False, False): ("not stationary", "stationarity is rejected, the unit root is not: take differences"),
    (True, False): (
        "difference-stationary or cyclic",
        "both are rejected: slow changes of level or variance, such as a daily cycle, around no unit root",
    ),
    (False, True): ("undecided", "neither is rejected: the series is too short, or its changes too slow, to say"),
}
"""By whether ADF rejects the unit root and whether KPSS lets stationarity stand: the reading, and what it means."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test.

    Attributes
    ----------
    statistic, p
        Statistic and p-value. KPSS's comes from a table from 0.01 to 0.1: `bounded` says that the true one is beyond
        its end.
    lags
        Lags used.
    bounded
        Whether `p` is an end of the table.
    """

    __test__ = False  # no test of pytest's

    statistic: float
    p: float
    lags: int
    bounded: bool = False

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"statistic": self.statistic, "p": self.p, "lags": self.lags, "bounded": self.bounded}


@dataclass(frozen=True, slots=True)
class Stationarity:
    """Both tests, and what they say together.

    Attributes
    ----------
    adf, kpss
        The tests, around a constant level.
    daily
        Correlation of a bin with that of a day before; None for series of less than two days or with bins above an
        hour.
    half_day
        The same with that of half a day before.
    reading, meaning
        The 2 x 2 reading, and what it means.
    joined
        How many neighbouring bins were joined to one for the tests; 1 but for very long series.
    """

    adf: Test
    kpss: Test
    daily: float | None
    half_day: float | None
    reading: str
    meaning: str
    joined: int = 1

    @property
    def seasonal(self) -> bool:
        """Whether there is a daily cycle: a forecast should then span whole days."""
        return seasonal(self.daily, self.half_day)

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        tests = {"adf": self.adf.as_json(), "kpss": self.kpss.as_json()}
        return tests | {
            "daily": self.daily,
            "half_day": self.half_day,
            "seasonal": self.seasonal,
            "reading": self.reading,
            "meaning": self.meaning,
            "joined": self.joined,
        }


def schwert(n: int) -> float:
    """Lags for both tests: 12 (n / 100)^(1/4) (Schwert 1989; l12 of Kwiatkowski et al. 1992).

    ADF takes it rounded down, as Schwert does, and KPSS rounded up, as statsmodels does.

    Examples
    --------
    >>> round(schwert(100), 2), round(schwert(8640), 2)
    (12.0, 36.59)
    """
    return 12 * math.sqrt(math.sqrt(n / 100))


def stationarity(volumes: Volumes | Floats, *, lags: int | None = None) -> Stationarity | Inconclusive:
    """Test a series for a unit root (ADF) and for stationarity (KPSS), both around a constant level.

    Parameters
    ----------
    volumes
        A series; bins that are not known are left out, which shortens the time between their neighbours.
    lags
        Lags of both tests; default: `schwert`.

    Returns
    -------
    Stationarity or Inconclusive
        The tests, or why they cannot be done.
    """
    values = volumes.rates() if isinstance(volumes, Volumes) else np.asarray(volumes, dtype=float)
    joined = -(-values.size // BINS_MAX) or 1
    values = values[: values.size // joined * joined].reshape(-1, joined).mean(axis=1)
    usual = schwert(values.size)
    adf_lags, kpss_lags = (math.floor(usual), math.ceil(usual)) if lags is None else (lags, lags)
    if values.size < 2 * kpss_lags + 10:
        return Inconclusive(f"{values.size} bins are too few for a test with {kpss_lags} lags")
    if np.ptp(values) == 0:
        return Inconclusive("all bins are equal")
    # Imported here: statsmodels takes a second, which nothing else needs.
    from statsmodels.tsa.stattools import adfuller, kpss  # noqa: PLC0415

    scaled = values / values.mean()  # the statistics have no unit; squares of bits per second are large
    with warnings.catch_warnings():
        # That a p-value is an end of the table is said by `bounded`, and that bins hardly vary below.
        warnings.simplefilter("ignore")
        statistic, p = adfuller(scaled, maxlag=adf_lags, autolag=None, regression="c", result_object=False)[:2]
        adf = Test(float(statistic), float(p), adf_lags)
        statistic, p = kpss(scaled, nlags=kpss_lags, regression="c", result_object=False)[:2]
        kpss_test = Test(float(statistic), float(p), kpss_lags, bounded=bool(p <= 0.01 or p >= 0.1))  # noqa: PLR2004
    if not all(map(math.isfinite, (adf.statistic, adf.p, kpss_test.statistic, kpss_test.p))):
        return Inconclusive("the bins vary too little for the tests")
    reading, meaning = READINGS[adf.p < SIGNIFICANCE, kpss_test.p >= SIGNIFICANCE]
    day, half = (correlation(volumes, lag) for lag in (DAY_NS, DAY_NS // 2))
    return Stationarity(adf, kpss_test, day, half, reading, meaning, joined)


def seasonal(daily: float | None, half_day: float | None) -> bool:
    """Whether correlations at a day and at half a day are those of a daily cycle."""
    if daily is None or daily <= SEASONAL:
        return False
    return half_day is None or daily > half_day + ABOVE_HALF


def correlation(volumes: Volumes | Floats, lag_ns: int) -> float | None:
    """Correlation of bins with those so much earlier, both known; None with bins above an hour, or too few."""
    if not isinstance(volumes, Volumes) or volumes.bin_ns > DAY_NS // 24:
        return None
    lag = round(lag_ns / volumes.bin_ns)
    known = volumes.is_known
    both = known[lag:] & known[:-lag] if len(volumes) >= 2 * lag else np.zeros(0, dtype=bool)
    if int(both.sum()) < 2:  # noqa: PLR2004 - a correlation needs two pairs
        return None
    values = np.asarray(volumes.bytes, dtype=float)
    late, early = values[lag:][both], values[:-lag][both]
    if np.ptp(late) == 0 or np.ptp(early) == 0:
        return None
    return float(np.corrcoef(late, early)[0, 1])
