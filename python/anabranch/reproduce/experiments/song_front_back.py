"""Song §1.4 and chapter 4: the goodput model, and Front-Back over paths of given rates, calculated."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.reproduce import Claim, Experiment, relative
from anabranch.reproduce.calculated import table
from anabranch.reproduce.experiments.common import drawn
from anabranch.routing import goodput
from anabranch.routing.inputs import ask
from anabranch.showing.figures import Axis, Figure, Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anabranch.results.tables import Tables

SENDERS = range(1, 26)
SEGMENTS, BELIEVED = 200_000, 10
"""Examples 1 and 2: segments, and segments per second that the sender believes each path to carry."""
ERRORS = range(-90, 101, 10)
THOUSANDS = (1, 2, 5, 10, 20, 50, 100, 200)
KNOWS = {False: "first estimates", True: "measured rates"}
"""What repartitions go by."""


def _largest(column: pl.Series) -> float:
    return float(np.max(column.to_numpy()))


def _share(column: pl.Series) -> float:
    """Percent of the rows in which a condition holds."""
    return float(100 * np.mean(column.to_numpy()))


def calculate_goodput() -> dict[str, pl.DataFrame]:
    """Figure 1.6 a to c."""
    curves: dict[str, Callable[[float], float]] = {
        "with Incast (1.6)": lambda s: goodput.goodput_incast(s) / 1e6,
        "without Incast (1.7)": lambda s: goodput.goodput_ideal(s) / 1e6,
        "improvement (1.8)": lambda s: 100 * goodput.improvement(s),
    }
    rows = [{"series": name, "x": float(s), "y": of(s)} for name, of in curves.items() for s in SENDERS]
    return {"goodput": pl.DataFrame(rows)}


def _improvement(results: Tables) -> pl.DataFrame:
    return table(results, "goodput").filter(series="improvement (1.8)")


def draw_goodput(results: Tables) -> tuple[Figure, ...]:
    """Figure 1.6."""
    x = Axis("senders")
    parts = {
        "a": ("with Incast (1.6)", Axis("goodput (MB/s)")),
        "b": ("without Incast (1.7)", Axis("goodput (MB/s)")),
        "c": ("improvement (1.8)", Axis("improvement (%)")),
    }
    panels = tuple(
        drawn(
            "means",
            table(results, "goodput").filter(series=name),
            [name],
            x=x,
            y=y,
            key=key,
            caption=name.partition(" (")[0].capitalize(),
        )
        for key, (name, y) in parts.items()
    )
    return (Figure("1.6", "Estimated best-case improvement", panels),)


GOODPUT = Experiment(
    name="song/fig1-6",
    title="Best-case improvement by the goodput model",
    question="How much could avoiding Incast gain at best, by the dissertation's model?",
    section="§1.4",
    figures=("1.6",),
    draw=draw_goodput,
    calculate=calculate_goodput,
    claims=(
        Claim(
            key="most",
            statement="maximum improvement of the throughput",
            where="§1.4, Fig. 1.6c",
            paper=3000.0,
            unit="%",
            relation="at least",
            measure=lambda results: {0: _largest(_improvement(results)["y"])},
        ),
        Claim(
            key="at-25",
            statement="improvement at 25 senders",
            where="§1.4, Fig. 1.6c",
            paper=1500.0,
            unit="%",
            relation="at least",
            measure=lambda results: {0: float(_improvement(results)["y"][-1])},
        ),
        Claim(
            key="falls-from",
            statement="senders from which the improvement falls",
            where="§1.4, Fig. 1.6c",
            paper=9.0,
            unit="",
            tolerance=0.0,
            measure=lambda results: {0: float(_improvement(results).sort("y")["x"][-1] + 1)},
        ),
    ),
    notes=(
        "Figure 1.6d is drawn from measurements of another paper, which are not in the text. The model gives a single "
        "sender, which nothing can disturb, 3.4 MB/s of a link of 125 MB/s, and 3 senders fewer than no timeouts."
    ),
)


def transfer(
    scheduler: str, paths: Sequence[tuple[int, int]], segments: int, *, measured: bool = False
) -> dict[str, Any]:
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
    return rows


def calculate_examples() -> dict[str, pl.DataFrame]:
    """Examples 1 and 2, and small cases one by one."""
    by_error = [
        row for count, wrong in ((2, 1), (4, 0)) for error in ERRORS for row in _example(count, wrong, error, SEGMENTS)
    ]
    by_size = [
        row for count, wrong in ((2, 1), (4, 0)) for k in THOUSANDS for row in _example(count, wrong, 50, 1000 * k)
    ]
    small = []
    for count in (2, 3, 4):
        for segments, rates in product(range(1, 13), product(range(1, 5), repeat=count)):
            paths = [(rate, rate) for rate in rates]
            ours, rival = (transfer(name, paths, segments) for name in ("front-back", "divide"))
            small.append(
                {
                    "paths": count,
                    "late": ours["finish"] > ours["best_finish"] + 1e-12,
                    "switched": ours["context_switches"] > 0,
                    "beaten": rival["context_switches"] < ours["context_switches"]
                    and rival["finish"] <= ours["finish"] + 1e-12,
                    "excess": ours["finish"] / ours["best_finish"],
                }
            )
    return {"error": pl.DataFrame(by_error), "size": pl.DataFrame(by_size), "small": pl.DataFrame(small)}


def _curves(frame: pl.DataFrame, count: int, x: pl.Expr, y: str) -> pl.DataFrame:
    return frame.filter(paths=count).select("series", x.alias("x"), pl.col(y).alias("y"))


def draw_examples(results: Tables) -> tuple[Figure, ...]:
    """Figures 4.3, 4.4 and 4.6, and how often small cases are not optimal."""
    by_error, by_size = table(results, "error"), table(results, "size")
    error, size = Axis("error of the estimate (%)"), Axis("segments", log=True)
    switches = Axis("context switches")

    def names(frame: pl.DataFrame) -> list[str]:
        return frame["series"].unique(maintain_order=True).to_list()

    def part(
        frame: pl.DataFrame, count: int, x: Axis, key: str = "", caption: str = "", *, y: Axis = switches
    ) -> Panel:
        place = pl.col("error") if x is error else pl.col("segments")
        data = _curves(frame, count, place, "switches" if y is switches else "finish")
        return drawn("means", data, names(data), x=x, y=y, key=key, caption=caption)

    labels = {
        "late": "later than the best",
        "switched": "with context switches",
        "beaten": "DivideN has fewer, no later",
    }
    small = table(results, "small")
    shares = pl.DataFrame(
        [
            {"series": label, "x": f"{count} paths", "y": _share(small.filter(paths=count)[column])}
            for column, label in labels.items()
            for count in (2, 3, 4)
        ]
    )
    return (
        Figure(
            "4.3",
            "Packet disorder and finish time by error of the estimate, 2 paths",
            (
                part(by_error, 2, error, "left", "Packet disorder"),
                part(by_error, 2, error, "right", "Transfer finish time", y=Axis("finish time (s)")),
            ),
        ),
        Figure(
            "4.4",
            "Packet disorder by size, 2 paths, error 50 %",
            (part(by_size, 2, size),),
        ),
        Figure(
            "4.6",
            "Packet disorder, 4 paths",
            (
                part(by_error, 4, error, "a", "By error of the estimate"),
                part(by_size, 4, size, "b", "By size, error 50 %"),
            ),
        ),
        Figure(
            "small",
            "Front-Back where all rates are known and constant: 1 to 12 segments, rates 1 to 4",
            (drawn("bars", shares, list(labels.values()), x=Axis(""), y=Axis("share of cases (%)")),),
        ),
    )


def _fewer(count: int, *, measured: bool) -> Claim:
    """Front-Back has less disorder than DivideN."""

    def measure(results: Tables) -> dict[int, float]:
        rows = table(results, "error").filter(paths=count, measured=measured).filter(pl.col("error") != 0)
        ours, rival = (rows.filter(scheduler=name)["switches"] for name in ("front-back", "divide"))
        return {0: _largest(ours - rival)}

    return Claim(
        key=f"disorder-{count}-{'measured' if measured else 'fixed'}",
        statement=f"Front-Back switches less than Divide{count}: the most context switches more, all errors",
        where="§4.3, Fig. 4.3" if count == 2 else "§4.4.2, Fig. 4.6",  # noqa: PLR2004 - paths
        paper=0.0,
        unit="",
        relation="at most",
        setting=KNOWS[measured],
        explanation=(
            "*Arithmetic.* The thesis does not say by what rates groups are partitioned again. By the first, wrong, "
            "estimates FB4 switches about as often as Divide4, at some errors more often; by measured rates less often."
        ),
        measure=measure,
    )


EXAMPLES = Experiment(
    name="song/fig4",
    title="Front-Back and Divide without a network",
    question="Does Front-Back reorder less and finish sooner than Divide, and is it optimal?",
    section="§4.1 to §4.4",
    figures=("4.3", "4.4", "4.6"),
    draw=draw_examples,
    calculate=calculate_examples,
    claims=(
        Claim(
            key="no-switches",
            statement="FB2 has no context switch, whatever the error",
            where="§4.1, Lemma 4.2",
            paper=0.0,
            unit="",
            tolerance=0.0,
            measure=lambda results: {
                0: _largest(table(results, "error").filter(paths=2, scheduler="front-back")["switches"])
            },
        ),
        *(_fewer(count, measured=measured) for count in (2, 4) for measured in KNOWS),
        *(
            relative(
                key,
                statement,
                where,
                lambda results, few=few: {  # type: ignore[misc]
                    0: _largest(table(results, "small").filter(pl.col("paths").is_in(few))["excess"])
                },
                explanation=(
                    "*Arithmetic.* A path that asks for the last segment gets it, though a faster one would have sent "
                    "it sooner. The excess is below a segment's time on the slowest path."
                ),
            )
            for key, few, statement, where in (
                (
                    "optimal-2",
                    [2],
                    "FB2 finishes first of all algorithms: finish over the best, worst of 192 small cases",
                    "§4.1, Theorem 4.1",
                ),
                (
                    "optimal-n",
                    [3, 4],
                    "FBN finishes first of all algorithms: finish over the best, worst of 3840 small cases",
                    "§4.4.1, Conjecture 4.1",
                ),
            )
        ),
        Claim(
            key="conjecture",
            statement="FBN has the least disorder: share of small cases in which DivideN switches less and is no later",
            where="§4.4.1, Conjecture 4.1",
            paper=0.0,
            unit="%",
            relation="at most",
            explanation=(
                "*Arithmetic.* Smallest cases: rates 2, 3, 3 and four segments, 1 switch against none; rates 1, 2, 2, "
                "1 and five segments (`crates/transport/src/multipath/tests/findings.rs`). How segments are rounded "
                "decides, which the thesis leaves open."
            ),
            measure=lambda results: {
                0: _share(table(results, "small").filter(pl.col("paths") > 2)["beaten"])  # noqa: PLR2004 - FB2
            },
        ),
    ),
    notes=(
        "An error of 50 % means that the path carries 10 / 1.5 segments a second. The text says neither in which "
        "direction the error goes nor by what rates a partition is made again: both are drawn. Divide lets "
        "no path wait, so that it finishes when Front-Back does: the difference of finish times in Figure 4.3 does not "
        "follow from the text."
    ),
)
