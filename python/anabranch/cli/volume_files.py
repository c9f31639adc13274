"""Which files the statistics of traffic volumes read, and how: options that their commands share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import progress
from anabranch.cli.common import stderr
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anabranch.traffic.series import Volumes

FILES = "Parquet of volumes, tables of times and bytes, captures, counters, flow records; results of the simulator."

Files = Annotated[list[Path], typer.Argument(help=FILES, metavar="FILE...")]
Interval = Annotated[
    str | None,
    typer.Option(
        "--interval",
        help="Tables of volumes: what a row stands for.",
        metavar="TIME",
        show_default="the usual time between their rows",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="What the files are: pcap, pcapng, erf, nfdump, csv-packets, csv-volumes, counters.",
        metavar="NAME",
        show_default="what they look like",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        help="Tables of volumes: unit of the values, such as B, kbit, MB/s, Gbps.",
        show_default="as the column's name ends, or bytes",
    ),
]
Column = Annotated[
    list[str] | None, typer.Option(help="Tables: column of volumes or counters; may be repeated.", show_default="all")
]
Row = Annotated[
    list[str] | None, typer.Option(help="Tables: only rows in which a column has a value.", metavar="COLUMN=VALUE")
]
Link = Annotated[
    str | None, typer.Option("--link", help="Link of a results folder, such as h0-edge0.0.", show_default="all in use")
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")]


@dataclass(frozen=True, slots=True)
class Reader:
    """How the files of a command are read: what they do not tell themselves, and who is told what is unusual."""

    interval: str | None
    form: str | None
    unit: str | None
    column: Sequence[str] | None
    row: Sequence[str] | None
    link: str | None = None
    tell: Callable[[str], object] | None = None

    def traces(self, files: Sequence[Path], widths: Sequence[float] = ()) -> list[list[Volumes]]:
        """The series of files, those of one name together: the same trace at several widths."""
        return list(self.by_file(files, widths).values())

    def by_file(self, files: Sequence[Path], widths: Sequence[float] = ()) -> dict[tuple[Path, str], list[Volumes]]:
        """The same by file and name.

        Raises
        ------
        AnabranchError
            If a trace is there twice.
        """
        from anabranch.traffic import quantities, reading  # noqa: PLC0415

        told = reading.Told(
            bin_s=None if self.interval is None else quantities.seconds(self.interval, "--interval"),
            form=self.form,
            unit=self.unit,
            columns=list(self.column or ()),
            rows=conditions(self.row or ()),
            link=self.link,
        )
        tell = self.tell or partial(stderr().print, markup=False)
        traces: dict[tuple[Path, str], list[Volumes]] = {}
        for file in files:
            with progress.reading(stderr()) as shown:
                found = reading.read(file, widths=widths, told=told, tell=tell, progress=shown)
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
