"""The manifest of a result folder: what was run, with what, and how it ended (``docs/reference/results.md``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anabranch.errors import ResultError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1
"""Version of the result layout that this package reads."""

STATUSES = ("complete", "stalled", "time_limit", "interrupted")
"""How a run can end."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run: a scenario point under one seed.

    Attributes
    ----------
    run
        Name of its folder, for example ``p003-s42``.
    point
        Value of each sweep key.
    seed
        Seed of every random stream of the run.
    transport
        Transport of the main workload.
    decode_latency
        Where the decode latency of SCDP's blocks comes from; None if nothing is decoded, or not known.
    status
        One of `STATUSES`.
    message
        For a run that is not complete: which flows wait for what.
    fingerprint
        16 hexadecimal digits over the event trace.
    scenario_hash
        Hash of the resolved scenario and seed.
    events
        Events processed.
    simulated_ns
        Simulated time in nanoseconds.
    interval_ns
        Time between the samples of the time series in nanoseconds; None without any, and in older results.
    wall_s
        Wall-clock time in seconds.
    cpu_s
        Time on a processor in seconds, which other programs do not lengthen; None in older results.
    conservation
        Packet counts: sent, replicated, delivered, trimmed, dropped, in flight.
    """

    run: str
    point: Mapping[str, Any]
    seed: int
    transport: str
    status: str
    decode_latency: str | None = None
    message: str | None = None
    fingerprint: str = ""
    scenario_hash: str = ""
    events: int = 0
    simulated_ns: float = 0.0
    interval_ns: float | None = None
    wall_s: float = 0.0
    cpu_s: float | None = None
    conservation: Mapping[str, int] = field(default_factory=dict)

    @property
    def cost_s(self) -> float:
        """Seconds of a processor that the run took, as far as is known."""
        return self.wall_s if self.cpu_s is None else self.cpu_s

    @property
    def complete(self) -> bool:
        """Whether every flow with an end reached it."""
        return self.status == "complete"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a result folder holds.

    Attributes
    ----------
    version
        Version of Anabranch that wrote it.
    command
        Command line that reproduces it.
    scenario_file
        Name of the scenario file.
    scenario_toml
        Its exact text, before overrides.
    overrides
        ``key=value`` pairs of the command line.
    sweep
        Sweep key to list of values, in order.
    runs
        One entry per run, in order.
    """

    version: str
    command: tuple[str, ...]
    scenario_file: str
    scenario_toml: str
    overrides: tuple[str, ...]
    sweep: Mapping[str, list[Any]]
    runs: tuple[RunEntry, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that occur, in ascending order."""
        return tuple(sorted({run.seed for run in self.runs}))

    @property
    def incomplete(self) -> tuple[RunEntry, ...]:
        """Runs that did not complete."""
        return tuple(run for run in self.runs if not run.complete)


def parse(text: str, *, where: str = "manifest.json") -> Manifest:
    """Read a manifest.

    Parameters
    ----------
    text
        JSON.
    where
        Name to use in errors.

    Returns
    -------
    Manifest
        The manifest.

    Raises
    ------
    ResultError
        If the text is not a manifest of a layout this package knows.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ResultError(f"{where}: not JSON ({error})") from error
    if not isinstance(data, dict) or "schema" not in data or not isinstance(data.get("runs"), list):
        raise ResultError(f"{where}: not an Anabranch manifest: it needs `schema` and a list `runs`")
    if data["schema"] != SCHEMA:
        raise ResultError(
            f"{where}: result layout {data['schema']}, this version reads layout {SCHEMA}",
            hint="use the Anabranch version that wrote it"
            + (f" ({data['anabranch_version']})" if "anabranch_version" in data else ""),
        )
    try:
        return Manifest(
            version=str(data["anabranch_version"]),
            command=tuple(data["command"]),
            scenario_file=str(data["scenario_file"]),
            scenario_toml=str(data["scenario_toml"]),
            overrides=tuple(data.get("overrides", ())),
            sweep=dict(data.get("sweep", {})),
            runs=tuple(_run(entry, where) for entry in data["runs"]),
        )
    except KeyError as error:
        raise ResultError(f"{where}: key {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise ResultError(f"{where}: a value has the wrong type ({error})") from error


def _run(entry: Mapping[str, Any], where: str) -> RunEntry:
    name = str(entry["run"])
    # The name becomes a path below the result folder; a manifest may come from someone else.
    if not name or name in {".", ".."} or "/" in name or "\\" in name:
        raise ResultError(f"{where}: {name!r} is not a run's name")
    if entry["status"] not in STATUSES:
        raise ResultError(f"{where}: run {name}: unknown status {entry['status']!r}")
    return RunEntry(
        run=name,
        point=dict(entry.get("point", {})),
        seed=int(entry["seed"]),
        transport=str(entry["transport"]),
        status=str(entry["status"]),
        decode_latency=entry.get("decode_latency"),
        message=entry.get("message"),
        fingerprint=str(entry.get("fingerprint", "")),
        scenario_hash=str(entry.get("scenario_hash", "")),
        events=int(entry.get("events") or 0),
        simulated_ns=float(entry.get("simulated_ns") or 0.0),
        interval_ns=entry.get("interval_ns"),
        wall_s=float(entry.get("wall_s") or 0.0),
        cpu_s=entry.get("cpu_s"),
        conservation=dict(entry.get("conservation") or {}),
    )


def read(folder: Path) -> Manifest:
    """Read the manifest of a result folder.

    Raises
    ------
    ResultError
        If the folder or its manifest is missing or unreadable.
    """
    path = folder / "manifest.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        what = "has no manifest.json" if folder.is_dir() else "does not exist"
        raise ResultError(
            f"{folder}: {what}", hint="give the folder that `anabranch run FILE --out DIR` wrote"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path}: cannot be read ({error})") from error
    return parse(text, where=str(path))
