"""Comparisons and joins that several experiments need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.base import bundle
from anabranch.reproduce import record
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


def beside_record(
    source: Source, *, rows: str, value: str, over: str, experiment: str, panel: str, series: Mapping[str, str]
) -> pl.DataFrame:
    """Rows beside the points of a figure that another experiment recorded: column ``of`` is ``here`` or ``there``.

    Parameters
    ----------
    source, rows, value
        Which rows, and which column of them; they have ``seed`` and ``transport``.
    over
        The column that is the figure's horizontal axis: numbers.
    experiment, panel, series
        Whose record; ``FIGURE/PANEL``; label of a series to its transport.

    Returns
    -------
    polars.DataFrame
        ``of``, ``seed``, ``transport``, `over` and `value`; what was recorded, a mean over its seeds, stands under each
        seed of the rows. Nothing is ``there`` without a record of the full size.
    """
    mine = source.rows(rows).select(pl.lit("here").alias("of"), "seed", "transport", over, value)
    file = bundle.locate(record.path(Path(), experiment))
    kept = record.read(file) if file else None
    number, _, letter = panel.partition("/")
    figures = [] if kept is None or kept.quick else [one for one in kept.figures if one["figure"] == number]
    panels = [one["series"] for figure in figures for one in figure["panels"] if one["panel"] == letter]
    points = [
        {"transport": transport, over: float(x), value: float(y)}
        for shown in panels
        for label, transport in series.items()
        if label in shown
        for x, y in zip(shown[label]["x"], shown[label]["y"], strict=True)
    ]
    if not points:
        return mine
    theirs = mine.select("seed").unique(maintain_order=True).join(pl.DataFrame(points), how="cross")
    return pl.concat([mine, theirs.select(pl.lit("there").alias("of"), "seed", "transport", over, value)])
