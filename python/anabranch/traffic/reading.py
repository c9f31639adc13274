"""Volume series from any file: Parquet as this package writes it, what `anabranch.traffic.bin_files` reads, or results.

The second are captures, interface counters, flow records, and tables of times and volumes. A table that could as well
be one of packets or of counters is taken for one of volumes, because statistics are what its reader wants; and volumes
that are averages keep their fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from anabranch.base import units
from anabranch.errors import TrafficError
from anabranch.traffic import series, simulated, spikes
from anabranch.traffic.bin import Binned, Least, Progress, bin_files
from anabranch.traffic.series import SECOND, VolumesError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.traffic.series import Volumes

Tell = Callable[[str], object]
"""Told, line by line, what should be known before the numbers are used."""

VOLUMES: Literal["csv-volumes"] = "csv-volumes"
"""The format whose bins are as wide as the file says; everything else can be binned to any width."""

DIGITS = 9
"""Decimals of a byte that fractions keep, at most."""

LARGEST = 9e18
"""Integers that the reader can count to."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a file does not tell itself.

    Attributes
    ----------
    bin_s
        Width of the bins of a table of volumes in seconds; default: the usual time between its rows.
    form, unit
        Format of the file, and unit of its volumes (``format`` and ``unit`` of `bin_files`).
    columns, rows
        Of a table: the columns and the rows to read, as for `bin_files`.
    link
        Of a results folder: the link (`anabranch.traffic.simulated.link_volumes`); default: all that sent anything.
    time, time_unit, time_zone, time_format, decimal
        As for `bin_files`.
    by, counter_bits, line_rate_bps, gap, keep_partial, max_bins, filter, overhead, align
        As for `bin_files`.
    """

    bin_s: float | None = None
    form: str | None = None
    unit: str | None = None
    columns: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    link: str | None = None
    time: str | None = None
    time_unit: Literal["s", "ms", "us", "ns"] | None = None
    time_zone: str | None = None
    time_format: str | None = None
    decimal: Literal["point", "comma"] | None = None
    by: str | None = None
    counter_bits: Literal[32, 64] | None = None
    line_rate_bps: float | None = None
    gap: str | None = None
    keep_partial: bool = False
    max_bins: int | None = None
    filter: str | None = None
    overhead: bool = False
    align: Literal["first", "clock"] = "first"


def read(
    file: str | Path,
    *,
    widths: Sequence[float] = (),
    exact: Sequence[float] = (),
    told: Told = Told(),
    tell: Tell | None = None,
    progress: Progress | None = None,
) -> list[Volumes]:
    """Read the series of a file.

    Parameters
    ----------
    file
        Parquet (``.parquet``), what `anabranch.traffic.bin_files` reads, or a results folder of the simulator; not
        standard input, as a file may have to be read twice.
    widths
        Bin widths in seconds that will be wanted: a capture, flow records and counters are binned to those that its
        usual widths do not make, and that it has the records for. Volumes have the width that the file has.
    exact
        Widths that somebody asked for, likewise: one that is finer than what the file tells is refused.
    told
        What the file does not tell itself.
    tell
        Told what is unusual about the file.
    progress
        Told how far reading is; see `anabranch.traffic.bin_files`.

    Returns
    -------
    list[Volumes]
        At least one; several of one name differ in width. Bins of which nothing is known are missing.

    Raises
    ------
    VolumesError
        If a Parquet file or a results folder cannot be read.
    TrafficError
        If another file cannot be read, or holds nothing, or a width of `exact` is finer than what it tells; the message
        names the file and the place.
    """
    found = _read(file, Wanted(widths, exact), told, tell, progress)
    _fine_enough(found, exact, file)
    return found


def _fine_enough(found: Sequence[Volumes], widths: Sequence[float], file: str | Path) -> None:
    """Refuse widths below those of the series: what lies within a bin nobody knows."""
    finest: dict[str, int] = {}
    for one in found:
        finest[one.name] = min(one.bin_ns, finest.get(one.name, one.bin_ns))
    for width in widths:
        for name, bin_ns in finest.items():
            if round(width * SECOND) < bin_ns:
                what = f"{file}: {name}" if len(finest) > 1 else str(file)
                raise _too_fine(what, width, Least(bin_ns, f"its bins are of {units.time(bin_ns)}"))


def _too_fine(what: str, width: float, least: Least) -> TrafficError:
    finer = f"bins of {units.time(round(width * SECOND))} are finer than what is known"
    return TrafficError(f"{what}: {finer}: {least.why}", hint=f"choose bins of {units.time(least.bin_ns)} or wider")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Widths in seconds: those of use where a file can fill them, and those that it must."""

    useful: Sequence[float]
    exact: Sequence[float]


def _read(file: str | Path, wanted: Wanted, told: Told, tell: Tell | None, progress: Progress | None) -> list[Volumes]:
    path = Path(file)
    say = tell or (lambda _: None)
    if path.is_dir():
        if replace(told, link=None, time_zone=None) != Told():
            say(f"{path}: a results folder tells its format, unit and width itself: how to read it has no effect")
        return simulated.link_volumes(path, link=told.link)
    if told.link is not None:
        say(f"{path}: only results folders have links: --link has no effect")
    if path.suffix == ".parquet":
        found = series.read(path)
        if not found:
            raise VolumesError(f"{path}: no series in it")
        if replace(told, link=None, time_zone=None) != Told():
            say(f"{path}: Parquet tells its format, unit, width and series itself: how to read it has no effect")
        return found
    if str(file) == "-":
        raise TrafficError("standard input cannot be read here", hint="anabranch traffic bin - -o volumes.parquet")
    if path.is_fifo():
        raise TrafficError(
            f"{path}: a pipe can be read once, and a file may have to be read twice",
            hint=f"anabranch traffic bin {path} -o volumes.parquet",
        )
    return _measured(path, wanted, told, say, progress)


def _measured(path: Path, wanted: Wanted, told: Told, say: Tell, progress: Progress | None) -> list[Volumes]:
    """What `bin_files` reads."""

    def binned(bins: Sequence[float], parts: int = 1) -> Binned:
        return bin_files(
            path,
            [_text(width) for width in bins],
            format=told.form,
            if_unclear=VOLUMES,
            parts=parts,
            unit=told.unit,
            interval=None if told.bin_s is None else _text(told.bin_s),
            columns=told.columns,
            rows=told.rows,
            time=told.time,
            time_unit=told.time_unit,
            time_zone=told.time_zone,
            time_format=told.time_format,
            decimal=told.decimal,
            by=told.by,
            counter_bits=told.counter_bits,
            line_rate_bps=told.line_rate_bps,
            gap=told.gap,
            keep_partial=told.keep_partial,
            max_bins=told.max_bins,
            filter=told.filter,
            overhead=told.overhead,
            align=told.align,
            progress=progress,
        )

    try:
        usual = binned(())
    except FileNotFoundError as error:
        raise TrafficError(f"{path}: no such file") from error
    if not usual.volumes:
        why = "; ".join(usual.files[0].notes) or "no records in it"
        raise TrafficError(
            f"{path}: {why}", hint="a row is a bin, a poll or a packet; --row and --filter choose among them"
        )
    if usual.files[0].rounded:
        largest = max(float(one.bytes.max()) for one in usual)
        usual = binned((), 10 ** min(DIGITS, int(math.log10(LARGEST / max(largest, 1.0)))))
    report = usual.files[0]
    for line in report.remarks:
        say(f"{path}: {line}")
    for line in spikes.remarks(usual):
        say(line)
    _once(usual, path)
    if report.reader != VOLUMES and (told.bin_s is not None or told.unit is not None):
        say(f"{path}: {report.format} has a unit and any width: what was said of them has no effect")
    made = list(usual)
    least = max(usual.least, key=lambda one: one.bin_ns)
    for width in wanted.exact:
        if not least.allows(round(width * SECOND)):
            raise _too_fine(str(path), width, least)
    others = [
        width
        for width in dict.fromkeys((*wanted.exact, *wanted.useful))
        if least.allows(round(width * SECOND)) and all(round(width * SECOND) % one.bin_ns for one in made)
    ]
    if others and report.reader != VOLUMES:
        made += binned(others)
    return made


def _once(binned: Binned, path: Path) -> None:
    """Refuse two values for one bin: a sum of them is no volume that anybody measured."""
    for volumes, twice in zip(binned, binned.claimed_twice, strict=True):
        if twice:
            raise TrafficError(
                f"{path}: {volumes.name}: {twice} bins have more than one value",
                hint="remove what the table repeats; if it holds several series: --row COLUMN=VALUE",
            )


def _text(seconds: float) -> str:
    return f"{round(seconds * SECOND)}ns"
