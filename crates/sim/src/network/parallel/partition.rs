//! Assigns the nodes of a run to parts.
//!
//! Hosts stay with the switch that they are attached to, and pods stay together where that divides the hosts evenly: traffic within a
//! part costs nothing. Every other switch goes to a part with many of its links: among the parts with at least half as many of its links
//! as the part with the most, to the one with the least load.

use crate::fabric::graph::{Graph, NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A partition of a fabric.
pub(in crate::network) struct Partition {
    /// The part of each node.
    pub(in crate::network) part_of: Arc<[u16]>,
    /// How many parts there are.
    pub(in crate::network) parts: u16,
    /// The least delay of a link between two parts, in picoseconds: nothing that one part does can reach another sooner.
    pub(in crate::network) lookahead: u64,
}

const ONE_RACK: &str = "all hosts are in one rack";

/// Not yet assigned to a part.
const NONE: u16 = u16::MAX;

impl Partition {
    /// Divides a fabric into as many parts as requested and possible.
    ///
    /// # Errors
    /// If only one part is possible: why.
    pub(in crate::network) fn new(graph: &Graph, parts: usize) -> Result<Self, &'static str> {
        let racks = numbered(&racks(graph));
        let pods =
            numbered(&(0..graph.hosts).map(|h| graph.nodes[h as usize].pod.unwrap_or(u32::MAX)).collect::<Vec<_>>());
        let count = |of: &[u32]| of.iter().max().map_or(0, |&most| most as usize + 1);
        let parts = parts.min(count(&racks)).min(usize::from(NONE)) as u16;
        if parts < 2 {
            return Err(ONE_RACK);
        }
        let (by_pod, by_rack) = (dealt(&pods, parts), dealt(&racks, parts));
        let hosts = if largest(&by_pod, parts) * 10 <= largest(&by_rack, parts) * 11 { by_pod } else { by_rack };
        // The groups may be too uneven for all parts to get some.
        let hosts = numbered(&hosts.into_iter().map(u32::from).collect::<Vec<_>>());
        let parts = hosts.iter().max().map_or(0, |&most| most as u16 + 1);
        if parts < 2 {
            return Err(ONE_RACK);
        }
        let hosts = hosts.into_iter().map(|part| part as u16).collect();
        let part_of: Arc<[u16]> = with_switches(graph, hosts, parts).into();
        let cut = graph.links.iter().filter(|link| part_of[link.a as usize] != part_of[link.b as usize]);
        let lookahead = cut.map(|link| link.delay.ps()).min().unwrap_or(u64::MAX);
        if lookahead == 0 {
            return Err("a link between the parts has no delay");
        }
        Ok(Self { part_of, parts, lookahead })
    }
}

/// The first switch of each host; a host without one gets a number beyond all nodes.
fn racks(graph: &Graph) -> Vec<u32> {
    let mut racks: Vec<u32> = (0..graph.hosts).map(|h| h + graph.nodes.len() as u32).collect();
    for link in graph.links.iter().rev() {
        for (host, switch) in [(link.a, link.b), (link.b, link.a)] {
            if graph.is_host(host) && !graph.is_host(switch) {
                racks[host as usize] = switch;
            }
        }
    }
    racks
}

/// The groups of hosts, numbered in the order of their first hosts.
fn numbered(groups: &[u32]) -> Vec<u32> {
    let mut numbers = BTreeMap::new();
    let number = |group: &u32| {
        let next = numbers.len() as u32;
        *numbers.entry(*group).or_insert(next)
    };
    groups.iter().map(number).collect()
}

/// Assigns whole groups of hosts to the parts in order, as evenly as possible.
fn dealt(group_of: &[u32], parts: u16) -> Vec<u16> {
    let groups = group_of.iter().max().map_or(0, |&most| most as usize + 1);
    let mut sizes = vec![0_u64; groups];
    for &group in group_of {
        sizes[group as usize] += 1;
    }
    let mut before = 0;
    let part: Vec<u16> = sizes
        .iter()
        .map(|size| {
            let middle = 2 * before + size;
            before += size;
            ((middle * u64::from(parts)) / (2 * group_of.len() as u64)) as u16
        })
        .collect();
    group_of.iter().map(|&group| part[group as usize]).collect()
}

fn largest(hosts: &[u16], parts: u16) -> usize {
    (0..parts).map(|part| hosts.iter().filter(|&&of| of == part).count()).max().unwrap_or(0)
}

fn with_switches(graph: &Graph, hosts: Vec<u16>, parts: u16) -> Vec<u16> {
    let mut part_of = hosts;
    part_of.resize(graph.nodes.len(), NONE);
    let mut neighbours: Vec<Vec<NodeId>> = vec![Vec::new(); graph.nodes.len()];
    for link in &graph.links {
        neighbours[link.a as usize].push(link.b);
        neighbours[link.b as usize].push(link.a);
    }
    // Number of link ends in each part.
    let mut load = vec![0; usize::from(parts)];
    for (neighbours, part) in neighbours.iter().zip(&part_of).take(graph.hosts as usize) {
        load[usize::from(*part)] += neighbours.len();
    }
    let mut left: Vec<NodeId> = (graph.hosts..graph.nodes.len() as NodeId).collect();
    while !left.is_empty() {
        // Level by level: switches with a neighbour that is assigned.
        let has_place = |&node: &NodeId| neighbours[node as usize].iter().any(|&n| part_of[n as usize] != NONE);
        let (mut now, later): (Vec<_>, Vec<_>) = left.into_iter().partition(has_place);
        left = later;
        if now.is_empty() {
            std::mem::swap(&mut now, &mut left);
        }
        let mut found = Vec::new();
        for node in now {
            let mut links = vec![0_usize; usize::from(parts)];
            for &neighbour in &neighbours[node as usize] {
                if let Some(links) = links.get_mut(usize::from(part_of[neighbour as usize])) {
                    *links += 1;
                }
            }
            let most = links.iter().copied().max().unwrap_or(0);
            let near = (0..parts).filter(|&part| 2 * links[usize::from(part)] >= most);
            let best = near.min_by_key(|&part| load[usize::from(part)]).unwrap_or(0);
            load[usize::from(best)] += neighbours[node as usize].len();
            found.push((node, best));
        }
        for (node, part) in found {
            part_of[node as usize] = part;
        }
    }
    part_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::topology::{BCube, FatTree, Jellyfish, LayerLinks, Layers, Star, TopologyConfig};
    use anabranch_transport::{Duration, Rate};
    use std::path::Path;

    const RATE: Rate = Rate::from_gbps(1);
    const DELAY: Duration = Duration::from_us(10);

    fn graph(config: &TopologyConfig) -> Graph {
        config.build(Path::new("")).expect("the fabric is possible")
    }

    fn fat_tree(k: u32, core: Option<Duration>) -> Graph {
        let core = core.map(|delay| LayerLinks { rate: None, delay: Some(delay) });
        let layers = Layers { core, ..Layers::default() };
        graph(&TopologyConfig::FatTree(FatTree { k, rate: RATE, delay: DELAY, layers }))
    }

    /// Hosts and switches of each part, and how many links are cut at each level (that of their lower ends).
    fn shape(graph: &Graph, parts: usize) -> (Vec<(usize, usize)>, Vec<usize>) {
        let partition = Partition::new(graph, parts).expect("it can be divided");
        let part = |part: u16| {
            let of = |hosts: bool| {
                let nodes = (0..).zip(&*partition.part_of);
                nodes.filter(|&(node, &of)| of == part && graph.is_host(node) == hosts).count()
            };
            (of(true), of(false))
        };
        let cut = |level: usize| {
            let lower = |link: &crate::fabric::graph::Link| graph.nodes[link.a as usize].level as usize;
            let cut = |link: &&crate::fabric::graph::Link| {
                partition.part_of[link.a as usize] != partition.part_of[link.b as usize]
            };
            graph.links.iter().filter(cut).filter(|link| lower(link) == level).count()
        };
        ((0..partition.parts).map(part).collect(), (0..3).map(cut).collect())
    }

    #[test]
    fn pods_stay_together_and_the_core_is_shared() {
        // Each core switch has half its links in each half: 16 of them, 8 links each.
        assert_eq!(shape(&fat_tree(8, None), 2), (vec![(64, 40), (64, 40)], vec![0, 0, 64]));
        let (parts, cut) = shape(&fat_tree(8, None), 4);
        assert_eq!(parts, [(32, 20); 4]);
        assert_eq!(cut, [0, 0, 96]);
    }

    #[test]
    fn racks_are_dealt_where_pods_are_uneven() {
        let (parts, cut) = shape(&fat_tree(4, None), 3);
        assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>(), [6, 4, 6]);
        assert_eq!(cut[0], 0, "hosts are at their switches");
    }

    #[test]
    fn the_lookahead_is_the_least_delay_between_parts() {
        let lookahead = |graph: &Graph| Partition::new(graph, 2).map(|partition| partition.lookahead).ok();
        assert_eq!(lookahead(&fat_tree(4, Some(Duration::from_us(3)))), Some(3_000_000));
        assert_eq!(lookahead(&fat_tree(4, Some(Duration::from_us(30)))), Some(30_000_000));
        assert_eq!(lookahead(&fat_tree(4, Some(Duration::ZERO))), None);
    }

    #[test]
    fn any_fabric_can_be_divided_but_a_single_rack() {
        let jellyfish = Jellyfish {
            switches: 20,
            ports: 6,
            hosts_per_switch: 2,
            seed: 1,
            rate: RATE,
            delay: DELAY,
            switch_rate: None,
        };
        let (parts, cut) = shape(&graph(&TopologyConfig::Jellyfish(jellyfish)), 4);
        assert_eq!((parts, cut[0]), (vec![(10, 5); 4], 0));
        let bcube = graph(&TopologyConfig::BCube(BCube { n: 4, k: 1, rate: RATE, delay: DELAY }));
        let (parts, _) = shape(&bcube, 2);
        assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>(), [8, 8]);
        let star = graph(&TopologyConfig::Star(Star { hosts: 10, rate: RATE, delay: DELAY }));
        assert!(Partition::new(&star, 2).is_err());
        assert!(Partition::new(&bcube, 1).is_err());
    }
}
