"""The scenario of a job: operations of a file, a collective or a training step, on a fabric, under transports."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import core
from anabranch.errors import AnabranchError
from anabranch.running import job_transports
from anabranch.running.presets import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.running.fabrics import Fabric
    from anabranch.running.presets import Preset

COLLECTIVES = {
    "all-reduce": "ring",
    "all-gather": "ring",
    "reduce-scatter": "ring",
    "broadcast": "double-tree",
    "all-to-all": "linear",
}
"""What there is besides files, and by which algorithm if none is named."""


MOST_DRAWN = 1_000_000
"""Operations of a job that are recorded, so that its report shows what ranks do when."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a job is.

    Attributes
    ----------
    ranks
        How many there are.
    messages, computations
        How many.
    size_bytes
        Of all messages.
    operations
        All that ranks do: a message is one at each of its ends.
    """

    ranks: int
    messages: int
    computations: int
    size_bytes: int
    operations: int

    @property
    def is_drawn(self) -> bool:
        """Whether a report is to show what ranks do when, for which all operations are recorded."""
        return self.operations <= MOST_DRAWN


def summary(job: Mapping[str, Any], base: Path, server: Mapping[str, Any] | None) -> Summary:
    """Read a job.

    Parameters
    ----------
    job
        The table ``job`` of a scenario.
    base
        Where relative file names start.
    server
        The table ``host.server``.

    Raises
    ------
    ScenarioError
        A parameter makes no sense, or the file is no job that can end.
    """
    text = core.call("job", json.dumps(job), str(base), None if server is None else json.dumps(server))
    about = json.loads(text)
    return Summary(about["ranks"], about["messages"], about["computations"], about["bytes"], about["operations"])


def of_model(shape: Mapping[str, Any], algorithms: Mapping[str, str] | None) -> dict[str, Any]:
    """The table ``job`` for a training step of a model."""
    return {"model": dict(shape)} | ({} if algorithms is None else {"algorithms": dict(algorithms)})


def of_file(file: Path, folder: Path, *, groups: Path | None = None, **keys: Any) -> dict[str, Any]:  # noqa: ANN401
    """The table ``job`` for a file: it and its `groups` are named as seen from the folder of the scenario.

    Raises
    ------
    AnabranchError
        If there is no such file.
    """
    if not file.is_file():
        known = ", ".join([*COLLECTIVES, *names("model")])
        raise AnabranchError(f"{file}: no such file, collective or model", hint=f"there are {known}")
    table = {"file": _seen_from(folder, file), **keys, "groups": None if groups is None else _seen_from(folder, groups)}
    return {key: value for key, value in table.items() if value is not None}


def _seen_from(folder: Path, file: Path) -> str:
    return Path(os.path.relpath(file, folder)).as_posix()


def of_collective(
    kind: str, *, ranks: int, size: str, algorithm: str | None, chunks: int | None, rounds: int
) -> dict[str, Any]:
    """The table ``job`` for a collective."""
    how = algorithm or COLLECTIVES[kind]
    table: dict[str, Any] = {"kind": kind, "algorithm": how, "ranks": ranks, "size": size}
    if chunks is not None:
        table["chunks"] = chunks
    if rounds > 1:
        table["rounds"] = rounds
    return {"collective": table}


def scenario(
    name: str,
    job: Mapping[str, Any],
    fabric: Fabric,
    transports: Sequence[str],
    *,
    about: Summary,
    packet: str,
    model: Preset | None = None,
) -> str:
    """Write the scenario of a job.

    Parameters
    ----------
    name
        Name of the scenario.
    job
        The table ``job``.
    fabric
        The fabric, which gets as many units as the ranks need.
    transports
        Names; of several, results have one row each.
    about
        What is in the job.
    packet
        A full packet, headers included: ``4160B``.
    model
        Of which it is a step, if of one.
    """
    first, *others = transports
    presets = [one for one in (model, fabric) if one is not None]
    lines = [
        *(line for one in presets for line in (f"# {one.summary}.", f"# Source: {one.source}.", "")),
        f"name = {_toml(name)}",
        f"description = {_toml(f'{name} on {fabric.name}')}",
        "",
        *_table("fabric", fabric.of(about.ranks)),
    ]
    if fabric.server is not None:
        lines += _table("host.server", fabric.server)
    switches = {one: job_transports.switch(one, fabric.gbps) for one in transports}
    used = {"name": first, **job_transports.constants(transports, fabric.gbps, packet)}
    lines += [
        "# What depends on the rate is in proportion to it, from 100 Gbps.",
        *_table("transport", used),
        *([] if others else _table("switch", switches[first])),
        "[[workload]]",
        'name = "job"',
        f"job = {_toml(job)}",
        "",
        *(_table("measure", {"operations": True}) if about.is_drawn else []),
    ]
    if others:
        rows = [[one, switches[one]] for one in transports]
        lines += ["[sweep]", '"transport.name, switch" = [', *(f"    {_toml(row)}," for row in rows), "]", ""]
    return "\n".join(lines)


def _table(name: str, table: Mapping[str, Any]) -> list[str]:
    return [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items()), ""]


def _toml(value: object) -> str:
    """Write a value as TOML, on one line.

    Examples
    --------
    >>> print(_toml({"rate": "400Gbps", "pfc": {}, "hosts": [1, 2], "sack": True}))
    { rate = "400Gbps", pfc = {}, hosts = [1, 2], sack = true }
    """
    if isinstance(value, dict):
        pairs = ", ".join(f"{key} = {_toml(own)}" for key, own in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # Strings, numbers and truth values are written alike in JSON.
    return json.dumps(value, ensure_ascii=False)
