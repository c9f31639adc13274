"""The command ``anabranch codec bench``: measure with a progress bar, and lay the numbers out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch import codec
from anabranch.base import targets, units
from anabranch.cli.common import INTERRUPTED, errors, stderr, stdout
from anabranch.cli.help import App
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType


codec_app = App(
    help="Measure the RaptorQ codec of this project.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@codec_app.callback()
def codec_options() -> None:
    """Measure the RaptorQ codec of this project."""


@codec_app.command(name="bench", short_help="Measure speed, and how long a receiver waits for a block.")
def bench_command(
    *,
    symbol_size: Annotated[int, typer.Option(min=1, max=65535, help="Bytes of a symbol.")] = codec.SYMBOL_SIZE,
    source_symbols: Annotated[
        str | None,
        typer.Option(
            "--k", help="Source symbols of a block, with commas between.", metavar="N[,N...]", show_default="1 to 10000"
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few samples: to try it, not to quote it.")] = False,
    latency_table: Annotated[
        Path | None, typer.Option(help="Write the latencies to a file for transport.scdp.decode_table.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of a table.")] = False,
) -> None:
    """Measure speed, and how long a receiver waits for a block, by block size and losses."""
    with errors():
        if latency_table is not None:
            targets.check(latency_table, [], "--latency-table")
        chosen = None if source_symbols is None else numbers(source_symbols)
        try:
            table = measure(stderr(), symbol_size=symbol_size, source_symbols=chosen, quick=quick)
        except KeyboardInterrupt as interrupt:
            stderr().print("interrupted: nothing was written", markup=False)
            raise typer.Exit(INTERRUPTED) from interrupt
        if latency_table is not None:
            table.write(latency_table)
            stderr().print(f"latency table: {latency_table}", markup=False)
        if as_json:
            typer.echo(table.to_json(), nl=False)
        else:
            stdout().print(render(table))


def numbers(text: str) -> list[int]:
    """Read whole numbers with commas between.

    Examples
    --------
    >>> numbers("10, 100")
    [10, 100]

    Raises
    ------
    AnabranchError
        If it is anything else.
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise AnabranchError(f"--k {text}: expected whole numbers with commas between", hint="--k 10,50,100") from error


def measure(
    console: Console, *, symbol_size: int, source_symbols: Sequence[int] | None, quick: bool
) -> codec.LatencyTable:
    """Measure, drawing progress on standard error if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn  # noqa: PLC0415

    columns = (MofNCompleteColumn(), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        return codec.bench(
            symbol_size=symbol_size,
            source_symbols=source_symbols,
            quick=quick,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )


def render(table: codec.LatencyTable) -> RenderableType:
    """Lay a table out for a terminal: one row for each block size."""
    from rich import box  # noqa: PLC0415 - `--help` can do without
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    size = table.symbol_size
    lines = Table(
        title=f"One thread, symbols of {size} bytes", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for name in ("K", "encode", "decode", *(f"{rate} % lost" for rate in codec.LOSSES), "slowest"):
        lines.add_column(name, justify="right", no_wrap=True)
    for row in table.rows():
        latencies = (units.time(row.decode_ns[rate]) if rate in row.decode_ns else "" for rate in codec.LOSSES)
        lines.add_row(
            str(row.source_symbols),
            units.rate(row.encode_bps),
            units.rate(row.decode_bps),
            *latencies,
            units.time(row.slowest_ns),
        )
    legend = (
        "encode: a block to one repair symbol; decode: 5 % lost, from the first symbol handed over. "
        "The others: from the last symbol to the block; slowest: of any number of losses, as simulations use it."
    )
    return Group(lines, Text(legend, style="dim"), Text(f"measured on {table.origin}", style="dim"))
