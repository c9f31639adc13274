"""Numbers in texts, in the formats that texts may ask for."""

from __future__ import annotations

import math
import re

from anabranch.base import units
from anabranch.errors import AnabranchError

FORMAT = re.compile(r"[ ,+]?\d{0,2}(\.\d{1,2})?[dfgeE%]?")
"""Formats of numbers: they cannot make a long text."""


def formatted(value: object, form: str) -> str:
    """Write a number as a format says.

    Raises
    ------
    AnabranchError
        If the format is none of `FORMAT`, or the number none.

    Examples
    --------
    >>> formatted(2.25, ".1f"), formatted(4.0, "")
    ('2.2', '4.00')
    """
    if not FORMAT.fullmatch(form):
        raise AnabranchError(f"{form!r} is no format of a number", hint="such as .2f, ,d or .3g")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise AnabranchError(f"expected a number, not {str(value)[:40]}")
    try:
        return format(value, form) if form else units.digits(value)
    except ValueError as error:
        raise AnabranchError(f"{form!r} does not fit {value}: {error}") from error
