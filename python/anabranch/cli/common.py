"""What the commands share: consoles, exit codes, and errors without tracebacks."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from anabranch.errors import AnabranchError, CoreMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

EXIT_CODES = """\
Exit codes: 0 every run is complete; 1 a run stalled or reached its time limit (partial results are kept and marked), or
the simulator is not installed; 2 bad input; 130 interrupted with Ctrl-C (finished runs are kept).
"""


def stdout() -> Console:
    """Console for data."""
    # A table cut to 80 columns because its output goes to a file would lose digits.
    return Console() if sys.stdout.isatty() else Console(width=200)


def stderr() -> Console:
    """Console for everything else."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def errors() -> Iterator[None]:
    """Turn what a person can mend into a message and an exit code: no traceback, the hint on a line of its own."""
    try:
        yield
    except AnabranchError as error:
        text = str(error).removeprefix("error: ")  # the core's own messages begin so already
        print(f"error: {text}", file=sys.stderr)
        raise typer.Exit(1 if isinstance(error, CoreMissingError) else 2) from error
    except BrokenPipeError:  # `anabranch ... | head`: `main` ends quietly
        raise
    except OSError as error:  # a folder that cannot be written, a disk that is full
        print(f"error: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        raise typer.Exit(2) from error
