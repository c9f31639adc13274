"""Comparisons and joins that several experiments need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.rows import by_seed, expression, in_order, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.rows import Source


def against(
    source: Source, *, rows: str, value: str, by: Sequence[str], base: Mapping[str, object], only: Mapping[str, object]
) -> pl.DataFrame:
    """Rows beside those that they are compared with: column ``ratio``, their value over that of the others.

    Parameters
    ----------
    source, rows, value
        Which rows, and which column of them.
    by
        Columns in which both agree.
    base, only
        With which rows they are compared; and which.
    """
    frame = source.rows(rows)
    theirs = frame.filter(where(base)).select(*by, pl.col(value).alias("base"))
    mine = frame.filter(where(only)).join(theirs, on=list(by), maintain_order="left")
    return mine.filter(pl.col("base") != 0).with_columns((pl.col(value) / pl.col("base")).alias("ratio"))


def largest_on_average(
    source: Source, *, rows: str, only: Mapping[str, object], each: str, value: str
) -> dict[int, float]:
    """The value by seed where a column has the value for which it is largest on average: a paper's "up to"."""
    frame = source.rows(rows).filter(where(only))
    known = [by_seed(frame.filter(pl.col(each) == one), expression(value)) for (one,) in in_order(frame, [each])]
    return max(filter(None, known), key=lambda own: float(np.mean(list(own.values()))), default={})


def samples(source: Source, *, metric: str, workload: Sequence[str]) -> pl.DataFrame:
    """Samples of a metric of the flows of workloads, with their ``workload``."""
    flows = source.results.flows.filter(pl.col("workload").is_in(list(workload)))
    series = source.results.series.filter(pl.col("metric") == metric)
    about = flows.select("run", pl.col("session").cast(series["id"].dtype).alias("id"), "workload")
    return series.join(about, on=["run", "id"], maintain_order="left")


def bottleneck(source: Source, *, rows: str) -> pl.DataFrame:
    """Rows of the directed link that sends most bytes: ``link`` of links, ``id`` of series."""
    links = source.results.links.group_by("link").agg(pl.col("bytes").sum()).sort("bytes")
    frame = source.rows(rows)
    return frame.filter(pl.col("link" if "link" in frame.columns else "id") == int(links["link"][-1]))
