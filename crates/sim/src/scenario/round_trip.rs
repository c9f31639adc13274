//! What transports need to know of the fabric whose constants follow it: a round trip without queues, and the rate of a path.

use super::windows::Paths;
use super::{Scenario, TransportName};
use crate::host::protocol::{Protocol, Transport};
use anabranch_transport::Duration;
use anabranch_transport::roce::Congestion;

/// The least round trip that a transport is told.
const LEAST: Duration = Duration::from_ns(100);

impl Scenario {
    /// Whether the fabric decides constants of one of the transports.
    pub(super) fn needs_round_trip(&self) -> bool {
        let used = self.workload.iter().map(|workload| self.transport_of(workload));
        used.map(|name| self.transport.transport(name)).any(|transport| match &transport.protocol {
            Protocol::Roce(config) => config.hpcc().is_some_and(|hpcc| hpcc.base_rtt.is_none()),
            Protocol::Uec(_) => true,
            _ => false,
        })
    }

    /// Tells a transport the round trip of the longest path and its rate, where it goes by these and is not told otherwise.
    pub(super) fn set_round_trip(&self, name: TransportName, transport: &mut Transport, paths: Option<&Paths>) {
        if !matches!(transport.protocol, Protocol::Roce(_) | Protocol::Uec(_)) {
            return;
        }
        let Some(path) = paths.and_then(|paths| self.longest_path(name, transport, paths)) else { return };
        let round_trip = path.round_trip.max(LEAST);
        match &mut transport.protocol {
            Protocol::Roce(config) => {
                if let Some(Congestion::Hpcc(hpcc)) = &mut config.congestion {
                    hpcc.base_rtt.get_or_insert(round_trip);
                }
            }
            Protocol::Uec(config) => {
                config.rate = Some(path.rate);
                config.round_trip.get_or_insert(round_trip);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tests::plan;
    use anabranch_transport::Rate;

    const TEXT: &str = r#"
fabric = { topology = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "100Gbps", delay = "1us" }
transport = { name = "hpcc" }
[[workload]]
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
"#;

    fn carrier(name: TransportName, overrides: &[&str]) -> (bool, Protocol) {
        let name_of = format!("transport.name={}", name.name());
        let plan = plan(TEXT, &[&[name_of.as_str()], overrides].concat()).expect("it is possible");
        let scenario = &plan.runs[0].scenario;
        let paths = plan.fabrics.paths(&scenario.fabric, &plan.base).expect("a fabric");
        (scenario.needs_round_trip(), scenario.carrier(name, Some(&paths)).protocol)
    }

    #[test]
    fn hpcc_has_the_round_trip_of_the_longest_path() {
        let round_trip = |overrides: &[&str]| {
            let (needs, protocol) = carrier(TransportName::Hpcc, overrides);
            let Protocol::Roce(config) = protocol else { panic!("it is RoCE") };
            (needs, config.hpcc().and_then(|hpcc| hpcc.base_rtt))
        };
        // Four links of 1 us both ways, and on each 1068 B there, and 44 + 42 B back, at 80 ps.
        assert_eq!(round_trip(&[]), (true, Some(Duration(8_000_000 + 4 * (1068 + 86) * 80))));
        assert_eq!(round_trip(&["transport.hpcc.base_rtt=13us"]), (false, Some(Duration::from_us(13))));
    }

    #[test]
    fn ultra_ethernet_has_its_rate_too() {
        for name in [TransportName::Uec, TransportName::Eqds] {
            let (needs, Protocol::Uec(config)) = carrier(name, &[]) else { panic!("it is Ultra Ethernet's") };
            // Two paths, but a host has one link.
            assert_eq!((needs, config.rate), (true, Some(Rate::from_gbps(100))));
            assert_eq!(config.round_trip, Some(Duration(8_000_000 + 4 * (1500 + 64) * 80)));
        }
        let (_, Protocol::Uec(config)) = carrier(TransportName::Uec, &["transport.uec.round_trip=20us"]) else {
            panic!("it is Ultra Ethernet's")
        };
        assert_eq!(config.round_trip, Some(Duration::from_us(20)));
    }
}
