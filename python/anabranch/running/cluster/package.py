"""A scenario packed for other machines: its text, its settings, and the files that it names.

A worker unpacks it once and keeps it. For every run the worker compares its own content hash, which covers the files,
with the client's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import weakref
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from anabranch.base import core
from anabranch.errors import ClusterError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_UNPACKED = 4
"""Scenarios that a worker keeps unpacked at most."""


@dataclass(frozen=True, slots=True)
class Package:
    """A scenario with all files that it names.

    Attributes
    ----------
    file
        Its name, as given.
    text
        Its text.
    overrides
        Settings that replace its own.
    options
        The options of `anabranch.run` that each run takes, by name.
    data
        The files that it names relative to its folder, and their content. Files with absolute names are read on each
        machine.
    digest
        Hash of all of it.
    """

    file: str
    text: bytes
    overrides: tuple[str, ...]
    options: Mapping[str, Any]
    data: tuple[tuple[str, bytes], ...]

    digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(repr(self).encode(errors="surrogateescape")).hexdigest()[:16]
        object.__setattr__(self, "digest", digest)


def pack(sweep: core.Sweep, path: str, overrides: tuple[str, ...], options: Mapping[str, Any]) -> Package:
    """Pack a scenario that was read from a file here."""
    file = Path(path)
    data = []
    for name in sweep.data_files():
        if not PurePath(name).is_absolute():
            try:
                data.append((name, (file.parent / name).read_bytes()))
            except OSError as error:
                raise ScenarioError(f"{path}: {name} cannot be read ({error.strerror})") from error
    return Package(path, file.read_bytes(), overrides, options, tuple(data))


class Unpacked:
    """A package on a worker, ready to run.

    Parameters
    ----------
    package
        The package from the client.
    scratch
        Scratch folder of the worker.
    """

    def __init__(self, package: Package, scratch: Path) -> None:
        self.package = package
        self.folder = Path(tempfile.mkdtemp(prefix="scenario-", dir=scratch))
        # Leave room for names such as `../sizes.csv`.
        depth = max((PurePath(name).parts.count("..") for name, _ in package.data), default=0)
        base = self.folder.joinpath(*["d"] * depth)
        base.mkdir(parents=True, exist_ok=True)
        self.file = base / (PurePath(package.file).name or "scenario.toml")
        self.file.write_bytes(package.text)
        for name, content in package.data:
            place = Path(os.path.normpath(base / name))
            if not place.is_relative_to(self.folder):
                raise ClusterError(f"{name}: leads out of the scenario's folder")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        self.sweep = core.Sweep(str(self.file), package.overrides, package.options)
        # A worker may live for weeks.
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def with_client_path(self, message: str) -> str:
        """A message of the core with the scenario's path on the client in place of the path here."""
        return message.replace(str(self.file), self.package.file)


_lock = threading.Lock()
_kept: dict[str, Unpacked] = {}


def unpacked(package: Package, scratch: Path) -> Unpacked:
    """The package, unpacked once in this process."""
    with _lock:
        digest = package.digest
        if digest not in _kept:
            while len(_kept) >= MAX_UNPACKED:
                del _kept[next(iter(_kept))]
            _kept[digest] = Unpacked(package, scratch)
        return _kept[digest]
