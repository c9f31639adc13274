"""What analyses of routing return: plain tables of loads, exact where the core computed them exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.base.fabric import Fabric


@dataclass(frozen=True, slots=True)
class Number:
    """A load or a ratio.

    Attributes
    ----------
    text
        ``16/3`` if exact, else decimals.
    value
        The same, rounded.
    """

    text: str
    value: float

    @property
    def fraction(self) -> Fraction:
        """As a fraction; that of `text`.

        Examples
        --------
        >>> Number("16/3", 16 / 3).fraction
        Fraction(16, 3)
        """
        return Fraction(self.text)

    @classmethod
    def of(cls, value: float) -> Number:
        """A number that is known as a float only."""
        return cls(f"{value:.6f}".rstrip("0").rstrip("."), float(value))

    @classmethod
    def read(cls, data: Mapping[str, Any] | None) -> Number | None:
        """Read what the core wrote."""
        return None if data is None else cls(str(data["text"]), float(data["value"]))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Place:
    """A load, and the link or switch that has it: ``edge0.0@2-agg0.0@1`` is the direction to the second."""

    load: Number
    at: str

    @classmethod
    def read(cls, data: Mapping[str, Any] | None) -> Place | None:
        """Read what the core wrote."""
        return (
            None if data is None else cls(Number(str(data["load"]["text"]), float(data["load"]["value"])), data["at"])
        )


@dataclass(frozen=True, slots=True)
class LevelLoads:
    """The largest loads of a level: links up to its switches, links down from them, and the switches.

    Level 0 is the top. `perfsw` is the switches' load over the least possible at this level (Song Eq. 5.5).
    """

    level: int
    name: str
    up: Place | None
    down: Place | None
    switch: Place | None
    perfsw: Number | None


@dataclass(frozen=True, slots=True)
class SchemeLoads:
    """Loads of one scheme.

    Attributes
    ----------
    scheme
        Its name.
    mload
        The most loaded link (Song Eq. 3.4).
    utilisation
        The link with the largest load over capacity, that of the slowest host link being one.
    mloadsw
        The most loaded switch (Eq. 3.6).
    perf
        `utilisation` over the least possible (Eq. 5.1); None if that is not known.
    perfsw
        `mloadsw` over the least possible (Eq. 5.3); None if that is not known.
    levels
        By level, from the top.
    ports, nodes
        Load of every directed link and of every node, in the order of the fabric.
    """

    scheme: str
    mload: Place
    utilisation: Place
    mloadsw: Place
    perf: Number | None
    perfsw: Number | None
    levels: tuple[LevelLoads, ...]
    ports: tuple[float, ...]
    nodes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The least possible largest load.

    Attributes
    ----------
    load
        OPTU, as utilisation of links (or OPTUSW, as load of switches).
    method
        ``closed form`` or ``linear program``.
    seconds
        Wall-clock time of the solver.
    variables, rows
        Size of the linear program; zero for a closed form.
    """

    load: Number
    method: str
    seconds: float = 0.0
    variables: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Schemes under a traffic matrix.

    Attributes
    ----------
    baseload
        The most that a host sends or receives (Song Definition 3.2).
    total
        All traffic.
    pairs
        Pairs of hosts that send.
    optimum
        OPTU, and how it was found; None if the fabric is too large for a linear program.
    optusw
        OPTUSW, in closed form, on fat-trees without failures.
    schemes
        Loads, in the order asked for.
    fabric
        Nodes and links.
    alive
        Whether each link works.
    notes
        What a reader should know: schemes that were left out, and why.
    """

    baseload: Number
    total: Number
    pairs: int
    optimum: Optimum | None
    optusw: Number | None
    schemes: tuple[SchemeLoads, ...]
    fabric: Fabric
    alive: tuple[bool, ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> SchemeLoads:
        """The scheme whose busiest link is least utilised; of equals, whose busiest switch is least loaded."""
        return min(self.schemes, key=lambda s: (round(s.utilisation.load.value, 9), round(s.mloadsw.load.value, 9)))


@dataclass(frozen=True, slots=True)
class WorstPattern:
    """The permutation that is worst for a scheme, on one link or switch.

    Attributes
    ----------
    load
        Its load per unit that each host sends, and where.
    permutation
        Destination of each host; None if it does not matter.
    examined, of
        For how many links or switches a matching was computed, of how many.
    """

    load: Place
    permutation: tuple[int | None, ...]
    examined: int
    of: int


@dataclass(frozen=True, slots=True)
class WorstReport:
    """Worst patterns of a scheme: of all links, and of the switches of each level from the top."""

    scheme: str
    link: WorstPattern
    switches: tuple[WorstPattern, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a decomposed traffic matrix: the pairs whose paths reach this level and no higher."""

    level: int
    name: str
    letter: str
    pairs: int
    amount: Number
    entries: tuple[tuple[int, int, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Decomposition:
    """TM = TM_0 + ... + TM_(n-1) (Song §5.2.2).

    Attributes
    ----------
    parts
        From the top level.
    text
        The matrix with the letter of its part at each pair that sends (Figure 5.5); None beyond 128 hosts.
    map
        The letter of every pair (Figure 5.4); None beyond 128 hosts.
    """

    parts: tuple[Part, ...]
    text: str | None
    map: str | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The dissertation's bounds of one scheme on FT(m, n), in units of the base load, for all traffic.

    `mload` and `mloadsw` bound the largest loads of all links and switches, the tuples those of each level from the
    top; None where the dissertation has no bound.
    """

    scheme: str
    mload: Number | None
    mloadsw: Number | None
    mload_at: tuple[Number | None, ...]
    mloadsw_at: tuple[Number | None, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A fabric as routing sees it; what linear programs are made of.

    Attributes
    ----------
    fabric
        Nodes and links. Directed port ``2 l`` leads from `a` to `b` of link ``l``, ``2 l + 1`` back.
    hosts
        Number of hosts, which are the first nodes.
    alive
        Whether each link works.
    relay
        Whether hosts pass on the packets of others.
    levels
        Names of the levels, from the top.
    level_of
        Level of each node, None for hosts.
    rack_of, rack_node
        Rack of each host; node of each rack.
    tree
        (m, n) of FT(m, n), if the fabric was made as one.
    reference_bps
        The bit rate that counts as capacity one.
    """

    fabric: Fabric
    hosts: int
    alive: tuple[bool, ...]
    relay: bool
    levels: tuple[str, ...]
    level_of: tuple[int | None, ...]
    rack_of: tuple[int, ...]
    rack_node: tuple[int, ...]
    tree: tuple[int, int] | None
    reference_bps: int

    @property
    def healthy_tree(self) -> bool:
        """Whether closed forms hold."""
        return self.tree is not None and all(self.alive)


@dataclass(frozen=True, slots=True)
class WeightedPaths:
    """Paths with weights that were chosen for traffic: the scheme ``weighted``.

    Attributes
    ----------
    load
        The least largest utilisation over these paths.
    pairs
        Racks, and their paths as ports with the share of each.
    optimum
        How it was found.
    """

    load: Number
    pairs: Sequence[tuple[int, int, Sequence[tuple[Sequence[int], Fraction]]]]
    optimum: Optimum
