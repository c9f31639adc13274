"""Commands of ``anabranch``."""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.base import bundle, core, places, units
from anabranch.cli import complete, elsewhere, export, progress, synthetic, terminal, volume_report, volumes
from anabranch.cli.codec import codec_app
from anabranch.cli.common import EXIT_CODES, INTERRUPTED, describe, errors, stderr, stdout, tell
from anabranch.cli.help import WIDTH, App
from anabranch.cli.reproduce import reproduce_command
from anabranch.cli.routing import EPILOG as ROUTING_EPILOG
from anabranch.cli.routing import routing_command
from anabranch.cli.traffic import traffic_app
from anabranch.cli.transports import EPILOG as TRANSPORTS_EPILOG
from anabranch.cli.transports import transports_command
from anabranch.results.manifest import EMPTY
from anabranch.results.remarks import remarked
from anabranch.running import outputs, speed
from anabranch.running import plan as planning
from anabranch.running import run as running
from anabranch.running.options import reached

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from anabranch.results.manifest import RunEntry
    from anabranch.results.tables import Tables

# Polars, SciPy, Altair and Rich are imported where they are used: `--help`, `--version` and `--dry-run` need none of
# them (`tests/python/test_imports.py`).

FAULT = 70
"""Exit code for a fault of the program itself: EX_SOFTWARE of sysexits.h."""

app = App(
    name="anabranch",
    help="Simulate a data-centre fabric, compare transports, show the result.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)


JSON = typer.Option("--json", help="Print the statistics as JSON instead of a table.")

MOST_FULL = 5
"""Captures that are named when they have reached their limit."""


def _version(value: bool) -> None:  # noqa: FBT001 - typer calls it so
    if value:
        from anabranch.version import __version__  # noqa: PLC0415

        typer.echo(f"anabranch {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    _show: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Simulate a data-centre fabric, compare transports, show the result."""


@app.command(name="run", epilog=EXIT_CODES, short_help="Run a scenario: a table, and report.html.")
def run_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="Scenario file. Those that come with Anabranch, such as scenarios/examples/hello.toml, are found from "
            "everywhere.",
            metavar="FILE",
            autocompletion=complete.scenarios,
        ),
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="Settings that replace those of the file: transport.name=ndp.", metavar="[KEY=VALUE]..."),
    ] = None,
    *,
    out: Annotated[str | None, elsewhere.flag("out")] = None,
    as_json: Annotated[bool, JSON] = False,
    seeds: Annotated[int | None, elsewhere.flag("seeds")] = None,
    threads: Annotated[int, elsewhere.flag("threads")] = 0,
    on: Annotated[str | None, elsewhere.flag("on")] = None,
    on_options: Annotated[Path | None, elsewhere.flag("on_options")] = None,
    time_limit_wall: Annotated[str | None, elsewhere.flag("time_limit_wall_s")] = None,
    progress_style: Annotated[progress.Style, progress.OPTION] = progress.Style.AUTO,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs and how large they are, and stop.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = False,
    resume: Annotated[bool, elsewhere.flag("resume")] = False,
    force: Annotated[bool, elsewhere.flag("force")] = False,
) -> None:
    """Run a scenario: every sweep point under every seed; then a table and report.html."""
    chosen = list(overrides or ())
    with errors():
        code = _run(
            bundle.scenario(file),
            chosen,
            out=str(outputs.default(file, chosen, seeds=seeds)) if out is None else out,
            how=elsewhere.chosen(
                time_limit_wall, progress_style, seeds=seeds, threads=threads, on=on, on_options=on_options,
                resume=resume, force=force,
            ),
            as_json=as_json,
            dry_run=dry_run,
            report=not no_report,
        )  # fmt: skip
    raise typer.Exit(code)


@app.command(epilog=EXIT_CODES, short_help="Run the demonstration: four transports on 250 hosts.")
def demo(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="One seed instead of five.")] = False,
    out: Annotated[
        Path | None,
        elsewhere.flag("out", help="Folder for the results.", show_default="out/demo, or out/demo-quick"),
    ] = None,
    threads: Annotated[int, elsewhere.flag("threads")] = 0,
    resume: Annotated[bool, elsewhere.flag("resume")] = False,
    force: Annotated[bool, elsewhere.flag("force")] = False,
) -> None:
    """Run the demonstration: SCDP, NDP, DCTCP and TCP NewReno under web-search traffic on 250 hosts."""
    with errors():
        file = bundle.find(bundle.DEMO)
        code = _run(
            file,
            [],
            out=str(out or Path("out", "demo-quick" if quick else "demo")),
            how=elsewhere.How({"seeds": 1 if quick else None, "threads": threads, "resume": resume, "force": force}),
        )
    raise typer.Exit(code)


app.command(name="reproduce", epilog=EXIT_CODES, short_help="Run the papers' experiments again, and compare.")(
    reproduce_command
)
app.command(name="routing", epilog=ROUTING_EPILOG, short_help="Compute how routing schemes load a fabric.")(
    routing_command
)
app.command(name="transports", epilog=TRANSPORTS_EPILOG, short_help="List the transports there are.")(
    transports_command
)


@app.command(name="report", epilog=EXIT_CODES, short_help="Print the table of results, and write report.html again.")
def report_command(
    folder: Annotated[str, typer.Argument(help="Folder that `anabranch run` wrote, or its URL.", metavar="DIR")],
    *,
    as_json: Annotated[bool, JSON] = False,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write the statistics of every setting as CSV instead of printing a table.", metavar="FILE"),
    ] = None,
    table: Annotated[
        export.Table | None, typer.Option(help="Which table --csv writes.", show_default="statistics")
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="A link (leaf0-spine0) or a session (17) to draw over time in report.html; may be repeated.",
            metavar="NAME",
            show_default="the busiest, and what a failure touched",
        ),
    ] = None,
) -> None:
    """Print the table of an experiment, or write it as CSV, and write its report.html again."""
    with errors():
        from anabranch.results import manifest  # noqa: PLC0415

        export.check(folder, csv, table, as_json=as_json)
        manifest.read(places.reached(folder))  # before Polars is imported: most mistakes show here
        from anabranch.showing.notebook import load  # noqa: PLC0415

        results = load(folder)
        if csv is None:
            _show(results, as_json=as_json)
        else:
            export.write(results, csv, table or export.Table.STATISTICS)
            stderr().print(f"csv: {csv}", markup=False)
        _write_report(results, show or ())
    raise typer.Exit(1 if results.manifest.incomplete else 0)


@app.command(epilog=EXIT_CODES)
def schema(
    *,
    reference: Annotated[
        bool, typer.Option("--reference", help="Print the reference of scenario files, as Markdown, instead.")
    ] = False,
) -> None:
    """Print the JSON Schema of scenario files."""
    with errors():
        typer.echo(core.call("reference" if reference else "schema"))


app.add_typer(codec_app, name="codec")
for commands in (volumes, volume_report, synthetic):
    commands.register(traffic_app)
app.add_typer(traffic_app, name="traffic")


def _run(
    file: Path,
    overrides: list[str],
    *,
    out: str,
    how: elsewhere.How,
    as_json: bool = False,
    dry_run: bool = False,
    report: bool = True,
) -> int:
    """Plan, run, show; returns the exit code."""
    err = stderr()
    seeds, resume = how.options.get("seeds"), how.options.get("resume", False)
    plan = planning.plan(file, overrides, seeds=seeds)
    for warning in plan.warnings:
        err.print(warning, markup=False)
    if dry_run:
        _show_plan(plan, how, as_json=as_json)
        return 0
    where = reached(out, how.options)
    there = outputs.check(where, plan.runs, resume=resume, force=how.options.get("force", False))
    if there and not resume:
        err.print(
            f"note: {out} holds {len(there)} finished runs, which are made again; --resume keeps them", markup=False
        )
    command = running.command_line(file, overrides, out=out, seeds=seeds)
    kept_hashes = set(there.values()) if resume else set()
    missing = [run for run in plan.runs if run.hash not in kept_hashes]
    if sum(run.packets for run in missing) > speed.SHORT:  # seconds
        err.print(f"{len(missing)} runs, by an estimate: {how.time(missing)}", markup=False)
    with how.connected(err) as connected:
        connected["out"] = out
        results, signalled, shared = progress.watched(
            lambda watch: running.run(file, overrides, command=command, progress=watch, **connected),
            err,
            total=len(plan.runs),
            remaining=how.remaining(missing),
            threads=how.threads,
            style=how.progress,
            about=how.about(connected),
        )
    kept = [run for run in results.manifest.runs if run.status not in EMPTY]
    if kept:
        _show(results, as_json=as_json, shared=shared)
        if report:
            _write_report(results)
        _tell_captures(results, err)
    return _close(results, signalled=signalled, err=err)


def _close(results: Tables, *, signalled: int | None, err: Console) -> int:
    """Say how the runs ended and choose the exit code."""
    from anabranch.results.notes import STATUS  # noqa: PLC0415

    runs, waiting = results.manifest.runs, len(results.manifest.waiting)
    for run in results.manifest.incomplete:
        if run.status != "interrupted":
            err.print(f"{run.run}: {STATUS[run.status]}" + (f": {run.message}" if run.message else ""), markup=False)
    for run in results.manifest.impossible:
        err.print(f"{run.run}: {run.message}", markup=False)
    if waiting:
        err.print(
            f"interrupted: {len(runs) - waiting} of {len(runs)} runs finished and are kept in {results.folder}",
            markup=False,
        )
    unfinished = [run for run in runs if run.status in {"interrupted", "failed", "wall_limit"}]
    older = _finished_earlier(results, unfinished)
    if older:
        err.print(f"{older} of the others finished earlier and are kept there under hidden names", markup=False)
        rest = " and runs the rest" if older < len(unfinished) else ""
        err.print(f"hint: the same command with --resume brings these back{rest}", markup=False)
    elif waiting:
        err.print("hint: the same command with --resume runs the others", markup=False)
    elif unfinished:
        err.print("hint: the same command with --resume runs these again, and keeps the others", markup=False)
    if signalled is not None or waiting:
        return signalled or INTERRUPTED
    return 1 if results.manifest.incomplete or results.manifest.impossible else 0


def _finished_earlier(results: Tables, unfinished: Sequence[RunEntry]) -> int:
    """How many of these runs are in the folder all the same: they stepped aside, to be made again."""
    there = set(outputs.folder(results.folder).finished().values()) if unfinished else set()
    return sum(run.scenario_hash in there for run in unfinished)


def _tell_captures(results: Tables, err: Console) -> None:
    """Say where packet captures are, and which of them reached their limit."""
    runs = [run for run in results.manifest.runs if run.captures]
    if not runs:
        return
    folder = results.folder / "runs" / (runs[0].run if len(runs) == 1 else "*") / "packets"
    files = sum(1 + (capture.dropped_file is not None) for run in runs for capture in run.captures)
    packets = sum(capture.packets for run in runs for capture in run.captures)
    err.print(f"captures: {folder}: {packets} packets in {files} files", markup=False, highlight=False, soft_wrap=True)
    full = [(run, capture) for run in runs for capture in run.captures if capture.full_at_ns is not None]
    for run, capture in full[:MOST_FULL]:
        at = units.time(capture.full_at_ns or 0)
        err.print(
            f"warning: {run.run}: {capture.file} reached its limit at {at} and holds nothing after that", markup=False
        )
    if len(full) > MOST_FULL:
        err.print(f"warning: so did {len(full) - MOST_FULL} more; manifest.json lists them", markup=False)
    if full:
        err.print("hint: in [measure], packets_limit sets another limit", markup=False)


def _show(results: Tables, *, as_json: bool, shared: Mapping[str, Any] | None = None) -> None:
    """Print results; `shared` is what became of the runs that were given several threads."""
    from anabranch.showing import table  # noqa: PLC0415

    if as_json:
        more = {} if shared is None else {"on_several_threads": shared}
        typer.echo(json.dumps(table.as_json(results) | more, indent=2))
    else:
        stdout().print(table.render(results))


def _write_report(results: Tables, show: Sequence[str] = ()) -> None:
    from anabranch.showing import report  # noqa: PLC0415
    from anabranch.showing.report.over_time import Choice  # noqa: PLC0415

    sessions = tuple(int(name) for name in show if name.isdecimal())
    choice = Choice(tuple(name for name in show if not name.isdecimal()), sessions)
    stderr().print(f"report: {report.write(results, choice)}", markup=False)


def _show_plan(plan: planning.Plan, how: elsewhere.How, *, as_json: bool) -> None:
    rate = speed.of(plan.runs)
    rows: list[dict[str, Any]] = [
        {
            "run": run.run,
            "point": dict(run.point),
            "transport": run.transport,
            "seed": run.seed,
            "hosts": run.hosts,
            "sessions": run.sessions,
            "packets": run.packets,
            "samples": run.samples,
            "memory_bytes": run.memory_bytes,
            "seconds": run.packets / rate,
            "remarks": [{"text": remark.text, "hint": remark.hint} for remark in run.remarks],
        }
        for run in plan.runs
    ]
    if as_json:
        typer.echo(json.dumps({"runs": rows, "warnings": list(plan.warnings)}, indent=2))
        return
    # Plain text: rich would take minutes for the runs of a large sweep.
    names = ("run", "transport", "seed", "hosts", "sessions", "packets", "samples", "memory", "time", "point")
    right = {"seed", "hosts", "sessions", "packets", "samples", "memory", "time"}
    cells = [_plan_cells(run, rate) for run in plan.runs]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names[:-1])]
    lines = []
    for row in [names, *cells]:
        aligned = zip(names, row, widths, strict=False)
        padded = [cell.rjust(width) if name in right else cell.ljust(width) for name, cell, width in aligned]
        lines.append("  ".join([*padded, row[-1]]).rstrip())
    typer.echo("\n".join(lines))
    for line in remarked(run.remarks for run in plan.runs):
        typer.echo(f"note: {line}")
    typer.echo(f"{len(cells)} runs, by an estimate: {how.time(plan.runs)}")


def _plan_cells(run: planning.PlannedRun, rate: float) -> tuple[str, ...]:
    """Return the cells of a run in the list of a dry run."""
    point = ", ".join(f"{key} = {value}" for key, value in run.point.items())
    counts = (run.seed, run.hosts, run.sessions, run.packets, run.samples)
    time = units.duration(run.packets / rate)
    return (run.run, run.transport, *map(str, counts), f"{run.memory_bytes / 1e6:.0f} MB", time, point)


def main() -> None:
    """Entry point of the program."""
    terminal.tolerate()
    sys.exit(_guarded())


def _guarded() -> int:
    """Run the program; returns the exit code. Whatever was not foreseen ends here, in words."""
    try:
        try:
            app()
        except SystemExit as end:
            code = end.code
        if sys.stdout is not None:  # closed by the caller: `>&-`
            sys.stdout.flush()
    except BrokenPipeError:  # `anabranch ... | head`
        # Python flushes once more at its end: into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except OSError as error:  # standard output on a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        tell(describe(error))
        return 2
    except BaseException:  # noqa: BLE001 - a panic of the core is no `Exception`
        from anabranch.version import __version__  # noqa: PLC0415

        traceback.print_exc()
        tell(
            "this is a fault of anabranch, not of your input",
            f"report it with the lines above, the version ({__version__}) and the command: {shlex.join(sys.argv)}",
        )
        return FAULT
    return code if isinstance(code, int) else 0 if code is None else 1
