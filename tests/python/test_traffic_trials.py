"""What goes in comes out: data generated from every model are recognised, and their parameters recovered.

A few trials always; two hundred of each by ``make test-trials``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from anabranch.traffic import tails
from anabranch.traffic.anomalies import anomalies
from anabranch.traffic.fit import KS_WARN, Fitted, fit
from anabranch.traffic.series import Volumes
from anabranch.traffic.tails import Against, Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

N = 2000
"""Bins of a trial."""

FEW, MANY = 20, 200
"""Trials."""

RIGHT = 0.95
"""Share of trials in which the right model must win."""


@dataclass(frozen=True)
class Case:
    """A distribution to draw from."""

    draw: Callable[[np.random.Generator], np.ndarray]
    best: str
    truth: Mapping[str, float]
    zeros: float = 0.0


def _pareto(r: np.random.Generator) -> np.ndarray:
    return 1e5 * r.uniform(size=N) ** (-1 / 1.5)


def _with_zeros(r: np.random.Generator) -> np.ndarray:
    return np.where(r.uniform(size=N) < 0.3, 0.0, r.lognormal(11, 0.6, N))


CASES = {
    "log-normal": Case(lambda r: r.lognormal(15, 0.4, N), "lognormal", {"mu": 15, "sigma": 0.4}),
    "log-normal, wide": Case(lambda r: r.lognormal(12, 1.5, N), "lognormal", {"mu": 12, "sigma": 1.5}),
    "Weibull, stretched": Case(lambda r: 1e6 * r.weibull(0.6, N), "weibull", {"shape": 0.6, "scale": 1e6}),
    "Weibull, skewed to the left": Case(lambda r: 1e6 * r.weibull(6, N), "weibull", {"shape": 6, "scale": 1e6}),
    "normal": Case(lambda r: r.normal(1e8, 1.5e7, N), "normal", {"mean": 1e8, "sd": 1.5e7}),
    "gamma": Case(lambda r: r.gamma(3, 2e6, N), "gamma", {"shape": 3, "scale": 2e6}),
    "power law": Case(_pareto, "pareto", {"alpha": 2.5}),
    "log-normal and zeros": Case(_with_zeros, "lognormal", {"mu": 11, "sigma": 0.6}, zeros=0.3),
}


def _run(case: Case, trials: int) -> tuple[int, dict[str, int]]:
    """Wins of the right model, and for each parameter how often its 95 % interval held the truth."""
    wins = 0
    covered = dict.fromkeys(case.truth, 0)
    for seed in range(trials):
        x = case.draw(np.random.default_rng(seed))
        study = fit(x)
        wins += study.best == case.best
        found = study.fits[case.best]
        assert isinstance(found, Fitted)
        for name, (low, high) in found.intervals().items():
            if name in covered:
                covered[name] += low <= case.truth[name] <= high
        if case.zeros:
            error = (case.zeros * (1 - case.zeros) / N) ** 0.5
            assert abs(found.zero_share - case.zeros) < 5 * error
    return wins, covered


def _check(name: str, trials: int) -> None:
    wins, covered = _run(CASES[name], trials)
    print(f"{name}: right in {wins} of {trials}; intervals hold the truth: {covered}")
    assert wins >= RIGHT * trials
    # 95 % is the expectation: four standard deviations below it.
    least = 0.95 * trials - 4 * (0.95 * 0.05 * trials) ** 0.5
    assert all(count >= least for count in covered.values()), covered


@pytest.mark.parametrize("name", CASES)
def test_a_few_trials(name: str) -> None:
    _check(name, FEW)


@pytest.mark.trials
@pytest.mark.parametrize("name", CASES)
def test_two_hundred_trials(name: str) -> None:
    _check(name, MANY)


def _tails(trials: int) -> None:
    """A uniform body and a power law from 100 on: bound, exponent, and no alternative preferred."""
    alphas, covered, rejected = [], 0, 0
    for seed in range(trials):
        r = np.random.default_rng(1000 + seed)
        x = np.concatenate([r.uniform(1, 100, N), 100 * r.uniform(size=N) ** (-1 / 1.5)])
        tail = tails.clauset(x)
        assert isinstance(tail, Tail)
        alphas.append(tail.alpha)
        spread = tails.uncertainty(x, replicates=100, seed=seed)
        assert isinstance(spread, tails.Uncertainty)
        low, high = spread.interval("alpha")
        covered += low <= 2.5 <= high
        test = tail.against["exponential"]
        rejected += isinstance(test, Against) and test.verdict == "alternative"
    print(f"alpha {np.mean(alphas):.3f} ± {np.std(alphas):.3f}, interval holds 2.5 in {covered} of {trials}")
    assert np.mean(alphas) == pytest.approx(2.5, abs=0.03)
    # The bootstrap of a fitted bound is known to be a little narrow.
    assert covered >= 0.85 * trials
    assert rejected == 0


def test_a_few_tails() -> None:
    _tails(FEW)


@pytest.mark.trials
def test_two_hundred_tails() -> None:
    _tails(MANY)


def _two_modes(trials: int) -> None:
    """A link that is idle for a third of the time: no model fits, and the reason is found."""
    warned = found = 0
    for seed in range(trials):
        r = np.random.default_rng(2000 + seed)
        x = np.concatenate([r.lognormal(5, 0.3, N // 3), r.lognormal(15, 0.3, N)])
        study = fit(x)
        warned += study.fitted[0].ks > KS_WARN
        found += [a.kind for a in anomalies(Volumes.of(x, bin_s=1))] == ["outage"]
    print(f"two modes: warned {warned}, explained {found} of {trials}")
    assert warned == found == trials


def test_a_few_links_of_two_modes() -> None:
    _two_modes(FEW)


@pytest.mark.trials
def test_two_hundred_links_of_two_modes() -> None:
    _two_modes(MANY)
