"""Which runs a scenario makes, and how large each is: asked of the compiled core, without running any."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.base import core
from anabranch.errors import ScenarioError
from anabranch.results.manifest import Remark, remarks
from anabranch.running.options import OPTIONS


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


def ask(function: str, *arguments: Any) -> str:  # noqa: ANN401 - a door passes what it is given
    """Ask the core; what cannot be handed to it is an error of the scenario's kind, too."""
    try:
        return core.call(function, *arguments)
    except UnicodeEncodeError as error:  # a file name is bytes; the core takes text
        raise ScenarioError(
            f"{error.object!a}: not valid UTF-8", hint="give the file or folder another name"
        ) from error
    except OverflowError as error:
        raise ScenarioError(f"a number is out of range ({error})") from error


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
    OPTIONS["seeds"].check(seeds)
    data = json.loads(ask("plan", str(path), list(overrides), seeds))
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
    OPTIONS["seeds"].check(seeds)
    data = json.loads(ask("runs", str(path), list(overrides), seeds))
    return tuple(ListedRun(**run) for run in data["runs"])


def model_parts(path: str | Path, overrides: Sequence[str] = ()) -> Mapping[str, int]:
    """The versions of those parts of the model that concern a scenario, by name.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read.
    """
    parts: Mapping[str, int] = json.loads(ask("runs", str(path), list(overrides), 1))["parts"]
    return parts
