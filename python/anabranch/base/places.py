"""Where results are: a folder, or the URL of one in an object store.

A URL becomes a `upath.UPath`, which has the methods of a `pathlib.Path` that are used here; so what reads a result
folder reads both.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anabranch.errors import AnabranchError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl"})
"""Kinds of URL whose objects appear when they are complete, and not before."""

INSTALL = "pip install 'anabranch[cluster]'"


def is_url(place: object) -> bool:
    """Whether a place is the URL of a folder, and not a path.

    Examples
    --------
    >>> is_url("s3://bucket/sweep"), is_url("out/demo"), is_url(Path("out/demo"))
    (True, False, False)
    """
    return not isinstance(place, Path) and _URL.match(str(place)) is not None


def place(where: str | Path) -> Path:
    """Open a folder by its path or its URL.

    Raises
    ------
    AnabranchError
        If the URL is none of an object store, or what reads them is not installed.
    """
    match = None if isinstance(where, Path) else _URL.match(str(where))
    if match is None:
        return Path(where)
    kind = match[1].lower()
    if kind == "file":
        return Path(str(where)[len("file://") :])
    if kind not in OBJECT_STORES:
        raise AnabranchError(
            f"{where}: results go to a folder or an object store, not to {kind}://",
            hint="mount it as a folder, or use s3://, gs:// or az://",
        )
    if set("*?[") & set(str(where)):
        # fsspec takes them for patterns, and would read and remove the objects of other names.
        raise AnabranchError(f"{where}: a URL with one of *?[ in it", hint="choose another name")
    try:
        from upath import UPath  # noqa: PLC0415 - for URLs only

        found = UPath(str(where).rstrip("/"))
        found.fs.invalidate_cache()
    except ImportError as error:
        raise AnabranchError(f"{where}: {error}", hint=f"{INSTALL} reads and writes object stores") from error
    return cast("Path", found)


def reached(where: str | Path) -> Path:
    """Open a folder by its path or its URL, and see whether an object store answers.

    Raises
    ------
    AnabranchError
        If it does not, or as `place` does.
    """
    found = place(where)
    if is_url(found):
        try:
            with answering(found):
                # One listing, from which the names of all that is there are known.
                found.fs.find(found.path)  # type: ignore[attr-defined]
        except FileNotFoundError as error:
            raise StoreError(f"{where}: there is no such bucket ({error})", hint="make it first") from error
    return found


@contextmanager
def answering(where: Path) -> Iterator[None]:
    """Convert the errors of an object store, whose libraries have different ones, to `StoreError`.

    Raises
    ------
    StoreError
        If the store cannot be reached, or refuses. A missing object is still a `FileNotFoundError`.
    """
    try:
        yield
    except (AnabranchError, FileNotFoundError):
        raise
    except Exception as error:
        if not is_url(where):
            raise
        raise StoreError(
            f"{where}: cannot be reached ({type(error).__name__}: {error})",
            hint="credentials and the endpoint come from the environment, as for every other program: "
            "AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and so on",
        ) from error


def storage_options(where: Path) -> Mapping[str, Any]:
    """What Polars is to be told of a place; it reads URLs by itself, with the settings of the environment."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    if not is_url(where) or not str(where).startswith(("s3", "s3a")) or not endpoint:
        return {}
    return {"aws_endpoint_url": endpoint, "aws_allow_http": str(endpoint.startswith("http://")).lower()}
