//! `[transport]`: which transport, and its parameters.

use super::RoutingMode;
use super::decoding;
use super::preset_names::PresetNames;
use super::queue::QueueKind;
use super::scdp::ScdpKeys;
use super::window_rule::WindowRule;
use crate::host::decode_table::DecodeTable;
use crate::host::decoder::DecodeModel;
use crate::host::protocol::{Protocol, Transport};
use crate::host::scdp::ScdpSettings;
use crate::workload::Fault;
use anabranch_transport::homa::HomaConfig;
use anabranch_transport::multipath::{FrontBackConfig, MptcpConfig};
use anabranch_transport::ndp::NdpConfig;
use anabranch_transport::phost::PhostConfig;
use anabranch_transport::roce::{Congestion, DcqcnConfig, HpccConfig, RoceConfig, TimelyConfig};
use anabranch_transport::scdp::{MAX_BLOCK_SYMBOLS, Repair, ScdpConfig};
use anabranch_transport::tcp::{Algorithm, LongFlowBy, PfabricConfig, SwiftConfig, TcpConfig};
use anabranch_transport::udp::UdpConfig;
use anabranch_transport::uec::UecConfig;
use anabranch_transport::{Bytes, ConfigError, PriorityBy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! transports {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal: $queue:ident, $routing:ident, $page:literal, $protocol:expr $(, decoding: $decoding:expr)?;)+) => {
        /// A transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum TransportName {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant,)+
        }

        impl TransportName {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// As in scenario files and result tables.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The queue discipline that the transport was made for: `switch.queue = "auto"`.
            pub fn queue(self) -> QueueKind {
                match self { $(Self::$variant => QueueKind::$queue,)+ }
            }

            /// `routing.mode = "auto"`: transports that do not mind reordering spray, TCP hashes flows.
            pub fn routing(self) -> RoutingMode {
                match self { $(Self::$variant => RoutingMode::$routing,)+ }
            }

            /// The page that says what of it is implemented, and what differs: in `docs/fidelity/`, without its ending.
            pub(super) fn page(self) -> &'static str {
                match self { $(Self::$variant => $page,)+ }
            }

            /// What decides the decode latency, in words; `None` if nothing is decoded, or in no time.
            pub(super) fn decoding(self, config: &TransportConfig) -> Option<String> {
                let decoding: Option<fn(&TransportConfig) -> String> = match self {
                    $(Self::$variant => None$(.or(Some($decoding)))?,)+
                };
                decoding.map(|describe| describe(config))
            }

            fn protocol(self, config: &TransportConfig) -> Protocol {
                let protocol: fn(&TransportConfig) -> Protocol = match self { $(Self::$variant => $protocol,)+ };
                protocol(config)
            }
        }
    };
}

// The registry: one line per transport. Name, the queue and the routing that `auto` stands for, the protocol; where decoding
// takes time, what decides how long.
transports! {
    /// Receiver-driven and rateless; also one-to-many and many-to-one.
    Scdp = "scdp": MlfqTrim, PerPacket, "scdp-protocol", |c| Protocol::Scdp(c.scdp.settings()), decoding: |c| decoding::describe(&c.scdp.decoding);
    /// Receiver-driven over trimming switches.
    Ndp = "ndp": Trim, PerPacket, "ndp", |c| Protocol::Ndp(c.ndp.clone());
    /// Receiver-driven over strict priorities that receivers choose (SIGCOMM 2018).
    Homa = "homa": Priority, PerPacket, "homa", |c| Protocol::Homa(c.homa.clone());
    /// Receiver-driven by tokens that expire, over two or three strict priorities (CoNEXT 2015).
    Phost = "phost": Priority, PerPacket, "phost", |c| Protocol::Phost(c.phost.clone());
    /// TCP NewReno (RFC 6582).
    Newreno = "newreno": DropTail, PerFlow, "tcp", |c| c.tcp(Algorithm::NewReno);
    /// TCP Reno (RFC 5681).
    Reno = "reno": DropTail, PerFlow, "tcp", |c| c.tcp(Algorithm::Reno);
    /// TCP CUBIC (RFC 9438).
    Cubic = "cubic": DropTail, PerFlow, "tcp", |c| c.tcp(Algorithm::Cubic);
    /// DCTCP (RFC 8257).
    Dctcp = "dctcp": Ecn, PerFlow, "tcp", |c| c.tcp(Algorithm::Dctcp);
    /// DCTCP that yields by deadline (SIGCOMM 2012).
    D2tcp = "d2tcp": Ecn, PerFlow, "tcp", |c| c.tcp(Algorithm::D2tcp);
    /// DCTCP that yields less for short flows (Joy 2015).
    FaDctcp = "fa-dctcp": Ecn, PerFlow, "tcp", |c| c.tcp(Algorithm::FaDctcp);
    /// NewReno that answers the marks of a threshold on the queue as it is (Wu et al. 2012).
    EcnStar = "ecn-star": Ecn, PerFlow, "tcp", TransportConfig::ecn_star;
    /// DCTCP that grows less and yields more with the bytes sent (INFOCOM 2013).
    L2dct = "l2dct": Ecn, PerFlow, "tcp", |c| c.tcp(Algorithm::L2dct);
    /// DCTCP with paced segments, over phantom queues (NSDI 2012).
    Hull = "hull": Phantom, PerFlow, "tcp", |c| c.tcp(Algorithm::Hull);
    /// Flows at full rate over queues that go by what remains of them (SIGCOMM 2013).
    Pfabric = "pfabric": Pfabric, PerPacket, "tcp", |c| Protocol::Tcp(c.pfabric.over(&c.tcp));
    /// A window by the distance of round trips from a target, below one packet too (SIGCOMM 2020).
    Swift = "swift": DropTail, PerFlow, "tcp", |c| Protocol::Tcp(c.tcp.with_swift(&c.swift));
    /// DCTCP whose packets fall in priority with the bytes sent (NSDI 2015).
    Pias = "pias": Mlfq, PerFlow, "pias", TransportConfig::pias;
    /// SCDP's predecessor: plain trimming switches, one source block per object, independent repair symbols.
    Polyraptor = "polyraptor": Trim, PerPacket, "polyraptor", TransportConfig::polyraptor;
    /// NDP whose packets fall in priority with the bytes sent (SCDP §V).
    NdpPlus = "ndp+": MlfqTrim, PerPacket, "ndp", TransportConfig::ndp_plus;
    /// No acknowledgement, repetition or congestion control: for traffic that follows a volume series.
    Udp = "udp": DropTail, PerFlow, "udp", |c| Protocol::Udp(c.udp.clone());
    /// RoCEv2's reliable connection: go-back-N, for fabrics that lose nothing (`switch.pfc`).
    Roce = "roce": DropTail, PerFlow, "roce", |c| Protocol::Roce(c.roce.clone());
    /// RoCEv2 with DCQCN, which answers marks (SIGCOMM 2015).
    Dcqcn = "dcqcn": Ecn, PerFlow, "roce", |c| Protocol::Roce(c.roce.with(Congestion::Dcqcn(c.dcqcn.clone())));
    /// RoCEv2 with TIMELY, which goes by round trips (SIGCOMM 2015).
    Timely = "timely": DropTail, PerFlow, "roce", |c| Protocol::Roce(c.roce.with(Congestion::Timely(c.timely.clone())));
    /// RoCEv2 with HPCC, which goes by what switches write into its packets (SIGCOMM 2019).
    Hpcc = "hpcc": DropTail, PerFlow, "hpcc", TransportConfig::hpcc;
    /// Ultra Ethernet: sprayed by its senders over trimming switches that mark, by a window or the receiver's credit (Ultra Ethernet 1.0, 2025).
    Uec = "uec": TrimEcn, PerFlow, "uec", |c| Protocol::Uec(c.uec.clone());
    /// The receiver's credit, and packets sprayed by their sender over trimming switches (NSDI 2022).
    Eqds = "eqds": Trim, PerFlow, "uec", |c| Protocol::Uec(c.uec.eqds());
    /// Blocks from front and back over several TCP connections, each on a path of its own (Song 2017).
    FrontBack = "front-back": DropTail, PerFlow, "front-back", |c| Protocol::Multipath(c.front_back.over(&c.tcp));
    /// Multipath TCP (RFC 8684).
    Mptcp = "mptcp": DropTail, PerFlow, "mptcp", |c| Protocol::Multipath(c.mptcp.over(&c.tcp));
}

/// How `priority_thresholds` may look.
const THRESHOLDS: &str = "priority_thresholds = [\"10kB\", \"100kB\", \"1MB\", \"10MB\"]";

macro_rules! parameters {
    ($($(#[$meta:meta])* $table:ident: $config:ty;)+) => {
        /// Which transport, and the parameters of all of them: a sweep over `transport.name` uses each in its turn.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct TransportConfig {
            /// The transport.
            pub name: TransportName,
            /// Parameters as in a paper or in its authors' program, by name, or a list of names where several transports take part: one of
            /// the [presets](#presets). It gives the keys of `[transport]` and `[switch]` that the scenario itself does not give.
            #[serde(default, skip_serializing)]
            pub preset: PresetNames,
            /// Windows of all transports. `given`: those of each transport's own keys, which are the papers' and fill links of 1 Gbps.
            /// `bdp`: what fills the longest path of the fabric (its rate times its round trip), for the initial window of SCDP, NDP, Ultra Ethernet, EQDS and
            /// pFabric, for Homa's `rtt_bytes`, for pHost's `window`, and for the receive window of TCP, MPTCP and Front-Back; `2 bdp`: twice that, and so on, from 0.001 to 1000.
            /// All senders of a many-to-one session but one have it together (SCDP §IV-E), and SCDP's `reorder_tolerance`, if it is as by default, becomes
            /// twice the window. Receivers of large one-to-many sessions ask for several symbols at once: `transport.scdp.symbols_per_pull`.
            #[serde(default)]
            pub window: WindowRule,
            $($(#[$meta])* #[serde(default)] pub $table: $config,)+
        }

        impl TransportConfig {
            /// This transport, all parameters as by default.
            pub fn by_default(name: TransportName) -> Self {
                Self { name, preset: PresetNames::default(), window: WindowRule::Given, $($table: <$config>::default(),)+ }
            }

            /// What is wrong with the parameters.
            pub fn check(&self) -> Vec<Fault> {
                let tables = [$((stringify!($table), self.$table.validate()),)+];
                let errors = tables.into_iter().filter_map(|(table, result)| result.err().map(|e| fault(table, e)));
                errors.chain(self.without_effect()).chain(self.windows_without_effect()).collect()
            }
        }
    };
}

// The registry of parameters: one line per protocol, and so one table `[transport.TABLE]`.
parameters! {
    /// Parameters of SCDP, and of Polyraptor but for those that make the difference.
    scdp: ScdpKeys;
    /// Parameters of NDP and NDP+.
    ndp: NdpConfig;
    /// Parameters of Homa.
    homa: HomaConfig;
    /// Parameters of pHost.
    #[serde(skip_serializing_if = "PhostConfig::is_default")]
    phost: PhostConfig;
    /// Parameters of TCP with any congestion control, and of PIAS.
    tcp: TcpConfig;
    /// Parameters of pFabric; all others are those of `transport.tcp`.
    pfabric: PfabricConfig;
    /// Parameters of Swift; all others are those of `transport.tcp`.
    #[serde(skip_serializing_if = "SwiftConfig::is_default")]
    swift: SwiftConfig;
    /// Parameters of UDP.
    udp: UdpConfig;
    /// Parameters of RoCEv2, with DCQCN, TIMELY or HPCC, and without.
    #[serde(skip_serializing_if = "RoceConfig::is_default")]
    roce: RoceConfig;
    /// Parameters of DCQCN; all others are those of `transport.roce`.
    #[serde(skip_serializing_if = "DcqcnConfig::is_default")]
    dcqcn: DcqcnConfig;
    /// Parameters of TIMELY; all others are those of `transport.roce`.
    #[serde(skip_serializing_if = "TimelyConfig::is_default")]
    timely: TimelyConfig;
    /// Parameters of HPCC; all others are those of `transport.roce`.
    #[serde(skip_serializing_if = "HpccConfig::is_default")]
    hpcc: HpccConfig;
    /// Parameters of Ultra Ethernet's transport, and of EQDS but for its control.
    #[serde(skip_serializing_if = "UecConfig::is_default")]
    uec: UecConfig;
    /// Parameters of Front-Back; all others are those of `transport.tcp`.
    front_back: FrontBackConfig;
    /// Parameters of MPTCP; all others are those of `transport.tcp`.
    mptcp: MptcpConfig;
}

fn fault(table: &str, error: ConfigError) -> Fault {
    let fault = Fault::new(format!("{table}.{}", error.field), error.problem);
    if error.field == "priority_thresholds" { fault.hint(THRESHOLDS) } else { fault }
}

impl TransportConfig {
    /// What one of these names, where it is used, cannot make of the parameters of TCP or RoCE: packets that are too small for what several
    /// connections or switches have to say in them, rules that its window does not have.
    pub(super) fn check_used(&self, used: impl Iterator<Item = TransportName>) -> Option<Fault> {
        let (good_tcp, good_roce) = (self.tcp.validate().is_ok(), self.roce.validate().is_ok());
        let mut errors = used.filter_map(|name| match name.protocol(self) {
            Protocol::Multipath(config) => config.validate().err().map(|error| ("tcp", error)),
            Protocol::Tcp(config) if good_tcp => config.validate().err().map(|error| ("tcp", error)),
            Protocol::Roce(config) if good_roce => config.validate().err().map(|error| ("roce", error)),
            _ => None,
        });
        errors.next().map(|(table, error)| fault(table, error))
    }

    /// Keys that nothing reads, as the others are.
    fn without_effect(&self) -> Option<Fault> {
        let tcp = &self.tcp;
        let sized = tcp.long_flow_size != TcpConfig::default().long_flow_size;
        let fault = match tcp.long_flow_by {
            LongFlowBy::Queued if !tcp.long_flow_ports.is_empty() => {
                let why = "has no effect with long_flow_by = \"queued\", the default";
                Fault::new("tcp.long_flow_ports", why).hint("long_flow_by = \"port\", or \"either\"")
            }
            LongFlowBy::Port if sized => Fault::new("tcp.long_flow_size", "has no effect with long_flow_by = \"port\"")
                .hint("long_flow_by = \"queued\", or \"either\""),
            _ => return None,
        };
        Some(fault.warn())
    }

    /// Windows that are given although the fabric decides them.
    fn windows_without_effect(&self) -> Vec<Fault> {
        if self.window == WindowRule::Given {
            return Vec::new();
        }
        let default = Self { scdp: ScdpKeys::of(self.scdp.preset), ..Self::by_default(self.name) };
        let both = |c: &Self| [c.scdp.protocol.initial_window, c.scdp.protocol.initial_window_many_to_one];
        let given = [
            ("scdp.initial_window", both(self)[0] != both(&default)[0]),
            ("scdp.initial_window_many_to_one", both(self)[1] != both(&default)[1]),
            ("ndp.initial_window", self.ndp.initial_window != default.ndp.initial_window),
            ("homa.rtt_bytes", self.homa.rtt_bytes != default.homa.rtt_bytes),
            ("phost.window", self.phost.window != default.phost.window),
            ("pfabric.initial_window", self.pfabric.initial_window != default.pfabric.initial_window),
            ("uec.initial_window", self.uec.initial_window.is_some()),
            ("tcp.receive_window", self.tcp.receive_window != default.tcp.receive_window),
        ];
        let why = format!("has no effect with window = \"{}\"", self.window);
        let idle = given.into_iter().filter(|(_, given)| *given);
        idle.map(|(key, _)| Fault::new(key, why.clone()).hint("window = \"given\"").warn()).collect()
    }

    /// What a transport's name stands for, with the parameters given.
    pub fn transport(&self, name: TransportName) -> Transport {
        Transport { name: name.name().to_owned(), protocol: name.protocol(self) }
    }

    fn tcp(&self, congestion: Algorithm) -> Protocol {
        Protocol::Tcp(TcpConfig { congestion, ..self.tcp.clone() })
    }

    /// "It does not need any modification on ECN protocol at the end servers" (Wu et al. 2012, abstract): RFC 3168 as it is.
    fn ecn_star(&self) -> Protocol {
        Protocol::Tcp(TcpConfig { congestion: Algorithm::NewReno, ecn: true, ..self.tcp.clone() })
    }

    /// With room for what switches write into packets, in acknowledgements, too.
    fn hpcc(&self) -> Protocol {
        let header = Bytes(self.roce.header.0.saturating_add(self.hpcc.telemetry.0));
        Protocol::Roce(RoceConfig { header, ..self.roce.with(Congestion::Hpcc(self.hpcc.clone())) })
    }

    fn pias(&self) -> Protocol {
        // By bytes sent, as it is defined (NSDI 2015 §3), unless its own parameters say otherwise.
        let priority_thresholds = self.thresholds(&self.tcp.priority_thresholds);
        Protocol::Tcp(TcpConfig { congestion: Algorithm::Dctcp, priority_thresholds, ..self.tcp.clone() })
    }

    fn ndp_plus(&self) -> Protocol {
        let priority_thresholds = self.thresholds(&self.ndp.priority_thresholds);
        let own = !self.ndp.priority_thresholds.is_empty() || self.ndp.priority_by != PriorityBy::default();
        let priority_by = if own { self.ndp.priority_by } else { self.scdp.protocol.priority_by };
        Protocol::Ndp(NdpConfig { priority_thresholds, priority_by, ..self.ndp.clone() })
    }

    /// Thesis, chapter 3 (the Polyraptor poster): two queues, so no priorities; "statistically unique" repair symbols; blocks
    /// are not pipelined, and decoding takes no time.
    fn polyraptor(&self) -> Protocol {
        let ScdpKeys { protocol, decoding, .. } = self.scdp.clone();
        let protocol = ScdpConfig {
            priority_thresholds: Vec::new(),
            block_symbols: MAX_BLOCK_SYMBOLS,
            repair: Repair::Random,
            ..protocol
        };
        let decoding = DecodeModel { decode_table: DecodeTable::default(), decode_polynomial: vec![0.0], ..decoding };
        Protocol::Scdp(ScdpSettings { protocol: protocol.into(), decoding: decoding.into() })
    }

    /// "For uniformity, we use the same priority demoting thresholds for PIAS as in SCDP and NDP+" (SCDP §V), unless the
    /// transport has its own.
    fn thresholds(&self, own: &[Bytes]) -> Vec<Bytes> {
        if own.is_empty() { self.scdp.protocol.priority_thresholds.clone() } else { own.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::Duration;

    fn config() -> TransportConfig {
        TransportConfig::by_default(TransportName::Scdp)
    }

    #[test]
    fn polyraptor_is_scdp_without_what_came_later() {
        let mut c = config();
        (c.scdp.protocol.initial_window, c.scdp.decoding.decode_polynomial) = (7, vec![3.0]);
        let Protocol::Scdp(scdp) = c.transport(TransportName::Polyraptor).protocol else { panic!("it is SCDP's kin") };
        assert_eq!(scdp.validate(), Ok(()));
        assert_eq!((scdp.initial_window, scdp.repair), (7, Repair::Random));
        assert_eq!(scdp.priority_thresholds, []);
        assert_eq!(scdp.decoding.latency(50_000, Bytes(1436)), Duration::ZERO);
        assert_eq!(scdp.block_symbols, MAX_BLOCK_SYMBOLS);
        assert_eq!(TransportName::Polyraptor.queue(), QueueKind::Trim);
    }

    #[test]
    fn ecn_star_is_newreno_with_ecn_over_a_marking_queue() {
        let Protocol::Tcp(tcp) = config().transport(TransportName::EcnStar).protocol else { panic!("it is TCP") };
        assert_eq!(tcp, TcpConfig { ecn: true, ..TcpConfig::default() });
        assert_eq!(tcp.congestion, Algorithm::NewReno);
        assert_eq!(TransportName::EcnStar.queue(), QueueKind::Ecn);
    }

    #[test]
    fn packets_without_room_beside_a_mapping_are_told() {
        let faults = |name, packet| {
            let mut c = TransportConfig::by_default(name);
            c.tcp.packet = Bytes(packet);
            c.check_used([TransportName::Reno, name].into_iter()).map(|fault| fault.key)
        };
        assert_eq!(faults(TransportName::Mptcp, 69), None);
        assert_eq!(faults(TransportName::FrontBack, 68), None);
        assert_eq!(faults(TransportName::Mptcp, 68).as_deref(), Some("tcp.packet"));
    }

    #[test]
    fn names_are_those_of_the_files() {
        for &name in TransportName::ALL {
            assert_eq!(serde_json::to_value(name).unwrap(), name.name());
            assert_eq!(config().transport(name).name, name.name());
        }
    }

    #[test]
    fn ports_of_long_flows_that_nothing_reads_are_told() {
        let warned = |by: LongFlowBy| {
            let mut c = config();
            (c.tcp.long_flow_by, c.tcp.long_flow_ports) = (by, vec![22]);
            c.check().len()
        };
        assert_eq!([LongFlowBy::Queued, LongFlowBy::Port, LongFlowBy::Either].map(warned), [1, 0, 0]);
        let mut c = config();
        (c.tcp.long_flow_by, c.tcp.long_flow_ports, c.tcp.long_flow_size) = (LongFlowBy::Port, vec![22], Bytes(5000));
        assert_eq!(c.check().len(), 1, "a size, neither");
    }

    #[test]
    fn pias_and_ndp_plus_take_scdp_s_thresholds_unless_they_have_their_own() {
        let thresholds = |c: &TransportConfig| {
            [TransportName::Pias, TransportName::NdpPlus].map(|name| match c.transport(name).protocol {
                Protocol::Tcp(tcp) => {
                    assert_eq!(tcp.congestion, Algorithm::Dctcp);
                    tcp.priority_thresholds
                }
                Protocol::Ndp(ndp) => ndp.priority_thresholds,
                other => unreachable!("neither is {other:?}"),
            })
        };
        let mut c = config();
        let paper = [10_000, 100_000, 1_000_000, 10_000_000].map(Bytes).to_vec();
        assert_eq!(thresholds(&c), [paper.clone(), paper]);
        c.scdp.protocol.priority_thresholds = vec![Bytes(5)];
        c.tcp.priority_thresholds = vec![Bytes(7)];
        assert_eq!(thresholds(&c), [vec![Bytes(7)], vec![Bytes(5)]]);
        // Plain NDP and DCTCP have one priority.
        assert!(
            matches!(c.transport(TransportName::Ndp).protocol, Protocol::Ndp(ndp) if ndp.priority_thresholds.is_empty())
        );
    }
}
