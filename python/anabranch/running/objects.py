"""The calls to an object store of which the core makes a result folder (`anabranch_results::Storage`).

Paths are relative to the folder. What the store's library raises becomes a `StoreError`; a missing object is none.
"""

from __future__ import annotations

import errno
import getpass
import inspect
import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from anabranch.base import places
from anabranch.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Objects:
    """A folder in an object store.

    Parameters
    ----------
    out
        Its `UPath`.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.url = str(out)
        self.fs = out.fs  # type: ignore[attr-defined]

    def who(self) -> tuple[str, str, str]:
        """User, machine and time, for the lock."""
        try:
            user = getpass.getuser()
        except (OSError, KeyError):  # a container whose user has no name
            user = f"user {os.getuid()}"
        since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
        return user, platform.node(), since

    def find(self, below: str = "") -> list[str]:
        """All objects, or those below a path."""
        base = f"{self._path('')}/"
        with places.answering(self.out), suppress(FileNotFoundError):
            self.fs.invalidate_cache()
            found = self.fs.find(self._path(below))
            return [file[len(base) :] for file in found if file.startswith(base)]
        return []

    def read(self, names: Sequence[str]) -> list[bytes | None]:
        """The content of objects, many at a time; None for one that is missing."""
        paths = [self._path(name) for name in names]
        with places.answering(self.out):
            found = self.fs.cat(paths, on_error="return")
            for content in found.values():
                if isinstance(content, Exception) and not isinstance(content, FileNotFoundError):
                    raise content
        return [content if isinstance(content := found[path], bytes) else None for path in paths]

    def write(self, name: str, content: bytes) -> None:
        """Write an object, or replace it."""
        with places.answering(self.out):
            self.fs.pipe_file(self._path(name), content)

    def create(self, name: str, content: bytes) -> None:
        """Create an object unless there is one; a store that has no conditional writes replaces it."""
        path = self._path(name)
        # File systems of fsspec need not have them; one that takes any option may pass it on to one that has.
        options = inspect.signature(self.fs.pipe_file).parameters
        known = "mode" in options or any(option.kind is option.VAR_KEYWORD for option in options.values())
        how = {"mode": "create"} if known else {}
        with places.answering(self.out):
            try:
                self.fs.pipe_file(path, content, **how)
            except FileExistsError:
                pass
            except OSError as error:
                if error.errno == errno.ENOSYS:  # the store refuses conditional writes
                    self.fs.pipe_file(path, content)
                elif self.read([name]) == [None]:  # two at once may both be refused
                    raise

    def upload(self, local: Path, name: str) -> None:
        """Store a file of this machine."""
        with places.answering(self.out / name):
            self.fs.put_file(str(local), self._path(name))

    def copy(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Copy objects."""
        sources, targets = zip(*pairs, strict=True)
        with places.answering(self.out):
            self.fs.copy([self._path(name) for name in sources], [self._path(name) for name in targets])

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects."""
        with places.answering(self.out), suppress(FileNotFoundError):
            self.fs.rm([self._path(name) for name in names])
        # S3 deletes many objects at a time, and s3fs tells nobody of those that it did not.
        left = set(names) & set(self.find(os.path.commonpath(names)))
        if left:
            raise StoreError(f"{self.out / min(left)}: cannot be deleted", hint="the same command tries it again")

    def _path(self, name: str) -> str:
        return str((self.out / name).path if name else self.out.path)  # type: ignore[attr-defined]
