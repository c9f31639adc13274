"""``anabranch traffic fit``, ``dimension`` and ``bill``: tables, JSON, errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.cli import app
from anabranch.traffic import series
from anabranch.traffic.series import Volumes

if TYPE_CHECKING:
    from pathlib import Path

run = CliRunner()


def invoke(*arguments: str | Path) -> Result:
    return run.invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def month(tmp_path: Path) -> Path:
    """A month of one port, in and out, with polls that failed."""
    random = np.random.default_rng(1)
    inbound, outbound = (random.lognormal(18, 0.4, 8640) for _ in range(2))
    inbound[100:110] = np.nan
    file = tmp_path / "port.parquet"
    start = 1_714_521_600 * series.SECOND  # 2024-05-01
    both = (Volumes.of_rates(x, bin_s=300, start_ns=start, name=n) for x, n in ((inbound, "in"), (outbound, "out")))
    series.write(file, list(both))
    return file


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A minute in bins of 5 ms, a fifth of them empty."""
    random = np.random.default_rng(2)
    x = np.where(random.uniform(size=12_000) < 0.2, 0, random.lognormal(8, 0.7, 12_000)).round()
    file = tmp_path / "trace.parquet"
    series.write(file, [Volumes.of(x, bin_s=0.005, name="trace")])
    return file


def test_fit_shows_a_verdict_for_each_width(trace: Path) -> None:
    result = invoke("fit", trace)
    assert result.exit_code == 0
    for text in (
        "T = 5.00 ms: log-normal",
        "T = 100 ms",
        "T = 1.00 s",
        "whole sample",
        "x_min fitted",
        "a mass of their own",
    ):
        assert text in result.stdout, text
    assert "variation of gamma" in result.stdout


def test_fit_as_json_has_everything(trace: Path) -> None:
    (found,) = json.loads(invoke("fit", trace, "--bin", "5ms,100ms,7ms", "--bootstrap", "20", "--json").stdout)
    assert [w["bin_s"] for w in found["widths"]] == [0.005, 0.1]
    assert found["skipped"][0]["bin_s"] == 0.007
    first = found["widths"][0]
    assert first["best"] == "lognormal"
    assert first["zeros"] / first["n"] == pytest.approx(0.2, abs=0.02)
    assert {"fitted", "whole"} == set(first["tails"]) == set(first["bootstrap"])
    assert first["tails"]["whole"]["n_tail"] == first["tails"]["whole"]["n"]
    assert 0 <= first["bootstrap"]["whole"]["p"] <= 1
    assert len(first["comparisons"]) == 15


def test_dimension(trace: Path) -> None:
    result = invoke("dimension", trace, "--epsilon", "0.05", "--bin", "5ms,100ms")
    assert result.exit_code == 0
    for text in ("Meent's formula", "log-normal", "empirical quantile", "30 % above the mean", "held-out (4000 bins)"):
        assert text in result.stdout, text
    both = json.loads(invoke("dimension", trace, "--bin", "5ms,100ms", "--json").stdout)
    assert [one["bin_s"] for one in both] == [0.005, 0.1]
    assert both[0]["capacities"][1]["held_out"]["low"] <= 0.01 <= both[0]["capacities"][1]["held_out"]["high"]


def test_bill_with_both_directions_commit_and_forecast(month: Path) -> None:
    result = invoke("bill", month, "--commit", "100Mbps", "--price", "2", "--overage", "3", "--forecast-days", "10")
    assert result.exit_code == 0
    for text in (
        "2024-05-01 00:00 to 2024-05-31 00:00, 1 port",
        "commit: 100",
        "charge: ",
        "largest 10 of",
        "31 days from the first 10",
    ):
        assert text in result.stdout, text
    assert "10 intervals have no rate" in result.stderr
    found = json.loads(invoke("bill", month, "--commit", "100Mbps", "--price", "2", "--overage", "3", "--json").stdout)
    assert found["direction"] == "max"
    assert [p["samples"] for p in found["percentiles"]] == [8630, 8640]
    assert len(found["percentiles"][1]["discarded"]) == 432
    assert found["charge"] == pytest.approx(200 + 3 * (found["billed_bps"] - 1e8) / 1e6)


def test_bill_of_a_calendar_month(tmp_path: Path) -> None:
    # March at 1 Mb/s, April at 2, from a file that begins and ends in the middle of others.
    start = 1_709_942_400 * series.SECOND  # 2024-03-09
    x = np.where(np.arange(40 * 288) < 23 * 288, 1e6, 2e6)
    file = tmp_path / "spring.parquet"
    series.write(file, [Volumes.of_rates(x, bin_s=300, start_ns=start)])
    march, april = (json.loads(invoke("bill", file, "--month", m, "--json").stdout) for m in ("2024-03", "2024-04"))
    assert (march["billed_bps"], april["billed_bps"]) == (pytest.approx(1e6), pytest.approx(2e6))
    assert march["percentiles"][0]["samples"] == 23 * 288
    result = invoke("bill", file, "--month", "2024-06")
    assert (result.exit_code, "nothing in that month" in result.stderr) == (2, True)


def test_bill_of_csv_ports(tmp_path: Path) -> None:
    for name, offset in (("a", 0), ("b", 10)):
        # In no order: what only grows could be a counter.
        rows = "\n".join(f"{300 * i},{(i * 37 % 100 + 1 + offset) * 37500}" for i in range(100))
        (tmp_path / f"{name}.csv").write_text(f"t_s,bytes\n{rows}\n", encoding="utf-8")
    found = json.loads(invoke("bill", tmp_path / "a.csv", tmp_path / "b.csv", "--json", "--audit").stdout)
    # 37500 bytes in five minutes are 1 kb/s; the 95th of 100 sums is 95 + 105.
    assert found["billed_bps"] == pytest.approx(200_000)
    assert found["ports"] == 2
    paired = json.loads(invoke("bill", tmp_path / "a.csv", "--out", tmp_path / "b.csv", "--json").stdout)
    assert paired["billed_bps"] == pytest.approx(105_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "none.csv"), "none.csv: no such file"),
        (("fit", "MONTH", "--bin", "5"), "bin width '5': expected a number above zero and a unit"),
        (("dimension", "MONTH", "--epsilon", "2"), "epsilon 2.0: expected a share"),
        (("dimension", "MONTH", "--bin", "1s"), "bins of 1.00 s are finer than what is known: its bins are of 300 s"),
        (("bill", "MONTH", "--commit", "fast"), "--commit 'fast': expected"),
        (("bill", "MONTH", "--out", "MONTH", "--out", "MONTH"), "1 inbound files and 2 outbound"),
        (("bill", "MONTH", "--every", "7min"), "do not make intervals of"),
        (("bill", "MONTH", "--month", "May"), "month 'May': expected a year and a month"),
        (("bill", "MONTH", "--out", "MONTH"), "2 series ('in', 'out'): which is the port?"),
    ],
)
def test_bad_input_is_an_error_with_a_hint(month: Path, arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*(str(month) if a == "MONTH" else a for a in arguments))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
