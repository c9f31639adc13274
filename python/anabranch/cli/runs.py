"""What a command does that runs a scenario: plans it, runs it, shows the results, and says how the runs ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from anabranch.base import units
from anabranch.cli import elsewhere, progress
from anabranch.cli.common import INTERRUPTED, stderr, stdout
from anabranch.results.manifest import EMPTY
from anabranch.results.remarks import remarked
from anabranch.running import outputs, speed
from anabranch.running import plan as planning
from anabranch.running import run as running
from anabranch.running.options import reached

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from anabranch.results.manifest import RunEntry
    from anabranch.results.tables import Tables

# Polars, SciPy, Altair and Rich are imported where they are used (`tests/python/test_imports.py`).

MOST_FULL = 5
"""Captures that are named when they have reached their limit."""


def run(
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
        show(results, as_json=as_json, shared=shared)
        if report:
            write_report(results)
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


def show(results: Tables, *, as_json: bool, shared: Mapping[str, Any] | None = None) -> None:
    """Print results; `shared` is what became of the runs that were given several threads."""
    from anabranch.showing import table  # noqa: PLC0415

    if as_json:
        more = {} if shared is None else {"on_several_threads": shared}
        typer.echo(json.dumps(table.as_json(results) | more, indent=2))
    else:
        stdout().print(table.render(results))


def write_report(results: Tables, chosen: Sequence[str] = ()) -> None:
    """Write report.html again; `chosen` are links and sessions to draw over time."""
    from anabranch.showing import report  # noqa: PLC0415
    from anabranch.showing.report.over_time import Choice  # noqa: PLC0415

    sessions = tuple(int(name) for name in chosen if name.isdecimal())
    choice = Choice(tuple(name for name in chosen if not name.isdecimal()), sessions)
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
