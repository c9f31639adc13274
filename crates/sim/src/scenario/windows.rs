//! `transport.window`: windows that follow the fabric.

use super::{RoutingMode, Scenario, TransportName};
use crate::fabric::graph::Graph;
use crate::fabric::routing::{Exchange, LongestPath, Routes};
use crate::host::protocol::{Protocol, Transport};
use crate::workload::{Mode, PlacementConfig};
use anabranch_transport::Bytes;
use anabranch_transport::scdp::ScdpConfig;
use anabranch_transport::tcp::Algorithm;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Largest windows that the transports admit.
const NDP_MAX: u64 = 16_384;
const SCDP_MAX: u64 = 65_535;
const PFABRIC_MAX: u64 = 1000;
const TCP_MAX: u64 = 1 << 30;

/// Where windows come from: `"given"`, `"bdp"`, or a multiple of it such as `"2 bdp"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowRule {
    /// From each transport's own keys.
    #[default]
    Given,
    /// So many thousandths of the bandwidth-delay product of the fabric's longest path.
    Bdp(u32),
}

impl FromStr for WindowRule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed == "given" {
            return Ok(Self::Given);
        }
        let factor = trimmed.strip_suffix("bdp").map(str::trim);
        let factor = factor.and_then(|factor| if factor.is_empty() { Some(1.0) } else { factor.parse::<f64>().ok() });
        match factor {
            Some(factor) if (0.001..=1000.0).contains(&factor) => Ok(Self::Bdp((factor * 1000.0).round() as u32)),
            Some(factor) => Err(format!("{text:?} is not a window: {factor} is not from 0.001 to 1000")),
            None => Err(format!("{text:?} is not a window: write it like \"given\", \"bdp\" or \"2 bdp\"")),
        }
    }
}

impl fmt::Display for WindowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Given => f.write_str("given"),
            Self::Bdp(1000) => f.write_str("bdp"),
            Self::Bdp(thousandths) => write!(f, "{} bdp", f64::from(thousandths) / 1000.0),
        }
    }
}

impl Serialize for WindowRule {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WindowRule {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for WindowRule {
    fn schema_name() -> Cow<'static, str> {
        "WindowRule".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["given", "bdp", "2 bdp"],
            "pattern": r"^(given|([0-9]+(\.[0-9]+)? *)?bdp)$",
            "description": "where windows come from, for example bdp" })
    }
}

/// The fabric of a scenario as its windows see it.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) graph: Arc<Graph>,
    pub(super) routes: Arc<Routes>,
}

impl Scenario {
    /// The longest path of the packets of a transport.
    pub(super) fn longest_path(
        &self,
        name: TransportName,
        transport: &Transport,
        paths: &Paths,
    ) -> Option<LongestPath> {
        let mode = self.routing.resolve(name);
        let sprayed = matches!(mode, RoutingMode::PerPacket | RoutingMode::PerPacketPermuted);
        let exchange = Exchange {
            packet: transport.packet_bytes(),
            reply: transport.header_bytes(),
            spread: sprayed || matches!(transport.protocol, Protocol::Multipath(_)),
        };
        LongestPath::of(&paths.graph, &paths.routes, exchange)
    }

    /// A transport with the windows that it has in this fabric. Only those that follow the fabric need to know it.
    pub(super) fn carrier(&self, name: TransportName, paths: Option<&Paths>) -> Transport {
        let mut transport = self.transport.transport(name);
        if let WindowRule::Bdp(thousandths) = self.transport.window
            && let Some(path) = paths.and_then(|paths| self.longest_path(name, &transport, paths))
        {
            let bytes = u128::from(path.bdp().0) * u128::from(thousandths);
            let packets = bytes.div_ceil(1000 * u128::from(transport.packet_bytes().max(1)));
            let packets = u64::try_from(packets).unwrap_or(u64::MAX).max(1);
            set_window(&mut transport, packets, u64::from(self.senders_of_a_session()));
        }
        transport
    }

    /// Senders of a many-to-one session; 1 if there are none, and of a trace, which may have any number.
    pub(super) fn senders_of_a_session(&self) -> u32 {
        let senders = self.workload.iter().filter_map(|workload| match &workload.placement {
            Some(placement @ PlacementConfig::Replicas(replicas)) => {
                let mode = placement.law().mode(workload.mode).ok()?;
                (mode == Mode::ManyToOne).then_some(replicas.replicas)
            }
            _ => None,
        });
        senders.min().unwrap_or(1).max(1)
    }
}

/// Gives a transport a window of so many packets; the senders of a many-to-one session have it together.
#[allow(clippy::match_wildcard_for_single_variants)] // one today
fn set_window(transport: &mut Transport, packets: u64, senders: u64) {
    let payload = transport.packet_bytes() - transport.header_bytes();
    let receive = Bytes(packets.saturating_mul(payload).min(TCP_MAX));
    match &mut transport.protocol {
        Protocol::Ndp(config) => config.initial_window = packets.min(NDP_MAX) as u32,
        Protocol::Scdp(config) => {
            let config = Arc::make_mut(&mut config.protocol);
            config.initial_window = packets.min(SCDP_MAX) as u32;
            config.initial_window_many_to_one = packets.div_ceil(senders).min(SCDP_MAX) as u32;
            let tolerance = ScdpConfig::default().reorder_tolerance;
            if config.reorder_tolerance == tolerance {
                config.reorder_tolerance = tolerance.max(config.initial_window.saturating_mul(2));
            }
        }
        Protocol::Tcp(config) => {
            config.receive_window = receive;
            if config.congestion == Algorithm::Pfabric {
                config.initial_window = packets.min(PFABRIC_MAX) as u32;
            }
        }
        Protocol::Multipath(config) => config.set_receive_window(receive),
        // UDP has no window, and a transport that is added need not have one.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Plan, parse};

    #[test]
    fn rules_read_back() {
        for text in ["given", "bdp", "2 bdp", "0.5 bdp"] {
            assert_eq!(text.parse::<WindowRule>().map(|rule| rule.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(" 1.5bdp ".parse(), Ok(WindowRule::Bdp(1500)));
        for text in ["", "12", "0 bdp", "-1 bdp", "1001 bdp", "nan bdp", "bdp 2", "BDP"] {
            assert!(text.parse::<WindowRule>().is_err_and(|e| e.contains("is not a window")), "{text:?}");
        }
    }

    const SCENARIO: &str = r#"
        [fabric]
        topology = "leaf-spine"
        leaves = 2
        spines = 2
        hosts_per_leaf = 4
        rate = "100Gbps"
        delay = "1us"
        [transport]
        name = "ndp"
        window = "bdp"
        [[workload]]
        name = "w"
        sizes = { law = "fixed", size = "10MB" }
        placement = { pattern = "pairs", pairs = [[0, 4]] }
    "#;

    fn plan(overrides: &[&str]) -> Plan {
        let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
        parse("test.toml", SCENARIO, &overrides).unwrap_or_else(|e| panic!("{overrides:?}: {e}"))
    }

    fn carrier(name: TransportName, overrides: &[&str]) -> Protocol {
        let plan = plan(overrides);
        let scenario = &plan.runs[0].scenario;
        let paths = plan.fabrics.paths(&scenario.fabric, &plan.base).expect("a fabric");
        scenario.carrier(name, Some(&paths)).protocol
    }

    /// 8.5 us at 100 Gbps are 106 KB: 71 packets of 1500 B.
    #[test]
    fn each_transport_s_window_is_the_bandwidth_delay_product() {
        use TransportName::{Cubic, Dctcp, Mptcp, Ndp, NdpPlus, Pfabric, Polyraptor, Scdp};
        for name in [Ndp, NdpPlus] {
            let Protocol::Ndp(ndp) = carrier(name, &[]) else { panic!("{name:?}") };
            assert_eq!(ndp.initial_window, 71);
        }
        for name in [Scdp, Polyraptor] {
            let Protocol::Scdp(scdp) = carrier(name, &[]) else { panic!("{name:?}") };
            assert_eq!((scdp.initial_window, scdp.initial_window_many_to_one, scdp.reorder_tolerance), (71, 71, 142));
        }
        // An ACK has 40 B, so the round trip is a little shorter: 71 segments of 1460 B.
        for name in [Dctcp, Cubic] {
            let Protocol::Tcp(tcp) = carrier(name, &[]) else { panic!("{name:?}") };
            assert_eq!((tcp.receive_window, tcp.initial_window), (Bytes(71 * 1460), 10));
        }
        let Protocol::Tcp(pfabric) = carrier(Pfabric, &[]) else { panic!("pFabric is TCP") };
        assert_eq!((pfabric.initial_window, pfabric.receive_window), (71, Bytes(71 * 1460)));
        let Protocol::Multipath(mptcp) = carrier(Mptcp, &["transport.window=2 bdp"]) else { panic!("it has subflows") };
        assert_eq!(mptcp.receive_window(), Bytes(142 * 1432));
    }

    #[test]
    fn windows_follow_packets_rates_and_delays() {
        let ndp = |overrides: &[&str]| match carrier(TransportName::Ndp, overrides) {
            Protocol::Ndp(ndp) => ndp.initial_window,
            other => panic!("{other:?}"),
        };
        // Four links, both ways: 4 x (2 us + 720 ns + 5 ns) = 10.9 us, 136 KB.
        assert_eq!(ndp(&["transport.ndp.packet=9000B"]), 16);
        assert_eq!(ndp(&["transport.ndp.packet=512B"]), 200);
        assert_eq!(ndp(&["fabric.rate=1Gbps"]), 5, "58 us at 1 Gbps");
        assert_eq!(ndp(&["fabric.delay=10us"]), 671);
        assert_eq!(ndp(&["transport.window=0.5 bdp"]), 36);
        assert_eq!(ndp(&["transport.window=given"]), 12);
        assert_eq!(ndp(&["fabric.delay=1s"]), 16_384, "as many as there can be");
    }

    #[test]
    fn the_senders_of_a_session_have_the_window_together() {
        let many = [
            "workload.w.placement={ pattern = \"replicas\", replicas = 3, access = \"read\" }",
            "workload.w.sessions=1",
        ];
        let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &many) else { panic!("it is SCDP") };
        assert_eq!((scdp.initial_window, scdp.initial_window_many_to_one), (71, 24));
        let given = [&many[..], &["transport.scdp.reorder_tolerance=30"]].concat();
        let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &given) else { panic!("it is SCDP") };
        assert_eq!(scdp.reorder_tolerance, 30, "what is given stays");
    }
}
