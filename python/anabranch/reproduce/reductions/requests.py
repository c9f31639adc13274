"""Requests of applications, and what other traffic gets beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from anabranch.reproduce.rows import Source


def requests(source: Source, *, workload: str | None = None) -> pl.DataFrame:
    """One row per request of an application: an object written to all of its replicas, blocks read at once, a flow.

    The papers measure "from the time the I/O request is issued until" the last receiver has everything (SCDP §V-A).

    Parameters
    ----------
    source
        An experiment's results.
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
    results = source.results
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


def beside(source: Source, *, rows: str) -> pl.DataFrame:
    """The background flows of the runs that made some rows."""
    runs = source.rows(rows)["run"].unique()
    return source.results.flows.filter(pl.col("workload") == "background", pl.col("run").is_in(runs.implode()))
