//! What a run is measured by: rows for the result tables.
//!
//! Columns are described in `docs/reference/results.md`; the names here are the same.

mod operations;
mod ranks;

use crate::capture::CaptureRow;
use crate::fabric::graph::PortId;
use crate::fabric::queue::lossless::Lossless;
use crate::network::{Ending, Network};
use anabranch_transport::{Duration, Time};
use std::io;
use std::sync::Arc;

/// One flow as one receiver saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Index of the session in arrival order.
    pub session: u32,
    /// Request that the session belongs to, in order of arrival.
    pub request: u32,
    /// The block of a barrier-synchronised request that it carries; `None`: all of them, or there is no barrier.
    pub block: Option<u32>,
    /// Name of the workload.
    pub workload: Arc<str>,
    /// `unicast`, `one_to_many`, `many_to_one`.
    pub mode: &'static str,
    /// A long flow without end.
    pub background: bool,
    /// Whether it was requested in the measured window.
    pub measured: bool,
    /// Sending host.
    pub src_host: u32,
    /// Receiving host.
    pub dst_host: u32,
    /// Object size; for flows without end, and for those that follow volumes and were cut short, what was delivered.
    pub size_bytes: u64,
    /// Request time.
    pub start: Time,
    /// Completion at the receiving application.
    pub end: Option<Time>,
    /// Time from the request within which it was to be complete.
    pub deadline: Option<Duration>,
    /// The same transfer alone on the idle fabric: no flow can be faster (`docs/reference/results.md`).
    pub ideal_ps: u64,
    /// How long the flow was measured: until its completion, or, for background flows, until the end of the run.
    pub measured_ps: u64,
    /// Links on the shortest path.
    pub hops: u8,
    /// Data packets put on the wire by the senders of the session.
    pub packets_sent: u64,
    /// Of these, sent again.
    pub packets_retransmitted: u64,
    /// Data packets of the session cut by switches.
    pub packets_trimmed: u64,
    /// Packets of the session dropped.
    pub packets_dropped: u64,
    /// Packets received with a congestion mark.
    pub packets_marked: u64,
    /// Timeouts at both ends.
    pub timeouts: u64,
    /// At least one source block needed decoding.
    pub decoded: bool,
    /// Encoding symbols received beyond the number of source symbols.
    pub overhead_symbols: u64,
    /// What the sender did when this receiver held the others of a one-to-many session back.
    pub straggler: Option<crate::network::Straggler>,
}

/// One block of a barrier-synchronised request, as its client saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRow {
    /// Request that the client made.
    pub request: u32,
    /// Name of the workload.
    pub workload: String,
    /// Number of the block, from 0.
    pub block: u32,
    /// The client.
    pub dst_host: u32,
    /// Servers that send a fragment.
    pub servers: u32,
    /// Bytes of all fragments.
    pub size_bytes: u64,
    /// When the client asked for it.
    pub start: Time,
    /// When the last fragment was available to it.
    pub end: Option<Time>,
}

/// One directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// Port id.
    pub link: PortId,
    /// Name of the sending node.
    pub src: String,
    /// Name of the receiving node.
    pub dst: String,
    /// Level of the sending node.
    pub src_level: &'static str,
    /// Level of the receiving node.
    pub dst_level: &'static str,
    /// Bit rate at the end of the run.
    pub rate_bps: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Share of the run's time during which it was sending.
    pub utilisation: f64,
    /// The same of the measured window, if that had a length.
    pub utilisation_window: Option<f64>,
    /// Packets dropped here.
    pub dropped: u64,
    /// Packets trimmed here.
    pub trimmed: u64,
    /// Packets marked here.
    pub marked: u64,
    /// Longest queue.
    pub queue_max_packets: u32,
    /// Longest queue.
    pub queue_max_bytes: u64,
    /// Time average of the queue.
    pub queue_mean_bytes: f64,
    /// Pause frames sent, those that end a pause included.
    pub pause_frames: u64,
    /// For how long any of its priorities was paused by the far end.
    pub paused_ps: u64,
    /// Packets that came by it and were lost because the headroom was too small for what came after a pause was due.
    pub headroom_drops: u64,
}

/// One rank of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct RankRow {
    /// Name of the workload whose job it is.
    pub workload: String,
    /// Number in the job.
    pub rank: u32,
    /// Its host.
    pub host: u32,
    /// Its operations, and those that have ended.
    pub operations: u32,
    /// See `operations`.
    pub ended: u32,
    /// When the job began.
    pub start: Time,
    /// When its last operation ended, if all have.
    pub end: Option<Time>,
    /// Time during which it computed.
    pub computing: Duration,
    /// When its last operation would have ended on an idle fabric; of a job that is complete.
    pub idle_end: Option<Time>,
}

/// One operation of a job that has begun.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationRow {
    /// Name of the workload whose job it is.
    pub workload: Arc<str>,
    /// Whose it is.
    pub rank: u32,
    /// Which of the rank's streams it occupies.
    pub stream: u8,
    /// `send`, `receive`, `compute` or `wait`.
    pub kind: &'static str,
    /// The other rank of a message; of one for several, or from anybody, none.
    pub peer: Option<u32>,
    /// Bytes of a message.
    pub bytes: Option<u64>,
    /// Whether a message stays inside a server.
    pub inside: bool,
    /// Its line or its node in the file of the job.
    pub place: Option<u32>,
    /// When the message left that it receives, once that is known.
    pub sent: Option<Time>,
    /// See [`Times`](anabranch_job::progress::Times).
    pub start: Time,
    /// The same.
    pub end: Option<Time>,
}

/// Everything that one run leaves behind.
pub struct RunRecord {
    /// How it ended.
    pub ending: Ending,
    /// One row per flow and receiver.
    pub flows: Vec<FlowRow>,
    /// One row per directed link.
    pub links: Vec<LinkRow>,
    /// One row per block that a client at a barrier asked for.
    pub blocks: Vec<BlockRow>,
    /// One row per rank of a job that has something to do.
    pub ranks: Vec<RankRow>,
    /// One row per operation of a job, where they are recorded.
    pub operations: Vec<OperationRow>,
    /// Time series.
    pub series: Vec<crate::network::Sample>,
    /// Packet captures; the first thing that went wrong with their files.
    pub captures: io::Result<Vec<CaptureRow>>,
    /// Packet counts.
    pub conservation: crate::network::Conservation,
    /// Fingerprint of the event trace.
    pub fingerprint: u64,
    /// Events handled.
    pub events: u64,
    /// Simulated time.
    pub simulated: Time,
    /// Ends of the measured window; nothing if it had no length.
    pub window: Option<(Time, Time)>,
}

impl RunRecord {
    /// Takes the measurements of a network whose run has ended.
    pub fn take(network: &mut Network, ending: Ending) -> Self {
        network.finish();
        // First: the jobs leave their memory to the flows.
        let jobs = network.take_jobs();
        Self {
            operations: operations::rows(network, &jobs),
            ranks: ranks::rows(network, jobs),
            flows: flows(network),
            links: links(network),
            blocks: blocks(network),
            series: network.take_samples(),
            captures: network.finish_captures(),
            conservation: network.conservation(),
            fingerprint: network.fingerprint(),
            events: network.events(),
            simulated: network.now(),
            window: network.window(),
            ending,
        }
    }
}

impl RunRecord {
    /// What cannot be, if something of that kind has been recorded: a fault of the simulator.
    pub fn fault(&self) -> Option<String> {
        let took = |flow: &FlowRow| flow.end.map(|end| end.since(flow.start).ps());
        // An endless session ends when the scenario says so: nothing may have arrived by then.
        let arrived = self.flows.iter().filter(|flow| flow.size_bytes > 0);
        let mut faster = arrived.filter(|flow| took(flow).is_some_and(|ps| ps < flow.ideal_ps));
        if let Some(first) = faster.next() {
            let message = format!(
                "{} flows took less than their ideal time, the first one of session {} to host {}: a fault of the simulator",
                1 + faster.count(),
                first.session,
                first.dst_host
            );
            return Some(message);
        }
        let lost = !self.conservation.holds();
        lost.then(|| format!("packets do not add up, a fault of the simulator: {:?}", self.conservation))
    }
}

fn blocks(network: &Network) -> Vec<BlockRow> {
    let row = |of: crate::network::BlockRow| {
        let spec = &network.specs()[of.session as usize];
        BlockRow {
            request: spec.request,
            workload: network.groups()[usize::from(spec.group)].name.clone(),
            block: of.block,
            dst_host: spec.sinks[0],
            servers: of.servers,
            size_bytes: of.bytes,
            start: of.asked,
            end: of.complete,
        }
    };
    network.blocks().into_iter().map(row).collect()
}

fn flows(network: &Network) -> Vec<FlowRow> {
    let mut rows = Vec::new();
    let until = network.measured_until();
    let names: Vec<Arc<str>> = network.groups().iter().map(|group| group.name.as_str().into()).collect();
    for (index, spec) in network.specs().iter().enumerate().take(network.opened()) {
        let row = network.session(index);
        let group = &network.groups()[usize::from(spec.group)];
        for (r, (receiver, &dst_host)) in row.receivers.iter().zip(&spec.sinks).enumerate() {
            let src_host = row.senders[r];
            let background = group.background;
            // What follows volumes may have been cut short.
            let whole = spec.supply.is_none() || receiver.completed.is_some();
            let size_bytes = spec.size.filter(|_| whole).map_or(receiver.stats.bytes_delivered, |s| s.0);
            let (ideal, hops) = network.ideal(index, &row, r, &group.transport.packets(size_bytes));
            let measured = receiver.completed.unwrap_or(until).since(spec.start);
            // A fault of the model, or of the bound; an endless session may end before anything has arrived.
            debug_assert!(
                receiver.completed.is_none() || size_bytes == 0 || measured >= ideal,
                "session {index} took {measured} to host {dst_host}, less than its ideal time of {ideal}"
            );
            rows.push(FlowRow {
                session: index as u32,
                request: spec.request,
                block: group.barrier.as_ref().filter(|b| b.copies() > 1).map(|_| spec.block),
                workload: Arc::clone(&names[usize::from(spec.group)]),
                mode: spec.mode.name(),
                background,
                measured: network.counts(spec.start),
                src_host,
                dst_host,
                size_bytes,
                start: spec.start,
                end: receiver.completed,
                deadline: group.deadline,
                ideal_ps: ideal.ps(),
                measured_ps: measured.ps(),
                hops,
                packets_sent: row.sent.data_sent,
                packets_retransmitted: row.sent.retransmitted,
                packets_trimmed: row.packets_trimmed,
                packets_dropped: row.packets_dropped,
                packets_marked: receiver.stats.marked_received,
                timeouts: row.sent.timeouts + receiver.stats.timeouts,
                decoded: receiver.stats.decoded_blocks > 0,
                overhead_symbols: receiver.stats.overhead_symbols,
                straggler: receiver.straggler,
            });
        }
    }
    rows
}

fn links(network: &Network) -> Vec<LinkRow> {
    let graph = network.graph();
    let measured = network.measured_until().ps().max(1) as f64;
    let row = |(port, p): (usize, &crate::fabric::port::Port)| {
        let port = port as PortId;
        let (src, dst) = (&graph.nodes[graph.port_owner(port) as usize], &graph.nodes[p.peer() as usize]);
        let c = p.counters();
        let pauses = p.lossless().map(Lossless::pauses).unwrap_or_default();
        let far_end = network.ports()[(port ^ 1) as usize].lossless();
        LinkRow {
            link: port,
            src: src.name.clone(),
            dst: dst.name.clone(),
            src_level: src.level.name(),
            dst_level: dst.level.name(),
            rate_bps: p.rate().bps(),
            packets: c.packets,
            bytes: c.bytes,
            utilisation: (c.busy_ps as f64 / measured).min(1.0),
            utilisation_window: network.utilisation_in_window(port),
            dropped: c.dropped,
            trimmed: c.trimmed,
            marked: c.marked,
            queue_max_packets: c.max_packets,
            queue_max_bytes: c.max_bytes,
            queue_mean_bytes: c.waited as f64 / measured,
            pause_frames: pauses.frames,
            paused_ps: pauses.paused_ps,
            headroom_drops: far_end.map_or(0, |far_end| far_end.ingress.lost),
        }
    };
    network.ports().iter().enumerate().map(row).collect()
}
