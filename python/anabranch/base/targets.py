"""Where results are written: never over what is read, and whole or not at all.

A file is drafted beside its target, in the target's own folder, and gets its name when it is complete. Whatever ends
the writing before, a full disk, Ctrl-C or SIGTERM, removes the draft.
"""

from __future__ import annotations

import errno
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
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from anabranch.base import places
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

TERMINATED = 143
"""Exit code after SIGTERM: 128 + SIGTERM, as shells have it."""

LONGEST = 150
"""Bytes of a target's name that its draft repeats: names have 255 at most."""

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

    A link is followed: what it leads to is replaced, not the link, and keeps its permissions. What is no regular file,
    such as a pipe or ``/dev/null``, gets the bytes, and so does ``/dev/stdout``, wherever that leads.

    Raises
    ------
    AnabranchError
        If the target is a folder.
    OSError
        If it cannot be written; the error names the target, and nothing is left behind.
    """
    path = Path(target)
    if path.is_dir():
        raise AnabranchError(f"{path} is a folder: expected a file", hint=f"name a file in it: {path}/NAME")
    open_file = _descriptor(path)
    special = open_file is not None or (path.exists() and not stat.S_ISREG(path.stat().st_mode))
    real = path.resolve() if path.is_symlink() else path
    folder = Path(tempfile.gettempdir()) if special else real.parent
    repeated = os.fsencode(real.name)[:LONGEST].decode(errors="ignore")
    draft = folder / f".{repeated}.{os.getpid()}-{next(_numbers)}.part"
    with _terminable():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            yield draft
            if special:
                sys.stdout.flush()
                with draft.open("rb") as made, _opened(path, open_file) as out:
                    shutil.copyfileobj(made, out)
            else:
                if real.exists():
                    shutil.copymode(real, draft)
                draft.replace(real)
        except OSError as error:
            if error.strerror is None:  # not from the system: Polars tells all in one text
                raise OSError(errno.EIO, str(error).partition("\n")[0], str(path)) from error
            if error.filename is None or Path(str(error.filename)) == draft:
                error.filename = str(path)  # what was asked for, not its draft
            raise
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def put(path: Path, data: str | bytes) -> None:
    """Write a file by rename, making its folder: nobody sees half of it, and a failure leaves nothing behind."""
    if places.is_url(path):
        path.write_bytes(data.encode(errors="replace") if isinstance(data, str) else data)
        return
    with whole(path) as draft:
        # Names of files that are no text (surrogates) are no text in UTF-8 either.
        draft.write_bytes(data.encode(errors="replace") if isinstance(data, str) else data)


def _descriptor(path: Path) -> int | None:
    """Which open file of this process a path such as ``/dev/stdout`` stands for."""
    for _ in range(8):  # links to links
        if path.parent.resolve() == Path("/proc/self/fd").resolve() and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _opened(path: Path, descriptor: int | None) -> BinaryIO:
    """The open file itself, with its own position: opened again, it would be written from its beginning."""
    return path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")


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
