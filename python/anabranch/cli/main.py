"""Commands of ``anabranch``."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from anabranch.base import bundle, core, places, targets
from anabranch.cli import complete, elsewhere, export, progress, runs, synthetic, terminal, volume_report, volumes
from anabranch.cli.codec import codec_app
from anabranch.cli.common import EXIT_CODES, INTERRUPTED, describe, errors, stderr, tell
from anabranch.cli.help import WIDTH, App
from anabranch.cli.job import EPILOG as JOB_EPILOG
from anabranch.cli.job import job_command
from anabranch.cli.reproduce import reproduce_command
from anabranch.cli.routing import EPILOG as ROUTING_EPILOG
from anabranch.cli.routing import routing_command
from anabranch.cli.traffic import traffic_app
from anabranch.cli.transports import EPILOG as TRANSPORTS_EPILOG
from anabranch.cli.transports import transports_command
from anabranch.running import outputs

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
        code = runs.run(
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
        code = runs.run(
            file,
            [],
            out=str(out or Path("out", "demo-quick" if quick else "demo")),
            how=elsewhere.How({"seeds": 1 if quick else None, "threads": threads, "resume": resume, "force": force}),
        )
    raise typer.Exit(code)


app.command(name="job", epilog=JOB_EPILOG, short_help="Run a training job or a collective on a fabric.")(job_command)
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
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Write what the ranks of jobs did as a trace in JSON, for ui.perfetto.dev or chrome://tracing.",
            metavar="FILE",
        ),
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
        if trace is not None:
            targets.check(trace, [] if places.is_url(folder) else [folder], "--trace")
        manifest.read(places.reached(folder))  # before Polars is imported: most mistakes show here
        from anabranch.showing.notebook import load  # noqa: PLC0415

        results = load(folder)
        if csv is None:
            runs.show(results, as_json=as_json)
        else:
            export.write(results, csv, table or export.Table.STATISTICS)
            stderr().print(f"csv: {csv}", markup=False)
        if trace is not None:
            from anabranch.results import tracing  # noqa: PLC0415

            tracing.write(results, trace)
            stderr().print(f"trace: {trace}", markup=False)
        runs.write_report(results, show or ())
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
