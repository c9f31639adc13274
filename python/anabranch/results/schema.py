"""Columns of the result tables, as ``docs/reference/results.md`` describes them."""

import polars as pl

FLOWS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "session": pl.UInt32(),
    "request": pl.UInt32(),
    "block": pl.UInt32(),
    "workload": pl.String(),
    "mode": pl.String(),
    "background": pl.Boolean(),
    "measured": pl.Boolean(),
    "src_host": pl.UInt32(),
    "dst_host": pl.UInt32(),
    "size_bytes": pl.UInt64(),
    "start_ns": pl.Float64(),
    "end_ns": pl.Float64(),
    "fct_ns": pl.Float64(),
    "deadline_ns": pl.Float64(),
    "ideal_fct_ns": pl.Float64(),
    "slowdown": pl.Float64(),
    "goodput_bps": pl.Float64(),
    "hops": pl.UInt8(),
    "packets_sent": pl.UInt64(),
    "packets_retransmitted": pl.UInt64(),
    "packets_trimmed": pl.UInt64(),
    "packets_dropped": pl.UInt64(),
    "packets_marked": pl.UInt64(),
    "timeouts": pl.UInt64(),
    "decoded": pl.Boolean(),
    "overhead_symbols": pl.UInt64(),
    "straggler": pl.String(),
}
"""One row per flow and receiver."""

LINKS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "link": pl.UInt32(),
    "src": pl.String(),
    "dst": pl.String(),
    "src_level": pl.String(),
    "dst_level": pl.String(),
    "rate_bps": pl.UInt64(),
    "packets": pl.UInt64(),
    "bytes": pl.UInt64(),
    "utilisation": pl.Float64(),
    "utilisation_window": pl.Float64(),
    "dropped": pl.UInt64(),
    "trimmed": pl.UInt64(),
    "marked": pl.UInt64(),
    "queue_max_packets": pl.UInt32(),
    "queue_max_bytes": pl.UInt64(),
    "queue_mean_bytes": pl.Float64(),
    "pause_frames": pl.UInt64(),
    "paused_ns": pl.Float64(),
    "headroom_drops": pl.UInt64(),
}
"""One row per directed link."""

BLOCKS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "request": pl.UInt32(),
    "block": pl.UInt32(),
    "workload": pl.String(),
    "dst_host": pl.UInt32(),
    "servers": pl.UInt32(),
    "size_bytes": pl.UInt64(),
    "start_ns": pl.Float64(),
    "end_ns": pl.Float64(),
    "fct_ns": pl.Float64(),
    "goodput_bps": pl.Float64(),
}
"""One row per block that a client at a barrier asked for."""

RANKS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "workload": pl.String(),
    "rank": pl.UInt32(),
    "host": pl.UInt32(),
    "operations": pl.UInt32(),
    "operations_ended": pl.UInt32(),
    "start_ns": pl.Float64(),
    "end_ns": pl.Float64(),
    "computing_ns": pl.Float64(),
    "exposed_ns": pl.Float64(),
    "idle_end_ns": pl.Float64(),
}
"""One row per rank of a job that has something to do."""

OPERATIONS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "workload": pl.String(),
    "rank": pl.UInt32(),
    "stream": pl.UInt32(),
    "kind": pl.String(),
    "peer": pl.UInt32(),
    "size_bytes": pl.UInt64(),
    "inside_server": pl.Boolean(),
    "place": pl.UInt32(),
    "sent_ns": pl.Float64(),
    "start_ns": pl.Float64(),
    "end_ns": pl.Float64(),
}
"""One row per operation of a job that has begun, where the scenario asks for them."""

SERIES: dict[str, pl.DataType] = {
    "run": pl.String(),
    "time_ns": pl.Float64(),
    "metric": pl.String(),
    "id": pl.UInt32(),
    "value": pl.Float64(),
}
"""Time series, where the scenario asks for any."""

TABLES = {"flows": FLOWS, "links": LINKS, "blocks": BLOCKS, "ranks": RANKS, "operations": OPERATIONS, "series": SERIES}
"""Table name to columns."""

OPTIONAL = frozenset({"blocks", "ranks", "operations", "series"})
"""Tables that a run may lack."""

ADDED = frozenset(
    {
        "block",
        "deadline_ns",
        "headroom_drops",
        "idle_end_ns",
        "measured",
        "pause_frames",
        "paused_ns",
        "utilisation_window",
    }
)
"""Columns that results of earlier versions lack: they are null there."""
