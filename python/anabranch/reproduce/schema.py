"""Reads TOML into dataclasses, strictly: an unknown key, a missing one and a value of another kind are errors.

A dataclass is a table: its fields are the keys, a field with a default may be left out, and ``from_`` stands for the
key ``from``. An error names the file, the place in it, what was expected, and the nearest name.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import types
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

NAMES: Mapping[object, str] = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}


def load(file: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    AnabranchError
        If it is not there, or not TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AnabranchError(f"{file}: {error}") from error


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint for a name that is not known."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known) or 'none'}"


@contextmanager
def within(at: str) -> Iterator[None]:
    """Say where that is in which something is wrong."""
    try:
        yield
    except AnabranchError as error:
        raise type(error)(f"{at}: {error.message}", hint=error.hint) from error


def parse(kind: Any, value: object, at: str) -> Any:  # noqa: ANN401 - as asked
    """Check a value against a type, and make it.

    Parameters
    ----------
    kind
        A dataclass, a tuple or mapping of kinds, a literal, a union, or one of text, number and truth value.
    value
        As TOML has it.
    at
        File and place, for messages.

    Raises
    ------
    AnabranchError
        If it is something else.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is object or (origin is Literal and value in inner):
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return kind(**part(kind, value, at, whole=True))
    if origin is Literal:
        said = ", ".join(map(repr, inner))
        raise AnabranchError(f"{at}: expected one of {said}, not {value!r}", hint=nearest(str(value), map(str, inner)))
    if origin is tuple and isinstance(value, list):
        kinds = [inner[0]] * len(value) if inner[-1] is ... else inner
        if len(kinds) == len(value):
            return tuple(parse(one, item, f"{at}[{n}]") for n, (one, item) in enumerate(zip(kinds, value, strict=True)))
    if origin is Mapping and isinstance(value, dict):
        return {key: parse(inner[1], item, f"{at}.{key}") for key, item in value.items()}
    if origin in {Union, types.UnionType}:
        return _either(inner, value, at)
    number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if number or (isinstance(kind, type) and type(value) is kind):
        return kind(value)
    raise AnabranchError(f"{at}: expected {_said(kind)}, not {value!r}")


def _either(kinds: tuple[Any, ...], value: object, at: str) -> Any:  # noqa: ANN401 - as asked
    """One of several kinds; a table is that whose error a person can use."""
    tables = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    if tables and isinstance(value, dict):
        return parse(tables[0], value, at)
    for kind in kinds:
        with suppress(AnabranchError):
            return parse(kind, value, at)
    raise AnabranchError(f"{at}: expected {' or '.join(map(_said, kinds))}, not {value!r}")


def _said(kind: Any) -> str:  # noqa: ANN401 - a type
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        return f"a list of {_said(inner[0])}" if inner[-1] is ... else f"a list of {len(inner)}"
    return "a table" if dataclasses.is_dataclass(kind) or get_origin(kind) is Mapping else NAMES.get(kind, str(kind))


@cache
def _keys(kind: Any) -> dict[str, tuple[str, Any, bool]]:  # noqa: ANN401 - a dataclass
    """Key to field, type and whether it must be there."""
    hints = get_type_hints(kind)
    missing = dataclasses.MISSING
    return {
        one.name.rstrip("_"): (one.name, hints[one.name], one.default is missing and one.default_factory is missing)
        for one in dataclasses.fields(kind)
        if not one.metadata.get("derived")
    }


def part(kind: Any, value: object, at: str, *, whole: bool = False) -> dict[str, Any]:  # noqa: ANN401 - as asked
    """Check a table of which another has the other keys: those that it has are a dataclass's; all needed if `whole`."""
    if not isinstance(value, dict):
        raise AnabranchError(f"{at}: expected a table, not {value!r}")
    keys = _keys(kind)
    label = value.get("key") or value.get("number")
    at = f"{at} ({label})" if isinstance(label, str) else at
    for key in value:
        if key not in keys:
            raise AnabranchError(f"{at}: unknown key {key!r}", hint=nearest(key, keys))
    for key, (_, hint, needed) in keys.items():
        if whole and needed and key not in value:
            raise AnabranchError(f"{at}: the key {key!r} is missing: expected {_said(hint)}")
    return {keys[key][0]: parse(keys[key][1], item, f"{at}: {key}") for key, item in value.items()}
