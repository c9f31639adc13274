//! What a run will cost, roughly, before it is run.

use super::Scenario;
use super::build::Prepared;
use crate::workload::{Session, WorkloadConfig};
use anabranch_transport::{Bytes, Rate, Time};

/// Bytes of a packet for this purpose; transports may use others.
const PACKET: u64 = 1500;

impl Prepared {
    /// Data packets that the hosts will receive: a measure of a run's cost, right to a factor of two or so.
    ///
    /// Hosts are taken to receive one session after the other at the rate of their link; the run ends when the last one
    /// that it waits for is served, and a flow without end fills its host's link until then. Repeated packets, pulls,
    /// ACKs and hops are not counted.
    pub fn packets(&self, scenario: &Scenario) -> u64 {
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
        let packets = self.sessions.iter().filter(|session| session.start < end).map(|session| {
            let own = workload(session).and_then(WorkloadConfig::duration).map_or(end, |lasts| session.start + lasts);
            let most = own.min(end).since(session.start).ps().div_ceil(rate.transmit_time(PACKET).ps().max(1));
            session.size.map_or(most, |size| size.0.div_ceil(PACKET).min(most)) * session.sinks.len() as u64
        });
        packets.fold(0, u64::saturating_add)
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
        let packets =
            |plan: &crate::scenario::Plan| plan.prepare(&plan.runs[0]).unwrap().packets(&plan.runs[0].scenario);
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
        let small =
            ["run.stop_size=1MB".to_owned(), "workload.1.sizes={ law = \"fixed\", size = \"750KB\" }".to_owned()];
        assert_eq!(packets(&parse("test.toml", text, &small).unwrap()), 500 + 500);
        let copies = text.replace("\"interval\", every = \"12ms\"", "\"synchronised\"");
        assert_eq!(packets(&parse("test.toml", &copies, &[]).unwrap()), 2 * 1000 + 2000);
    }
}
