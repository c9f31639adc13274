"""What questions are about, as the core reads it: fabrics, traffic, schemes; and how the core is asked."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from anabranch.base import core
from anabranch.base.fabric import Fabric
from anabranch.routing.model import View

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WEIGHTED = "weighted"
"""The scheme whose weights a linear program chooses for the traffic."""


def ask(question: str, fabric: str | Path | None = None, failed: Sequence[str] = (), **rest: Any) -> Any:  # noqa: ANN401 - JSON
    """Ask the core.

    Raises
    ------
    RoutingError
        If the question has no answer.
    """
    asked: dict[str, Any] = {"ask": question, **rest}
    if fabric is not None:
        asked["fabric"] = {"text": str(fabric), "failed": list(failed)}
    return json.loads(core.routing(json.dumps(asked)))


def schemes() -> dict[str, str]:
    """Names of the schemes, and what each does."""
    found = {str(one["name"]): str(one["about"]) for one in ask("schemes")}
    return {**found, WEIGHTED: "shares of the shortest paths chosen for this traffic, by a linear program"}


def view(fabric: str | Path, *, failed: Sequence[str] = ()) -> View:
    """Read a fabric.

    Parameters
    ----------
    fabric
        An inline table (``topology="m-port-n-tree", m=4, n=3``), a scenario file (its ``[fabric]``) or a topology file.
    failed
        Links that have failed, by their ends: ``leaf0-spine1``.

    Raises
    ------
    RoutingError
        If it cannot be read or is not connected.
    """
    data = ask("fabric", fabric, failed)
    tree = data["tree"]
    return View(
        fabric=Fabric.parse(json.dumps(data["fabric"]), where=str(fabric)),
        hosts=int(data["hosts"]),
        alive=tuple(data["alive"]),
        relay=bool(data["relay"]),
        levels=tuple(data["levels"]),
        level_of=tuple(data["level_of"]),
        rack_of=tuple(data["racks"]["of"]),
        rack_node=tuple(data["racks"]["node"]),
        tree=None if tree is None else (int(tree["m"]), int(tree["n"])),
        reference_bps=int(data["reference_bps"]),
    )


def traffic_matrix(
    fabric: str | Path, traffic: str | Path, *, failed: Sequence[str] = (), seed: int = 1
) -> dict[tuple[int, int], Fraction]:
    """Read a traffic matrix: amounts above zero by source and destination.

    Parameters
    ----------
    fabric, failed
        See `view`.
    traffic
        ``stride:4``, ``random`` (a permutation), ``uniform``, ``senders:3``, ``incast:8``, ``all-to-all``, or a CSV
        file of source, destination, amount.
    seed
        Seed of the random patterns.
    """
    data = ask("traffic", fabric, failed, traffic=str(traffic), seed=seed)
    return {(int(s), int(d)): Fraction(text) for s, d, text, _ in data["entries"]}
