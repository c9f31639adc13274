"""Bills by month, and other numbers that would mislead: too few samples, too short a time, capacities at an atom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.cli import app
from anabranch.errors import AnabranchError
from anabranch.traffic import bill as billing
from anabranch.traffic import dimension, forecast, months, series, sweep, synthetic
from anabranch.traffic.bill import Port, Tariff
from anabranch.traffic.models import LogNormal
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND, Volumes, VolumesError

if TYPE_CHECKING:
    from pathlib import Path

run = CliRunner()
MARCH = 1_709_251_200 * SECOND
"""2024-03-01."""
DAY = 288


def invoke(*arguments: str | Path) -> Result:
    return run.invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


def port(days: float, *, start_ns: int = MARCH, seed: int = 1) -> Volumes:
    rates = np.random.default_rng(seed).lognormal(18, 0.4, round(days * DAY))
    return Volumes.of_rates(rates, bin_s=300, start_ns=start_ns, name="port")


def test_each_calendar_month_has_a_bill_of_its_own() -> None:
    volumes = port(51)
    tariff = Tariff(commit_bps=5e7, price=2, overage=3)
    march, april = months.bills([Port(volumes)], tariff=tariff)
    assert (march.name, march.whole, april.name, april.whole) == ("2024-03", True, "2024-04", False)
    assert (april.days, april.measured_days) == (30, 20)
    for month, part in ((march, volumes.split(31 * DAY)[0]), (april, volumes.split(31 * DAY)[1])):
        assert month.bill == billing.bill([Port(part)], tariff=tariff)
    assert len(months.bills([Port(port(280))])) == 10


def test_a_trace_without_dates_is_divided_every_thirty_days() -> None:
    made = months.bills([Port(port(51, start_ns=0))])
    assert [(month.name, month.whole) for month in made] == [("days 0 to 30", True), ("days 30 to 60", False)]
    assert months.bills([Port(port(51, start_ns=0))], month_days=31)[0].name == "days 0 to 31"


def test_a_month_with_few_samples_has_no_bill() -> None:
    # A month, and the poll at its very end.
    march, april = months.bills([Port(port(31 + 1 / DAY))])
    assert not isinstance(march.bill, Inconclusive)
    assert isinstance(april.bill, Inconclusive)
    assert april.bill.reason == "1 sample: below 20 the 95th percentile is the largest"
    with pytest.raises(AnabranchError, match="no month can be billed: 2024-03: inconclusive: 1 sample"):
        months.bills([Port(port(1 / DAY))])
    with pytest.raises(AnabranchError, match="19 samples"):
        months.bills([Port(port(19 / DAY))])
    assert len(months.bills([Port(port(20 / DAY))])) == 1
    assert len(months.bills([Port(port(1 / DAY))], percentile=100)) == 1


def test_a_port_that_was_not_measured_in_a_month_is_not_taken_for_silent() -> None:
    both = Port(port(51), port(31, seed=2))
    march, april = months.bills([both])
    assert not isinstance(march.bill, Inconclusive)
    assert isinstance(april.bill, Inconclusive)
    assert "a port was not measured" in april.bill.reason


def test_a_month_with_holes_is_partial() -> None:
    rates = np.random.default_rng(1).lognormal(18, 0.4, 31 * DAY)
    holes = rates.copy()
    holes[DAY : 30 * DAY] = np.nan
    (may,) = months.bills([Port(Volumes.of_rates(holes, bin_s=300, start_ns=MARCH, name="port"))])
    assert (may.whole, may.measured_days) == (False, 2)
    # Of two ports one was measured in the last three days only.
    late = Volumes.of_rates(rates[28 * DAY :], bin_s=300, start_ns=MARCH + 28 * DAY * 300 * SECOND, name="late")
    (may,) = months.bills([Port(port(31)), Port(late)])
    assert (may.whole, may.measured_days) == (False, 3)
    few = rates.copy()
    few[100:110] = np.nan
    (may,) = months.bills([Port(Volumes.of_rates(few, bin_s=300, start_ns=MARCH, name="port"))])
    assert may.whole, "50 minutes are lost"


def test_the_month_that_is_forecast_is_one_of_the_calendar(tmp_path: Path) -> None:
    file = tmp_path / "port.parquet"
    series.write(file, [port(51)])
    result = invoke("bill", file, "--forecast-days", "10")
    assert result.exit_code == 2
    assert "2 months are there: expected one\nhint: say which to forecast: --month 2024-04" in result.stderr
    series.write(file, [port(20)])
    result = invoke("bill", file, "--forecast-days", "3")
    assert "31 days are forecast from 3" in result.stderr


def test_prices_are_numbers(tmp_path: Path) -> None:
    file = tmp_path / "port.parquet"
    series.write(file, [port(31)])
    result = invoke("bill", file, "--price", "inf", "--json")
    assert result.exit_code == 2
    assert "price inf: expected a number" in result.stderr


def test_the_command_bills_every_month(tmp_path: Path) -> None:
    file = tmp_path / "port.parquet"
    series.write(file, [port(51)])
    result = invoke("bill", file, "--price", "2")
    assert result.exit_code == 0
    for text in (
        "2024-03-01 00:00 to 2024-04-01 00:00, 1 port ",
        "partial month: 20.0 of 30 days",
        "charge of 2 months",
    ):
        assert text in result.stdout, text
    found = json.loads(invoke("bill", file, "--price", "2", "--json").stdout)
    assert [month["month"] for month in found["months"]] == ["2024-03", "2024-04"]
    assert found["charge"] == pytest.approx(sum(month["charge"] for month in found["months"]))
    one = json.loads(invoke("bill", file, "--month", "2024-04", "--json").stdout)
    assert (one["month"], one["whole"], one["measured_days"]) == ("2024-04", False, 20)
    assert one["billed_bps"] == found["months"][1]["billed_bps"]


def test_a_forecast_needs_the_days_it_is_made_from(tmp_path: Path) -> None:
    with pytest.raises(AnabranchError, match=r"port: 25\.0 h were measured, less than the 7 days") as caught:
        forecast.forecast(port(25 / 24), Tariff(), days=7)
    assert caught.value.hint == "forecast from fewer days: --forecast-days 1"
    with pytest.raises(AnabranchError, match="expected 1 to 366"):
        forecast.forecast(port(10), Tariff(), days=7, month_days=10**9)
    # One poll may lack at the end.
    assert len(forecast.forecast(port(7 - 1 / DAY), Tariff(), days=7)) == 4
    file = tmp_path / "port.parquet"
    series.write(file, [port(25 / 24)])
    result = invoke("bill", file, "--forecast-days", "30")
    assert result.exit_code == 2
    assert "less than the 30 days to forecast from" in result.stderr
    result = invoke("bill", file, "--forecast-days", "1")
    assert result.exit_code == 0
    assert "31 days are forecast from 1" in result.stderr


def test_two_rows_have_no_verdict(tmp_path: Path) -> None:
    short = sweep.sweep(Volumes.of([1.0, 2.0], bin_s=300, name="short"))
    assert short.verdicts == []
    assert (300.0, "2 bins: at least 50 are needed") in short.skipped
    assert json.dumps(short.as_json())
    file = tmp_path / "short.csv"
    file.write_text("time,bytes\n0,1\n300,2\n")
    result = invoke("fit", file)
    assert result.exit_code == 2
    assert "no verdict" in result.stderr
    assert "nothing to fit" in result.stderr
    for command in ("dimension", "generate"):
        more = ("-o", tmp_path / "made.csv") if command == "generate" else ()
        result = invoke(command, file, *more)
        assert result.exit_code == 2, command
        assert "at least" in result.stderr, command
    longer = tmp_path / "long.csv"
    longer.write_text("time,bytes\n" + "".join(f"{k * 300},{k * k % 97}\n" for k in range(200)))
    result = invoke("fit", file, longer)
    assert result.exit_code == 0
    assert "short.csv: no verdict" in result.stderr
    assert "long.csv" in result.stdout


def test_idle_bins_do_not_exceed_a_capacity_of_zero() -> None:
    # Idle most of the time: the quantile that at most a tenth exceeds is 0, and a tenth does exceed it.
    rates = np.zeros(1000)
    rates[::20] = np.random.default_rng(1).lognormal(15, 0.3, 50)
    found = dimension.dimension(Volumes.of_rates(rates, bin_s=1), epsilon=0.1, held_out=0)
    capacities = {one.method: one for one in found.capacities if isinstance(one, dimension.Capacity)}
    for method in ("lognormal", "empirical"):
        assert capacities[method].bps == 0
        assert capacities[method].in_sample.share == pytest.approx(0.05)
    assert dimension.exceedance(np.array([1.0, 2.0, 2.0, 3.0]), 2.0).share == 0.25


def test_a_series_has_a_bound() -> None:
    model = LogNormal(10, 0.5)
    for bins in (0, 20_000_001, 10**12):
        with pytest.raises(VolumesError, match="expected 1 to 20000000 bins"):
            synthetic.generate(model, bins, 0.1, 1)
