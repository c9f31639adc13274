"""The time that is left: predicted at first, corrected by what ended."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from anabranch.cli import progress
from anabranch.cli.remaining import Remaining
from anabranch.cli.watch import Watch


def report(done: int, *current: str, kept: int = 0) -> dict[str, object]:
    return {"runs_done": done, "runs_kept": kept, "current": list(current)}


def test_it_is_known_before_anything_has_begun() -> None:
    assert Remaining({"a": 10.0, "b": 30.0}, 1).seconds(0) == 40
    assert Remaining({"a": 10.0, "b": 30.0}, 2).seconds(0) == 30  # the longest run
    assert Remaining({"a": 10.0, "b": 30.0, "c": 40.0}, 2).seconds(0) == 40
    assert Remaining({}, 2).seconds(0) == 0


def test_it_passes_as_time_does() -> None:
    left = Remaining({"a": 30.0, "b": 10.0}, 1)
    left.told(report(0, "a"), 0)
    assert left.seconds(5) == 35
    assert left.seconds(30) == pytest.approx(10 + 3)


def test_a_run_that_is_late_says_something_of_the_others() -> None:
    left = Remaining({"a": 30.0, "b": 10.0}, 1)
    left.told(report(0, "a"), 0)
    assert left.seconds(60) == pytest.approx(6 + 20)  # a tenth of its age more, and twice as long for the other


def test_a_slow_machine_is_noticed_when_a_run_ends() -> None:
    left = Remaining(dict.fromkeys("abcd", 10.0), 1)
    left.told(report(0, "a"), 0)
    for now in range(1, 40):
        left.told(report(0, "a"), now)
    left.told(report(1, "b"), 40)
    # 40 s for 10: the three others take nearly four times as long, too.
    assert left.seconds(40) == pytest.approx(30 * 42 / 12)


def test_a_machine_that_others_use_is_noticed_within_a_second() -> None:
    left = Remaining(dict.fromkeys("abcd", 10.0), 2)
    left.told(report(0, "a", "b"), 0, 3.0)
    left.told(report(0, "a", "b"), 1, 3.5)
    # A quarter of a processor for each thread: 1/4 s of each run is done, and the rest takes four times as long.
    assert left.seconds(1) == pytest.approx((40 - 0.5) / 2 * 4)


def test_runs_between_two_reports_count() -> None:
    left = Remaining({f"r{n:03}": 0.1 for n in range(100)}, 2)
    left.told(report(0, "r000", "r001"), 0)
    left.told(report(50, "r050", "r051"), 5)
    assert left.ended == 50
    assert len(left.waiting) == 48
    # 10 s of work for 5: twice as slow, less what was predicted.
    assert left.seconds(5) == pytest.approx((2 + 10) / (2 + 5) * 5 / 2, rel=0.05)


def test_runs_that_were_kept_are_not_waited_for() -> None:
    left = Remaining({"b": 10.0}, 4)
    left.told(report(3, "b", kept=3), 0)
    assert left.seconds(0) == 10
    left.told(report(4, kept=3), 10)
    assert left.seconds(10) == 0


class Clock:
    """A clock that is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        for name in ("monotonic", "process_time"):
            monkeypatch.setattr(f"anabranch.cli.progress.time.{name}", lambda: self.now)


def console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=200), out


def test_reading_is_told_by_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, (err, out) = Clock(monkeypatch), console()
    with progress.reading(err) as told:
        for now in range(1, 41):
            clock.now = now
            assert told({"bytes_read": now * 1_000_000, "bytes_total": 100_000_000})
    assert out.getvalue().splitlines() == [
        f"  0:{now}: read {now}.0 MB of 100 MB, about {progress.clock(100 - now)} left" for now in (10, 20, 30, 40)
    ]


def test_runs_are_told_by_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, (err, out) = Clock(monkeypatch), console()

    class Thread:
        """A run that takes 25 s of that clock."""

        def is_alive(self) -> bool:
            return clock.now < 25

        def join(self, seconds: float) -> None:
            clock.now += seconds

    watch = Watch()
    watch({"runs_done": 1, "runs_kept": 0, "current": ["b"], "simulated_ns": 5e6, "events_per_s": 2e6})
    thread: Any = Thread()
    progress._write(watch, thread, err, 2, Remaining({"a": 10.0, "b": 20.0}, 1))
    first, second = out.getvalue().splitlines()
    assert re.fullmatch(r"  0:10: 1 of 2 runs, about 0:\d\d left, simulated 5.00 ms, 2.00 M events/s", first)
    assert second.startswith("  0:20: 1 of 2 runs")
