"""Files in the user's cache: what takes long to make and can be made again.

Where nothing can be kept it is made each time. A file begins with the digest of the rest: one that was damaged counts
as missing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

UNKEPT = (OSError, RuntimeError)
"""Why nothing can be kept: the file system, or nobody knows a home of this user."""


def path(name: str) -> Path:
    """Where a file of ours is kept: in ``$XDG_CACHE_HOME/anabranch``, by default ``~/.cache/anabranch``."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "anabranch", name)


def read(name: str) -> bytes | None:
    """Read what is kept, if it is there and whole."""
    try:
        digest, _, content = path(name).read_bytes().partition(b"\n")
    except UNKEPT:
        return None
    return content if digest == _digest(content) else None


def write(name: str, content: bytes) -> None:
    """Keep something, by rename, so that nobody reads a part of it."""
    draft = None
    try:
        file = path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
            draft.write(_digest(content) + b"\n" + content)
        Path(draft.name).replace(file)
    except BaseException as error:  # Ctrl-C, too, leaves no draft
        if draft:
            with suppress(OSError):
                Path(draft.name).unlink()
        if not isinstance(error, UNKEPT):
            raise


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
