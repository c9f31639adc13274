"""Standard output and standard error: consoles for them, and what becomes of letters that a terminal lacks."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PLAIN = {
    "±": "+-",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "µ": "u",
    "μ": "u",
    "–": "-",
    "—": "-",
    "\N{MINUS SIGN}": "-",
    "─": "-",
    "━": "-",
    "│": "|",
    "×": "x",
    "²": "2",
    "·": ".",
    "…": "...",
    "’": "'",
    "“": '"',
    "”": '"',
    "\N{GREEK SMALL LETTER ALPHA}": "alpha",
    "ε": "epsilon",
    "\N{GREEK SMALL LETTER SIGMA}": "sigma",
    "→": "->",
}
"""Letters that this program writes, for terminals without them; any other becomes a question mark."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, place, made = error.object, error.start, ""
    while place < error.end:
        plain = PLAIN.get(text[place], "?")
        made += plain
        place += 1
        # Columns stay in line: two letters for one take the space behind it, "± 3" is "+-3".
        if len(plain) == 2 and text[place : place + 1] == " ":  # noqa: PLR2004 - one letter more
            place += 1
    return made, place


codecs.register_error("anabranch.plain", _plain)


def tolerate() -> None:
    """Let both streams write any text: what their encoding lacks is written as `PLAIN` says.

    File names that are no text (surrogates) are no text in UTF-8 either.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="anabranch.plain")


def stdout() -> Console:
    """Console for data."""
    from rich.console import Console  # noqa: PLC0415 - `--help` can do without

    # A table cut to 80 columns because its output goes to a file would lose digits.
    return Console() if sys.stdout.isatty() else Console(width=200)


def stderr() -> Console:
    """Console for everything else."""
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=True, highlight=False, soft_wrap=True)
