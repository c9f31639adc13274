"""Modes and daily cycles: seen where they are, and not in noise."""

from __future__ import annotations

import numpy as np
import pytest

from anabranch.traffic.series import Volumes
from anabranch.traffic.shape import daily_cycle, modes


@pytest.mark.parametrize("n", [100, 900, 9000])
def test_one_mode_is_one(n: int) -> None:
    random = np.random.default_rng(n)
    for _ in range(60):
        for rates in (
            random.lognormal(9, 0.6, n),
            random.weibull(1.4, n),
            random.gamma(3, 1, n),
            np.abs(random.normal(10, 2, n)),
        ):
            assert len(modes(rates)) == 1


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_two_modes_are_two(share: float) -> None:
    random = np.random.default_rng(5)
    both = np.concatenate(
        [
            random.lognormal(np.log(80), 0.2, int(2000 * share)),
            random.lognormal(np.log(400), 0.2, int(2000 * (1 - share))),
        ]
    )
    low, high = modes(both)
    assert low == pytest.approx(80, rel=0.15)
    assert high == pytest.approx(400, rel=0.15)


def test_a_few_outliers_are_no_mode() -> None:
    random = np.random.default_rng(6)
    assert len(modes(np.concatenate([random.lognormal(3, 0.3, 1950), random.lognormal(8, 0.1, 50)]))) == 1


def test_steps_of_whole_packets_are_no_modes() -> None:
    assert len(modes(12_000.0 * np.random.default_rng(8).poisson(3, 3000).astype(np.float64))) == 1


@pytest.mark.parametrize(("rates", "found"), [([], ()), ([0.0, 0.0], ()), ([5.0, 5.0], (5.0,))])
def test_modes_of_next_to_nothing(rates: list[float], found: tuple[float, ...]) -> None:
    assert modes(np.array(rates)) == found


def week(shape: np.ndarray, *, hours: int = 24 * 7) -> Volumes:
    return Volumes.of(shape[:hours].round(), bin_s=3600.0, name="link")


HOURS = np.arange(24 * 7)
NOISE = np.random.default_rng(1).lognormal(0, 0.2, HOURS.size)


def test_a_day_is_seen_with_its_hours() -> None:
    found = daily_cycle(week(1e9 * (2 + np.cos(2 * np.pi * (HOURS - 15) / 24)) * NOISE))
    assert found is not None
    assert found.present
    assert found.peak_h in {14, 15, 16}
    assert found.trough_h in {2, 3, 4}
    assert 2.2 < found.ratio < 4


@pytest.mark.parametrize("shape", [np.ones(HOURS.size), 1 + HOURS / 50, 2 + np.cos(2 * np.pi * HOURS / 12)])
def test_noise_a_trend_and_half_days_are_no_day(shape: np.ndarray) -> None:
    found = daily_cycle(week(1e9 * shape * NOISE))
    assert found is not None
    assert not found.present


def test_a_series_may_be_too_short_or_too_coarse() -> None:
    assert daily_cycle(week(1e9 * NOISE, hours=60)) is None
    assert daily_cycle(Volumes.of(np.ones(40), bin_s=7200.0, name="x")) is None
