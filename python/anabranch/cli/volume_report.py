"""The command ``anabranch traffic report``: traces to one page with the paper's figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.common import errors, stderr, stdout
from anabranch.cli.volume_files import Files, Link, Reader, Reading, reads
from anabranch.errors import AnabranchError


def register(app: typer.Typer) -> None:
    """Add the command to a group."""
    app.command(name="report", short_help="Study traces, and write a page with tables and figures.")(report_command)


@reads
def report_command(
    files: Files,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.", metavar="FILE")] = Path("report.html"),
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Also write every figure as SVG and PDF, and its data as CSV.", metavar="DIR", show_default="none"
        ),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            "--bin",
            help="Bin widths T, with commas between; Figure 6 has its own.",
            metavar="TIMES",
            show_default="5ms,100ms,1s,5s, or the file's",
        ),
    ] = None,
    epsilon: Annotated[
        str, typer.Option(help="Shares of bins that may exceed a capacity, with commas between.", metavar="SHARES")
    ] = "0.5,0.1,0.05,0.01",
    capacity: Annotated[
        str | None, typer.Option(help="Capacity of the links, to find saturation.", metavar="RATE")
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            help="Name or number of the trace of Figures 3 and 5.",
            metavar="TRACE",
            show_default="the best log-normal without anomalies",
        ),
    ] = None,
    link: Link = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every number as JSON, too.")] = False,
    reading: Reading,
) -> None:
    """Study traces and write a page: likelihood ratios, correlations, capacities and percentiles, as in the paper.

    Files in several folders are several sets of traces, named by their folders.
    """
    with errors():
        from anabranch.base import targets  # noqa: PLC0415
        from anabranch.traffic import quantities, report, sweep  # noqa: PLC0415

        targets.check(out, files, "-o")
        if figures is not None:
            targets.check_folder(figures, files, "--figures")
        chosen = sweep.WIDTHS if widths is None else quantities.widths(widths)
        shares = _shares(epsilon)
        full = None if capacity is None else quantities.bps(capacity, "--capacity")
        said: list[str] = []
        reader = Reader(reading, link, said.append)
        asked = None if widths is None else chosen
        traces = reader.by_file(files, (*chosen, *report.DIMENSION_WIDTHS), exact=asked)
        if show is not None:
            report.chosen([name for _, name in traces], show)
        with stderr().status("", spinner="dots") as status:

            def told(name: str) -> None:
                status.update(f"studying {name}")

            studied, without = report.study(
                list(traces.values()),
                widths=chosen,
                epsilons=shares,
                capacity_bps=full,
                sets=report.folders([file for file, _ in traces]),
                told=told,
            )
            status.update("drawing")
            made = report.make(
                studied,
                epsilons=shares,
                shown=show,
                notes=[*said, *(f"not studied: {reason}" for reason in without)],
                command=["anabranch", *sys.argv[1:]],
            )
            report.write(made, out)
            if figures is not None:
                report.write_figures(made, figures)
        if as_json:
            typer.echo(json.dumps(made.as_json(), indent=2, allow_nan=False))
        else:
            for text in report.findings(studied):
                stdout().print(text, markup=False, highlight=False)
        stderr().print(f"report: {out}" + (f"; figures: {figures}" if figures else ""), markup=False)


def _shares(text: str) -> list[float]:
    """Read shares with commas between, largest first.

    Raises
    ------
    AnabranchError
        If one is none.
    """
    try:
        shares = sorted({float(part) for part in text.split(",")}, reverse=True)
    except ValueError:
        shares = [0.0]
    if not all(0 < share < 1 for share in shares):
        raise AnabranchError(
            f"--epsilon {text!r}: expected shares of bins between 0 and 1, with commas between", hint="0.1,0.05,0.01"
        )
    return shares
