//! Rows to Arrow columns: one function per table, columns in the order of `docs/reference/results.md`.

use anabranch_sim::measure::{BlockRow, FlowRow, LinkRow, OperationRow, RankRow};
use anabranch_sim::network::Sample;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// Picoseconds as nanoseconds, exact below 104 days.
fn ns(ps: u64) -> f64 {
    ps as f64 / 1e3
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    values.for_each(|v| builder.append_value(v));
    Arc::new(builder.finish())
}

fn maybe_text<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    values.for_each(|v| builder.append_option(v));
    Arc::new(builder.finish())
}

fn u64s(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn u32s(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn f64s(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

fn maybe_f64s(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

fn maybe_u32s(values: impl Iterator<Item = Option<u32>>) -> ArrayRef {
    Arc::new(values.collect::<UInt32Array>())
}

fn maybe_u64s(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.collect::<UInt64Array>())
}

fn bools(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}

/// `flows.parquet`.
pub(crate) fn flows(run: &str, rows: &[FlowRow]) -> Result<RecordBatch, ArrowError> {
    let fct = |r: &FlowRow| r.end.map(|end| end.since(r.start).ps());
    let goodput = |r: &FlowRow| {
        let counts = r.end.is_some() || r.background;
        (counts && r.measured_ps > 0).then(|| r.size_bytes as f64 * 8e12 / r.measured_ps as f64)
    };
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("run", text(rows.iter().map(|_| run)), false),
        ("session", u32s(rows.iter().map(|r| r.session)), false),
        ("request", u32s(rows.iter().map(|r| r.request)), false),
        ("block", maybe_u32s(rows.iter().map(|r| r.block)), true),
        ("workload", text(rows.iter().map(|r| &*r.workload)), false),
        ("mode", text(rows.iter().map(|r| r.mode)), false),
        ("background", bools(rows.iter().map(|r| r.background)), false),
        ("measured", bools(rows.iter().map(|r| r.measured)), false),
        ("src_host", u32s(rows.iter().map(|r| r.src_host)), false),
        ("dst_host", u32s(rows.iter().map(|r| r.dst_host)), false),
        ("size_bytes", u64s(rows.iter().map(|r| r.size_bytes)), false),
        ("start_ns", f64s(rows.iter().map(|r| ns(r.start.ps()))), false),
        ("end_ns", maybe_f64s(rows.iter().map(|r| r.end.map(|t| ns(t.ps())))), true),
        ("fct_ns", maybe_f64s(rows.iter().map(|r| fct(r).map(ns))), true),
        ("deadline_ns", maybe_f64s(rows.iter().map(|r| r.deadline.map(|d| ns(d.ps())))), true),
        ("ideal_fct_ns", f64s(rows.iter().map(|r| ns(r.ideal_ps))), false),
        ("slowdown", maybe_f64s(rows.iter().map(|r| fct(r).map(|ps| ps as f64 / r.ideal_ps as f64))), true),
        ("goodput_bps", maybe_f64s(rows.iter().map(goodput)), true),
        ("hops", Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.hops))), false),
        ("packets_sent", u64s(rows.iter().map(|r| r.packets_sent)), false),
        ("packets_retransmitted", u64s(rows.iter().map(|r| r.packets_retransmitted)), false),
        ("packets_trimmed", u64s(rows.iter().map(|r| r.packets_trimmed)), false),
        ("packets_dropped", u64s(rows.iter().map(|r| r.packets_dropped)), false),
        ("packets_marked", u64s(rows.iter().map(|r| r.packets_marked)), false),
        ("timeouts", u64s(rows.iter().map(|r| r.timeouts)), false),
        ("decoded", bools(rows.iter().map(|r| r.decoded)), false),
        ("overhead_symbols", u64s(rows.iter().map(|r| r.overhead_symbols)), false),
        ("straggler", maybe_text(rows.iter().map(|r| r.straggler.map(anabranch_sim::network::Straggler::name))), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// `links.parquet`.
pub(crate) fn links(run: &str, rows: &[LinkRow]) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("run", text(rows.iter().map(|_| run)), false),
        ("link", u32s(rows.iter().map(|r| r.link)), false),
        ("src", text(rows.iter().map(|r| r.src.as_str())), false),
        ("dst", text(rows.iter().map(|r| r.dst.as_str())), false),
        ("src_level", text(rows.iter().map(|r| r.src_level)), false),
        ("dst_level", text(rows.iter().map(|r| r.dst_level)), false),
        ("rate_bps", u64s(rows.iter().map(|r| r.rate_bps)), false),
        ("packets", u64s(rows.iter().map(|r| r.packets)), false),
        ("bytes", u64s(rows.iter().map(|r| r.bytes)), false),
        ("utilisation", f64s(rows.iter().map(|r| r.utilisation)), false),
        ("utilisation_window", maybe_f64s(rows.iter().map(|r| r.utilisation_window)), true),
        ("dropped", u64s(rows.iter().map(|r| r.dropped)), false),
        ("trimmed", u64s(rows.iter().map(|r| r.trimmed)), false),
        ("marked", u64s(rows.iter().map(|r| r.marked)), false),
        ("queue_max_packets", u32s(rows.iter().map(|r| r.queue_max_packets)), false),
        ("queue_max_bytes", u64s(rows.iter().map(|r| r.queue_max_bytes)), false),
        ("queue_mean_bytes", f64s(rows.iter().map(|r| r.queue_mean_bytes)), false),
        ("pause_frames", u64s(rows.iter().map(|r| r.pause_frames)), false),
        ("paused_ns", f64s(rows.iter().map(|r| ns(r.paused_ps))), false),
        ("headroom_drops", u64s(rows.iter().map(|r| r.headroom_drops)), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// `blocks.parquet`.
pub(crate) fn blocks(run: &str, rows: &[BlockRow]) -> Result<RecordBatch, ArrowError> {
    let took = |r: &BlockRow| r.end.map(|end| end.since(r.start).ps());
    let goodput = |r: &BlockRow| took(r).filter(|ps| *ps > 0).map(|ps| r.size_bytes as f64 * 8e12 / ps as f64);
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("run", text(rows.iter().map(|_| run)), false),
        ("request", u32s(rows.iter().map(|r| r.request)), false),
        ("block", u32s(rows.iter().map(|r| r.block)), false),
        ("workload", text(rows.iter().map(|r| r.workload.as_str())), false),
        ("dst_host", u32s(rows.iter().map(|r| r.dst_host)), false),
        ("servers", u32s(rows.iter().map(|r| r.servers)), false),
        ("size_bytes", u64s(rows.iter().map(|r| r.size_bytes)), false),
        ("start_ns", f64s(rows.iter().map(|r| ns(r.start.ps()))), false),
        ("end_ns", maybe_f64s(rows.iter().map(|r| r.end.map(|t| ns(t.ps())))), true),
        ("fct_ns", maybe_f64s(rows.iter().map(|r| took(r).map(ns))), true),
        ("goodput_bps", maybe_f64s(rows.iter().map(goodput)), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// `ranks.parquet`.
pub(crate) fn ranks(run: &str, rows: &[RankRow]) -> Result<RecordBatch, ArrowError> {
    let took = |r: &RankRow| r.end.map(|end| end.since(r.start).ps());
    let exposed = |r: &RankRow| took(r).map(|ps| ns(ps.saturating_sub(r.computing.ps())));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("run", text(rows.iter().map(|_| run)), false),
        ("workload", text(rows.iter().map(|r| r.workload.as_str())), false),
        ("rank", u32s(rows.iter().map(|r| r.rank)), false),
        ("host", u32s(rows.iter().map(|r| r.host)), false),
        ("operations", u32s(rows.iter().map(|r| r.operations)), false),
        ("operations_ended", u32s(rows.iter().map(|r| r.ended)), false),
        ("start_ns", f64s(rows.iter().map(|r| ns(r.start.ps()))), false),
        ("end_ns", maybe_f64s(rows.iter().map(|r| r.end.map(|t| ns(t.ps())))), true),
        ("computing_ns", f64s(rows.iter().map(|r| ns(r.computing.ps()))), false),
        ("exposed_ns", maybe_f64s(rows.iter().map(exposed)), true),
        ("idle_end_ns", maybe_f64s(rows.iter().map(|r| r.idle_end.map(|t| ns(t.ps())))), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// `operations.parquet`.
pub(crate) fn operations(run: &str, rows: &[OperationRow]) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("run", text(rows.iter().map(|_| run)), false),
        ("workload", text(rows.iter().map(|r| &*r.workload)), false),
        ("rank", u32s(rows.iter().map(|r| r.rank)), false),
        ("stream", u32s(rows.iter().map(|r| u32::from(r.stream))), false),
        ("kind", text(rows.iter().map(|r| r.kind)), false),
        ("peer", maybe_u32s(rows.iter().map(|r| r.peer)), true),
        ("size_bytes", maybe_u64s(rows.iter().map(|r| r.bytes)), true),
        ("inside_server", bools(rows.iter().map(|r| r.inside)), false),
        ("place", maybe_u32s(rows.iter().map(|r| r.place)), true),
        ("sent_ns", maybe_f64s(rows.iter().map(|r| r.sent.map(|t| ns(t.ps())))), true),
        ("start_ns", f64s(rows.iter().map(|r| ns(r.start.ps()))), false),
        ("end_ns", maybe_f64s(rows.iter().map(|r| r.end.map(|t| ns(t.ps())))), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// `series.parquet`.
pub(crate) fn series(run: &str, rows: &[Sample]) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("run", text(rows.iter().map(|_| run)), false),
        ("time_ns", f64s(rows.iter().map(|r| ns(r.time))), false),
        ("metric", text(rows.iter().map(|r| r.metric)), false),
        ("id", u32s(rows.iter().map(|r| r.id)), false),
        ("value", f64s(rows.iter().map(|r| r.value)), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}
