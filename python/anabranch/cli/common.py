"""What the commands share: exit codes, and errors without tracebacks."""

from __future__ import annotations

import errno
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from anabranch.cli.terminal import stderr, stdout
from anabranch.errors import AnabranchError, CoreMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EXIT_CODES", "INTERRUPTED", "TERMINATED", "errors", "stderr", "stdout", "tell"]

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells have it."""

TERMINATED = 143
"""Exit code after SIGTERM: 128 + SIGTERM."""

EXIT_CODES = """\
Exit codes: 0 every run is complete; 1 a run stalled, reached a time limit (partial results are kept and marked) or
failed on another machine, or the simulator is not installed; 2 bad input, or output that cannot be written; 130
interrupted with Ctrl-C, 143 by SIGTERM (finished runs are kept); 70 a fault of this program.
"""

HINTS = {
    errno.ENOSPC: "the disk is full: make room, or write elsewhere; what was finished before is kept",
    errno.EDQUOT: "your quota is used up: make room, or write elsewhere; what was finished before is kept",
    errno.EFBIG: "the file system or a limit (`ulimit -f`) allows no larger file",
    errno.EROFS: "the file system is read-only: write elsewhere",
    errno.EMFILE: "too many open files: raise the limit (`ulimit -n`)",
}
"""What to do about an error of the system."""


WIDEST = 400
"""Characters of a line of a message at most: input may be one line of a megabyte."""

LINES = 60
"""Lines of a message at most."""


def clip(text: str) -> str:
    """Cut what is quoted from input to what a person reads.

    Examples
    --------
    >>> len(clip("x" * 1000))
    400
    """
    lines = [line if len(line) <= WIDEST else f"{line[: WIDEST - 4]} ..." for line in text.splitlines()]
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"... and {len(lines) - LINES} more lines"]
    return "\n".join(lines)


def tell(message: str, hint: str | None = None) -> None:
    """Print an error, and its hint on a line of its own."""
    print(clip(f"error: {message}" + ("" if hint is None else f"\nhint: {hint}")), file=sys.stderr)


def describe(error: OSError) -> str:
    """Say what the system refused, and for which file.

    Examples
    --------
    >>> describe(PermissionError(13, "Permission denied", "out/a"))
    'out/a: Permission denied'
    >>> describe(OSError("cannot write out/a: No space left on device (os error 28)"))
    'cannot write out/a: No space left on device (os error 28)'
    """
    if error.strerror is None:
        return str(error) or "the system refused"  # the core's errors name the file in their text
    return f"{'output' if error.filename is None else error.filename}: {error.strerror}"


def number(error: OSError) -> int | None:
    """The system's number of an error, of the core's too, which tells it in words: ``(os error 28)``."""
    if error.errno is not None:
        return error.errno
    _, _, digits = str(error).rpartition("(os error ")
    head = digits.partition(")")[0]
    return int(head) if head.isdecimal() else None


@contextmanager
def errors() -> Iterator[None]:
    """Turn what a person can mend into a message and an exit code: no traceback, the hint on a line of its own."""
    try:
        yield
    except AnabranchError as error:
        text = str(error).removeprefix("error: ")  # the core's own messages begin so already
        tell(text)
        raise typer.Exit(1 if isinstance(error, CoreMissingError) else 2) from error
    except BrokenPipeError:  # `anabranch ... | head`: `main` ends quietly
        raise
    except OSError as error:  # a folder that cannot be written, a disk that is full
        code = number(error)
        tell(describe(error), HINTS.get(code) if code is not None else None)
        raise typer.Exit(2) from error
    except MemoryError as error:
        tell("not enough memory", "less input, or fewer threads, need less")
        raise typer.Exit(2) from error
