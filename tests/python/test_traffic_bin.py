"""Captures and tables to volume series, through the compiled core and through the program."""

from __future__ import annotations

import fcntl
import gzip
import json
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch import traffic
from anabranch.cli import app
from anabranch.errors import AnabranchError
from anabranch.traffic.quantities import nanoseconds
from anabranch.traffic.series import read

SHARED = Path(__file__).parents[3] / "shared/data/traces/pcap"


def capture(path: Path, packets: list[tuple[float, int]]) -> Path:
    """Write a pcap file of Ethernet packets, cut after 60 bytes."""
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
    for at, length in packets:
        seconds, us = divmod(round(at * 1e6), 1_000_000)
        data += struct.pack("<IIII", seconds, us, 60, length) + bytes(60)
    path.write_bytes(data)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two packets in the first second, none in the second, one in the third, one that comes late."""
    return capture(tmp_path / "a.pcap", [(100.0, 1500), (100.2, 60), (102.4, 900), (102.3, 100)])


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["traffic", "bin", *map(str, arguments)], catch_exceptions=False)


def test_series_come_back_as_arrays(file: Path) -> None:
    binned = traffic.bin_files(file, ["1s", "2s"])
    fine, coarse = binned
    assert fine.bytes.tolist() == [1560, 0, 1000]
    assert coarse.bytes.tolist() == [1560, 1000]
    assert fine.packets is not None
    assert fine.packets.tolist() == [2, 0, 2]
    assert not fine.missing.any()
    assert not fine.complete
    assert fine.bytes.dtype == np.dtype("int64")
    assert (fine.bin_ns, fine.start_ns) == (10**9, 100 * 10**9)
    (report,) = binned.files
    assert (report.format, report.records, report.bytes, report.out_of_order) == ("pcap", 4, 2560, 1)
    assert report.largest_step_back_ns == 100_000_000
    assert len(binned) == 2
    assert binned[1] is coarse


def test_written_series_are_read_back(file: Path, tmp_path: Path) -> None:
    binned = traffic.bin_files(file, ["1s", "100ms"], gap="1s")
    # The packet that came late ends the silence, and begins one that is too short.
    assert binned.gaps[0] == (traffic.Gap(100_200_000_000, 102_300_000_000, "silence"),)
    binned.write(tmp_path / "new/volumes.parquet")
    back = read(tmp_path / "new/volumes.parquet")
    for one, other in zip(binned, back, strict=True):
        assert (one.name, one.bin_ns, one.start_ns, one.complete) == (
            other.name,
            other.bin_ns,
            other.start_ns,
            other.complete,
        )
        np.testing.assert_array_equal(one.missing, other.missing)
        np.testing.assert_array_equal(one.bytes[~one.missing], other.bytes[~one.missing])
    assert back[0].missing.any()


def test_directions_files_and_columns_are_series_of_their_own(file: Path, tmp_path: Path) -> None:
    other = capture(tmp_path / "b.pcap", [(200.0, 70)])
    each = traffic.bin_files([file, other], ["1s"], each=True)
    assert [v.name for v in each] == ["a.pcap", "b.pcap"]
    assert each.sources == ((0,), (1,))
    together = traffic.bin_files([other, file], ["1s"])
    assert [(v.name, len(v), int(v.missing.sum())) for v in together] == [("b.pcap and 1 more", 101, 98)]
    assert together.gaps[0][0].why == "between files"
    table = tmp_path / "links.csv.gz"
    table.write_bytes(gzip.compress(b"time,in,out\n0,1,5\n300,2,6\n600,3,5\n900,1,7\n"))
    links = traffic.bin_files(table, unit="kbit")
    assert [(v.name, v.bytes.tolist()) for v in links] == [
        ("links.csv.gz in", [125, 250, 375, 125]),
        ("links.csv.gz out", [625, 750, 625, 875]),
    ]
    assert links.files[0].compression == "gzip"


def test_what_progress_raises_ends_the_reading(tmp_path: Path) -> None:
    # Half a gigabyte in a small file: members of a gzip file may follow each other.
    big = tmp_path / "big.pcap.gz"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
    records = (struct.pack("<IIII", 100, 0, 60, 60) + bytes(60)) * 200_000
    big.write_bytes(gzip.compress(head, 1) + gzip.compress(records, 1) * 40)

    def told(state: object) -> bool:
        raise KeyboardInterrupt(state)

    # Fast machines may have read it all before the first report: then there is nothing to end.
    try:
        binned = traffic.bin_files([big], ["1s"], filter="tcp and net 10.0.0.0/8", progress=told)
    except KeyboardInterrupt as interrupt:
        state = interrupt.args[0]
        assert state["bytes_total"] == big.stat().st_size
        assert 0 < state["bytes_read"] <= state["bytes_total"]
        assert (state["files_done"], state["files_total"]) == (0, 1)
    else:
        assert binned.files[0].records == 8_000_000


def test_ctrl_c_ends_even_a_reader_that_waits_for_a_pipe() -> None:
    program = "from anabranch.cli import main; main()"
    command = [sys.executable, "-c", program, "traffic", "bin", "-", "--bin", "1s"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        child.stdin.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1))
        child.stdin.flush()
        deadline = time.monotonic() + 30
        # Until the reader has taken what there is: then SIGINT is its business, and not that of Python's start.
        while waiting(child.stdin.fileno()) and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
        assert child.stderr.read() == b"interrupted: nothing was written\n"


def waiting(pipe: int) -> int:
    """Bytes in a pipe that nobody has read."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(count)


@pytest.mark.parametrize("text", ["", "5", "ms", "5 parsecs", "0s", "-1s", "1.2.3s", "1e999999999s", "٣s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(AnabranchError, match="expected a number above zero and a unit"):
        nanoseconds(text)


def test_times_that_no_clock_counts_are_refused() -> None:
    with pytest.raises(AnabranchError, match=r"'0\.1ns': not a whole number of nanoseconds"):
        nanoseconds("0.1ns")
    with pytest.raises(AnabranchError, match="longer than a clock of 64 bits counts"):
        nanoseconds("1e6d")


def test_times_are_read_as_decimals() -> None:
    # 0.3 * 10^9 and 4.35 * 10^9 are no whole numbers in binary floating point.
    assert [nanoseconds(text) for text in ("0.3s", "4.35 s", "1e3s", "1.5h")] == [
        300_000_000,
        4_350_000_000,
        10**12,
        5_400 * 10**9,
    ]


def test_the_program_prints_a_table_and_writes_a_file(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.parquet"
    result = invoke(file, "--bin", "100ms,1s", "-o", out)
    assert result.exit_code == 0
    assert [line.split()[:4] for line in result.stdout.splitlines() if "a.pcap" in line] == [
        ["a.pcap", "100", "ms", "25"],
        ["a.pcap", "1.00", "s", "3"],
    ]
    assert f"volumes: {out}" in result.stderr
    assert f"{file}: 1 records out of order, by up to 100 ms; they are in the right bins" in result.stderr
    assert [len(v) for v in read(out)] == [25, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pcap", "v.parquet"]


def test_json_has_every_report(file: Path) -> None:
    data = json.loads(invoke(file, "--bin", "1s", "--json", "--overhead").stdout)
    (series,) = data["series"]
    assert (series["bytes"], series["packets"], series["empty_bins"], series["last_bin_complete"]) == (
        2560 + 4 * 24,
        4,
        1,
        False,
    )
    assert data["files"][0]["out_of_order"] == 1


def test_damage_is_an_error_unless_it_is_allowed(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    out = tmp_path / "v.parquet"
    result = invoke(file, "--bin", "1s", "-o", out)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"error: {file}: byte 252: the last record is cut: 50 bytes of a packet\n"
        "hint: the capture was probably ended while writing; --keep-partial keeps all before this record\n"
    )
    assert not out.exists()
    kept = invoke(file, "--bin", "1s", "-o", out, "--keep-partial")
    assert kept.exit_code == 1
    assert "damaged, read up to there: byte 252: the last record is cut" in kept.stderr
    assert read(out)[0].bytes.tolist() == [1560, 0, 900]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--bin", "1parsec"], "bin width '1parsec': expected a number above zero and a unit", "100ms"),
        (["--filter", "tcp porridge"], 'filter "tcp porridge": at "porridge" (column 5)', "for example"),
        (["--inside", "10.0.0.0/8"], "prefixes are inside, but no direction is asked for", "add --direction"),
        (["--inside", "10.0.0.1/8", "--direction", "in"], "the address has bits behind the prefix", "for example"),
        (["--direction", "split"], "no record says which way it went", "--inside 10.0.0.0/8"),
        (["--format", "word"], 'format "word" is not known', "one of pcap, pcapng"),
        (["--row", "novalue"], "--row novalue: expected COLUMN=VALUE", "--row interface"),
        (["--bin", "1ns", "--max-bins", "1000"], "more than 1000 bins of 1 ns", "use wider bins or raise --max-bins"),
    ],
)
def test_mistakes_are_errors_with_a_hint(file: Path, arguments: list[str], message: str, hint: str) -> None:
    result = invoke(file, *arguments)
    assert result.exit_code == 2
    first, second = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second
    assert result.stdout == ""


def test_files_that_cannot_be_opened_are_errors(tmp_path: Path) -> None:
    result = invoke(tmp_path / "gone.pcap")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path / 'gone.pcap'}: No such file or directory")
    folder = invoke(tmp_path)
    assert folder.exit_code == 2
    assert "is a folder, expected a file" in folder.stderr
    story = tmp_path / "story.txt"
    story.write_text("once upon a time\n")
    assert "cannot tell what this table holds" in invoke(story).stderr


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data/traces/pcap is not there")
def test_totals_are_those_of_capinfos() -> None:
    # capinfos -M -T -r -c -d FILE (Wireshark 4.0.17)
    totals = {
        "ics_cip_only.pcap": (18_798, 2_420_857),
        "ics_eip_ipaddresschange.pcap": (4_154, 2_011_990),
        "ndpi_alexa-app.pcapng": (3_103, 1_171_135),
        "zeek_ftp_cwd-navigation.pcap": (8_317, 654_497),
    }
    binned = traffic.bin_files([SHARED / name for name in totals], ["1s"], each=True)
    assert {v.name: (int(v.packets.sum()), int(v.bytes.sum())) for v in binned if v.packets is not None} == totals
