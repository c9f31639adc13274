"""Loads, worst patterns, decompositions and bounds, as the core computes them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from anabranch.errors import RoutingError
from anabranch.routing.inputs import WEIGHTED, ask, schemes, view
from anabranch.routing.model import (
    Bounds,
    Decomposition,
    LevelLoads,
    LoadReport,
    Number,
    Optimum,
    Part,
    Place,
    SchemeLoads,
    View,
    WorstPattern,
    WorstReport,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.routing.model import WeightedPaths

ROUNDING = 1e-9
"""Relative error of sums of floats."""

DEFAULTS = {"mdnvr-k": "mdnvr-k:2", "virtual-tables": "virtual-tables:2"}
"""Parameters of schemes that are not asked for by name, as results show them."""


def default_schemes(fabric: View) -> tuple[list[str], list[str]]:
    """The schemes that a fabric allows, and notes about those that it does not."""
    names = [DEFAULTS.get(name, name) for name in schemes() if name != WEIGHTED]
    notes = []
    if not fabric.healthy_tree or (fabric.tree is not None and fabric.tree[1] > 3):  # noqa: PLR2004 - n of FT(m, n)
        names.remove("balanced")
        notes.append("balanced is left out: it needs FT(m, n), n <= 3, without failed links")
    return names, notes


def analyse(
    fabric: str | Path,
    traffic: str | Path,
    schemes: Sequence[str] | None = None,
    *,
    failed: Sequence[str] = (),
    seed: int = 1,
    exact: bool = True,
    optimum: bool = True,
) -> LoadReport:
    """Compute loads of links and switches, and how far they are from the least possible.

    Parameters
    ----------
    fabric, failed
        See `view`.
    traffic
        See `traffic_matrix`.
    schemes
        Names, with a parameter after a colon where a scheme takes one: ``mdnvr-k:4/3``. All that the fabric allows, by
        default.
    seed
        Seed of random traffic and of random paths.
    exact
        Fractions; else floating point, which always fits.
    optimum
        Whether to find OPTU where there is no closed form, by a linear program.

    Returns
    -------
    LoadReport
        Loads in the units of the traffic.

    Raises
    ------
    RoutingError
        If something cannot be read, or an exact result does not fit.

    Examples
    --------
    >>> report = analyse('topology="m-port-n-tree", m=4, n=3', "stride:4", ["nr", "mdnvr-k:4/3", "mdnvr"])
    >>> [(s.scheme, s.mload.load.text, s.mloadsw.load.text) for s in report.schemes if s.scheme != "mdnvr-k:4/3"]
    [('nr', '4', '16'), ('mdnvr', '1', '4')]
    """
    seen = view(fabric, failed=failed)
    names, notes = default_schemes(seen) if schemes is None else (list(schemes), [])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RoutingError(f"scheme {twice} is asked for twice")
    asked: list[Any] = list(names)
    if WEIGHTED in names:
        from anabranch.routing import programs  # noqa: PLC0415 - SciPy, where it is used

        chosen = programs.weights(fabric, [traffic], failed=failed, seed=seed)
        asked[names.index(WEIGHTED)] = specification(chosen)
    data = ask("loads", fabric, failed, traffic=str(traffic), schemes=asked, seed=seed, exact=exact)
    best: Optimum | None = None
    if data["optimum"] is not None:
        best = Optimum(_number(data["optimum"]["optu"]), "closed form")
    elif optimum:
        from anabranch.routing import programs  # noqa: PLC0415 - as above

        least = min((_number(one["utilisation"]["load"]) for one in data["schemes"]), key=lambda one: one.value)
        size = programs.size(seen)
        if least.value <= programs.cut(fabric, traffic, failed=failed, seed=seed) * (1 + ROUNDING):
            best = Optimum(least, "a cut: all links of a host or rack are as busy")
        elif size <= programs.QUICK:
            best = programs.optimum(fabric, traffic, failed=failed, seed=seed)
        else:
            notes.append(
                f"OPTU is not known: the linear program has up to {size} variables; anabranch.routing.optimum solves it"
            )
    return LoadReport(
        baseload=_number(data["baseload"]),
        total=_number(data["total"]),
        pairs=int(data["pairs"]),
        optimum=best,
        optusw=None if data["optimum"] is None else Number.read(data["optimum"]["optusw"]),
        schemes=tuple(_scheme(one, best) for one in data["schemes"]),
        fabric=seen.fabric,
        alive=seen.alive,
        notes=tuple(notes),
    )


def specification(chosen: WeightedPaths) -> dict[str, Any]:
    """What the core takes for the scheme ``weighted``."""
    pairs = [
        {"from": a, "to": b, "paths": [[list(ports), str(share)] for ports, share in paths]}
        for a, b, paths in chosen.pairs
    ]
    return {"weighted": pairs}


def worst_pattern(
    fabric: str | Path,
    scheme: str,
    *,
    failed: Sequence[str] = (),
    seed: int = 1,
    exact: bool = True,
    switches: bool = False,
) -> WorstReport:
    """Find the traffic that is worst for a scheme, among all in which no host sends or receives more than one unit.

    Parameters
    ----------
    fabric, failed, seed, exact
        See `analyse`.
    scheme
        Its name.
    switches
        Whether to find the worst for the switches of each level, too.

    Returns
    -------
    WorstReport
        On a fat-tree the load of the worst link is the oblivious performance ratio PERF (Song Definition 5.1).

    Examples
    --------
    >>> tree = 'topology="m-port-n-tree", m=4, n=3'
    >>> [worst_pattern(tree, name).link.load.load.text for name in ("nr", "balanced", "mdnvr")]
    ['4', '2', '1']
    """
    if scheme == WEIGHTED:
        raise RoutingError("the weights of `weighted` are chosen for a traffic matrix: expected another scheme")
    data = ask("worst", fabric, failed, scheme=scheme, seed=seed, exact=exact, switches=switches)
    return WorstReport(
        str(data["scheme"]), _pattern(data["link"]), tuple(_pattern(one["worst"]) for one in data["switches"])
    )


def decompose(fabric: str | Path, traffic: str | Path, *, failed: Sequence[str] = (), seed: int = 1) -> Decomposition:
    """Decompose a traffic matrix by the highest level of switches that each pair's shortest paths reach.

    Examples
    --------
    >>> tree = 'topology="m-port-n-tree", m=4, n=3'
    >>> [(part.letter, part.pairs) for part in decompose(tree, "stride:2").parts]
    [('I', 8), ('A', 8), ('E', 0)]
    """
    data = ask("decompose", fabric, failed, traffic=str(traffic), seed=seed)
    parts = tuple(
        Part(
            one["level"],
            one["name"],
            one["letter"],
            one["pairs"],
            _number(one["amount"]),
            tuple((int(s), int(d), Fraction(a)) for s, d, a in one["entries"]),
        )
        for one in data["parts"]
    )
    return Decomposition(parts, data["text"], data["map"])


def bounds(m: int, n: int, *, k: Sequence[str | int | Fraction] = (2,)) -> tuple[Bounds, ...]:
    """Bounds of Song's Theorems 3.1 to 3.6 for FT(m, n) and all traffic, in units of the base load.

    Parameters
    ----------
    m, n
        Ports of a switch; tiers.
    k
        Values of k of MDNVRk.

    Notes
    -----
    That of DNVR is the bound of its best assignment of paths (scheme ``balanced``), not of random paths.

    Examples
    --------
    >>> [(one.scheme, str(one.mloadsw)) for one in bounds(4, 3, k=["2", "4/3"])]
    [('nr', '16'), ('dnvr', '8'), ('mdnvr-k:2', '8'), ('mdnvr-k:4/3', '16/3'), ('mdnvr', '4')]
    """
    data = ask("bounds", m=m, n=n, k=[str(one) for one in k])
    return tuple(
        Bounds(
            one["scheme"],
            Number.read(one["mload"]),
            Number.read(one["mloadsw"]),
            tuple(Number.read(level["mload"]) for level in one["levels"]),
            tuple(Number.read(level["mloadsw"]) for level in one["levels"]),
        )
        for one in data["schemes"]
    )


def _number(data: Mapping[str, Any]) -> Number:
    return Number(str(data["text"]), float(data["value"]))


def _place(data: Mapping[str, Any]) -> Place:
    return Place(_number(data["load"]), str(data["at"]))


def _pattern(data: Mapping[str, Any]) -> WorstPattern:
    return WorstPattern(_place(data), tuple(data["permutation"]), int(data["examined"]), int(data["of"]))


def _scheme(data: Mapping[str, Any], best: Optimum | None) -> SchemeLoads:
    levels = tuple(
        LevelLoads(
            one["level"],
            one["name"],
            Place.read(one["up"]),
            Place.read(one["down"]),
            Place.read(one["switch"]),
            Number.read(one["perfsw"]),
        )
        for one in data["levels"]
    )
    used = _place(data["utilisation"])
    perf = Number.read(data["perf"])
    if perf is None and best is not None and best.load.value > 0:
        perf = Number.of(used.load.value / best.load.value)
    return SchemeLoads(
        scheme=str(data["scheme"]),
        mload=_place(data["mload"]),
        utilisation=used,
        mloadsw=_place(data["mloadsw"]),
        perf=perf,
        perfsw=Number.read(data["perfsw"]),
        levels=levels,
        ports=tuple(data["ports"]),
        nodes=tuple(data["nodes"]),
    )
