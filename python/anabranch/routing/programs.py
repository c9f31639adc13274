"""Linear programs: the least possible largest load on any fabric, and weights of paths.

Flows to one rack are one commodity, as loads add up whoever sends.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import RoutingError
from anabranch.routing.inputs import ask, traffic_matrix, view
from anabranch.routing.model import Number, Optimum, View, WeightedPaths
from anabranch.routing.solver import Rows, minimise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from anabranch.routing.solver import Vector

MOST_VARIABLES = 400_000
"""Above this a linear program of weights takes minutes and more."""

QUICK = 60_000
"""Variables of a linear program that is solved unasked: half a minute."""

GRAIN = 10**6
"""Shares of paths are whole multiples of one over this, so that loads stay exact."""

FAR = 1 << 30


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
    program = Program(seen, {pair: float(a) for pair, a in amounts.items()}, shortest=shortest)
    return program.solve(switches=switches, level=level)


class Program:
    """Flows to each rack over ports, and the largest load: what `optimum` solves."""

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
        """Find the least largest load; see `optimum`."""
        seen = self.seen
        equal, below = Rows(), Rows()
        columns = 1  # the first is the largest load
        for rack, demands in sorted(self.demand.items()):
            ports = self.ports(rack)
            nodes = sorted({self.owner[p] for p in ports} | {seen.rack_node[a] for a in demands})
            place = {node: len(equal.right) + i for i, node in enumerate(nodes)}
            numbers = range(columns, columns + len(ports))
            equal.add((place[self.owner[p]] for p in ports), numbers, (1.0 for _ in ports))
            onward = [(p, c) for p, c in zip(ports, numbers, strict=True) if self.peer[p] in place]
            equal.add((place[self.peer[p]] for p, _ in onward), (c for _, c in onward), (-1.0 for _ in onward))
            amounts = dict.fromkeys(nodes, 0.0)
            for a, amount in demands.items():
                amounts[seen.rack_node[a]] += amount
            equal.right.extend(amounts[node] for node in nodes)
            below.add((self.peer[p] if switches else p for p in ports), numbers, (1.0 for _ in ports))
            columns += len(ports)
        if switches:
            counted = [
                seen.level_of[n] is not None and (level is None or seen.level_of[n] == level)
                for n in range(len(seen.fabric.nodes))
            ]
            # Nodes that do not count get a factor that never binds.
            capacity = [1.0 if one else float(FAR) for one in counted]
            below.right.extend(-self.local * np.array(counted))
        else:
            capacity = self.capacity
            below.right.extend(0.0 for _ in capacity)
        below.add(range(len(capacity)), (0 for _ in capacity), (-one for one in capacity))
        least = [0.0 if switches else self.floor(), *([0.0] * (columns - 1))]
        found = minimise(first(columns), below=below, equal=equal, least=least)
        rows = len(below.right) + len(equal.right)
        return Optimum(Number.of(found.value), "linear program", found.seconds, columns, rows)

    @property
    def capacity(self) -> list[float]:
        """Capacity of every port."""
        return [self.seen.fabric.links[p // 2].rate_bps / self.seen.reference_bps for p in range(len(self.owner))]

    def floor(self) -> float:
        """The largest utilisation of the links of hosts, which no routing changes."""
        most = 0.0
        for p, capacity in enumerate(self.capacity):
            if self.seen.alive[p // 2] and _access(self.seen, p):
                host = min(self.owner[p], self.peer[p])
                load = self.sent[host] if self.owner[p] == host else self.received[host]
                most = max(most, load / capacity)
        return float(most)

    def cut(self) -> float:
        """A lower bound of OPTU that is often attained: the links of hosts, and all links of each rack together."""
        seen = self.seen
        racks = len(seen.rack_node)
        rack_at = {node: rack for rack, node in enumerate(seen.rack_node)}
        sent, received = np.zeros(racks), np.zeros(racks)
        for to, demands in self.demand.items():
            for a, amount in demands.items():
                sent[a] += amount
                received[to] += amount
        out, into = np.zeros(racks), np.zeros(racks)
        capacity = self.capacity
        for p in self.inner:
            for ends, sums in ((self.owner, out), (self.peer, into)):
                if ends[p] in rack_at:
                    sums[rack_at[ends[p]]] += capacity[p]
        busy = [
            (load, room)
            for loads, rooms in ((sent, out), (received, into))
            for load, room in zip(loads, rooms, strict=True)
        ]
        return max([self.floor(), *(float(load / room) for load, room in busy if load > 0)])


def first(columns: int) -> Vector:
    """The cost that counts the first variable only."""
    cost = np.zeros(columns)
    cost[0] = 1.0
    return cost


def cut(fabric: str | Path, traffic: str | Path, *, failed: Sequence[str] = (), seed: int = 1) -> float:
    """Find a lower bound of OPTU without a linear program: `optimum` is no less.

    Parameters
    ----------
    fabric, traffic, failed, seed
        See `optimum`.
    """
    seen = view(fabric, failed=failed)
    return Program(seen, _floats(fabric, traffic, failed, seed), shortest=False).cut()


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


def weights_csv(fabric: str | Path, traffic: Sequence[str | Path], *, failed: Sequence[str] = (), seed: int = 1) -> str:
    """Write the paths of `weights` as the file that the simulator reads: ``routing.weighted.file``.

    Parameters
    ----------
    fabric, traffic, failed, seed
        See `weights`.

    Returns
    -------
    str
        CSV: source, destination, path (names of nodes with spaces between) and weight, a row for each path with a share
        of each pair of hosts that sends. Hosts of one switch have no row.
    """
    chosen = weights(fabric, traffic, failed=failed, seed=seed)
    seen = view(fabric, failed=failed)
    nodes, links = seen.fabric.nodes, seen.fabric.links
    paths = {(a, b): shares for a, b, shares in chosen.pairs}

    def peer(port: int) -> str:
        link = links[port // 2]
        return nodes[link.a if port % 2 else link.b].name

    senders = {pair for one in traffic for pair in traffic_matrix(fabric, one, failed=failed, seed=seed)}
    lines = ["source,destination,path,weight"]
    for source, destination in sorted(senders):
        racks = seen.rack_of[source], seen.rack_of[destination]
        for ports, share in paths.get(racks, ()):
            if share and ports:
                names = " ".join([nodes[seen.rack_node[racks[0]]].name, *map(peer, ports)])
                lines.append(f"{nodes[source].name},{nodes[destination].name},{names},{float(share):.9g}")
    return "\n".join(lines) + "\n"


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
    below, equal = Rows(), Rows()
    ports = 2 * len(seen.fabric.links)
    column = 1
    for row, pair in enumerate(pairs):
        numbers = range(column, column + len(pair["paths"]))
        equal.add((row for _ in numbers), numbers, (1.0 for _ in numbers))
        equal.right.append(1.0)
        for number, path in zip(numbers, pair["paths"], strict=True):
            for k, amount in enumerate(pair["amounts"]):
                if amount:
                    below.add((k * ports + p for p in path), (number for _ in path), (amount for _ in path))
        column += len(pair["paths"])
    programs = [Program(seen, _floats(fabric, one, failed, seed), shortest=True) for one in traffic]
    for k, program in enumerate(programs):
        below.add(range(k * ports, (k + 1) * ports), (0 for _ in range(ports)), (-one for one in program.capacity))
        below.right.extend(0.0 for _ in range(ports))
    least = [max(program.floor() for program in programs), *([0.0] * (column - 1))]
    found = minimise(first(column), below=below, equal=equal, least=least)
    rows = len(below.right) + len(pairs)
    solved = Optimum(Number.of(found.value), "linear program", found.seconds, column, rows)
    chosen = []
    column = 1
    for pair in pairs:
        paths = pair["paths"]
        shares = rounded(found.at[column : column + len(paths)])
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
