"""Power laws through the core."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import traces
from scipy import stats

from anabranch.traffic import tails
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import Volumes
from anabranch.traffic.tails import Against, Goodness, Tail, Uncertainty

GOLDEN = json.loads((Path(__file__).parent / "data" / "powerlaw.json").read_text(encoding="utf-8"))
"""What SciPy and ``powerlaw`` 1.5 find in shared series; tools/powerlaw-golden writes it."""

SURNAMES = traces.SHARED.parent / "cases" / "ks-ties" / "surnames.txt"

KEYS = {
    "bellcore 100 ms": ("bellcore_pAug89_first100k", "100 ms"),
    "abilene total": ("abilene total", "5 min"),
    "abilene in_NYCMng": ("abilene in_NYCMng", "5 min"),
    "aws 257a54": ("aws_ec2_network_in_257a54_5min", "5 min"),
}


def pareto(n: int, alpha: float, x_min: float, seed: int) -> np.ndarray:
    return x_min * np.random.default_rng(seed).uniform(size=n) ** (-1 / (alpha - 1))


def test_both_rules_say_how_large_the_tail_is() -> None:
    x = np.concatenate([np.random.default_rng(1).uniform(1, 100, 2000), pareto(1000, 2.5, 100, 2)])
    fitted, whole = tails.clauset(x), tails.clauset(x, "whole")
    assert isinstance(fitted, Tail)
    assert isinstance(whole, Tail)
    assert (fitted.n, whole.n, whole.n_tail) == (3000, 3000, 3000)
    assert fitted.n_tail == np.count_nonzero(x >= fitted.x_min)
    assert abs(fitted.alpha - 2.5) < 4 * fitted.sigma
    assert fitted.x_min == pytest.approx(100, rel=0.3)
    assert whole.x_min == x.min()
    log_normal = whole.against["lognormal"]
    assert isinstance(log_normal, Against)
    assert log_normal.verdict == "alternative"


def test_series_are_fitted_in_bits_per_second_without_their_zeros() -> None:
    x = pareto(500, 3, 1000, 3)
    volumes = Volumes.of([*x, 0, 0, None], bin_s=0.1)
    tail, plain = tails.clauset(volumes), tails.clauset(x)
    assert isinstance(tail, Tail)
    assert isinstance(plain, Tail)
    assert tail.n == 500
    assert tail.x_min == pytest.approx(plain.x_min * 80)
    assert tail.alpha == pytest.approx(plain.alpha)


@pytest.mark.parametrize("values", [[], [0, 0], [7, 7, 7]])
def test_what_has_no_tail_is_inconclusive(values: list[float]) -> None:
    volumes = Volumes.of(values, bin_s=1)
    for function in (tails.clauset, tails.goodness, tails.uncertainty):
        found = function(volumes)
        assert isinstance(found, Inconclusive), function
        assert found.reason


def test_an_alternative_that_becomes_the_power_law_is_inconclusive() -> None:
    x = pareto(4000, 2.0, 1, 4)
    heavier = np.exp(np.log(x) ** 1.5)  # more spread in its logarithm than any power law
    tail = tails.clauset(heavier, "whole")
    assert isinstance(tail, Tail)
    test = tail.against["lognormal"]
    assert isinstance(test, Inconclusive)
    assert "power law" in test.reason
    assert json.loads(json.dumps(tail.as_json()))["against"]["lognormal"]["inconclusive"] == test.reason


def test_the_bootstrap_is_seeded_and_covers_the_truth() -> None:
    x = pareto(400, 2.5, 10, 5)
    first = tails.uncertainty(x, replicates=100, seed=3)
    again = tails.uncertainty(x, replicates=100, seed=3, threads=1)
    assert isinstance(first, Uncertainty)
    assert isinstance(again, Uncertainty)
    np.testing.assert_array_equal(first.alpha, again.alpha)
    low, high = first.interval("alpha")
    assert low < 2.5 < high
    good, bad = tails.goodness(x, replicates=100), tails.goodness(np.exp(np.sqrt(x)), "whole", replicates=100)
    assert isinstance(good, Goodness)
    assert good.plausible
    assert isinstance(bad, Goodness)


def test_a_body_is_no_power_law() -> None:
    x = np.random.default_rng(6).normal(100, 10, 1000)
    test = tails.goodness(x, "whole", replicates=100)
    assert isinstance(test, Goodness)
    assert not test.plausible
    assert test.p == 0


def distance(x: np.ndarray, x_min: float) -> float:
    """SciPy's Kolmogorov-Smirnov distance of a tail from the power law fitted to it."""
    tail = x[x >= x_min]
    excess = 1 / np.log(tail / x_min).mean()
    return float(stats.ks_1samp(tail, lambda value: 1 - (value / x_min) ** -excess).statistic)


@pytest.mark.parametrize("unit", [1.0, 3000.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_distance_is_scipy_s_where_many_volumes_are_equal(unit: float, seed: int) -> None:
    x = np.ceil(pareto(400, 2.2, 1.0 + 3 * seed, seed)) * unit
    assert np.unique(x).size < x.size / 3
    fitted, whole = tails.clauset(x), tails.clauset(x, "whole")
    assert isinstance(fitted, Tail)
    assert isinstance(whole, Tail)
    assert whole.distance == pytest.approx(distance(x, x.min()), rel=1e-12)
    assert fitted.distance == pytest.approx(distance(x, fitted.x_min), rel=1e-12)
    assert fitted.distance == pytest.approx(min(distance(x, bound) for bound in np.unique(x)[:-1]), rel=1e-12)


def test_whole_numbers_have_a_power_law_of_their_own() -> None:
    # Of p(x) = x^-2.5 / zeta(2.5): the continuous law takes the many ones for a steep start.
    x = np.asarray(stats.zipf.rvs(2.5, size=4000, random_state=np.random.default_rng(7)), dtype=float)
    whole, wrong = tails.clauset(x, "whole", discrete=True), tails.clauset(x, "whole")
    assert isinstance(whole, Tail)
    assert isinstance(wrong, Tail)
    assert abs(whole.alpha - 2.5) < 4 * whole.sigma
    assert abs(wrong.alpha - 2.5) > 10 * wrong.sigma
    assert whole.distance < 0.02
    assert all(isinstance(test, Inconclusive) for test in whole.against.values())
    good = tails.goodness(x, "whole", replicates=100, discrete=True)
    assert isinstance(good, Goodness)
    assert good.plausible
    spread = tails.uncertainty(x, "whole", replicates=100, discrete=True)
    assert isinstance(spread, Uncertainty)
    assert spread.interval("alpha")[0] < whole.alpha < spread.interval("alpha")[1]
    # A series is fitted in whole bytes and told in bits per second.
    series = tails.clauset(Volumes.of([*x, 0, None], bin_s=0.1), "whole", discrete=True)
    assert isinstance(series, Tail)
    assert series.n == 4000
    assert series.x_min == pytest.approx(80.0)
    assert series.alpha == pytest.approx(whole.alpha, rel=1e-12)
    for function in (tails.clauset, tails.goodness, tails.uncertainty):
        refused = function(x + 0.5, discrete=True)
        assert isinstance(refused, Inconclusive)
        assert "whole" in refused.reason


@pytest.mark.skipif(not SURNAMES.is_file(), reason=f"no {SURNAMES}: the paper's data are not part of the project")
def test_surnames_are_those_of_the_paper() -> None:
    tail = tails.clauset(np.genfromtxt(SURNAMES))
    assert isinstance(tail, Tail)
    assert (tail.x_min, tail.n_tail, tail.n) == (111_919, 239, 2753)
    assert tail.alpha == pytest.approx(2.4932, abs=5e-5)
    assert tail.distance == pytest.approx(0.0408, abs=5e-5)


@pytest.mark.skipif(not traces.TRACES.is_dir(), reason=traces.MISSING)
@pytest.mark.parametrize("entry", GOLDEN, ids=lambda entry: str(entry["name"]))
def test_real_series_equal_scipy_and_powerlaw_1_5(entry: dict[str, object]) -> None:
    known = traces.SERIES[KEYS[str(entry["name"])]]()
    # The package was given other units; the tail scales with them.
    unit = {"abilene total": 1e6, "abilene in_NYCMng": 1e6}.get(str(entry["name"]), 8 / known.bin_s)
    for rule in tails.RULES:
        expected = entry[rule]
        tail = tails.clauset(known, rule)
        assert isinstance(tail, Tail)
        assert isinstance(expected, dict)
        assert tail.n == entry["n"]
        assert tail.alpha == pytest.approx(expected["alpha"], rel=1e-9)
        assert tail.x_min / unit == pytest.approx(expected["x_min"], rel=1e-9)
        assert tail.distance == pytest.approx(expected["distance"], rel=1e-9)
        assert tail.n_tail == expected["n_tail"]
        for name, theirs in expected["against"].items():
            test = tail.against[name]
            # Where the package's own search converged: crates/powerlaw/tests/golden.rs explains the rest.
            close = (
                theirs["r"] is not None
                and isinstance(test, Against)
                and abs(test.r - theirs["r"]) <= 1e-3 * max(1, abs(test.r))
            )
            if close:
                assert isinstance(test, Against)
                assert test.p == pytest.approx(theirs["p"], abs=1e-3)
            else:
                assert name in {"weibull", "cutoff", "lognormal", "exponential"}
