"""What the ranks of jobs did, as a trace that Perfetto (https://ui.perfetto.dev) and ``chrome://tracing`` show.

The format is the *Trace Event Format* in JSON: a process for each run and workload, threads for its ranks. A slice lies
within a thread, and slices of one thread may not overlap: messages that do are on several threads of their rank.
"""

from __future__ import annotations

import heapq
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base import targets, units
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anabranch.results.tables import Tables

LANES = 1000
"""Threads that a rank may have of each kind, by which they are numbered."""

KINDS = ("computations", "network", "server")
"""What the threads of a rank hold, in their order."""


def write(results: Tables, path: Path) -> None:
    """Write the trace of all runs, whole or not at all.

    Raises
    ------
    AnabranchError
        If no operations were recorded, or a folder or the scenario would be overwritten.
    """
    if results.scan("operations").head(1).collect().is_empty():
        raise AnabranchError(
            f"{results.folder}: no operations were recorded, so there is nothing to trace",
            hint="in the scenario of a job: [measure] operations = true",
        )
    targets.check(path, [results.folder], "--trace")
    with targets.whole(path) as draft, draft.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        for place, event in enumerate(events(results)):
            out.write((",\n" if place else "") + json.dumps(event, separators=(",", ":")))
        out.write("\n]}\n")


def events(results: Tables) -> Iterator[dict[str, Any]]:
    """All events: names of processes and threads, and a slice for each operation that has ended."""
    process = 0
    for run in results.runs["run"]:
        rows = results.collect("operations", results.scan("operations").filter(pl.col("run") == run))
        rows = rows.filter(pl.col("end_ns").is_not_null()).sort("workload", "rank", "start_ns", maintain_order=True)
        point = ", ".join(str(rows[key][0]) for key in results.keys) if not rows.is_empty() else ""
        for (workload,), own in rows.group_by("workload", maintain_order=True):
            process += 1
            name = " ".join(part for part in (str(run), point, str(workload)) if part)
            yield _about("process_name", process, 0, name=name)
            yield from _of_job(own, process)


def _of_job(rows: pl.DataFrame, process: int) -> Iterator[dict[str, Any]]:
    busy: dict[tuple[int, int], _Lanes] = {}
    for row in rows.select(
        "rank", "kind", "peer", "size_bytes", "inside_server", "place", "start_ns", "end_ns"
    ).to_dicts():
        kind = 0 if row["kind"] in {"compute", "wait"} else 2 if row["inside_server"] else 1
        lanes = busy.setdefault((row["rank"], kind), _Lanes())
        lane, is_new = lanes.take(row["start_ns"], row["end_ns"])
        thread = (row["rank"] * len(KINDS) + kind) * LANES + lane
        if is_new:
            yield _about("thread_name", process, thread, name=f"rank {row['rank']}, {KINDS[kind]}")
            yield _about("thread_sort_index", process, thread, sort_index=thread)
        told = {"line or node": row["place"]} if row["place"] is not None else {}
        yield {
            "name": _name(row),
            "cat": KINDS[kind],
            "ph": "X",
            "pid": process,
            "tid": thread,
            "ts": row["start_ns"] / 1e3,
            "dur": (row["end_ns"] - row["start_ns"]) / 1e3,
            "args": told,
        }


class _Lanes:
    """Threads for slices that come in order of their beginnings."""

    def __init__(self) -> None:
        self.free_at: list[tuple[float, int]] = []

    def take(self, start: float, end: float) -> tuple[int, bool]:
        """A lane that is free at `start`, and whether it is a new one."""
        if self.free_at and self.free_at[0][0] <= start:
            lane = self.free_at[0][1]
            heapq.heapreplace(self.free_at, (end, lane))
            return lane, False
        lane = len(self.free_at)
        heapq.heappush(self.free_at, (end, lane))
        return lane, True


def _name(row: Mapping[str, Any]) -> str:
    if row["size_bytes"] is None:
        return str(row["kind"])
    peer = "several" if row["kind"] == "send" else "anybody"
    peer = peer if row["peer"] is None else str(row["peer"])
    return f"{row['kind']} {units.size(row['size_bytes'])} {'to' if row['kind'] == 'send' else 'from'} {peer}"


def _about(what: str, process: int, thread: int, **told: object) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": told}
