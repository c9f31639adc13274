"""Which folders may be written: an experiment replaces an older one, never anything else."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from pathlib import Path

OWN = frozenset({"manifest.json", "fabric.json", "runs", "report.html"})
"""What ``anabranch run`` writes (``docs/reference/results.md``)."""


def check(folder: Path) -> None:
    """Check that a folder may be written: it does not exist, is empty, or holds an experiment and nothing else.

    Raises
    ------
    AnabranchError
        If writing there would touch what is not ours.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise AnabranchError(f"{folder} exists and is not a folder", hint="choose another with --out")
    # Names that begin with a dot are what an interrupted writer leaves before its rename, or a file manager's.
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in OWN and entry.name[0] != ".")
    if foreign:
        raise AnabranchError(
            f"{folder} holds {foreign[0]!r}, which is not part of an experiment; nothing was written",
            hint="choose another folder with --out, or move that file away",
        )


def clear(folder: Path) -> None:
    """Remove the experiment that a folder holds, if any; `check` comes first."""
    for name in OWN:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def put(path: Path, data: str | bytes) -> None:
    """Write a file by rename, making its folder: nobody sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(data.encode() if isinstance(data, str) else data)
    os.replace(draft, path)  # noqa: PTH105 - the pair of `write_bytes`, atomic on every platform
