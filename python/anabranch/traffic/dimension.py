"""How large should the link be? The capacity C such that a bin of width T exceeds C T with probability epsilon at most.

That is the link transparency formula, eq. 3 of the paper. Each model gives its own C (eqs. 4 and 6); what it is worth
is the share of bins that did exceed it, epsilon-hat (eq. 7): measured on the bins of the fit, and, which is the honest
number, on a later part of the series that the fit has not seen. The operators' rules of thumb stand beside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from anabranch.errors import AnabranchError
from anabranch.traffic.fit import KS_WARN, Fitted, fit
from anabranch.traffic.outcome import Inconclusive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.traffic.series import Floats, Volumes

METHODS = ("meent", "lognormal", "weibull", "normal", "empirical")
"""Meent's formula, the quantile of three models, and the quantile of the bins themselves."""

LABELS = {
    "meent": "Meent's formula",
    "lognormal": "log-normal",
    "weibull": "Weibull",
    "normal": "normal",
    "empirical": "empirical quantile",
}
"""Names for people."""

UPGRADE = (0.8, 0.6, 0.4)
"""Operators upgrade when the 95th percentile reaches this share of the capacity: most often 80 %, for bursty links 60
or 40."""

MARGIN = 1.3
"""The fixed margin of the paper's conventional method: 30 % above the mean."""


@dataclass(frozen=True, slots=True)
class Exceedance:
    """Share of bins above a capacity, epsilon-hat (eq. 7), with its confidence interval.

    Strictly above: a bin that asks for just the capacity has it. It matters where many bins are equal: the capacity 0
    of a link that is idle most of the time is not exceeded by idle bins.

    The interval is Clopper and Pearson's, which holds for few exceedances and for none, where resampling would give a
    width of zero. It counts `n_effective` bins, not `n`: bursts make neighbouring bins exceed together, and a burst is
    one event.
    """

    share: float
    low: float
    high: float
    n: int
    n_effective: float

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {name: getattr(self, name) for name in ("share", "low", "high", "n", "n_effective")}


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one method asks for.

    Attributes
    ----------
    method
        One of `METHODS`.
    bps
        Capacity, in bits per second.
    in_sample
        Exceedances among the bins of the fit.
    held_out
        Exceedances in the later part; None if none was held out.
    warning
        Why the number should not be used; empty if there is no reason.
    """

    method: str
    bps: float
    in_sample: Exceedance
    held_out: Exceedance | None
    warning: str = ""

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        held_out = None if self.held_out is None else self.held_out.as_json()
        return {
            "method": self.method,
            "bps": self.bps,
            "in_sample": self.in_sample.as_json(),
            "held_out": held_out,
            "warning": self.warning,
        }


@dataclass(frozen=True, slots=True)
class Dimensioning:
    """All methods on one series.

    Attributes
    ----------
    epsilon, bin_s
        What was asked: the share of bins that may exceed, and their width T in seconds.
    capacities
        By method, or why there is none.
    rules
        Rules of thumb: name and capacity in bits per second. Those of the 95th percentile are meant for bins of 5
        minutes.
    mean_bps, p95_bps
        Of the bins of the fit.
    held_out
        Bins held out.
    """

    epsilon: float
    bin_s: float
    capacities: Sequence[Capacity | Inconclusive]
    rules: Sequence[tuple[str, float]]
    mean_bps: float
    p95_bps: float
    held_out: int

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        capacities = [c.as_json() if isinstance(c, Capacity) else {"inconclusive": c.reason} for c in self.capacities]
        return {
            "epsilon": self.epsilon,
            "bin_s": self.bin_s,
            "capacities": capacities,
            "rules": [{"rule": name, "bps": bps} for name, bps in self.rules],
            "mean_bps": self.mean_bps,
            "p95_bps": self.p95_bps,
            "held_out": self.held_out,
        }


def meent(rates: Floats, epsilon: float) -> float:
    """Meent's formula, eq. 4: mean + sqrt(-2 ln epsilon) standard deviations of the rate.

    In the paper's symbols, the variance v(T) is that of the volume, and sqrt(v(T)) / T is the standard deviation of the
    rate.

    Examples
    --------
    >>> round(meent(np.array([1.0, 3.0]), 0.01), 6)
    5.034854
    """
    return float(rates.mean() + math.sqrt(-2 * math.log(epsilon)) * rates.std())


def dimension(volumes: Volumes, *, epsilon: float = 0.01, held_out: float = 1 / 3) -> Dimensioning:
    """Compute the capacity that a link needs, by every method.

    Parameters
    ----------
    volumes
        A series; its bin width is T.
    epsilon
        Share of bins that may exceed the capacity, between 0 and 1.
    held_out
        Share of the series, at its end, that the fit does not see; 0 fits all of it.

    Returns
    -------
    Dimensioning
        Capacities, what they are worth, and the rules of thumb.

    Raises
    ------
    AnabranchError
        If a parameter is out of range, or no bin is known.
    """
    if not 0 < epsilon < 1:
        raise AnabranchError(f"epsilon {epsilon}: expected a share of bins between 0 and 1", hint="--epsilon 0.01")
    if not 0 <= held_out < 1:
        raise AnabranchError(f"held-out share {held_out}: expected at least 0 and below 1", hint="--held-out 0.33")
    first, later = volumes.split(len(volumes) - int(held_out * len(volumes)))
    rates, unseen = first.rates(), later.rates()
    if rates.size == 0:
        raise AnabranchError(f"{volumes.name}: no bin is known in the part to fit")
    study = fit(rates, ("lognormal", "weibull", "normal"))
    # For the dependence of bins where nothing exceeds: how bins above the share asked for cluster.
    reference = rates >= _rank(rates, 1 - epsilon)
    capacities: list[Capacity | Inconclusive] = []
    for method in METHODS:
        found = study.fits.get(method)
        if isinstance(found, Inconclusive):
            capacities.append(Inconclusive(f"{LABELS[method]}: {found.reason}"))
            continue
        bps = _capacity(method, found, rates, epsilon)
        capacities.append(
            Capacity(
                method,
                bps,
                exceedance(rates, bps, reference),
                exceedance(unseen, bps, reference) if unseen.size else None,
                _warning(found),
            )
        )
    p95 = _rank(rates, 0.95)
    return Dimensioning(
        epsilon=epsilon,
        bin_s=volumes.bin_s,
        capacities=capacities,
        rules=[
            *((f"95th percentile at {share:.0%} of the link", p95 / share) for share in UPGRADE),
            ("30 % above the mean", MARGIN * float(rates.mean())),
        ],
        mean_bps=float(rates.mean()),
        p95_bps=p95,
        held_out=unseen.size,
    )


def _capacity(method: str, found: Fitted | None, rates: Floats, epsilon: float) -> float:
    if method == "meent":
        return meent(rates, epsilon)
    if found is None:
        # The observation of that rank: no more than a share epsilon of these bins is above it.
        return _rank(rates, 1 - epsilon)
    return found.quantile(1 - epsilon)


def _warning(found: Fitted | None) -> str:
    if found is None or found.ks <= KS_WARN:
        return ""
    return f"the {found.model.label} fits badly (KS {found.ks:.2f})"


def _rank(rates: Floats, q: float) -> float:
    """Nearest-rank quantile: the smallest observation with at least a share q at or below it."""
    ordered = np.sort(rates)
    # A share such as 0.95 of 8640 must not be rounded up for the last bit of a float.
    return float(ordered[max(0, math.ceil(q * ordered.size * (1 - 1e-12)) - 1)])


def exceedance(
    rates: Floats, capacity: float, reference: NDArray[np.bool_] | None = None, *, confidence: float = 0.95
) -> Exceedance:
    """Measure the share of bins above a capacity (eq. 7), with its interval.

    Parameters
    ----------
    rates
        Rates in order of time, at least one.
    capacity
        In the same unit.
    reference
        Exceedances of another capacity, from which to tell how they cluster if none or all bins exceed this one.
    confidence
        Level of the interval.

    Returns
    -------
    Exceedance
        Share and interval.
    """
    over = rates > capacity
    n, count = over.size, int(over.sum())
    clusters = over if 0 < count < n or reference is None else reference
    n_effective = max(1.0, n / _inflation(clusters))
    events = count / n * n_effective
    tail = (1 - confidence) / 2
    # The Clopper-Pearson bounds are quantiles of beta distributions, which take counts that are not whole.
    low = 0.0 if count == 0 else float(special.betaincinv(events, n_effective - events + 1, tail))
    high = 1.0 if count == n else float(special.betaincinv(events + 1, n_effective - events, 1 - tail))
    return Exceedance(count / n, low, high, n, n_effective)


def _inflation(over: NDArray[np.bool_]) -> float:
    """How many times larger the variance of a mean is than that of independent bins: at least 1.

    One plus twice the sum of the autocorrelations up to the first that is not positive (Geyer's initial positive
    sequence).
    """
    x = over - over.mean()
    variance = float((x * x).mean())
    if variance == 0:
        return 1.0
    n = x.size
    spectrum = np.fft.rfft(x, 1 << (2 * n - 1).bit_length())
    correlations = np.fft.irfft(np.abs(spectrum) ** 2)[1 : max(2, n // 2)] / (n * variance)
    stop = int(np.argmax(correlations <= 0)) if (correlations <= 0).any() else correlations.size
    return float(max(1.0, 1 + 2 * correlations[:stop].sum()))
