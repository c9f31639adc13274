"""The distributions of volumes: densities, quantiles, and maximum-likelihood fits with the location at 0.

Closed forms, or one equation in one parameter; no general optimiser, and no third parameter that nobody asked for.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from scipy import special

from anabranch.traffic.outcome import Inconclusive

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.traffic.series import Floats

STEPS = 100
"""Newton steps at most; five are usual."""


class Model(Protocol):
    """A distribution with its parameters. All functions take and return arrays."""

    name: ClassVar[str]
    """Name in results."""
    label: ClassVar[str]
    """Name for people."""

    def ln_density(self, x: Floats, /) -> Floats:
        """Logarithm of the density at positive `x`."""

    def below(self, x: Floats, /) -> Floats:
        """Probability of at most `x`."""

    def quantile(self, q: Floats, /) -> Floats:
        """The value below which a share `q`, between 0 and 1, lies."""

    def errors(self, n: int, /) -> dict[str, float]:
        """Standard errors of the parameters fitted to `n` independent values, from the Fisher information."""

    def parameters(self) -> dict[str, float]:
        """Names and values of the parameters."""


class _Named:
    """What all models share."""

    __slots__ = ()

    def parameters(self) -> dict[str, float]:
        """Names and values of the parameters."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LogNormal(_Named):
    """The logarithm is normal with mean `mu` and standard deviation `sigma`."""

    mu: float
    sigma: float
    name: ClassVar[str] = "lognormal"
    label: ClassVar[str] = "log-normal"

    @classmethod
    def fit(cls, x: Floats) -> LogNormal:
        """Fit to positive values: the moments of the logarithm."""
        logs = np.log(x)
        return cls(float(logs.mean()), float(logs.std()))

    def ln_density(self, x: Floats) -> Floats:
        """Logarithm of the density."""
        logs = np.log(x)
        return -(((logs - self.mu) / self.sigma) ** 2) / 2 - logs - math.log(self.sigma * math.sqrt(2 * math.pi))

    def below(self, x: Floats) -> Floats:
        """Distribution function."""
        with np.errstate(divide="ignore"):
            return np.asarray(special.ndtr((np.log(x) - self.mu) / self.sigma))

    def quantile(self, q: Floats) -> Floats:
        """Inverse of the distribution function."""
        return np.exp(self.mu + self.sigma * special.ndtri(q))

    def errors(self, n: int) -> dict[str, float]:
        """Standard errors."""
        return {"mu": self.sigma / math.sqrt(n), "sigma": self.sigma / math.sqrt(2 * n)}


@dataclass(frozen=True, slots=True)
class Normal(_Named):
    """Normal with `mean` and standard deviation `sd`."""

    mean: float
    sd: float
    name: ClassVar[str] = "normal"
    label: ClassVar[str] = "normal"

    @classmethod
    def fit(cls, x: Floats) -> Normal:
        """Fit: the moments."""
        return cls(float(x.mean()), float(x.std()))

    def ln_density(self, x: Floats) -> Floats:
        """Logarithm of the density."""
        return -(((x - self.mean) / self.sd) ** 2) / 2 - math.log(self.sd * math.sqrt(2 * math.pi))

    def below(self, x: Floats) -> Floats:
        """Distribution function."""
        return np.asarray(special.ndtr((x - self.mean) / self.sd))

    def quantile(self, q: Floats) -> Floats:
        """Inverse of the distribution function; low quantiles may be negative, which volumes are not."""
        return np.asarray(self.mean + self.sd * special.ndtri(q))

    def errors(self, n: int) -> dict[str, float]:
        """Standard errors."""
        return {"mean": self.sd / math.sqrt(n), "sd": self.sd / math.sqrt(2 * n)}


@dataclass(frozen=True, slots=True)
class Weibull(_Named):
    """Weibull: P(X > x) = exp(-(x / scale)^shape)."""

    shape: float
    scale: float
    name: ClassVar[str] = "weibull"
    label: ClassVar[str] = "Weibull"

    @classmethod
    def fit(cls, x: Floats) -> Weibull:
        """Fit to positive values: one equation in the shape, of which the scale follows."""
        logs = np.log(x)
        top = float(logs.max())
        y = logs - top  # no power overflows
        mean = float(y.mean())

        def equation(shape: float) -> tuple[float, float]:
            powers = np.exp(shape * y)
            total, first, second = (float(part.sum()) for part in (powers, powers * y, powers * y * y))
            ratio = first / total
            return 1 / shape + mean - ratio, -1 / shape**2 - (second / total - ratio**2)

        # The standard deviation of the logarithm of a Weibull is pi / (sqrt(6) shape).
        shape = _newton(equation, math.pi / (math.sqrt(6) * float(y.std())))
        return cls(shape, math.exp(top + math.log(float(np.exp(shape * y).mean())) / shape))

    def ln_density(self, x: Floats) -> Floats:
        """Logarithm of the density."""
        logs = np.log(x / self.scale)
        return math.log(self.shape / self.scale) + (self.shape - 1) * logs - np.exp(self.shape * logs)

    def below(self, x: Floats) -> Floats:
        """Distribution function."""
        return np.asarray(-np.expm1(-((np.maximum(x, 0.0) / self.scale) ** self.shape)))

    def quantile(self, q: Floats) -> Floats:
        """Inverse of the distribution function."""
        return np.asarray(self.scale * (-np.log1p(-q)) ** (1 / self.shape))

    def errors(self, n: int) -> dict[str, float]:
        """Standard errors: the inverse of the Fisher information, 6 / pi² and its fellows."""
        shape = self.shape * math.sqrt(6 / (math.pi**2 * n))
        # 1 + 6 (1 - Euler's constant)² / pi².
        return {
            "shape": shape,
            "scale": self.scale / self.shape * math.sqrt((1 + 6 * (1 - np.euler_gamma) ** 2 / math.pi**2) / n),
        }


@dataclass(frozen=True, slots=True)
class Exponential(_Named):
    """Exponential with `mean`."""

    mean: float
    name: ClassVar[str] = "exponential"
    label: ClassVar[str] = "exponential"

    @classmethod
    def fit(cls, x: Floats) -> Exponential:
        """Fit: the mean."""
        return cls(float(x.mean()))

    def ln_density(self, x: Floats) -> Floats:
        """Logarithm of the density."""
        return -x / self.mean - math.log(self.mean)

    def below(self, x: Floats) -> Floats:
        """Distribution function."""
        return np.asarray(-np.expm1(-np.maximum(x, 0.0) / self.mean))

    def quantile(self, q: Floats) -> Floats:
        """Inverse of the distribution function."""
        return np.asarray(-self.mean * np.log1p(-q))

    def errors(self, n: int) -> dict[str, float]:
        """Standard errors."""
        return {"mean": self.mean / math.sqrt(n)}


@dataclass(frozen=True, slots=True)
class Gamma(_Named):
    """Gamma with `shape` and `scale`; the mean is their product."""

    shape: float
    scale: float
    name: ClassVar[str] = "gamma"
    label: ClassVar[str] = "gamma"

    @classmethod
    def fit(cls, x: Floats) -> Gamma:
        """Fit to positive values: ln(shape) - digamma(shape) is the log of the mean less the mean of the log."""
        mean = float(x.mean())
        target = -float(np.log(x / mean).mean())

        def equation(shape: float) -> tuple[float, float]:
            slope = 1 / shape - float(special.polygamma(1, shape))
            return math.log(shape) - float(special.psi(shape)) - target, slope

        # Minka, Estimating a Gamma distribution (2002), gives the start.
        start = (3 - target + math.sqrt((target - 3) ** 2 + 24 * target)) / (12 * target)
        shape = _newton(equation, start)
        return cls(shape, mean / shape)

    def ln_density(self, x: Floats) -> Floats:
        """Logarithm of the density."""
        logs = np.log(x / self.scale)
        return (self.shape - 1) * logs - x / self.scale - math.log(self.scale) - float(special.gammaln(self.shape))

    def below(self, x: Floats) -> Floats:
        """Distribution function."""
        return np.asarray(special.gammainc(self.shape, np.maximum(x, 0.0) / self.scale))

    def quantile(self, q: Floats) -> Floats:
        """Inverse of the distribution function."""
        return np.asarray(self.scale * special.gammaincinv(self.shape, q))

    def errors(self, n: int) -> dict[str, float]:
        """Standard errors: the inverse of the Fisher information."""
        trigamma = float(special.polygamma(1, self.shape))
        determinant = n * (self.shape * trigamma - 1)
        return {"shape": math.sqrt(self.shape / determinant), "scale": self.scale * math.sqrt(trigamma / determinant)}


@dataclass(frozen=True, slots=True)
class Pareto(_Named):
    """Power law over the whole sample: P(X > x) = (x / x_min)^-(alpha - 1), from the smallest value on.

    `anabranch.traffic.tails` has the power law of a tail only, which is another question.
    """

    alpha: float
    x_min: float
    name: ClassVar[str] = "pareto"
    label: ClassVar[str] = "Pareto"

    @classmethod
    def fit(cls, x: Floats) -> Pareto:
        """Fit to positive values: the smallest, and one over the mean logarithm of the ratio to it."""
        x_min = float(x.min())
        return cls(1 + 1 / float(np.log(x / x_min).mean()), x_min)

    def ln_density(self, x: Floats) -> Floats:
        """Logarithm of the density, for values of at least `x_min`."""
        return math.log((self.alpha - 1) / self.x_min) - self.alpha * np.log(x / self.x_min)

    def below(self, x: Floats) -> Floats:
        """Distribution function."""
        return np.asarray(-np.expm1(-(self.alpha - 1) * np.log(np.maximum(x / self.x_min, 1.0))))

    def quantile(self, q: Floats) -> Floats:
        """Inverse of the distribution function."""
        with np.errstate(over="ignore"):
            return np.asarray(self.x_min * np.exp(-np.log1p(-q) / (self.alpha - 1)))

    def errors(self, n: int) -> dict[str, float]:
        """Standard errors; that of the bound is of its own kind: it is above the truth by that much on average."""
        return {"alpha": (self.alpha - 1) / math.sqrt(n), "x_min": self.x_min / ((self.alpha - 1) * n)}


def _newton(equation: Callable[[float], tuple[float, float]], start: float) -> float:
    """Root of a falling function of a positive number; `equation` gives its value and its slope."""
    x = start
    for _ in range(STEPS):
        value, slope = equation(x)
        step = value / slope
        x = max(x - step, x / 10)
        if abs(step) <= 1e-13 * x:
            return x
    return x


MODELS: dict[str, type[LogNormal | Normal | Weibull | Exponential | Gamma | Pareto]] = {
    model.name: model for model in (LogNormal, Normal, Weibull, Exponential, Gamma, Pareto)
}
"""Every model, by name."""

SPREAD = 1e-9
"""Values whose logarithms differ by less than this are taken for one value: a density of them has no bounds."""


def fit(name: str, x: Floats) -> Model | Inconclusive:
    """Fit a model to positive values by maximum likelihood.

    Parameters
    ----------
    name
        One of `MODELS`.
    x
        Positive values.

    Returns
    -------
    Model or Inconclusive
        The model, or why there is none.
    """
    if x.size < 2:  # noqa: PLR2004 - a spread needs two values
        return Inconclusive("fewer than two values that are not zero")
    if x.max() <= x.min() * (1 + SPREAD):
        return Inconclusive("all values that are not zero are equal")
    model = MODELS[name].fit(x)
    if not all(map(math.isfinite, astuple(model))):
        return Inconclusive("the likelihood has no maximum that floats can hold")
    return model
