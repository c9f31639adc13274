"""The manifest of a result folder: what was run, with what, and how it ended (``docs/reference/results.md``)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.base import places
from anabranch.errors import ResultError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1
"""Version of the result layout that this package reads."""

FINAL = ("complete", "stalled", "time_limit")
"""How a run can end that would end so again: `--resume` keeps it."""

EMPTY = ("interrupted", "failed")
"""How a run can end that has no results, or none that count."""

STATUSES = (*FINAL, "wall_limit", *EMPTY)
"""How a run can end. ``wall_limit``: it has the results of what had happened until then."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A packet capture of one port (``measure.packets``).

    Attributes
    ----------
    file
        Its file, relative to the folder of the run.
    dropped_file
        The file with the packets that were dropped at its links; None if there were none.
    links
        The directed links in it, ``SRC-DST``: what the port sends, and what reaches it.
    packets
        Packets in the file.
    bytes
        Bytes that these had on the wire.
    dropped
        Packets that were dropped at its links, whether or not they are in a file.
    full_at_ns
        When it had reached its limit, after which it holds nothing, in nanoseconds; None if it holds all.
    """

    file: str
    links: tuple[str, ...]
    packets: int
    bytes: int
    dropped: int
    dropped_file: str | None = None
    full_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What to know before trusting a run: a window that does not fill the fabric, a load that it does not carry.

    Attributes
    ----------
    text
        The sentence.
    hint
        What would change it; None if nothing is known.
    """

    text: str
    hint: str | None = None


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
    window_ns
        Beginning and end of the measured window in nanoseconds; None if it had no length, and in older results.
    wall_s
        Wall-clock time in seconds.
    cpu_s
        Time on a processor in seconds, which other programs do not lengthen; None in older results.
    conservation
        Packet counts: sent, replicated, delivered, trimmed, dropped, in flight.
    captures
        Packet captures, one for each port.
    remarks
        What to know before trusting it, the gravest first; none in older results.
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
    window_ns: tuple[float, float] | None = None
    wall_s: float = 0.0
    cpu_s: float | None = None
    conservation: Mapping[str, int] = field(default_factory=dict)
    captures: tuple[Capture, ...] = ()
    remarks: tuple[Remark, ...] = ()

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

    @property
    def impossible(self) -> tuple[RunEntry, ...]:
        """Runs that completed with results that cannot be, such as a slowdown below 1; the message says which."""
        return tuple(run for run in self.runs if run.complete and run.message)

    @property
    def waiting(self) -> tuple[RunEntry, ...]:
        """Runs that were not begun, or were interrupted."""
        return tuple(run for run in self.runs if run.status == "interrupted")


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
    except (ValueError, RecursionError) as error:
        raise ResultError(
            f"{where}: not JSON ({error})",
            hint="it was cut short or edited; `anabranch run FILE --out DIR --resume` "
            "writes it again and keeps the finished runs",
        ) from error
    if not isinstance(data, dict) or "schema" not in data or not isinstance(data.get("runs"), list):
        raise ResultError(f"{where}: not an Anabranch manifest: it needs `schema` and a list `runs`")
    if data["schema"] != SCHEMA:
        raise ResultError(
            f"{where}: result layout {_short(data['schema'])}, this version reads layout {SCHEMA}",
            hint="use the Anabranch version that wrote it"
            + (f" ({_short(data['anabranch_version'])})" if "anabranch_version" in data else ""),
        )
    try:
        return Manifest(
            version=str(data["anabranch_version"]),
            command=tuple(map(str, _list(data["command"], "command"))),
            scenario_file=str(data["scenario_file"]),
            scenario_toml=str(data["scenario_toml"]),
            overrides=tuple(map(str, _list(data.get("overrides", []), "overrides"))),
            sweep={key: _list(values, f"sweep.{key}") for key, values in data.get("sweep", {}).items()},
            runs=_distinct(tuple(_run(entry, where) for entry in data["runs"]), where),
        )
    except KeyError as error:
        raise ResultError(f"{where}: key {error} is missing") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ResultError(f"{where}: a value has the wrong type ({_short(error)})") from error


def _short(value: object) -> str:
    """A value for a message: text from a file may be long."""
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004 - a line


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"`{name}` is no list")
    return value


def _whole(value: object, name: str) -> int:
    """A whole number that the tables can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise TypeError(f"`{name}` is {_short(repr(value))}, expected a whole number")
    return value


def _number(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"`{name}` is {_short(repr(value))}, expected a number")
    return float(value)


def _distinct(runs: tuple[RunEntry, ...], where: str) -> tuple[RunEntry, ...]:
    twice = next((name for name, count in Counter(run.run for run in runs).items() if count > 1), None)
    if twice is not None:
        raise ResultError(f"{where}: run {twice} is listed twice")
    return runs


def _run(entry: Mapping[str, Any], where: str) -> RunEntry:
    if not isinstance(entry, Mapping):
        raise TypeError(f"run {_short(repr(entry))} is no object")
    name = str(entry["run"])
    # The name becomes a path below the result folder; a manifest may come from someone else.
    if not name or name in {".", ".."} or any(letter in name for letter in "/\\\0"):
        raise ResultError(f"{where}: {_short(repr(name))} is not a run's name")
    if entry["status"] not in STATUSES:
        raise ResultError(
            f"{where}: run {_short(name)}: unknown status {_short(repr(entry['status']))}",
            hint=f"expected one of {', '.join(STATUSES)}",
        )
    counts = {key: _whole(value, f"conservation.{key}") for key, value in (entry.get("conservation") or {}).items()}
    return RunEntry(
        run=name,
        point=dict(entry.get("point", {})),
        seed=_whole(entry["seed"], "seed"),
        transport=str(entry["transport"]),
        status=str(entry["status"]),
        decode_latency=None if entry.get("decode_latency") is None else str(entry["decode_latency"]),
        message=None if entry.get("message") is None else str(entry["message"]),
        fingerprint=str(entry.get("fingerprint", "")),
        scenario_hash=str(entry.get("scenario_hash", "")),
        events=_whole(entry.get("events") or 0, "events"),
        simulated_ns=_number(entry.get("simulated_ns"), "simulated_ns") or 0.0,
        interval_ns=_number(entry.get("interval_ns"), "interval_ns"),
        window_ns=_window(entry.get("window_ns")),
        wall_s=_number(entry.get("wall_s"), "wall_s") or 0.0,
        cpu_s=_number(entry.get("cpu_s"), "cpu_s"),
        conservation=counts,
        captures=tuple(_capture(capture) for capture in _list(entry.get("captures") or [], "captures")),
        remarks=remarks(entry.get("remarks")),
    )


def remarks(value: object) -> tuple[Remark, ...]:
    """Read the remarks of a run, as the manifest and the plan have them; none if there are none.

    Raises
    ------
    TypeError
        If they are no list of remarks.
    """
    entries = _list(value or [], "remarks")
    if not all(isinstance(entry, Mapping) and isinstance(entry.get("text"), str) for entry in entries):
        raise TypeError("`remarks` are no objects with a `text`")
    return tuple(Remark(entry["text"], None if entry.get("hint") is None else str(entry["hint"])) for entry in entries)


def _window(value: object) -> tuple[float, float] | None:
    """Read the two ends of a window; None if there are none."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004 - its ends
        raise ValueError(f"window_ns is {value!r}, expected two numbers")
    begin, end = (_number(part, "window_ns") for part in value)
    return None if begin is None or end is None else (begin, end)


def _capture(entry: Mapping[str, Any]) -> Capture:
    full = entry.get("full_at_ns")
    dropped = entry.get("dropped_file")
    return Capture(
        file=_below(entry["file"]),
        links=tuple(map(str, _list(entry["links"], "captures.links"))),
        packets=_whole(entry["packets"], "captures.packets"),
        bytes=_whole(entry["bytes"], "captures.bytes"),
        dropped=_whole(entry["dropped"], "captures.dropped"),
        dropped_file=None if dropped is None else _below(dropped),
        full_at_ns=None if full is None else _whole(full, "captures.full_at_ns"),
    )


def _below(path: object) -> str:
    """A path below the folder of a run; a manifest may come from someone else."""
    parts = str(path).split("/")
    if any(part in {"", ".", ".."} or any(letter in part for letter in "\\\0") for part in parts):
        raise TypeError(f"`captures.file` is {_short(repr(path))}, expected a path below the run's folder")
    return str(path)


def _caught_up(manifest: Manifest, folder: Path) -> Manifest:
    """A manifest with the runs that ended after it was last written: their program was killed, or still runs."""

    def entry(run: RunEntry) -> RunEntry:
        if run.status in FINAL:
            return run
        path = folder / "runs" / run.run / "run.json"
        if places.is_url(folder) and not path.is_file():
            return run  # known from a listing
        try:
            own = _run(json.loads(path.read_bytes()), str(path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ResultError):
            return run  # it has not ended
        same = own.scenario_hash == run.scenario_hash and own.status != "interrupted"
        return replace(own, run=run.run, point=run.point) if same else run

    return replace(manifest, runs=tuple(map(entry, manifest.runs)))


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
        if not folder.is_dir():
            what, hint = "does not exist", "give the folder that `anabranch run FILE --out DIR` wrote"
        elif any(folder.glob("runs/p*/run.json")):
            what = "has runs, but no manifest.json"
            hint = "`anabranch run FILE --out DIR --resume` writes it again and keeps the finished runs"
        else:
            what, hint = "has no manifest.json", "give the folder that `anabranch run FILE --out DIR` wrote"
        raise ResultError(f"{folder}: {what}", hint=hint) from error
    except NotADirectoryError as error:
        raise ResultError(
            f"{folder}: a file, not a folder", hint="give the folder that `anabranch run FILE --out DIR` wrote"
        ) from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise ResultError(f"{path}: cannot be read ({error.strerror})") from error
    return _caught_up(parse(text, where=str(path)), folder)
