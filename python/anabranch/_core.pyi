"""The simulator, compiled from ``crates/py``. Use it through `anabranch.plan` and `anabranch.run`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, final

_Limits: TypeAlias = tuple[int, int, int, int, int]
"""Object bytes, block bytes, source symbols, blocks in progress, extra symbols."""

class ScenarioError(Exception):
    """The scenario cannot be read or run; the text names file, line, key and a suggestion."""

class RunPanic(RuntimeError):  # noqa: N818 - it is one
    """A run panicked, which is a fault of the simulator; the text names the run."""

def plan(path: str, overrides: list[str], seeds: int | None, /) -> str:
    """List the runs of a scenario without running any.

    Returns JSON ``{"runs": [{"run", "point", "seed", "transport", "hash", "hosts",
    "sessions", "packets", "samples", "memory_bytes", "remarks": [{"text", "hint"}]}], "warnings": [str]}``.
    """

def runs(path: str, overrides: list[str], seeds: int | None, /) -> str:
    """List the runs of a scenario without looking at what they will take, which is quicker than `plan`.

    Returns JSON ``{"runs": [{"run", "point", "seed", "hash"}], "parts": {name: version}}``: of the parts of the model
    those that concern one of the runs.
    """

def run(path: str, overrides: list[str], options: dict[str, Any], progress: Callable[[str], bool] | None, /) -> str:
    """Run a scenario and write its results; returns the manifest as JSON.

    `options` are those of ``anabranch.running.options`` that reach the core, by name; ``out`` is required, and an
    unknown name raises ``TypeError``. `progress` gets, a few times per second, JSON ``{"runs_done", "runs_kept",
    "runs_total", "simulated_ns", "events", "events_per_s", "eta_s", "current", "on_several_threads": {"divided": int,
    "whole": {reason: int}, "anew": {reason: int}}}``, also at the end, and returns False to ask for an interruption:
    finished runs are kept, the others are marked ``interrupted`` in the manifest.
    """

class FolderError(Exception):
    """A result folder that must not be written; the text has a hint."""

class SupersededError(FolderError):
    """The sweep of a worker is gone; another may write there."""

class LockLostError(FolderError):
    """The lock of an object store was removed or taken."""

class Objects(Protocol):
    """The calls to an object store, whose paths are relative to the folder: `anabranch.running.objects.Objects`."""

    @property
    def url(self) -> str: ...
    def who(self) -> tuple[str, str, str]: ...
    def find(self) -> list[str]: ...
    def read(self, names: list[str], /) -> list[bytes | None]: ...
    def write(self, name: str, content: bytes, /) -> None: ...
    def create(self, name: str, content: bytes, /) -> None: ...
    def upload(self, local: Path, name: str, /) -> None: ...
    def copy(self, pairs: list[tuple[str, str]], /) -> None: ...
    def remove(self, names: list[str], /) -> None: ...

@final
class Folder:
    """What may be asked of a result folder, a path or an object store, without opening it.

    Raises `FolderError` where results must not be written, and what the calls to the object store raise.
    """

    def __new__(cls, storage: str | Objects, /) -> Self: ...
    def check(self, plan: str, resume: bool, force: bool, /) -> dict[str, str]:
        """Check that the runs of a plan, JSON ``[{"run", "point", "seed", "hash"}]``, may be made there.

        There is nothing, or a result folder that loses no finished run by it, unless `force` allows that. Returns the
        finished runs, as `finished` does.
        """

    def finished(self) -> dict[str, str]:
        """Return the finished runs: name to hash, empty where it is not known."""

    def stored(self, run: str, known: str, /) -> str | None:
        """Return the entry of a run that a worker stored: with the known hash, finished or at its wall-clock limit."""

    def publish(self, draft: Path, run: str, known: str, token: str | None, /) -> str:
        """Store a complete run; returns its entry. With a worker's token, only as long as its sweep has the folder.

        In a directory, the draft is beside the run's place; if the same run is there already, that one stays. An object
        is replaced.
        """

@final
class Sweep:
    """The runs of a scenario, made one by one, here or on other machines, and the result folder while they end."""

    def __new__(cls, path: str, overrides: list[str], options: dict[str, Any], /) -> Self: ...
    def data_files(self) -> set[str]:
        """Return the files that the scenario names, relative to its own."""

    def hash(self, run: str, /) -> str:
        """Return the hash of all that a run depends on."""

    def run_one(self, run: str, folder: str, progress: Callable[[str], bool] | None, /) -> str:
        """Make one run in a folder of its own, which holds what ``runs/RUN`` of a result folder does.

        Returns the run's entry as JSON. `progress` is as for `run`. If this raises, nothing is left, nor if `progress`
        interrupted the run.
        """

    def open(self, storage: str | Objects, command: list[str], resume: bool, force: bool, token: str, /) -> list[str]:
        """Open the result folder, write its manifest, and return the runs that are to be made, the longest first.

        `resume` and `force` are as for `run`. Workers know the folder by the file `token`, an object store by the lock.
        """

    def check(self) -> None:
        """Check that no other client writes to an object store; raises `LockLostError` if one does."""

    def enter(self, entry: str, /) -> None:
        """Note in the manifest how a run ended whose folder is in its place."""

    def fail(self, run: str, message: str, /) -> None:
        """Note in the manifest that a run failed."""

    def close(self) -> None:
        """Write the manifest for the last time, and let go of the folder."""

def codec_bench(
    symbol_size: int,
    source_symbols: list[int] | None,
    quick: bool,
    command: str,
    progress: Callable[[int, int], object] | None,
    /,
) -> str:
    """Measure the RaptorQ codec on one thread; returns a table of latencies as JSON (``anabranch.codec``).

    `source_symbols` None means the usual numbers. `progress` gets how many measurements are done and how many there
    are; what it raises ends the measurement. Raises ``ValueError`` for numbers out of range.
    """

class CodecError(Exception):
    """An object cannot be encoded, or a packet not be used; the text says what is wrong, and may have a hint."""

def codec_choose(object_size: int, symbol_size: int, /) -> bytes:
    """Choose the blocks of an object in symbols of a size; returns the 12 bytes of its description (RFC 6330 §4.3)."""

def codec_describe(object_size: int, symbol_size: int, blocks: int, sub_blocks: int, alignment: int, /) -> bytes:
    """Check the numbers of a description against each other; returns its 12 bytes."""

def codec_read(config: bytes, /) -> tuple[int, int, int, int, int]:
    """Read a description of 12 bytes: F, T, Z, N, Al."""

def codec_source_symbols(config: bytes, /) -> list[int]:
    """Return the number of source symbols (K) of each block."""

def codec_encode(data: bytes | memoryview, config: bytes, repair: int, /) -> bytes:
    """Encode an object: of each block the source packets, and then `repair` repair packets; 4 + T bytes each.

    Memory that a ``bytes`` object owns is read in place, everything else copied, one block at a time. The interpreter
    is released, but for these copies and for signals, which are noticed before each block.
    """

@final
class CodecEncoder:
    """Packets of one object in any order. Threads may share it; they take turns."""

    def __new__(cls, data: bytes | memoryview, config: bytes, blocks_in_memory: int, /) -> Self: ...
    def source(self, block: int | None, /) -> bytes:
        """Return the source packets of a block, or of all: 4 + T bytes each."""

    def repair(self, first: int, count: int, block: int | None, /) -> bytes:
        """Return `count` repair packets from number `first` on, of a block, or of each."""

def codec_limits() -> _Limits:
    """Return the limits that decoders have by default."""

@final
class CodecDecoder:
    """Collects the packets of one object. Threads may share it; they take turns."""

    def __new__(cls, config: bytes, limits: _Limits, /) -> Self: ...
    def add(self, packet: bytes | memoryview, /) -> bool:
        """Take a packet; returns whether the object is complete."""

    def add_many(self, packets: bytes | memoryview, /) -> bool:
        """Take packets of 4 + T bytes up to the one that completes the object; returns whether one did."""

    def missing(self) -> list[int]:
        """Return how many more symbols each block needs at least; 0 if it is decoded."""

    def result(self) -> bytes:
        """Return the object, which must be complete."""

def powerlaw_fit(numbers: bytes, x_min: float | None, /) -> str:
    """Fit a power law to positive numbers, and compare it with other distributions (``anabranch.traffic.tails``).

    `numbers` are the bytes of a little-endian float64 array. `x_min` None fits the lower bound. Returns JSON
    ``{"alpha", "x_min", "distance", "n_tail", "sigma", "against": {NAME: {"parameters", "ln_likelihood", "ratio",
    "normalised", "p"}}}``; what has no answer is ``{"inconclusive": reason}`` in its place. Raises ``ValueError`` for
    numbers that are not positive.
    """

def powerlaw_fit_discrete(numbers: bytes, x_min: float | None, /) -> str:
    """Fit a power law to whole numbers; as `powerlaw_fit`, without comparisons."""

def powerlaw_uncertainty(
    numbers: bytes, x_min: float | None, replicates: int, seed: int, threads: int, discrete: bool, /
) -> str:
    """Refit resampled numbers; returns JSON ``{"alpha": [..], "x_min": [..], "n_tail": [..], "failed"}``.

    `threads` 0 means one per core; the answer does not depend on it. `discrete` is for whole numbers; if some are not,
    that is ``{"inconclusive": reason}``.
    """

def powerlaw_goodness(
    numbers: bytes, x_min: float | None, replicates: int, seed: int, threads: int, discrete: bool, /
) -> str:
    """Bootstrap the goodness of fit; returns JSON ``{"p", "standard_error", "replicates"}`` or ``{"inconclusive"}``."""

class TrafficError(Exception):
    """A capture or table cannot be read, or the request makes no sense; the text names file, place and a suggestion."""

def traffic_bin(
    request: str, progress: Callable[[str], bool] | None, /
) -> tuple[str, list[tuple[bytes, bytes | None, bytes]]]:
    """Read captures and tables into volume series (``anabranch.traffic.bin_files``).

    `request` is JSON, ``{"files": [str], ...}``; the other keys are the fields of ``Request`` in ``crates/traffic``.
    Returns JSON ``{"series": [{"bins", "series": {"name", "bin_ns", "start_ns", "complete", "gaps", "claimed_twice",
    "files"}}], "files": [{"path", "format", ...}]}``, and for each series three buffers: bytes and packets per bin as
    little-endian int64 (packets None if the file does not say), and one byte for each bin that is 1 if the bin is
    unknown. `progress` gets, a few times per second, JSON ``{"files_done", "files_total", "bytes_read",
    "bytes_total"}``, and returns False to stop; what it raises, and Ctrl-C, stops too. Raises ``TrafficError``, and
    ``OSError`` for files that cannot be opened.
    """

def schema() -> str:
    """Return the JSON Schema of scenario files."""

def transports() -> str:
    """List the transports as JSON.

    ``[{"transport", "driven_by", "groups", "lossless", "telemetry", "queue", "routing", "page"}]``;
    ``transport``, ``queue`` and ``routing`` are ``{"name", "summary"}``.
    """

def job(config: str, base: str, server: str | None) -> str:
    """Say what a job is, as JSON: ``{"name", "ranks", "messages", "bytes", "computations"}``.

    Parameters
    ----------
    config
        The table ``job`` of a scenario, as JSON.
    base
        Where relative file names start.
    server
        The table ``host.server``, as JSON.

    Raises
    ------
    ScenarioError
        A parameter makes no sense, or the file is no job that can end.
    """

def reference() -> str:
    """Return the scenario reference as Markdown."""

def version() -> str:
    """Return the version of the core."""

def identity() -> str:
    """Return what decides the results of runs, as JSON ``{"version", "model", "sources"}``: hash of the sources."""

class RoutingError(Exception):
    """A question about routing that has no answer; the text says what is wrong and what was expected."""

def routing(question: str, /) -> str:
    """Answer a question about oblivious routing (``anabranch.routing``): JSON in, JSON out.

    `question` is ``{"ask": "schemes" | "fabric" | "traffic" | "loads" | "worst" | "decompose" | "paths" | "shares" |
    "bounds", ...}``; what goes with each, and what comes back, is in ``crates/routing/src/answer/mod.rs``. A fabric is
    ``{"text": table or file name, "failed": [link names]}``; a load is ``{"text": "16/3", "value": 5.33}``.
    """
