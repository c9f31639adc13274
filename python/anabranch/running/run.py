"""Run a scenario and wait for its results: in threads of this process, or elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from anabranch.running import outputs
from anabranch.running.options import RunOptions, check, passed, reached, taking
from anabranch.running.plan import ask
from anabranch.running.progress_line import Line, interactive

if TYPE_CHECKING:
    from anabranch.showing.notebook import Results


@taking(RunOptions)
def run(path: str | Path, overrides: Sequence[str] = (), **options: Unpack[RunOptions]) -> Results:
    """Run a scenario: every sweep point under every seed.

    Parameters
    ----------
    path
        Scenario file.
    overrides
        ``key=value`` settings that replace those of the file.
    {options}

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

    check(options)
    seeds, on, progress = options["seeds"], options["on"], options["progress"]
    out = outputs.default(Path(path), overrides, seeds=seeds) if options["out"] is None else options["out"]
    where = reached(out, options)
    command = options["command"]
    line = list(command) if command is not None else command_line(path, overrides, out=out, seeds=seeds)
    shown = Line() if progress is True or (progress is None and interactive(sys.stderr)) else None
    tell = shown or (None if progress is True else progress) or None
    try:
        if on is not None:
            from anabranch.running.cluster.run import run as run_elsewhere  # noqa: PLC0415 - Dask is needed there only

            run_elsewhere(path, tuple(overrides), where, options, command=line, report=tell)
            return load(where)
        told = None if tell is None else lambda text: bool(tell(json.loads(text)))
        given = passed({**options, "out": str(out), "command": line}, "run", "folder")
        ask("run", str(path), list(overrides), given, told)
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
