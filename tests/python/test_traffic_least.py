"""No bins finer than what a file tells, in any command; what the usual widths are then."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch import traffic
from anabranch.cli import app
from anabranch.errors import TrafficError
from anabranch.traffic import reading

if TYPE_CHECKING:
    from pathlib import Path

FINE = ("fit", "dimension", "report", "generate", "bin")
"""Commands that take widths."""


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


def polls(path: Path, *, days: float, every_s: int = 300, late_s: float = 0.0) -> Path:
    """A 64-bit counter of some link, polled."""
    random = np.random.default_rng(1)
    count = round(days * 86400 / every_s)
    times = 1_717_200_000 + np.cumsum(np.full(count, every_s + late_s))
    counter = 10**13 + np.cumsum(random.lognormal(20, 0.5, count)).astype(np.int64)
    rows = "".join(f"{at:.3f},{value}\n" for at, value in zip(times, counter, strict=True))
    path.write_text(f"time,ifHCInOctets\n{rows}", encoding="utf-8")
    return path


def flows(path: Path) -> Path:
    """Flow records with whole seconds, an hour of them."""
    head = "ts,te,td,sa,da,sp,dp,pr,ipkt,ibyt\n"
    times = [f"2024-06-01 10:{i // 60:02}:{i % 60:02}" for i in range(3600)]
    rows = (f"{at},{at},0,10.0.0.1,10.0.0.2,1,2,TCP,9,{900 + i}\n" for i, at in enumerate(times))
    path.write_text(head + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("days", "every_s", "late_s"), [(1, 300, 0), (30, 300, 0), (2, 60, 0), (7, 300, 1.5), (7, 600, 0)]
)
def test_polls_are_fitted_at_their_interval(tmp_path: Path, days: float, every_s: int, late_s: float) -> None:
    file = polls(tmp_path / "day.csv", days=days, every_s=every_s, late_s=late_s)
    result = invoke("fit", file, "--json")
    assert result.exit_code == 0
    (found,) = json.loads(result.stdout)
    own = every_s if late_s == 0 else every_s + 2
    assert min(one["bin_s"] for one in found["widths"]) == own
    assert max(one["n"] + one["missing"] for one in found["widths"]) <= days * 86400 / every_s
    # The exponent's error is that of so many bins.
    tail = found["widths"][0]["tails"]["whole"]
    assert tail["sigma"] == pytest.approx((tail["alpha"] - 1) / np.sqrt(tail["n"]))


def test_a_report_is_of_the_polls_interval(tmp_path: Path) -> None:
    result = invoke("report", polls(tmp_path / "link.csv", days=4), "-o", tmp_path / "page.html")
    assert result.exit_code == 0
    assert "Distribution at T = 300 s" in result.stdout
    assert "ms" not in result.stdout.split("Distribution", 1)[1].split(":")[0]


@pytest.mark.parametrize("command", FINE)
@pytest.mark.parametrize("asked", ["1s", "100ms", "2min", "5min,1s"])
def test_bins_finer_than_the_polls_are_refused(tmp_path: Path, command: str, asked: str) -> None:
    file = polls(tmp_path / "day.csv", days=2)
    if command == "generate" and "," in asked:
        asked = "1s"
    more = ("-o", tmp_path / "made") if command in {"generate", "report"} else ()
    result = invoke(command, file, "--bin", asked, *more)
    assert result.exit_code == 2
    assert "finer than what is known: polls come about every 300 s" in result.stderr
    assert "hint: choose bins of 300 s or wider" in result.stderr
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("command", FINE)
def test_bins_finer_than_whole_seconds_are_refused(tmp_path: Path, command: str) -> None:
    file = flows(tmp_path / "flows.csv")
    more = ("-o", tmp_path / "made.csv") if command in {"generate", "report"} else ()
    refused = invoke(command, file, "--bin", "100ms", *more)
    assert refused.exit_code == 2
    assert "finer than what is known: the time stamps are whole seconds" in refused.stderr
    assert "hint: choose bins of 1" in refused.stderr
    assert invoke(command, file, "--bin", "1s", *more).exit_code == 0


def test_the_usual_widths_of_flows_are_what_their_stamps_allow(tmp_path: Path) -> None:
    result = invoke("fit", flows(tmp_path / "flows.csv"), "--json")
    (found,) = json.loads(result.stdout)
    assert [one["bin_s"] for one in found["widths"]] == [1, 5]


@pytest.mark.parametrize("command", ["fit", "dimension", "report"])
def test_a_series_is_no_finer_than_its_own_bins(tmp_path: Path, command: str) -> None:
    binned = traffic.bin_files(polls(tmp_path / "day.csv", days=2))
    assert binned.least[0].bin_ns == 300 * 10**9
    binned.write(tmp_path / "day.parquet")
    more = ("-o", tmp_path / "page.html") if command == "report" else ()
    result = invoke(command, tmp_path / "day.parquet", "--bin", "1s", *more)
    assert result.exit_code == 2
    assert "bins of 1.00 s are finer than what is known: its bins are of 300 s" in result.stderr


def test_rows_of_volumes_are_no_finer_than_themselves(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    random = np.random.default_rng(2)
    rows = (f"{1_717_200_000 + 60 * i},{value:.0f}\n" for i, value in enumerate(random.lognormal(15, 0.4, 600)))
    file.write_text("time,bytes\n" + "".join(rows), encoding="utf-8")
    with pytest.raises(TrafficError, match="there is one row for every 60 s"):
        reading.read(file, exact=[1.0])
    assert {one.bin_ns for one in reading.read(file, widths=[0.005, 1.0])} == {60 * 10**9}


def test_a_bill_of_late_polls_is_made(tmp_path: Path) -> None:
    result = invoke("bill", polls(tmp_path / "port.csv", days=20, late_s=1.2), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["billed_bps"] > 0


def test_frames_that_are_not_understood_are_told(tmp_path: Path) -> None:
    """PPPoE is looked into; MACsec is not no port, but undecided."""
    udp = bytes.fromhex("4500008000010000401100000a000001c000020903e81f40006c0000")
    frames = {"pppoe": bytes.fromhex("886411000001008200 21".replace(" ", "")) + udp, "macsec": b"\x88\xe5" + udp}
    for name, frame in frames.items():
        data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
        for i in range(20):
            data += struct.pack("<IIII", 1_700_000_000, 7000 * i, 12 + len(frame), 150) + b"\2" * 12 + frame
        (tmp_path / f"{name}.pcap").write_bytes(data)
    for expression, packets in (("port 8000", 20), ("not port 8000", 0)):
        result = invoke("bin", tmp_path / "pppoe.pcap", "--bin", "1s", "--filter", expression, "--json")
        assert json.loads(result.stdout)["series"][0]["packets"] == packets
        result = invoke("bin", tmp_path / "macsec.pcap", "--bin", "1s", "--filter", expression)
        assert "20 of 20 records have headers that do not say whether they match" in result.stderr
