"""Models of which a training step can be run, by name: data in ``assets/models``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError
from anabranch.running import presets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Model:
    """A model and how ranks divide it.

    Attributes
    ----------
    name
        As on the command line.
    summary
        What it is.
    source
        Where its numbers come from.
    shape
        The table ``job.model`` of a scenario.
    """

    name: str
    summary: str
    source: str
    shape: dict[str, Any]

    def with_shape(self, changes: Mapping[str, int]) -> dict[str, Any]:
        """The table ``job.model`` with other layers, replicas, and so on; of experts: ``experts.ranks``.

        Raises
        ------
        AnabranchError
            If there is no such key.
        """
        shape = {key: dict(value) if isinstance(value, dict) else value for key, value in self.shape.items()}
        for key, value in changes.items():
            table, _, own = key.rpartition(".")
            place = shape.get(table) if table else shape
            if not isinstance(place, dict) or not isinstance(place.get(own), int):
                known = [*_keys(self.shape), *(f"experts.{one}" for one in _keys(self.shape.get("experts", {})))]
                raise AnabranchError(f"--shape {key}: {self.name} has no such key", hint=f"it has {', '.join(known)}")
            place[own] = value
        return shape


def _keys(table: Mapping[str, Any]) -> list[str]:
    return [key for key, value in table.items() if isinstance(value, int)]


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
