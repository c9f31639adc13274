"""The options that say on what runs are made, on how many threads, and how long each may take."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anabranch.base import places, units
from anabranch.cli.progress import Style
from anabranch.errors import AnabranchError
from anabranch.running import speed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from anabranch.running.plan import PlannedRun

THREADS = typer.Option(
    min=0, help="Runs at a time, and cores for the last ones to share; 0: one run per core, none shared."
)
ON = typer.Option(
    "--on",
    help="Make the runs elsewhere: local:4 (processes), tcp://SCHEDULER:8786 (Dask), slurm, pbs, lsf, or ssh:HOSTFILE.",
    metavar="TARGET",
    show_default="threads of this process",
)
OPTIONS = typer.Option("--on-options", help="TOML file with options for --on.", metavar="FILE")
LIMIT = typer.Option(
    "--time-limit-wall",
    help="Stop each run after so much wall-clock time, such as 10min; what had happened until then is kept and marked.",
    metavar="DURATION",
    show_default="none",
)

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class How:
    """How the runs of a command are made.

    Attributes
    ----------
    threads
        Runs at a time, in this process; 0: one per core.
    on, options
        What they are made on instead, and a file with options for it.
    limit_s
        Wall-clock seconds that each run may take.
    progress
        How progress is reported.
    """

    threads: int = 0
    on: str | None = None
    options: Path | None = None
    limit_s: float | None = None
    progress: Style = Style.AUTO

    def about(self, on: object) -> dict[str, Any]:
        """What the first line of progress says of what the runs are made on, once that is `connected`."""
        return {"on": self.on, "dashboard": getattr(on, "dashboard", None)}

    def out(self, out: str) -> Path:
        """Open the place of the results.

        Raises
        ------
        AnabranchError
            If it cannot be reached, or is a URL where this process writes.
        """
        if self.on is None and places.is_url(out):
            raise AnabranchError(
                f"--out {out}: threads of this process write into a folder only",
                hint="say what to run on, too: --on local:4",
            )
        return places.reached(out)

    def time(self, runs: Sequence[PlannedRun]) -> str:
        """How long runs will take, in words; of other machines only their work is known."""
        rate = speed.of(runs)
        each = [run.packets / rate for run in runs]
        if self.on is not None:
            return f"about {units.duration(sum(each))} of a core like this machine's"
        at_once = min(speed.cores(self.threads), max(len(each), 1))
        return f"about {units.duration(speed.seconds(each, self.threads))} on {at_once} thread{'s' * (at_once > 1)}"

    @contextmanager
    def connected(self, err: Console) -> Iterator[object]:
        """Start or reach what the runs are made on; gives what `anabranch.run` takes, None for this process."""
        if self.on is None:
            yield None
            return
        from anabranch.running.cluster.start import connected  # noqa: PLC0415 - Dask takes a second

        with connected(self.on, self.options) as connection:
            if connection.dashboard and self.progress is Style.AUTO:
                err.print(f"dashboard: {connection.dashboard}", markup=False)
            yield connection


def chosen(
    on: str | None, options: Path | None, limit: str | None, *, threads: int, progress: Style = Style.AUTO
) -> How:
    """Check the options of a command.

    Raises
    ------
    AnabranchError
        If they make no sense.
    """
    if on is not None and threads:
        raise AnabranchError("--threads is of this process, and --on of others", hint="--on local:4 starts 4 processes")
    if on is None and options is not None:
        raise AnabranchError("--on-options says how to use --on, which is missing")
    if on is not None:
        from anabranch.running.cluster import target  # noqa: PLC0415 - few need it

        target.read(on, options)  # before anything is planned
    return How(threads, on, options, None if limit is None else seconds(limit), progress)


def seconds(text: str) -> float:
    """Read a duration.

    Raises
    ------
    AnabranchError
        If it is none.

    Examples
    --------
    >>> seconds("90s"), seconds("1.5 h"), seconds("1h30min")
    (90.0, 5400.0, 5400.0)
    """
    parts = re.findall(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)", text)
    if not parts or re.sub(r"\s*\d+(?:\.\d+)?\s*(?:ms|s|min|h|d)", "", text).strip():
        raise AnabranchError(f"--time-limit-wall {text}: expected a duration such as 90s, 10min or 1h30min")
    total = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if not total:
        raise AnabranchError(f"--time-limit-wall {text}: expected more than 0")
    return total
