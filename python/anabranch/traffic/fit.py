"""Which distribution do the volumes follow? Every model by maximum likelihood, and what the data say against each.

Bins without traffic are a mass at zero of their own: a model describes the volumes of the other bins, and
the share of zeros is a parameter of every fit. Nothing is dropped. What is *not known* (missing bins, a last bin
that was not measured to its end) is no part of the data.

Every p-value takes bins to be independent, as the paper's does. Traffic is not: `Vuong.z_dependent` says what is left
of a ratio when the correlation of neighbouring bins is taken into account.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from anabranch.traffic import models
from anabranch.traffic.outcome import LEVEL, Inconclusive
from anabranch.traffic.series import Volumes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.traffic.models import Model
    from anabranch.traffic.series import Floats

KS_WARN = 0.1
"""A model whose distribution function is off by more than this anywhere should not be used for capacities or bills."""


NESTED = ({"exponential", "weibull"}, {"exponential", "gamma"})
"""Pairs of which one is a special case of the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Volumes that are known, with the zeros counted and the others at hand in order of time and of size."""

    values: Floats
    positive: Floats
    ordered: Floats

    @classmethod
    def of(cls, volumes: Volumes | Floats) -> Data:
        """Take the rates of a series (bits per second), or numbers as they are."""
        values = volumes.rates() if isinstance(volumes, Volumes) else np.asarray(volumes, dtype=float)
        positive = values[values > 0]
        return cls(values, positive, np.sort(positive))

    @property
    def zeros(self) -> int:
        """Bins without traffic."""
        return self.values.size - self.positive.size

    @property
    def zero_share(self) -> float:
        """Share of bins without traffic."""
        return self.zeros / self.values.size if self.values.size else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model, fitted: with probability `zero_share` a bin is empty, and otherwise its rate is the model's.

    Attributes
    ----------
    model
        Distribution of the rates of bins with traffic, in bits per second.
    zero_share
        Share of empty bins.
    n
        Bins, the empty ones included.
    ln_likelihood
        Of all bins: that of the mass at zero is the same for every model.
    aic
        Akaike's criterion: twice the number of parameters (the share of zeros is one, if there are any) less twice the
        log-likelihood.
    ks
        Kolmogorov-Smirnov distance between the model and the bins with traffic.
    gamma
        Linear correlation coefficient of the sorted rates of bins with traffic and the model's quantiles (eq. 1 of the
        paper); above 0.95 the paper calls the fit good.
    """

    model: Model
    zero_share: float
    n: int
    ln_likelihood: float
    aic: float
    ks: float
    gamma: float

    def quantile(self, q: float) -> float:
        """The rate that a bin stays below with probability `q`, empty bins included."""
        if q <= self.zero_share:
            return 0.0
        return float(self.model.quantile(np.asarray((q - self.zero_share) / (1 - self.zero_share))))

    def below(self, x: float) -> float:
        """Probability that a bin's rate is at most `x`, empty bins included."""
        return self.zero_share + (1 - self.zero_share) * float(self.model.below(np.asarray(x, dtype=float)))

    def intervals(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """Confidence intervals of the parameters: normal approximation by the Fisher information, independent bins."""
        z = float(special.ndtri((1 + confidence) / 2))
        errors = self.model.errors(round(self.n * (1 - self.zero_share)))
        found = self.model.parameters()
        return {name: (found[name] - z * error, found[name] + z * error) for name, error in errors.items()}

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "model": self.model.name,
            "parameters": self.model.parameters(),
            "intervals": {name: list(bounds) for name, bounds in self.intervals().items()},
            "ln_likelihood": self.ln_likelihood,
            "aic": self.aic,
            "ks": self.ks,
            "gamma": self.gamma,
        }


@dataclass(frozen=True, slots=True)
class Vuong:
    """Likelihood-ratio test of two models on the same bins (Vuong 1989).

    Attributes
    ----------
    first, second
        Names of the models.
    z
        Sum of the log-likelihood ratios by the square root of n times their variance: positive for the first.
    p
        Two-sided, bins taken to be independent, as in the paper. The exponential is a case of the Weibull and of the
        gamma; then p is that of chi-squared with one degree of freedom.
    z_dependent, p_dependent
        The same with the long-run variance of the ratios in place of the variance (Bartlett's kernel over 1.3 sqrt(n)
        lags, Lazarus et al. 2018): what neighbouring bins repeat is not counted as evidence again.
    """

    first: str
    second: str
    z: float
    p: float
    z_dependent: float
    p_dependent: float

    @property
    def better(self) -> str | None:
        """The model that the test prefers at the paper's level, or None if it does not decide."""
        if self.p >= LEVEL:
            return None
        return self.first if self.z > 0 else self.second

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = ("first", "second", "z", "p", "z_dependent", "p_dependent")
        return {name: getattr(self, name) for name in names} | {"better": self.better}


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """All models on one series.

    Attributes
    ----------
    fits
        By name of the model: the fit, or why there is none.
    comparisons
        Every pair of fitted models.
    n, zeros
        Bins, and how many of them are empty.
    mean_bps, cov
        Mean rate and coefficient of variation, empty bins included.
    """

    fits: Mapping[str, Fitted | Inconclusive]
    comparisons: Sequence[Vuong | Inconclusive]
    n: int
    zeros: int
    mean_bps: float
    cov: float

    @property
    def fitted(self) -> list[Fitted]:
        """The models that have a fit, best AIC first."""
        return sorted((f for f in self.fits.values() if isinstance(f, Fitted)), key=lambda f: f.aic)

    @property
    def best(self) -> str | None:
        """The model of least AIC."""
        return self.fitted[0].model.name if self.fitted else None

    def compare(self, first: str, second: str) -> Vuong | Inconclusive:
        """Look the comparison of two models up, signed for the first."""
        for pair in self.comparisons:
            if isinstance(pair, Vuong) and {pair.first, pair.second} == {first, second}:
                if pair.first == first:
                    return pair
                return Vuong(first, second, -pair.z, pair.p, -pair.z_dependent, pair.p_dependent)
        return Inconclusive("one of the two has no fit, or their likelihoods are the same")

    @property
    def tied(self) -> list[str]:
        """Models that the likelihood-ratio test does not tell from the best one, at the paper's level."""
        if self.best is None:
            return []
        rivals = [f.model.name for f in self.fitted[1:]]
        tests = {name: self.compare(self.best, name) for name in rivals}
        return [name for name, test in tests.items() if isinstance(test, Inconclusive) or test.better is None]

    @property
    def verdict(self) -> str:
        """One line: the best model, what ties with it, and whether it is any good."""
        if self.best is None:
            return "no model has a fit"
        best = self.fitted[0]
        label = best.model.label
        also = [models.MODELS[name].label for name in self.tied]
        text = f"{label} or {', '.join(also)}: not told apart" if also else label
        return f"{text}, but it fits badly (KS {best.ks:.2f})" if best.ks > KS_WARN else text

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "n": self.n,
            "zeros": self.zeros,
            "mean_bps": self.mean_bps,
            "cov": self.cov,
            "best": self.best,
            "tied": self.tied,
            "verdict": self.verdict,
            "fits": {
                name: f.as_json() if isinstance(f, Fitted) else {"inconclusive": f.reason}
                for name, f in self.fits.items()
            },
            "comparisons": [
                c.as_json() if isinstance(c, Vuong) else {"inconclusive": c.reason} for c in self.comparisons
            ],
        }


def fit(volumes: Volumes | Floats, names: Sequence[str] = tuple(models.MODELS)) -> Study:
    """Fit models to a series and compare them.

    Parameters
    ----------
    volumes
        A series, or rates; the models' parameters are in bits per second for a series.
    names
        Models of `models.MODELS` to fit.

    Returns
    -------
    Study
        Fits and comparisons.
    """
    data = Data.of(volumes)
    fits: dict[str, Fitted | Inconclusive] = {}
    densities: dict[str, Floats] = {}
    for name in names:
        model = models.fit(name, data.positive)
        if isinstance(model, Inconclusive):
            fits[name] = model
            continue
        densities[name] = model.ln_density(data.positive)
        fits[name] = _fitted(model, densities[name], data)
    comparisons = [vuong(a, b, densities[a], densities[b]) for a, b in itertools.combinations(densities, 2)]
    mean = float(data.values.mean()) if data.values.size else 0.0
    return Study(
        fits=fits,
        comparisons=comparisons,
        n=data.values.size,
        zeros=data.zeros,
        mean_bps=mean,
        cov=float(data.values.std()) / mean if mean > 0 else 0.0,
    )


def _fitted(model: Model, densities: Floats, data: Data) -> Fitted:
    ln_likelihood = float(densities.sum()) + _ln_zeros(data)
    parameters = len(model.parameters()) + (data.zeros > 0)
    return Fitted(
        model=model,
        zero_share=data.zero_share,
        n=data.values.size,
        ln_likelihood=ln_likelihood,
        aic=2 * parameters - 2 * ln_likelihood,
        ks=ks_distance(model, data.ordered),
        gamma=correlation(model, data.ordered),
    )


def _ln_zeros(data: Data) -> float:
    """Log-likelihood of which bins are empty."""
    return sum(count * math.log(count / data.values.size) for count in (data.zeros, data.positive.size) if count)


def ks_distance(model: Model, ordered: Floats) -> float:
    """Kolmogorov-Smirnov distance: the largest difference of the distribution functions, before and after each step."""
    n = ordered.size
    share = model.below(ordered)
    ranks = np.arange(1, n + 1)
    return float(max((ranks / n - share).max(), (share - (ranks - 1) / n).max()))


def qq(model: Model, ordered: Floats) -> Floats:
    """The model's quantiles for sorted values: F^-1(i / (n + 1)), eq. 1 of the paper. What a Q-Q plot shows."""
    n = ordered.size
    return model.quantile(np.arange(1, n + 1) / (n + 1))


def correlation(model: Model, ordered: Floats) -> float:
    """Linear correlation coefficient gamma of sorted values and the model's quantiles, eq. 1 of the paper."""
    reference = qq(model, ordered)
    if not np.isfinite(reference).all():
        return 0.0  # a quantile that floats cannot hold: the tail is not the data's
    a, b = ordered / ordered.max(), reference / reference.max()
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / math.sqrt(float((a * a).sum()) * float((b * b).sum())))


def variation(gammas: Sequence[float]) -> float | Inconclusive:
    """Variation of gamma over bin widths, eq. 2 of the paper: the standard deviation.

    With n - 1, which the paper does not say.

    Examples
    --------
    >>> round(variation([0.97, 0.98, 0.99]), 6)
    0.01
    """
    if len(gammas) < 2:  # noqa: PLR2004 - a spread needs two values
        return Inconclusive("gamma is known at one bin width only")
    return float(np.std(gammas, ddof=1))


def vuong(first: str, second: str, a: Floats, b: Floats) -> Vuong | Inconclusive:
    """Compare two models by the logarithms of their densities at the same values, in order of time."""
    ratios = a - b
    n = ratios.size
    total, variance = float(ratios.sum()), float(ratios.var())
    scale = float(np.abs(ratios).max()) if n else 0.0
    if n == 0 or variance <= (1e-12 * scale) ** 2:
        return Inconclusive(f"the likelihood ratio of {first} and {second} is the same for every bin")
    long_run = _long_run_variance(ratios)
    z, dependent = (total / math.sqrt(n * v) for v in (variance, long_run))
    if {first, second} in NESTED:
        p, p_dependent = (float(special.erfc(math.sqrt(abs(total) * variance / v))) for v in (variance, long_run))
    else:
        p, p_dependent = _two_sided(z), _two_sided(dependent)
    return Vuong(first, second, z, p, dependent, p_dependent)


def _two_sided(z: float) -> float:
    return float(special.erfc(abs(z) / math.sqrt(2)))


def _long_run_variance(x: Floats) -> float:
    """Newey and West's estimate; not below the variance, so that it only ever takes evidence away."""
    n = x.size
    centred = x - x.mean()
    lags = min(n - 1, round(1.3 * math.sqrt(n)))
    padded = np.fft.rfft(centred, 1 << (2 * n - 1).bit_length())
    products = np.fft.irfft(np.abs(padded) ** 2)[: lags + 1] / n
    weights = 1 - np.arange(1, lags + 1) / (lags + 1)
    return float(max(products[0], products[0] + 2 * (weights * products[1:]).sum()))
