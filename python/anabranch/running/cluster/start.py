"""Starts or reaches a Dask cluster for a target, and shuts down what it started."""

from __future__ import annotations

import importlib
import logging
import shutil
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Any

from anabranch.base import core
from anabranch.base.places import INSTALL
from anabranch.errors import ClusterError
from anabranch.running.cluster import target as targets
from anabranch.running.cluster.options import check_names, parameters
from anabranch.running.cluster.target import BATCH_SYSTEMS, DEFAULT_WAIT_S, Settings, Target
from anabranch.running.cluster.work import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

    from distributed import Client

CONNECT_TIMEOUT_S = 15.0
"""Seconds that a scheduler may take to accept the connection."""

MAX_NAMED = 5
"""Workers that an error names at most."""

IGNORE_SIGINT = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""Preload of local workers: a terminal sends Ctrl-C to them, too, but it is the client that stops them."""

LOOPBACK = "127.0.0.1"


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ClusterError(f"--on needs Dask, which is not installed ({error})", hint=INSTALL) from error


def prepare(on: object) -> None:
    """Do what only the main thread may do, before a sweep begins in another thread.

    Raises
    ------
    ClusterError
        If it is a batch system whose commands are not on this machine, or Dask is not installed.
    """
    kind = on.kind if isinstance(on, Target) else on
    if isinstance(kind, str) and kind in BATCH_SYSTEMS:
        _jobqueue(kind)


def _jobqueue(kind: str) -> ModuleType:
    """The module `dask_jobqueue`, if this machine has the commands of the batch system."""
    if shutil.which(BATCH_SYSTEMS[kind]) is None:
        raise ClusterError(
            f"--on {kind}: this machine has no command `{BATCH_SYSTEMS[kind]}`",
            hint="call it where jobs are submitted: a login node, with the batch system's commands on PATH",
        )
    name = "dask_jobqueue"
    if name in sys.modules:
        return sys.modules[name]
    if threading.current_thread() is not threading.main_thread():
        raise ClusterError(f"--on {kind}: {name} must be imported by the main thread", hint=f"import {name} before")
    before = signal.getsignal(signal.SIGINT)
    try:
        return _import(name)
    finally:
        # Its import replaces the handler of Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


class Connection:
    """A client of a scheduler, which reconnects when the scheduler was restarted.

    Parameters
    ----------
    client
        The client.
    settings
        How sweeps are conducted.
    address
        Address to reconnect to; None if the scheduler belongs to this process.
    cluster, scale
        A Dask cluster that was started here, and the arguments of its method ``scale`` for its full size.
    queued
        Whether workers are jobs that wait in a queue.

    Attributes
    ----------
    wait_s
        Seconds to wait for a scheduler that went away.
    wait_for_worker_s
        Seconds to wait for a worker; infinite for jobs, if nothing else was said.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings,
        address: str | None,
        cluster: Any = None,  # noqa: ANN401 - Dask's classes
        scale: Mapping[str, int] | None = None,
        *,
        queued: bool = False,
    ) -> None:
        self.client = client
        self.settings = settings
        self.address = address
        self.cluster = cluster
        self.scale = scale or {}
        self.wait_s = DEFAULT_WAIT_S if settings.wait_s is None else settings.wait_s
        self.wait_for_worker_s = inf if queued and settings.wait_s is None else self.wait_s
        self.reconnected: list[Client] = []
        """Clients that were made to reconnect."""

    @property
    def dashboard(self) -> str | None:
        """URL of Dask's dashboard; None if there is none."""
        link = self.client.dashboard_link
        return str(link) if link else None

    def workers(self) -> Mapping[str, Mapping[str, Any]]:
        """The scheduler's information on each worker, by address; empty if it does not answer."""
        with suppress(OSError, TimeoutError, RuntimeError, ValueError):
            if self.client.status == "running":
                return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        return {}

    def processing(self) -> bool:
        """Whether a worker has a task; assumed where the scheduler does not answer."""
        with suppress(OSError, TimeoutError, RuntimeError):
            return any(self.client.processing().values())
        return True

    def running(self) -> bool:
        """Whether the client is connected to its scheduler."""
        return str(self.client.status) == "running"

    def reconnect(self) -> bool:
        """Try once to reconnect to a lost scheduler; returns whether there is a connection."""
        if self.running():
            return True
        # A client tries to reconnect by itself for a while, and then closes.
        if self.address is None or self.client.status != "closed":
            return False
        with suppress(OSError, TimeoutError):
            self.client = _import("distributed").Client(self.address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
            self.reconnected.append(self.client)
            return True
        return False

    def rescale(self) -> None:
        """Request workers or jobs in place of those that were lost."""
        if self.scale:
            with suppress(OSError, TimeoutError, RuntimeError):
                self.cluster.scale(**self.scale)

    def check(self) -> None:
        """Check that all workers have the same simulator as this machine.

        Raises
        ------
        ClusterError
            If one has another or none; the message names it by its address.
        """
        ours, bad = core.identity(), []
        for address, theirs in sorted(self.client.run(core.identity, on_error="return").items()):
            if isinstance(theirs, Exception):
                bad.append(f"worker {address}: anabranch cannot be used there ({type(theirs).__name__}: {theirs})")
                continue
            differ = differences(ours, theirs)
            if differ is not None:
                bad.append(f"worker {address}: {differ}")
        if bad:
            more = [f"and {len(bad) - MAX_NAMED} more"] if len(bad) > MAX_NAMED else []
            raise ClusterError(
                "\n".join(
                    ["not all workers have the simulator of this machine; nothing was run", *bad[:MAX_NAMED], *more]
                ),
                hint="install the same version of anabranch everywhere",
            )

    def wait_for_workers(self, keep_waiting: Callable[[], bool] = lambda: True) -> bool:
        """Wait for the first worker; returns False if interrupted.

        Parameters
        ----------
        keep_waiting
            Called a few times per second; False interrupts.

        Raises
        ------
        ClusterError
            If none comes.
        """
        deadline = time.monotonic() + self.wait_for_worker_s
        while not self.workers():
            if not keep_waiting():
                return False
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"no worker came to {self.client.scheduler.address} in {self.wait_for_worker_s:.0f} s",
                    hint="start one with `dask worker ADDRESS`, or raise `wait_s` in [sweep] of --on-options",
                )
            time.sleep(0.1)
        return True


def most_memory(workers: Iterable[Mapping[str, Any]]) -> float:
    """Bytes that the largest worker allows for one run, by its limit and its resource ``memory``; may be infinite."""
    most = [min(one["memory_limit"] or inf, one["resources"].get("memory", inf)) for one in workers]
    return max(most, default=inf)


@contextmanager
def connected(on: object, options: object = None) -> Iterator[Connection]:
    """Connect to the cluster that a sweep runs on, starting it if needed; what was started is shut down at the end.

    Parameters
    ----------
    on
        A target (as text, or read), a Dask client (used as it is, and left open), or a connection.
    options
        File with options, for a target in words.

    Raises
    ------
    ClusterError
        If it cannot be reached or started, or Dask is not installed.
    """
    if isinstance(on, Connection):
        yield on
        return
    distributed = _import("distributed")
    if isinstance(on, distributed.Client):
        if options is not None:
            raise ClusterError(
                "options for a client of Dask: they are for what is started or reached here",
                hint='give the client\'s own options where it is made, or on="tcp://..." with options',
            )
        yield Connection(on, Settings(), None)
        return
    silence_dask()
    target = on if isinstance(on, Target) else targets.read(str(on), options if options is None else str(options))
    with _cluster(target) as (cluster, scale):
        address = None if cluster is not None else target.text
        try:
            client = distributed.Client(cluster or address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"--on {target.text}: no scheduler answers there ({type(error).__name__})",
                hint="`dask scheduler` starts one and tells its address",
            ) from error
        connection = Connection(client, target.settings, address, cluster, scale, queued=target.kind in BATCH_SYSTEMS)
        try:
            yield connection
        finally:
            for one in (client, *connection.reconnected):
                with suppress(OSError, TimeoutError, RuntimeError):
                    one.close(timeout=5)


def silence_dask() -> None:
    """Keep Dask's log off standard error: the sweep reports what matters itself."""
    for name in ("distributed", "asyncssh", "dask_jobqueue", "bokeh", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # What differs in ways that matter is an error of ours.
    for module in ("distributed", "dask"):
        warnings.filterwarnings("ignore", module=rf"{module}\..*")
    warnings.filterwarnings("ignore", message="Sending large graph")


@contextmanager
def _cluster(target: Target) -> Iterator[tuple[Any, Mapping[str, int]]]:
    """Start what is not there yet; gives the cluster, None for an address, and how to scale it."""
    if target.kind == "address":
        yield None, {}
        return
    # How often the scheduler begins a run again after its worker died.
    retries = {"distributed.scheduler.allowed-failures": target.settings.retries}
    try:
        with _import("dask").config.set(retries):
            cluster, scale = _started(target)
    except (TypeError, ValueError) as error:
        raise ClusterError(
            f"{target.file}: [{target.kind}]: {error}",
            hint="its values are those of Dask's class: see its documentation",
        ) from error
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ClusterError(f"--on {target.text}: cannot be started ({type(error).__name__}: {error})") from error
    try:
        yield cluster, scale
    finally:
        with suppress(OSError, TimeoutError, RuntimeError):
            cluster.close(timeout=10)


def _certificates() -> Any:  # noqa: ANN401 - of Dask, which has no types
    """Certificates for this cluster alone: other users of the machine reach its ports, but may not run anything."""
    try:
        return _import("distributed.security").Security.temporary()
    except ImportError as error:
        raise ClusterError(f"--on local needs the package cryptography ({error})", hint=INSTALL) from error


def _check_options(target: Target, jobs: Any = None) -> None:  # noqa: ANN401 - of Dask, which has no types
    """Check the names of options against the signatures of Dask's classes; `jobs` is the batch system's."""
    distributed, ssh = _import("distributed"), _import("distributed.deploy.ssh")
    worker = parameters(distributed.Nanny.__init__, distributed.Worker)
    scheduler = parameters(distributed.Scheduler)
    nested = {"worker_options": worker | {"n_workers"}, "scheduler_options": scheduler}
    if target.kind == "local":
        ours = {"n_workers", "processes", "security"}
        known, what = (parameters(distributed.LocalCluster.__init__) | worker) - ours, "LocalCluster and Nanny"
    elif target.kind == "ssh":
        ours = {"hosts", "security"}
        known, what = parameters(ssh.SSHCluster, distributed.SpecCluster.__init__) - ours, "SSHCluster"
    else:
        known, what = parameters(jobs.__init__, jobs.job_cls) | {"jobs"}, jobs.__name__
    check_names(target.file, target.kind, target.options, known, f"Dask's {what}")
    for name, keys in nested.items():
        inner = target.options.get(name)
        if isinstance(inner, dict):
            check_names(target.file, f"{target.kind}.{name}", inner, keys, "Dask's " + name.partition("_")[0].title())


def _started(target: Target) -> tuple[Any, Mapping[str, int]]:
    """A cluster, and how large it is to be."""
    if target.kind == "ssh":
        _check_options(target)
        return _import("distributed").SSHCluster(list(target.hosts), **target.options), {}
    if target.kind in BATCH_SYSTEMS:
        jobqueue = _jobqueue(target.kind)
        kinds = {"slurm": jobqueue.SLURMCluster, "pbs": jobqueue.PBSCluster, "lsf": jobqueue.LSFCluster}
        _check_options(target, kinds[target.kind])
        cluster = kinds[target.kind](**{"cores": 1, "memory": "4GB", **target.options})
        cluster.scale(jobs=target.workers)
        return cluster, {"jobs": target.workers}
    _check_options(target)
    keywords: dict[str, Any] = {
        "threads_per_worker": 1,
        "host": LOOPBACK,
        "scheduler_port": 0,
        "dashboard_address": f"{LOOPBACK}:0",
        "silence_logs": logging.CRITICAL,
        "preload": IGNORE_SIGINT,
        "security": _certificates(),
        **target.options,
    }
    cluster = _import("distributed").LocalCluster(n_workers=target.workers or None, processes=True, **keywords)
    return cluster, {"n": len(cluster.worker_spec)}
