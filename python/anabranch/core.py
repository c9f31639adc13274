"""The door to the compiled simulator: imports it on first use and turns its errors into the package's own.

Nothing else in the package imports ``anabranch._core``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

from anabranch.errors import CodecError, CoreMissingError, RoutingError, ScenarioError, TrafficError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


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
    core = _module()
    try:
        return cast("Callable[..., str]", getattr(core, function))(*arguments)
    except core.ScenarioError as error:
        raise ScenarioError(str(error)) from error


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
