"""Joy's thesis: a formula, and thresholds as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.rows import Source

LONG_FLOWS = 0.6
"""Alpha above which FA-DCTCP takes the square, not the cube, for short flows (Algorithm 1)."""


def scaling(source: Source) -> pl.DataFrame:  # noqa: ARG001 - it needs no results
    """Figure 7: the factor alpha^beta of long flows and of short ones, from Algorithm 1."""
    alpha = np.linspace(0.0, 1.0, 101)
    values = {"long": alpha, "short": np.where(alpha > LONG_FLOWS, alpha**2, alpha**3)}
    return pl.concat(
        pl.DataFrame({"flows": name, "alpha": alpha, "factor": of, "seed": 0}) for name, of in values.items()
    )


def steps(source: Source, *, rows: str, last: Sequence[float]) -> pl.DataFrame:
    """Thresholds of each policy as they are at the ends of each interval between two decisions.

    Parameters
    ----------
    source, rows
        Decisions: ``policy``, ``time_ns``, ``value`` and ``seed``.
    last
        Begin and end of the time that is drawn, in seconds.
    """
    begin, end = (1e9 * second for second in last)
    decided = source.rows(rows).filter(pl.col("seed") == min(source.results.manifest.seeds))
    decided = decided.sort("policy", "time_ns").select("policy", "time_ns", "value", "seed")
    until = pl.col("time_ns").shift(-1).over("policy").fill_null(end)
    ends = decided.with_columns(until.alias("time_ns"))
    # An end sorts before the beginning of the next interval, which is at the same time.
    both = pl.concat([decided.with_columns(pl.lit(1).alias("begins")), ends.with_columns(pl.lit(0).alias("begins"))])
    inside = pl.col("time_ns").clip(begin, end)
    both = both.filter(pl.col("time_ns").max().over("policy") >= begin).with_columns(inside.alias("time_ns"))
    # A picosecond apart, so that a time has one value.
    return both.with_columns(pl.col("time_ns") + 1e-3 * pl.col("begins")).sort("policy", "time_ns")


def sampled(source: Source, *, rows: str) -> pl.DataFrame:
    """Samples of a metric with those that have no row, as the results leave out zeros.

    Parameters
    ----------
    source, rows
        Samples of one port: ``run``, ``time_ns`` and ``value``, at multiples of an interval.
    """
    known = source.rows(rows)
    interval = min(known["time_ns"])
    known = known.with_columns((pl.col("time_ns") / interval).round().cast(pl.Int64).alias("sample"))
    last = known.group_by("run", maintain_order=True).agg(pl.col("sample").max())
    every = last.select("run", pl.int_ranges(1, pl.col("sample") + 1).alias("sample")).explode("sample")
    about = known.drop("time_ns", "value", "sample").unique("run", maintain_order=True)
    values = known.select("run", "sample", "value")
    filled = every.join(about, on="run", maintain_order="left")
    filled = filled.join(values, on=["run", "sample"], how="left", maintain_order="left")
    time = (pl.col("sample") * interval).alias("time_ns")
    return filled.with_columns(pl.col("value").fill_null(0.0), time).drop("sample")
