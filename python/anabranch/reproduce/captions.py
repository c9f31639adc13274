"""Captions with values of rows in them: ``{size}``, ``{load:g}``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError
from anabranch.reproduce.model import quantity
from anabranch.reproduce.numbers import FORMAT, formatted
from anabranch.reproduce.schema import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

PLACEHOLDER = re.compile(r"\{([^{}:]+)(:[^{}]*)?\}")
"""A value of the rows in a caption."""


def placeholders(caption: str) -> list[str]:
    """The columns whose values stand in a caption.

    Raises
    ------
    AnabranchError
        If something in braces is no column with a format of numbers.

    Examples
    --------
    >>> placeholders("{size}, load {load:g}")
    ['size', 'load']
    """
    found = list(PLACEHOLDER.finditer(caption))
    for match in found:
        if not FORMAT.fullmatch((match[2] or ":")[1:]):
            raise AnabranchError(f"{match[0]}: {match[2][1:]!r} is no format of a number", hint="such as .2f or g")
    if re.search(r"[{}]", PLACEHOLDER.sub("", caption)):
        raise AnabranchError(f"{caption}: expected {{COLUMN}} or {{COLUMN:FORMAT}}")
    return [match[1] for match in found]


def filled(caption: str, frame: pl.DataFrame) -> str:
    """Put values of the rows into a caption: ``{size}``, ``{load:g}``; of a part without rows, a dash."""
    first: Mapping[str, Any] = frame.row(0, named=True) if frame.height else {}
    for column in placeholders(caption):
        if column not in frame.columns:
            raise AnabranchError(f"{caption}: the rows have no column {column!r}", hint=nearest(column, frame.columns))

    def value(match: re.Match[str]) -> str:
        found = first.get(match[1], "–")
        return formatted(found, match[2][1:]) if match[2] and found != "–" else quantity(found)

    return PLACEHOLDER.sub(value, caption)
