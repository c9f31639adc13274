"""Dispatches the runs of a sweep to Dask: order of submission, retries, and progress.

Runs are submitted longest first, `TASKS_PER_THREAD` per thread. Dask retries a run whose worker died. A run that used
up these retries is quarantined: it gets one last attempt when all others are done, as the only task on the cluster, so
that a run that kills its worker takes no other run with it. An error of the run itself is final.
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

from anabranch.base import core, units
from anabranch.errors import ClusterError
from anabranch.running.cluster import work
from anabranch.running.cluster.work import Outcome, RunRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from distributed import Client, Future

    from anabranch.running.cluster.destination import Destination
    from anabranch.running.cluster.package import Package
    from anabranch.running.cluster.start import Connection

POLL_S = 0.2
"""Seconds between two reports of progress."""

WORKERS_POLL_S = 2.0
"""Seconds between two queries for the list of workers."""

TASKS_PER_THREAD = 2
"""Tasks submitted per thread of the workers: one that runs and one in its queue."""

LOST_STATES = ("cancelled", "error", "lost")
"""States of a future whose data is no longer on the cluster."""

FETCH_TIMEOUT_S = 30.0
"""Seconds to wait for the result of a finished task."""

STOP_TIMEOUT_S = 5.0
"""Seconds that workers have to stop cancelled tasks."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A submitted run, and whether it is the only task on the cluster."""

    run: str
    isolated: bool


class Dispatcher:
    """Runs a sweep on a Dask cluster.

    Parameters
    ----------
    connection
        The cluster.
    package
        The scenario.
    destination
        Where results go.
    hashes
        Content hash of every run, by name.
    memory
        Estimated bytes of every run, by name: reserved where workers declare a resource ``memory``.
    """

    def __init__(
        self,
        connection: Connection,
        package: Package,
        destination: Destination,
        hashes: Mapping[str, str],
        *,
        memory: Mapping[str, int],
    ) -> None:
        self.connection = connection
        self.package = package
        self.destination = destination
        self.hashes = hashes
        self.identity = core.identity()
        self.failed: dict[str, str] = {}
        self.finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.submitted: dict[Future, Submitted] = {}
        self.pending: deque[str] = deque()
        self.quarantined: deque[str] = deque()
        self.kept = self.done = self.events = self.threads = 0
        self.current: dict[str, Mapping[str, Any]] = {}
        self.started_at = self.polled_at = self.workers_seen_at = self.progress_at = time.monotonic()
        self.topic = f"anabranch-{uuid.uuid4().hex[:12]}"
        self.scenario: Future | None = None
        self.scenario_losses = 0
        """Times that the scenario was lost with its worker since a run last completed."""
        self.subscribed: Client | None = None
        """The client that is subscribed to the workers' reports."""
        self.memory = memory
        self.declared_memory: float | None = None
        """Largest resource ``memory`` of a worker; None unless all declare it."""

    def run(self, missing: Sequence[str], report: Callable[[Mapping[str, Any]], bool]) -> bool:
        """Make the missing runs; returns False if interrupted.

        Raises
        ------
        ClusterError
            If workers cannot be used, or the scheduler or all workers are gone for too long.
        """
        self.started_at = self.polled_at = self.workers_seen_at = self.progress_at = time.monotonic()
        self.pending = deque(missing)
        self.kept = len(self.hashes) - len(missing)
        try:
            while self.pending or self.quarantined or self.submitted:
                self._poll_workers()
                self._submit_pending()
                self._collect_finished()
                self.destination.check()
                if not report(self.state()):
                    return False
        finally:
            self._stop()
        report(self.state())
        return True

    def state(self) -> Mapping[str, Any]:
        """Progress of the sweep: the keys of the core's progress reports, and some of a cluster."""
        seconds = max(time.monotonic() - self.started_at, 1e-9)
        current = {task.run for task in self.submitted.values()} & self.current.keys()
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

    def _poll_workers(self) -> None:
        """Update the list of workers; give up if there were none, or no scheduler, for too long."""
        now = time.monotonic()
        if not self.connection.reconnect():
            self.threads = 0
        elif now - self.polled_at >= WORKERS_POLL_S or not self.threads:
            self.polled_at = now
            self.connection.rescale()
            workers = self.connection.workers().values()
            self.threads = sum(int(worker["nthreads"]) for worker in workers)
            memory = [worker["resources"].get("memory") for worker in workers]
            self.declared_memory = None if None in memory else max(memory, default=None)
            self._check_stalled(now)
        client = self.connection.client
        if self.threads:
            self.workers_seen_at = now
            if self.subscribed is not client or self.scenario is None or self.scenario.status in LOST_STATES:
                self._check_scenario()
                client.subscribe_topic(self.topic, self._on_report)
                self.subscribed = client
                self.scenario = client.submit(
                    _identity, self.package, key=f"anabranch-scenario-{uuid.uuid4().hex}", pure=False
                )
            return
        what, wait_s = "the scheduler has been gone", self.connection.wait_s
        if self.connection.running():
            what, wait_s = "there has been no worker", self.connection.wait_for_worker_s
        if now - self.workers_seen_at > wait_s:
            raise ClusterError(
                f"{what} for {wait_s:.0f} s: {self._kept()}",
                hint="the same command with --resume runs the others",
            )

    def _kept(self) -> str:
        return f"{self.kept + self.done} of {len(self.hashes)} runs are done and kept"

    def _check_scenario(self) -> None:
        """Give up if workers die of the scenario itself, before they run anything."""
        if self.scenario is not None and self.scenario.status == "error":
            self.scenario_losses += 1
            if self.scenario_losses > self.connection.settings.retries:
                raise ClusterError(
                    f"the scenario was lost with its workers {self.scenario_losses} times, and no run completed "
                    f"meanwhile: {self._kept()}",
                    hint="workers die when they load it: look at their logs, and whether they have enough memory",
                )

    def _check_stalled(self, now: float) -> None:
        """Give up if no worker takes a submitted run: none may have the memory that it asks for."""
        if not self.submitted or not self.threads or self.connection.processing():
            self.progress_at = now
        elif now - self.progress_at > max(self.connection.wait_s, 2 * WORKERS_POLL_S):
            run = next(iter(self.submitted.values())).run
            raise ClusterError(
                f"no worker has accepted {run} for {now - self.progress_at:.0f} s, and all are idle: {self._kept()}",
                hint=f"it reserves about {units.size(self.memory[run])} of the workers' resource `memory`, if they "
                "declare one; with other workers, the same command with --resume runs the others",
            )

    def _on_report(self, event: tuple[float, Mapping[str, Any]]) -> None:
        report = event[1]
        self.current[str(report["run"])] = report

    def _submit_pending(self) -> None:
        while self.pending and len(self.submitted) < TASKS_PER_THREAD * self.threads:
            self._submit(self.pending.popleft(), isolated=False)
        if self.quarantined and not self.pending and not self.submitted and self.threads:
            self._submit(self.quarantined.popleft(), isolated=True)

    def _submit(self, run: str, *, isolated: bool) -> None:
        request = RunRequest(
            run=run,
            hash=self.hashes[run],
            out=self.destination.name,
            token=self.destination.token,
            topic=self.topic,
            identity=self.identity,
            return_bytes=self.connection.settings.return_bytes,
        )
        future = self.connection.client.submit(
            work.make_run,
            self.scenario,
            request,
            key=f"anabranch-{run}-{uuid.uuid4().hex[:12]}",
            pure=False,
            resources=None if self.declared_memory is None else {"memory": min(self.memory[run], self.declared_memory)},
        )
        self.submitted[future] = Submitted(run, isolated)
        self.progress_at = time.monotonic()
        future.add_done_callback(self.finished.put)

    def _collect_finished(self) -> None:
        """Process finished tasks; wait up to `POLL_S` for the first."""
        wait = POLL_S
        with suppress(queue.Empty):
            while True:
                future = self.finished.get(timeout=wait)
                wait = 0.0
                task = self.submitted.pop(future, None)
                if task is not None:
                    self._on_finished(future, task)

    def _on_finished(self, future: Future, task: Submitted) -> None:
        self.progress_at = time.monotonic()
        self.current.pop(task.run, None)
        if future.status == "cancelled":
            # The scheduler was restarted.
            self.pending.appendleft(task.run)
            return
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker" and error.task != future.key:
                self.pending.appendleft(task.run)  # workers died with the scenario, not with this run
            elif type(error).__name__ == "KilledWorker":
                deaths = int(error.allowed_failures) + 1
                self._retry_isolated(task, f"its worker died {deaths} times while it ran: out of memory, or killed")
            else:
                self._record_failure(task.run, f"{type(error).__name__}: {error}")
            return
        try:
            outcome: Outcome = future.result(timeout=FETCH_TIMEOUT_S)
        except (OSError, TimeoutError, concurrent.futures.CancelledError):
            self.pending.appendleft(task.run)  # its worker died with the result
            return
        if outcome.kind == "skew":
            raise ClusterError(
                f"worker {outcome.worker} joined with another simulator: {outcome.error}",
                hint="install the same version of anabranch everywhere; --resume goes on",
            )
        if outcome.kind == "stopped":
            self.pending.appendleft(task.run)
        elif outcome.kind == "machine":
            self._retry_isolated(task, f"{outcome.error} (worker {outcome.worker})")
        elif outcome.error is not None:
            self._record_failure(task.run, outcome.error)
        else:
            self._record(task, outcome)

    def _record(self, task: Submitted, outcome: Outcome) -> None:
        try:
            entry = self.destination.record(outcome, self.hashes[task.run])
        except OSError as error:
            self._retry_isolated(task, str(error))
            return
        self.done += 1
        self.scenario_losses = 0
        self.events += int(entry["events"])

    def _retry_isolated(self, task: Submitted, why: str) -> None:
        """Quarantine a run for one last attempt; if that was it, it has failed."""
        if task.isolated:
            self._record_failure(task.run, why)
        else:
            self.quarantined.append(task.run)

    def _record_failure(self, run: str, why: str) -> None:
        self.failed[run] = why
        self.done += 1
        self.destination.record_failure(run, why)

    def _stop(self) -> None:
        """Cancel what is submitted, and give workers a moment to stop."""
        if self.subscribed is not None and self.subscribed is self.connection.client:
            with suppress(OSError, TimeoutError, RuntimeError, ValueError):
                self.subscribed.unsubscribe_topic(self.topic)
        if not self.submitted:
            return
        with suppress(OSError, TimeoutError, RuntimeError):
            self.connection.client.cancel(list(self.submitted), force=True)
            deadline = time.monotonic() + STOP_TIMEOUT_S
            while time.monotonic() < deadline and any(self.connection.client.processing().values()):
                time.sleep(0.1)
        self.submitted.clear()


def _identity(package: Package) -> Package:
    """Place a scenario on a worker, as a task rather than by scatter: Dask then recomputes it if that worker dies."""
    return package
