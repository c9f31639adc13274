"""A sweep on a Dask cluster, from scenario file to results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.base import core, units
from anabranch.errors import ClusterError
from anabranch.running import outputs
from anabranch.running.cluster.destination import Destination
from anabranch.running.cluster.dispatch import Dispatcher
from anabranch.running.cluster.package import pack
from anabranch.running.cluster.start import Connection, connected, most_memory
from anabranch.running.options import passed
from anabranch.running.plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from anabranch.running.options import Options
    from anabranch.running.plan import PlannedRun


def run(
    path: str | Path,
    overrides: tuple[str, ...],
    out: Path,
    options: Options,
    *,
    command: Sequence[str],
    report: Callable[[Mapping[str, Any]], bool] | None,
) -> Mapping[str, str]:
    """Run a sweep; returns the runs that failed, and why.

    Parameters
    ----------
    path, overrides
        As of `anabranch.run`.
    out
        Folder, or `UPath` of an object store.
    options
        The options of `anabranch.run`, all of them.
    command
        Command line to keep in the manifest.
    report
        Told how far it is; returns False to ask for an interruption.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read or run.
    ClusterError
        If the cluster cannot be used.
    OSError
        If results cannot be written.
    """
    planned = plan(path, overrides, seeds=options["seeds"]).runs
    outputs.check(out, planned, resume=options["resume"], force=options["force"])
    given = passed(options, "run")
    sweep = core.Sweep(str(path), overrides, given)
    package = pack(sweep, str(path), overrides, given)
    with connected(options["on"], options["on_options"]) as connection:
        destination = Destination(out, sweep)
        hashes = {one.run: one.hash for one in planned}
        memory = {one.run: one.memory_bytes for one in planned}
        dispatcher = Dispatcher(connection, package, destination, hashes, memory=memory)
        try:
            ready = connection.wait_for_workers(lambda: (report or _continue)(dispatcher.state()))
            if ready:
                connection.check()
                _fits(planned, connection)
            # If interrupted before there was a worker, write a manifest as well: all its runs are interrupted.
            missing = destination.open(command, resume=options["resume"], force=options["force"])
            if ready:
                dispatcher.run(missing, report or _continue)
        except BaseException as error:
            try:
                destination.close()
            except OSError as second:
                error.add_note(f"and {second}")
            raise
        destination.close()
    return dispatcher.failed


def _continue(_state: Mapping[str, Any]) -> bool:
    return True


def _fits(planned: Sequence[PlannedRun], connection: Connection) -> None:
    """Check that some worker has enough memory for the largest run, by its estimate."""
    most = most_memory(connection.workers().values())
    largest = max(planned, key=lambda run: run.memory_bytes, default=None)
    if largest is not None and largest.memory_bytes > most:
        raise ClusterError(
            f"{largest.run} needs about {units.size(largest.memory_bytes)}, and no worker may give it more than "
            f"{units.size(most)}; nothing was run",
            hint="fewer or larger workers: `--memory-limit` or `--resources memory=BYTES` of `dask worker`, or their "
            "options in the file of --on-options",
        )
