"""Which files the statistics of traffic volumes read, and how: options that their commands share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import progress
from anabranch.cli.common import stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anabranch.traffic.series import Volumes

FILES = "Parquet of volumes, tables of times and bytes per bin, captures, interface counters or flow records."

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
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")]


@dataclass(frozen=True, slots=True)
class Reader:
    """How the files of a command are read: what they do not tell themselves."""

    interval: str | None
    form: str | None
    unit: str | None
    tell: Callable[[str], object] | None = None

    def traces(self, files: Sequence[Path], widths: Sequence[float] = ()) -> list[list[Volumes]]:
        """The series of files, those of one name together: the same trace at several widths."""
        from anabranch.traffic import quantities, reading  # noqa: PLC0415

        bin_s = None if self.interval is None else quantities.seconds(self.interval, "--interval")
        tell = self.tell or partial(stderr().print, markup=False)
        traces: dict[tuple[Path, str], list[Volumes]] = {}
        for file in files:
            with progress.reading(stderr()) as told:
                found = reading.read(
                    file, widths=widths, bin_s=bin_s, form=self.form, unit=self.unit, tell=tell, progress=told
                )
            for one in found:
                traces.setdefault((file, one.name), []).append(one)
        return list(traces.values())


def widest(traces: Sequence[Volumes], width_ns: int) -> Volumes:
    """Of the series of a trace the widest of which a width is a multiple; the widest of all if there is none."""
    fitting = [one for one in traces if width_ns % one.bin_ns == 0]
    return max(fitting or traces, key=lambda one: one.bin_ns)
