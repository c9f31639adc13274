"""Running an experiment: plan, run what is missing, draw, record.

A result folder ``out/reproduce/PAPER/FIGURE[-quick]/`` holds ``results/`` (as ``anabranch run`` writes it),
``figures/`` (SVG, PDF, CSV), ``record.json`` and ``report.html``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch import api, outputs
from anabranch.errors import AnabranchError
from anabranch.reproduce import drawing, record, registry

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.model import Experiment, Figure
    from anabranch.reproduce.record import Record
    from anabranch.results import Results


@dataclass(frozen=True, slots=True)
class Job:
    """An experiment in one size.

    Attributes
    ----------
    experiment
        What to reproduce.
    quick
        The quick size.
    seeds
        Number of seeds; None: the scenario's.
    folder
        Where everything is written.
    plan
        Its runs.
    """

    experiment: Experiment
    quick: bool
    seeds: int | None
    folder: Path
    plan: api.Plan

    @property
    def results(self) -> Path:
        """Folder of the results proper."""
        return self.folder / "results"

    @property
    def overrides(self) -> tuple[str, ...]:
        """Settings that replace those of the scenario."""
        return self.experiment.quick if self.quick else ()

    def missing(self) -> list[api.PlannedRun]:
        """Runs of the plan that the folder does not hold yet."""
        kept = finished(self.results)
        return [run for run in self.plan.runs if run.hash not in kept]

    def command(self) -> list[str]:
        """The command that makes the results."""
        seeds = [] if self.seeds is None else ["--seeds", str(self.seeds)]
        return ["anabranch", "reproduce", self.experiment.name, *(["--quick"] if self.quick else []), *seeds]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: its results, figures and record."""

    job: Job
    results: Results
    figures: tuple[Figure, ...]
    record: Record


def prepare(experiment: Experiment, out: Path, *, quick: bool = False, seeds: int | None = None) -> Job:
    """Plan an experiment.

    Raises
    ------
    AnabranchError
        If its scenario is missing, cannot be read or cannot be run.
    """
    overrides = experiment.quick if quick else ()
    plan = api.plan(registry.scenario(experiment), overrides, seeds=seeds)
    folder = out / experiment.paper / (experiment.name.partition("/")[2] + ("-quick" if quick else ""))
    return Job(experiment, quick, seeds, folder, plan)


def run(job: Job, *, threads: int = 0, fresh: bool = False, progress: api.Progress | None = None) -> Results:
    """Run what is missing; the runs that are there, by the hash of all they depend on, are kept.

    Parameters
    ----------
    job
        What to run.
    threads
        Runs at a time; 0: one per core.
    fresh
        Run everything again.
    progress
        As in `anabranch.run`.
    """
    outputs.check(job.results)
    if fresh:
        outputs.clear(job.results)
    return api.run(
        registry.scenario(job.experiment),
        job.overrides,
        out=job.results,
        seeds=job.seeds,
        threads=threads,
        command=job.command(),
        progress=progress,
        resume=True,
    )


def finish(job: Job, results: Results) -> Outcome:
    """Draw the figures, compute the claims, and write figures and record.

    Raises
    ------
    AnabranchError
        If runs are missing: part of a figure is not that figure.
    """
    waiting = [entry.run for entry in results.manifest.runs if entry.status == "interrupted"]
    if waiting:
        raise AnabranchError(
            f"{job.folder}: {len(waiting)} of {len(results.manifest.runs)} runs are missing",
            hint=f"`{' '.join(job.command())}` runs them",
        )
    figures = job.experiment.draw(results)
    for figure in figures:
        write_figure(job.folder / "figures", figure)
    made = record.make(job.experiment, results, figures, quick=job.quick)
    record.write(job.folder / "record.json", made)
    return Outcome(job, results, figures, made)


def write_figure(folder: Path, figure: Figure) -> None:
    """Write a figure as SVG and PDF, and the data of each panel as CSV."""
    outputs.put(folder / f"fig{figure.number}.svg", drawing.svg(figure))
    outputs.put(folder / f"fig{figure.number}.pdf", drawing.pdf(figure))
    for panel in figure.panels:
        outputs.put(folder / csv_name(figure, panel.key), panel.data.write_csv())


def csv_name(figure: Figure, key: str) -> str:
    """Name of the file that holds the data of a panel."""
    return f"fig{figure.number}{key}.csv"


def finished(results: Path) -> set[str]:
    """Hashes of the runs that a result folder holds, but for interrupted ones, from the entry ``run.json`` of each."""
    found = set()
    for file in results.glob("runs/*/run.json"):
        try:
            entry = json.loads(file.read_text(encoding="utf-8"))
            if entry["status"] != "interrupted":
                found.add(str(entry["scenario_hash"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # the core runs it again
    return found
