"""How long runs will still take: predicted at first, then corrected by how long those that ended took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PRIOR = 2.0
"""Seconds of work by which the prediction counts beside what was measured."""

LATE = 0.1
"""Share of its age that a run which takes longer than predicted is taken to need still."""

SETTLED = 0.5
"""Seconds of work after which it is known how much of the processors there is for us."""

LEAST = 0.02
"""Share of a processor that is taken to be there in any case."""


class Remaining:
    """The time that is left, told by what the core reports.

    Parameters
    ----------
    predicted
        Run to seconds, of the runs that are to be done.
    threads
        Runs at a time.
    """

    def __init__(self, predicted: Mapping[str, float], threads: int) -> None:
        # The core begins with the longest.
        self.waiting = dict(sorted(predicted.items(), key=lambda item: -item[1]))
        self.threads = max(1, min(threads, len(predicted)))
        self.running: dict[str, tuple[float, float]] = {}
        """Name to start and predicted seconds."""
        self.ended = 0
        self.ended_predicted = 0.0
        self.work = 0.0
        """Seconds of work so far, over all threads."""
        self.seen_at: float | None = None
        self.used_before: float | None = None
        self.share = 1.0
        """Share of a processor that a thread gets: less than one where others compute, too."""

    def told(self, state: Mapping[str, Any], now: float, processor: float | None = None) -> None:
        """Take a report of the core, at a time in seconds, with the seconds of processors that were used until then."""
        if self.seen_at is not None:
            self.work += (now - self.seen_at) * len(self.running)
        self.seen_at = now
        if processor is not None:
            self.used_before = processor if self.used_before is None else self.used_before
            if self.work >= SETTLED:
                self.share = min(max((processor - self.used_before) / self.work, LEAST), 1.0)
        current = set(state.get("current", ()))
        for name in current & self.waiting.keys():
            self.running[name] = (now, self.waiting.pop(name))
        for name in self.running.keys() - current:
            self.ended_predicted += self.running.pop(name)[1]
            self.ended += 1
        # Runs that began and ended between two reports.
        while self.waiting and self.ended < state.get("runs_done", 0) - state.get("runs_kept", 0):
            self.ended_predicted += self.waiting.pop(next(iter(self.waiting)))
            self.ended += 1

    def seconds(self, now: float) -> float:
        """Seconds that are left."""
        # In seconds of a processor, as predictions are, until the last line.
        ages = {name: (now - start) * self.share for name, (start, _) in self.running.items()}
        since = 0.0 if self.seen_at is None else (now - self.seen_at) * len(self.running)
        spent = max(0.0, (self.work + since) * self.share - sum(ages.values()))
        slower = (PRIOR + spent) / (PRIOR + self.ended_predicted)
        # A run that is late says something of the others, too.
        slower = max([slower, *(age / max(self.running[name][1], PRIOR) for name, age in ages.items())])
        left = [max(slower * self.running[name][1] - age, LATE * age) for name, age in ages.items()]
        total = sum(left) + slower * sum(self.waiting.values())
        longest = max([*left, slower * max(self.waiting.values(), default=0.0)], default=0.0)
        return max(total / self.threads, longest) / self.share
