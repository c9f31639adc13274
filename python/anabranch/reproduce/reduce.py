"""From result tables to what the papers plot: requests instead of flows, and one value per seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.tables import Tables


def requests(results: Tables, *, workload: str | None = None) -> pl.DataFrame:
    """One row per request of an application: an object written to all of its replicas, blocks read at once, a flow.

    The papers measure "from the time the I/O request is issued until" the last receiver has everything (SCDP §V-A).

    Parameters
    ----------
    results
        An experiment.
    workload
        Only this workload; default: all but background traffic.

    Returns
    -------
    polars.DataFrame
        The columns of the run, ``workload``, ``request``, ``start_ns``, ``fct_ns``, ``size_bytes`` (what one receiver
        gets; an object counts once however many replicas it has), ``goodput_bps`` and, summed over the request's
        sessions, ``packets_sent``, ``packets_trimmed``, ``packets_dropped``, ``timeouts``, ``overhead_symbols``;
        ``decoded`` if any was. ``fct_ns`` and ``goodput_bps`` are null where a part did not finish.
    """
    flows = results.flows.filter(pl.col("workload") == workload if workload else ~pl.col("background"))
    if "request" not in flows.columns:
        flows = flows.with_columns(pl.col("session").alias("request"))
    about = [pl.col(name).first() for name in (*results.keys, "seed", "status", "workload", "mode", "background")]
    # A session's counts stand in the row of each of its receivers; symbols are counted by receiver.
    counts = ("packets_sent", "packets_trimmed", "packets_dropped", "timeouts")
    # The last end, or null if one is missing.
    end = pl.when(pl.col("end_ns").is_null().any()).then(None).otherwise(pl.col("end_ns").max()).alias("end_ns")
    times = [pl.col("start_ns").min(), end, pl.col("decoded").any(), pl.col("overhead_symbols").sum()]
    sessions = flows.group_by("run", "request", "session", maintain_order=True).agg(
        *about, *(pl.col(name).first() for name in counts), *times
    )
    received = flows.group_by("run", "request", "dst_host").agg(pl.col("size_bytes").sum())
    sizes = received.group_by("run", "request").agg(pl.col("size_bytes").max())
    frame = (
        sessions.group_by("run", "request", maintain_order=True)
        .agg(*about, *(pl.col(name).sum() for name in counts), *times)
        .join(sizes, on=["run", "request"], how="left", maintain_order="left")
    )
    fct = pl.col("end_ns") - pl.col("start_ns")
    return frame.with_columns(fct.alias("fct_ns"), (8e9 * pl.col("size_bytes") / fct).alias("goodput_bps"))


def by_seed(frame: pl.DataFrame, value: pl.Expr) -> dict[int, float]:
    """Reduce rows to one value per seed; seeds without a value are left out.

    Examples
    --------
    >>> frame = pl.DataFrame({"seed": [1, 1, 2], "x": [1.0, 3.0, 5.0]})
    >>> by_seed(frame, pl.col("x").mean())
    {1: 2.0, 2: 5.0}
    """
    rows = frame.group_by("seed").agg(value.cast(pl.Float64).alias("value")).drop_nulls().sort("seed")
    return dict(zip(rows["seed"].to_list(), rows["value"].to_list(), strict=True))


def ratio_by_seed(above: Mapping[int, float], below: Mapping[int, float]) -> dict[int, float]:
    """Divide two reductions seed by seed, so that the interval is that of the ratio under common random numbers.

    Examples
    --------
    >>> ratio_by_seed({1: 2.0, 2: 3.0}, {1: 4.0, 2: 6.0, 3: 1.0})
    {1: 0.5, 2: 0.5}
    """
    return {seed: value / below[seed] for seed, value in above.items() if below.get(seed)}


def compared(
    frame: pl.DataFrame, value: pl.Expr, above: Mapping[str, object], below: Mapping[str, object]
) -> dict[int, float]:
    """Divide a statistic of some rows by that of others, seed by seed.

    Parameters
    ----------
    frame
        The rows.
    value
        The statistic.
    above, below
        Which rows: column to value.

    Examples
    --------
    >>> frame = pl.DataFrame({"seed": [1, 1], "transport": ["scdp", "ndp"], "x": [1.0, 4.0]})
    >>> compared(frame, pl.col("x").mean(), {"transport": "ndp"}, {"transport": "scdp"})
    {1: 4.0}
    """
    return ratio_by_seed(by_seed(frame.filter(where(above)), value), by_seed(frame.filter(where(below)), value))


def raised(ratios: Mapping[int, float]) -> dict[int, float]:
    """By how many percent ratios are above 1."""
    return {seed: 100 * (ratio - 1) for seed, ratio in ratios.items()}


def lowered(ratios: Mapping[int, float]) -> dict[int, float]:
    """By how many percent ratios are below 1."""
    return {seed: 100 * (1 - ratio) for seed, ratio in ratios.items()}


def at(**values: object) -> pl.Expr:
    """Condition that columns have these values: ``at(transport="scdp", seed=1)``."""
    return where(values)


def where(values: Mapping[str, object]) -> pl.Expr:
    """Condition that columns have these values; names may be dotted keys of the scenario."""
    condition = pl.lit(value=True)
    for name, value in values.items():
        condition &= pl.col(name) == value
    return condition
