"""Run a scenario and wait for its results: in threads of this process, or elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import places
from anabranch.errors import AnabranchError
from anabranch.running import outputs
from anabranch.running.plan import ask, check_seeds, plan
from anabranch.running.progress_line import Line, interactive

if TYPE_CHECKING:
    from anabranch.showing.notebook import Results

Progress = Callable[[Mapping[str, Any]], bool]
"""Told a few times per second how far a run is; returns False to ask for an interruption."""


MOST_SECONDS = 1e9
"""Longest limit of wall-clock time: 30 years."""


def run(
    path: str | Path,
    overrides: Sequence[str] = (),
    *,
    out: str | Path | None = None,
    seeds: int | None = None,
    threads: int = 0,
    on: object = None,
    on_options: str | Path | None = None,
    time_limit_wall_s: float | None = None,
    resume: bool = False,
    force: bool = False,
    command: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Run a scenario: every sweep point under every seed.

    Parameters
    ----------
    path
        Scenario file.
    overrides
        ``key=value`` settings that replace those of the file.
    out
        Folder for the results, or its URL in an object store (``s3://...``), which needs `on`; default: ``out/NAME``
        below the working directory, NAME that of the file and the settings.
    seeds
        Number of seeds; default: what the scenario says.
    threads
        Runs at a time. When fewer are left than that, the last ones take several cores each. 0: one run per core, and
        each takes one core. Results do not depend on it.
    on
        What the runs are made on, instead of threads of this process: ``local:4``, ``tcp://scheduler:8786``, ``slurm``,
        ``pbs``, ``lsf``, ``ssh:HOSTFILE``, or a client of Dask (``docs/how-to/run-on-a-cluster.md``). Results do not
        depend on it.
    on_options
        TOML file with options for `on`.
    time_limit_wall_s
        Seconds of wall-clock time that each run may take. One that takes longer is stopped; what had happened until
        then is kept, with the status ``wall_limit``, and `resume` makes it again.
    resume
        Keep the complete runs that `out` has already, if they are of the same scenario, seed and model.
    force
        Replace finished runs in `out` that this experiment does not make. Files that are no results are never touched.
    command
        Command line to keep in the manifest; default: the equivalent ``anabranch run``.
    progress
        Called a few times per second with ``runs_done``, ``runs_kept``, ``runs_total``, ``simulated_ns``, ``events``,
        ``events_per_s``, ``eta_s``, ``current`` and ``on_several_threads`` (of the runs that were given several:
        how many were ``divided``, and by reason how many were ``sequential``, or ``restarted`` on one), and with `on`
        also ``runs_running``, ``runs_failed`` and ``threads``; returns False to ask for an interruption.
        True: a line on standard error that says how far it is;
        default: that line in a notebook or on a terminal, else nothing.

    Returns
    -------
    Results
        The results, of which ``manifest`` says how each run ended.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read or run.
    AnabranchError
        If `out` holds files that are no results, or runs that would be lost, or what `on` names cannot be used.
        Runs that fail on other machines are no error of this function: they have the status ``failed``.
    """
    # Imported here: planning and `--help` need no Polars.
    from anabranch.showing.notebook import load  # noqa: PLC0415

    check_seeds(seeds)
    if time_limit_wall_s is not None and not 0 < time_limit_wall_s < MOST_SECONDS:
        raise AnabranchError(f"a limit of {time_limit_wall_s} s: expected a time above 0")
    out = outputs.default(Path(path), overrides, seeds=seeds) if out is None else out
    if on is None and places.is_url(out):
        raise AnabranchError(
            f"{out}: threads of this process write into a folder only", hint="say what to run on, too: --on local:4"
        )
    where = places.reached(out)
    outputs.check(where, resume=resume)
    if not force and outputs.finished(where):
        outputs.guard(where, plan(path, overrides, seeds=seeds).runs, resume=resume)
    line = list(command) if command is not None else command_line(path, overrides, out=out, seeds=seeds)
    shown = Line() if progress is True or (progress is None and interactive(sys.stderr)) else None
    tell = shown or progress or None
    if on is not None:
        from anabranch.running.cluster.run import run as run_elsewhere  # noqa: PLC0415 - Dask is needed there only

        try:
            run_elsewhere(
                path, tuple(overrides), where, seeds=seeds, on=on, options=on_options, limit_s=time_limit_wall_s,
                resume=resume, force=force, command=line, report=None if tell is True else tell,
            )  # fmt: skip
        finally:
            if shown is not None:
                shown.end()
        return load(where)
    told = None if tell is None or tell is True else lambda text: bool(tell(json.loads(text)))
    try:
        ask("run", str(path), list(overrides), seeds, str(out), threads, line, resume, time_limit_wall_s, told)
    finally:
        if shown is not None:
            shown.end()
    return load(out)


def command_line(path: str | Path, overrides: Sequence[str], *, out: str | Path, seeds: int | None = None) -> list[str]:
    """Write the command that makes the same results.

    Examples
    --------
    >>> command_line("a.toml", ["load=0.5"], out="out/a", seeds=3)
    ['anabranch', 'run', 'a.toml', 'load=0.5', '--out', 'out/a', '--seeds', '3']
    """
    line = ["anabranch", "run", str(path), *overrides, "--out", str(out)]
    return line if seeds is None else [*line, "--seeds", str(seeds)]
