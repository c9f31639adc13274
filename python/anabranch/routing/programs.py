"""Linear programs: the least possible largest load on any fabric, weights of paths, oblivious ratios of switches.

Solved by HiGHS through `scipy.optimize.linprog`. The matrices are sparse and made from arrays; flows to one rack are one
commodity, as Song's loads add up whoever sends.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from anabranch.errors import RoutingError
from anabranch.routing.analysis import ask, traffic_matrix, view
from anabranch.routing.model import Number, Optimum, View, WeightedPaths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

MOST_VARIABLES = 400_000
"""Above this a linear program takes minutes and more."""

GRAIN = 10**6
"""Shares of paths are whole multiples of one over this, so that loads stay exact."""

FAR = 1 << 30


@dataclass
class Rows:
    """A sparse matrix in the making."""

    row: list[np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=list)
    column: list[np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=list)
    value: list[np.ndarray[Any, np.dtype[np.float64]]] = field(default_factory=list)

    def add(self, row: Iterable[int], column: Iterable[int], value: Iterable[float]) -> None:
        """Add entries."""
        self.row.append(np.fromiter(row, dtype=np.int64))
        self.column.append(np.fromiter(column, dtype=np.int64))
        self.value.append(np.fromiter(value, dtype=np.float64))

    def matrix(self, rows: int, columns: int) -> coo_array:
        """The matrix; entries of the same place add up."""
        if not self.row:
            return coo_array((rows, columns))
        place = (np.concatenate(self.row), np.concatenate(self.column))
        return coo_array((np.concatenate(self.value), place), shape=(rows, columns))


def size(seen: View) -> int:
    """Variables that the program of `optimum` may have."""
    inner = sum(not _access(seen, port) for port in range(2 * len(seen.fabric.links)) if seen.alive[port // 2])
    return inner * len(seen.rack_node) + 1


def optimum(
    fabric: str | Path,
    traffic: str | Path | Mapping[tuple[int, int], float | Fraction],
    *,
    failed: Sequence[str] = (),
    seed: int = 1,
    shortest: bool = False,
    switches: bool = False,
    level: int | None = None,
) -> Optimum:
    """Find the least possible largest load under a traffic matrix: OPTU, or OPTUSW (Song Definitions 3.4 and 3.5).

    Parameters
    ----------
    fabric, failed
        See `view`.
    traffic
        See `traffic_matrix`, or amounts by source and destination.
    seed
        Seed of random traffic.
    shortest
        Whether only shortest paths count; else any.
    switches
        Whether to bound the load of switches instead of the utilisation of links.
    level
        With `switches`: those of one level only.

    Returns
    -------
    Optimum
        With the solver's time.
    """
    seen = view(fabric, failed=failed)
    given = traffic if isinstance(traffic, dict) else None
    amounts = given if given is not None else traffic_matrix(fabric, str(traffic), failed=failed, seed=seed)
    program = _Program(seen, {pair: float(a) for pair, a in amounts.items()}, shortest=shortest)
    return program.solve(switches=switches, level=level)


class _Program:
    """Flows to each rack over ports, and the largest load."""

    def __init__(self, seen: View, amounts: Mapping[tuple[int, int], float], *, shortest: bool) -> None:
        self.seen, self.shortest = seen, shortest
        self.owner = [end for link in seen.fabric.links for end in (link.a, link.b)]
        self.peer = [end for link in seen.fabric.links for end in (link.b, link.a)]
        self.inner = [p for p in range(len(self.owner)) if seen.alive[p // 2] and not _access(seen, p)]
        self.demand: dict[int, dict[int, float]] = {}
        self.sent = np.zeros(seen.hosts)
        self.received = np.zeros(seen.hosts)
        self.local = np.zeros(len(seen.fabric.nodes))
        for (s, d), amount in amounts.items():
            self.sent[s] += amount
            self.received[d] += amount
            self.local[seen.rack_node[seen.rack_of[s]]] += amount
            a, b = seen.rack_of[s], seen.rack_of[d]
            if a != b:
                to = self.demand.setdefault(b, {})
                to[a] = to.get(a, 0.0) + amount

    def ports(self, rack: int) -> list[int]:
        """Ports that flows to a rack may use."""
        seen, target = self.seen, self.seen.rack_node[rack]
        allowed = [p for p in self.inner if self.owner[p] != target and self._passes(self.peer[p], target)]
        if not self.shortest:
            return allowed
        distance = _distances(seen, self.owner, self.peer, target)
        return [p for p in allowed if distance[self.peer[p]] + 1 == distance[self.owner[p]]]

    def _passes(self, node: int, target: int) -> bool:
        return node >= self.seen.hosts or self.seen.relay or node == target

    def solve(self, *, switches: bool, level: int | None) -> Optimum:
        seen = self.seen
        equal, limit = Rows(), Rows()
        right: list[float] = []
        columns = 1  # the first is the largest load
        for rack, demands in sorted(self.demand.items()):
            ports = self.ports(rack)
            nodes = sorted({self.owner[p] for p in ports} | {seen.rack_node[a] for a in demands})
            place = {node: len(right) + i for i, node in enumerate(nodes)}
            numbers = range(columns, columns + len(ports))
            equal.add((place[self.owner[p]] for p in ports), numbers, (1.0 for _ in ports))
            onward = [(p, c) for p, c in zip(ports, numbers, strict=True) if self.peer[p] in place]
            equal.add((place[self.peer[p]] for p, _ in onward), (c for _, c in onward), (-1.0 for _ in onward))
            amounts = dict.fromkeys(nodes, 0.0)
            for a, amount in demands.items():
                amounts[seen.rack_node[a]] += amount
            right.extend(amounts[node] for node in nodes)
            limit.add((self.peer[p] if switches else p for p in ports), numbers, (1.0 for _ in ports))
            columns += len(ports)
        floor, limited, beside = self._limits(switches=switches, level=level)
        limit.add(range(len(limited)), (0 for _ in limited), (-capacity for capacity in limited))
        size = len(limited)
        start = time.perf_counter()
        found = linprog(
            np.concatenate([[1.0], np.zeros(columns - 1)]),
            A_ub=limit.matrix(size, columns).tocsr(),
            b_ub=-beside,
            A_eq=equal.matrix(len(right), columns).tocsr() if right else None,
            b_eq=right or None,
            bounds=[(floor, None), *([(0, None)] * (columns - 1))],
            method="highs",
        )
        seconds = time.perf_counter() - start
        if found.status != 0:
            raise RoutingError(f"the linear program of the optimum has no solution: {found.message}")
        return Optimum(Number.of(found.fun), "linear program", seconds, columns, size + len(right))

    def _limits(
        self, *, switches: bool, level: int | None
    ) -> tuple[float, list[float], np.ndarray[Any, np.dtype[np.float64]]]:
        """What the load is at least; the factor of the largest load for each limited place; its load from local hosts."""
        seen = self.seen
        if switches:
            counted = [
                seen.level_of[n] is not None and (level is None or seen.level_of[n] == level)
                for n in range(len(seen.fabric.nodes))
            ]
            # Places that do not count get a factor that never binds.
            return 0.0, [1.0 if one else float(FAR) for one in counted], self.local * np.array(counted)
        capacity = [seen.fabric.links[p // 2].rate_bps / seen.reference_bps for p in range(len(self.owner))]
        floor = 0.0
        for p in range(len(self.owner)):
            if seen.alive[p // 2] and _access(seen, p):
                host = min(self.owner[p], self.peer[p])
                load = self.sent[host] if self.owner[p] == host else self.received[host]
                floor = max(floor, load / capacity[p])
        return floor, capacity, np.zeros(len(capacity))


def _access(seen: View, port: int) -> bool:
    """Whether a port belongs to the only link of a host."""
    link = seen.fabric.links[port // 2]
    return any(n < seen.hosts and seen.rack_node[seen.rack_of[n]] != n for n in (link.a, link.b))


def _distances(seen: View, owner: Sequence[int], peer: Sequence[int], target: int) -> list[int]:
    out: dict[int, list[int]] = {}
    for p, node in enumerate(owner):
        if seen.alive[p // 2]:
            out.setdefault(node, []).append(peer[p])
    distance = [FAR] * len(seen.fabric.nodes)
    distance[target] = 0
    queue = deque([target])
    while queue:
        node = queue.popleft()
        if node != target and node < seen.hosts and not seen.relay:
            continue
        for other in out.get(node, ()):
            if distance[other] == FAR:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


def weights(
    fabric: str | Path,
    traffic: Sequence[str | Path],
    *,
    failed: Sequence[str] = (),
    seed: int = 1,
    most_paths: int = 256,
) -> WeightedPaths:
    """Choose shares of the shortest paths so that the largest utilisation over all given matrices is least (Song §2.4).

    Parameters
    ----------
    fabric, failed, seed
        See `analyse`.
    traffic
        One or several matrices, each as in `traffic_matrix`; the same shares serve all.
    most_paths
        Shortest paths of a pair of racks that are tried at most.

    Raises
    ------
    RoutingError
        If a pair has more paths, or the program is too large.
    """
    seen = view(fabric, failed=failed)
    pairs = ask("paths", fabric, failed, traffic=[str(t) for t in traffic], most=most_paths, seed=seed)
    count = sum(len(pair["paths"]) for pair in pairs)
    if count > MOST_VARIABLES:
        raise RoutingError(f"{count} paths: expected {MOST_VARIABLES} at most for a linear program")
    limit, equal = Rows(), Rows()
    ports = 2 * len(seen.fabric.links)
    column = 1
    for row, pair in enumerate(pairs):
        numbers = range(column, column + len(pair["paths"]))
        equal.add((row for _ in numbers), numbers, (1.0 for _ in numbers))
        for number, path in zip(numbers, pair["paths"], strict=True):
            for k, amount in enumerate(pair["amounts"]):
                if amount:
                    limit.add((k * ports + p for p in path), (number for _ in path), (amount for _ in path))
        column += len(pair["paths"])
    for k in range(len(traffic)):
        capacity = (-seen.fabric.links[p // 2].rate_bps / seen.reference_bps for p in range(ports))
        limit.add(range(k * ports, (k + 1) * ports), (0 for _ in range(ports)), capacity)
    floor = max(
        _Program(seen, _floats(fabric, t, failed, seed), shortest=True)._limits(switches=False, level=None)[0]
        for t in traffic
    )
    start = time.perf_counter()
    rows = len(traffic) * ports
    found = linprog(
        np.concatenate([[1.0], np.zeros(column - 1)]),
        A_ub=limit.matrix(rows, column).tocsr(),
        b_ub=np.zeros(rows),
        A_eq=equal.matrix(len(pairs), column).tocsr() if pairs else None,
        b_eq=np.ones(len(pairs)) if pairs else None,
        bounds=[(floor, None), *([(0, None)] * (column - 1))],
        method="highs",
    )
    if found.status != 0:
        raise RoutingError(f"the linear program of the weights has no solution: {found.message}")
    solved = Optimum(Number.of(found.fun), "linear program", time.perf_counter() - start, column, rows + len(pairs))
    chosen = []
    column = 1
    for pair in pairs:
        paths = pair["paths"]
        shares = rounded(found.x[column : column + len(paths)])
        used = [(path, share) for path, share in zip(paths, shares, strict=True) if share]
        chosen.append((int(pair["from"]), int(pair["to"]), used))
        column += len(paths)
    return WeightedPaths(solved.load, chosen, solved)


def _floats(fabric: str | Path, traffic: str | Path, failed: Sequence[str], seed: int) -> dict[tuple[int, int], float]:
    return {pair: float(a) for pair, a in traffic_matrix(fabric, traffic, failed=failed, seed=seed).items()}


def rounded(shares: Iterable[float]) -> list[Fraction]:
    """Round shares to whole multiples of 1 / `GRAIN` that add up to one, by largest remainders.

    Examples
    --------
    >>> rounded([1 / 3, 2 / 3])
    [Fraction(333333, 1000000), Fraction(666667, 1000000)]
    """
    exact = [max(0.0, float(share)) * GRAIN for share in shares]
    scale = GRAIN / sum(exact)
    exact = [share * scale for share in exact]
    whole = [int(share) for share in exact]
    left = GRAIN - sum(whole)
    order = sorted(range(len(exact)), key=lambda i: whole[i] - exact[i])
    for i in order[:left]:
        whole[i] += 1
    return [Fraction(w, GRAIN) for w in whole]


def switch_ratio(
    fabric: str | Path, scheme: str, *, level: int | None = None, seed: int = 1
) -> tuple[float, str, dict[tuple[int, int], float]]:
    """Find the oblivious performance ratio of switches, over all traffic matrices (Song Definitions 5.2 and 5.3).

    For each switch, the traffic that loads it most while the least possible load stays one is a linear program over
    traffic matrices; that least load is the largest of linear functions (one for each subtree), see `optimum` of the core.

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
    m, n = seen.tree
    pairs = ask("shares", fabric, scheme=scheme, seed=seed)
    half = m // 2

    def subtree(host: int, t: int) -> int:
        return 0 if t == 0 else host // half ** (n - t)

    rows = Rows()
    place: dict[tuple[int, int], int] = {}
    right: list[float] = []
    for t in range(n) if level is None else (level,):
        for number, (s, d, _) in enumerate(pairs):
            a, b = subtree(s, t), subtree(d, t)
            lower = (subtree(s, t + 1) == subtree(d, t + 1)) if t + 1 < n else False
            if a == b and lower:
                continue  # they meet below this level
            for tree in {a, b}:
                if (t, tree) not in place:
                    place[t, tree] = len(right)
                    right.append(float(half ** (n - 1 - t)))
                rows.add((place[t, tree],), (number,), (1.0,))
    matrix = rows.matrix(len(right), len(pairs)).tocsr()
    loads: dict[int, np.ndarray[Any, np.dtype[np.float64]]] = {}
    for number, (_, _, nodes) in enumerate(pairs):
        for node, share in nodes:
            if level is None or seen.level_of[node] == level:
                loads.setdefault(node, np.zeros(len(pairs)))[number] += share
    best, where, worst = 0.0, -1, np.zeros(len(pairs))
    for node, load in loads.items():
        found = linprog(-load, A_ub=matrix, b_ub=right, bounds=(0, None), method="highs")
        if found.status != 0:
            # Pairs that cross no switch of the level are free: they load none of it, so that bounds do not matter to them.
            raise RoutingError(f"the linear program of the ratio has no solution: {found.message}")
        if -found.fun > best + 1e-9:  # noqa: PLR2004 - of two equal ones the first
            best, where, worst = -found.fun, node, found.x
    traffic = {(s, d): float(x) for (s, d, _), x in zip(pairs, worst, strict=True) if x > 1e-9}  # noqa: PLR2004
    return best, seen.fabric.nodes[where].name, traffic
