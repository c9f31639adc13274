"""Modes and daily cycles: seen where they are, and not in noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.cli import app
from anabranch.traffic import reading, series
from anabranch.traffic.cycle import HOUR_NS, daily_cycle
from anabranch.traffic.series import Volumes
from anabranch.traffic.shape import modes
from anabranch.traffic.stationarity import DAY_NS

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize("centres", [(40, 100), (10, 24), (1, 2, 4), (1, 2, 4, 8), (1, 3, 9, 27, 81)])
@pytest.mark.parametrize("decimals", [None, 1])
def test_every_mode_is_seen_and_rounding_hides_none(centres: tuple[int, ...], decimals: int | None) -> None:
    random = np.random.default_rng(3)
    rates = 10.0 * np.concatenate([centre * random.lognormal(0, 0.08, 1000) for centre in centres])
    found = modes(1e6 * (rates if decimals is None else np.round(rates)))
    assert np.array(found) / 1e7 == pytest.approx(np.array(centres, dtype=float), rel=0.08)


@pytest.mark.parametrize("seed", range(20))
def test_rounding_and_slow_changes_make_no_modes(seed: int) -> None:
    random = np.random.default_rng(seed)
    slow = np.zeros(2000)
    for i, step in enumerate(random.normal(size=1999)):
        slow[i + 1] = 0.98 * slow[i] + step
    for rates in (np.round(random.lognormal(3, 0.4, 3000)), 12_000.0 * random.poisson(1, 3000), np.exp(0.1 * slow)):
        assert len(modes(np.asarray(rates, dtype=float))) == 1


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


def swing(period_h: float, days: int, *, bin_s: float = 300.0) -> Volumes:
    """A swing from 1 to 5 in a period, as a poller sees it that begins at some time of the day."""
    hours = np.arange(0, 24 * days, bin_s / 3600)
    rates = (
        1e8 * (3 + 2 * np.cos(2 * np.pi * hours / period_h)) * np.random.default_rng(days).lognormal(0, 0.1, hours.size)
    )
    return Volumes.of(rates * bin_s / 8, bin_s=bin_s, start_ns=1_717_221_500 * 10**9, name="link")


@pytest.mark.parametrize("days", [7, 30, 90])
@pytest.mark.parametrize("period_h", [22.0, 23.6, 24.5, 25.2])
def test_a_day_that_is_not_one_is_found_with_its_period(period_h: float, days: int) -> None:
    found = daily_cycle(swing(period_h, days))
    assert found is not None
    assert found.present
    assert not found.is_day
    assert found.period_ns / HOUR_NS == pytest.approx(period_h, abs=0.15)
    assert 4.5 < found.ratio < 5.5


@pytest.mark.parametrize("days", [3, 7, 30, 90])
def test_a_day_is_a_day_to_the_nanosecond(days: int) -> None:
    found = daily_cycle(swing(24.0, days))
    assert found is not None
    assert found.period_ns == DAY_NS
    assert found.peak_h in {5, 6}  # 05:58
    assert 4.5 < found.ratio < 5.5


def test_gaps_peaks_and_weekends_do_not_move_the_day() -> None:
    hours = np.arange(0, 24 * 28, 1 / 12)
    weekday = np.where(hours // 24 % 7 < 5, 1.0, 0.3)
    backup = np.where(hours % 24 < 1, 8.0, 1.0)  # an hour's peak
    rates = 1e7 * (1 + weekday * backup) * np.random.default_rng(2).lognormal(0, 0.3, hours.size)
    rates[2000:3000] = np.nan
    found = daily_cycle(Volumes.of_rates(rates, bin_s=300.0))
    assert found is not None
    assert (found.period_ns, found.present, found.peak_h) == (DAY_NS, True, 0)


def test_a_series_may_be_too_short_or_too_coarse() -> None:
    assert daily_cycle(week(1e9 * NOISE, hours=60)) is None
    assert daily_cycle(Volumes.of(np.ones(40), bin_s=7200.0, name="x")) is None


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize(("period_h", "named"), [(24.0, "daily cycle"), (23.6, "cycle of")])
def test_generate_says_what_becomes_of_the_cycle(tmp_path: Path, period_h: float, named: str) -> None:
    series.write(tmp_path / "link.parquet", [swing(period_h, 14)])
    lost = invoke("generate", tmp_path / "link.parquet", "-o", tmp_path / "a.csv")
    assert f"link has a {named}" in lost.stderr
    assert "and the series has none" in lost.stderr
    assert "--keep-order keeps it" in lost.stderr
    kept = invoke("generate", tmp_path / "link.parquet", "-o", tmp_path / "b.csv", "--keep-order")
    assert f"the {named}" in kept.stderr
    assert "is kept" in kept.stderr
    for name, expected in (("a.csv", False), ("b.csv", True)):
        (drawn,) = reading.read(tmp_path / name)
        found = daily_cycle(drawn)
        assert found is not None
        assert found.present is expected


def test_generate_is_silent_where_there_is_no_cycle(tmp_path: Path) -> None:
    series.write(tmp_path / "link.parquet", [week(1e9 * NOISE)])
    assert "cycle" not in invoke("generate", tmp_path / "link.parquet", "-o", tmp_path / "a.csv").stderr


def test_a_report_tells_the_period_of_a_day_that_is_none(tmp_path: Path) -> None:
    series.write(tmp_path / "link.parquet", [swing(23.6, 30)])
    text = invoke("report", tmp_path / "link.parquet", "-o", tmp_path / "page.html").stdout
    assert "Daily cycle: of 23.6 h, which is no day: a swing of 4." in text
    assert "check the time stamps, or the interval" in text
    assert "weak" not in text
    series.write(tmp_path / "day.parquet", [swing(24.0, 30)])
    text = invoke("report", tmp_path / "day.parquet", "-o", tmp_path / "page.html").stdout
    assert "Daily cycle: busiest at" in text
    assert "weak" not in text


@pytest.mark.parametrize("unit", [1.0, 1e6 / 8 * 300])
def test_fit_and_report_remark_on_several_modes(tmp_path: Path, unit: float) -> None:
    random = np.random.default_rng(4)
    both = np.concatenate([random.normal(20, 2, 700), random.normal(90, 5, 300)])
    random.shuffle(both)
    volumes = Volumes.of(np.round(both) * unit, bin_s=300.0, name="link")
    series.write(tmp_path / "link.parquet", [volumes])
    assert "the density has 2 modes, at" in invoke("fit", tmp_path / "link.parquet").stdout
    report = invoke("report", tmp_path / "link.parquet", "-o", tmp_path / "page.html").stdout
    assert "The density has 2 modes, at" in report
    assert "which no single model describes" in report
