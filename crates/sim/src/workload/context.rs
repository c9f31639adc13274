//! What a workload must know about the fabric: how many hosts there are, how they are grouped, how fast they are.

use crate::fabric::graph::Graph;
use anabranch_transport::Rate;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Sessions of one workload are limited to this many: more do not fit in memory.
pub const SESSIONS_MAX: u64 = 100_000_000;

/// The hosts of a fabric as placement sees them, and where to look for data files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    rack_of: Vec<u32>,
    pod_of: Vec<u32>,
    racks: Vec<Vec<u32>>,
    /// The number in the whole fabric of each host, ascending.
    number: Vec<u32>,
    /// Hosts of the whole fabric.
    fabric_hosts: u32,
    /// Sum of the bit rates of all links of each host, in one direction, seen from it.
    capacity_bps: Vec<u64>,
    /// Bit rate of a host's link: the slowest, if they differ.
    pub host_rate: Rate,
    /// Relative file names start here.
    pub base: PathBuf,
    /// More sessions than this are refused.
    pub sessions_max: u64,
}

impl Context {
    /// Hosts `0..rack_of.len()` with one link each, given the rack and the pod of each.
    ///
    /// # Panics
    /// If the two lists differ in length.
    pub fn new(rack_of: Vec<u32>, pod_of: Vec<u32>, host_rate: Rate) -> Self {
        assert_eq!(rack_of.len(), pod_of.len(), "one rack and one pod for each host");
        let mut racks = vec![Vec::new(); rack_of.iter().max().map_or(0, |r| *r as usize + 1)];
        for (host, rack) in rack_of.iter().enumerate() {
            racks[*rack as usize].push(host as u32);
        }
        let fabric_hosts = rack_of.len() as u32;
        let number = (0..fabric_hosts).collect();
        let capacity_bps = vec![host_rate.bps(); rack_of.len()];
        Self {
            rack_of,
            pod_of,
            racks,
            number,
            fabric_hosts,
            capacity_bps,
            host_rate,
            base: PathBuf::new(),
            sessions_max: SESSIONS_MAX,
        }
    }

    /// The hosts of a graph. A rack is the hosts that share a first switch; a host without a pod is in pod 0. All links of
    /// a host count towards the capacity: a link between two hosts is one of each.
    pub fn from_graph(graph: &Graph) -> Self {
        let ends = graph.links.iter().flat_map(|l| [(l.a, l.rate), (l.b, l.rate)]);
        let mut slowest = None;
        let mut capacity_bps = vec![0; graph.hosts as usize];
        for (host, rate) in ends.filter(|&(n, _)| graph.is_host(n)) {
            slowest = Some(slowest.map_or(rate, |r: Rate| r.min(rate)));
            capacity_bps[host as usize] += rate.bps();
        }
        // Racks are numbered in the order of their first host.
        let mut seen: Vec<u32> = Vec::new();
        let rack_of = graph
            .racks()
            .iter()
            .map(|s| {
                seen.iter().position(|x| x == s).unwrap_or_else(|| {
                    seen.push(*s);
                    seen.len() - 1
                }) as u32
            })
            .collect();
        let pod_of = graph.nodes.iter().take(graph.hosts as usize).map(|n| n.pod.unwrap_or(0)).collect();
        Self { capacity_bps, ..Self::new(rack_of, pod_of, slowest.unwrap_or(Rate::from_gbps(1))) }
    }

    /// The same, with relative file names starting at `base`.
    #[must_use]
    pub fn with_base(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = base.into();
        self
    }

    /// The same with another limit to the number of sessions.
    #[must_use]
    pub fn with_sessions_max(mut self, most: u64) -> Self {
        self.sessions_max = most.min(SESSIONS_MAX);
        self
    }

    /// The same without the hosts `taken` (numbers in the whole fabric), the others being numbered from 0.
    #[must_use]
    pub fn without(&self, taken: &BTreeSet<u32>) -> Self {
        let left: Vec<usize> = (0..self.number.len()).filter(|h| !taken.contains(&self.number[*h])).collect();
        let keep = |of: &[u32]| left.iter().map(|h| of[*h]).collect::<Vec<u32>>();
        let mut less = Self::new(keep(&self.rack_of), keep(&self.pod_of), self.host_rate).with_base(&self.base);
        (less.number, less.fabric_hosts) = (keep(&self.number), self.fabric_hosts);
        less.sessions_max = self.sessions_max;
        less.capacity_bps = left.iter().map(|h| self.capacity_bps[*h]).collect();
        less
    }

    /// Hosts of the whole fabric, those that are taken included.
    pub fn fabric_hosts(&self) -> u32 {
        self.fabric_hosts
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

    /// Sum of the bit rates of all host links, in one direction; a link between two hosts counts for each.
    pub fn access_capacity_bps(&self) -> f64 {
        self.capacity_bps.iter().map(|bps| *bps as f64).sum()
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
            hosts_relay: false,
        };
        let context = Context::from_graph(&graph);
        assert_eq!(context.racks(), [vec![0, 1], vec![2]]);
        assert_eq!((context.pod(1), context.pod(2)), (0, 1));
        assert_eq!(context.host_rate, Rate::from_gbps(10));
        assert!((context.access_capacity_bps() - 3e10).abs() < 1.0);
    }

    #[test]
    fn all_links_of_a_host_are_capacity() {
        let of = |toml: &str| Context::from_graph(&crate::fabric::topology::tests::fabric(toml));
        let bcube = of("topology = 'bcube'\nn = 4\nk = 1");
        assert!((bcube.access_capacity_bps() - 16.0 * 2e9).abs() < 1.0);
        assert_eq!(bcube.racks().len(), 4);
        assert_eq!(bcube.rack_hosts(1), [4, 5, 6, 7]);
        let dcell = of("topology = 'dcell'\nn = 4\nk = 1");
        assert!((dcell.access_capacity_bps() - 20.0 * 2e9).abs() < 1.0);
        assert_eq!(dcell.racks().len(), 5);
        assert_eq!((dcell.rack_hosts(4), dcell.pod(19)), (&[16, 17, 18, 19][..], 4));
    }
}
