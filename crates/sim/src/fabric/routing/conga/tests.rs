use super::*;
use crate::fabric::routing::Routes;
use crate::fabric::topology::tests::fabric;
use anabranch_transport::Rate;

/// All links carry 1 Gbps: with a time constant of 150 us, 18 750 bytes are all that a link carries, and a step of its metric is 2343.75 bytes.
struct Links;

impl Ports for Links {
    fn drain(&mut self, port: PortId, _priority: Option<u8>) -> u64 {
        self.backlog(port)
    }

    fn backlog(&mut self, _port: PortId) -> u64 {
        0
    }

    fn rate(&self, _port: PortId) -> Rate {
        Rate::from_gbps(1)
    }
}

/// Two leaves with two hosts each, and so many spines.
struct Fabric {
    graph: Graph,
    routes: Routes,
    switches: Vec<Box<dyn Balancer>>,
    now: u64,
}

impl Fabric {
    fn new(spines: u32) -> Self {
        let graph = fabric(&format!("topology = 'leaf-spine'\nleaves = 2\nspines = {spines}\nhosts_per_leaf = 2"));
        let mut conga = Conga::default();
        conga.install(&graph, &|_| true);
        let nodes = graph.hosts..graph.nodes.len() as NodeId;
        let switches = nodes.map(|node| conga.balancer(&graph, node, 1).expect("a switch has one")).collect();
        Self { routes: Routes::build(&graph, |_| true), graph, switches, now: 0 }
    }

    /// What a switch does with a packet of 1500 bytes to a host.
    fn egress(&mut self, node: NodeId, destination: u32, bits: &mut u32) -> NodeId {
        let hop = Hop { routes: &self.routes, node, destination };
        let packet = Arrived { now: self.now, size: 1500, priority: Some(0), bits };
        let switch = &mut self.switches[(node - self.graph.hosts) as usize];
        self.graph.port_peer(switch.egress(&hop, packet, &mut Links).expect("there is a way"))
    }

    /// A packet of a flow goes all the way: the spine that it passes, its header between leaves and at its end.
    fn send(&mut self, source: u32, destination: u32, flow: u32) -> (NodeId, Header, Header) {
        let leaf = self.graph.racks()[source as usize];
        let mut bits = Header::none(flow);
        let spine = self.egress(leaf, destination, &mut bits);
        let first = Header::of(bits).expect("it has one between leaves");
        let leaf = self.egress(spine, destination, &mut bits);
        let last = Header::of(bits).expect("it has one between leaves");
        assert_eq!(self.egress(leaf, destination, &mut bits), destination);
        assert_eq!(Header::of(bits), None, "hosts see none");
        (spine, first, last)
    }
}

#[test]
fn packets_gather_the_worst_on_their_way_and_it_is_given_back() {
    let mut fabric = Fabric::new(2);
    let (spine, first, last) = fabric.send(0, 2, 5);
    // 1500 bytes are less than a step.
    assert_eq!((first.leaf, first.congestion, last.congestion), (0, 0, 0));
    assert_eq!((first.feedback_tag, first.feedback), (0, 0), "nothing has come back");
    let tag = first.tag;
    for n in 2..=5_u32 {
        let (same, first, last) = fabric.send(0, 2, 5);
        assert_eq!((same, first.tag), (spine, tag), "the same flowlet");
        // The spine has sent n packets down.
        assert_eq!((first.congestion, u32::from(last.congestion)), (0, 8 * 1500 * n / 18_750));
    }
    // A packet that comes back tells what the last one met: 7500 bytes, 3 steps.
    let (_, back, _) = fabric.send(2, 0, 9);
    assert_eq!((back.leaf, back.feedback_tag, back.feedback), (1, tag, 3));
}

#[test]
fn a_flowlet_avoids_uplinks_that_are_busy_here_and_paths_that_are_busy_there() {
    // Here: two packets are a step, and the next flow takes the other uplink.
    for flow in 0..20 {
        let mut fabric = Fabric::new(2);
        let (busy, ..) = fabric.send(0, 2, 100 + flow);
        fabric.send(0, 2, 100 + flow);
        assert_ne!(fabric.send(1, 3, flow).0, busy);
    }
    // There: host 0 sends to host 2 by a spine, and 2 answers. 2 ms later the estimates are gone, but not what leaf 1 has told.
    for flow in 0..20 {
        let mut fabric = Fabric::new(2);
        let (busy, ..) = fabric.send(0, 2, 100 + flow);
        fabric.send(0, 2, 100 + flow);
        fabric.send(2, 0, 50);
        fabric.now = 2_000_000_000;
        assert_ne!(fabric.send(1, 3, flow).0, busy, "it has told of a step");
        // 10 ms after it was told it is old: either will do.
        fabric.now = 10_000_000_001;
        let taken: Vec<NodeId> = (0..20).map(|other| fabric.send(1, 3, 1000 + other).0).collect();
        assert!(taken.contains(&busy), "{taken:?}");
    }
}

#[test]
fn a_flow_moves_to_what_is_better_only() {
    let mut fabric = Fabric::new(4);
    let (spine, ..) = fabric.send(0, 2, 7);
    // All paths are free whenever a flowlet begins.
    for n in 1..20 {
        fabric.now = n * 2_000_000_000;
        assert_eq!(fabric.send(0, 2, 7).0, spine);
    }
    // Its uplink has a step more than the others.
    fabric.send(0, 2, 7);
    fabric.now += 100_000_000;
    assert_eq!(fabric.send(0, 2, 7).0, spine, "the flowlet goes on");
    let busy = fabric.now + 1_000_000_000;
    fabric.now = busy;
    assert_eq!(fabric.send(0, 2, 7).0, spine, "the estimate has gone");
}

#[test]
fn hosts_of_a_leaf_talk_through_it_without_a_header() {
    let mut fabric = Fabric::new(2);
    let mut bits = Header::none(3);
    assert_eq!(fabric.egress(fabric.graph.racks()[0], 1, &mut bits), 1);
    assert_eq!(Header::of(bits), None);
}

#[test]
fn other_fabrics_are_refused() {
    let why = |text: &str| Conga::fits(&fabric(text)).err().unwrap_or_default();
    assert_eq!(why("topology = 'leaf-spine'\nleaves = 3\nspines = 16\nhosts_per_leaf = 2"), "");
    let too_many = "topology = 'leaf-spine'\nleaves = 2\nspines = 17\nhosts_per_leaf = 2";
    assert_eq!(why(too_many), "leaf0 has 17 links to spines, of at most 16");
    assert_eq!(why("topology = 'star'\nhosts = 4"), "it has no spines");
    assert_eq!(why("topology = 'bcube'\nn = 4\nk = 1"), "a host has several links");
    let tree = why("topology = 'fat-tree'\nk = 4");
    assert!(tree.starts_with("its switches ") && tree.ends_with(" are linked"), "{tree}");
    assert_eq!(why("topology = 'dumbbell'\nleft = 2\nright = 2"), "it has no spines");
}
