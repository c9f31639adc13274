"""How long jobs take: messages and computations of many ranks that wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.base import units
from anabranch.results import stats
from anabranch.results.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from anabranch.results.tables import Tables

TRANSPORT = "transport"

TOLD = 6
"""Jobs of which each has a sentence."""

COMPUTES = 0.9
"""A share of a job's time from which its computations bound it."""

IDLE = 0.9
"""A share of a job's time from which an idle fabric would help little."""

ALL = 0.995
"""A share from which it is all, and below whose complement it is nothing."""


def job_table(results: Tables, *, confidence: float = stats.CONFIDENCE) -> pl.DataFrame:
    """Time of each job, with intervals over seeds.

    Parameters
    ----------
    results
        An experiment.
    confidence
        Level of the intervals.

    Returns
    -------
    polars.DataFrame
        One row per sweep point and workload with a job, none without jobs: the sweep keys, ``workload``, ``ranks``
        (that have something to do), ``unfinished`` (ranks that did not end, of all seeds), ``seeds``, ``samples``
        (different runs among them), ``step_ns`` (from the job's start to the end of its last rank),
        ``exposed_share`` (of that time, what the last rank does not compute: communication that nothing hides) and
        ``idle_share`` (of that time, what the job would take on an idle fabric: see ``idle_end_ns``), each with
        ``METRIC_ci``. All three are null where a rank did not end in any seed.
    """
    keys = [*results.keys, "workload"]
    took = pl.col("end_ns") - pl.col("start_ns")
    last = pl.col("end_ns").arg_max()
    ranks = stats.with_samples(results.scan("ranks"), results)
    by_seed = ranks.group_by([*keys, "seed", "sample"], maintain_order=True).agg(
        pl.len().alias("ranks"),
        pl.col("end_ns").is_null().sum().alias("unfinished"),
        took.max().alias("step_ns"),
        (pl.col("exposed_ns") / took).get(last).alias("exposed_share"),
        ((pl.col("idle_end_ns") - pl.col("start_ns")).max() / took.max()).alias("idle_share"),
    )
    ended = pl.col("unfinished") == 0
    measured = ["step_ns", "exposed_share", "idle_share"]
    frame = results.collect("ranks", by_seed).with_columns(
        pl.when(ended).then(pl.col(name)).alias(name) for name in measured
    )
    totals = frame.group_by(keys, maintain_order=True).agg(pl.col("ranks").max(), pl.col("unfinished").sum())
    means = stats.over_seeds(frame, keys, measured, confidence)
    return totals.join(means, on=keys, how="left", maintain_order="left", nulls_equal=True)


def job_sentences(results: Tables) -> list[str]:
    """Say how long each job takes, and how much of it nothing hides; of many jobs, the fastest and the slowest."""
    table = job_table(results)
    rows = table.to_dicts()
    if len(rows) > TOLD:
        told = table.drop_nulls("step_ns").sort("step_ns", maintain_order=True).to_dicts()
        rows = [told[0], told[-1]] if told else rows[:1]
    comparison = compare(results) if rows else None
    varying = _telling(table, results.keys)

    def where(row: Mapping[str, Any]) -> str:
        words = comparison.words({key: row[key] for key in varying}) if comparison else ""
        return f" ({words})" if words else ""

    return [f"{row['workload']}{where(row)}: {_time(row)}" for row in rows]


def _telling(table: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """The keys that vary, but for those that the transport decides."""
    varying = [key for key in keys if table[key].n_unique() > 1]
    if TRANSPORT not in varying:
        return varying
    each = table.group_by(TRANSPORT).agg(pl.col(key).n_unique() for key in varying if key != TRANSPORT)
    return [key for key in varying if key == TRANSPORT or each[key].max() != 1]


def _time(row: Mapping[str, Any]) -> str:
    if row["step_ns"] is None:
        return f"{row['unfinished']} of {row['ranks'] * row['seeds']} ranks did not end"
    scale, unit = units.time_unit(row["step_ns"])
    took = units.with_interval(row["step_ns"], row["step_ns_ci"], scale)
    share = row["exposed_share"]
    hidden = "all" if share > ALL else "none" if share < 1 - ALL else f"{share:.0%}"
    return f"{took} {unit}, {hidden} of it communication that no computation hides; {_bound(row)}"


def _bound(row: Mapping[str, Any]) -> str:
    """Say what bounds a job: its computations, what an idle fabric takes too, or what happens in the fabric."""
    if row["exposed_share"] < 1 - COMPUTES:
        return "its computations bound it"
    idle = row["idle_share"]
    if idle is None:  # results of an earlier version
        return "what bounds it was not recorded"
    by = "the rates and the distances of its links bound it" if idle > IDLE else "the fabric and the transport bound it"
    return f"{by}: an idle fabric would take {idle:.0%} of that"
