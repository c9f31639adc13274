"""Progress as JSON, one object a line on standard error: for scripts, and for programs that run sweeps.

`docs/reference/progress.md` describes the lines.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Thread

    from anabranch.cli.watch import Watch
    from anabranch.results.tables import Tables

EVERY_S = 1.0
"""Seconds between two lines."""


class Lines:
    """The lines of one experiment.

    Parameters
    ----------
    about
        Further fields of the first line, such as `dashboard`.
    total
        Number of runs.
    """

    def __init__(self, about: Mapping[str, Any], total: int) -> None:
        self.about = about
        self.total = total
        self.begun = time.monotonic()

    def follow(self, watch: Watch, thread: Thread, left_s: Callable[[Mapping[str, Any], float], float]) -> None:
        """Write a line each second while a thread runs an experiment, and one when it has ended.

        Parameters
        ----------
        left_s
            Estimates the seconds that are left, from a report and the time.
        """
        self._write("start", {"runs_total": self.total, **self.about})
        last, alive = self.begun - EVERY_S, True
        while alive:
            alive = thread.is_alive()
            now, state = time.monotonic(), watch.latest
            left = left_s(state, now)
            if state and (now - last >= EVERY_S or not alive):
                last = now
                self._write("progress", self._progress(state, left))
            thread.join(0.2)

    def end(self, results: Tables | BaseException) -> None:
        """Write the last line of an experiment: how its runs ended, or why it could not be run."""
        if isinstance(results, BaseException):
            self._write("error", {"message": str(results) or type(results).__name__})
            return
        runs = results.manifest.runs
        done = len(runs) - len(results.manifest.waiting)
        failed = sum(run.status == "failed" for run in runs)
        fields = {"runs_total": len(runs), "runs_done": done, "runs_failed": failed, "out": str(results.folder)}
        self._write("end", fields)

    def _progress(self, state: Mapping[str, Any], left: float) -> Mapping[str, Any]:
        return {
            "runs_total": self.total,
            "runs_done": state.get("runs_done", 0),
            "runs_kept": state.get("runs_kept", 0),
            "runs_running": state.get("runs_running", len(state.get("current", ()))),
            "runs_failed": state.get("runs_failed", 0),
            **({"threads": state["threads"]} if "threads" in state else {}),
            "events": state.get("events", 0),
            "events_per_s": round(state.get("events_per_s") or 0.0, 1),
            "left_s": round(left, 1),
        }

    def _write(self, event: str, fields: Mapping[str, Any]) -> None:
        line = {"event": event, "elapsed_s": round(time.monotonic() - self.begun, 1), **fields}
        print(json.dumps(line), file=sys.stderr, flush=True)
