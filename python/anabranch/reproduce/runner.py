"""Running an experiment: plan, run what is missing, draw, record.

A result folder ``out/reproduce/PAPER/FIGURE[-quick]/`` holds ``results/`` (as ``anabranch run`` writes it),
``figures/`` (SVG, PDF, CSV), ``record.json`` and ``report.html``.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import polars as pl

from anabranch import codec
from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import record
from anabranch.reproduce.drawing import draw
from anabranch.reproduce.rows import Source, function
from anabranch.results.manifest import EMPTY, Manifest
from anabranch.results.tables import Tables
from anabranch.running import outputs
from anabranch.running import plan as planning
from anabranch.running.run import run as run_scenario
from anabranch.showing import figures
from anabranch.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record
    from anabranch.running.options import Options, Progress
    from anabranch.showing.figures import Figure


UNFINISHED = (*EMPTY, "wall_limit")
"""How runs end that a figure needs."""


@dataclass(frozen=True, slots=True)
class Job:
    """An experiment in one size: its runs, and the folder for all that comes of it.

    Attributes
    ----------
    seeds
        Number of seeds; None: the scenario's.
    overrides
        Settings that replace those of the scenario.
    decode_table
        Table of decode latencies that its SCDP sessions use, by name or file; None: what the scenario says.
    """

    experiment: Experiment
    quick: bool
    seeds: int | None
    folder: Path
    plan: planning.Plan
    overrides: tuple[str, ...] = ()
    decode_table: str | None = None

    @property
    def results(self) -> Path:
        """Folder of the results proper."""
        return self.folder / "results"

    def missing(self) -> list[planning.PlannedRun]:
        """Runs of the plan that the folder does not hold yet."""
        kept = set(outputs.folder(self.results).finished().values())
        return [run for run in self.plan.runs if run.hash not in kept]

    def command(self) -> list[str]:
        """The command that makes the results."""
        size = ["--quick"] if self.quick else []
        seeds = [] if self.seeds is None else ["--seeds", str(self.seeds)]
        table = [] if self.decode_table is None else ["--decode-table", self.decode_table]
        return ["anabranch", "reproduce", self.experiment.name, *size, *seeds, *table]


class Calculated(Tables):
    """Tables that a calculation gives, by name, in place of the results of runs, with the command that makes them.

    Their seed is 0.
    """

    def __init__(self, command: Sequence[str], tables: Mapping[str, pl.DataFrame]) -> None:
        self.folder = Path()
        self.keys = ()
        self.manifest = Manifest(__version__, tuple(command), "", "", (), {}, ())
        self.tables = {name: table.with_columns(pl.lit(0).alias("seed")) for name, table in tables.items()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: its results, figures and record."""

    job: Job
    results: Tables
    figures: tuple[Figure, ...]
    record: Record


def prepare(
    experiment: Experiment, out: Path, *, quick: bool = False, seeds: int | None = None, decode_table: str | None = None
) -> Job:
    """Plan an experiment, which writes into a folder of `out`; the rest as of `Job`.

    Raises
    ------
    AnabranchError
        If its scenario is missing, cannot be read or cannot be run.
    """
    quick = quick and not experiment.calculate
    folder = out / experiment.paper / (experiment.name.partition("/")[2] + ("-quick" if quick else ""))
    if experiment.calculate:
        return Job(experiment, quick, None, folder, planning.Plan((), ()))
    file, overrides = bundle.find(experiment.file), experiment.overrides(quick=quick)
    if decode_table is not None:
        # The core looks files up beside the scenario.
        table = decode_table if decode_table in codec.TABLES else os.path.relpath(decode_table, file.parent)
        overrides += (f"transport.scdp.decode_table={json.dumps(table)}",)
    plan = planning.plan(file, overrides, seeds=seeds)
    return Job(experiment, quick, seeds, folder, plan, overrides, decode_table)


def place(out: Path, decode_table: str | None) -> Path:
    """Folder below `out` for all experiments with this table: they are not the papers' experiments.

    Raises
    ------
    AnabranchError
        If there is no such table.
    """
    if decode_table is None:
        return out
    if decode_table not in codec.TABLES and not Path(decode_table).is_file():
        raise AnabranchError(
            f"--decode-table {decode_table}: expected a file or {' or '.join(codec.TABLES)}",
            hint="`anabranch codec bench --latency-table FILE` writes one",
        )
    return out / f"decode-{Path(decode_table).stem}"


def own_decoder(experiment: Experiment) -> str | None:
    """Why a table of decode latencies cannot be chosen for an experiment; None if it can."""
    if experiment.calculate:
        return "it simulates nothing"
    runs = planning.plan(bundle.find(experiment.file), experiment.overrides(quick=True)).runs
    models = {run.decode_latency for run in runs} - {None}
    if not models:
        return "it decodes nothing"
    return "it compares decoders itself" if len(models) > 1 else None


def run(job: Job, *, fresh: bool = False, progress: Progress | None = None, **options: Unpack[Options]) -> Tables:
    """Run what is missing; the runs that are there, by the hash of all they depend on, are kept.

    The job says which seeds, and where the results go. `fresh` runs everything again. How the runs are made is said as
    to `anabranch.run`.
    """
    if job.experiment.calculate:
        return Calculated(job.command(), function(job.experiment.calculate)())
    options |= {
        "out": job.results,
        "seeds": job.seeds,
        "resume": not fresh,
        "force": True,  # the folder is this experiment's own: runs of an older version of it make room
    }
    file = bundle.find(job.experiment.file)
    return run_scenario(file, job.overrides, command=job.command(), progress=progress, **options)


def finish(job: Job, results: Tables) -> Outcome:
    """Draw the figures, compute the claims, and write figures and record.

    Raises
    ------
    AnabranchError
        If runs are missing: part of a figure is not that figure.
    """
    waiting = [entry.run for entry in results.manifest.runs if entry.status in UNFINISHED]
    if waiting:
        raise AnabranchError(
            f"{job.folder}: {len(waiting)} of {len(results.manifest.runs)} runs are missing",
            hint=f"`{shlex.join(job.command())}` runs them",
        )
    source = Source(job.experiment, results)
    drawn = draw(source, quick=job.quick)
    for figure in drawn:
        figures.write(job.folder / "figures", figure)
    made = record.make(source, drawn, quick=job.quick)
    record.write(job.folder / "record.json", made)
    return Outcome(job, results, drawn, made)
