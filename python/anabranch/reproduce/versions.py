"""The version of the model, and of those of its parts that concern a scenario: what the simulator has, and a source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.base import bundle, core
from anabranch.running import plan as planning

if TYPE_CHECKING:
    from anabranch.reproduce.model import Experiment

SOURCE = "crates/sim/src/lib.rs"


@dataclass(frozen=True, slots=True)
class Versions:
    """The version of the model, and of the parts that concern a scenario, by name."""

    model: int
    parts: Mapping[str, int]


def written(source: str) -> Versions | None:
    """The versions that the model's source states, of all parts; None if it states none.

    Examples
    --------
    >>> written('pub const MODEL: u32 = 6; .. [("tcp", 2, Concerns::Tcp), ..]')
    Versions(model=6, parts={'tcp': 2})
    """
    found = re.search(r"const MODEL: u32 = (\d+)", source)
    parts = {name: int(version) for name, version in re.findall(r'\(\s*"([^"]+)",\s*(\d+)', source)}
    return Versions(int(found[1]), parts) if found else None


def now(experiment: Experiment, *, quick: bool = False) -> Versions | None:
    """The versions that the installed simulator has, for an experiment's scenario; None for a calculation."""
    if experiment.calculate:
        return None
    parts = planning.model_parts(bundle.find(experiment.file), experiment.overrides(quick=quick))
    return Versions(int(core.identity()["model"]), parts)
