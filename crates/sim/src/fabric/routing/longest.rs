//! The longest path of a fabric: the one that the most bytes fill.
//!
//! What it says is a round trip on the idle fabric, a rate, and their product (BDP): the window that keeps the path full.

use super::Routes;
use crate::fabric::graph::{Graph, NodeId, PortId};
use anabranch_transport::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

/// Destinations that are looked at: all of most fabrics, and evenly spaced ones of larger fabrics.
const DESTINATIONS_MAX: usize = 128;

/// What goes to and fro between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exchange {
    /// Bytes of a full packet, on the way there.
    pub packet: u64,
    /// Bytes of the ACK or pull that it is answered by.
    pub reply: u64,
    /// Whether the packets of a flow take all shortest paths at once, and so have the rate of all together.
    pub spread: bool,
}

/// The longest of the shortest paths between two hosts: that with the largest product of rate and round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongestPath {
    /// From a packet's first bit to the last bit of its answer, if nothing else is on the way.
    pub round_trip: Duration,
    /// What its slowest links carry.
    pub rate: Rate,
    /// Links on it.
    pub links: u32,
}

impl LongestPath {
    /// The longest path of a fabric; `None` if no two hosts are joined.
    pub fn of(graph: &Graph, routes: &Routes, exchange: Exchange) -> Option<Self> {
        let hosts = kinds_of_hosts(graph);
        let step = hosts.len().div_ceil(DESTINATIONS_MAX).max(1);
        let mut search = Search { graph, routes, exchange, to: 0, most: Rate(0), reach: vec![None; graph.nodes.len()] };
        let mut longest: Option<Self> = None;
        for &(to, twin) in hosts.iter().step_by(step) {
            search.begin(to);
            // Where two hosts are of one kind there is a path between these, too.
            let sources = hosts.iter().map(|&(from, _)| from).filter(|&from| from != to).chain(twin);
            let found = sources.filter_map(|from| search.reach(from)).chain(longest).max_by_key(Self::product);
            longest = found;
        }
        longest
    }

    /// The bandwidth-delay product.
    pub fn bdp(&self) -> Bytes {
        Bytes(self.rate.bytes_in(self.round_trip))
    }

    fn product(&self) -> u128 {
        u128::from(self.rate.bps()) * u128::from(self.round_trip.ps())
    }

    /// The path with one more link in front.
    fn after(self, rate: Rate, delay: Duration, exchange: Exchange) -> Self {
        let (there, back) = (rate.transmit_time(exchange.packet), rate.transmit_time(exchange.reply));
        let round_trip = self.round_trip + there + back + delay * 2;
        Self { round_trip, rate: self.rate.min(rate), links: self.links + 1 }
    }
}

/// The first host of each kind, and a second if there is one: hosts with equal links to the same nodes are of one kind.
fn kinds_of_hosts(graph: &Graph) -> Vec<(u32, Option<u32>)> {
    let ports = graph.ports_by_node();
    let mut places: BTreeMap<Vec<(NodeId, Rate, Duration)>, usize> = BTreeMap::new();
    let mut kinds: Vec<(u32, Option<u32>)> = Vec::new();
    for host in 0..graph.hosts {
        let link = |&port: &PortId| {
            let link = &graph.links[(port / 2) as usize];
            (graph.port_peer(port), link.rate, link.delay)
        };
        let place = *places.entry(ports[host as usize].iter().map(link).collect()).or_insert(kinds.len());
        match kinds.get_mut(place) {
            Some((_, twin)) => *twin = twin.or(Some(host)),
            None => kinds.push((host, None)),
        }
    }
    kinds
}

/// The longest paths from the nodes of a fabric to one host.
struct Search<'a> {
    graph: &'a Graph,
    routes: &'a Routes,
    exchange: Exchange,
    to: u32,
    /// What the host's own links carry together: paths may share them.
    most: Rate,
    /// From the nodes that were asked for, and those on the way.
    reach: Vec<Option<LongestPath>>,
}

impl Search<'_> {
    fn begin(&mut self, to: u32) {
        let own = self.graph.links.iter().filter(|link| link.a == to || link.b == to);
        let most = own.fold(0, |sum: u64, link| sum.saturating_add(link.rate.bps()));
        (self.to, self.most) = (to, Rate(most));
        self.reach.fill(None);
        self.reach[to as usize] = Some(LongestPath { round_trip: Duration::ZERO, rate: self.most, links: 0 });
    }

    /// The longest path from a host; `None` if there is none.
    fn reach(&mut self, from: u32) -> Option<LongestPath> {
        if self.routes.path_count(from, self.to) == 0 {
            return None;
        }
        let mut open = vec![from];
        while let Some(&node) = open.last() {
            let ways = self.routes.ways(node, self.to);
            let peers = ways.iter().map(|&port| self.graph.port_peer(port));
            let unknown = open.len();
            open.extend(peers.filter(|&peer| self.reach[peer as usize].is_none()));
            if open.len() == unknown {
                self.reach[node as usize] = Some(self.best(ways));
                open.pop();
            }
        }
        self.reach[from as usize].map(|path| LongestPath { rate: path.rate.min(self.most), ..path })
    }

    /// The longest path by these ports, whose far ends are known.
    fn best(&self, ways: &[PortId]) -> LongestPath {
        let by = |&port: &PortId| {
            let link = &self.graph.links[(port / 2) as usize];
            let rest = self.reach[self.graph.port_peer(port) as usize]?;
            Some(rest.after(link.rate, link.delay, self.exchange))
        };
        let paths = ways.iter().filter_map(by);
        let together = |a: LongestPath, b: LongestPath| LongestPath {
            round_trip: a.round_trip.max(b.round_trip),
            rate: Rate(a.rate.bps().saturating_add(b.rate.bps())),
            links: a.links.max(b.links),
        };
        let found = if self.exchange.spread { paths.reduce(together) } else { paths.max_by_key(LongestPath::product) };
        found.unwrap_or(LongestPath { round_trip: Duration::ZERO, rate: Rate(0), links: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::topology::tests::{fabric, parse};

    const FULL: Exchange = Exchange { packet: 1500, reply: 64, spread: true };

    fn longest(graph: &Graph, exchange: Exchange) -> LongestPath {
        LongestPath::of(graph, &Routes::build(graph, |_| true), exchange).expect("hosts are joined")
    }

    #[test]
    fn a_round_trip_has_all_links_twice() {
        // Four links of 1 us, on which a packet of 1500 B takes 120 ns and a header of 64 B 5.12 ns.
        let leaf_spine =
            "topology = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = '100Gbps'\ndelay = '1us'";
        let path = longest(&fabric(leaf_spine), FULL);
        assert_eq!(
            (path.round_trip, path.rate),
            (Duration::from_ns(8000 + 480) + Duration(20_480), Rate::from_gbps(100))
        );
        assert_eq!((path.bdp(), path.links), (Bytes(106_256), 4));
        // The papers' fabric: six links of 10 us at 1 Gbps.
        let path = longest(&fabric("topology = 'fat-tree'\nk = 4\nrate = '1Gbps'\ndelay = '10us'"), FULL);
        assert_eq!(path.round_trip, Duration::from_us(120 + 72) + Duration::from_ns(6 * 512));
        assert_eq!(path.bdp().0.div_ceil(1500), 17);
        let star = longest(&fabric("topology = 'star'\nhosts = 2\nrate = '1Gbps'\ndelay = '10us'"), FULL);
        assert_eq!(star.round_trip, Duration::from_us(40 + 24) + Duration::from_ns(2 * 512));
        let jumbo = longest(
            &fabric("topology = 'star'\nhosts = 9\nrate = '1Gbps'\ndelay = '10us'"),
            Exchange { packet: 9000, ..FULL },
        );
        assert_eq!(jumbo.round_trip, Duration::from_us(40 + 144) + Duration::from_ns(2 * 512));
    }

    /// Four spines of 2.5 Gbps behind hosts of 10 Gbps: a flow on one path has a quarter of what one on all has.
    #[test]
    fn a_flow_on_all_paths_has_the_rate_of_all() {
        let text = "topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 4\nrate = '10Gbps'\n\
                    layers = { core = { rate = '2500Mbps' } }";
        let graph = fabric(text);
        assert_eq!(longest(&graph, FULL).rate, Rate::from_gbps(10));
        // Within a rack there is the whole rate, and a shorter way.
        let single = longest(&graph, Exchange { spread: false, ..FULL });
        assert_eq!(single.rate, Rate::from_gbps(10));
        let bcube = fabric("topology = 'bcube'\nn = 2\nk = 1\nrate = '1Gbps'");
        assert_eq!(longest(&bcube, FULL).rate, Rate::from_gbps(2), "hosts with two links");
        assert_eq!(longest(&bcube, Exchange { spread: false, ..FULL }).rate, Rate::from_gbps(1));
    }

    #[test]
    fn the_farthest_and_fastest_hosts_decide() {
        let text = "[hosts]\na\nb\nc\nd\n[switches]\ns\nt\n[links]\na, s, 1Gbps, 1us\nb, s, 100Gbps, 1us\n\
                    c, t, 100Gbps, 1us\nd, t, 100Gbps, 50us\ns, t, 100Gbps, 10us\n";
        let graph = parse(text).expect("the text is right");
        let path = longest(&graph, FULL);
        // From b to d, 61 us away; from a to d takes longer, but at a hundredth of the rate.
        assert_eq!(path.rate, Rate::from_gbps(100));
        assert_eq!(path.round_trip, Duration::from_us(2 * 61) + Duration(3 * 125_120));
    }

    #[test]
    fn slow_links_do_not_overflow() {
        let graph = fabric("topology = 'star'\nhosts = 2\nrate = '1bps'\ndelay = '1000s'");
        assert!(longest(&graph, Exchange { packet: 65_535, ..FULL }).round_trip > Duration::from_secs(1_000_000));
    }
}
