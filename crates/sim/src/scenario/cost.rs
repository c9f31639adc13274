//! What a run will cost, roughly, before it is run.

use super::Scenario;
use super::build::Prepared;
use crate::workload::Session;
use anabranch_transport::{Rate, Time};

/// Bytes of a packet for this purpose; transports may use others.
const PACKET: u64 = 1500;

impl Prepared {
    /// Data packets that the hosts will receive: a measure of a run's cost, right to a factor of two or so.
    ///
    /// The run is taken to end when its last request would be served on an idle fabric, and a flow without end to fill
    /// its host's link until then. Repeated packets, pulls, ACKs and hops are not counted.
    pub fn packets(&self, scenario: &Scenario) -> u64 {
        let ports = self.graph.host_ports();
        let link = ports.first().and_then(|port| self.graph.links.get((port / 2) as usize));
        let rate = link.map_or(Rate::from_gbps(1), |link| link.rate);
        let workload = |session: &Session| scenario.workload.get(usize::from(session.group));
        // When a session ends, if anything but the run's end ends it.
        let ends = |session: &Session| match session.size {
            Some(size) => Some(session.start + rate.transmit_time(size.0)),
            None => Some(session.start + workload(session)?.duration()?),
        };
        let awaited = self.sessions.iter().filter(|&s| workload(s).is_some_and(|w| !w.is_background()));
        let limit = scenario.run.time_limit.map(|limit| Time::ZERO + limit);
        let end = match (awaited.filter_map(ends).max(), limit) {
            (Some(last), Some(limit)) => last.min(limit),
            (last, limit) => last.or(limit).unwrap_or(Time::ZERO),
        };
        let packets = self.sessions.iter().filter(|session| session.start < end).map(|session| {
            if let Some(size) = session.size {
                return size.0.div_ceil(PACKET) * session.sinks.len() as u64;
            }
            let lasts = ends(session).map_or(end, |own| own.min(end)).since(session.start);
            lasts.ps() / rate.transmit_time(PACKET).ps().max(1)
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
        // The second request would come with the end.
        assert_eq!(packets(&limited), 1000 + 1000);
        let lasting = parse("test.toml", text, &["workload.1.sizes.duration=6ms".to_owned()]).unwrap();
        assert_eq!(packets(&lasting), 2 * 1000 + 500);
        let copies = text.replace("\"interval\", every = \"12ms\"", "\"synchronised\"");
        assert_eq!(packets(&parse("test.toml", &copies, &[]).unwrap()), 2 * 1000 + 1000);
    }
}
