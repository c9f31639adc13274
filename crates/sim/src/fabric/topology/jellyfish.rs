//! Jellyfish, a random regular graph of switches (Singla et al., NSDI 2012, §3).

use super::links::{Size, default_delay, default_rate};
use super::{LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level};
use crate::random::{self, Stream};
use anabranch_transport::{Duration, Rate};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Graphs drawn before giving up. Nearly every random graph of degree 3 or more can be completed and is connected.
const ATTEMPTS: u64 = 1000;

/// `switches` switches of `ports` ports: `hosts_per_switch` hosts on each, and its other r ports linked to those of r other
/// switches at random. Hosts are numbered switch by switch; a rack is a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jellyfish {
    /// Switches: more than r = `ports - hosts_per_switch`, and even if r is odd.
    #[schemars(range(min = 4))]
    pub switches: u32,
    /// Ports of each switch: at least 3 more than `hosts_per_switch`.
    #[schemars(range(min = 4))]
    pub ports: u32,
    /// Hosts on each switch, at least 1.
    #[schemars(range(min = 1))]
    pub hosts_per_switch: u32,
    /// Which of the random graphs; it does not depend on the seed of the run.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Bit rate of the links between switches in each direction, above zero; `rate` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_rate: Option<Rate>,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
}

const fn default_seed() -> u64 {
    1
}

impl Topology for Jellyfish {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let host = LinkSpec::checked(self.rate, self.delay, "")?;
        let between = LinkSpec::checked(self.switch_rate.unwrap_or(self.rate), self.delay, "switch_")?;
        if self.hosts_per_switch == 0 {
            return Err(TopologyError::field("hosts_per_switch", 0, "at least 1 host"));
        }
        let degree = self.ports.saturating_sub(self.hosts_per_switch);
        if degree < 3 {
            let expected = "at least 3 more than `hosts_per_switch`";
            return Err(TopologyError::field("ports", self.ports, expected)
                .with_hint("a random graph with fewer links at each switch tends to fall apart"));
        }
        if self.switches <= degree {
            let expected = format!("more than the {degree} neighbours of each switch (`ports - hosts_per_switch`)");
            return Err(TopologyError::field("switches", self.switches, expected));
        }
        let (switches, wide) = (u64::from(self.switches), u64::from(degree));
        if !(switches * wide).is_multiple_of(2) {
            let expected = format!("an even number, since each switch has an odd number of neighbours ({degree})");
            return Err(TopologyError::field("switches", self.switches, expected));
        }
        let hosts = switches.saturating_mul(u64::from(self.hosts_per_switch));
        let links = hosts.saturating_add(switches * wide / 2);
        Size { hosts, switches, racks: switches, links }
            .check("switches, hosts_per_switch", format!("{switches}, {}", self.hosts_per_switch))?;

        let mut graph = Graph::with_hosts(hosts as u32, |_| None);
        for s in 0..self.switches {
            graph.add_switch(format!("switch{s}"), Level::Edge, None);
        }
        for h in 0..graph.hosts {
            graph.connect(h, graph.hosts + h / self.hosts_per_switch, host.rate, host.delay);
        }
        let first_link = graph.links.len();
        for attempt in 0..ATTEMPTS {
            let mut stream = random::substream(self.seed, "jellyfish", attempt);
            let Some(neighbours) = regular_graph(self.switches, degree, &mut stream) else { continue };
            for (a, b) in edges(&neighbours) {
                graph.connect(graph.hosts + a, graph.hosts + b, between.rate, between.delay);
            }
            if graph.unreachable().is_none() {
                return Ok(graph);
            }
            graph.links.truncate(first_link);
        }
        let expected = format!("a connected graph of degree {degree} within {ATTEMPTS} draws");
        Err(TopologyError::field("seed", self.seed, expected).with_hint("try another seed"))
    }
}

/// The neighbours of each switch, in ascending order.
type Neighbours = Vec<BTreeSet<u32>>;

/// Each link once, its lower end first.
fn edges(neighbours: &Neighbours) -> impl Iterator<Item = (u32, u32)> {
    (0..).zip(neighbours).flat_map(|(a, of_a)| of_a.iter().filter(move |&&b| a < b).map(move |&b| (a, b)))
}

/// Jellyfish §3: joins random pairs of switches with free ports that are not joined yet, until there are none; then makes
/// room for the ports that are left over by taking a random link out. `None` where no link can make room.
fn regular_graph(switches: u32, degree: u32, random: &mut Stream) -> Option<Neighbours> {
    let mut neighbours: Neighbours = vec![BTreeSet::new(); switches as usize];
    let mut free: Vec<u32> = (0..switches).collect();
    loop {
        let full = |neighbours: &Neighbours, s: u32| neighbours[s as usize].len() == degree as usize;
        while let Some((a, b)) = unjoined_pair(&free, &neighbours, random) {
            join(&mut neighbours, a, b);
            if full(&neighbours, a) || full(&neighbours, b) {
                free.retain(|&s| !full(&neighbours, s));
            }
        }
        // Two free ports, of one switch or of two that are neighbours already.
        let Some(&a) = free.first() else { return Some(neighbours) };
        let b = free.get(1).copied().unwrap_or(a);
        let fits = |&(x, y): &(u32, u32)| {
            let apart = |s: u32, t: u32| s != t && !neighbours[s as usize].contains(&t);
            apart(a, x) && apart(b, y)
        };
        let turned = edges(&neighbours).flat_map(|(x, y)| [(x, y), (y, x)]);
        let candidates: Vec<(u32, u32)> = turned.filter(fits).collect();
        if candidates.is_empty() {
            return None;
        }
        let (x, y) = candidates[random.random_range(0..candidates.len())];
        neighbours[x as usize].remove(&y);
        neighbours[y as usize].remove(&x);
        join(&mut neighbours, a, x);
        join(&mut neighbours, b, y);
        free.retain(|&s| !full(&neighbours, s));
    }
}

fn join(neighbours: &mut Neighbours, a: u32, b: u32) {
    neighbours[a as usize].insert(b);
    neighbours[b as usize].insert(a);
}

/// A random pair of switches out of `free` that are not neighbours.
fn unjoined_pair(free: &[u32], neighbours: &Neighbours, random: &mut Stream) -> Option<(u32, u32)> {
    let joinable = |a: u32, b: u32| a != b && !neighbours[a as usize].contains(&b);
    if free.len() > 1 {
        // Nearly always one of the first draws will do; looking at all pairs takes the square of this.
        for _ in 0..8 * free.len() {
            let (a, b) = (free[random.random_range(0..free.len())], free[random.random_range(0..free.len())]);
            if joinable(a, b) {
                return Some((a, b));
            }
        }
    }
    let all = free.iter().flat_map(|&a| free.iter().map(move |&b| (a, b)));
    let candidates: Vec<(u32, u32)> = all.filter(|&(a, b)| a < b && joinable(a, b)).collect();
    (!candidates.is_empty()).then(|| candidates[random.random_range(0..candidates.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::fabric;

    fn jellyfish(switches: u32, ports: u32, hosts: u32, seed: u64) -> Graph {
        let size = format!("switches = {switches}\nports = {ports}\nhosts_per_switch = {hosts}");
        fabric(&format!("topology = 'jellyfish'\n{size}\nseed = {seed}"))
    }

    #[test]
    fn switches_are_regular_and_no_two_are_joined_twice() {
        // The last is the complete graph; that of 6 switches needs links to be taken out again.
        for (switches, ports, hosts) in [(20, 6, 3), (6, 5, 1), (6, 4, 1), (50, 12, 4), (16, 17, 2)] {
            for seed in 0..100 {
                // Connected: the topology's own check, and `validate`.
                let g = jellyfish(switches, ports, hosts, seed);
                assert_eq!((g.hosts, g.nodes.len() as u32), (switches * hosts, switches * (hosts + 1)));
                for ports_of in &g.ports_by_node()[g.hosts as usize..] {
                    assert_eq!(ports_of.len() as u32, ports);
                    let peers: BTreeSet<u32> = ports_of.iter().map(|&p| g.port_peer(p)).collect();
                    assert_eq!(peers.len() as u32, ports);
                }
                assert!(!g.multi_homed() && !g.hosts_relay);
            }
        }
    }

    #[test]
    fn a_seed_is_a_graph() {
        assert_eq!(jellyfish(20, 6, 3, 7), jellyfish(20, 6, 3, 7));
        let graphs: BTreeSet<_> = (0..50).map(|seed| format!("{:?}", jellyfish(20, 6, 3, seed).links)).collect();
        assert_eq!(graphs.len(), 50);
        let slow =
            fabric("topology = 'jellyfish'\nswitches = 4\nports = 4\nhosts_per_switch = 1\nswitch_rate = '10Gbps'");
        assert_eq!((slow.links[0].rate, slow.links[4].rate), (Rate::from_gbps(1), Rate::from_gbps(10)));
    }

    #[test]
    fn links_are_drawn_evenly() {
        // 10 switches with 3 neighbours each: every pair is joined in one third of the graphs.
        let mut joined = std::collections::BTreeMap::new();
        for seed in 0..3000 {
            for link in jellyfish(10, 4, 1, seed).links.iter().skip(10) {
                *joined.entry((link.a, link.b)).or_insert(0) += 1;
            }
        }
        // 1000 expected, standard deviation 26.
        assert_eq!(joined.len(), 45);
        assert!(joined.values().all(|n| (870..1130).contains(n)), "{joined:?}");
    }

    #[test]
    fn paths_are_shorter_than_in_a_fat_tree_of_the_same_switches() {
        // The paper's case for it: same switches, same hosts, shorter paths. A fat-tree of k = 10 has 125 switches of 10 ports and 250 hosts.
        let mean = |g: &Graph| {
            let r = Routes::build(g, |_| true);
            let pairs = (0..g.hosts).flat_map(|s| (0..g.hosts).map(move |d| (s, d))).filter(|(s, d)| s != d);
            let hops: Vec<u32> = pairs.map(|(s, d)| u32::from(r.hop_count(s, d))).collect();
            f64::from(hops.iter().sum::<u32>()) / hops.len() as f64
        };
        let fat_tree = fabric("topology = 'fat-tree'\nk = 10");
        for seed in 0..5 {
            let random = jellyfish(125, 10, 2, seed);
            assert_eq!((random.hosts, random.nodes.len()), (fat_tree.hosts, fat_tree.nodes.len()));
            assert!(mean(&random) < mean(&fat_tree) - 1.0);
        }
    }
}
