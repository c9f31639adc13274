"""The commands ``anabranch traffic ...``: captures to volume series."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from anabranch.base import units
from anabranch.base.moments import moment
from anabranch.cli import progress
from anabranch.cli.common import INTERRUPTED, errors, stderr, stdout
from anabranch.cli.help import App
from anabranch.cli.volume_files import Reading, reads
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console, RenderableType

    from anabranch.traffic import Binned, Gap

traffic_app = App(
    help="Study the traffic of links: distributions, capacities, bills.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

ROWS = 500
"""Series that the table shows."""

SHOWN = 5
"""Gaps of a series that are written out."""


@traffic_app.callback()
def traffic_options() -> None:
    """Study the traffic of links: distributions, capacities, bills."""


@traffic_app.command(name="bin", short_help="Read captures, counters or tables into volume series.")
@reads
def bin_command(
    files: Annotated[
        list[str],
        typer.Argument(
            help="pcap, pcapng, ERF, nfdump CSV, tables of packets, volumes or counters, exports of Prometheus, "
            "RRDtool, MRTG and Cacti; as they are, or compressed by gzip, xz or zstd. - is standard input.",
            metavar="FILE...",
        ),
    ],
    *,
    bins: Annotated[
        str | None,
        typer.Option(
            "--bin", help="Bin widths, with commas between.", metavar="T[,T...]", show_default="5ms,100ms,1s,5s"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the series to a Parquet file.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON instead of a table.")] = False,
    each: Annotated[bool, typer.Option("--each", help="One series for each file instead of one of all.")] = False,
    direction: Annotated[
        Literal["in", "out", "split"] | None,
        typer.Option(help="Count what comes in or goes out; split: both, as two series."),
    ] = None,
    inside: Annotated[
        str | None,
        typer.Option(
            help="Prefixes that are inside, with commas between.",
            metavar="PREFIX[,...]",
            show_default="capture's marks",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=0, help="Files read at a time; 0 means one per core.")] = 0,
    reading: Reading,
) -> None:
    """Read captures, flow records, counters or tables into volume series, for all bin widths at once."""
    with errors():
        if out is not None:
            from anabranch.base import targets  # noqa: PLC0415

            targets.check(out, files, "-o")
        options = reading.binning() | {
            "each": each,
            "direction": direction,
            "inside": listed(inside),
            "threads": threads,
        }
        try:
            binned = read(files, listed(bins), options, stderr())
        except KeyboardInterrupt as interrupt:
            stderr().print("interrupted: nothing was written", markup=False)
            raise typer.Exit(INTERRUPTED) from interrupt
        warn(binned, stderr())
        if out is not None:
            binned.write(out)
            stderr().print(f"volumes: {out}", markup=False)
        if as_json:
            typer.echo(json.dumps(as_data(binned), indent=2))
        else:
            stdout().print(render(binned))
            if len(binned) > ROWS:
                stderr().print(f"{len(binned) - ROWS} more series: --json lists them all", markup=False)
    raise typer.Exit(1 if any(file.damaged for file in binned.files) else 0)


def listed(text: str | None) -> list[str]:
    """Split at commas.

    Examples
    --------
    >>> listed("5ms, 1s"), listed(None)
    (['5ms', '1s'], [])
    """
    return [part.strip() for part in text.split(",")] if text else []


def read(files: Sequence[str], bins: Sequence[str], options: Mapping[str, Any], console: Console) -> Binned:
    """Read files, drawing progress on standard error if that is a terminal."""
    from anabranch.traffic import bin_files  # noqa: PLC0415 - pulls in Polars, which `--help` can do without

    with progress.reading(console) as told:
        return bin_files(files, bins, progress=told, **options)


def warn(binned: Binned, console: Console) -> None:
    """Say on standard error what should be known before the numbers are used."""
    if not binned.volumes:
        reasons = (f"{file.path}: {'; '.join(file.notes) or 'no records'}" for file in binned.files)
        raise AnabranchError("nothing to count: " + "; ".join(reasons))
    from anabranch.traffic import spikes  # noqa: PLC0415 - NumPy, which `--help` can do without

    for file in binned.files:
        for text in file.remarks:
            console.print(f"{file.path}: {text}", markup=False)
    for text in spikes.remarks(binned):
        console.print(text, markup=False)
    for volumes, twice in zip(binned.volumes, binned.claimed_twice, strict=True):
        if twice:
            width = units.time(volumes.bin_ns)
            console.print(f"{volumes.name}: {twice} bins of {width} have more than one value: added up", markup=False)
    for text in gap_lines(binned):
        console.print(text, markup=False)


def gap_lines(binned: Binned) -> list[str]:
    """Say where nothing is known; series with the same gaps share the lines."""
    alike: dict[tuple[Gap, ...], list[str]] = {}
    named: set[str] = set()
    for volumes, gaps in zip(binned.volumes, binned.gaps, strict=True):
        if gaps and volumes.name not in named:
            named.add(volumes.name)
            alike.setdefault(gaps, []).append(volumes.name)
    lines = []
    for gaps, names in alike.items():
        name = names[0] + (f" and {len(names) - 1} more series" if len(names) > 1 else "")
        for gap in gaps[:SHOWN]:
            length = units.time(gap.to_ns - gap.from_ns)
            lines.append(f"{name}: nothing is known for {length} from {moment(gap.from_ns)} on ({gap.why})")
        if len(gaps) > SHOWN:
            lines.append(f"{name}: {len(gaps) - SHOWN} more gaps")
    return lines


def rows(binned: Binned, most: int | None = None) -> list[dict[str, Any]]:
    """Sum up every series, or the first few: one row for each name and bin width."""
    found = []
    for index, volumes in enumerate(binned.volumes[:most]):
        known = ~volumes.missing
        rates = volumes.rates()
        found.append(
            {
                "series": volumes.name,
                "bin_ns": volumes.bin_ns,
                "start_ns": volumes.start_ns,
                "bins": len(volumes),
                "bytes": int(volumes.bytes[known].sum()),
                "packets": None if volumes.packets is None else int(volumes.packets[known].sum()),
                "mean_bps": float(rates.mean()) if rates.size else None,
                "empty_bins": int((volumes.bytes[known] == 0).sum()),
                "unknown_bins": int(volumes.missing.sum()),
                "last_bin_complete": volumes.complete,
                "gaps": [asdict(gap) for gap in binned.gaps[index]],
                "claimed_twice": binned.claimed_twice[index],
                "out_of_order": sum(binned.files[number].out_of_order for number in binned.sources[index]),
            }
        )
    return found


def as_data(binned: Binned) -> dict[str, Any]:
    """All reports, for ``--json``."""
    return {"series": rows(binned), "files": [asdict(file) for file in binned.files]}


def render(binned: Binned) -> RenderableType:
    """Lay the sums out for a terminal."""
    from rich import box  # noqa: PLC0415 - `--help` can do without
    from rich.table import Table  # noqa: PLC0415

    from anabranch.showing.layout import narrowing  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("series", no_wrap=True)
    columns = ("bin", "bins", "bytes", "mean rate", "empty bins", "unknown bins", "gaps", "last bin", "out of order")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows(binned, ROWS):
        table.add_row(
            row["series"],
            units.time(row["bin_ns"]),
            str(row["bins"]),
            str(row["bytes"]),
            units.rate(row["mean_bps"]),
            str(row["empty_bins"]),
            str(row["unknown_bins"]),
            str(len(row["gaps"])),
            "complete" if row["last_bin_complete"] else "partial",
            str(row["out_of_order"]),
        )
    return narrowing(table)
