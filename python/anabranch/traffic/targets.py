"""Where results are written: never over what is read, and whole or not at all.

A file is drafted beside its target, in the target's own folder, and gets its name when it is complete. Whatever ends
the writing before, a full disk, Ctrl-C or SIGTERM, removes the draft.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

TERMINATED = 143
"""Exit code after SIGTERM: 128 + SIGTERM, as shells have it."""

LONGEST = 150
"""Letters of a target's name that its draft repeats: names have 255 bytes at most."""

_numbers = itertools.count()


def check(target: Path, inputs: Iterable[Path | str], option: str) -> None:
    """Check, before anything is read, that a file may be written.

    Parameters
    ----------
    target
        The file; it need not exist.
    inputs
        Files and folders that are read.
    option
        Which option names the target, for the message.

    Raises
    ------
    AnabranchError
        If the target is a folder, ``-``, an input (by whatever name or link), or a file in a folder that is an input.
    """
    if target.is_dir():
        raise AnabranchError(
            f"{option} {target} is a folder: expected a file", hint=f"name a file in it: {target}/NAME"
        )
    if str(target) == "-":
        raise AnabranchError(f"{option} -: expected a file", hint="/dev/stdout for the standard output")
    for given in map(Path, inputs):
        if _same(target, given):
            spelt = "" if str(given) == str(target) else f" {given}"
            raise AnabranchError(
                f"{option} {target} is the input{spelt}: it would be replaced; nothing was read or written",
                hint="choose another name",
            )
        if target.exists() and given.is_dir() and given.resolve() in target.resolve().parents:
            raise AnabranchError(
                f"{option} {target} belongs to the input {given}: it would be replaced; nothing was read or written",
                hint="choose another name",
            )


def check_folder(folder: Path, inputs: Iterable[Path | str], option: str) -> None:
    """Check that a folder may be written into: it is one, and no file that it holds is an input.

    Raises
    ------
    AnabranchError
        If it may not.
    """
    if folder.exists() and not folder.is_dir():
        raise AnabranchError(f"{option} {folder} is no folder", hint="name a folder, or one that is to be made")
    for given in map(Path, inputs):
        if folder.is_dir() and any(_same(file, given) for file in folder.iterdir() if not file.is_dir()):
            raise AnabranchError(
                f"{option} {folder} holds the input {given}, which a file of the same name would replace; "
                "nothing was read or written",
                hint="choose another folder",
            )


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links or spelling."""
    with suppress(OSError):
        return one.samefile(other)
    return False


@contextmanager
def whole(target: Path | str) -> Iterator[Path]:
    """Give the path of a draft; when the block ends well, the draft becomes the target.

    A link is followed: what it leads to is replaced, not the link. What is no regular file, such as a pipe or
    ``/dev/null``, gets the bytes.

    Raises
    ------
    AnabranchError
        If the target is a folder.
    OSError
        If it cannot be written; the error names the target, and nothing is left behind.
    """
    path = Path(target)
    special = path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode)
    if path.is_dir():
        raise AnabranchError(f"{path} is a folder: expected a file", hint=f"name a file in it: {path}/NAME")
    real = path.resolve() if path.is_symlink() else path
    folder = Path(tempfile.gettempdir()) if special else real.parent
    draft = folder / f".{real.name[:LONGEST]}.{os.getpid()}-{next(_numbers)}.part"
    with _terminable():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            yield draft
            if special:
                with draft.open("rb") as made, path.open("wb") as out:
                    shutil.copyfileobj(made, out)
            else:
                draft.replace(real)
        except OSError as error:
            if error.filename is None or Path(str(error.filename)) == draft:
                error.filename = str(path)  # what was asked for, not its draft
            raise
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack, as Ctrl-C does, instead of ending the program where it stands."""
    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not mine:
        yield
        return

    def end(_signal: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
