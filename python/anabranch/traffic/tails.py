"""Is the tail a power law? The method of Clauset, Shalizi and Newman (2009), which the paper uses.

The answer hangs on where the tail begins. Fitted by the method, `x_min` often leaves a tail of a few bins, on which no
test decides; at the smallest value the power law is asked to describe everything, which it never does.
The paper does not say which it used. Here both are given, always with the size of the tail.

Volumes are taken for continuous numbers, which those of many bytes are. Numbers of packets, sizes of packets and rates
rounded to a coarse unit are not: many are equal, which the continuous law rules out. For them there is `discrete`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anabranch.base import core
from anabranch.traffic.fit import Data
from anabranch.traffic.outcome import LEVEL, Inconclusive
from anabranch.traffic.series import Volumes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.traffic.series import Floats

Rule = Literal["fitted", "whole"]
"""Where the tail begins: at the value that minimises the Kolmogorov-Smirnov distance, or at the smallest."""

RULES: tuple[Rule, ...] = ("fitted", "whole")

ALTERNATIVES = ("exponential", "lognormal", "normal", "weibull", "gamma", "cutoff")
"""What a power law is compared with, cut off below `x_min`; ``cutoff`` is the power law with exponential cut-off."""

REPLICATES = 1000
"""Synthetic samples for a p-value, which makes its standard error at most 0.016."""


@dataclass(frozen=True, slots=True)
class Against:
    """Likelihood-ratio test of the power law against an alternative fitted to the same tail.

    Attributes
    ----------
    r
        Normalised log-likelihood ratio: positive for the power law, negative for the alternative.
    p
        Its p-value; below `LEVEL` the sign of `r` can be trusted. Bins are taken to be independent.
    parameters
        Of the alternative, in bits per second where it has a scale.
    """

    r: float
    p: float
    parameters: Mapping[str, float]

    @property
    def verdict(self) -> str:
        """``power law``, ``alternative`` or ``inconclusive``."""
        if self.p >= LEVEL:
            return "inconclusive"
        return "power law" if self.r > 0 else "alternative"


@dataclass(frozen=True, slots=True)
class Tail:
    """A power law fitted to the bins with a rate of at least `x_min`.

    Attributes
    ----------
    rule
        How `x_min` was chosen.
    alpha, sigma
        Exponent of the density, and its standard error for a given `x_min`.
    x_min
        Where the tail begins, in bits per second.
    distance
        Kolmogorov-Smirnov distance: the largest difference between the distribution functions of the model and of the
        tail at any rate, as everywhere in this package; where rates are equal both sides of the step count.
    n_tail, n
        Bins in the tail, and with traffic at all.
    against
        By name of the alternative.
    """

    rule: Rule
    alpha: float
    sigma: float
    x_min: float
    distance: float
    n_tail: int
    n: int
    against: Mapping[str, Against | Inconclusive]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = ("rule", "alpha", "sigma", "x_min", "distance", "n_tail", "n")
        against = {
            name: {"inconclusive": test.reason}
            if isinstance(test, Inconclusive)
            else {"r": test.r, "p": test.p, "verdict": test.verdict, "parameters": dict(test.parameters)}
            for name, test in self.against.items()
        }
        return {name: getattr(self, name) for name in names} | {"against": against}


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """Spread of a power law's parameters over resampled data; one entry for each replicate that had a fit."""

    alpha: Floats
    x_min: Floats
    n_tail: Floats
    failed: int

    def interval(self, name: Literal["alpha", "x_min", "n_tail"], confidence: float = 0.95) -> tuple[float, float]:
        """Percentile interval of a parameter."""
        low, high = np.quantile(getattr(self, name), [(1 - confidence) / 2, (1 + confidence) / 2])
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Goodness:
    """Goodness-of-fit test of a power law: it is ruled out if `p` is below `LEVEL`."""

    p: float
    standard_error: float
    replicates: int

    @property
    def plausible(self) -> bool:
        """Whether the data may be of a power law."""
        return self.p > LEVEL


SAME = "they cannot be told apart"
"""How the reason of a comparison ends whose alternative is best where it becomes a power law."""


def same(outcome: Inconclusive) -> bool:
    """Whether a comparison has no ratio because the best alternative is where it becomes a power law."""
    return outcome.reason.endswith(SAME)


CONTINUOUS = Inconclusive("the alternatives are of continuous numbers, and these are whole")
"""Why a power law of whole numbers is compared with none."""


def clauset(volumes: Volumes | Floats, rule: Rule = "fitted", *, discrete: bool = False) -> Tail | Inconclusive:
    """Fit a power law to the bins with traffic and compare it with the alternatives.

    Parameters
    ----------
    volumes
        A series, or positive numbers; zeros are left out, as a power law has none.
    rule
        Where the tail begins.
    discrete
        Whether to fit the power law of whole numbers, p(x) = x^-alpha / zeta(alpha, x_min): to the bytes of the bins of
        a series, or to numbers, which must be whole. It is compared with nothing.

    Returns
    -------
    Tail or Inconclusive
        The fit, or why there is none.

    Examples
    --------
    >>> sizes = np.repeat([1.0, 2.0, 3.0, 4.0, 6.0, 9.0], [70, 15, 6, 4, 3, 2])
    >>> tail = clauset(sizes, "whole", discrete=True)
    >>> round(tail.alpha, 2), tail.n_tail
    (2.41, 100)
    """
    x, unit = _numbers(volumes, discrete=discrete)
    if not x.size:
        return Inconclusive("no bin has traffic")
    function = "powerlaw_fit_discrete" if discrete else "powerlaw_fit"
    found = json.loads(core.call(function, _bytes(x), _x_min(x, rule)))
    if "inconclusive" in found:
        return Inconclusive(found["inconclusive"])
    compared = found.get("against")
    against = {name: CONTINUOUS if compared is None else _against(compared[name]) for name in ALTERNATIVES}
    return Tail(
        rule=rule,
        n=x.size,
        x_min=found["x_min"] * unit,
        against=against,
        **{name: found[name] for name in ("alpha", "sigma", "distance", "n_tail")},
    )


def uncertainty(
    volumes: Volumes | Floats,
    rule: Rule = "fitted",
    *,
    replicates: int = REPLICATES,
    seed: int = 1,
    threads: int = 0,
    discrete: bool = False,
) -> Uncertainty | Inconclusive:
    """Bootstrap the parameters: fits to data drawn with replacement, `x_min` and all.

    Bins that depend on each other make the intervals too narrow. `threads` 0 means one for each core; the answer
    depends on the seed alone. `discrete` is as for `clauset`.
    """
    x, unit = _numbers(volumes, discrete=discrete)
    if not x.size:
        return Inconclusive("no bin has traffic")
    made = core.call("powerlaw_uncertainty", _bytes(x), _x_min(x, rule), replicates, seed, threads, discrete)
    found = json.loads(made)
    if "inconclusive" in found:
        return Inconclusive(found["inconclusive"])
    if not found["alpha"]:
        return Inconclusive("no replicate had a fit")
    alpha, x_min, n_tail = (np.asarray(found[name], dtype=float) for name in ("alpha", "x_min", "n_tail"))
    return Uncertainty(alpha, x_min * unit, n_tail, found["failed"])


def goodness(
    volumes: Volumes | Floats,
    rule: Rule = "fitted",
    *,
    replicates: int = REPLICATES,
    seed: int = 1,
    threads: int = 0,
    discrete: bool = False,
) -> Goodness | Inconclusive:
    """Test whether a power law is plausible: the semi-parametric bootstrap of Clauset et al., section 4.1.

    `threads` and `discrete` are as for `uncertainty`.
    """
    x, _ = _numbers(volumes, discrete=discrete)
    if not x.size:
        return Inconclusive("no bin has traffic")
    made = core.call("powerlaw_goodness", _bytes(x), _x_min(x, rule), replicates, seed, threads, discrete)
    found = json.loads(made)
    return Inconclusive(found["inconclusive"]) if "inconclusive" in found else Goodness(**found)


def _numbers(volumes: Volumes | Floats, *, discrete: bool) -> tuple[Floats, float]:
    """What is fitted, and the unit of it that results are told in: of a series bits per second."""
    if discrete and isinstance(volumes, Volumes):
        return Data.of(volumes.known()).positive, 8 / volumes.bin_s
    return Data.of(volumes).positive, 1.0


def _bytes(x: Floats) -> bytes:
    return np.ascontiguousarray(x, dtype="<f8").tobytes()


def _x_min(x: Floats, rule: Rule) -> float | None:
    return None if rule == "fitted" else float(x.min())


def _against(test: dict[str, Any]) -> Against | Inconclusive:
    if "inconclusive" in test:
        return Inconclusive(test["inconclusive"])
    return Against(test["normalised"], test["p"], test["parameters"])
