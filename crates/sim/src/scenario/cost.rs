//! What a run will cost, roughly, before it is run.

use super::{Scenario, WorkloadConfig};
use crate::fabric::graph::Graph;
use crate::network::SAMPLE_BYTES;
use crate::workload::{Fault, PlacedJob, Session};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use std::sync::Arc;

/// Memory of a run unless its scenario says otherwise.
const MEMORY_DEFAULT: Bytes = Bytes(4_000_000_000);
/// Bytes of a session from its request to its row in the tables, measured; more for each further end.
const SESSION: u64 = 1_600;
const FURTHER_END: u64 = 700;
/// The same of a message of a job, most of which are not on their way: with its operations.
const MESSAGE: u64 = 800;
/// Bytes of a recorded operation of a job: its times, its row, and its place in the table's columns.
const OPERATION: u64 = 240;
/// Bytes of a link with its two ports and its names, and of an entry of the routing tables.
const LINK: u64 = 1_600;
const ROUTE: u64 = 4;
/// Shortest paths are taken to have so many links: those of a fat-tree.
const HOPS: u64 = 6;

/// The parts of a run that its seed decides, before anything moves.
pub struct Prepared {
    /// The fabric.
    pub graph: Arc<Graph>,
    /// The sessions in order of start.
    pub sessions: Vec<Session>,
    /// The job of each workload, if its sessions are the messages of one.
    pub jobs: Vec<Option<Arc<PlacedJob>>>,
}

/// What a run will take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Hosts of the fabric.
    pub hosts: u32,
    /// Sessions, exactly for the seed that was looked at.
    pub sessions: u64,
    /// Data packets that the hosts will receive: a measure of a run's cost, right to a factor of two or so.
    pub packets: u64,
    /// Rows of the time series, at most; more if the run takes longer than its data need.
    pub samples: u64,
    /// Memory, in bytes, besides packets in flight.
    pub memory_bytes: u64,
}

impl Estimate {
    /// Says so if it is more than the scenario allows.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), Fault> {
        let limit = scenario.memory_limit();
        if self.memory_bytes <= limit {
            return Ok(());
        }
        let samples = self.samples.saturating_mul(SAMPLE_BYTES);
        let message = format!(
            "a run needs about {}: {} sessions, {} samples, {} hosts; the limit is {}",
            Bytes(rounded(self.memory_bytes)),
            self.sessions,
            self.samples,
            self.hosts,
            Bytes(limit)
        );
        let raise = "or, in [run], a higher memory_limit";
        Err(if samples > self.memory_bytes / 2 {
            Fault::new("measure.interval", message).hint(format!("a longer interval, fewer series, {raise}"))
        } else {
            Fault::new("run.memory_limit", message).hint(format!("fewer sessions or hosts, {raise}"))
        })
    }
}

/// To two digits.
fn rounded(bytes: u64) -> u64 {
    let unit = 10_u64.pow(bytes.checked_ilog10().unwrap_or(0).saturating_sub(1));
    bytes / unit * unit
}

impl Scenario {
    /// Bytes of memory that a run may take.
    pub fn memory_limit(&self) -> u64 {
        self.run.memory_limit.unwrap_or(MEMORY_DEFAULT).0
    }

    /// How many sessions fit into that.
    pub(super) fn sessions_max(&self) -> u64 {
        self.memory_limit() / SESSION
    }
}

impl Prepared {
    /// What the run will take.
    pub fn estimate(&self, scenario: &Scenario) -> Estimate {
        let (packets, end) = self.packets(scenario);
        let samples = self.samples(scenario, packets, end);
        let graph = &self.graph;
        let sessions = self.sessions.len() as u64;
        let messages: u64 = self.jobs.iter().flatten().map(|placed| placed.network.len() as u64).sum();
        let recorded = self.jobs.iter().flatten().filter(|_| scenario.measure.operations);
        let operations: u64 = recorded.map(|placed| placed.job.operations().len() as u64).sum();
        let ends: u64 = self.sessions.iter().map(|s| (s.sources.len() + s.sinks.len()) as u64 - 2).sum();
        let switches = graph.nodes.len() as u64 - u64::from(graph.hosts);
        let parts = [
            (sessions - messages).saturating_mul(SESSION),
            messages.saturating_mul(MESSAGE),
            operations.saturating_mul(OPERATION),
            ends.saturating_mul(FURTHER_END),
            samples.saturating_mul(SAMPLE_BYTES),
            graph.links.len() as u64 * LINK,
            switches.saturating_mul(switches).saturating_mul(ROUTE),
        ];
        let memory_bytes = parts.into_iter().fold(0, u64::saturating_add);
        Estimate { hosts: graph.hosts, sessions, packets, samples, memory_bytes }
    }

    /// Rows of the time series: what is sampled only has a row if something happened there, and something happens where
    /// packets go.
    fn samples(&self, scenario: &Scenario, packets: u64, end: Time) -> u64 {
        let measure = &scenario.measure;
        let Some(interval) = measure.interval.filter(|interval| *interval > Duration::ZERO) else { return 0 };
        let looks = end.ps().div_ceil(interval.ps());
        let full = scenario.packet_bytes();
        let slowest = self.graph.links.iter().map(|link| link.rate.transmit_time(full)).max().unwrap_or_default();
        // Data one way, control packets the other.
        let busy = packets.saturating_mul(2 * HOPS).saturating_mul(1 + slowest.ps().div_ceil(interval.ps()));
        let (ports, sessions) = (u64::from(self.graph.ports()), self.sessions.len() as u64);
        let per_port = looks.saturating_mul(ports).min(busy);
        let per_session = looks.saturating_mul(sessions);
        let series = [
            (measure.queues, per_port),
            (measure.links, per_port),
            (measure.volumes, per_port),
            (measure.cwnd, per_session.min(busy.saturating_add(sessions))),
            (measure.goodput, per_session.min(packets)),
        ];
        series.into_iter().filter(|(on, _)| *on).map(|(_, rows)| rows).fold(0, u64::saturating_add)
    }

    /// Data packets that the hosts will receive, and when the last one will.
    ///
    /// Hosts are taken to receive one session after the other at the rate of their link; the run ends when the last one
    /// that it waits for is served, and a flow without end fills its host's link until then. Repeated packets, pulls,
    /// ACKs and hops are not counted.
    fn packets(&self, scenario: &Scenario) -> (u64, Time) {
        let ports = self.graph.host_ports();
        let link = ports.first().and_then(|port| self.graph.links.get((port / 2) as usize));
        let rate = link.map_or(Rate::from_gbps(1), |link| link.rate);
        let workload = |session: &Session| scenario.workload.get(usize::from(session.group));
        let stop_size = scenario.run.stop_size.unwrap_or(Bytes(u64::MAX));
        let limit = scenario.run.time_limit.map_or(Time::MAX, |limit| Time::ZERO + limit);
        // When each host has received what it was asked for so far.
        let mut free = vec![Time::ZERO; self.graph.hosts as usize];
        let mut last = None;
        for session in self.sessions.iter().filter(|&s| workload(s).is_some_and(|w| !w.is_background())) {
            let end = match session.size {
                Some(size) if size <= stop_size => {
                    let ends = session.sinks.iter().filter_map(|&sink| {
                        let free = free.get_mut(sink as usize)?;
                        *free = (*free).max(session.start) + rate.transmit_time(size.0);
                        Some(*free)
                    });
                    ends.max()
                }
                Some(_) => None,
                None => workload(session).and_then(WorkloadConfig::duration).map(|lasts| session.start + lasts),
            };
            last = last.max(end);
        }
        let end = last.unwrap_or(limit).min(limit);
        let end = if end == Time::MAX { Time::ZERO } else { end };
        let full = |workload| scenario.transport.transport(scenario.transport_of(workload)).packet_bytes();
        let full: Vec<u64> = scenario.workload.iter().map(full).collect();
        let packets = self.sessions.iter().filter(|session| session.start < end).map(|session| {
            let packet = full.get(usize::from(session.group)).copied().unwrap_or(1).max(1);
            let own = workload(session).and_then(WorkloadConfig::duration).map_or(end, |lasts| session.start + lasts);
            let most = own.min(end).since(session.start).ps().div_ceil(rate.transmit_time(packet).ps().max(1));
            session.size.map_or(most, |size| size.0.div_ceil(packet).min(most)) * session.sinks.len() as u64
        });
        (packets.fold(0, u64::saturating_add), end)
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::parse;

    #[test]
    fn finite_and_endless_sessions_count() {
        let text = r#"
            [fabric]
            topology = "star"
            hosts = 8
            [transport]
            name = "scdp"
            [[workload]]
            name = "a"
            arrivals = { law = "interval", every = "12ms" }
            sizes = { law = "fixed", size = "1.5MB" }
            placement = { pattern = "pairs", pairs = [[0, 1]] }
            sessions = 2
            [[workload]]
            sizes = { law = "endless" }
            placement = { pattern = "pairs", pairs = [[2, 3]] }
        "#;
        let plan = parse("test.toml", text, &[]).unwrap();
        let packets = |plan: &crate::scenario::Plan| {
            plan.prepare(&plan.runs[0]).unwrap().estimate(&plan.runs[0].scenario).packets
        };
        // Twice 1000 packets in 24 ms at 1 Gbps, and as many beside them.
        assert_eq!(packets(&plan), 2 * 1000 + 2000);
        let limited = parse("test.toml", text, &["run.time_limit=12ms".to_owned()]).unwrap();
        assert_eq!(packets(&limited), 1000 + 1000);
        // Nothing to wait for but the time limit: 84 packets begin in 1 ms, and the second request is never made.
        let late = ["workload.0.background=true".to_owned(), "run.time_limit=1ms".to_owned()];
        assert_eq!(packets(&parse("test.toml", text, &late).unwrap()), 84 + 84);
        let lasting = parse("test.toml", text, &["workload.1.sizes.duration=6ms".to_owned()]).unwrap();
        assert_eq!(packets(&lasting), 2 * 1000 + 500);
        // What the run does not wait for is cut at its end, 12 ms after the start of the second session.
        // A sixth of the packets where each is six times as large.
        let jumbo = ["transport.scdp.packet=9000B".to_owned()];
        assert_eq!(packets(&parse("test.toml", text, &jumbo).unwrap()), 2 * 167 + 334);
        let small =
            ["run.stop_size=1MB".to_owned(), "workload.1.sizes={ law = \"fixed\", size = \"750KB\" }".to_owned()];
        assert_eq!(packets(&parse("test.toml", text, &small).unwrap()), 500 + 500);
        let copies = text.replace("\"interval\", every = \"12ms\"", "\"synchronised\"");
        assert_eq!(packets(&parse("test.toml", &copies, &[]).unwrap()), 2 * 1000 + 2000);
    }
}
