"""Plan and run scenarios from Python: thin over the compiled core."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import core, outputs, places
from anabranch.errors import AnabranchError, ScenarioError
from anabranch.manifest import Remark, remarks
from anabranch.progress_line import Line, interactive

if TYPE_CHECKING:
    from anabranch.results import Results

Progress = Callable[[Mapping[str, Any]], bool]
"""Told a few times per second how far a run is; returns False to ask for an interruption."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that a scenario would make: folder name, sweep point, seed, transport, hash, and how large it is.

    `hash` names everything that the run depends on. Estimated for the first seed of each sweep point: `sessions`,
    `packets` (data packets that arrive), `samples` (rows of the time series) and `memory_bytes`. `decode_latency` says
    where the decode latency of SCDP's blocks comes from, None if nothing is decoded. `remarks`, the gravest first, say
    what to know before trusting the run: windows that do not fill the fabric, loads that it does not carry.
    """

    run: str
    point: Mapping[str, Any]
    seed: int
    transport: str
    hash: str
    hosts: int
    sessions: int
    packets: int
    samples: int
    memory_bytes: int
    decode_latency: str | None = None
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run that a scenario would make, without how large it is: folder name, sweep point, seed and hash."""

    run: str
    point: Mapping[str, Any]
    seed: int
    hash: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a scenario, and what its author should know before running it."""

    runs: tuple[PlannedRun, ...]
    warnings: tuple[str, ...]


LAST_SEED = 2**63 - 1
"""Largest seed: result tables hold signed numbers of 64 bits."""

MOST_SECONDS = 1e9
"""Longest limit of wall-clock time: 30 years."""

MOST_SEEDS = 1_000_000
"""Most seeds of a scenario: it may have so many runs."""


def _call(function: str, *arguments: Any) -> str:  # noqa: ANN401 - a door passes what it is given
    """Call the core; what cannot be handed to it is an error of the scenario's kind, too."""
    try:
        return core.call(function, *arguments)
    except UnicodeEncodeError as error:  # a file name is bytes; the core takes text
        raise ScenarioError(
            f"{error.object!a}: not valid UTF-8", hint="give the file or folder another name"
        ) from error
    except OverflowError as error:
        raise ScenarioError(f"a number is out of range ({error})") from error


def _check_seeds(seeds: int | None) -> None:
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise ScenarioError(f"--seeds {seeds}: expected 1 to {MOST_SEEDS}")


def plan(path: str | Path, overrides: Sequence[str] = (), *, seeds: int | None = None) -> Plan:
    """List the runs of a scenario without running any.

    Parameters
    ----------
    path
        Scenario file.
    overrides
        ``key=value`` settings that replace those of the file.
    seeds
        Number of seeds; default: what the scenario says.

    Returns
    -------
    Plan
        The runs, in order.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read or run.
    """
    _check_seeds(seeds)
    data = json.loads(_call("plan", str(path), list(overrides), seeds))
    last = max((run["seed"] for run in data["runs"]), default=0)
    if last > LAST_SEED:
        raise ScenarioError(f"{path}: seed {last}: the tables hold seeds up to {LAST_SEED}", hint="a smaller `seed`")
    names = PlannedRun.__dataclass_fields__
    planned = ({**run, "remarks": remarks(run.get("remarks"))} for run in data["runs"])
    return Plan(
        tuple(PlannedRun(**{name: run[name] for name in names}) for run in planned),
        tuple(data.get("warnings", ())),
    )


def runs(path: str | Path, overrides: Sequence[str] = (), *, seeds: int | None = None) -> tuple[ListedRun, ...]:
    """List the runs of a scenario without looking at what each will take: much quicker than `plan`.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read.
    """
    _check_seeds(seeds)
    data = json.loads(_call("runs", str(path), list(overrides), seeds))
    return tuple(ListedRun(**run) for run in data["runs"])


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
    from anabranch.results import load  # noqa: PLC0415

    _check_seeds(seeds)
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
        from anabranch.cluster.run import run as run_elsewhere  # noqa: PLC0415 - Dask is needed there only

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
        _call("run", str(path), list(overrides), seeds, str(out), threads, line, resume, time_limit_wall_s, told)
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
