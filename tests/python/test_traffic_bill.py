"""Bills and forecasts: the rules of the trade, the cases that others got wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import AnabranchError
from anabranch.traffic.bill import INTERVAL_NS, Direction, Port, Tariff, bill, intervals, quantile, total
from anabranch.traffic.forecast import METHODS, Forecast, forecast, nrmse
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND, Volumes

MONTH = 8640
"""Intervals of thirty days."""


def rates(values: list[float] | np.ndarray, **more: object) -> Volumes:
    return Volumes.of_rates(values, bin_s=300, **more)  # type: ignore[arg-type]


def test_a_month_of_1_to_8640_bills_8208() -> None:
    shuffled = np.random.default_rng(1).permutation(np.arange(1.0, MONTH + 1))
    found = bill([Port(rates(shuffled))])
    (percentile,) = found.percentiles
    assert found.billed_bps == pytest.approx(8208)
    assert (percentile.rank, percentile.samples, len(percentile.discarded)) == (8208, MONTH, 432)
    assert min(sample.bps for sample in percentile.discarded) == pytest.approx(8209)
    starts = [sample.start_ns for sample in percentile.discarded]
    assert starts == sorted(starts)


@given(st.integers(1, 20_000), st.sampled_from([50.0, 90.0, 95.0, 99.0, 99.9, 100.0]))
def test_nearest_rank_is_the_ceiling_of_the_exact_share(n: int, percentile: float) -> None:
    _, rank = quantile(np.arange(1.0, n + 1), percentile)
    thousandths = round(percentile * 10)
    assert rank == max(1, math.ceil(thousandths * n / 1000)) or abs(thousandths * n / 1000 - rank) < 1e-9
    # At least so many per cent at or below it, and not one sample fewer would do.
    assert rank * 1000 >= thousandths * n > (rank - 1) * 1000


def test_linear_interpolates_as_spreadsheets_do() -> None:
    values = np.random.default_rng(2).uniform(size=97)
    assert quantile(values, 95, "linear")[0] == pytest.approx(np.quantile(values, 0.95), rel=1e-12)


def test_ports_are_summed_per_interval_and_are_not_more_samples() -> None:
    # A mistake that LibreNMS made until 2025: ports that are busy at different times were taken for more samples.
    n = 200
    early, late = np.full(n, 10.0), np.full(n, 10.0)
    early[:10], late[-10:] = 1000.0, 1000.0
    found = bill([Port(rates(early, name="a")), Port(rates(late, name="b"))])
    (percentile,) = found.percentiles
    # 20 of 200 intervals carry 1010: more than five per cent. As 400 samples, 20 of them at 1000, the bill would be 10.
    assert percentile.samples == n
    assert found.billed_bps == pytest.approx(1010)
    assert quantile(np.concatenate([early, late]))[0] == 10


def test_directions() -> None:
    n = 100
    inbound, outbound = np.zeros(n), np.zeros(n)
    inbound[:4], outbound[96:] = 100.0, 80.0
    port = Port(rates(inbound), rates(outbound))
    tariff = Tariff(price=1e6)  # one per bit per second
    directions: tuple[Direction, ...] = ("max", "interval-max", "sum", "separate", "in", "out")
    billed = {d: bill([port], direction=d, tariff=tariff) for d in directions}
    # Four busy intervals of a hundred are discarded; of eight, the largest that is left is one of the smaller.
    expected = {"max": 0, "interval-max": 80, "sum": 80, "separate": 0, "in": 0, "out": 0}
    assert {d: round(b.billed_bps) for d, b in billed.items()} == expected
    assert [p.name for p in billed["max"].percentiles] == ["in", "out"]
    busy = [Port(rates(np.full(n, 100.0)), rates(np.full(n, 80.0)))]
    expected = {"max": 100, "interval-max": 100, "sum": 180, "separate": 180, "in": 100, "out": 80}
    assert {d: round(bill(busy, direction=d).billed_bps) for d in directions} == expected
    assert bill(busy, direction="separate", tariff=tariff).charge == pytest.approx(180)


def test_missing_polls_are_neither_zero_nor_samples() -> None:
    values: list[float] = [100.0] * 90 + [200.0] * 10
    whole = bill([Port(rates(values))])
    holes = rates([math.nan] * 300 + values)
    found = bill([Port(holes)])
    assert found.billed_bps == pytest.approx(whole.billed_bps) == pytest.approx(200)
    assert (found.percentiles[0].samples, found.percentiles[0].missing) == (100, 300)
    zeros = bill([Port(rates([0.0] * 300 + values))])
    assert zeros.billed_bps == pytest.approx(100)


def test_an_interval_that_one_port_missed_is_missing() -> None:
    both = total([rates([1, 2, math.nan, 4]), rates([10, math.nan, 30, 40])])
    assert both.missing.tolist() == [False, True, True, False]
    assert both.rates().tolist() == [11, 44]


def test_ports_of_different_length_share_the_intervals_that_both_have() -> None:
    second = rates([10, 20, 30], start_ns=2 * INTERVAL_NS)
    both = total([rates([1, 2, 3, 4]), second])
    assert len(both) == 5
    assert both.rates().tolist() == [13, 24]


def test_finer_bins_make_intervals_on_the_clock() -> None:
    # Minute bins from 00:03: the first whole interval is 00:05 to 00:10.
    volumes = Volumes.of(np.arange(1.0, 13.0), bin_s=60, start_ns=3 * 60 * SECOND)
    joined = intervals(volumes)
    assert joined.start_ns == INTERVAL_NS
    assert joined.known().tolist() == [3 + 4 + 5 + 6 + 7, 8 + 9 + 10 + 11 + 12]


def test_what_cannot_be_billed_is_told() -> None:
    with pytest.raises(AnabranchError, match="do not make intervals of"):
        bill([Port(Volumes.of([1, 2], bin_s=7))])
    with pytest.raises(AnabranchError, match="into an interval of"):
        bill([Port(rates([1, 2])), Port(rates([1, 2], start_ns=SECOND))])
    with pytest.raises(AnabranchError, match="no port"):
        bill([])
    with pytest.raises(AnabranchError, match="no outbound series"):
        bill([Port(rates([1, 2]))], direction="out")
    with pytest.raises(AnabranchError, match="no interval has a rate"):
        bill([Port(rates([math.nan, math.nan]))])
    with pytest.raises(AnabranchError, match="percentile 0"):
        bill([Port(rates([1.0]))], percentile=0)


def test_commit_and_overage() -> None:
    tariff = Tariff(commit_bps=1e9, price=0.4, overage=0.6)
    assert tariff.charge(0) == tariff.charge(1e9) == pytest.approx(400)
    assert tariff.charge(1.5e9) == pytest.approx(400 + 500 * 0.6)
    assert Tariff(commit_bps=1e9, price=0.4).charge(1.5e9) == pytest.approx(600)


def month(seed: int, days: int = 30) -> np.ndarray:
    """Log-normal noise on a daily cycle, and days that differ."""
    random = np.random.default_rng(seed)
    cycle = 1 + 0.6 * np.sin(2 * np.pi * np.arange(288) / 288)
    levels = random.lognormal(0, 0.15, days)
    return np.concatenate([level * cycle for level in levels]) * 1e8 * random.lognormal(0, 0.2, 288 * days)


def test_the_month_is_within_the_forecast_s_interval_about_as_often_as_promised() -> None:
    hits = dict.fromkeys(METHODS, 0)
    trials = 20
    for seed in range(trials):
        values = month(seed)
        actual = quantile(values)[0]
        for found in forecast(rates(values), Tariff(), days=10):
            assert isinstance(found, Forecast)
            assert not isinstance(found.interval, Inconclusive)
            low, high = found.interval
            hits[found.method] += low <= actual <= high
    # Ten days resampled know less than thirty new ones: nominal 95 %, four standard deviations of slack.
    assert all(count >= 0.75 * trials for count in hits.values()), hits


def test_a_forecast_looks_at_the_first_days_only() -> None:
    values = month(1)
    other = values.copy()
    other[10 * 288 :] *= 50
    first, second = (forecast(rates(v), Tariff(price=1), days=10) for v in (values, other))
    assert first == second


def test_one_day_has_no_interval_and_says_why() -> None:
    for found in forecast(rates(month(1)), Tariff(price=1), days=1):
        assert isinstance(found, Forecast)
        assert isinstance(found.interval, Inconclusive)
        assert found.bps > 0
    with pytest.raises(AnabranchError, match="0 days"):
        forecast(rates(month(1)), Tariff(), days=0)


def test_a_forecast_of_idle_days_is_inconclusive_or_zero() -> None:
    for found in forecast(rates(np.zeros(288 * 3)), Tariff(price=1), days=3):
        assert isinstance(found, Inconclusive) or found.bps == 0


def test_nrmse_by_its_definitions() -> None:
    actual, predicted = [1.0, 2.0, 3.0, 6.0], [1.0, 2.0, 4.0, 4.0]
    error = math.sqrt(5 / 4)
    assert nrmse(actual, predicted) == pytest.approx(error / np.std(actual))
    assert nrmse(actual, predicted, scale="range") == pytest.approx(error / 5)
    assert nrmse(actual, predicted, scale="mean") == pytest.approx(error / 3)
    assert nrmse(actual, actual) == 0
    with pytest.raises(AnabranchError, match="not positive"):
        nrmse([1.0, 1.0], [1.0, 1.0])
    with pytest.raises(AnabranchError, match="expected as many"):
        nrmse([1.0], [1.0, 2.0])
