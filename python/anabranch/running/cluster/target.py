"""Target of a sweep: ``--on`` and the file of ``--on-options``, parsed and checked before anything starts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import ClusterError
from anabranch.running.cluster.options import check_names

if TYPE_CHECKING:
    from collections.abc import Mapping

BATCH_SYSTEMS = {"slurm": "sbatch", "pbs": "qsub", "lsf": "bsub"}
"""Batch systems, and the commands that submit their jobs."""

ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx|ucxx)://\S+")

EXPECTED = "local:4, tcp://SCHEDULER:8786, slurm, pbs, lsf, or ssh:HOSTFILE"


DEFAULT_WAIT_S = 300.0
"""Default of `Settings.wait_s`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a sweep, whatever it runs on: table ``[sweep]`` of the options.

    Attributes
    ----------
    retries
        Times that a run is retried after its worker died, before it is quarantined for a last attempt.
    wait_s
        Seconds to wait for a worker, and for a lost scheduler; None: `DEFAULT_WAIT_S`, but no limit for jobs of batch
        systems, which wait in queues.
    return_bytes
        Limit of the bytes of a run that are sent back by a worker that does not see the result folder.
    """

    retries: int = 3
    wait_s: float | None = None
    return_bytes: int = 256_000_000

    def __post_init__(self) -> None:
        for known in fields(self):
            value = getattr(self, known.name)
            whole = known.name != "wait_s"
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < 0:
                raise ClusterError(f"[sweep] {known.name} = {value!r}: expected a number, 0 or more")


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster that a sweep runs on.

    Attributes
    ----------
    text
        As it was given.
    kind
        ``local``, ``address``, one of `BATCH_SYSTEMS`, or ``ssh``.
    hosts
        Of ``ssh``: the scheduler's host, then the workers'.
    workers
        Processes or jobs; of ``local`` and the batch systems.
    options
        Keyword arguments of Dask's class.
    settings
        Settings of the sweep.
    file
        The file of the options, for messages.
    """

    text: str
    kind: str
    hosts: tuple[str, ...] = ()
    workers: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    file: str = ""


def read(text: str, file: str | Path | None = None) -> Target:
    """Parse ``--on`` and its options.

    Parameters
    ----------
    text
        ``local:4``, ``tcp://scheduler:8786``, ``slurm``, ``pbs``, ``lsf`` or ``ssh:HOSTFILE``.
    file
        TOML file with options: a table for each kind, and ``[sweep]``.

    Raises
    ------
    ClusterError
        If the target or an option is unknown.

    Examples
    --------
    >>> read("local:4").workers
    4
    """
    name = "" if file is None else str(file)
    sections = {} if file is None else _sections(Path(file))
    settings = _settings(sections.pop("sweep", {}), name)
    kind, _, rest = text.partition(":")
    keywords = dict(sections.get(kind, {}))
    if ADDRESS.fullmatch(text):
        return Target(text, "address", settings=settings, file=name)
    if kind == "local" and (not rest or re.fullmatch(r"[1-9]\d{0,3}", rest)):
        return Target(text, kind, workers=int(rest or 0), options=keywords, settings=settings, file=name)
    if kind in BATCH_SYSTEMS and not rest:
        jobs = keywords.pop("jobs", 1)
        if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
            raise ClusterError(f"{file}: [{kind}] jobs = {jobs!r}: expected the number of jobs to ask for")
        return Target(text, kind, workers=jobs, options=keywords, settings=settings, file=name)
    if kind == "ssh" and rest:
        return Target(text, kind, hosts=_hosts(Path(rest)), options=keywords, settings=settings, file=name)
    hint = "see docs/how-to/run-on-a-cluster.md"
    if kind in {"k8s", "kubernetes"}:
        hint = "start a scheduler and workers there with the Dask operator, and give its address: tcp://..."
    raise ClusterError(f"--on {text}: expected {EXPECTED}", hint=hint)


def _sections(file: Path) -> dict[str, dict[str, Any]]:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"{file}: cannot be read ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise ClusterError(f"{file}: not TOML ({error})") from error
    known = ("sweep", "local", "ssh", *BATCH_SYSTEMS)
    check_names(str(file), "", found, known)
    for name, section in found.items():
        if not isinstance(section, dict):
            raise ClusterError(f"{file}: {name} = {section!r}: expected a table, [{name}]")
    return found


def _settings(section: Mapping[str, Any], file: str) -> Settings:
    check_names(file, "sweep", section, [known.name for known in fields(Settings)])
    try:
        return Settings(**section)
    except ClusterError as error:
        raise ClusterError(f"{file}: {error.message}") from error


def _hosts(file: Path) -> tuple[str, ...]:
    """The hosts of a file, one on a line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"--on ssh:{file}: cannot be read ({error})") from error
    hosts = tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if len(hosts) < 2:  # noqa: PLR2004 - a scheduler and a worker
        raise ClusterError(
            f"--on ssh:{file}: expected at least two hosts, one on a line",
            hint="the first runs the scheduler; name it again to have workers there, too",
        )
    return hosts
