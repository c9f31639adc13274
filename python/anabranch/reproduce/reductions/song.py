"""Song's chapters 1 to 5, calculated: the goodput model, Front-Back over paths of given rates, loads of schemes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.reproduce.rows import by_seed, expression, in_order, where
from anabranch.routing import analyse, bounds, decompose, goodput, worst_pattern
from anabranch.routing.inputs import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anabranch.reproduce.rows import Source

SENDERS = range(1, 26)
SEGMENTS, BELIEVED = 200_000, 10
"""Examples 1 and 2: segments, and segments per second that the sender believes each path to carry."""
ERRORS = range(-90, 101, 10)
THOUSANDS = (1, 2, 5, 10, 20, 50, 100, 200)
KNOWS = {False: "first estimates", True: "measured rates"}
"""What repartitions go by."""
PATH = ((1, 2), (2, 3), (5, 6), (4, 13), (20, 27), (3, 5), (7, 14), (1, 5), (0, 2), (0, 1))
"""Index and number of neighbours at each hop of Table 2.1."""
NAMES: Mapping[str, str] = {
    "nr": "NR",
    "dnvr": "DNVR",
    "mdnvr-k:4": "MDNVRk, k = 4",
    "mdnvr-k:2": "MDNVRk, k = 2",
    "mdnvr-k:4/3": "MDNVRk, k = 4/3",
    "mdnvr": "MDNVR",
}


def model() -> dict[str, pl.DataFrame]:
    """Figure 1.6 a to c."""
    curves: dict[str, Callable[[float], float]] = {
        "with Incast (1.6)": lambda s: goodput.goodput_incast(s) / 1e6,
        "without Incast (1.7)": lambda s: goodput.goodput_ideal(s) / 1e6,
        "improvement (1.8)": lambda s: 100 * goodput.improvement(s),
    }
    rows = [{"series": name, "x": float(s), "y": of(s)} for name, of in curves.items() for s in SENDERS]
    return {"goodput": pl.DataFrame(rows)}


def transfer(scheduler: str, paths: list[tuple[int, int]], segments: int, *, measured: bool = False) -> dict[str, Any]:
    """Run a session layer over paths of given estimates and rates."""
    found: dict[str, Any] = ask(
        "front-back", scheduler=scheduler, segments=segments, measured=measured, paths=[list(path) for path in paths]
    )
    return found


def _example(count: int, wrong: int, error: int, segments: int) -> list[dict[str, Any]]:
    """All paths are believed alike; for one the belief is `error` percent too much. Rates are scaled to be whole."""
    scale = 100 + error
    paths = [(BELIEVED, BELIEVED * (100 if path == wrong else scale)) for path in range(count)]
    rows = []
    for scheduler, measured in product(("front-back", "divide"), KNOWS):
        found = transfer(scheduler, paths, segments, measured=measured)
        name = "Front-Back" if scheduler == "front-back" else f"Divide{count}"
        rows.append(
            {
                "paths": count,
                "scheduler": scheduler,
                "measured": measured,
                "error": error,
                "segments": segments,
                "series": f"{name}, {KNOWS[measured]}",
                "switches": found["context_switches"],
                "finish": found["finish"] * scale,
            }
        )
    return [*rows, _divided_once(count, error, segments)]


def _divided_once(count: int, error: int, segments: int) -> dict[str, Any]:
    """Each path has an equal part, as all are believed alike, and keeps it: it finishes with the slowest path."""
    slowest = BELIEVED * min(1.0, 100 / (100 + error))
    return {
        "paths": count,
        "scheduler": "static",
        "measured": False,
        "error": error,
        "segments": segments,
        "series": "divided once",
        "switches": 0,
        "finish": segments / count / slowest,
    }


def examples() -> dict[str, pl.DataFrame]:
    """Examples 1 and 2 by error and by size, Front-Back's switches less Divide's, and small cases one by one."""
    cases = ((2, 1), (4, 0))
    by_error = pl.DataFrame([row for case in cases for error in ERRORS for row in _example(*case, error, SEGMENTS)])
    by_size = pl.DataFrame([row for case in cases for k in THOUSANDS for row in _example(*case, 50, 1000 * k)])
    ours = by_error.filter(scheduler="front-back")
    more = ours.join(
        by_error.filter(pl.col("scheduler") != "front-back"), on=["paths", "measured", "error"], suffix="_divide"
    ).with_columns(
        pl.max_horizontal(1.0, (100 + pl.col("error")) / 100).truediv(BELIEVED).alias("segment_s"),
    )
    small = []
    for count in (2, 3, 4):
        for segments, rates in product(range(1, 13), product(range(1, 5), repeat=count)):
            found, other = (
                transfer(name, [(rate, rate) for rate in rates], segments) for name in ("front-back", "divide")
            )
            late = found["finish"] > found["best_finish"] + 1e-12
            fewer = other["context_switches"] < found["context_switches"]
            small.append(
                {
                    "paths": count,
                    "later than the best": late,
                    "with context switches": found["context_switches"] > 0,
                    "DivideN has fewer, no later": fewer and other["finish"] <= found["finish"] + 1e-12,
                    "excess": found["finish"] / found["best_finish"],
                }
            )
    shares = pl.DataFrame(small).unpivot(
        pl.selectors.boolean(), index="paths", variable_name="what", value_name="holds"
    )
    return {"error": by_error, "size": by_size, "more": more, "small": pl.DataFrame(small), "shares": shares}


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
    """Table 5.2: the schemes that draw nothing are calculated; of the others the worst draw, which attains the bound.

    One path that is drawn at random is MDNVRk with k = X = 4, so that DNVR's worst draw is that. The bound of Table 3.1
    for DNVR is of an assignment without collisions: `balanced`.
    """
    fixed = analyse(tree(4, 3), "stride:4", ["nr", "mdnvr", "balanced"], optimum=False)
    least = fixed.optusw.value if fixed.optusw else 0.0
    found = {}
    for one in fixed.schemes:
        found[one.scheme] = [level.switch.load.value for level in one.levels[:2] if level.switch]
    for scheme, one in _bounds(4, 3).items():
        found.setdefault(scheme, [load.value for load in one.mloadsw_at[:2] if load])
    found["dnvr"] = found["mdnvr-k:4"]
    names = ("scheme", "MLOADSW_0", "MLOADSW_1", "PERFSW")
    return [dict(zip(names, (name, *loads, max(loads) / least), strict=True)) for name, loads in found.items()]


def _decomposed() -> list[dict[str, Any]]:
    labels = {"I": "between pods", "A": "same aggregation switch", "E": "same edge switch"}
    rows = []
    for name, traffic in (("Stride(2)", "stride:2"), ("Stride(4)", "stride:4"), ("7 Senders", "senders:7")):
        parts = decompose(tree(4, 3), traffic).parts
        total = sum(part.pairs for part in parts)
        rows += [{"series": labels[part.letter], "x": name, "y": 100 * part.pairs / total} for part in parts]
    return rows


def tables() -> dict[str, pl.DataFrame]:
    """Tables 2.1, 3.2 and 5.2, and what Figures 5.1, 5.5, 5.8 and 5.9 show."""
    ratios = [
        {"series": NAMES[scheme], "x": m, "y": one.mloadsw.value / m}
        for m in (4, 8, 16, 32)
        for scheme, one in _bounds(m, 3).items()
        if scheme != "mdnvr-k:4/3"
    ]
    vector = pl.DataFrame(ask("nix-vector", hops=[list(hop) for hop in PATH]))
    number = vector["vector"].map_elements(lambda bits: float(int(bits, 2)), return_dtype=pl.Float64)
    return {
        "vector": vector.with_columns(number.alias("number")),
        "bounds": pl.DataFrame([row for m, n in ((2, 2), (4, 2), (4, 3), (8, 3)) for row in _normalised(m, n)]),
        "stride": pl.DataFrame(_under_stride()),
        "ratios": pl.DataFrame(ratios),
        "levels": pl.DataFrame(_decomposed()),
    }


def findings() -> dict[str, pl.DataFrame]:
    """Where the theorems hold, and where they do not."""
    found = ask("findings")

    def rows(name: str, *columns: str) -> pl.DataFrame:
        return pl.DataFrame(
            [{"m": one["m"], "n": one["n"], **{key: one[key]["value"] for key in columns}} for one in found[name]]
        )

    lower = [
        {"row": row, "claim": one["claim"], "found": one["found"]["value"]}
        for row, one in enumerate(found["lower_bounds"])
    ]
    worst = []
    for (m, n), scheme in product(((4, 2), (4, 3), (8, 2), (8, 3)), ("mdnvr", "balanced")):
        load = worst_pattern(tree(m, n), scheme).link.load.load.value
        worst.append({"m": m, "n": n, "scheme": scheme, "load": load})
    return {
        "worst": pl.DataFrame(worst),
        "lower": pl.DataFrame(lower),
        "random": rows("random_paths", "claimed", "least"),
        "subsets": rows("subsets", "drawn", "assigned"),
        "pair": rows("one_pair", "claimed", "found"),
        "draws": pl.DataFrame({"x": [float(load) for load in range(17)], "y": found["draws"]}).with_columns(
            pl.lit("MDNVRk, k = 4").alias("series")
        ),
    }


def where_largest(source: Source, *, rows: str, only: Mapping[str, object], over: str, value: str) -> dict[int, float]:
    """Where a value is largest, for each seed: a paper's "most improvement at".

    Parameters
    ----------
    source, rows, only
        Which rows.
    over, value
        The column whose value is returned, and the aggregate that is to be largest there.
    """
    frame = source.rows(rows).filter(where(only))
    found: dict[float, dict[int, float]] = {
        float(at): by_seed(frame.filter(pl.col(over) == at), expression(value)) for (at,) in in_order(frame, [over])
    }
    seeds = next(iter(found.values()))
    return {seed: max(found, key=lambda at: found[at].get(seed, -np.inf)) for seed in seeds}
