"""How far a run is, in one line that overwrites itself: for notebooks and interactive sessions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from anabranch.base import units

if TYPE_CHECKING:
    from collections.abc import Mapping


def interactive(stream: TextIO) -> bool:
    """Whether somebody looks at a stream while it is written: a terminal, or a notebook."""
    return stream.isatty() or "ipykernel" in sys.modules


class Line:
    """Tells the reports of the core in a line.

    Parameters
    ----------
    stream
        Where to; default: standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._width = 0

    def __call__(self, state: Mapping[str, Any]) -> bool:
        """Take a report; always goes on."""
        parts = [f"{state['runs_done']} of {state['runs_total']} runs"]
        if state.get("eta_s") is not None:
            parts.append(f"about {units.time(1e9 * state['eta_s'], 2)} left")
        self._write(", ".join(parts))
        return True

    def end(self) -> None:
        """Remove the line."""
        self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}" if text else f"\r{'':<{self._width}}\r")
        self._stream.flush()
        self._width = len(text)
