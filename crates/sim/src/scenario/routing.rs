//! Which routing scheme a scenario asks for.

use super::remarks::Remark;
use super::{Scenario, TransportName};
use crate::fabric::graph::Graph;
use crate::fabric::routing::{
    Conga, Detail, Flowlets, MOST_VLANS, Presto, RoutingConfig, RoutingMode, Spain, VectorNeed,
};
use crate::host::protocol::{Protocol, Transport};
use crate::workload::Fault;
use anabranch_transport::tcp::Algorithm;
use anabranch_transport::{Bytes, Duration};

/// More trees than there are ways in any fabric; each group keeps all of its own.
const MULTICAST_TREES_MAX: u32 = 1 << 16;

impl RoutingConfig {
    /// What is wrong.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(1..=MULTICAST_TREES_MAX).contains(&self.multicast_trees) {
            let message = format!("must be from 1 to {MULTICAST_TREES_MAX}, not {}", self.multicast_trees);
            faults.push(Fault::new("multicast_trees", message));
        }
        if self.flowlet.gap == Duration::ZERO {
            let fault = Fault::new("flowlet.gap", "must be above 0");
            faults.push(fault.hint("mode = \"per-packet\" is flowlets of one packet"));
        }
        faults.extend(self.letflow.0.check().map(|fault| fault.under("letflow")));
        faults.extend(self.conga.check().into_iter().map(|fault| fault.under("conga")));
        faults.extend(self.detail.check().map(|fault| fault.under("detail")));
        if self.virtual_tables.tables == 0 {
            faults.push(Fault::new("virtual_tables.tables", "must be at least 1"));
        }
        faults.extend(
            self.unused()
                .into_iter()
                .map(|key| Fault::new(key, format!("has no effect with another mode than {key}")).warn()),
        );
        faults
    }

    /// What is wrong in a fabric.
    pub(super) fn check_fabric(&self, graph: &Graph) -> Vec<Fault> {
        match self.mode {
            RoutingMode::NixVector => check_vectors(graph),
            RoutingMode::Spain => self.spain.check(graph),
            RoutingMode::Drill | RoutingMode::Letflow if graph.multi_homed() => {
                let message = "drill and letflow need hosts with one link each, to a switch: hosts do not balance";
                vec![Fault::new("mode", message).hint("choose another fabric: fat-tree, leaf-spine")]
            }
            RoutingMode::Presto => {
                let fault = |why| Fault::new("mode", format!("presto has no labels for so many paths: {why}"));
                let fault = Presto::fits(graph).err().map(fault);
                fault.map(|fault| fault.hint("mode = \"per-packet\" sprays over any number")).into_iter().collect()
            }
            RoutingMode::Conga => {
                let fault = |why| Fault::new("mode", format!("conga needs a leaf-spine fabric: {why}"));
                Conga::fits(graph)
                    .err()
                    .map(|why| fault(why).hint("mode = \"letflow\" balances flowlets in any fabric"))
            }
            .into_iter()
            .collect(),
            _ => Vec::new(),
        }
    }

    /// The mode, with `auto` decided for a transport.
    pub fn resolve(&self, transport: TransportName) -> RoutingMode {
        if self.mode == RoutingMode::Auto { transport.routing() } else { self.mode }
    }
}

impl Flowlets {
    /// What is wrong.
    fn check(&self) -> Option<Fault> {
        let fault = Fault::new("gap", "must be above 0");
        (self.gap == Duration::ZERO).then(|| fault.hint("mode = \"per-packet\" is flowlets of one packet"))
    }
}

impl Conga {
    /// What is wrong.
    fn check(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.flowlets.check().map(|fault| fault.under("flowlets")).into_iter().collect();
        // A period is a step of the estimate: the shorter, the longer a run takes.
        if self.dre_period < Duration::from_us(1) || self.dre_period > Duration::from_secs(1) {
            faults.push(Fault::new("dre_period", format!("must be from 1us to 1s, not {}", self.dre_period)));
        }
        if !(self.dre_gain > 0.0 && self.dre_gain < 1.0) {
            faults.push(Fault::new("dre_gain", format!("must be above 0 and below 1, not {}", self.dre_gain)));
        }
        if !(1..=3).contains(&self.metric_bits) {
            faults.push(Fault::new("metric_bits", format!("must be from 1 to 3, not {}", self.metric_bits)));
        }
        faults
    }
}

impl Detail {
    /// What is wrong.
    fn check(&self) -> Option<Fault> {
        let fault = |problem: String| Fault::new("thresholds", problem);
        if self.thresholds.first().is_none_or(|first| *first == Bytes(0)) {
            let problem = "a port falls to the next class at each: at least one, above 0".to_owned();
            return Some(fault(problem).hint("mode = \"per-packet\" takes a random port whatever its queue"));
        }
        let wrong = self.thresholds.windows(2).find(|pair| pair[0] >= pair[1]);
        wrong.map(|pair| fault(format!("must increase strictly: {} is not above {}", pair[1], pair[0])))
    }
}

impl Scenario {
    /// What does not go with a routing scheme, or with buffers that put packets in order; keys relative to the document.
    pub(super) fn check_order(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let (mode, packet) = (self.routing.mode, Bytes(self.packet_bytes()));
        if mode == RoutingMode::Presto && self.routing.presto.cell < packet {
            let message = format!("{} is less than a full packet of {packet}", self.routing.presto.cell);
            let fault = Fault::new("routing.presto.cell", message);
            faults.push(fault.hint("mode = \"per-packet-permuted\" gives each packet another path"));
        }
        if mode == RoutingMode::Detail && self.switch.pfc.is_none() {
            let message = "detail sees congestion farther on by the pauses that it causes: switches must lose nothing";
            faults.push(Fault::new("routing.mode", message).hint("an empty table [switch.pfc] makes them so"));
        }
        let mut carriers = self.workload.iter().map(|workload| self.transport.transport(self.transport_of(workload)));
        if self.host.reorder.is_some() && !carriers.any(|transport| transport.ordered()) {
            let message = "no workload has a transport that can be given its packets in order: TCP without subflows";
            faults.push(Fault::new("host.reorder", message).hint("transports that spray take packets in any order"));
        }
        faults
    }

    /// What a run should know whose TCP takes packets for lost that others have overtaken.
    pub(super) fn misfits_of_order(&self, name: TransportName, transport: &Transport) -> Option<Remark> {
        let Protocol::Tcp(tcp) = &transport.protocol else { return None };
        let mode = match self.routing.resolve(name) {
            RoutingMode::Presto => "presto",
            RoutingMode::Detail => "detail",
            _ => return None,
        };
        if self.host.reorder.is_some() || !tcp.fast_retransmit || tcp.congestion == Algorithm::Pfabric {
            return None;
        }
        let text = format!("{}: packets overtake each other with {mode}, and it takes those for lost", transport.name);
        Some(Remark::new("host.reorder", text, "an empty table [host.reorder] puts them in order", true))
    }
}

impl Spain {
    /// What is wrong in a fabric.
    fn check(&self, graph: &Graph) -> Vec<Fault> {
        if let Some(paths) = self.takes_minutes(graph) {
            let nodes = graph.nodes.len();
            let message = format!("spain looks for some {paths} paths through {nodes} nodes: that takes minutes");
            let hint = "a smaller fabric, or fewer paths between two edges: spain.k";
            return vec![Fault::new("mode", message).hint(hint)];
        }
        let (vlans, too_long) = self.needs(graph);
        let mut faults = Vec::new();
        if vlans > MOST_VLANS {
            let message = format!("the paths of this fabric take {vlans} VLANs; Ethernet has {MOST_VLANS}");
            faults.push(Fault::new("spain.k", message).hint("fewer paths between two edges"));
        }
        if too_long > 0 {
            let message =
                format!("packets have no room for {too_long} paths of this fabric: {} bits", VectorNeed::ROOM);
            faults
                .push(Fault::new("spain.k", message).hint("fewer paths between two edges: the first ones are shorter"));
        }
        faults
    }
}

/// Whether packets have room for Nix-vectors.
fn check_vectors(graph: &Graph) -> Vec<Fault> {
    let need = VectorNeed::of(graph);
    if need.carried <= VectorNeed::ROOM {
        return Vec::new();
    }
    let message = format!(
        "the longest shortest path of this fabric takes a vector of {} bits, of which packets carry {}; they have room for {}",
        need.longest,
        need.carried,
        VectorNeed::ROOM
    );
    vec![Fault::new("mode", message).hint("mode = \"per-flow\" draws a path for each flow, too")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    /// Of the fabrics that may have several hundred hosts, only long server-centric ones need more.
    #[test]
    fn a_vector_has_to_fit_into_a_packet() {
        let with = |fabric: &str| {
            let text = format!(
                "fabric = {{ {fabric} }}\ntransport = {{ name = \"newreno\" }}\nrouting = {{ mode = \"nix-vector\" }}\n\
                 [[workload]]\nsizes = {{ law = \"fixed\", size = \"1MB\" }}\nplacement = {{ pattern = \"random\" }}\nsessions = 1\n"
            );
            parse("test.toml", &text, &[]).map(drop).map_err(|e| e.to_string())
        };
        for fabric in
            ["\"fat-tree\", k = 4", "\"fat-tree\", k = 16", "\"bcube\", n = 4, k = 2", "\"dcell\", n = 3, k = 2"]
        {
            with(&format!("topology = {fabric}")).unwrap();
        }
        let error = with("topology = \"m-port-n-tree\", m = 4, n = 9").unwrap_err();
        let expected = "routing.mode: the longest shortest path of this fabric takes a vector of 35 bits, of which packets carry 34; \
                        they have room for 31";
        assert!(error.contains(expected) && error.contains("test.toml:3:"), "{error}");
    }

    #[test]
    fn schemes_say_what_they_need() {
        let error = |fabric: &str, routing: &str| {
            let text = format!(
                "fabric = {{ {fabric} }}\ntransport = {{ name = \"newreno\" }}\nrouting = {{ {routing} }}\n\
                 [[workload]]\nsizes = {{ law = \"fixed\", size = \"1MB\" }}\nplacement = {{ pattern = \"random\" }}\nsessions = 1\n"
            );
            parse("test.toml", &text, &[]).map(drop).map_err(|e| e.to_string()).err().unwrap_or_default()
        };
        let (tree, servers) = ("topology = \"fat-tree\", k = 4", "topology = \"bcube\", n = 4, k = 1");
        let leaves = "topology = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2";
        assert_eq!(error(leaves, "mode = \"conga\", conga = { metric_bits = 1, dre_gain = 0.5 }"), "");
        assert_eq!(error(tree, "mode = \"drill\", drill = { choices = 3, memory = 0 }"), "");
        for (fabric, routing, expected) in [
            (servers, "mode = \"drill\"", "routing.mode: drill and letflow need hosts with one link each, to a switch"),
            (tree, "mode = \"drill\", drill = { choices = 0 }", "routing.drill.choices: must be at least 1, not 0"),
            (tree, "mode = \"drill\", drill = { memory = -1 }", "routing.drill.memory: must be at least 0, not -1"),
            (tree, "mode = \"drill\", drill = { engines = 2 }", "routing.drill.engines: unknown key"),
            (servers, "mode = \"letflow\"", "routing.mode: drill and letflow need hosts with one link each"),
            (tree, "mode = \"letflow\", letflow = { gap = \"0s\" }", "routing.letflow.gap: must be above 0"),
            (
                tree,
                "mode = \"letflow\", letflow = { entries = 0 }",
                "routing.letflow.entries: must be at least 1, not 0",
            ),
            (tree, "mode = \"conga\"", "routing.mode: conga needs a leaf-spine fabric: its switches "),
            (
                leaves,
                "mode = \"conga\", conga = { dre_gain = 1.0 }",
                "routing.conga.dre_gain: must be above 0 and below 1, not 1",
            ),
            (
                leaves,
                "mode = \"conga\", conga = { dre_period = \"0s\" }",
                "routing.conga.dre_period: must be from 1us to 1s, not 0s",
            ),
            (
                leaves,
                "mode = \"conga\", conga = { metric_bits = 4 }",
                "routing.conga.metric_bits: must be at most 3, not 4",
            ),
            (
                leaves,
                "mode = \"conga\", conga = { flowlets = { gap = \"0s\" } }",
                "routing.conga.flowlets.gap: must be above 0",
            ),
            (tree, "mode = \"spain\", spain = { k = 0 }", "routing.spain.k: must be at least 1, not 0"),
            (
                "topology = \"jellyfish\", switches = 20, ports = 8, hosts_per_switch = 4, seed = 1",
                "mode = \"spain\", spain = { k = 16 }",
                "routing.spain.k: packets have no room for ",
            ),
            (
                "topology = \"fat-tree\", k = 32",
                "mode = \"spain\"",
                "routing.mode: spain looks for some 523264 paths through 9472 nodes: that takes minutes",
            ),
            (tree, "mode = \"letflow\", letflow = { aging = \"byte\" }", "routing.letflow.aging: unknown value"),
        ] {
            let error = error(fabric, routing);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn presto_and_detail_say_what_they_need() {
        let plan = |text: &str| {
            let text = format!(
                "fabric = {{ topology = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2 }}\n{text}\n\
                 [[workload]]\nsizes = {{ law = \"fixed\", size = \"1MB\" }}\nplacement = {{ pattern = \"random\" }}\nsessions = 1\n"
            );
            parse("test.toml", &text, &[]).map_err(|e| e.to_string())
        };
        let (tcp, ndp) = ("transport = { name = \"newreno\" }", "transport = { name = \"ndp\" }");
        let presto = |more: &str| format!("routing = {{ mode = \"presto\", presto = {{ {more} }} }}");
        let detail =
            |more: &str| format!("switch = {{ pfc = {{}} }}\nrouting = {{ mode = \"detail\", detail = {{ {more} }} }}");
        for (text, expected) in [
            (presto("cell = \"1499B\""), "routing.presto.cell: 1499B is less than a full packet of 1500B"),
            (presto("weights = \"loads\""), "routing.presto.weights: unknown value"),
            (detail("thresholds = []"), "routing.detail.thresholds: a port falls to the next class at each"),
            (
                detail("thresholds = [\"0B\", \"1KB\"]"),
                "routing.detail.thresholds: a port falls to the next class at each",
            ),
            (
                detail("thresholds = [\"64KB\", \"16KB\"]"),
                "routing.detail.thresholds: must increase strictly: 16KB is not above 64KB",
            ),
            (
                "routing = { mode = \"detail\" }".to_owned(),
                "routing.mode: detail sees congestion farther on by the pauses",
            ),
            ("host = { reorder = { timeout = \"0s\" } }".to_owned(), "host.reorder.timeout: must be above 0"),
            ("host = { reorder = { packets = 9 } }".to_owned(), "host.reorder.packets: unknown key"),
        ] {
            let error = plan(&format!("{tcp}\n{text}")).err().unwrap_or_default();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = plan(&format!("{ndp}\nhost = {{ reorder = {{}} }}")).err().unwrap_or_default();
        assert!(
            error.contains("host.reorder: no workload has a transport that can be given its packets in order"),
            "{error}"
        );
        let remarks = |text: &str| {
            let plan =
                plan(&format!("transport = {{ name = \"newreno\", tcp = {{ receive_window = \"16KB\" }} }}\n{text}"));
            plan.expect("it is right").runs[0].remarks.iter().any(|remark| remark.fault.key == "host.reorder")
        };
        for routing in [presto(""), detail("")] {
            assert!(remarks(&routing));
            assert!(!remarks(&format!("{routing}\nhost = {{ reorder = {{}} }}")));
        }
        assert!(!remarks("routing = { mode = \"per-flow\" }"));
        let quiet = "transport = { name = \"newreno\", tcp = { fast_retransmit = false } }";
        let plan = plan(&format!("{quiet}\n{}", detail(""))).expect("it is right");
        assert!(plan.runs[0].remarks.iter().all(|remark| remark.fault.key != "host.reorder"));
    }

    #[test]
    fn auto_follows_the_transport() {
        assert_eq!(RoutingConfig::default().resolve(TransportName::Ndp), RoutingMode::PerPacket);
        assert_eq!(RoutingConfig::default().resolve(TransportName::Reno), RoutingMode::PerFlow);
    }
}
