"""From captures, flow records, counters and tables to volume series: thin over the compiled core."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from anabranch.base import core, units
from anabranch.errors import TrafficError
from anabranch.traffic.quantities import nanoseconds
from anabranch.traffic.series import Volumes, write

Progress = Callable[[Mapping[str, Any]], bool]
"""Told a few times per second ``files_done``, ``files_total``, ``bytes_read`` and ``bytes_total``; False stops."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Time of which nothing is known, and why: silence, between files, missing poll, counter reset, missing rows."""

    from_ns: int
    to_ns: int
    why: str


@dataclass(frozen=True, slots=True)
class Least:
    """The shortest bins that the records of a series can fill.

    Attributes
    ----------
    bin_ns
        Width in nanoseconds; 0 where any will do.
    why
        A clause, such as ``"polls come about every 5 min"``.
    """

    bin_ns: int = 0
    why: str = ""

    def allows(self, width_ns: int) -> bool:
        """Whether bins of a width are wide enough; pollers that are late by a tenth are taken for what was meant."""
        return width_ns >= self.bin_ns - self.bin_ns // 10


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was in a file.

    Attributes
    ----------
    path, format, compression
        The file, what it is, and how it is compressed.
    reader
        The same as `format`; of a document, such as those of RRDtool, as what its table was read.
    assumed
        Of a table: what its columns were taken for.
    records
        Packets, flows, polls or rows; all of them, matching or not.
    bytes, packets
        Bytes and packets of all of them: original lengths, without overhead.
    first_ns, last_ns
        Time of the first and the last record; None if there is none.
    out_of_order, largest_step_back_ns
        Records earlier than one before them in the file, and by how much at most. They are in the right bins, but for
        polls of counters, which are left out.
    longest_silence_ns, longest_silence_at_ns
        The longest time without a record, and where it began.
    left_out
        Records that the filter or the direction left out.
    undecided
        Records whose headers do not say whether they match (cut, or of a kind not known); left out too.
    unstamped
        Packets without a time stamp: in `bytes`, in no bin.
    rounded
        Volumes of a table that were rounded to whole bytes.
    damaged
        Why the file was not read to its end, if that was allowed.
    notes
        What else is worth knowing.
    """

    path: str
    format: str
    reader: str
    compression: str | None
    assumed: str | None
    records: int
    bytes: int
    packets: int
    first_ns: int | None
    last_ns: int | None
    out_of_order: int
    largest_step_back_ns: int
    longest_silence_ns: int
    longest_silence_at_ns: int
    left_out: int
    undecided: int
    unstamped: int
    rounded: int
    damaged: str | None
    notes: tuple[str, ...]

    @property
    def remarks(self) -> list[str]:
        """What is unusual about the file, a line each."""
        said = [f"read as {self.format}: {self.assumed}"] if self.assumed else []
        said += self.notes
        if self.damaged:
            said.append(f"damaged, read up to there: {self.damaged}")
        if self.undecided:
            share = f"{self.undecided} of {self.records} records"
            why = "cut, encrypted, or of a kind not known here"
            said.append(f"{share} have headers that do not say whether they match ({why}), and are left out")
        if self.records and self.left_out == self.records:
            said.append("no record matches")
        if self.unstamped:
            said.append(f"{self.unstamped} packets have no time stamp: they are in no bin")
        if self.rounded:
            said.append(f"{self.rounded} volumes were rounded to whole bytes")
        if self.out_of_order:
            back = units.time(self.largest_step_back_ns)
            where = (
                "left out, the polls around them count" if self.reader == "counters" else "they are in the right bins"
            )
            said.append(f"{self.out_of_order} records out of order, by up to {back}; {where}")
        return said


@dataclass(frozen=True, slots=True)
class Binned:
    """Volume series, and what to know before trusting them. Iterating gives the series.

    Attributes
    ----------
    volumes
        One for each series and bin width, the widths in the order they were asked for.
    gaps
        For each of them, when nothing was known; at most 10 000 gaps.
    claimed_twice
        For each of them, bins that more than one row of a table claims.
    files
        One report for each file, in the order they were given.
    sources
        For each series, the places of its files in `files`.
    least
        For each series, the shortest bins that it can have: of polls those of the interval between them, of a table its
        rows', of whole-second time stamps one second. Shorter ones are refused.
    """

    volumes: tuple[Volumes, ...]
    gaps: tuple[tuple[Gap, ...], ...]
    claimed_twice: tuple[int, ...]
    files: tuple[FileReport, ...]
    sources: tuple[tuple[int, ...], ...]
    least: tuple[Least, ...]

    def __len__(self) -> int:
        return len(self.volumes)

    def __iter__(self) -> Iterator[Volumes]:
        return iter(self.volumes)

    def __getitem__(self, index: int) -> Volumes:
        return self.volumes[index]

    def write(self, path: str | Path) -> None:
        """Write all series to one Parquet file (``docs/reference/volumes.md``), which appears when it is complete."""
        write(path, self.volumes)


def bin_files(
    files: str | Path | Sequence[str | Path],
    bins: Sequence[str] = (),
    *,
    align: Literal["first", "clock"] = "first",
    each: bool = False,
    filter: str | None = None,  # noqa: A002 - the word of the command line
    direction: Literal["in", "out", "split"] | None = None,
    inside: Sequence[str] = (),
    overhead: bool = False,
    keep_partial: bool = False,
    gap: str | None = None,
    format: str | None = None,  # noqa: A002 - the word of the command line
    if_unclear: Literal["csv-packets", "csv-volumes", "counters"] | None = None,
    parts: int = 1,
    time: str | None = None,
    columns: Sequence[str] = (),
    by: str | None = None,
    rows: Mapping[str, str] | None = None,
    unit: str | None = None,
    time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    interval: str | None = None,
    counter_bits: Literal[32, 64] | None = None,
    time_zone: str | None = None,
    time_format: str | None = None,
    decimal: Literal["point", "comma"] | None = None,
    line_rate_bps: float | None = None,
    max_bins: int | None = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> Binned:
    """Read captures, flow records, interface counters or tables into volume series: once, for all bin widths.

    What a file is, and how it is compressed, is found by looking into it.

    Parameters
    ----------
    files
        Files to read. Together they make one series, in order of time, unless `each` is set.
    bins
        Bin widths, such as ``"100ms"``; less than the file tells (`Binned.least`) is refused. Default: those of 5 ms,
        100 ms, 1 s and 5 s that are not less for packets, the file's own interval for volumes and counters, 5 minutes
        for flow records.
    align
        ``"first"``: the first bin begins with the first record. ``"clock"``: bins begin at multiples of their width
        since 1970 UTC, and the first, usually partial, is missing.
    each
        One series for each file.
    filter
        Count only what matches, such as ``"net 10.0.0.0/8 and not tcp port 443"``.
    direction
        Count only what comes in or goes out, or both as two series.
    inside
        Prefixes that are inside, for `direction`; without them the marks of the capture count.
    overhead
        Add the 24 bytes that Ethernet sends around every packet.
    keep_partial
        If a file is damaged, keep what comes before the damage.
    gap
        Silence longer than this is missing, not zero. Default: only pauses between files that are longer than 1 s and
        than every silence in the files; for counters, intervals of more than three polls.
    format
        What the files are, if they do not look it: ``pcap``, ``pcapng``, ``erf``, ``nfdump``, ``csv-packets``,
        ``csv-volumes``, ``counters``, ``prometheus``, ``rrd-fetch``, ``rrd-xport``, ``mrtg`` or ``cacti``.
    if_unclear
        What a table is taken for if it does not tell. Default: that is an error.
    parts
        Tables of volumes: parts of a byte to keep, 1 to 10^9; with more than 1 the series are of floats.
    time, columns, by, rows
        Tables: the column of the time; the columns of lengths, volumes or counters; the column that says to which
        series a row belongs; the rows to read, as column and value.
    unit
        Tables of volumes: unit of the values, such as ``"B"``, ``"kbit"`` or ``"MB/s"``. Default: as the column's name
        ends, or bytes.
    time_unit
        Tables: unit of times that are numbers. Default: as the column's name ends, or seconds.
    interval
        Tables of volumes: what a row stands for. Default: the usual step between rows.
    counter_bits
        Counters: their width. Default: 64 bits if the name says so, or any value needs more than 32.
    time_zone
        Tables: zone of times that do not say theirs, by its name in the IANA database. Default: UTC; then a step back
        as clocks make it when summer time ends is an error.
    time_format
        Tables: how times are written, as ``strptime`` has it: ``"%d.%m.%Y %H:%M"``.
    decimal
        Tables: how fractions are written. Default: as the first rows write them.
    line_rate_bps
        Tables of volumes and counters: what the line carries, in bits per second; larger values are missing. Default:
        as a column ``ifSpeed`` or ``ifHighSpeed`` says.
    max_bins
        Bins of one width at most; default: 20 million.
    threads
        Files read at the same time; 0: one for each core.
    progress
        Called a few times per second; returns False to stop.

    Returns
    -------
    Binned
        One `Volumes` for each series and bin width, and a report for each file.

    Raises
    ------
    TrafficError
        If a file is damaged or none of ours, or the request makes no sense.
    AnabranchError
        If a width, `gap` or `interval` is no time.
    OSError
        If a file cannot be opened.
    """
    paths = [files] if isinstance(files, str | Path) else list(files)
    for path in map(str, paths):
        try:
            path.encode()
        except UnicodeEncodeError as error:  # the core takes names as text
            raise TrafficError(f"{path!a}: not valid UTF-8", hint="give the file another name") from error
    request: dict[str, Any] = {
        "files": [str(path) for path in paths],
        "bins_ns": list(dict.fromkeys(nanoseconds(width, "bin width") for width in bins)),
        "align": align,
        "each": each,
        "format": format,
        "if_unclear": if_unclear,
        "parts": parts,
        "filter": filter,
        "direction": direction,
        "inside": list(inside),
        "overhead": overhead,
        "keep_partial": keep_partial,
        "gap_ns": None if gap is None else nanoseconds(gap, "gap"),
        "max_bins": max_bins,
        "threads": threads,
        "time": time,
        "columns": list(columns),
        "by": by,
        "rows": list((rows or {}).items()),
        "unit": unit,
        "time_unit": time_unit,
        "interval_ns": None if interval is None else nanoseconds(interval, "interval"),
        "counter_bits": counter_bits,
        "time_zone": time_zone,
        "time_format": time_format,
        "decimal": decimal,
        "line_rate_bps": line_rate_bps,
    }
    told = None if progress is None else lambda text: bool(progress(json.loads(text)))
    header, buffers = core.traffic_bin(json.dumps(request), told)
    return _binned(json.loads(header), buffers, parts)


def _binned(header: Mapping[str, Any], buffers: Sequence[tuple[bytes, bytes | None, bytes]], parts: int) -> Binned:
    whole_bytes = parts == 1
    files = tuple(
        FileReport(**{**report, "notes": tuple(report["notes"]), "rounded": report["rounded"] if whole_bytes else 0})
        for report in header["files"]
    )
    found = [entry["series"] for entry in header["series"]]
    volumes = tuple(
        Volumes(
            bin_ns=one["bin_ns"],
            start_ns=one["start_ns"],
            bytes=whole if whole_bytes else whole / parts,
            missing=np.frombuffer(missing, dtype=np.bool_),
            packets=None if packets is None else np.frombuffer(packets, dtype="<i8"),
            complete=one["complete"],
            name=one["name"],
            source=", ".join(files[number].path for number in one["files"]),
        )
        for one, (volume, packets, missing) in zip(found, buffers, strict=True)
        for whole in (np.frombuffer(volume, dtype="<i8"),)
    )
    return Binned(
        volumes,
        tuple(tuple(Gap(**gap) for gap in one["gaps"]) for one in found),
        tuple(one["claimed_twice"] for one in found),
        files,
        tuple(tuple(one["files"]) for one in found),
        tuple(Least(**one["least"]) for one in found),
    )
