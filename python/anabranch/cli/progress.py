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
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from anabranch.base import units
from anabranch.cli.progress_json import Lines
from anabranch.cli.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from rich.console import Console

    from anabranch.cli.remaining import Remaining
    from anabranch.results.tables import Tables

TWICE = 0.5
"""Seconds within which a second signal is the first one again."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a run in good order: Ctrl-C, `kill` and batch systems, a terminal that is closed."""


SHARED = "on_several_threads"
"""What the core says of the runs that were given several threads."""


class Style(StrEnum):
    """How progress is reported on standard error."""

    AUTO = "auto"
    JSON = "json"
    NONE = "none"


OPTION = typer.Option(
    "--progress",
    help="How progress is reported on standard error: auto (a bar on a terminal, else a line now and then), json (one "
    "object a line), or none.",
    metavar="STYLE",
)


def clock(seconds: float) -> str:
    """Write a duration as a clock shows it.

    Examples
    --------
    >>> clock(4.2), clock(75), clock(3 * 3600 + 61)
    ('0:04', '1:15', '3:01:01')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def describe(state: Mapping[str, Any], left: float) -> str:
    """Write in one line how far a command is: the last report of the core, and the seconds that are left.

    Examples
    --------
    >>> describe({"simulated_ns": 2.5e8, "events_per_s": 1.2e7}, 75)
    'about 1:15 left, simulated 250 ms, 12.0 M events/s'
    """
    parts = [f"about {clock(left)} left"]
    if state.get("simulated_ns"):
        parts.append(f"simulated {units.time(state['simulated_ns'])}")
    if state.get("events_per_s"):
        parts.append(f"{units.count(state['events_per_s'])} events/s")
    if "threads" in state:  # elsewhere: who is there changes
        there = f"{state['runs_running']} running on {state['threads']} threads"
        parts.append(there if state["threads"] else "waiting for workers")
        if state["runs_failed"]:
            parts.append(f"{state['runs_failed']} FAILED")
    restarted = sum(state.get(SHARED, {}).get("restarted", {}).values())
    if restarted:
        parts.append(f"{restarted} restarted on one core")
    return ", ".join(parts)


def undivided(shared: Mapping[str, Any], threads: int) -> Iterator[str]:
    """Say of the runs that were given several threads which did not take them, and why.

    If nobody asked for threads, only of those that took longer for it.

    Examples
    --------
    >>> for note in undivided({"sequential": {"packets are captured": 2}, "restarted": {"an endpoint gives up": 1}}, 4):
    ...     print(note)
    2 runs took one core, not several: packets are captured
    1 run was restarted on one core: an endpoint gives up
    """
    for reason, runs in shared.get("sequential", {}).items() if threads else ():
        yield f"{runs} run{'s' * (runs > 1)} took one core, not several: {reason}"
    for reason, runs in shared.get("restarted", {}).items():
        yield f"{runs} run{'s' * (runs > 1)} {'were' if runs > 1 else 'was'} restarted on one core: {reason}"


def pause(elapsed: float, left: float) -> float:
    """Seconds between two lines where there is no terminal: about ten lines a command, none in quick ones.

    Examples
    --------
    >>> pause(0, 30), pause(100, 200), pause(0, 36_000)
    (10.0, 30.0, 300.0)
    """
    return min(max((elapsed + left) / 10, 10.0), 300.0)


def watched(
    start: Callable[[Watch], Tables],
    console: Console,
    *,
    total: int,
    remaining: Remaining,
    threads: int = 0,
    style: Style = Style.AUTO,
    about: Mapping[str, Any] | None = None,
) -> tuple[Tables, int | None, Mapping[str, Any] | None]:
    """Run an experiment and report its progress.

    Parameters
    ----------
    start
        Runs the experiment, reporting to the watch that it is given.
    console
        Standard error.
    total
        Number of runs.
    remaining
        How long they will take.
    threads
        How many ``--threads`` asks for.
    style
        How to report.
    about
        With `Style.JSON`: further fields of the first line.

    Returns
    -------
    tuple[Tables, int | None, Mapping[str, Any] | None]
        The results; the exit code if a signal came: 130 for Ctrl-C, 143 for SIGTERM; and what became of the runs that
        were given several threads, if they were made here.
    """
    watch = Watch()
    outcome: list[Tables] = []
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
    lines = Lines(about or {}, total) if style is Style.JSON else None
    try:
        thread.start()
        if lines is not None:
            lines.follow(watch, thread, lambda state, now: _left(remaining, state, now))
        else:
            _shown(style, console)(watch, thread, console, total, remaining)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if lines is not None:
        lines.end(outcome[0] if outcome else failure[0])
    if failure:
        raise failure[0]
    shared = watch.latest.get(SHARED)
    for note in undivided(shared or {}, threads) if style is not Style.NONE else ():
        console.print(f"note: {note}", markup=False)
    return outcome[0], watch.exit_code, shared


def _left(remaining: Remaining, state: Mapping[str, Any], now: float) -> float:
    """Seconds that are left after a report; runs on other machines use none of this one's processors."""
    if "threads" in state:
        remaining.threads = max(1, state["threads"])
        remaining.told(state, now)
    else:
        remaining.told(state, now, time.process_time())
    return remaining.seconds(now)


def _shown(style: Style, console: Console) -> Callable[[Watch, threading.Thread, Console, int, Remaining], None]:
    if style is Style.NONE:
        return _wait
    return _draw if console.is_terminal else _write


def _wait(_watch: Watch, thread: threading.Thread, _console: Console, _total: int, _remaining: Remaining) -> None:
    while thread.is_alive():
        thread.join(0.2)  # without a timeout, no signal would be noticed


def _write(watch: Watch, thread: threading.Thread, console: Console, total: int, remaining: Remaining) -> None:
    begun = told = time.monotonic()
    while thread.is_alive():
        thread.join(0.2)
        now, state = time.monotonic(), watch.latest
        left = _left(remaining, state, now)
        if now - told >= pause(now - begun, left):
            told = now
            done = f"{state.get('runs_done', 0)} of {total} runs"
            console.print(f"  {clock(now - begun)}: {done}, {describe(state, left)}", markup=False)


def _draw(watch: Watch, thread: threading.Thread, console: Console, total: int, remaining: Remaining) -> None:
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
    begun = time.monotonic()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(describe({}, remaining.seconds(begun)), total=total)
        while thread.is_alive():
            thread.join(0.2)
            now, state = time.monotonic(), watch.latest
            text = describe(state, _left(remaining, state, now))
            progress.update(task, completed=state.get("runs_done", 0), description=text)


@contextmanager
def reading(console: Console) -> Iterator[Callable[[Mapping[str, Any]], bool]]:
    """Tell how far files have been read, like `watched`; gives what the reader is to tell."""
    if not console.is_terminal:
        yield _Reader(console)
        return
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(24), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def told(state: Mapping[str, Any]) -> bool:
            progress.update(task, completed=state["bytes_read"], total=state["bytes_total"] or None)
            return True

        yield told


class _Reader:
    """Writes a line now and then about files that are read."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.begun = self.last = time.monotonic()

    def __call__(self, state: Mapping[str, Any]) -> bool:
        """Take a report of the reader; the answer says whether to go on."""
        now, read, total = time.monotonic(), state["bytes_read"], state["bytes_total"]
        elapsed = now - self.begun
        left = elapsed * (total - read) / read if total and read else 0.0
        if now - self.last >= pause(elapsed, left):
            self.last = now
            of = f" of {units.size(total)}, about {clock(left)} left" if total else ""
            self.console.print(f"  {clock(elapsed)}: read {units.size(read)}{of}", markup=False)
        return True
