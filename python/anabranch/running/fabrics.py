"""Fabrics of AI clusters by name: data in ``assets/fabrics``, sized for a number of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.running import presets

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Fabric(presets.Preset):
    """A fabric that grows by units.

    Attributes
    ----------
    grows
        The key of `fabric` that says how many units there are.
    hosts
        Hosts (GPUs) of a unit.
    least
        Units at least.
    fabric
        The table ``fabric`` of a scenario, but for the number of units.
    server
        The table ``host.server``; None if every host is alone.
    """

    grows: str
    hosts: int
    least: int
    fabric: dict[str, Any]
    server: dict[str, Any] | None

    @property
    def gbps(self) -> float:
        """Rate of a host's link, in Gbps."""
        return float(str(self.fabric["rate"]).removesuffix("Gbps"))

    def of(self, ranks: int) -> dict[str, Any]:
        """The table ``fabric`` with as many units as so many ranks need."""
        count = max(-(-ranks // self.hosts), self.least)
        fabric = {"topology": self.fabric["topology"], self.grows: count, **self.fabric}
        if "global_links" in fabric:
            # A switch has one link to each other group at most.
            fabric["global_links"] = min(fabric["global_links"], count - 1)
        return fabric


def fabric(name: str) -> Fabric:
    """Find a fabric by its name.

    Raises
    ------
    AnabranchError
        If there is none of this name.
    """
    about = presets.read("fabric", name)
    grows = about["grows"]
    return Fabric(
        name=name,
        summary=about["summary"],
        source=about["source"],
        grows=grows["key"],
        hosts=grows["hosts"],
        least=grows["least"],
        fabric=about["fabric"],
        server=about.get("host", {}).get("server"),
    )


def fabrics() -> Iterator[Fabric]:
    """All of them, in alphabetical order."""
    return map(fabric, presets.names("fabric"))
