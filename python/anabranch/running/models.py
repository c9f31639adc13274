"""Models of which a training step can be run, by name: data in ``assets/models``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError
from anabranch.running import presets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Model(presets.Preset):
    """A model and how ranks divide it.

    Attributes
    ----------
    shape
        The table ``job.model`` of a scenario.
    """

    shape: dict[str, Any]

    def with_shape(self, changes: Mapping[str, float]) -> dict[str, Any]:
        """The table ``job.model`` with other layers, replicas, and so on; of experts: ``experts.ranks``.

        Whether there are such keys, the simulator says.
        """
        shape = {key: dict(value) if isinstance(value, dict) else value for key, value in self.shape.items()}
        for key, value in changes.items():
            table, _, own = key.rpartition(".")
            place = shape.setdefault(table, {}) if table else shape
            if not isinstance(place, dict):
                raise AnabranchError(f"--shape {key}: {table} of {self.name} is no table")
            place[own] = value
        return shape


def model(name: str) -> Model:
    """Find a model by its name.

    Raises
    ------
    AnabranchError
        If there is none of this name.
    """
    about = presets.read("model", name)
    return Model(name=name, summary=about["summary"], source=about["source"], shape=about["model"])


def models() -> Iterator[Model]:
    """All of them, in alphabetical order."""
    return map(model, presets.names("model"))
