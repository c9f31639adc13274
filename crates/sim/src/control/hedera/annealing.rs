//! Simulated annealing (Hedera §4.3.2): all large flows to a host pass one core switch. Which host has which is changed at random, and a
//! change that makes links less overloaded is kept; the longer it goes on, the less likely one that makes them more so.

use super::Demand;
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use rand::RngExt as _;
use std::collections::BTreeMap;

/// Which core switch is whose.
#[derive(Debug)]
pub(super) struct Annealing {
    iterations: u32,
    /// At the start, in bit/s.
    temperature: f64,
    /// Of each core switch: links to each node.
    distances: Vec<Vec<u32>>,
    /// Of each host: its pod and its place there.
    homes: Vec<(usize, usize)>,
    /// The hosts of each pod.
    pods: Vec<Vec<u32>>,
    racks: Vec<NodeId>,
    /// Of each pod, which core each place has: first those of its hosts, then spare ones, so that each core comes equally often. In the paper's
    /// fat-trees a pod has as many hosts as there are cores.
    state: Vec<Vec<usize>>,
    random: Stream,
}

/// Two places of a pod that exchange their cores.
type Swap = (usize, [usize; 2]);

impl Annealing {
    /// The first host of each pod has the first core, and so on. Where nodes are in no pods, racks are pods; the core are the switches that are
    /// farthest from hosts.
    pub(super) fn new(graph: &Graph, iterations: u32, temperature: f64, seed: u64) -> Self {
        let cores = graph.farthest_switches();
        let racks = graph.racks();
        let mut pods = BTreeMap::<(bool, u32), Vec<u32>>::new();
        for host in 0..graph.hosts {
            let pod = graph.nodes[host as usize].pod.map_or((false, racks[host as usize]), |pod| (true, pod));
            pods.entry(pod).or_default().push(host);
        }
        let pods: Vec<Vec<u32>> = pods.into_values().collect();
        let mut homes = vec![(0, 0); graph.hosts as usize];
        for (pod, hosts) in pods.iter().enumerate() {
            for (place, &host) in hosts.iter().enumerate() {
                homes[host as usize] = (pod, place);
            }
        }
        let places =
            |hosts: &Vec<u32>| (0..hosts.len().next_multiple_of(cores.len())).map(|n| n % cores.len()).collect();
        let fastest = graph.host_ports().into_iter().map(|port| graph.links[port as usize / 2].rate.bps()).max();
        Self {
            iterations,
            temperature: temperature * fastest.unwrap_or(0) as f64,
            distances: cores.iter().map(|&core| distances(graph, core)).collect(),
            state: pods.iter().map(places).collect(),
            homes,
            pods,
            racks,
            random: random::stream(seed, "hedera"),
        }
    }

    /// The number of the path that each flow is to take, in their order. Ports have this room, in bit/s.
    pub(super) fn place(
        &mut self,
        graph: &Graph,
        flows: &[Demand],
        room: impl Fn(PortId) -> u64,
    ) -> Vec<Option<usize>> {
        let ways: Vec<Vec<usize>> = flows.iter().map(|flow| self.ways(graph, flow)).collect();
        let mut load = Load { flows, ways: &ways, room: BTreeMap::new(), used: BTreeMap::new(), over: 0 };
        for port in flows.iter().flat_map(|flow| &flow.paths).flatten() {
            load.room.entry(*port).or_insert_with(|| room(*port) as i64);
        }
        let mut to_host = BTreeMap::<u32, Vec<usize>>::new();
        for (n, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.paths.len() > 1) {
            to_host.entry(flow.destination).or_default().push(n);
        }
        for (n, flow) in flows.iter().enumerate() {
            load.add(n, self.core_of(flow.destination), 1);
        }
        let (mut best, mut least) = (self.state.clone(), load.over);
        let hosts: Vec<u32> = to_host.keys().copied().collect();
        for step in (1..=self.iterations).rev() {
            if least == 0 || hosts.is_empty() {
                break;
            }
            let swaps = self.neighbour(&hosts);
            let before = load.over;
            self.apply(&swaps, &to_host, &mut load);
            if load.over < least {
                (best, least) = (self.state.clone(), load.over);
            }
            let heat = self.temperature * f64::from(step) / f64::from(self.iterations);
            let worse = (load.over - before) as f64;
            if worse > 0.0 && self.random.random::<f64>() >= libm::exp(-worse / heat) {
                self.apply(&swaps, &to_host, &mut load);
            }
        }
        self.state = best;
        let choice = |(flow, ways): (&Demand, &Vec<usize>)| ways.get(self.core_of(flow.destination)).copied();
        flows.iter().zip(&ways).map(choice).collect()
    }

    /// The core of a host, by its number among cores.
    fn core_of(&self, host: u32) -> usize {
        let (pod, place) = self.homes[host as usize];
        self.state[pod][place]
    }

    /// For each core, the number of the path that comes nearest to it, of several the first: in a fat-tree, between pods the one through it, within a
    /// pod the one through its aggregation switch.
    fn ways(&self, graph: &Graph, flow: &Demand) -> Vec<usize> {
        let nearest = |distance: &Vec<u32>| {
            let far = |path: &Vec<PortId>| path.iter().map(|&port| distance[graph.port_peer(port) as usize]).min();
            (0..flow.paths.len()).min_by_key(|&n| far(&flow.paths[n])).unwrap_or(0)
        };
        if flow.paths.is_empty() { Vec::new() } else { self.distances.iter().map(nearest).collect() }
    }

    /// What leads to a state like this one: a host exchanges its core with another place of its pod, or with a host of its rack, or half of the
    /// hosts of a rack or pod with the other half. One of them has a large flow.
    fn neighbour(&mut self, hosts: &[u32]) -> Vec<Swap> {
        let host = hosts[self.random.random_range(0..hosts.len())];
        let (pod, place) = self.homes[host as usize];
        let rack = self.racks[host as usize];
        match self.random.random_range(0..3) {
            0 => vec![(pod, [place, self.random.random_range(0..self.state[pod].len())])],
            1 => {
                let others: Vec<usize> = self.places_of(pod, Some(rack));
                vec![(pod, [place, others[self.random.random_range(0..others.len())]])]
            }
            _ => {
                let whole = self.random.random::<bool>();
                let mut places = self.places_of(pod, (!whole).then_some(rack));
                for n in (1..places.len()).rev() {
                    places.swap(n, self.random.random_range(0..=n));
                }
                places.chunks_exact(2).map(|pair| (pod, [pair[0], pair[1]])).collect()
            }
        }
    }

    /// The places of the hosts of a pod, or of one of its racks.
    fn places_of(&self, pod: usize, rack: Option<NodeId>) -> Vec<usize> {
        let hosts = self.pods[pod].iter().enumerate();
        hosts.filter(|&(_, &host)| rack.is_none_or(|rack| self.racks[host as usize] == rack)).map(|(n, _)| n).collect()
    }

    /// Exchanges cores; doing so again undoes it.
    fn apply(&mut self, swaps: &[Swap], to_host: &BTreeMap<u32, Vec<usize>>, load: &mut Load<'_>) {
        for &(pod, places) in swaps {
            self.count(pod, places, to_host, load, -1);
            self.state[pod].swap(places[0], places[1]);
            self.count(pod, places, to_host, load, 1);
        }
    }

    /// Adds the load of the flows to the hosts at two places, or takes it away.
    fn count(
        &self,
        pod: usize,
        places: [usize; 2],
        to_host: &BTreeMap<u32, Vec<usize>>,
        load: &mut Load<'_>,
        sign: i64,
    ) {
        let places = if places[0] == places[1] { &places[..1] } else { &places[..] };
        for &place in places {
            let flows = self.pods[pod].get(place).and_then(|host| to_host.get(host));
            for &flow in flows.into_iter().flatten() {
                load.add(flow, self.state[pod][place], sign);
            }
        }
    }
}

/// What the links carry in a state.
struct Load<'a> {
    flows: &'a [Demand],
    /// Of each flow: the path for each core.
    ways: &'a [Vec<usize>],
    /// By port, in bit/s.
    room: BTreeMap<PortId, i64>,
    used: BTreeMap<PortId, i64>,
    /// The energy: by how much demands exceed the room, over all ports.
    over: i64,
}

impl Load<'_> {
    /// A flow is on its path by a core, or no longer (`sign` -1).
    fn add(&mut self, flow: usize, core: usize, sign: i64) {
        let Some(&way) = self.ways[flow].get(core) else { return };
        for port in &self.flows[flow].paths[way] {
            let used = self.used.entry(*port).or_insert(0);
            let excess = |used: i64| (used - self.room[port]).max(0);
            self.over -= excess(*used);
            *used += sign * self.flows[flow].rate as i64;
            self.over += excess(*used);
        }
    }
}

/// Links from a switch to every node; through no host.
fn distances(graph: &Graph, from: NodeId) -> Vec<u32> {
    let mut distance = vec![u32::MAX; graph.nodes.len()];
    distance[from as usize] = 0;
    let (ports, mut order, mut next) = (graph.ports_by_node(), vec![from], 0);
    while let Some(&node) = order.get(next) {
        next += 1;
        for peer in ports[node as usize].iter().map(|&port| graph.port_peer(port)) {
            if distance[peer as usize] == u32::MAX {
                distance[peer as usize] = distance[node as usize] + 1;
                if !graph.is_host(peer) {
                    order.push(peer);
                }
            }
        }
    }
    distance
}
