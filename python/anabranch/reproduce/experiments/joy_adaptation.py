"""Joy, chapter 4: a controller that raises the marking threshold of links that long flows have to themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.base.styles import SPARE
from anabranch.reproduce import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Series,
    at,
    bars,
    compared,
    raised,
    requests,
    time_series,
    transports,
    variant,
)
from anabranch.reproduce.experiments.common import FCT_MS, spaced
from anabranch.reproduce.experiments.joy_flow_aware import bottleneck

if TYPE_CHECKING:
    from anabranch.reproduce import Panel
    from anabranch.results.tables import Tables

PAIRS = "workload.long.placement.pairs"
SIZE = "workload.long.sizes.size"
UPPER = "controller.0.upper"
THRESHOLD = "switch.ecn_threshold"
SCHEDULE = "controller.0.schedule"
RAISED = "10 packets"
"""K_UB of both schemes (Tables 2 and 3)."""
NAMES = {"dctcp": "DCTCP", "ecn-star": "ECN*"}
NOT_FULL = (
    "Not explained. *Arithmetic*: packets of 1500 B carry 97.3 Mbps of payload over this link, so that a gain of 12 "
    "or 22 % needs long flows that have no more than 87 or 80 Mbps without adaptation. *Measured*: they have more "
    "(Figures 19 to 24). What an emulator may add (longer round trips, hosts that pause, segmentation offload) raises "
    "the gain, but not to the thesis's: `joy/emulator`."
)
PART = "part"
BEYOND = "beyond the thesis"
"""Section of experiments that the thesis does not have."""


def shared(results: Tables) -> pl.DataFrame:
    """One row for each run: how many long flows there were (``n``), and the throughput of all of them in Mbps."""
    flows = results.flows.filter(at(workload="long"))
    point = ["run", "seed", "transport", SIZE, UPPER]
    # From the first start to the last end: what the link gave to long flows.
    time = pl.col("end_ns").max() - pl.col("start_ns").min()
    mbps = (8e3 * pl.col("size_bytes").sum() / time).alias("mbps")
    return flows.group_by(point, maintain_order=True).agg(pl.len().alias("n"), mbps)


def adapted(transport: str) -> tuple[Series, ...]:
    """A scheme without and with ECN adaptation."""
    return (
        Series(NAMES[transport], {"transport": transport, UPPER: lower(transport)}, transports(transport)[0].style),
        variant(transport, f"{NAMES[transport]} with ECN adaptation", {UPPER: RAISED}),
    )


def lower(transport: str) -> str:
    """K_LB of a scheme (Tables 2 and 3)."""
    return {"dctcp": "3 packets", "ecn-star": "5 packets"}[transport]


def draw_long(results: Tables) -> tuple[Figure, ...]:
    """Figures 19 to 24."""
    rows, y = shared(results), Axis("throughput of all flows (Mbps)", domain=(0, 100))
    count = pl.format("{} flows", pl.col("n"))
    size = pl.col(SIZE).map_elements(spaced, return_dtype=pl.String)
    large, two = rows.filter(at(**{SIZE: "1GB"})), rows.filter(pl.col("n") == 2)  # noqa: PLR2004 - two flows
    figures = []
    for transport, numbers in (("dctcp", ("19", "21", "23")), ("ecn-star", ("20", "22", "24"))):
        series = adapted(transport)
        for number, frame, over, what in (
            (numbers[0], two.filter(at(**{SIZE: "1GB"})), count, "two long flows of 1 GB"),
            (numbers[1], large, count, "long flows of 1 GB, by their number"),
            (numbers[2], two, size, "two long flows, by their size"),
        ):
            panel = bars(frame, series, pl.col("mbps").mean(), over=over, y=y)
            figures.append(Figure(number, f"{NAMES[transport]}: {what}", (panel,)))
    return tuple(sorted(figures, key=lambda figure: int(figure.number)))


def gained(results: Tables, transport: str, n: int, size: str) -> dict[int, float]:
    """By how many percent ECN adaptation raises the throughput of long flows."""
    rows = shared(results).filter(at(transport=transport, n=n, **{SIZE: size}))
    return raised(compared(rows, pl.col("mbps").mean(), {UPPER: RAISED}, {UPPER: lower(transport)}))


def more(transport: str, n: int, size: str, paper: float, figure: str) -> Claim:
    """ECN adaptation brings long flows so much more throughput."""
    return Claim(
        key=f"{transport}-{n}-{size}".lower(),
        statement=f"{NAMES[transport]} with ECN adaptation: throughput of long flows higher by",
        setting=f"{n} flows of {spaced(size)}",
        where=f"§4.4.3, Fig. {figure}",
        paper=paper,
        unit="%",
        measure=lambda results: gained(results, transport, n, size),
        explanation=NOT_FULL,
    )


QUICK_FLOWS = '[[[[0, 4], [1, 4]], "10MB"], [[[0, 4], [1, 4]], "1GB"], [[[0, 4], [1, 4], [2, 4]], "1GB"]]'
"""Placements and sizes of the quick size."""

FIG19 = Experiment(
    name="joy/fig19",
    title="Long flows with ECN adaptation",
    question="How much more do long flows get if a controller raises the marking threshold while they are alone?",
    section="§4.4.3",
    figures=("19", "20", "21", "22", "23", "24"),
    draw=draw_long,
    claims=tuple(
        more(transport, n, size, paper, figure)
        for transport, paper, figures in (("dctcp", 12.0, ("19", "21", "23")), ("ecn-star", 22.0, ("20", "22", "24")))
        for n, size, figure in (
            (2, "1GB", figures[0]),
            (3, "1GB", figures[1]),
            (4, "1GB", figures[1]),
            (2, "10MB", figures[2]),
            (2, "100MB", figures[2]),
            (2, "500MB", figures[2]),
        )
    ),
    quick=("repeat=2", f'sweep."{PAIRS}, {SIZE}"={QUICK_FLOWS}'),
    notes=(
        "The thesis gives one number for each scheme, 12 % and 22 %, for two flows of 1 GB, and says that their number "
        "and size change it little. Throughput is that of all flows together, from the first start to the last end. "
        "The controller takes a flow for a long one once it has sent 1 MB, and polls each 100 ms."
    ),
)

POLICIES: tuple[tuple[str, bool, bool, bool], ...] = (
    ("K_LB all day", False, False, False),
    ("by ratio, each 100 ms", False, True, False),
    ("by time of day", False, True, True),
    ("K_UB all day", True, True, False),
)
"""Name; whether K_UB is the threshold at the beginning, and the controller's upper one; whether it has a schedule."""
LAST = (90, 120)
"""Seconds whose decisions are drawn."""
PARTS = {"morning (5h-14h)": (0, 45), "day (14h-24h)": (45, 95), "night (24h-5h)": (95, 120)}
"""Part of the day to its seconds of the run."""


def labelled(frame: pl.DataFrame) -> pl.DataFrame:
    """Name the policy of each row: column ``policy``."""
    policy = pl.lit(None, pl.String)
    for label, begins, raises, scheduled in POLICIES:
        traits = ((THRESHOLD, RAISED, begins), (UPPER, RAISED, raises), (SCHEDULE, "[]", not scheduled))
        has = pl.all_horizontal((pl.col(key) == value) == wanted for key, value, wanted in traits)
        policy = pl.when(has).then(pl.lit(label)).otherwise(policy)
    return frame.with_columns(policy.alias("policy"))


def in_parts(frame: pl.DataFrame, time: str) -> pl.DataFrame:
    """Name the part of the day of each row: column ``part``."""
    part = pl.lit(None, pl.String)
    for label, (begin, end) in PARTS.items():
        part = (
            pl.when(pl.col(time).is_between(begin * 1e9, end * 1e9, closed="left")).then(pl.lit(label)).otherwise(part)
        )
    return frame.with_columns(part.alias(PART)).drop_nulls(PART).sort(time, maintain_order=True)


def long_goodput(results: Tables) -> pl.DataFrame:
    """Goodput of both long flows together at each sample, in Mbps."""
    long = results.flows.filter(at(workload="long")).select("run", pl.col("session").cast(pl.UInt32).alias("id"))
    samples = results.series.filter(pl.col("metric") == "goodput_bps").join(long, on=["run", "id"])
    point = ["run", "seed", "transport", THRESHOLD, UPPER, SCHEDULE, "time_ns"]
    return labelled(samples.group_by(point, maintain_order=True).agg((pl.col("value").sum() / 1e6).alias("mbps")))


def steps(decisions: pl.DataFrame) -> pl.DataFrame:
    """Thresholds as they are at the ends of each interval between two decisions, in the last quarter of the run."""
    begin, end = (1e9 * second for second in LAST)
    times = ["policy", "time_ns", "value", "seed"]
    rows = decisions.sort("policy", "time_ns").select(times)
    until = pl.col("time_ns").shift(-1).over("policy").fill_null(end)
    ends = rows.with_columns(until.alias("time_ns"))
    # An end sorts before the beginning of the next interval, which is at the same time.
    both = pl.concat([rows.with_columns(pl.lit(1).alias("begins")), ends.with_columns(pl.lit(0).alias("begins"))])
    inside = pl.col("time_ns").clip(begin, end)
    both = both.filter(pl.col("time_ns").max().over("policy") >= begin).with_columns(inside.alias("time_ns"))
    # A picosecond apart, so that a time has one value.
    return both.with_columns(pl.col("time_ns") + 1e-3 * pl.col("begins")).sort("policy", "time_ns")


def draw_day(results: Tables) -> tuple[Figure, ...]:
    """Throughput, completion times and thresholds over the day."""
    looks = [Series(label, {"policy": label}, look) for (label, *_), look in zip(POLICIES, SPARE, strict=False)]
    goodput = in_parts(long_goodput(results), "time_ns")
    flows = requests(results, workload="morning").vstack(requests(results, workload="day"))
    flows = in_parts(labelled(flows), "start_ns")
    panels: list[Panel] = []
    for keys, (name, label) in zip(("ab", "cd"), NAMES.items(), strict=True):
        mine = at(transport=name)
        panels += [
            bars(
                goodput.filter(mine),
                looks,
                pl.col("mbps").mean(),
                over=PART,
                y=Axis("goodput (Mbps)"),
                key=keys[0],
                caption=f"{label}: both long flows",
            ),
            bars(
                flows.filter(mine),
                looks,
                FCT_MS.quantile(0.99, "linear"),
                over=PART,
                y=Axis("p99 FCT (ms)"),
                key=keys[1],
                caption=f"{label}: short flows",
            ),
        ]
    decided = results.series.filter(
        (pl.col("metric") == "set_marking_threshold_packets") & (pl.col("id") == bottleneck(results))
    )
    decided = steps(labelled(decided).filter(at(transport="dctcp", seed=min(results.manifest.seeds))))
    timeline = time_series(
        decided,
        looks[1:3],
        pl.col("value").mean(),
        x=Axis("time (s)"),
        y=Axis("marking threshold (packets)"),
        key="e",
        caption="Decisions of the last quarter, DCTCP, first seed",
    )
    return (Figure("day", "A day in two minutes", (*panels, timeline), columns=2),)


DAY = Experiment(
    name="joy/day",
    title="A day with a changing mix",
    question="Over a day, what does ECN adaptation bring to long flows, and what does it cost short ones?",
    section=BEYOND,
    figures=("day",),
    draw=draw_day,
    quick=("repeat=2",),
    notes=(
        "An hour is five seconds; short flows of 100 KB load the link by 44 % until 14h and by 11 % until 24h. By time "
        "of day: K_UB from 24h to 5h, unless there are more short flows than long ones."
    ),
)
