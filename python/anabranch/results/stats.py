"""Statistics of an experiment: flow completion times by size bucket, goodput, and what the links saw.

Every statistic is first computed *per seed*, over the flows of one run; the mean over seeds and its confidence interval
(Student's t, as the seeds are independent samples) come after. A percentile is never taken over a mix of sweep points:
grouping by fewer keys than the experiment varies is an error unless ``pool=True`` says that it is meant.

Runs whose fingerprints are the same went the same way, whatever their seeds: they are *one* sample, of the mean and of
its interval (`same_runs`). Where every seed gave the same run there is no interval: nothing is known about the spread.

Flows that did not finish have no FCT. They are counted in ``unfinished``; where that is not zero, the statistics are
those of the flows that did finish, which flatters the transport. The rate of missed deadlines is of all flows that
have one: a flow that did not finish has missed it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.base.fabric import LEVELS
from anabranch.errors import StatisticsError
from anabranch.results.manifest import EMPTY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.tables import Tables

CONFIDENCE = 0.95
"""Level of the confidence intervals."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Flows of more than `above` and at most `up_to` bytes; `name` is the value in tables, `label` is for people."""

    name: str
    label: str
    above: int
    up_to: int | None

    def holds(self, column: str = "size_bytes") -> pl.Expr:
        """Condition that a flow's size is in the bucket."""
        inside = pl.col(column) > self.above if self.above else pl.lit(value=True)
        return inside if self.up_to is None else inside & (pl.col(column) <= self.up_to)


BUCKETS = (
    Bucket("<=10KB", "≤ 10 KB", 0, 10_000),
    Bucket("10-100KB", "10 to 100 KB", 10_000, 100_000),
    Bucket("100KB-1MB", "100 KB to 1 MB", 100_000, 1_000_000),
    Bucket(">1MB", "> 1 MB", 1_000_000, None),
    Bucket("all", "all sizes", 0, None),
)
"""The papers' buckets: the MLFQ thresholds of SCDP §IV-C up to 1 MB (KB = 1000 bytes), then everything larger."""

MEASURED = pl.col("measured").fill_null(value=True)
"""Condition that a flow was requested in the measured window; all were in results of versions without one."""

FINITE = ~pl.col("background") & MEASURED
"""Condition that a flow is in the statistics of completion times."""

PROCESS = 20
"""Requests at different times that make arrivals a process, to which a load can be given."""

FLOW_METRICS = {
    "fct_mean_ns": pl.col("fct_ns").mean(),
    "fct_p50_ns": pl.col("fct_ns").quantile(0.5, "linear"),
    "fct_p99_ns": pl.col("fct_ns").quantile(0.99, "linear"),
    "slowdown_mean": pl.col("slowdown").mean(),
    "slowdown_p50": pl.col("slowdown").quantile(0.5, "linear"),
    "slowdown_p99": pl.col("slowdown").quantile(0.99, "linear"),
    "goodput_mean_bps": pl.col("goodput_bps").mean(),
}
"""Statistics of the finished flows of one seed. Quantiles interpolate linearly between order statistics."""

_HAS_DEADLINE = pl.col("deadline_ns").is_not_null()
# Of D3 and D2TCP: the share of flows whose last byte came too late, or not at all.
_MISSED = _HAS_DEADLINE & (pl.col("fct_ns").is_null() | (pl.col("fct_ns") > pl.col("deadline_ns")))

DEADLINE_COUNTS = {"deadlines": _HAS_DEADLINE.sum(), "deadlines_missed": _MISSED.sum()}
"""Flows of one seed that have a deadline, and those that missed it."""

DEADLINE_METRICS = {
    "deadline_miss_rate": pl.when(_HAS_DEADLINE.sum() > 0).then(_MISSED.sum() / _HAS_DEADLINE.sum()),
}
"""Statistics of the flows of one seed that have a deadline, finished or not."""

ALL_METRICS = {
    # A count of the session stands in the row of each of its receivers.
    "timeout_share": (pl.col("timeouts") > 0).mean(),
}
"""Statistics of all flows of one seed, finished or not."""

BACKGROUND_METRICS = {
    "goodput_mean_bps": pl.col("goodput_bps").mean(),
    "goodput_min_bps": pl.col("goodput_bps").min(),
    # Jain, Chiu & Hawe 1984: (sum x)^2 / (n sum x^2); 1 is fair, 1/n is one flow taking all.
    "jain_index": pl.col("goodput_bps").sum().pow(2) / (pl.len() * pl.col("goodput_bps").pow(2).sum()),
}
"""Statistics of the background flows of one seed."""


def _quantile(degrees: float | np.ndarray, confidence: float) -> np.ndarray:
    """Quantiles of Student's t that a two-sided interval of this level needs."""
    # SciPy takes half a second to load, which lists of experiments can do without.
    from scipy import special  # noqa: PLC0415

    return np.asarray(special.stdtrit(degrees, (1 + confidence) / 2))


def interval(values: Sequence[float] | np.ndarray, *, confidence: float = CONFIDENCE) -> tuple[float, float | None]:
    """Mean of independent values, and the half width of its confidence interval.

    Parameters
    ----------
    values
        One value per seed; NaN is left out.
    confidence
        Level of the interval, between 0 and 1.

    Returns
    -------
    tuple[float, float | None]
        Mean, and half width by Student's t with n - 1 degrees of freedom; None for fewer than two values.

    Examples
    --------
    >>> mean, half = interval([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(half, 3)
    (2.0, 2.484)
    """
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if numbers.size == 0:
        return float("nan"), None
    mean = float(numbers.mean())
    if numbers.size == 1:
        return mean, None
    error = float(numbers.std(ddof=1)) / numbers.size**0.5
    return mean, float(_quantile(numbers.size - 1, confidence)) * error


def varying(results: Tables) -> tuple[str, ...]:
    """Columns of which an experiment has more than one value: sweep keys, ``transport``, and ``workload``.

    ``workload`` counts the workloads with an end; background traffic is a population of its own already.
    """
    frame = results.runs
    keys = tuple(key for key in results.keys if frame[key].n_unique() > 1)
    workloads = results.collect(
        "flows", results.scan("flows").filter(~pl.col("background")).select(pl.col("workload").n_unique())
    )
    return (*keys, "workload") if workloads.item() > 1 else keys


def grouping(results: Tables, by: Sequence[str] | None, *, pool: bool) -> list[str]:
    """Check the grouping columns against what the experiment varies."""
    if by is None:
        workload = ["workload"] if "workload" in varying(results) else []
        return [*results.keys, *workload]
    if not by:
        raise StatisticsError("no column to group by", hint="leave `by` out to group by every sweep key")
    known = {*results.keys, "workload", "mode"}
    for key in by:
        if key not in known:
            raise StatisticsError(f"cannot group by {key!r}", hint=f"the columns are {', '.join(sorted(known))}")
    mixed = [key for key in varying(results) if key not in by and not _determined(results.runs, key, by)]
    if mixed and not pool:
        raise StatisticsError(
            f"grouping by {', '.join(by)} mixes flows of different {', '.join(mixed)}",
            hint=f"add {mixed[0]!r} to `by`, filter the results, or say pool=True",
        )
    return list(dict.fromkeys(by))


def _determined(runs: pl.DataFrame, key: str, by: Sequence[str]) -> bool:
    """Whether the grouping columns leave one value of `key` in every group."""
    present = [column for column in by if column in runs.columns]
    if key not in runs.columns or not present:
        return False
    return bool(runs.select(pl.col(key).n_unique().over(present).max()).item() == 1)


def with_samples(frame: pl.LazyFrame, results: Tables) -> pl.LazyFrame:
    """Add the column ``sample`` to rows of runs: the run's fingerprint, or its name where that is not known."""
    runs = results.runs.select(
        "run", pl.when(pl.col("fingerprint") == "").then(pl.col("run")).otherwise(pl.col("fingerprint")).alias("sample")
    )
    return frame.join(runs.lazy(), on="run", how="left", maintain_order="left")


SAMPLE = pl.col("sample").unique().sort().str.join("+")
"""The runs that a value per seed comes from, as one text."""


@dataclass(frozen=True, slots=True)
class Same:
    """Seeds that gave the same run.

    Attributes
    ----------
    point
        Sweep key to value, and ``transport``.
    seeds
        Number of seeds of the sweep point.
    distinct
        Number of different fingerprints among them.
    """

    point: Mapping[str, Any]
    seeds: int
    distinct: int


def same_runs(results: Tables) -> list[Same]:
    """Sweep points of which several seeds gave the same run, by the fingerprints of their event traces."""
    runs = results.runs.filter(~pl.col("status").is_in(EMPTY) & (pl.col("fingerprint") != ""))
    counted = runs.group_by(results.keys, maintain_order=True).agg(
        pl.len().alias("seeds"), pl.col("fingerprint").n_unique().alias("distinct")
    )
    return [
        Same({key: row[key] for key in results.keys}, row["seeds"], row["distinct"])
        for row in counted.filter(pl.col("distinct") < pl.col("seeds")).to_dicts()
    ]


def repeated_seeds(results: Tables) -> set[int]:
    """Seeds that gave, at every sweep point, the same run as an earlier seed, by the fingerprints."""
    runs = results.runs.filter(~pl.col("status").is_in(EMPTY) & (pl.col("fingerprint") != ""))
    rows = runs.sort("seed", *results.keys).group_by("seed", maintain_order=True).agg(pl.col("fingerprint"))
    seen: set[tuple[str, ...]] = set()
    repeated = set()
    for seed, prints in rows.iter_rows():
        if tuple(prints) in seen:
            repeated.add(seed)
        seen.add(tuple(prints))
    return repeated


def over_seeds(per_seed: pl.DataFrame, by: Sequence[str], metrics: Sequence[str], confidence: float) -> pl.DataFrame:
    """Average per-seed values: for each metric its mean and, as ``METRIC_ci``, the half width of its interval.

    Parameters
    ----------
    per_seed
        One row per group and seed. Rows of a group with the same ``sample``, if there is that column, count once.
    by
        Columns that name a group.
    metrics
        Columns to average; missing values are left out.
    confidence
        Level of the intervals.

    Returns
    -------
    polars.DataFrame
        One row per group, in order of first appearance, with the number of ``seeds`` and of different ``samples``; an
        interval is null where fewer than two samples have a value, and where all have the same: that says nothing of
        the spread.
    """
    seeds = per_seed.group_by(by, maintain_order=True).agg(pl.col("seed").n_unique().alias("seeds"))
    if "sample" in per_seed.columns:
        per_seed = per_seed.unique([*by, "sample"], keep="first", maintain_order=True)
    columns = [pl.len().alias("samples")]
    for name in metrics:
        n = pl.col(name).count()
        columns += [
            pl.col(name).mean(),
            pl.when(pl.col(name).drop_nulls().n_unique() > 1)
            .then(pl.col(name).std(ddof=1) / n.sqrt())
            .alias(f"{name}_ci"),
            n.alias(f"{name}_n"),
        ]
    means = per_seed.group_by(by, maintain_order=True).agg(columns)
    frame = seeds.join(means, on=by, how="left", maintain_order="left", nulls_equal=True)
    for name in metrics:
        # Of one seed nothing has an interval, and nothing is loaded for it.
        if frame[f"{name}_ci"].null_count() < frame.height:
            counts = frame[f"{name}_n"].to_numpy()
            # Student's t has no value for zero degrees of freedom; the standard error is null there anyway.
            t = _quantile(np.maximum(counts - 1.0, 1.0), confidence)
            frame = frame.with_columns((pl.col(f"{name}_ci") * pl.Series(t)).alias(f"{name}_ci"))
        frame = frame.drop(f"{name}_n")
    return frame


def has_deadlines(results: Tables) -> bool:
    """Whether any flow has a deadline (``workload.deadline``)."""
    return bool(results.collect("flows", results.scan("flows").select(_HAS_DEADLINE.any())).item())


def fct_by_seed(
    results: Tables,
    *,
    by: Sequence[str] | None = None,
    buckets: Sequence[Bucket] = BUCKETS,
    pool: bool = False,
) -> pl.DataFrame:
    """Flow completion times, slowdown and goodput of each seed by size bucket: what `fct_table` averages.

    Parameters
    ----------
    results, by, buckets, pool
        As in `fct_table`.

    Returns
    -------
    polars.DataFrame
        One row per group, bucket and seed that has flows: ``bucket``, ``seed``, ``sample`` (the run that the numbers
        come from), ``flows``, ``unfinished``, ``incomplete_runs``, the metrics, and the deadlines if any flow has one.
        What cannot be computed is null, never NaN.
    """
    keys = grouping(results, by, pool=pool)
    flows = with_samples(results.scan("flows").filter(FINITE), results)
    values = {
        "flows": pl.len(),
        "unfinished": pl.col("fct_ns").is_null().sum(),
        # Several runs may share a group and seed when pooled; a run is named by its folder.
        "incomplete_runs": pl.col("run").filter(pl.col("status") != "complete").n_unique(),
    }
    metrics = FLOW_METRICS | ALL_METRICS
    if has_deadlines(results):
        values, metrics = values | DEADLINE_COUNTS, metrics | DEADLINE_METRICS
    columns = [SAMPLE, *(value.alias(name) for name, value in values.items())]
    columns += [value.cast(pl.Float64).fill_nan(None).alias(name) for name, value in metrics.items()]
    tables = [
        flows.filter(bucket.holds())
        .group_by([*keys, "seed"], maintain_order=True)
        .agg(columns)
        .select(*keys, pl.lit(bucket.name).alias("bucket"), pl.exclude(*keys))
        for bucket in buckets
    ]
    return results.collect("flows", pl.concat(tables))


def fct_table(
    results: Tables,
    *,
    by: Sequence[str] | None = None,
    buckets: Sequence[Bucket] = BUCKETS,
    confidence: float = CONFIDENCE,
    pool: bool = False,
) -> pl.DataFrame:
    """Flow completion times, slowdown and goodput by size bucket, with intervals over seeds.

    Background flows are left out (`background_table` has them). A transfer to several receivers counts once for each.

    Parameters
    ----------
    results
        An experiment.
    by
        Columns that name a group: sweep keys, ``transport``, ``workload``, ``mode``. Default: every sweep key and the
        transport, and the workload if there are several.
    buckets
        Size buckets; they may overlap.
    confidence
        Level of the intervals.
    pool
        Allow groups that mix sweep points or workloads; percentiles are then those of the mixed flows of each seed.

    Returns
    -------
    polars.DataFrame
        One row per group and bucket that has flows: ``bucket``, ``flows``, ``unfinished`` (both summed over seeds),
        ``incomplete_runs``, ``seeds``, ``samples`` (different runs among them), and for each metric of `FLOW_METRICS`
        and `ALL_METRICS` its mean over samples and ``METRIC_ci``. Times in nanoseconds, goodput in bits per second.
        Where any flow has a deadline, also ``deadlines`` and ``deadlines_missed`` (summed over seeds), and
        `DEADLINE_METRICS`, too.

    Raises
    ------
    StatisticsError
        If the groups would mix different populations and `pool` is false.
    """
    return averaged(fct_by_seed(results, by=by, buckets=buckets, pool=pool), confidence=confidence)


def averaged(by_seed: pl.DataFrame, *, confidence: float = CONFIDENCE) -> pl.DataFrame:
    """The table of `fct_table` from that of `fct_by_seed`."""
    keys = by_seed.columns[: by_seed.columns.index("bucket") + 1]
    known = FLOW_METRICS | ALL_METRICS | DEADLINE_METRICS
    metrics = [name for name in by_seed.columns if name in known]
    totals = [name for name in by_seed.columns if name not in {*keys, "seed", "sample", *metrics}]
    sums = by_seed.group_by(keys, maintain_order=True).agg(pl.col(totals).sum())
    means = over_seeds(by_seed, keys, metrics, confidence)
    return sums.join(means, on=keys, how="left", maintain_order="left", nulls_equal=True)


def background_table(
    results: Tables, *, by: Sequence[str] | None = None, confidence: float = CONFIDENCE
) -> pl.DataFrame:
    """Goodput of the background flows, with intervals over seeds.

    Parameters
    ----------
    results
        An experiment.
    by
        Columns that name a group; default: every sweep key and the transport.
    confidence
        Level of the intervals.

    Returns
    -------
    polars.DataFrame
        One row per group with background flows: ``flows`` (summed over seeds), ``seeds``, ``samples`` (different runs
        among them), and for each metric of `BACKGROUND_METRICS` its mean over samples and ``METRIC_ci``. Goodput in
        bits per second.
    """
    by_seed = background_by_seed(results, by=by)
    keys = by_seed.columns[: by_seed.columns.index("seed")]
    totals = by_seed.group_by(keys, maintain_order=True).agg(pl.col("flows").sum())
    means = over_seeds(by_seed, keys, list(BACKGROUND_METRICS), confidence)
    return totals.join(means, on=keys, how="left", maintain_order="left", nulls_equal=True)


def background_by_seed(results: Tables, *, by: Sequence[str] | None = None) -> pl.DataFrame:
    """Goodput of the background flows of each seed: what `background_table` averages."""
    keys = grouping(results, by if by is not None else results.keys, pool=True)
    metrics = [value.cast(pl.Float64).fill_nan(None).alias(name) for name, value in BACKGROUND_METRICS.items()]
    flows = with_samples(results.scan("flows").filter(pl.col("background")), results)
    grouped = flows.group_by([*keys, "seed"], maintain_order=True)
    return results.collect("flows", grouped.agg(SAMPLE, pl.len().alias("flows"), *metrics))


def layer_table(results: Tables, *, by: Sequence[str] | None = None) -> pl.DataFrame:
    """What the links of each layer saw: utilisation, queues, drops, trims and marks, averaged over seeds.

    Parameters
    ----------
    results
        An experiment.
    by
        Columns that name a group; default: every sweep key and the transport.

    Returns
    -------
    polars.DataFrame
        One row per group and layer (``src_level``, ``dst_level``), from the hosts up and down again: ``links``,
        ``utilisation`` and ``utilisation_max`` (shares of the run), ``utilisation_window`` and
        ``utilisation_window_max`` (of the measured window; null if that had no length), ``queue_mean_bytes`` (over
        time and links), ``queue_max_packets``, and ``dropped``, ``trimmed``, ``marked``, ``pause_frames``,
        ``headroom_drops`` (packets per run) and ``paused_ns`` (over links).
    """
    keys = grouping(results, by if by is not None else results.keys, pool=True)
    per_run = (
        results.scan("links")
        .group_by([*keys, "run", "src_level", "dst_level"], maintain_order=True)
        .agg(
            pl.len().alias("links"),
            pl.col("utilisation").mean(),
            pl.col("utilisation").max().alias("utilisation_max"),
            pl.col("utilisation_window").mean(),
            pl.col("utilisation_window").max().alias("utilisation_window_max"),
            pl.col("queue_mean_bytes").mean(),
            pl.col("queue_max_packets").max(),
            pl.col("dropped", "trimmed", "marked", "pause_frames", "headroom_drops").sum(),
            pl.col("paused_ns").mean(),
        )
    )
    frame = results.collect(
        "links",
        per_run.group_by([*keys, "src_level", "dst_level"], maintain_order=True).agg(
            pl.exclude("run").cast(pl.Float64).mean()
        ),
    )
    # Along a path: up from the sending host, then down to the receiving one.
    height = {level: place for place, level in enumerate(reversed(LEVELS))}
    src, dst = (pl.col(name).replace_strict(height, return_dtype=pl.Int64) for name in ("src_level", "dst_level"))
    path = pl.when(dst >= src).then(src).otherwise(2 * len(LEVELS) - src)
    order = frame.with_row_index("row").select(pl.col("row").first().over(keys), path.alias("path"))
    return frame.with_columns(order).sort("row", "path", maintain_order=True).drop("row", "path")


def _windows(results: Tables) -> dict[str, tuple[float, float]]:
    """Run to its measured window, where that says something: flows arrived in it one after the other.

    Requests at one time, a little apart, or from clients that wait for blocks make no load: such a window is shorter
    than half of the flows, or ends before the last blocks are asked for.
    """
    windows = {run.run: run.window_ns for run in results.manifest.runs if run.window_ns is not None}
    finite = results.scan("flows").filter(FINITE).group_by("run")
    flows = finite.agg(pl.col("fct_ns").median(), pl.col("block").max(), pl.col("start_ns").n_unique().alias("starts"))
    told = {}
    for row in results.collect("flows", flows).to_dicts():
        begin, end = windows.get(row["run"], (0.0, 0.0))
        waits = row["block"] is not None or (results.folder / "runs" / row["run"] / "blocks.parquet").exists()
        if not waits and row["starts"] >= PROCESS and end - begin > (row["fct_ns"] or math.inf):
            told[row["run"]] = (begin, end)
    return told


def load_table(results: Tables, *, by: Sequence[str] | None = None) -> pl.DataFrame:
    """What hosts were asked to send in the measured window, and what their links sent in it, averaged over seeds.

    Parameters
    ----------
    results
        An experiment.
    by
        Columns that name a group; default: every sweep key and the transport.

    Returns
    -------
    polars.DataFrame
        One row per group of which a run has a window in which flows arrive one after the other: ``window_s``, its
        length in seconds; ``offered``, the payload of all objects that were requested in it, background flows left
        out, over what all links of hosts carry in that time; and ``carried``, the share of it during which these
        links were sending, headers included.
    """
    keys = grouping(results, by if by is not None else results.keys, pool=True)
    windows = _windows(results)
    lengths = pl.LazyFrame(
        {"run": list(windows), "window_s": [(end - begin) / 1e9 for begin, end in windows.values()]},
        schema={"run": pl.String(), "window_s": pl.Float64()},
    )
    # Of a session to or from several hosts there are several rows, and one object.
    sessions = results.scan("flows").filter(FINITE).unique(["run", "session"], keep="first", maintain_order=True)
    asked = sessions.group_by("run").agg((8 * pl.col("size_bytes").cast(pl.Float64)).sum().alias("bits"))
    links = (
        results.scan("links")
        .filter(pl.col("src_level") == "host")
        .group_by([*keys, "run"], maintain_order=True)
        .agg(pl.col("rate_bps").cast(pl.Float64).sum(), pl.col("utilisation_window").mean().alias("carried"))
    )
    joined = links.join(lengths, on="run").join(asked, on="run").sort("run")
    shares = joined.with_columns((pl.col("bits") / pl.col("window_s") / pl.col("rate_bps")).alias("offered"))
    means = shares.group_by(keys, maintain_order=True).agg(pl.col("window_s", "offered", "carried").mean())
    return results.collect("links", means)
