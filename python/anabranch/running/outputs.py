"""Where results go: the folder of a command that names none, and what the core says of a folder.

The core keeps two rules for every command. What is not a result of ours is never touched: only files of the layout
are removed (``docs/reference/results.md``), other files beside them stay, and a folder that is no result folder is
refused. And no finished run is lost without a word: a folder that holds runs which the new experiment does not make
needs ``--force``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.base import core, places
from anabranch.running.objects import Objects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.running.plan import ListedRun, PlannedRun

    Planned = PlannedRun | ListedRun

LONGEST = 100
"""Characters of a default folder's name at most."""


def default(file: Path, overrides: Sequence[str] = (), *, seeds: int | None = None) -> Path:
    """The folder for the results of a command that names none: settings get one of their own.

    Examples
    --------
    >>> str(default(Path("scenarios/incast.toml")))
    'out/incast'
    >>> str(default(Path("incast.toml"), ["transport.tcp.rto_min=1ms"], seeds=3))
    'out/incast,transport.tcp.rto_min=1ms,seeds=3'
    """
    asked = ",".join([*overrides, *([] if seeds is None else [f"seeds={seeds}"])])
    if not asked:
        return Path("out", file.stem)
    name = re.sub(r"[^\w.,=+-]+", "_", asked)
    if name != asked or len(name.encode()) > LONGEST:
        # Two settings may read alike once they are shortened.
        digest = hashlib.sha256(asked.encode(errors="surrogateescape")).hexdigest()[:8]
        name = f"{name.encode()[:LONGEST].decode(errors='ignore')}-{digest}"
    return Path("out", f"{file.stem},{name}")


def storage(out: Path) -> core.Storage:
    """A place of results, as the core takes it: a path, or what makes the calls to an object store."""
    return Objects(out) if places.is_url(out) else str(out)


def folder(out: Path) -> core.Folder:
    """What may be asked of a result folder."""
    return core.Folder(storage(out))


def check(out: Path, planned: Sequence[Planned], *, resume: bool, force: bool) -> Mapping[str, str]:
    """Check that an experiment may write its results to a place, long before it does; then the core checks it again.

    Returns the finished runs that are there: name to hash.

    Raises
    ------
    StoreError
        If something is there that is no result, or, without `force`, a finished run that would be lost.
    """
    return folder(out).check(planned, resume=resume, force=force)
