"""Bills from tables as operators have them: the right rate, or an error that says what decides; never a wrong bill."""

from __future__ import annotations

import datetime as dt
import json
import zoneinfo
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from anabranch.cli import app
from anabranch.cli.volumes import _direction
from anabranch.traffic import bill as billing
from anabranch.traffic import months
from anabranch.traffic.bill import Port, Tariff
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND, Volumes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

run = CliRunner()
JUNE = 1_717_200_000
"""2024-06-01."""
STEP = 3_750_000
"""Bytes of five minutes at 100 kbit/s."""


def invoke(*arguments: str | Path) -> Result:
    return run.invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


def table(
    file: Path, names: str, rows: Iterable[str], stamp: Callable[[int], object] = lambda i: JUNE + i * 300
) -> Path:
    text = "".join(f"{stamp(i)},{row}\n" for i, row in enumerate(rows))
    file.write_text(f"time,{names}\n{text}", encoding="utf-8")
    return file


def billed(*arguments: str | Path) -> dict[str, Any]:
    result = invoke("bill", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("names", ["ifHCInOctets,ifHCOutOctets", "INOCTETS,OUTOCTETS", "rx_bytes_total,tx_bytes_total"])
def test_two_counters_are_the_directions_of_a_port(names: str, tmp_path: Path) -> None:
    file = table(tmp_path / "outbound.csv", names, (f"{10**12 + i * STEP},{10**12 + i * 2 * STEP}" for i in range(300)))
    found = billed(file)
    assert (found["direction"], found["billed_bps"]) == ("max", pytest.approx(200_000))
    assert [(one["name"], one["bps"]) for one in found["percentiles"]] == [
        ("in", pytest.approx(100_000)),
        ("out", pytest.approx(200_000)),
    ]


def test_words_of_directions() -> None:
    for name, way in {
        "ifHCInOctets": 0,
        "ifOutOctets_rate": 1,
        "traffic_Mbps_in": 0,
        "bytesSent": 1,
        "node_network_receive_bytes_total": 0,
        "eth0 TX": 1,
        "INOCTETS": 0,
        "Inbound": 0,
        "line": None,
        "domain": None,
        "printout": None,
    }.items():
        assert _direction(name) == way, name


@pytest.mark.parametrize("names", ["in,out", "traffic_in,received", "x,y"])
def test_a_bill_of_columns_that_only_grow_stops(names: str, tmp_path: Path) -> None:
    file = table(tmp_path / "p.csv", names, (f"{10**12 + i * STEP},{10**12 + i * 2 * STEP}" for i in range(300)))
    result = invoke("bill", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--format counters" in result.stderr
    if names == "in,out":
        assert billed(file, "--format", "counters")["billed_bps"] == pytest.approx(200_000)


@pytest.mark.parametrize("word", ["", "NULL", "-nan", "U", "N/A", "\\N", "None"])
def test_failed_polls_are_no_samples(word: str, tmp_path: Path) -> None:
    polls = [str(10**12 + i * STEP) for i in range(300)]
    polls[100] = word
    found = billed(table(tmp_path / "c.csv", "ifHCInOctets", polls))
    assert found["billed_bps"] == pytest.approx(100_000)
    assert found["percentiles"][0]["missing"] == 2
    rates = ["100000"] * 300
    rates[100] = word
    assert billed(table(tmp_path / "r.csv", "in_bps", rates))["percentiles"][0]["missing"] == 1


def test_the_first_line_says_what_was_assumed(tmp_path: Path) -> None:
    rows = [str(1000 + i * 7 % 11) for i in range(300)]
    for name, what in {
        "in": "in: bytes in each row of 300 s, as no name and no --unit says otherwise",
        "in_Mbps": "in_Mbps: mean rates of 300 s in Mbps",
    }.items():
        result = invoke("bill", table(tmp_path / "t.csv", name, rows))
        assert result.stderr.splitlines()[0].endswith(f"read as csv-volumes: {what}"), result.stderr
    counters = table(tmp_path / "c.csv", "ifHCInOctets", (str(i) for i in range(300)))
    assert "read as counters: ifHCInOctets: counters of bytes, polled every 300 s" in invoke("bin", counters).stderr


def test_samples_of_a_hundred_times_the_median_are_named(tmp_path: Path) -> None:
    polls = [i * STEP + (10**11 if i > 200 else 0) for i in range(300)]
    file = table(tmp_path / "c.csv", "in_octets", map(str, polls))
    for command in ("bill", "bin"):
        result = invoke(command, file)
        assert "2.67 Gbps at 2024-06-01 16:40:00.000 UTC is 26668 times the median" in " ".join(result.stderr.split())
        assert "--line-rate" in result.stderr
    result = invoke("bill", file, "--line-rate", "1Gbps")
    assert "times the median" not in result.stderr
    assert "1 increase is more than the line carries" in result.stderr


def berlin(i: int) -> str:
    """Every five minutes from the begin of October in Berlin on, as a clock there shows it."""
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    begin = dt.datetime(2024, 10, 1, tzinfo=zone).timestamp()
    return f"{dt.datetime.fromtimestamp(begin + i * 300, tz=zone):%Y-%m-%d %H:%M:%S}"


OCTOBER = (31 * 24 + 1) * 12
"""Intervals of October in Berlin."""


def test_local_time_without_its_zone_has_no_bill(tmp_path: Path) -> None:
    counters = table(tmp_path / "c.csv", "ifHCInOctets", (str(10**12 + i * STEP) for i in range(OCTOBER + 1)), berlin)
    rates = table(tmp_path / "r.csv", "in_bps", ("100000" for _ in range(OCTOBER)), berlin)
    for file in (counters, rates):
        for command in ("bill", "bin"):
            result = invoke(command, file)
            assert (result.exit_code, result.stdout) == (2, ""), file
            assert "2024-10-27 02:00 to 03:00" in result.stderr
            assert "--time-zone Europe/Berlin" in result.stderr
        found = billed(file, "--time-zone", "Europe/Berlin", "--price", "1000")
        assert (found["month"], found["whole"], found["charge"]) == ("2024-10", True, pytest.approx(100))
        assert (found["percentiles"][0]["samples"], found["percentiles"][0]["missing"]) == (OCTOBER, 0)
    assert (
        "2024-10-01 00:00 to 2024-11-01 00:00 Europe/Berlin"
        in invoke("bill", rates, "--time-zone", "Europe/Berlin").stdout
    )
    plain = table(
        tmp_path / "p.csv",
        "in_bps",
        ("5" for _ in range(600)),
        lambda i: f"2024-05-{1 + i // 288:02} {i % 288 // 12:02}:{i % 12 * 5:02}",
    )
    assert "times as UTC, without a --time-zone" in invoke("bill", plain).stderr.splitlines()[0]


def test_months_of_stamps_with_offsets_follow_the_zone(tmp_path: Path) -> None:
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    begin = dt.datetime(2024, 10, 1, tzinfo=zone).timestamp()
    stamp: Callable[[int], str] = lambda i: dt.datetime.fromtimestamp(begin + i * 300, tz=zone).isoformat()  # noqa: E731
    file = table(tmp_path / "o.csv", "in_Mbps", ("100" for _ in range(OCTOBER)), stamp)
    found = billed(file, "--price", "1")
    september, october = found["months"]
    assert found["charge"] == pytest.approx(100)
    assert september["inconclusive"].startswith("a fragment of 2.0 h: --month 2024-09 bills it, --time-zone says")
    assert october["billed_bps"] == pytest.approx(1e8)
    local = billed(file, "--price", "1", "--time-zone", "Europe/Berlin")
    assert (local["month"], local["whole"], local["charge"]) == ("2024-10", True, pytest.approx(100))
    assert billed(file, "--month", "2024-09", "--price", "1")["charge"] == pytest.approx(100)
    result = invoke("bill", file, "--time-zone", "Europe/Bärlin")
    assert (result.exit_code, "is not known" in result.stderr) == (2, True)


def test_a_fragment_is_a_month_that_is_hardly_there() -> None:
    march = 1_709_251_200 * SECOND

    def port(hours: float) -> Port:
        return Port(Volumes.of_rates([1e6] * round(hours * 12), bin_s=300, start_ns=march))

    whole = 31 * 24
    for more, charged in ((2, False), (23, False), (25, True)):
        _, april = months.bills([port(whole + more)], tariff=Tariff(price=1))
        assert isinstance(april.bill, Inconclusive) is not charged, more
    (alone,) = months.bills([port(3)])
    assert isinstance(alone.bill, billing.Bill)
    zone = zoneinfo.ZoneInfo("America/New_York")
    february, in_march = months.bills([port(whole)], zone=zone)
    assert (february.name, in_march.name) == ("2024-02", "2024-03")
    assert isinstance(february.bill, Inconclusive)


def test_ports_polled_at_other_moments_are_put_onto_one_clock(tmp_path: Path) -> None:
    def polled(late: int) -> Path:
        polls = (str(i * STEP) for i in range(300))
        return table(tmp_path / f"{late}.csv", "ifHCInOctets", polls, lambda i: JUNE + late + i * 300)

    files = [polled(0), polled(47)]
    result = invoke("bill", *files)
    assert result.exit_code == 2
    assert "hint: put the intervals of all ports onto one clock: --align clock" in result.stderr
    assert billed(*files, "--align", "clock")["billed_bps"] == pytest.approx(200_000, rel=1e-3)


def test_options_that_do_not_apply_are_refused(tmp_path: Path) -> None:
    counters = table(tmp_path / "c.csv", "ifHCInOctets", (str(i * STEP) for i in range(300)))
    for extra in (("--unit", "Mbps"), ("--format", "counters", "--unit", "Mbps")):
        result = invoke("bill", counters, *extra)
        assert (result.exit_code, "does not apply" in result.stderr) == (2, True), extra
    assert "expected" in invoke("bill", counters, "--line-rate", "fast").stderr


def test_json_that_is_not_known_is_not_taken_for_a_table(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"rows": [[i, i] for i in range(2000)]}), encoding="utf-8")
    result = invoke("bin", file)
    assert (result.exit_code, "columns" in result.stderr) == (2, False)
    assert "JSON that is not known here" in result.stderr


def test_exports_of_other_tools_are_billed(tmp_path: Path) -> None:
    values = [[JUNE + i * 300, str(10**12 + i * STEP)] for i in range(300)]
    metric = {"__name__": "node_network_receive_bytes_total", "device": "eth0"}
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": metric, "values": values}]}}
    file = tmp_path / "p.json"
    file.write_text(json.dumps(answer), encoding="utf-8")
    assert billed(file)["billed_bps"] == pytest.approx(100_000)
    rows = "".join(f"{JUNE + (i + 1) * 300}: {STEP / 300:.10e} {STEP / 150:.10e}\n" for i in range(300))
    fetched = tmp_path / "f.txt"
    fetched.write_text(f"        traffic_in         traffic_out\n\n{rows}", encoding="utf-8")
    found = billed(fetched)
    assert (found["billed_bps"], found["first_ns"]) == (pytest.approx(200_000), JUNE * SECOND)
