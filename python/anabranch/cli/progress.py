"""Running with progress and interruption.

The core runs in a thread of its own, so that the main thread can draw, and take signals, whatever the core is doing.
The first Ctrl-C, SIGTERM or SIGHUP asks the core to stop after keeping the finished runs; a second gives up at once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anabranch import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from rich.console import Console

    from anabranch.results import Results

TWICE = 0.5
"""Seconds within which a second signal is the first one again."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a run in good order: Ctrl-C, `kill` and batch systems, a terminal that is closed."""


class Watch:
    """What the core last said, and whether it should stop."""

    def __init__(self) -> None:
        self.latest: Mapping[str, Any] = {}
        self.stop = threading.Event()
        self.signal: int | None = None
        self.signalled_at = 0.0

    @property
    def exit_code(self) -> int | None:
        """128 and the number of the signal that came, as shells have it; None if none came."""
        return None if self.signal is None else 128 + self.signal

    def __call__(self, state: Mapping[str, Any]) -> bool:
        """Take a report from the core; the answer says whether to go on."""
        self.latest = state
        return not self.stop.is_set()


def describe(state: Mapping[str, Any]) -> str:
    """Write a report of the core in one line.

    Examples
    --------
    >>> describe({"simulated_ns": 2.5e8, "events_per_s": 1.2e7, "eta_s": 75})
    'simulated 250 ms, 12.0 M events/s, about 1:15 left'
    """
    parts = [f"simulated {units.time(state.get('simulated_ns', 0.0))}"]
    if state.get("events_per_s"):
        parts.append(f"{units.count(state['events_per_s'])} events/s")
    if state.get("eta_s") is not None:
        minutes, seconds = divmod(round(state["eta_s"]), 60)
        parts.append(f"about {minutes}:{seconds:02} left")
    return ", ".join(parts)


def watched(start: Callable[[Watch], Results], console: Console, *, total: int) -> tuple[Results, int | None]:
    """Run an experiment, drawing progress if the console is a terminal.

    Parameters
    ----------
    start
        Runs the experiment, reporting to the watch that it is given.
    console
        Standard error.
    total
        Number of runs.

    Returns
    -------
    tuple[Results, int | None]
        The results, and the exit code if a signal came: 130 for Ctrl-C, 143 for SIGTERM.
    """
    watch = Watch()
    outcome: list[Results] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(start(watch))
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            failure.append(error)

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if watch.stop.is_set():
            # `timeout` and batch systems signal the process and then its group: that is one signal, twice.
            if time.monotonic() - watch.signalled_at > TWICE:
                os._exit(128 + number)
            return
        watch.signal, watch.signalled_at = number, time.monotonic()
        watch.stop.set()
        # Not through the console: it may be drawing, and its lock is this thread's.
        os.write(2, b"stopping: finished runs are kept (Ctrl-C again to give up at once)\n")

    thread = threading.Thread(target=work, name="anabranch-core", daemon=True)
    # What the caller ignores (nohup, a shell's background job) stays ignored.
    taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in taken}
    try:
        thread.start()
        _draw(watch, thread, console, total)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if failure:
        raise failure[0]
    return outcome[0], watch.exit_code


def _draw(watch: Watch, thread: threading.Thread, console: Console, total: int) -> None:
    if not console.is_terminal:
        while thread.is_alive():
            thread.join(0.2)
        return
    from rich.progress import (  # noqa: PLC0415 - `--help` can do without
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        MofNCompleteColumn(),
        TextColumn("runs"),
        BarColumn(24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        while thread.is_alive():
            thread.join(0.2)
            state = watch.latest
            if state:
                progress.update(task, completed=state.get("runs_done", 0), description=describe(state))


@contextmanager
def reading(console: Console) -> Iterator[Callable[[Mapping[str, Any]], bool]]:
    """Draw how far files have been read, if the console is a terminal; gives what the reader is to tell."""
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(24), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def told(state: Mapping[str, Any]) -> bool:
            progress.update(task, completed=state["bytes_read"], total=state["bytes_total"] or None)
            return True

        yield told
