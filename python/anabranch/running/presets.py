"""What has a name: TOML files in folders of ``assets``."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class Preset:
    """Something with a name.

    Attributes
    ----------
    name
        As on the command line.
    summary
        What it is.
    source
        Where its numbers come from.
    """

    name: str
    summary: str
    source: str


def _folder(kind: str) -> Traversable:
    return files("anabranch.running").joinpath("assets", f"{kind}s")


def names(kind: str) -> list[str]:
    """Names of all presets of a kind (``fabric``, ``model``), in alphabetical order."""
    found = (file.name for file in _folder(kind).iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def read(kind: str, name: str) -> dict[str, Any]:
    """Read a preset.

    Raises
    ------
    AnabranchError
        If there is none of this name.
    """
    known = names(kind)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise AnabranchError(f"no {kind} is named {name!r}", hint=hint)
    return tomllib.loads(_folder(kind).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
