"""The command ``anabranch reproduce``: experiments of the papers, from their scenarios to figures and comparison."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.base import bundle, units
from anabranch.cli import complete, elsewhere, progress
from anabranch.cli.common import INTERRUPTED, errors, stderr, stdout
from anabranch.errors import AnabranchError
from anabranch.running import speed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console, RenderableType
    from rich.table import Table

    from anabranch.cli.catalogue import Entry
    from anabranch.reproduce.comparison import Row
    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.runner import Job, Outcome
    from anabranch.results.tables import Tables
    from anabranch.running.options import Options

UNFINISHED = 1
"""Exit code if runs did not come to their end."""

# The package of experiments pulls in Polars, SciPy and Altair, which `anabranch --help` can do without: it is imported
# where it is used.


def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments (scdp/fig13) or papers (scdp, polyraptor, ndp, joy, song), or rivals.",
            metavar="[NAME]...",
            autocompletion=complete.experiments,
        ),
    ] = None,
    *,
    list_: Annotated[
        bool, typer.Option("--list", help="List the experiments, with the time that each takes, and stop.")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="All experiments of the papers named, or of every paper.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smaller version of the same shape: seconds, not minutes or hours.")
    ] = False,
    seeds: Annotated[int | None, elsewhere.flag("seeds")] = None,
    threads: Annotated[int, elsewhere.flag("threads")] = 0,
    on: Annotated[str | None, elsewhere.flag("on")] = None,
    on_options: Annotated[Path | None, elsewhere.flag("on_options")] = None,
    time_limit_wall: Annotated[str | None, elsewhere.flag("time_limit_wall_s")] = None,
    progress_style: Annotated[progress.Style, progress.OPTION] = progress.Style.AUTO,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and reports.", metavar="DIR")] = Path(
        "out/reproduce"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Do finished runs again, too.")] = False,
    decode_table: Annotated[
        str | None,
        typer.Option(
            help="Decode latencies of SCDP's blocks: `measured` on this project's codec, or a file that "
            "`anabranch codec bench --latency-table` wrote. Results go to a folder of their own.",
            metavar="NAME|FILE",
            show_default="what the scenario says: the paper's rate",
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="In a clone: record the outcome in docs/fidelity/data, and write the comparison tables again.",
        ),
    ] = False,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="In a clone: write the comparison tables again from the records; run nothing."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="In a clone: check the recorded comparison; exit code 1 if a deviation is not explained, or a record "
            "is older than the model.",
        ),
    ] = False,
) -> None:
    """Reproduce experiments of the papers: figures as SVG, PDF and in report.html, beside the paper's numbers.

    Finished runs are kept: after an interruption the same command goes on where it stopped.
    """
    with errors():
        if record:
            bundle.clone("--record")  # before hours of runs
        how = elsewhere.chosen(time_limit_wall, progress_style, threads=threads, on=on, on_options=on_options)
        if decode_table is not None and (record or check or list_ or pages):
            said = "--list, --record, --pages or --check"
            raise AnabranchError(f"--decode-table does not go with {said}: those are the papers'")
        if pages and (names or all_ or record or check or list_):
            raise AnabranchError("--pages goes with no names and no other task: it writes all tables and runs nothing")
        if list_:
            _list(names or [], quick=quick, seeds=seeds, threads=threads)
            code = 0
        elif check:
            code = _check()
        elif pages or (record and not names and not all_):
            code = _write_pages(stderr())
        else:
            code = _reproduce(
                names or [],
                all_=all_,
                quick=quick,
                seeds=seeds,
                how=how,
                out=out,
                fresh=fresh,
                keep=record,
                decode_table=decode_table,
            )
    raise typer.Exit(code)


def _chosen(names: Sequence[str], *, all_: bool) -> tuple[Experiment, ...]:
    from anabranch.reproduce import registry  # noqa: PLC0415

    if not names and not all_:
        raise AnabranchError(
            "which experiment?", hint="`anabranch reproduce --list` lists them; --all reproduces every one"
        )
    return registry.find(names) if names else registry.experiments()


def _with_table(chosen: Sequence[Experiment], err: Console) -> list[Experiment]:
    """Those of the experiments that a table of decode latencies can be chosen for."""
    from anabranch.reproduce import runner  # noqa: PLC0415

    found = []
    for one in chosen:
        why = runner.own_decoder(one)
        if why is None:
            found.append(one)
        else:
            err.print(f"{one.name}: left out: {why}", markup=False)
    if not found:
        raise AnabranchError("--decode-table: none of these experiments can use it")
    return found


def _reproduce(
    names: Sequence[str],
    *,
    all_: bool,
    quick: bool,
    seeds: int | None,
    how: elsewhere.How,
    out: Path,
    fresh: bool,
    keep: bool,
    decode_table: str | None,
) -> int:
    from anabranch.reproduce import comparison, pages, ranking, runner  # noqa: PLC0415

    err = stderr()
    out, chosen = runner.place(out, decode_table), list(_chosen(names, all_=all_))
    if decode_table is not None:
        chosen = _with_table(chosen, err)
    jobs = [runner.prepare(one, out, quick=quick, seeds=seeds, decode_table=decode_table) for one in chosen]
    _announce(jobs, err, how, fresh=fresh)
    outcomes: list[Outcome] = []
    missing: list[Job] = []
    with how.connected(err) as connected:
        for job in jobs:
            err.print(f"{job.experiment.name}: {job.experiment.title}", style="bold", markup=False)
            results, code = _run(job, how, connected, err, fresh=fresh, keep=keep)
            if code == UNFINISHED:
                missing.append(job)
                continue
            if code is not None:
                return code
            outcome = runner.finish(job, results)
            outcomes.append(outcome)
            if keep:
                _keep(outcome, err)  # first: what follows reads other records, too
            err.print(f"  report: {pages.write(outcome)}", markup=False)
            pages.write_index(out)
    records = {outcome.record.experiment: outcome.record for outcome in outcomes}
    rows = comparison.rows([outcome.job.experiment for outcome in outcomes], records)
    if rows:
        stdout().print(_compared(rows))
    for outcome in outcomes:
        if outcome.job.experiment.ranking is not None:
            stdout().print("\n".join(ranking.lines(outcome.job.experiment, outcome.record)), markup=False)
    err.print(f"index: {out / 'index.html'}", markup=False)
    if keep:
        _write_pages(err)
    incomplete = [
        (o.job.experiment.name, run)
        for o in outcomes
        for run in (*o.job.experiment.incomplete(o.results.manifest), *o.results.manifest.impossible)
    ]
    for name, run in incomplete:
        err.print(f"{name}, {run.run}: {run.status}" + (f": {run.message}" if run.message else ""), markup=False)
    return UNFINISHED if incomplete or missing else 0


def _run(
    job: Job, how: elsewhere.How, connected: Options, err: Console, *, fresh: bool, keep: bool
) -> tuple[Tables, int | None]:
    """Make the runs of an experiment; returns an exit code, too, if they are not all there.

    To `keep` what they cost, each takes one core.
    """
    from anabranch.reproduce import costs, runner  # noqa: PLC0415

    missing = job.plan.runs if fresh else job.missing()
    if keep and how.on is None:
        threads = costs.threads(missing, how.threads)
        how, connected = replace(how, options={**how.options, "threads": threads}), {**connected, "threads": threads}
    results, code, _ = progress.watched(
        lambda watch: runner.run(job, fresh=fresh, progress=watch, **connected),
        err,
        total=len(job.plan.runs),
        remaining=how.remaining(missing, costs.known(job.experiment.name, quick=job.quick)),
        threads=how.threads,
        style=how.progress,
        about={"experiment": job.experiment.name, **how.about(connected)},
    )
    runs, waiting = results.manifest.runs, len(results.manifest.waiting)
    if code is not None or waiting:
        err.print(f"interrupted: {len(runs) - waiting} of {len(runs)} runs are kept; the same command runs the others")
        return results, code or INTERRUPTED
    unfinished = [run for run in runs if run.status in runner.UNFINISHED]
    for run in unfinished:
        err.print(f"{run.run}: {run.status}: {run.message}", markup=False)
    if unfinished:
        err.print(f"{len(unfinished)} of {len(runs)} runs are missing; the same command makes them again")
    return results, UNFINISHED if unfinished else None


def _announce(jobs: Sequence[Job], err: Console, how: elsewhere.How, *, fresh: bool) -> None:
    """Say what will be run, and how long it will take."""
    for job in jobs:
        for warning in job.plan.warnings:
            err.print(f"{job.experiment.name}: {warning}", markup=False)
    total = 0.0
    recorded = runs = kept = 0
    for job in jobs:
        seconds, missing, known = _estimate(job, how, fresh=fresh)
        total += seconds
        runs, recorded, kept = runs + missing, recorded + known, kept + len(job.plan.runs) - missing
        if len(jobs) > 1:
            err.print(f"{job.experiment.name}: {missing} runs, about {units.duration(seconds)}", markup=False)
    there = f", {kept} are there already" if kept else ""
    if runs:
        source = "recorded times" if recorded == runs else "a calibration on this machine"
        source = source if recorded in {0, runs} else f"recorded times for {recorded} runs and {source}"
        err.print(f"{runs} runs to do{there}; about {units.duration(total)} (estimated from {source})", markup=False)
    else:
        err.print(f"no runs to do{there}", markup=False)


def _estimate(job: Job, how: elsewhere.How, *, fresh: bool) -> tuple[float, int, int]:
    """Seconds that a job takes, the number of its runs, and of how many of these the time was recorded."""
    from anabranch.reproduce import costs  # noqa: PLC0415

    runs = list(job.plan.runs) if fresh else job.missing()
    if not runs:
        return 0.0, 0, 0
    times = costs.known(job.experiment.name, quick=job.quick)
    each = speed.predict(runs, times, speed=speed.calibrate())
    recorded = sum(times is not None and speed.point_key(run.point) in times.seconds for run in runs)
    return speed.seconds([*how.shared(runs, each).values()], how.threads), len(runs), recorded


def _keep(outcome: Outcome, err: Console) -> None:
    """Record an outcome in the repository; the quick size never replaces the full one."""
    from anabranch.reproduce import age, costs, record  # noqa: PLC0415

    root, name = bundle.clone("--record"), outcome.job.experiment.name
    manifest = outcome.results.manifest
    if not outcome.job.experiment.calculate:
        costs.write(costs.path(root, name), manifest, outcome.job.plan, quick=outcome.job.quick)
    file = record.path(root, name)
    there = record.read(file)
    if outcome.job.quick and there is not None and not there.quick:
        err.print(f"  {file} holds the full size and is kept; only the times are recorded", markup=False)
        return
    record.write(file, replace(outcome.record, commit=age.commit(root)))
    err.print(f"  recorded: {file}", markup=False)


def _write_pages(err: Console) -> int:
    """Write the comparison tables of the documents again, from the records; what was renewed waits no more."""
    from anabranch.base import targets  # noqa: PLC0415
    from anabranch.reproduce import documents, registry, waiting  # noqa: PLC0415

    root = bundle.clone("--pages")
    for name in waiting.settle(root, registry.experiments()):
        err.print(f"{name}: recorded with the current model", markup=False)
    for page, text in documents.pages(root):
        targets.put(page, text)
        err.print(f"table: {page}", markup=False)
    return 0


def _check() -> int:
    from anabranch.reproduce import age, documents, fairness, record, registry  # noqa: PLC0415

    root = bundle.clone("--check")
    experiments = registry.experiments()
    records = record.read_all(root, experiments)
    for remark in fairness.remarks(experiments, records):
        stderr().print(f"remark: {remark}", markup=False, highlight=False)
    found = fairness.problems(root, experiments, records, age.old(root, experiments, records))
    found += [problem for problem in documents.stale(root) if problem not in found]
    for problem in found:
        stdout().print(problem, markup=False, highlight=False)
    stderr().print(f"{len(found)} problems" if found else "every recorded number agrees or is explained")
    return 1 if found else 0


def _list(names: Sequence[str], *, quick: bool, seeds: int | None, threads: int) -> None:
    from anabranch.cli import catalogue  # noqa: PLC0415
    from anabranch.showing.layout import Fitting  # noqa: PLC0415

    known, speed = catalogue.entries(quick=quick)
    wanted = {name.strip("/") for name in names}
    if wanted - {part for one in known for part in (one.name, one.paper)}:
        _chosen(names, all_=False)  # it says what was probably meant
    shown = [one for one in known if not names or wanted & {one.name, one.paper}]
    shown = shown if seeds is None else [one.under(seeds) for one in shown]
    times = {one.name: one.seconds(speed, threads or os.cpu_count() or 1) for one in shown if not one.problem}
    stdout().print(Fitting(lambda: [_experiments(shown, times)], lambda: _experiment_lines(shown, times)))
    stdout().print(f"{'quick' if quick else 'full'} size: about {units.duration(sum(times.values()))} in all")


def _title(one: Entry) -> str:
    return f"{one.title} (cannot be planned: {one.problem})" if one.problem else one.title


def _experiments(shown: Sequence[Entry], times: Mapping[str, float]) -> Table:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("name", "figures", "title"):
        table.add_column(column, no_wrap=column == "name", min_width=20 if column == "title" else None)
    for column in ("runs", "time"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in shown:
        runs, time = ("–", "–") if one.problem else (str(one.runs or "–"), units.duration(times[one.name]))
        table.add_row(one.name, ", ".join(one.figures), _title(one), runs, time)
    return table


def _experiment_lines(shown: Sequence[Entry], times: Mapping[str, float]) -> list[RenderableType]:
    """The list for a narrow terminal."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    lines: list[RenderableType] = []
    for one in shown:
        count = f", {one.runs} runs" if one.runs else ""
        runs = "" if one.problem else f"{count}, {units.duration(times[one.name])}"
        lines += [Text(one.name, style="bold"), Padding(Text(f"{_title(one)}{runs}"), (0, 0, 0, 2))]
    return lines


def _compared(rows: Sequence[Row]) -> RenderableType:
    """What was measured beside what the papers say."""
    from anabranch.showing.layout import Fitting  # noqa: PLC0415

    return Fitting(lambda: [_table(rows)], lambda: _lines(rows))


def _table(rows: Sequence[Row]) -> Table:
    from rich import box  # noqa: PLC0415 - `--help` can do without
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, right in (("experiment", 0), ("the paper says", 0), ("paper", 1), ("measured", 1), ("ratio", 1)):
        says = column == "the paper says"
        table.add_column(column, justify="right" if right else "left", no_wrap=not says, min_width=20 if says else None)
    table.add_column("verdict", min_width=12)
    for row in rows:
        table.add_row(row.experiment.name, row.claim.says, row.paper, row.measured, row.ratio, row.words)
    return table


def _lines(rows: Sequence[Row]) -> list[RenderableType]:
    """The same for a narrow terminal."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    lines: list[RenderableType] = []
    for row in rows:
        lines.append(Text(f"{row.experiment.name}: {row.claim.says}"))
        texts = (f"paper     {row.paper}", f"measured  {row.measured}", f"ratio     {row.ratio}, {row.words}")
        lines += [Padding(Text(text), (0, 0, 0, 2)) for text in texts]
    return lines
