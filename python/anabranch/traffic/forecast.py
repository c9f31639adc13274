"""What will the bill be at the end of the month? From its first days, by model, with an interval (paper, section V).

A model is fitted to the days that are known; its 95th percentile is the forecast. How far off such a forecast is, the
days themselves tell: months are made of days drawn from them, and so are the days to forecast from. The interval is
that of the errors. It holds if the days to come are like those that were seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anabranch.errors import AnabranchError
from anabranch.traffic import models
from anabranch.traffic.bill import PERCENTILE, quantile
from anabranch.traffic.fit import KS_WARN, Data, fit
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.stationarity import DAY_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.bill import Tariff
    from anabranch.traffic.series import Floats, Volumes

METHODS = ("empirical", "lognormal", "weibull", "normal")
"""The percentile of the days themselves, and the quantile of three models."""

REPLICATES = 400
"""Synthetic months: the ends of an interval are then those of the tenth of them on either side, for 95 %."""

WEEK = 7
"""Days that a forecast should have seen."""

ENOUGH = 0.99
"""Share of the days to forecast from that must have been measured, with gaps or without: a quarter of an hour of a day
may lack at the end."""

HOUR_NS = DAY_NS // 24
"""Nanoseconds of an hour."""

LONGEST = 366
"""Days of a month, at most: a year may be billed, too."""

Scale = Literal["spread", "range", "mean"]
"""What the root mean squared error is divided by: the standard deviation of the actual values, their range, or their
mean."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The percentile of a whole month, forecast by one method.

    Attributes
    ----------
    method
        One of `METHODS`.
    bps
        Forecast, in bits per second.
    interval
        Of the month's percentile, in bits per second, or why there is none.
    charge, charge_interval
        The same by the tariff, in its currency.
    warning
        Why the method should not be used; empty if there is no reason.
    """

    method: str
    bps: float
    interval: tuple[float, float] | Inconclusive
    charge: float
    charge_interval: tuple[float, float] | Inconclusive
    warning: str = ""

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""

        def shown(interval: tuple[float, float] | Inconclusive) -> object:
            return {"inconclusive": interval.reason} if isinstance(interval, Inconclusive) else list(interval)

        return {
            "method": self.method,
            "bps": self.bps,
            "interval": shown(self.interval),
            "charge": self.charge,
            "charge_interval": shown(self.charge_interval),
            "warning": self.warning,
        }


def forecast(
    volumes: Volumes,
    tariff: Tariff,
    *,
    days: int,
    month_days: int = 30,
    percentile: float = PERCENTILE,
    confidence: float = 0.95,
    seed: int = 1,
) -> list[Forecast | Inconclusive]:
    """Forecast the month's percentile and charge from its first days, by every method.

    Parameters
    ----------
    volumes
        The series that is billed (`anabranch.traffic.bill.total`), in billing intervals.
    tariff
        Prices.
    days
        How many of the first days to use, at least 1; later ones are not looked at.
    month_days
        Days of the month.
    percentile
        Which percentile is billed.
    confidence
        Level of the intervals.
    seed
        Of the synthetic months.

    Returns
    -------
    list[Forecast or Inconclusive]
        One for each of `METHODS`, in order.

    Raises
    ------
    AnabranchError
        If less than those days was measured, or no rate of them is known.
    """
    if days < 1:
        raise AnabranchError(f"{days} days to forecast from: expected at least 1")
    if not 1 <= month_days <= LONGEST:
        raise AnabranchError(f"a month of {month_days} days: expected 1 to {LONGEST}", hint="--month-days 30")
    span = len(volumes) * volumes.bin_ns
    if span < days * DAY_NS * ENOUGH:
        raise AnabranchError(
            f"{volumes.name}: {span / HOUR_NS:.1f} h were measured, less than the {days} days to forecast from",
            hint=f"forecast from fewer days: --forecast-days {span // DAY_NS}" if span >= DAY_NS else "measure a day",
        )
    begin = volumes.start_ns
    parts = [volumes.between(begin + d * DAY_NS, begin + (d + 1) * DAY_NS).rates() for d in range(days)]
    parts = [part for part in parts if part.size]
    if not parts:
        raise AnabranchError(f"{volumes.name}: no rate is known in the first {days} days")
    q = percentile / 100
    known = np.concatenate(parts)
    study = fit(known, METHODS[1:])
    ratios = _ratios(parts, month_days, q, seed)
    forecasts: list[Forecast | Inconclusive] = []
    for method in METHODS:
        found = study.fits.get(method)
        if isinstance(found, Inconclusive):
            forecasts.append(Inconclusive(f"{method}: {found.reason}"))
            continue
        bps = quantile(known, percentile)[0] if found is None else found.quantile(q)
        bounds = ratios if isinstance(ratios, Inconclusive) else _bounds(ratios[method], confidence)
        interval = bounds if isinstance(bounds, Inconclusive) else (bps * bounds[0], bps * bounds[1])
        charges = (
            bounds if isinstance(interval, Inconclusive) else (tariff.charge(interval[0]), tariff.charge(interval[1]))
        )
        warning = ""
        if found is not None and found.ks > KS_WARN:
            warning = f"the {found.model.label} fits badly (KS {found.ks:.2f})"
        forecasts.append(Forecast(method, bps, interval, tariff.charge(bps), charges, warning))
    return forecasts


def _bounds(ratios: Floats, confidence: float) -> tuple[float, float] | Inconclusive:
    """Interval of a month's percentile by its forecast."""
    if not ratios.size:
        return Inconclusive("no synthetic month had a fit")
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _ratios(parts: Sequence[Floats], month_days: int, q: float, seed: int) -> dict[str, Floats] | Inconclusive:
    """For each method, a month's percentile by its forecast, in synthetic months."""
    if len(parts) < 2:  # noqa: PLR2004 - days differ only if there are two
        return Inconclusive("one day says nothing about how days differ")
    random = np.random.default_rng(seed)
    ratios: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(REPLICATES):
        month = np.concatenate([parts[i] for i in random.integers(len(parts), size=month_days)])
        seen = np.concatenate([parts[i] for i in random.integers(len(parts), size=len(parts))])
        actual = quantile(month, 100 * q)[0]
        for method in METHODS:
            guess = quantile(seen, 100 * q)[0] if method == "empirical" else _quick(method, seen, q)
            if guess is not None and guess > 0:
                ratios[method].append(actual / guess)
    return {method: np.asarray(values) for method, values in ratios.items()}


def _quick(method: str, rates: Floats, q: float) -> float | None:
    """Quantile of a fitted model without all that `fit` says about it."""
    data = Data.of(rates)
    model = models.fit(method, data.positive)
    if isinstance(model, Inconclusive) or q <= data.zero_share:
        return None
    return float(model.quantile(np.asarray((q - data.zero_share) / (1 - data.zero_share))))


def nrmse(actual: Sequence[float] | Floats, predicted: Sequence[float] | Floats, *, scale: Scale = "spread") -> float:
    """Root mean squared error of predictions over several traces, normalised (Table I of the paper).

    The paper does not say by what it normalises. By the standard deviation of the actual values it is the goodness of
    fit that MATLAB calls NRMSE: 0 is perfect, and 1 is what predicting the mean of all traces for each would get.

    Parameters
    ----------
    actual, predicted
        One number for each trace.
    scale
        What to divide by.

    Raises
    ------
    AnabranchError
        If the lists do not match, or the actual values are all equal.

    Examples
    --------
    >>> nrmse([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    1.0
    """
    a, b = np.asarray(actual, dtype=float), np.asarray(predicted, dtype=float)
    if a.shape != b.shape or a.size == 0:
        raise AnabranchError(f"{a.size} actual and {b.size} predicted values: expected as many, and at least one")
    by = {"spread": float(a.std()), "range": float(np.ptp(a)), "mean": float(a.mean())}[scale]
    if by <= 0:
        raise AnabranchError(f"the {scale} of the actual values is not positive: nothing to normalise by")
    return math.sqrt(float(((a - b) ** 2).mean())) / by
