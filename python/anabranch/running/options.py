"""The options of running a scenario: each said once, for `anabranch.run`, for `anabranch.sweep` and for ``--help``.

`Options` is the table. Signatures, docstrings, the command line's options and the checks are made from it.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, cast, get_type_hints

from anabranch.base import places
from anabranch.errors import AnabranchError, ScenarioError

Progress = Callable[[Mapping[str, Any]], bool]
"""Told a few times per second how far a run is; returns False to ask for an interruption."""

MOST_SECONDS = 1e9
"""Longest limit of wall-clock time: 30 years."""

MOST_SEEDS = 1_000_000
MOST_CORES = 4
"""Of one run, where nobody says how many there are: ``UNASKED`` in ``crates/sim/src/experiment.rs``."""
"""Most seeds of a scenario: it may have so many runs."""

MARK = "{options}"
"""Line of a docstring that is replaced by the options."""

WIDTH = 120
"""Columns of a docstring."""


@dataclass(frozen=True, slots=True)
class Option:
    """What there is to say of an option; ``{on}`` in a text stands for that option as it is named where it is read.

    Attributes
    ----------
    about
        What it does: for ``--help`` and for docstrings.
    typed, called
        What ``--help`` adds of how it is typed, and docstrings of how it is called.
    otherwise
        What happens without it, where the default does not say so.
    default
        Its default.
    least, most
        Bounds of a whole number.
    flag, metavar
        Its name on the command line, and what stands for its value.
    core
        What of the core takes it: each ``run``, wherever it is made, or the ``folder`` of all runs; empty if neither.
    """

    about: str
    typed: str = ""
    called: str = ""
    otherwise: str = ""
    default: object = None
    least: int | None = None
    most: int | None = None
    flag: str = ""
    metavar: str | None = None
    core: str = ""

    @property
    def help(self) -> str:
        """The text of ``--help``."""
        return _named(" ".join(filter(None, (self.about, self.typed))), "--")

    @property
    def documented(self) -> str:
        """The text of a docstring."""
        default = f"Default: {self.otherwise}." if self.otherwise else ""
        return _named(" ".join(filter(None, (self.about, self.called, default))), "`", "`")

    def check(self, value: object) -> None:
        """Check a whole number.

        Raises
        ------
        ScenarioError
            If it is out of bounds.
        """
        if value is None or (self.least is None and self.most is None):
            return
        least, most = self.least or 0, math.inf if self.most is None else self.most
        if not least <= cast("int", value) <= most:
            bounds = f"at least {least}" if self.most is None else f"{least} to {self.most}"
            raise ScenarioError(f"{self.flag} {value}: expected {bounds}")


def _named(text: str, before: str, after: str = "") -> str:
    """Write the other options of a text as they are named where it is read."""
    return re.sub(r"\{(\w+)\}", rf"{before}\1{after}", text)


class Options(TypedDict, total=False):
    """How the runs of a scenario are made, and where their results go."""

    out: Annotated[
        str | Path | None,
        Option(
            "Folder for the results; with {on} also its URL in an object store, such as s3://bucket/sweep.",
            otherwise="out/SCENARIO and the settings",
            flag="--out",
            metavar="DIR",
            core="folder",
        ),
    ]
    seeds: Annotated[
        int | None,
        Option(
            "Run every sweep point under so many seeds.",
            otherwise="the scenario's",
            least=1,
            most=MOST_SEEDS,
            flag="--seeds",
            core="run",
        ),
    ]
    threads: Annotated[
        int,
        Option(
            "Runs at a time. When a run begins, it also takes cores that are left. 0: as many runs as there are cores, "
            f"each on up to {MOST_CORES} while that is faster. 1: one core in all.",
            called="Results do not depend on it. Give 1 where your program has processes of its own for several calls.",
            default=0,
            least=0,
            flag="--threads",
            core="folder",
        ),
    ]
    on: Annotated[
        object,
        Option(
            "Make the runs elsewhere: local:4 (processes), tcp://SCHEDULER:8786 (Dask), slurm, pbs, lsf, or "
            "ssh:HOSTFILE.",
            called="It may be a client of Dask (``docs/how-to/run-on-a-cluster.md``). Results do not depend on it.",
            otherwise="threads of this process",
            flag="--on",
            metavar="TARGET",
        ),
    ]
    on_options: Annotated[
        str | Path | None, Option("TOML file with options for {on}.", flag="--on-options", metavar="FILE")
    ]
    time_limit_wall_s: Annotated[
        float | None,
        Option(
            "Stop each run after so much wall-clock time; what had happened until then is kept and marked.",
            typed="A duration, such as 10min or 1h30min.",
            called="In seconds. The run has the status ``wall_limit``, and `resume` makes it again.",
            otherwise="none",
            flag="--time-limit-wall",
            metavar="DURATION",
            core="run",
        ),
    ]
    resume: Annotated[
        bool,
        Option(
            "Keep the finished runs of the folder and do the others.",
            called="A run is kept if scenario, seed and model are the same.",
            default=False,
            flag="--resume",
            core="folder",
        ),
    ]
    force: Annotated[
        bool,
        Option(
            "Replace finished runs of another experiment in the folder; other files are never touched.",
            default=False,
            flag="--force",
            core="folder",
        ),
    ]


class RunOptions(Options, total=False):
    """And what only a call that waits can be given."""

    command: Annotated[
        Sequence[str] | None,
        Option("Command line to keep in the manifest.", otherwise="the equivalent ``anabranch run``", core="folder"),
    ]
    progress: Annotated[
        Progress | bool | None,
        Option(
            "Called a few times per second with ``runs_done``, ``runs_kept``, ``runs_total``, ``simulated_ns``, "
            "``events``, ``events_per_s``, ``eta_s``, ``current`` and ``on_several_threads`` (of the runs that were "
            "given several: how many were ``divided``, and by reason how many were ``sequential``, or ``restarted`` on "
            "one), and with {on} also ``runs_running``, ``runs_failed`` and ``threads``; returns False to ask for "
            "an interruption. True: a line on standard error that says how far it is.",
            otherwise="that line in a notebook or on a terminal, else nothing",
        ),
    ]


def table(of: type) -> dict[str, Option]:
    """The options of a table, by name, in order."""
    hints = get_type_hints(of, include_extras=True)
    return {name: next(one for one in hint.__metadata__ if isinstance(one, Option)) for name, hint in hints.items()}


OPTIONS = table(Options)
"""The options of `Options`."""

F = TypeVar("F", bound=Callable[..., Any])


def taking(of: type) -> Callable[[F], F]:
    """Give a function with ``**options`` the options of a table: as keywords, with their defaults, documented.

    The function gets all of them. Its docstring tells them where it says `MARK`.
    """
    options, hints = table(of), get_type_hints(of)

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hints[name])
            for name, option in options.items()
        ]
        *others, _ = own.parameters.values()
        signature = own.replace(parameters=[*others, *keywords])

        @functools.wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:  # noqa: ANN401 - of any function
            bound = signature.bind(*arguments, **given)
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        called.__dict__["__signature__"] = signature
        if function.__doc__ is not None:  # there is none under `python -OO`
            # Newer Pythons have removed the indentation already.
            called.__doc__ = inspect.cleandoc(function.__doc__).replace(f"{MARK}\n", "".join(_documented(options)))
        return cast("F", called)

    return decorate


def _documented(options: Mapping[str, Option]) -> list[str]:
    """The options as lines of a docstring's section."""
    margin = " " * 4
    wrap = textwrap.TextWrapper(WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)
    return [f"{name}\n{wrap.fill(option.documented)}\n" for name, option in options.items()]


def check(options: Options) -> None:
    """Check options by themselves and with each other.

    Raises
    ------
    ScenarioError
        If a number is out of bounds.
    AnabranchError
        If an option does not apply.
    """
    for name, option in OPTIONS.items():
        option.check(options.get(name))
    limit = options.get("time_limit_wall_s")
    if limit is not None and not 0 < limit < MOST_SECONDS:
        raise AnabranchError(f"a limit of {limit} s: expected a time above 0")
    on = options.get("on")
    if on is not None and options.get("threads"):
        raise AnabranchError("--threads is of this process, and --on of others", hint="--on local:4 starts 4 processes")
    if on is None and options.get("on_options") is not None:
        raise AnabranchError("--on-options says how to use --on, which is missing")


def passed(options: Mapping[str, Any], *to: str) -> dict[str, Any]:
    """The options that the core takes, by name: those of each ``run``, of the ``folder``, or both."""
    return {name: options[name] for name, option in table(RunOptions).items() if option.core in to}


def reached(out: str | Path, options: Options) -> Path:
    """Open the place of the results.

    Raises
    ------
    AnabranchError
        If it cannot be reached, or is a URL where this process writes.
    """
    if options.get("on") is None and places.is_url(out):
        raise AnabranchError(
            f"--out {out}: threads of this process write into a folder only",
            hint="say what to run on, too: --on local:4",
        )
    return places.reached(out)
