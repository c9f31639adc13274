"""Which files the statistics of traffic volumes read, and how: options that their commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_type_hints

import typer

from anabranch.cli import progress
from anabranch.cli.common import stderr
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.reading import Told
    from anabranch.traffic.series import Volumes

MOST_BINS = 200_000_000
"""Bins that may be allowed: 3 GB of them."""

FILES = "Parquet of volumes, tables of times and bytes, captures, counters, flow records; results of the simulator."

Files = Annotated[list[Path], typer.Argument(help=FILES, metavar="FILE...")]
Link = Annotated[
    str | None,
    typer.Option(
        "--link", help="Link of a results folder, such as h0-edge0.0.", metavar="LINK", show_default="all in use"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read: the options that all commands of ``anabranch traffic`` share, one definition for all.

    A message about a file may name any of them, so every command that reads files has them all: `reads` gives them.
    """

    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Tables: column of lengths, volumes or counters; may be repeated.",
            metavar="COLUMN",
            show_default="all",
        ),
    ] = None
    row: Annotated[
        list[str] | None, typer.Option(help="Tables: only rows in which a column has a value.", metavar="COLUMN=VALUE")
    ] = None
    by: Annotated[
        str | None, typer.Option(help="Tables: one series for each value of this column.", metavar="COLUMN")
    ] = None
    time: Annotated[str | None, typer.Option(help="Tables: column of the time.", metavar="COLUMN")] = None
    time_unit: Annotated[
        Literal["s", "ms", "us", "ns"] | None, typer.Option(help="Tables: unit of times that are numbers.")
    ] = None
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Tables: zone of times that do not say theirs. Bills: where months begin.",
            metavar="ZONE",
            show_default="UTC",
        ),
    ] = None
    time_format: Annotated[
        str | None,
        typer.Option(help="Tables: how times are written, such as '%d.%m.%Y %H:%M'.", metavar="FORMAT"),
    ] = None
    decimal: Annotated[
        Literal["point", "comma"] | None,
        typer.Option(help="Tables: how fractions are written.", show_default="as the first rows write them"),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(
            help="Tables of volumes: unit of the values, such as B, kbit, MB/s, Gbps.",
            metavar="UNIT",
            show_default="as the column's name says, or bytes",
        ),
    ] = None
    interval: Annotated[
        str | None,
        typer.Option(
            help="Tables of volumes: what a row stands for, such as 5min.",
            metavar="TIME",
            show_default="the usual time between their rows",
        ),
    ] = None
    counter_bits: Annotated[int | None, typer.Option(help="Counters: their width in bits.", metavar="32|64")] = None
    line_rate: Annotated[
        str | None,
        typer.Option(
            help="Tables of volumes and counters: what the line carries; larger values are unknown.",
            metavar="RATE",
            show_default="as a column ifSpeed says",
        ),
    ] = None
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What the files are: pcap, pcapng, erf, nfdump, csv-packets, csv-volumes, counters, prometheus, "
            "rrd-fetch, rrd-xport, mrtg, cacti.",
            metavar="NAME",
            show_default="what they look like",
        ),
    ] = None
    keep_partial: Annotated[
        bool, typer.Option("--keep-partial", help="If a file is damaged, keep what comes before the damage.")
    ] = False
    gap: Annotated[str | None, typer.Option(help="Silence longer than this is unknown, not zero.", metavar="TIME")] = (
        None
    )
    align: Annotated[
        Literal["first", "clock"],
        typer.Option(help="Begin bins with the first record, or at multiples of their width."),
    ] = "first"
    expression: Annotated[
        str | None,
        typer.Option(
            "--filter",
            help='Count only what matches, such as "net 10.0.0.0/8 and not tcp port 443".',
            metavar="EXPRESSION",
        ),
    ] = None
    overhead: Annotated[
        bool, typer.Option("--overhead", help="Add the 24 bytes that Ethernet sends around every packet.")
    ] = False
    max_bins: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_BINS, help="Bins of one width at most, 16 bytes each.", show_default="20 million"),
    ] = None

    @property
    def line_bps(self) -> float | None:
        """What the line carries, in bits per second."""
        from anabranch.traffic import quantities  # noqa: PLC0415

        return None if self.line_rate is None else quantities.bps(self.line_rate, "--line-rate")

    def told(self, *, link: str | None) -> Told:
        """The same for `anabranch.traffic.reading.read`."""
        from anabranch.traffic import quantities, reading  # noqa: PLC0415

        return reading.Told(
            bin_s=None if self.interval is None else quantities.seconds(self.interval, "--interval"),
            form=self.file_format,
            unit=self.unit,
            columns=tuple(self.column or ()),
            rows=conditions(self.row or ()),
            link=link,
            time=self.time,
            time_unit=self.time_unit,
            time_zone=self.time_zone,
            time_format=self.time_format,
            decimal=self.decimal,
            line_rate_bps=self.line_bps,
            by=self.by,
            counter_bits=_bits(self.counter_bits),
            gap=self.gap,
            keep_partial=self.keep_partial,
            max_bins=self.max_bins,
            filter=self.expression,
            overhead=self.overhead,
            align=self.align,
        )

    def binning(self) -> dict[str, Any]:
        """The same for `anabranch.traffic.bin_files`."""
        return {
            "columns": self.column or [],
            "rows": conditions(self.row or ()),
            "by": self.by,
            "time": self.time,
            "time_unit": self.time_unit,
            "time_zone": self.time_zone,
            "time_format": self.time_format,
            "decimal": self.decimal,
            "line_rate_bps": self.line_bps,
            "unit": self.unit,
            "interval": self.interval,
            "counter_bits": _bits(self.counter_bits),
            "format": self.file_format,
            "keep_partial": self.keep_partial,
            "gap": self.gap,
            "align": self.align,
            "filter": self.expression,
            "overhead": self.overhead,
            "max_bins": self.max_bins,
        }


def _bits(bits: int | None) -> Literal[32, 64] | None:
    if bits not in {None, 32, 64}:
        raise AnabranchError(f"--counter-bits {bits}: counters have 32 or 64 bits", hint="--counter-bits 64")
    return cast("Literal[32, 64] | None", bits)


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading`; it gets them together, as its parameter ``reading``."""
    signature = inspect.signature(command, eval_str=True)
    hints = get_type_hints(Reading, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[f.name]) for f in fields(Reading)]
    own = [one for one in signature.parameters.values() if one.name != "reading"]

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:  # noqa: ANN401 - whatever the command takes
        reading = Reading(**{option.name: given.pop(option.name) for option in options})
        command(**given, reading=reading)

    parameters = [*own, *options]
    with_reading.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_reading.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_reading


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the files of a command, and tells what is unusual about them."""

    reading: Reading = Reading()
    link: str | None = None
    tell: Callable[[str], object] | None = None

    def traces(
        self, files: Sequence[Path], widths: Sequence[float] = (), *, exact: Sequence[float] | None = None
    ) -> list[list[Volumes]]:
        """The series of files, those of one name together: the same trace at several widths."""
        return list(self.by_file(files, widths, exact=exact).values())

    def by_file(
        self, files: Sequence[Path], widths: Sequence[float] = (), *, exact: Sequence[float] | None = None
    ) -> dict[tuple[Path, str], list[Volumes]]:
        """The same by file and name.

        Parameters
        ----------
        files
            Files to read.
        widths
            Bin widths in seconds that are of use where a file can fill them.
        exact
            Those that somebody asked for: a file that cannot fill one of them is an error.

        Raises
        ------
        AnabranchError
            If a file or a trace is there twice, or a width is finer than what a file tells.
        """
        from anabranch.traffic import reading  # noqa: PLC0415

        told = self.reading.told(link=self.link)
        tell = self.tell or partial(stderr().print, markup=False)
        traces: dict[tuple[Path, str], list[Volumes]] = {}
        same: dict[Path, Path] = {}
        for file in files:
            if (first := same.setdefault(file.resolve(), file)) is not file:
                raise AnabranchError(f"{file} and {first} are one file", hint="name each file once")
            with progress.reading(stderr()) as shown:
                found = reading.read(file, widths=widths, exact=exact or (), told=told, tell=tell, progress=shown)
            for one in found:
                trace = traces.setdefault((file, one.name), [])
                if any(other.bin_ns == one.bin_ns for other in trace):
                    raise AnabranchError(
                        f"{file}: {one.name!r} is there twice with the same bins", hint="name each file once"
                    )
                trace.append(one)
        return traces


def conditions(rows: Sequence[str]) -> dict[str, str]:
    """Read ``COLUMN=VALUE`` conditions.

    Raises
    ------
    AnabranchError
        If one has no ``=``.
    """
    found = {}
    for row in rows:
        column, equals, value = row.partition("=")
        if not equals or not column:
            raise AnabranchError(f"--row {row}: expected COLUMN=VALUE", hint="--row interface=Hu0/0/0/0")
        found[column] = value
    return found


def widest(traces: Sequence[Volumes], width_ns: int) -> Volumes:
    """Of the series of a trace the widest of which a width is a multiple; the widest of all if there is none."""
    fitting = [one for one in traces if width_ns % one.bin_ns == 0]
    return max(fitting or traces, key=lambda one: one.bin_ns)
