"""Real traffic in ../shared, which is not part of the project: series by the names of the "first look" table there."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import re
import struct
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anabranch.traffic.series import SECOND, Grid, Volumes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TRACES = SHARED / "traces"
MISSING = f"no {SHARED}: real traces are not part of the project"


def rows(file: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV file, comments left out."""
    path = TRACES / file
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        header, *body = csv.reader(line for line in lines if not line.startswith("#"))
    return header, body


def column(file: str, name: str, *, where: tuple[str, str] | None = None) -> NDArray[np.float64]:
    """One column as numbers, of the rows in which another column has a value."""
    header, body = rows(file)
    place = header.index(name)
    if where is not None:
        key = header.index(where[0])
        body = [row for row in body if row[key] == where[1]]
    return np.array([float(row[place]) for row in body])


def stamps(file: str, name: str, *, where: tuple[str, str] | None = None) -> NDArray[np.int64]:
    """One column of times as nanoseconds of Unix time."""
    header, body = rows(file)
    place = header.index(name)
    if where is not None:
        key = header.index(where[0])
        body = [row for row in body if row[key] == where[1]]
    times = [dt.datetime.fromisoformat(row[place]).replace(tzinfo=dt.UTC) for row in body]
    return np.array([round(time.timestamp() * 1000) * (SECOND // 1000) for time in times], dtype=np.int64)


def binned(times_s: NDArray[np.float64], lengths: NDArray[np.float64], bin_s: float, name: str) -> Volumes:
    """Packets to bins from time zero on, which is the first packet of a capture; the last bin is not complete and left
    out."""
    bins = np.floor(times_s / bin_s + 1e-9).astype(int)
    return Volumes.of(np.bincount(bins, lengths)[:-1], bin_s=bin_s, name=name)


def pcap(file: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times from the first packet on, in seconds, and original lengths, of a capture in either format."""
    data = (TRACES / "pcap" / file).read_bytes()
    packets = list(_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else _pcap(data))
    times, lengths = (np.array(part) for part in zip(*packets, strict=True))
    order = np.argsort(times, kind="stable")
    return (times[order] - times.min()) / SECOND, lengths[order].astype(float)


def _pcap(data: bytes) -> Iterator[tuple[int, int]]:
    order, unit = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000), b"\x4d\x3c\xb2\xa1": ("<", 1)}[
        data[:4]
    ]
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, captured, length = struct.unpack_from(f"{order}IIII", data, at)
        yield seconds * SECOND + fraction * unit, length
        at += 16 + captured


def _pcapng(data: bytes) -> Iterator[tuple[int, int]]:
    """Little-endian, with enhanced packet blocks in microseconds: all that is in the shared file."""
    at = 0
    while at + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, _, length = struct.unpack_from("<IIII", data, at + 12)
            yield ((high << 32) | low) * 1000, length
        at += size


def laid(times_ns: NDArray[np.int64], values: NDArray[np.float64], bin_s: float, name: str) -> Volumes:
    """Rows with times to bins; those without a row are missing."""
    grid = Grid.over(times_ns, round(bin_s * SECOND), name)
    known = grid.lay(np.ones(values.size, dtype=bool), nothing=False)
    return Volumes(round(bin_s * SECOND), grid.start_ns, grid.lay(values, 0), ~known, name=name)


def _bellcore(bin_s: float) -> Volumes:
    file = "bellcore_pAug89_first100k.csv.gz"
    times = column(file, "t_s")
    return binned(times - times[0], column(file, "bytes"), bin_s, "bellcore_pAug89_first100k")


def _mbps(file: str, name: str, label: str) -> Volumes:
    """Mean rates in Mb/s per five minutes."""
    return Volumes.of(column(file, name) * 1e6 / 8 * 300, bin_s=300, name=label)


def _plain(file: str, name: str, label: str, bin_s: float, *, where: tuple[str, str] | None = None) -> Volumes:
    """Numbers per bin as they are, one row after the other."""
    return Volumes.of(column(file, name, where=where), bin_s=bin_s, name=label)


def _counters(port: str, name: str, label: str) -> Volumes:
    """Mean rate between polls of a counter: bins of the mean interval, which is how the table was made."""
    file = "cisco_leaf7_100g_counters.csv.gz"
    counts = column(file, name, where=("interface", port))
    times = stamps(file, "time", where=("interface", port))
    seconds = np.diff(times) / SECOND
    width = float(seconds.mean())
    return Volumes.of(np.diff(counts) / seconds * width, bin_s=width, name=label)


def _capture(file: str, bin_s: float) -> Volumes:
    times, lengths = pcap(file)
    return binned(times, lengths, bin_s, file)


def _movie(bin_s: float | None) -> Volumes:
    file = "mpeg_movie_frames.csv.gz"
    sizes = column(file, "bytes")
    if bin_s is None:
        return Volumes.of(sizes, bin_s=1 / 30, name="mpeg_movie_frames")
    return binned(column(file, "t_ms") / 1000, sizes, bin_s, "mpeg_movie_frames")


ABILENE, BELL, CMU = "abilene_nodes_5min.csv.gz", "bell_labs_1router_5min.csv", "cmu_links_5min.csv.gz"
AWS = ("aws_ec2_network_in_257a54_5min", "aws_ec2_network_in_5abac7_5min", "aws_i-a2eb1cd9_networkin_5min")
VMS = "bitbrains_rnd_vms_5min.csv.gz"
CAPTURES = (
    "ics_cip_only.pcap",
    "ics_eip_ipaddresschange.pcap",
    "ndpi_alexa-app.pcapng",
    "zeek_ftp_cwd-navigation.pcap",
)


def _all() -> dict[tuple[str, str], Callable[[], Volumes]]:
    """Every row of the table: (trace, bin) to what makes it."""
    made: dict[tuple[str, str], Callable[[], Volumes]] = {}
    for label, width in (("5 ms", 0.005), ("100 ms", 0.1), ("1 s", 1.0)):
        made["bellcore_pAug89_first100k", label] = partial(_bellcore, width)
    lan = "bellcore_ethernetTraffic_4000"
    made[lan, "native"] = partial(_plain, f"{lan}.csv", "bytes", lan, 0.01)
    made["mpeg_movie_frames", "1 s"] = partial(_movie, 1.0)
    made["mpeg_movie_frames", "frame"] = partial(_movie, None)
    made["ukerna_backbone_5min", "5 min"] = partial(
        _plain, "ukerna_backbone_5min.csv", "gbit", "ukerna_backbone_5min", 300
    )
    for name in ("total", "in_NYCMng", "in_ATLAng", "out_LOSAng", "od_WASHng>NYCMng"):
        made[f"abilene {name}", "5 min"] = partial(_mbps, ABILENE, name, f"abilene {name}")
    for name in ("total", "src_corp"):
        made[f"bell_labs {name}", "5 min"] = partial(_plain, BELL, name, f"bell_labs {name}", 300)
    for name in ("link0", "link5"):
        made[f"cmu {name}", "bin"] = partial(_plain, CMU, name, f"cmu {name}", 300)
    for name in AWS:
        made[name, "5 min"] = partial(_plain, f"{name}.csv", "bytes", name, 300)
    for vm in ("384", "94", "500", "420"):
        name = f"bitbrains vm{vm} rx"
        made[name, "5 min"] = partial(_plain, VMS, "rx_KBps", name, 300, where=("vm", vm))
    for file in CAPTURES:
        for label, width in (("100 ms", 0.1), ("1 s", 1.0)):
            made[file, label] = partial(_capture, file, width)
    for port, direction in (("0", "received"), ("31", "received"), ("8", "sent"), ("16", "sent")):
        name = f"cisco_leaf7 Hu0/0/0/{port} {direction[:2]}"
        made[name, "11.6 s"] = partial(_counters, f"Hu0/0/0/{port}", f"bytes_{direction}", name)
    return made


SERIES = _all()
"""What makes each series of the table, by trace and bin."""


def first_look() -> list[dict[str, str]]:
    """The rows of the "first look" table, by its column names."""
    text = (SHARED / "README.md").read_text(encoding="utf-8").split("### First look")[1]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    header, _, *body = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [dict(zip(header, row, strict=True)) for row in body]
