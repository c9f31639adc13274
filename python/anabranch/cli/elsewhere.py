"""The options of running a scenario on the command line, and how a command then makes its runs: here or elsewhere."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import typer

from anabranch.base import units
from anabranch.cli.progress import Style
from anabranch.cli.remaining import Remaining
from anabranch.errors import AnabranchError
from anabranch.running import speed
from anabranch.running.options import MOST_CORES, OPTIONS, Options, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from anabranch.running.plan import PlannedRun
    from anabranch.running.speed import Times


def flag(name: str, **other: Any) -> Any:  # noqa: ANN401 - as Typer's own
    """One of `OPTIONS` as an option of the command line; `other` replaces parts of it."""
    option = OPTIONS[name]
    about = {"help": option.help, "metavar": option.metavar, "min": option.least}
    return typer.Option(option.flag, **about | {"show_default": option.otherwise or True} | other)


SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class How:
    """How the runs of a command are made.

    Attributes
    ----------
    options
        What `anabranch.run` is to be given.
    progress
        How progress is reported.
    """

    options: Options
    progress: Style = Style.AUTO

    @property
    def threads(self) -> int:
        """Runs at a time, in this process; 0: one per core."""
        return self.options.get("threads", 0)

    @property
    def on(self) -> object:
        """What they are made on instead."""
        return self.options.get("on")

    def about(self, connected: Options) -> dict[str, Any]:
        """What the first line of progress says of what the runs are made on, once that is `connected`."""
        return {"on": self.on, "dashboard": getattr(connected.get("on"), "dashboard", None)}

    def shared(self, runs: Sequence[PlannedRun], alone: Mapping[str, float]) -> Mapping[str, float]:
        """What runs take that were predicted for one core: on other machines that, here less where they share cores."""
        return speed.shared(runs, alone, self.threads) if self.on is None else alone

    def remaining(self, runs: Sequence[PlannedRun], times: Times | None = None) -> Remaining:
        """How long runs will take, to be corrected while they do; predicted from recorded times if there are any."""
        return Remaining(self.shared(runs, speed.predict(runs, times)), speed.cores(self.threads))

    def time(self, runs: Sequence[PlannedRun]) -> str:
        """How long runs will take, in words; of other machines only their work is known."""
        alone = speed.predict(runs)
        if self.on is not None:
            return f"about {units.duration(sum(alone.values()))} of a core like this machine's"
        each = self.shared(runs, alone)
        most = 1 if each == alone else self.threads or MOST_CORES
        threads = min(speed.cores(self.threads), max(len(each), 1) * most)
        total = units.duration(speed.seconds([*each.values()], self.threads))
        return f"about {total} on {threads} thread{'s' * (threads > 1)}"

    @contextmanager
    def connected(self, err: Console) -> Iterator[Options]:
        """Start or reach what the runs are made on; gives what `anabranch.run` is then to be given."""
        if self.on is None:
            yield self.options.copy()
            return
        from anabranch.running.cluster.start import connected  # noqa: PLC0415 - Dask takes a second

        with connected(self.on, self.options.get("on_options")) as connection:
            if connection.dashboard and self.progress is Style.AUTO:
                err.print(f"dashboard: {connection.dashboard}", markup=False)
            yield {**self.options, "on": connection, "on_options": None}


def chosen(limit: str | None, progress: Style = Style.AUTO, **options: Unpack[Options]) -> How:
    """Check the options of a command, before anything is planned.

    Raises
    ------
    AnabranchError
        If they make no sense.
    """
    options["time_limit_wall_s"] = None if limit is None else seconds(limit)
    check(options)
    on, file = options.get("on"), options.get("on_options")
    if on is not None:
        from anabranch.running.cluster import target  # noqa: PLC0415 - few need it

        target.read(str(on), file)
    return How(options, progress)


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
