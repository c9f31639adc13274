"""Oblivious performance ratios of switches, over all traffic matrices (Song Definitions 5.2 and 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.errors import RoutingError
from anabranch.routing.inputs import ask, view
from anabranch.routing.solver import Rows, Solution, minimise

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.routing.solver import Vector

NOTHING = 1e-9
"""Differences of the solver below this are none."""


@dataclass(frozen=True, slots=True)
class Tree:
    """FT(m, n), its hosts in subtrees."""

    m: int
    n: int

    def subtree(self, host: int, level: int) -> int:
        """Number of the subtree of a level in which a host stands; the whole tree for level 0."""
        return 0 if level == 0 else host // (self.m // 2) ** (self.n - level)

    def crossed(self, source: int, destination: int, level: int) -> set[int]:
        """Subtrees of a level whose switches of that level a pair crosses.

        Examples
        --------
        >>> sorted(Tree(4, 3).crossed(0, 15, 1)), Tree(4, 3).crossed(0, 1, 1)
        ([0, 3], set())
        """
        below = level + 1 < self.n and self.subtree(source, level + 1) == self.subtree(destination, level + 1)
        ends = {self.subtree(source, level), self.subtree(destination, level)}
        return set() if below and len(ends) == 1 else ends


def switch_ratio(
    fabric: str | Path, scheme: str, *, level: int | None = None, seed: int = 1
) -> tuple[float, str, dict[tuple[int, int], float]]:
    """Find the oblivious performance ratio of switches: load over the least possible, at worst.

    For each switch, the traffic that loads it most while the least possible load stays one is a linear program over
    traffic matrices, as that least load is the largest of linear functions: what crosses the switches of a level in a
    subtree, over their number.

    Parameters
    ----------
    fabric
        A fat-tree FT(m, n) of 128 hosts at most.
    scheme
        Its name.
    level
        PERFSW_t of this level, from the top; None: PERFSW, of all.
    seed
        Seed of random paths.

    Returns
    -------
    ratio, switch, traffic
        The ratio, the switch that has it, and a traffic matrix with it.

    Examples
    --------
    >>> ratio, _, _ = switch_ratio('topology="m-port-n-tree", m=4, n=2', "balanced", level=0)
    >>> round(ratio, 6)
    2.0
    """
    seen = view(fabric)
    if seen.tree is None:
        raise RoutingError(
            "the oblivious ratio of switches is computed for fat-trees only", hint='topology="m-port-n-tree", m=4, n=3'
        )
    tree = Tree(*seen.tree)
    levels = range(tree.n) if level is None else (level,)
    pairs = ask("shares", fabric, scheme=scheme, seed=seed)
    below = _least_possible(tree, [(s, d) for s, d, _ in pairs], levels)
    loads: dict[int, Vector] = {}
    for number, (_, _, nodes) in enumerate(pairs):
        for node, share in nodes:
            if seen.level_of[node] in levels:
                loads.setdefault(node, np.zeros(len(pairs)))[number] += share
    best: tuple[Solution, int] | None = None
    for node, load in loads.items():
        found = minimise(-load, below=below)
        if best is None or found.value < best[0].value - NOTHING:
            best = (found, node)
    if best is None:
        raise RoutingError(f"no switch of level {level}: expected 0 to {tree.n - 1}")
    worst: Any = best[0].at
    traffic = {(s, d): float(x) for (s, d, _), x in zip(pairs, worst, strict=True) if x > NOTHING}
    return -best[0].value, seen.fabric.nodes[best[1]].name, traffic


def _least_possible(tree: Tree, pairs: Sequence[tuple[int, int]], levels: Sequence[int]) -> Rows:
    """OPTUSW of these levels is one at most."""
    rows = Rows()
    place: dict[tuple[int, int], int] = {}
    for t in levels:
        for number, (s, d) in enumerate(pairs):
            for subtree in tree.crossed(s, d, t):
                if (t, subtree) not in place:
                    place[t, subtree] = len(rows.right)
                    rows.right.append(float((tree.m // 2) ** (tree.n - 1 - t)))
                rows.add((place[t, subtree],), (number,), (1.0,))
    return rows
