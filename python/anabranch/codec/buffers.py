"""Bytes of any object that has them, without a copy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from anabranch.errors import CodecError

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Buffer

    Memory: TypeAlias = Buffer | npt.NDArray[Any]
    """What has contiguous memory; NumPy's types say that of arrays only from Python 3.12 on."""

EXPECTED = "expected bytes, a bytearray, a memory view or a NumPy array"
BYTES = {"B", "b", "c"}
"""Formats of single bytes, as the module ``struct`` names them."""


def view_of(data: Memory, what: str) -> memoryview:
    """Look at an object's memory.

    Raises
    ------
    CodecError
        If it has none to show.
    """
    try:
        return memoryview(cast("Buffer", data))
    except TypeError as error:
        raise CodecError(f"{what}: {EXPECTED}, got {type(data).__name__}") from error
    except (ValueError, BufferError) as error:
        raise CodecError(f"{what}: {EXPECTED}: {error}") from error


def flat(data: Memory, what: str) -> bytes | memoryview:
    """Return the bytes of an object in one dimension, where they are.

    Parameters
    ----------
    data
        ``bytes``, a ``bytearray``, a memory view, a C-contiguous NumPy array of numbers, or anything like these.
    what
        What it is, for messages.

    Examples
    --------
    >>> import array
    >>> flat(array.array("H", [1, 2]), "the object").nbytes
    4

    Raises
    ------
    CodecError
        If it is anything else.
    """
    if isinstance(data, bytes):
        return data
    view = view_of(data, what)
    if not view.c_contiguous:
        raise CodecError(f"{what}: expected a C-contiguous array", hint="numpy.ascontiguousarray makes one")
    if "O" in re.sub(":[^:]*:", "", view.format):
        raise CodecError(f"{what}: expected bytes or numbers, got an array of Python objects")
    # What has no bytes cannot be cast.
    return view.cast("B") if view.nbytes else b""
