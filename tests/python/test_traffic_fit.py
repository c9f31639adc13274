"""Models, fits and comparisons: closed forms, SciPy as a peer, and what must hold for any data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anabranch.traffic import models
from anabranch.traffic.fit import Data, Fitted, Vuong, fit, ks_distance, qq, variation, vuong
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import Volumes

PEERS = {
    "lognormal": lambda m: stats.lognorm(m.sigma, scale=math.exp(m.mu)),
    "normal": lambda m: stats.norm(m.mean, m.sd),
    "weibull": lambda m: stats.weibull_min(m.shape, scale=m.scale),
    "exponential": lambda m: stats.expon(scale=m.mean),
    "gamma": lambda m: stats.gamma(m.shape, scale=m.scale),
    "pareto": lambda m: stats.pareto(m.alpha - 1, scale=m.x_min),
}


@pytest.fixture(scope="module")
def sample() -> np.ndarray:
    return np.random.default_rng(5).gamma(2.5, 4e6, size=3000)


@pytest.mark.parametrize("name", models.MODELS)
def test_a_model_is_the_distribution_of_its_name(name: str, sample: np.ndarray) -> None:
    model = models.fit(name, sample)
    assert not isinstance(model, Inconclusive)
    peer = PEERS[name](model)
    q = np.array([0.001, 0.05, 0.5, 0.95, 0.999])
    np.testing.assert_allclose(model.ln_density(sample), peer.logpdf(sample), rtol=1e-9)
    np.testing.assert_allclose(model.below(sample), peer.cdf(sample), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.quantile(q), peer.ppf(q), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "peer", "order"),
    [
        ("lognormal", stats.lognorm, ("sigma", "mu")),
        ("weibull", stats.weibull_min, ("shape", "scale")),
        ("gamma", stats.gamma, ("shape", "scale")),
    ],
)
def test_fits_are_scipy_s_with_the_location_at_zero(
    name: str, peer: stats.rv_continuous, order: tuple[str, str], sample: np.ndarray
) -> None:
    shape, _, scale = peer.fit(sample, floc=0)
    found = models.fit(name, sample)
    assert not isinstance(found, Inconclusive)
    expected = {order[0]: shape, order[1]: math.log(scale) if name == "lognormal" else scale}
    for key, value in expected.items():
        assert found.parameters()[key] == pytest.approx(value, rel=1e-4)
    # No other parameters are more likely, SciPy's least of all.
    assert found.ln_density(sample).sum() >= peer(shape, scale=scale).logpdf(sample).sum() - 1e-6


@pytest.mark.parametrize("name", models.MODELS)
@given(st.integers(0, 1000), st.floats(0.05, 3.0), st.integers(-6, 12))
@settings(max_examples=20)
def test_no_neighbour_of_the_fit_is_more_likely(name: str, seed: int, sigma: float, magnitude: int) -> None:
    x = np.random.default_rng(seed).lognormal(0, sigma, 60) * 10.0**magnitude
    found = models.fit(name, x)
    assert not isinstance(found, Inconclusive)
    top = found.ln_density(x).sum()
    parameters = found.parameters()
    for key, value in parameters.items():
        for factor in (0.999, 1.001):
            if (name, key) == ("pareto", "x_min") and factor > 1:
                continue  # beyond the smallest value there is no density
            moved = models.MODELS[name](**(parameters | {key: value * factor}))
            assert moved.ln_density(x).sum() <= top + 1e-7 * abs(top)


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e15)), max_size=40))
def test_nothing_is_nan(values: list[float]) -> None:
    study = fit(Volumes.of(values, bin_s=1))
    for found in study.fitted:
        numbers = [found.ln_likelihood, found.aic, found.ks, found.gamma, *found.model.parameters().values()]
        assert all(map(math.isfinite, numbers)), found
        assert -1 - 1e-9 <= found.gamma <= 1 + 1e-9
        assert 0 <= found.ks <= 1
    for test in study.comparisons:
        if isinstance(test, Vuong):
            assert math.isfinite(test.z)
            assert 0 <= test.p <= 1
            assert test.p_dependent >= test.p - 1e-12
    assert study.verdict


@given(st.integers(0, 1000), st.floats(1e-6, 1e9))
@settings(max_examples=20)
def test_verdicts_do_not_depend_on_the_unit(seed: int, unit: float) -> None:
    x = np.random.default_rng(seed).gamma(2, 1, 300)
    a, b = fit(x), fit(x * unit)
    assert (a.best, a.tied) == (b.best, b.tied)
    for first, second in zip(a.fitted, b.fitted, strict=True):
        assert first.ks == pytest.approx(second.ks, abs=1e-9)
        assert first.gamma == pytest.approx(second.gamma, abs=1e-9)


def test_empty_bins_are_a_mass_at_zero() -> None:
    x = np.concatenate([np.random.default_rng(1).lognormal(10, 0.5, 700), np.zeros(300)])
    study = fit(x)
    best = study.fits["lognormal"]
    assert isinstance(best, Fitted)
    assert (study.zeros, study.n, best.zero_share) == (300, 1000, 0.3)
    assert best.quantile(0.25) == 0
    assert best.below(0.0) == pytest.approx(0.3)
    assert best.below(best.quantile(0.95)) == pytest.approx(0.95)
    # The 95th percentile of all bins, and not that of the 70 % with traffic.
    assert best.quantile(0.95) == pytest.approx(np.quantile(x, 0.95), rel=0.1)
    # Bernoulli and log-normal: the likelihood is that of all bins.
    expected = 300 * math.log(0.3) + 700 * math.log(0.7) + float(best.model.ln_density(x[x > 0]).sum())
    assert best.ln_likelihood == pytest.approx(expected)
    assert best.aic == pytest.approx(2 * 3 - 2 * expected)


def test_what_is_missing_is_no_part_of_the_data() -> None:
    study = fit(Volumes.of([1.0, None, 2.0, 0.0, None, 3.0], bin_s=1))
    assert (study.n, study.zeros) == (4, 1)


@pytest.mark.parametrize(
    ("values", "reason"), [([], "fewer than two"), ([0, 0, 0], "fewer than two"), ([5, 5, 5], "are equal")]
)
def test_data_without_spread_have_no_fit(values: list[float], reason: str) -> None:
    study = fit(Volumes.of(values, bin_s=1))
    assert study.best is None
    assert study.verdict == "no model has a fit"
    assert all(isinstance(f, Inconclusive) and reason in f.reason for f in study.fits.values())


def test_ks_and_gamma_are_those_of_the_textbooks(sample: np.ndarray) -> None:
    model = models.Gamma.fit(sample)
    ordered = np.sort(sample)
    assert ks_distance(model, ordered) == pytest.approx(
        stats.kstest(sample, PEERS["gamma"](model).cdf).statistic, rel=1e-9
    )
    found = fit(sample).fits["gamma"]
    assert isinstance(found, Fitted)
    # Eq. 1 of the paper is Pearson's coefficient.
    assert found.gamma == pytest.approx(np.corrcoef(ordered, qq(model, ordered))[0, 1], rel=1e-9)


def test_variation_of_gamma() -> None:
    assert variation([0.9, 0.95, 1.0]) == pytest.approx(0.05)
    assert isinstance(variation([0.9]), Inconclusive)


def test_vuong_by_hand() -> None:
    # Ratios 1, 2, 3, 4: sum 10, variance 5/4.
    test = vuong("a", "b", np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4))
    assert isinstance(test, Vuong)
    assert test.z == pytest.approx(10 / math.sqrt(4 * 1.25))
    assert test.p == pytest.approx(2 * stats.norm.sf(test.z))
    assert test.better == "a"
    same = vuong("a", "b", np.ones(4), np.zeros(4))
    assert isinstance(same, Inconclusive)


def test_repeated_bins_are_not_counted_twice() -> None:
    # Every ratio four times over: the long-run variance is nearly four times as large, z half as large.
    ratios = np.repeat(np.random.default_rng(2).normal(0.1, 1, 5000), 4)
    once = vuong("a", "b", ratios[::4], np.zeros(5000))
    repeated = vuong("a", "b", ratios, np.zeros(20_000))
    assert isinstance(once, Vuong)
    assert isinstance(repeated, Vuong)
    assert repeated.z == pytest.approx(2 * once.z, rel=0.01)
    assert repeated.z_dependent == pytest.approx(once.z, rel=0.1)


def test_a_nested_pair_is_tested_by_chi_squared() -> None:
    x = np.random.default_rng(3).exponential(1, 500)
    study = fit(x, ("exponential", "weibull"))
    test = study.compare("weibull", "exponential")
    gain = study.fits["weibull"].ln_likelihood - study.fits["exponential"].ln_likelihood  # type: ignore[union-attr]
    assert isinstance(test, Vuong)
    assert test.p == pytest.approx(stats.chi2.sf(2 * gain, 1))


def test_intervals_are_the_fisher_information_s(sample: np.ndarray) -> None:
    # The curvature of the likelihood, by finite differences, at large n.
    for name in ("lognormal", "normal", "weibull", "gamma", "exponential"):
        model = models.fit(name, sample)
        assert not isinstance(model, Inconclusive)
        parameters, errors = model.parameters(), model.errors(sample.size)
        keys = list(parameters)
        steps = {key: errors[key] / 10 for key in keys}

        def at(moves: dict[str, float], name: str = name, parameters: dict[str, float] = parameters) -> float:
            moved = {key: value + moves.get(key, 0.0) for key, value in parameters.items()}
            return float(models.MODELS[name](**moved).ln_density(sample).sum())

        hessian = np.empty((len(keys), len(keys)))
        for i, a in enumerate(keys):
            for j, b in enumerate(keys):
                signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
                moves = [
                    {a: s * steps[a]} | ({b: t * steps[b]} if a != b else {a: (s + t) * steps[a]}) for s, t in signs
                ]
                pp, pm, mp, mm = map(at, moves)
                hessian[i, j] = (pp - pm - mp + mm) / (4 * steps[a] * steps[b])
        found = np.sqrt(np.diag(np.linalg.inv(-hessian)))
        # The data are gamma: for the others the observed information differs from the expected one.
        tolerance = 0.02 if name in {"gamma", "exponential", "normal", "lognormal"} else 0.2
        for key, error in zip(keys, found, strict=True):
            assert errors[key] == pytest.approx(error, rel=tolerance), (name, key)


def test_data_sees_zeros_and_order() -> None:
    data = Data.of(np.array([3.0, 0.0, 1.0]))
    assert (data.zeros, data.zero_share, data.ordered.tolist(), data.positive.tolist()) == (1, 1 / 3, [1, 3], [3, 1])
