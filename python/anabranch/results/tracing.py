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
from anabranch.results.activities import OWN_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anabranch.results.tables import Tables

KINDS = ("computations", "network", "server")
"""What the threads of a rank hold, in their order."""

COLUMNS = ("rank", "kind", "peer", "size_bytes", "inside_server", "place", "start_ns", "end_ns")


def write(results: Tables, path: Path) -> None:
    """Write the trace of all runs, whole or not at all.

    Raises
    ------
    AnabranchError
        If no operations were recorded.
    """
    if results.scan("operations").head(1).collect().is_empty():
        raise AnabranchError(
            f"{results.folder}: no operations were recorded, so there is nothing to trace",
            hint="in the scenario of a job: [measure] operations = true",
        )
    with targets.whole(path) as draft, draft.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        for place, event in enumerate(events(results)):
            out.write((",\n" if place else "") + json.dumps(event, separators=(",", ":")))
        out.write("\n]}\n")


def events(results: Tables) -> Iterator[dict[str, Any]]:
    """All events: names of processes and threads, and a slice for each operation.

    An operation that has not ended lasts until its run does.
    """
    process = 0
    table = results.scan("operations")
    for entry in results.manifest.runs:
        rows = results.collect("operations", table.filter(pl.col("run") == entry.run))
        rows = rows.sort("workload", "rank", "start_ns", maintain_order=True)
        point = "" if rows.is_empty() else ", ".join(str(rows[key][0]) for key in results.keys)
        for (workload,), own in rows.group_by("workload", maintain_order=True):
            process += 1
            name = " ".join(part for part in (entry.run, point, str(workload)) if part)
            yield _about("process_name", process, 0, name=name)
            yield from _of_job(own, process, over=entry.simulated_ns or 0.0)


def _of_job(rows: pl.DataFrame, process: int, *, over: float) -> Iterator[dict[str, Any]]:
    busy: dict[tuple[int, int], _Lanes] = {}
    threads: dict[tuple[int, int, int], int] = {}
    for row in rows.select(COLUMNS).iter_rows(named=True):
        kind = 0 if row["kind"] in OWN_TIME else 2 if row["inside_server"] else 1
        end = max(over, row["start_ns"]) if row["end_ns"] is None else row["end_ns"]
        lane = busy.setdefault((row["rank"], kind), _Lanes()).take(row["start_ns"], end)
        key = (row["rank"], kind, lane)
        if key not in threads:
            threads[key] = len(threads) + 1
            yield _about("thread_name", process, threads[key], name=f"rank {row['rank']}, {KINDS[kind]}")
            yield _about("thread_sort_index", process, threads[key], sort_index=row["rank"] * len(KINDS) + kind)
        told = {} if row["place"] is None else {"line or node": row["place"]}
        yield {
            "name": _name(row),
            "cat": KINDS[kind],
            "ph": "X",
            "pid": process,
            "tid": threads[key],
            "ts": row["start_ns"] / 1e3,
            "dur": (end - row["start_ns"]) / 1e3,
            "args": told if row["end_ns"] is not None else {**told, "ended": False},
        }


class _Lanes:
    """Threads for slices that come in order of their beginnings."""

    def __init__(self) -> None:
        self.free_at: list[tuple[float, int]] = []

    def take(self, start: float, end: float) -> int:
        """A lane that is free at `start`."""
        if self.free_at and self.free_at[0][0] <= start:
            lane = self.free_at[0][1]
            heapq.heapreplace(self.free_at, (end, lane))
            return lane
        lane = len(self.free_at)
        heapq.heappush(self.free_at, (end, lane))
        return lane


def _name(row: Mapping[str, Any]) -> str:
    if row["size_bytes"] is None:
        return str(row["kind"])
    peer = "several" if row["kind"] == "send" else "anybody"
    peer = peer if row["peer"] is None else str(row["peer"])
    return f"{row['kind']} {units.size(row['size_bytes'])} {'to' if row['kind'] == 'send' else 'from'} {peer}"


def _about(what: str, process: int, thread: int, **told: object) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": told}
