"""The door to the compiled simulator: imports it on first use and turns its errors into the package's own.

Nothing else in the package imports ``anabranch._core``.
"""

from __future__ import annotations

import importlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from anabranch.errors import (
    ClusterError,
    CodecError,
    CoreMissingError,
    PanicError,
    RoutingError,
    ScenarioError,
    StoreError,
    SupersededError,
    TrafficError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from anabranch._core import Objects

    Storage = str | Objects
    """A result folder's path, or what makes the calls to an object store."""


def _module() -> ModuleType:
    try:
        return importlib.import_module("anabranch._core")
    except ImportError as error:
        raise CoreMissingError(
            f"the compiled simulator is not installed ({error})",
            hint="run `make setup` in the repository, then use .venv/bin/anabranch",
        ) from error


def call(function: str, *arguments: Any) -> str:  # noqa: ANN401 - a door passes what it is given
    """Call a function of the core.

    Parameters
    ----------
    function
        Its name: ``plan``, ``run``, ``schema``, ``reference`` or ``version``.
    *arguments
        Passed on by position; ``_core.pyi`` documents them.

    Returns
    -------
    str
        JSON, or text for ``schema``, ``reference`` and ``version``.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read or run.
    CoreMissingError
        If the extension is not installed.
    """
    with _translated() as core:
        return cast("Callable[..., str]", getattr(core, function))(*arguments)


@contextmanager
def _translated() -> Iterator[ModuleType]:
    """Give the core, and turn its errors about scenarios, runs and result folders into the package's own."""
    core = _module()
    try:
        yield core
    except core.ScenarioError as error:
        raise ScenarioError(str(error)) from error
    except core.RunPanic as error:
        raise PanicError(str(error)) from error
    except core.FolderError as error:
        message, _, hint = str(error).partition("\n  hint: ")
        kinds = {core.SupersededError: SupersededError, core.LockLostError: ClusterError}
        raise kinds.get(type(error), StoreError)(message, hint=hint or None) from error


def identity() -> dict[str, str]:
    """What decides the results of runs: ``version``, ``model``, and a hash of the ``sources``."""
    return cast("dict[str, str]", json.loads(call("identity")))


class Sweep:
    """The runs of a scenario, made one by one, here or elsewhere; ``_core.pyi`` documents the methods.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read, or a run not be made.
    PanicError
        If a run panics.
    OSError
        If results cannot be written.
    """

    def __init__(self, path: str, overrides: Sequence[str], options: Mapping[str, Any] | None = None) -> None:
        with _translated() as core:
            self._core = core.Sweep(path, list(overrides), dict(options or {}))

    def data_files(self) -> list[str]:
        """The files that the scenario names, relative to its own."""
        return sorted(self._core.data_files())

    def hash(self, run: str) -> str:
        """The hash of all that a run depends on."""
        return cast("str", self._core.hash(run))

    def run_one(self, run: str, folder: str, progress: Callable[[str], bool] | None) -> str:
        """Make one run in a folder of its own; returns its entry in the manifest, as JSON."""
        with _translated():
            return cast("str", self._core.run_one(run, folder, progress))

    def open(self, storage: Storage, command: Sequence[str], *, resume: bool, force: bool, token: str) -> list[str]:
        """Open the result folder; returns the runs that are to be made, the longest first."""
        with _translated():
            return cast("list[str]", self._core.open(storage, list(command), resume, force, token))

    def check(self) -> None:
        """Check that no other client writes to an object store."""
        with _translated():
            self._core.check()

    def enter(self, entry: str) -> None:
        """Note in the manifest how a run ended whose folder is in its place."""
        with _translated():
            self._core.enter(entry)

    def fail(self, run: str, message: str) -> None:
        """Note in the manifest that a run failed."""
        with _translated():
            self._core.fail(run, message)

    def close(self) -> None:
        """Write the manifest for the last time."""
        with _translated():
            self._core.close()


class Folder:
    """What may be asked of a result folder without opening it; ``_core.pyi`` documents the methods.

    Raises
    ------
    StoreError
        If results must not be written there, or an object store does not answer.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, storage: Storage) -> None:
        self._core = _module().Folder(storage)

    def check(self, planned: Sequence[Any], *, resume: bool, force: bool) -> Mapping[str, str]:
        """Check that the runs of a plan may be made there; returns the finished runs, as `finished`."""
        plan = [{"run": run.run, "point": dict(run.point), "seed": run.seed, "hash": run.hash} for run in planned]
        with _translated():
            return cast("dict[str, str]", self._core.check(json.dumps(plan), resume, force))

    def finished(self) -> Mapping[str, str]:
        """The finished runs: name to hash, empty where it is not known."""
        with _translated():
            return cast("dict[str, str]", self._core.finished())

    def stored(self, run: str, known: str) -> str | None:
        """The entry of a run with this hash that a worker stored."""
        with _translated():
            return cast("str | None", self._core.stored(run, known))

    def publish(self, draft: Path, run: str, known: str, token: str | None) -> str:
        """Store a complete run from a folder on this machine; returns its entry."""
        with _translated():
            return cast("str", self._core.publish(draft, run, known, token))


def traffic_bin(
    request: str, progress: Callable[[str], bool] | None
) -> tuple[str, list[tuple[bytes, bytes | None, bytes]]]:
    """Read captures into volume series; ``_core.pyi`` documents what goes in and comes out.

    Raises
    ------
    TrafficError
        If a file cannot be read, or the request makes no sense.
    CoreMissingError
        If the extension is not installed.
    """
    core = _module()
    try:
        return cast("tuple[str, list[tuple[bytes, bytes | None, bytes]]]", core.traffic_bin(request, progress))
    except core.TrafficError as error:
        message, _, hint = str(error).partition("\nhint: ")
        raise TrafficError(message, hint=hint or None) from error


def routing(question: str) -> str:
    """Answer a question about oblivious routing; ``_core.pyi`` documents what goes in and comes out.

    Raises
    ------
    RoutingError
        If it has no answer.
    CoreMissingError
        If the extension is not installed.
    """
    core = _module()
    try:
        return cast("str", core.routing(question))
    except core.RoutingError as error:
        message, _, hint = str(error).partition("\nhint: ")
        raise RoutingError(message, hint=hint or None) from error


def codec(function: str | Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - a door passes what it is given
    """Call a function or class of the codec, by its name, or a method of what such a call returned.

    ``_core.pyi`` documents what goes in and comes out.

    Raises
    ------
    CodecError
        If an object cannot be encoded or a packet not be used.
    CoreMissingError
        If the extension is not installed.
    """
    core = _module()
    chosen = getattr(core, function) if isinstance(function, str) else function
    try:
        return chosen(*arguments)
    except core.CodecError as error:
        message, _, hint = str(error).partition("\nhint: ")
        raise CodecError(message, hint=hint or None) from error
