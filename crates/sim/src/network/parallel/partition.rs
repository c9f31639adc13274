//! Which part of a run simulates which node.
//!
//! Hosts stay with the switch that they hang from, and pods together where that divides the hosts evenly: what stays within a part
//! costs nothing. Every other switch goes to a part with many of its links: of those that have at least half as many as the one with
//! most, to the one with least to do.

use crate::fabric::graph::{Graph, NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A partition of a fabric.
pub(in crate::network) struct Partition {
    /// The part of each node.
    pub(in crate::network) part_of: Arc<[u16]>,
    /// How many parts there are.
    pub(in crate::network) parts: u16,
    /// The least delay of a link between two parts, in picoseconds.
    pub(in crate::network) delay: u64,
}

/// Nobody's yet.
const NONE: u16 = u16::MAX;

impl Partition {
    /// Divides a fabric into as many parts as are asked for and possible. `None` if that is one.
    pub(in crate::network) fn new(graph: &Graph, parts: usize) -> Option<Self> {
        let racks = numbered(&racks(graph));
        let pods =
            numbered(&(0..graph.hosts).map(|h| graph.nodes[h as usize].pod.unwrap_or(u32::MAX)).collect::<Vec<_>>());
        let count = |of: &[u32]| of.iter().max().map_or(0, |&most| most as usize + 1);
        let parts = parts.min(count(&racks)).min(usize::from(NONE)) as u16;
        if parts < 2 {
            return None;
        }
        let (by_pod, by_rack) = (dealt(&pods, parts), dealt(&racks, parts));
        let hosts = if largest(&by_pod, parts) * 10 <= largest(&by_rack, parts) * 11 { by_pod } else { by_rack };
        let part_of: Arc<[u16]> = with_switches(graph, hosts, parts).into();
        let cut = graph.links.iter().filter(|link| part_of[link.a as usize] != part_of[link.b as usize]);
        let delay = cut.map(|link| link.delay.ps()).min().unwrap_or(u64::MAX);
        (delay > 0).then_some(Self { part_of, parts, delay })
    }
}

/// The first switch of each host: its number, or of a host without one a number beyond.
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

/// Deals whole groups of hosts to the parts in order, as evenly as that goes.
fn dealt(group_of: &[u32], parts: u16) -> Vec<u16> {
    let groups = group_of.iter().max().map_or(0, |&most| most as usize + 1);
    let mut sizes = vec![0_u64; groups];
    group_of.iter().for_each(|&group| sizes[group as usize] += 1);
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
    // Ends of links that each part has.
    let mut load = vec![0; usize::from(parts)];
    for (neighbours, part) in neighbours.iter().zip(&part_of).take(graph.hosts as usize) {
        load[usize::from(*part)] += neighbours.len();
    }
    let mut left: Vec<NodeId> = (graph.hosts..graph.nodes.len() as NodeId).collect();
    while !left.is_empty() {
        // Level by level: those of which some neighbour has its place.
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
        found.into_iter().for_each(|(node, part)| part_of[node as usize] = part);
    }
    part_of
}
