"""Conducts a sweep: which run is made next, what is done when one does not come back, and how far it all is.

Runs are handed out the longest first, a few more than there are threads. A run whose worker died is begun again by the
scheduler; if that happens too often it is put aside and tried once more when all others are done, with nothing beside
it, so that a run that kills its worker takes no other with it. A run's own error is final.
"""

from __future__ import annotations

import concurrent.futures
import queue
import time
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch import core, units
from anabranch.cluster import work
from anabranch.cluster.work import Order, Outcome
from anabranch.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from distributed import Client, Future

    from anabranch.cluster.destination import Destination
    from anabranch.cluster.package import Package
    from anabranch.cluster.start import Connection

TICK = 0.2
"""Seconds between two looks at what has happened."""

LOOK = 2.0
"""Seconds between two looks at who is there."""

AHEAD = 2
"""Runs that are handed out for each thread: one to be made, one to begin with at once."""

GONE = ("cancelled", "error", "lost")
"""States of what has to be sent again."""

FETCH = 30.0
"""Seconds to wait for what a worker has to say of a run that has ended."""

STOP = 5.0
"""Seconds that workers have to stop when they are told to."""


@dataclass(frozen=True, slots=True)
class Flight:
    """A run that was handed out: its name, and whether nothing else was beside it."""

    run: str
    alone: bool


class Conductor:
    """A sweep that goes on.

    Parameters
    ----------
    connection
        Who works.
    package
        The scenario.
    destination
        Where results go.
    hashes
        Run to the hash of all that it depends on, of all runs.
    limit_s
        Wall-clock seconds that a run may take.
    memory
        Run to the bytes that it needs by estimate: where workers declare a resource ``memory``, it is reserved.
    """

    def __init__(
        self,
        connection: Connection,
        package: Package,
        destination: Destination,
        hashes: Mapping[str, str],
        *,
        limit_s: float | None,
        memory: Mapping[str, int],
    ) -> None:
        self.connection = connection
        self.package = package
        self.destination = destination
        self.hashes = hashes
        self.limit_s = limit_s
        self.identity = core.identity()
        self.failed: dict[str, str] = {}
        self.trouble: OSError | None = None
        self.ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.flying: dict[Future, Flight] = {}
        self.crowd: deque[str] = deque()
        self.alone: deque[str] = deque()
        self.kept = self.done = self.events = self.threads = 0
        self.current: dict[str, Mapping[str, Any]] = {}
        self.begun = self.looked = self.seen = self.moved = time.monotonic()
        self.topic = f"anabranch-{uuid.uuid4().hex[:12]}"
        self.scenario: Future | None = None
        self.lost = 0
        """Times that the scenario was lost since a run was made."""
        self.heard: Client | None = None
        """The client that listens to the workers' reports."""
        self.memory = memory
        self.most_memory: float | None = None
        """The most that a worker has of the resource ``memory``; None if not all have it."""

    def run(self, missing: Sequence[str], tell: Callable[[Mapping[str, Any]], bool]) -> bool:
        """Make the runs that are missing; returns False if it was interrupted.

        Raises
        ------
        ClusterError
            If the workers cannot be used, or all of them or the scheduler stay away.
        OSError
            If the manifest cannot be written.
        """
        self.begun = self.looked = self.seen = self.moved = time.monotonic()
        self.crowd = deque(missing)
        self.kept = len(self.hashes) - len(missing)
        try:
            while self.crowd or self.alone or self.flying:
                self._look()
                self._hand_out()
                self._collect()
                if not tell(self.state()):
                    return False
        finally:
            self._stop()
        tell(self.state())
        if self.trouble is not None:
            raise self.trouble
        return True

    def state(self) -> Mapping[str, Any]:
        """How far the sweep is; the keys are those of the core's reports, and some more."""
        seconds = max(time.monotonic() - self.begun, 1e-9)
        current = {flight.run for flight in self.flying.values()} & self.current.keys()
        events = self.events + sum(int(self.current[run]["events"]) for run in current)
        return {
            "runs_done": self.kept + self.done,
            "runs_kept": self.kept,
            "runs_total": len(self.hashes),
            "runs_running": len(current),
            "runs_failed": len(self.failed),
            "threads": self.threads,
            "events": events,
            "events_per_s": events / seconds,
            "simulated_ns": max((float(self.current[run]["simulated_ns"]) for run in current), default=0.0),
            "eta_s": None,
            "current": sorted(current),
        }

    def _look(self) -> None:
        """See who is there; wait for a scheduler or workers that went away, for a while."""
        now = time.monotonic()
        if not self.connection.again():
            self.threads = 0
        elif now - self.looked >= LOOK or not self.threads:
            self.looked = now
            self.connection.replace()
            workers = self.connection.workers().values()
            self.threads = sum(int(worker["nthreads"]) for worker in workers)
            memory = [worker["resources"].get("memory") for worker in workers]
            self.most_memory = None if None in memory else max(memory, default=None)
            self._check_moving(now)
        client = self.connection.client
        if self.threads:
            self.seen = now
            if self.heard is not client or self.scenario is None or self.scenario.status in GONE:
                self._count_lost()
                client.subscribe_topic(self.topic, self._hear)
                self.heard = client
                self.scenario = client.submit(
                    _itself, self.package, key=f"anabranch-scenario-{uuid.uuid4().hex}", pure=False
                )
            return
        what, wait_s = "the scheduler is gone", self.connection.wait_s
        if self.connection.running():
            what, wait_s = "no worker is left", self.connection.wait_for_worker_s
        if now - self.seen > wait_s:
            raise ClusterError(
                f"{what} for {wait_s:.0f} s: {self.kept + self.done} of {len(self.hashes)} runs are done and kept",
                hint="the same command with --resume runs the others",
            )

    def _count_lost(self) -> None:
        """Give up if the scenario itself takes its workers with it, and is not only there when one dies."""
        if self.scenario is not None and self.scenario.status == "error":
            self.lost += 1
            if self.lost > self.connection.settings.retries:
                raise ClusterError(
                    f"the scenario was lost with its workers {self.lost} times, and no run was made meanwhile: "
                    f"{self.kept + self.done} of {len(self.hashes)} runs are done and kept",
                    hint="workers end when they unpack it: see what they say, and whether they have enough memory",
                )

    def _check_moving(self, now: float) -> None:
        """See whether workers do something with what they were given."""
        if not self.flying or not self.threads or self.connection.processing():
            self.moved = now
        elif now - self.moved > max(self.connection.wait_s, 2 * LOOK):
            run = next(iter(self.flying.values())).run
            raise ClusterError(
                f"no worker takes {run} for {now - self.moved:.0f} s, and none does anything: {self.kept + self.done} "
                f"of {len(self.hashes)} runs are done and kept",
                hint=f"it needs about {units.size(self.memory[run])} of the workers' resource `memory`, if they have "
                "one; with other workers, the same command with --resume runs the others",
            )

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        news = event[1]
        self.current[str(news["run"])] = news

    def _hand_out(self) -> None:
        while self.crowd and len(self.flying) < AHEAD * self.threads:
            self._submit(self.crowd.popleft(), alone=False)
        if self.alone and not self.crowd and not self.flying and self.threads:
            self._submit(self.alone.popleft(), alone=True)

    def _submit(self, run: str, *, alone: bool) -> None:
        order = Order(
            run=run,
            hash=self.hashes[run],
            out=self.destination.name,
            token=self.destination.token,
            topic=self.topic,
            identity=self.identity,
            limit_s=self.limit_s,
            return_bytes=self.connection.settings.return_bytes,
        )
        future = self.connection.client.submit(
            work.make,
            self.scenario,
            order,
            key=f"anabranch-{run}-{uuid.uuid4().hex[:12]}",
            pure=False,
            resources=None if self.most_memory is None else {"memory": min(self.memory[run], self.most_memory)},
        )
        self.flying[future] = Flight(run, alone)
        self.moved = time.monotonic()
        future.add_done_callback(self.ended.put)

    def _collect(self) -> None:
        """Take what has ended; wait a little if nothing has."""
        wait = TICK
        with suppress(queue.Empty):
            while True:
                future = self.ended.get(timeout=wait)
                wait = 0.0
                flight = self.flying.pop(future, None)
                if flight is not None:
                    self._end(future, flight)

    def _end(self, future: Future, flight: Flight) -> None:
        self.moved = time.monotonic()
        self.current.pop(flight.run, None)
        if future.status == "cancelled":
            # The scheduler went away with it.
            self.crowd.appendleft(flight.run)
            return
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker" and error.task != future.key:
                self.crowd.appendleft(flight.run)  # the scenario was lost with its worker too often: it is sent anew
            elif type(error).__name__ == "KilledWorker":
                deaths = int(error.allowed_failures) + 1
                self._again(flight, f"its worker died {deaths} times while it ran: out of memory, or killed")
            else:
                self._fail(flight.run, f"{type(error).__name__}: {error}")
            return
        try:
            outcome: Outcome = future.result(timeout=FETCH)
        except (OSError, TimeoutError, concurrent.futures.CancelledError):
            self.crowd.appendleft(flight.run)  # who made it was lost before it could say so
            return
        if outcome.kind == "skew":
            raise ClusterError(
                f"worker {outcome.worker} joined with another simulator: {outcome.error}",
                hint="install the same version of anabranch everywhere; --resume goes on",
            )
        if outcome.kind == "stopped":
            self.crowd.appendleft(flight.run)
        elif outcome.kind == "machine":
            self._again(flight, f"{outcome.error} (worker {outcome.worker})")
        elif outcome.error is not None:
            self._fail(flight.run, outcome.error)
        else:
            self._take(flight, outcome)

    def _take(self, flight: Flight, outcome: Outcome) -> None:
        try:
            entry = self.destination.take(outcome, self.hashes[flight.run])
        except OSError as error:
            self._again(flight, str(error))
            return
        self.done += 1
        self.lost = 0
        self.events += int(entry["events"])

    def _again(self, flight: Flight, why: str) -> None:
        """Try a run again, alone; once."""
        if flight.alone:
            self._fail(flight.run, why)
        else:
            self.alone.append(flight.run)

    def _fail(self, run: str, why: str) -> None:
        self.failed[run] = why
        self.done += 1
        try:
            self.destination.fail(run, why)
        except OSError as error:
            self.trouble = error  # the others are worth finishing

    def _stop(self) -> None:
        """Tell workers to stop what they still do, and wait for them a little."""
        if self.heard is not None and self.heard is self.connection.client:
            with suppress(OSError, TimeoutError, RuntimeError, ValueError):
                self.heard.unsubscribe_topic(self.topic)
        if not self.flying:
            return
        with suppress(OSError, TimeoutError, RuntimeError):
            self.connection.client.cancel(list(self.flying), force=True)
            deadline = time.monotonic() + STOP
            while time.monotonic() < deadline and any(self.connection.client.processing().values()):
                time.sleep(0.1)
        self.flying.clear()


def _itself(package: Package) -> Package:
    """Send a scenario to a worker, from where others get it; it is sent again if that worker dies."""
    return package
