"""Song, chapters 2, 3 and 5.1 to 5.2: loads of routing schemes, calculated."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.reproduce import Claim, Experiment, relative, values_of
from anabranch.reproduce.calculated import table
from anabranch.reproduce.experiments.common import drawn
from anabranch.routing import analyse, bounds, decompose
from anabranch.routing.inputs import ask
from anabranch.showing.figures import Axis, Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anabranch.results.tables import Tables

EXACT = 0.0
PATH = ((1, 2), (2, 3), (5, 6), (4, 13), (20, 27), (3, 5), (7, 14), (1, 5), (0, 2), (0, 1))
"""Index and number of neighbours at each hop of Table 2.1."""
WRITTEN = "1 10 101 0100 10100 011 0111 101 0 0"
"""The vector of its last row."""
BOUNDS: Mapping[str, Mapping[tuple[int, int], str]] = {
    "nr": {(2, 2): "2", (4, 2): "8", (4, 3): "16", (8, 3): "128"},
    "dnvr": {(2, 2): "2", (4, 2): "8", (4, 3): "8", (8, 3): "32"},
    "mdnvr-k:2": {(4, 2): "8", (4, 3): "8", (8, 3): "16"},
    "mdnvr-k:4/3": {(4, 3): "16/3", (8, 3): "32/3"},
    "mdnvr": {(2, 2): "2", (4, 2): "4", (4, 3): "4", (8, 3): "8"},
}
"""Table 3.2, where 5.33 and 10.67 stand for fractions."""
NAMES: Mapping[str, str] = {
    "nr": "NR",
    "dnvr": "DNVR",
    "mdnvr-k:4": "MDNVRk, k = 4",
    "mdnvr-k:2": "MDNVRk, k = 2",
    "mdnvr-k:4/3": "MDNVRk, k = 4/3",
    "mdnvr": "MDNVR",
}
STRIDE: Mapping[str, tuple[str, str, str]] = {
    "nr": ("16", "8", "4"),
    "dnvr": ("8", "8", "2"),
    "mdnvr-k:4": ("16", "8", "4"),
    "mdnvr-k:2": ("8", "8", "2"),
    "mdnvr-k:4/3": ("16/3", "4", "4/3"),
    "mdnvr": ("4", "4", "1"),
}
"""Table 5.2."""
COLUMNS = ("MLOADSW_0", "MLOADSW_1", "PERFSW")


def tree(m: int, n: int) -> str:
    """FT(m, n) as a fabric."""
    return f'topology="m-port-n-tree", m={m}, n={n}'


def _bounds(m: int, n: int) -> dict[str, Any]:
    return {one.scheme: one for one in bounds(m, n, k=["4", "2", "4/3"])}


def _normalised(m: int, n: int) -> list[dict[str, Any]]:
    return [
        {"scheme": scheme, "m": m, "n": n, "load": one.mloadsw.value}
        for scheme, one in _bounds(m, n).items()
        if one.mloadsw is not None
    ]


def _under_stride() -> list[dict[str, Any]]:
    """Table 5.2: the schemes that draw nothing are calculated; of the others the bound, which some draw attains."""
    fabric = tree(4, 3)
    fixed = analyse(fabric, "stride:4", ["nr", "mdnvr"], optimum=False)
    least = fixed.optusw.value if fixed.optusw else 0.0
    found = {}
    for one in fixed.schemes:
        found[one.scheme] = [level.switch.load.value for level in one.levels[:2] if level.switch]
    for scheme, one in _bounds(4, 3).items():
        found.setdefault(scheme, [load.value for load in one.mloadsw_at[:2] if load])
    return [
        dict(zip(("scheme", *COLUMNS), (scheme, *loads, max(loads) / least), strict=True))
        for scheme, loads in found.items()
    ]


def _decomposed() -> list[dict[str, Any]]:
    rows = []
    for name, traffic in (("Stride(2)", "stride:2"), ("Stride(4)", "stride:4"), ("7 Senders", "senders:7")):
        parts = decompose(tree(4, 3), traffic).parts
        total = sum(part.pairs for part in parts)
        rows += [{"series": part.letter, "x": name, "y": 100 * part.pairs / total} for part in parts]
    return rows


def calculate() -> dict[str, pl.DataFrame]:
    """Everything of this file."""
    ratios = [
        {"series": NAMES[scheme], "x": m, "y": one.mloadsw.value / m}
        for m in (4, 8, 16, 32)
        for scheme, one in _bounds(m, 3).items()
        if scheme != "mdnvr-k:4/3"
    ]
    return {
        "vector": pl.DataFrame(ask("nix-vector", hops=[list(hop) for hop in PATH])),
        "bounds": pl.DataFrame([row for m, n in ((2, 2), (4, 2), (4, 3), (8, 3)) for row in _normalised(m, n)]),
        "stride": pl.DataFrame(_under_stride()),
        "ratios": pl.DataFrame(ratios),
        "levels": pl.DataFrame(_decomposed()),
    }


def draw(results: Tables) -> tuple[Figure, ...]:
    """Figure 5.1, and what Figures 5.5, 5.8 and 5.9 show."""
    levels = values_of("series", ["I", "A", "E"])
    labels = {"I": "between pods", "A": "same aggregation switch", "E": "same edge switch"}
    shares = table(results, "levels").with_columns(pl.col("series").replace_strict(labels))
    schemes = [name for scheme, name in NAMES.items() if scheme != "mdnvr-k:4/3"]
    return (
        Figure(
            "5.1",
            "Oblivious performance ratios of switches on FT(m, 3)",
            (
                drawn(
                    "means",
                    table(results, "ratios"),
                    schemes,
                    x=Axis("ports of a switch, m", log=True),
                    y=Axis("PERFSW", log=True),
                ),
            ),
        ),
        Figure(
            "5.5",
            "Traffic by the highest level that it reaches, FT(4, 3) (Figs. 5.5, 5.8, 5.9)",
            (
                drawn(
                    "stacked",
                    shares,
                    [labels[one.label] for one in levels],
                    x=Axis(""),
                    y=Axis("share of pairs (%)"),
                ),
            ),
        ),
    )


def _cell(name: str, column: str, **where: object) -> Callable[[Tables], dict[int, float]]:
    """One number of a table."""

    def measure(results: Tables) -> dict[int, float]:
        rows = table(results, name).filter(*(pl.col(key) == value for key, value in where.items()))
        return {0: float(rows[column][0])}

    return measure


def _vector(results: Tables) -> dict[int, float]:
    return {0: float(int(table(results, "vector")["vector"][-1], 2))}


ONE_DRAW = (
    "*Arithmetic.* The bound (3.25) is 16/3, and some draw of three paths for each pair attains it: the table's "
    "4 is the least "
    "that any draw has, beside a worst draw's 16/3 at level 0 (`crates/routing/tests/tables.rs`)."
)

TABLES = Experiment(
    name="song/tables",
    title="Nix-vectors, bounds and ratios",
    question="Do the dissertation's tables come out exactly?",
    section="§2.2, §3.3, §5.1, §5.2",
    figures=("5.1", "5.5"),
    draw=draw,
    calculate=calculate,
    claims=(
        Claim(
            "vector-bits",
            "bits of the Nix-vector",
            "§2.2.1, Table 2.1",
            27.0,
            "",
            _cell("vector", "used", index=0, neighbours=1),
            tolerance=EXACT,
        ),
        Claim(
            "vector",
            "the Nix-vector, as a number",
            "§2.2.1, Table 2.1",
            float(int(WRITTEN.replace(" ", ""), 2)),
            "",
            _vector,
            tolerance=EXACT,
            explanation=(
                "*Arithmetic.* Row 7 has index 1 among 5 neighbours and writes 101, which is 5, a sixth neighbour. All "
                "other rows, and the 27 bits, agree."
            ),
        ),
        *(
            Claim(
                key=f"bound-{scheme}-{m}-{n}",
                statement=f"bound of MLOADSW over base load, {NAMES[scheme]}",
                where="§3.3.3, Table 3.2",
                paper=float(Fraction(load)),
                unit="",
                setting=f"FT({m}, {n})",
                tolerance=EXACT,
                measure=_cell("bounds", "load", scheme=scheme, m=m, n=n),
            )
            for scheme, loads in BOUNDS.items()
            for (m, n), load in loads.items()
        ),
        *(
            Claim(
                key=f"stride-{scheme}-{column}",
                statement=f"under Stride(4) on FT(4, 3), {NAMES[scheme]}, {column}",
                where="§5.2.2, Table 5.2",
                paper=float(Fraction(load)),
                unit="",
                tolerance=EXACT,
                explanation=ONE_DRAW if scheme == "mdnvr-k:4/3" else "",
                measure=_cell("stride", column, scheme=scheme),
            )
            for scheme, loads in STRIDE.items()
            for column, load in zip(COLUMNS, loads, strict=True)
        ),
        Claim(
            key="four-fold",
            statement="MDNVRk with k = 4 over NR on FT(8, 3): reduction of the worst switch load",
            where="§5.1.2, Fig. 5.1",
            paper=4.0,
            unit="times",
            tolerance=EXACT,
            measure=lambda results: {
                0: float(
                    table(results, "ratios").filter(x=8, series="NR")["y"][0]
                    / table(results, "ratios").filter(x=8, series=NAMES["mdnvr-k:4"])["y"][0]
                )
            },
        ),
        Claim(
            key="stride4-inter-pod",
            statement="Stride(4) generates inter-pod traffic only: its share",
            where="§5.2.2, Fig. 5.5",
            paper=100.0,
            unit="%",
            tolerance=EXACT,
            measure=_cell("levels", "y", series="I", x="Stride(4)"),
        ),
    ),
    notes=(
        "Rows of schemes that draw paths at random (DNVR, MDNVRk) are bounds that the worst draw attains. Table "
        "5.1 is the "
        "matrix of Stride(4) itself."
    ),
)

SIZES = ((4, 2), (4, 3), (8, 2), (8, 3))
RANDOM = (
    "*Arithmetic.* The theorem's bound is that of an assignment of paths that avoids collisions. Paths that are "
    "drawn, as "
    "chapter 2 has it and the simulations do, can all meet on one link: at each of 20 draws some permutation does it."
)
LEVELS = (
    "*Arithmetic.* Only the edge level carries all traffic: a pair within an edge switch loads nothing above it, "
    "and one pair "
    "spreads over all core switches."
)
SINGLE = (
    "*Arithmetic.* One pair that sends alone has one path, which all core switches together would share: the "
    "ratio of any "
    "single-path scheme at level 0 is (m/2)^(n-1), as for NR."
)
SUBSETS = (
    "*Arithmetic.* With k = X, one path for each pair: the assignment of Theorem 3.2 is such a policy, and better."
)


def calculate_findings() -> dict[str, pl.DataFrame]:
    """Where the theorems do not hold."""
    found = ask("findings")
    trees = {
        name: [{"m": one["m"], "n": one["n"]} for one in found[name]]
        for name in ("random_paths", "subsets", "one_pair")
    }

    def rows(name: str, *columns: str) -> pl.DataFrame:
        values = [{column: one[column]["value"] for column in columns} for one in found[name]]
        return pl.DataFrame([{**at, **one} for at, one in zip(trees[name], values, strict=True)])

    return {
        "lower": pl.DataFrame(
            [{"claim": one["claim"], "found": one["found"]["value"]} for one in found["lower_bounds"]]
        ),
        "random": rows("random_paths", "claimed", "least"),
        "subsets": rows("subsets", "drawn", "assigned").with_columns(
            (pl.col("drawn") / pl.col("assigned")).alias("ratio")
        ),
        "pair": rows("one_pair", "claimed", "found"),
        "draws": pl.DataFrame({"x": [float(load) for load in range(17)], "y": found["draws"]}).with_columns(
            pl.lit("MDNVRk, k = 4").alias("series")
        ),
    }


def draw_findings(results: Tables) -> tuple[Figure, ...]:
    """How likely each load is that Table 5.2 gives the worst of."""
    panel = drawn(
        "means",
        table(results, "draws"),
        ["MDNVRk, k = 4"],
        x=Axis("most loaded core switch, MLOADSW_0"),
        y=Axis("probability"),
    )
    return (Figure("draws", "Stride(4) on FT(4, 3), one random path for each pair: Table 5.2 reports 16", (panel,)),)


FINDINGS = Experiment(
    name="song/theorems",
    title="Where the theorems do not hold",
    question="Do the dissertation's theorems hold for the schemes that it proposes?",
    section="§3.3, §5.1",
    figures=("draws",),
    draw=draw_findings,
    calculate=calculate_findings,
    claims=(
        *(
            relative(
                f"lower-{level}",
                f"(3.24): the base load bounds MLOAD_t from below; {pair}",
                "§3.3.3.4, Theorem 3.6",
                lambda results, row=row: {0: float(table(results, "lower")["found"][row])},  # type: ignore[misc]
                "at least",
                explanation=LEVELS,
            )
            for level, row, pair in (
                (0, 1, "one pair of different pods, t = 0, MDNVR"),
                (1, 0, "one pair within an edge switch, t = 1"),
            )
        ),
        *(
            Claim(
                key=f"random-{m}-{n}",
                statement=(
                    f"(3.13): MLOAD of DNVR over base load on FT({m}, {n}), paths drawn at random: the least "
                    f"worst case of 20 draws"
                ),
                where="§3.3.3.2, Theorem 3.2",
                paper=float(bound),
                unit="",
                relation="at most",
                explanation=RANDOM,
                measure=_cell("random", "least", m=m, n=n),
            )
            for (m, n), bound in zip(SIZES, (2, 2, 2, 4), strict=True)
        ),
        *(
            relative(
                f"subsets-{m}-{n}",
                f"MDNVRk is optimal among policies of as many paths: k = X on FT({m}, {n}), worst MLOAD over that of "
                "another",
                "§3.3.3.4",
                _cell("subsets", "ratio", m=m, n=n),
                explanation=SUBSETS,
            )
            for m, n in SIZES
        ),
        *(
            Claim(
                key=f"pair-{m}-{n}",
                statement=f"(5.10): PERFSW_0 of DNVR on FT({m}, {n})",
                where="§5.1.2, Theorem 5.3",
                paper=float(ratio),
                unit="",
                relation="at most",
                explanation=SINGLE,
                measure=_cell("pair", "found", m=m, n=n),
            )
            for (m, n), ratio in zip(SIZES, (2, 2, 2, 4), strict=True)
        ),
    ),
    notes="Each number is exact: worst cases over all traffic by maximum-weight matching (`anabranch.routing`).",
)
