"""The fabric of an experiment: nodes with levels, and full-duplex links between them (``fabric.json``)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterable

LEVELS = ("core", "aggregation", "edge", "host")
"""Levels from the top of a drawing to its bottom."""


@dataclass(frozen=True, slots=True)
class Node:
    """A host or a switch: its name, its level (one of `LEVELS`), and its pod where the topology has pods."""

    name: str
    level: str
    pod: int | None


def level_names(nodes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name each level as its nodes are named, where they agree on a word; else by the level.

    Parameters
    ----------
    nodes
        Level and name of each node.

    Examples
    --------
    >>> level_names([("core", "spine0"), ("core", "spine1"), ("edge", "a"), ("edge", "b"), ("aggregation", "agg0.1")])
    {'core': 'spine', 'aggregation': 'aggregation', 'edge': 'edge', 'host': 'host'}
    """
    words: dict[str, set[str]] = {level: set() for level in LEVELS}
    for level, name in nodes:
        words.setdefault(level, set()).add(re.sub(r"[\d.]+$", "", name))
    single = {level: next(iter(own)) if len(own) == 1 else "" for level, own in words.items()}
    shared = list(single.values())
    # `agg0.0` is an aggregation switch, and `h0` a host; a word of two levels tells them not apart.
    return {
        level: level if len(word) < 2 or level.startswith(word) or shared.count(word) > 1 else word  # noqa: PLR2004
        for level, word in single.items()
    }


@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex link between nodes `a` and `b` (indices), with its rate in bits/s and its delay in nanoseconds."""

    a: int
    b: int
    rate_bps: int
    delay_ns: float


@dataclass(frozen=True, slots=True)
class Fabric:
    """Nodes and links. Directed link ``2 l`` goes from `a` to `b` of link ``l``, ``2 l + 1`` from `b` to `a`."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return sum(node.level == "host" for node in self.nodes)

    @property
    def switches(self) -> int:
        """Number of switches."""
        return len(self.nodes) - self.hosts

    def level_names(self) -> dict[str, str]:
        """Level to what its nodes are called: ``leaf`` for the edge switches ``leaf0``, ``leaf1`` ... of a leaf-spine.

        Examples
        --------
        >>> Fabric((Node("h0", "host", None), Node("leaf0", "edge", None)), ()).level_names()["edge"]
        'leaf'
        """
        return level_names((node.level, node.name) for node in self.nodes)

    def link_name(self, link: int) -> str:
        """Name of a directed link: ``left → right``; its number if the fabric has no such link."""
        if link // 2 >= len(self.links):
            return f"link {link}"
        cable = self.links[link // 2]
        ends = (cable.a, cable.b) if link % 2 == 0 else (cable.b, cable.a)
        return " → ".join(self.nodes[node].name for node in ends)

    @classmethod
    def parse(cls, text: str, *, where: str = "fabric.json") -> Fabric:
        """Read a fabric from JSON.

        Raises
        ------
        ResultError
            If the text is not a fabric.
        """
        try:
            data = json.loads(text)
            nodes = tuple(Node(str(n["name"]), str(n["level"]), n.get("pod")) for n in data["nodes"])
            links = tuple(
                Link(int(k["a"]), int(k["b"]), int(k["rate_bps"]), float(k["delay_ns"])) for k in data["links"]
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{where}: not a fabric ({type(error).__name__}: {error})") from error
        for node in nodes:
            if node.level not in LEVELS:
                raise ResultError(f"{where}: node {node.name}: unknown level {node.level!r}")
        if any(not 0 <= end < len(nodes) for link in links for end in (link.a, link.b)):
            raise ResultError(f"{where}: a link ends at a node that is not there")
        return cls(nodes, links)
