"""Names of options: a key that nothing accepts is an error that names file, line and table, and the nearest key."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

NOT_FOR_FILES = frozenset({"self", "args", "loop", "asynchronous", "job_cls", "scheduler", "workers", "worker"})
"""Parameters of Dask's classes that no value of a file fits."""

FEW = 12
"""Names that fit the line of a message."""


def parameters(*callables: Callable[..., object]) -> frozenset[str]:
    """Names of keyword arguments, of constructors with those of their base classes.

    Examples
    --------
    >>> sorted(parameters(textwrap.shorten))
    ['text', 'width']
    """
    functions: list[Callable[..., object]] = []
    for one in callables:
        classes = one.__mro__[:-1] if inspect.isclass(one) else ()
        functions += [vars(each)["__init__"] for each in classes if "__init__" in vars(each)] or [one]
    found = [
        name
        for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    return frozenset(found) - NOT_FOR_FILES


def check_names(file: str, table: str, keys: Iterable[str], known: Collection[str], what: str = "") -> None:
    """Check the keys of a table.

    Parameters
    ----------
    file
        The file, for the message.
    table
        Name of the table; empty: the keys are the tables of the file.
    known
        The keys that it may have.
    what
        Where these are documented.

    Raises
    ------
    ClusterError
        If one is unknown.
    """
    for key in keys:
        if key in known:
            continue
        near = difflib.get_close_matches(key, known, n=1)
        where = f"{file}{_line(file, table, key)}"
        names = sorted(known)
        listed = f" {', '.join(names)}"
        if len(names) > FEW:
            listed = "\n" + textwrap.fill(", ".join(names), 100, initial_indent="  ", subsequent_indent="  ")
        named = f"[{table}] {key}: unknown key" if table else f"[{key}]: unknown table"
        of = f" the arguments of {what}" if what else ""
        raise ClusterError(
            f"{where}: {named}; expected one of{of}:{listed}",
            hint=f"did you mean `{near[0]}`?" if near else None,
        )


def _line(file: str, table: str, key: str) -> str:
    """The line of a key as ``:3``, as far as a search for its text tells: parsers of TOML do not."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    current, name = "", re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    parent, _, last = table.rpartition(".")
    for number, line in enumerate(lines, 1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        current = header[1] if header else current
        if table == "" and (current == key or (not current and name.match(line))):
            return f":{number}"
        inline = parent and current == parent and re.match(rf"\s*{re.escape(last)}\s*=.*\b{re.escape(key)}\s*=", line)
        if inline or (table and current == table and name.match(line)):
            return f":{number}"
    return ""
