//! What a workload must know about the fabric: how many hosts there are, how they are grouped, how fast they are.

use crate::fabric::graph::Graph;
use anabranch_transport::Rate;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The hosts of a fabric as placement sees them, and where to look for data files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    rack_of: Vec<u32>,
    pod_of: Vec<u32>,
    racks: Vec<Vec<u32>>,
    /// The number in the whole fabric of each host, ascending.
    number: Vec<u32>,
    /// Bit rate of a host's access link: the slowest, if they differ.
    pub host_rate: Rate,
    /// Relative file names start here.
    pub base: PathBuf,
}

impl Context {
    /// Hosts `0..rack_of.len()`, given the rack and the pod of each.
    ///
    /// # Panics
    /// If the two lists differ in length.
    pub fn new(rack_of: Vec<u32>, pod_of: Vec<u32>, host_rate: Rate) -> Self {
        assert_eq!(rack_of.len(), pod_of.len(), "one rack and one pod for each host");
        let mut racks = vec![Vec::new(); rack_of.iter().max().map_or(0, |r| *r as usize + 1)];
        for (host, rack) in rack_of.iter().enumerate() {
            racks[*rack as usize].push(host as u32);
        }
        let number = (0..rack_of.len() as u32).collect();
        Self { rack_of, pod_of, racks, number, host_rate, base: PathBuf::new() }
    }

    /// The hosts of a graph. A rack is the hosts that share a first switch; a host without a pod is in pod 0.
    pub fn from_graph(graph: &Graph) -> Self {
        let hosts = graph.hosts as usize;
        let mut switch_of = vec![u32::MAX; hosts];
        let mut rate = None;
        for link in &graph.links {
            for (host, peer) in [(link.a, link.b), (link.b, link.a)] {
                if (host as usize) < hosts && switch_of[host as usize] == u32::MAX {
                    switch_of[host as usize] = peer;
                    rate = Some(rate.map_or(link.rate, |r: Rate| r.min(link.rate)));
                }
            }
        }
        // Racks are numbered in the order of their first host.
        let mut seen: Vec<u32> = Vec::new();
        let rack_of = switch_of
            .iter()
            .map(|s| {
                seen.iter().position(|x| x == s).unwrap_or_else(|| {
                    seen.push(*s);
                    seen.len() - 1
                }) as u32
            })
            .collect();
        let pod_of = graph.nodes.iter().take(hosts).map(|n| n.pod.unwrap_or(0)).collect();
        Self::new(rack_of, pod_of, rate.unwrap_or(Rate::from_gbps(1)))
    }

    /// The same, with relative file names starting at `base`.
    #[must_use]
    pub fn with_base(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = base.into();
        self
    }

    /// The same without the hosts `taken` (numbers in the whole fabric), the others being numbered from 0.
    #[must_use]
    pub fn without(&self, taken: &BTreeSet<u32>) -> Self {
        let left: Vec<usize> = (0..self.number.len()).filter(|h| !taken.contains(&self.number[*h])).collect();
        let keep = |of: &[u32]| left.iter().map(|h| of[*h]).collect::<Vec<u32>>();
        let mut less = Self::new(keep(&self.rack_of), keep(&self.pod_of), self.host_rate).with_base(&self.base);
        less.number = keep(&self.number);
        less
    }

    /// The number in the whole fabric of a host.
    pub fn number(&self, host: u32) -> u32 {
        self.number[host as usize]
    }

    /// The host with a number in the whole fabric, if it is here.
    pub fn find(&self, number: u32) -> Option<u32> {
        self.number.binary_search(&number).ok().map(|host| host as u32)
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.rack_of.len() as u32
    }

    /// The rack of a host.
    pub fn rack(&self, host: u32) -> u32 {
        self.rack_of[host as usize]
    }

    /// The pod of a host.
    pub fn pod(&self, host: u32) -> u32 {
        self.pod_of[host as usize]
    }

    /// The hosts of a rack, in ascending order.
    pub fn rack_hosts(&self, rack: u32) -> &[u32] {
        &self.racks[rack as usize]
    }

    /// The hosts of every rack.
    pub fn racks(&self) -> &[Vec<u32>] {
        &self.racks
    }

    /// Sum of the bit rates of all access links, in one direction.
    pub fn access_capacity_bps(&self) -> f64 {
        f64::from(self.hosts()) * self.host_rate.bps() as f64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fabric::graph::{Level, Link, Node};
    use anabranch_transport::Duration;

    /// `racks` racks of `per_rack` hosts, two racks a pod, 1 Gbps.
    pub(crate) fn racks(racks: u32, per_rack: u32) -> Context {
        let rack_of: Vec<u32> = (0..racks * per_rack).map(|h| h / per_rack).collect();
        let pod_of = rack_of.iter().map(|r| r / 2).collect();
        Context::new(rack_of, pod_of, Rate::from_gbps(1))
    }

    #[test]
    fn hosts_that_are_taken_leave_the_others_their_racks() {
        let less = racks(3, 2).without(&BTreeSet::from([0, 2, 3]));
        assert_eq!((less.hosts(), less.number(0), less.number(2)), (3, 1, 5));
        assert_eq!((less.find(4), less.find(2)), (Some(1), None));
        assert_eq!(less.racks(), [vec![0], vec![], vec![1, 2]]);
        assert_eq!(less.without(&BTreeSet::from([1])).number(0), 4);
    }

    #[test]
    fn racks_of_a_graph_are_the_hosts_behind_one_switch() {
        let node = |name: &str, level, pod| Node { name: name.to_owned(), level, pod };
        let link = |a, b| Link { a, b, rate: Rate::from_gbps(10), delay: Duration::from_us(1) };
        let graph = Graph {
            nodes: vec![
                node("h0", Level::Host, Some(0)),
                node("h1", Level::Host, Some(0)),
                node("h2", Level::Host, Some(1)),
                node("edge0", Level::Edge, Some(0)),
                node("edge1", Level::Edge, Some(1)),
            ],
            links: vec![link(3, 4), link(0, 3), link(4, 2), link(1, 3)],
            hosts: 3,
        };
        let context = Context::from_graph(&graph);
        assert_eq!(context.racks(), [vec![0, 1], vec![2]]);
        assert_eq!((context.pod(1), context.pod(2)), (0, 1));
        assert_eq!(context.host_rate, Rate::from_gbps(10));
        assert!((context.access_capacity_bps() - 3e10).abs() < 1.0);
    }
}
