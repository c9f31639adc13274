//! Which routing scheme a scenario asks for.

use super::TransportName;
use crate::fabric::graph::Graph;
use crate::fabric::routing::{Conga, Flowlets, MOST_VLANS, RoutingConfig, RoutingMode, Spain, VectorNeed};
use crate::workload::Fault;
use anabranch_transport::Duration;

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

impl Spain {
    /// What is wrong in a fabric.
    fn check(&self, graph: &Graph) -> Vec<Fault> {
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
            (tree, "mode = \"letflow\", letflow = { aging = \"byte\" }", "routing.letflow.aging: unknown value"),
        ] {
            let error = error(fabric, routing);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn auto_follows_the_transport() {
        assert_eq!(RoutingConfig::default().resolve(TransportName::Ndp), RoutingMode::PerPacket);
        assert_eq!(RoutingConfig::default().resolve(TransportName::Reno), RoutingMode::PerFlow);
    }
}
