//! Dragonfly: groups of switches that are all linked to one another, and all pairs of groups likewise (Kim, Dally, Scott, Abts: Technology-Driven,
//! Highly-Scalable Dragonfly Topology, ISCA 2008). HPE Slingshot's fabrics, such as that of Alps, are dragonflies.

use super::links::{Size, default_delay, default_rate};
use super::{Layers, LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `groups` groups of `switches` switches with `hosts_per_switch` hosts each: `g`, `a` and `p` of the paper, which takes `a = 2 p = 2 h`. Hosts
/// are numbered switch by switch, group by group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dragonfly {
    /// Groups, at least 2.
    #[schemars(range(min = 2))]
    pub groups: u32,
    /// Switches of each group, at least 1.
    #[schemars(range(min = 1))]
    pub switches: u32,
    /// Hosts on each switch, at least 1.
    #[schemars(range(min = 1))]
    pub hosts_per_switch: u32,
    /// Links of each switch to other groups (`h`), from 1 to `groups - 1`; `switches` times as many are at least `groups - 1`. Each pair of
    /// groups has the same number of links; ports left over stay free.
    #[schemars(range(min = 1))]
    pub global_links: u32,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Layers with another rate or delay: `host`, `aggregation` for links within a group, `core` for those between groups.
    #[serde(default, skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

impl Topology for Dragonfly {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        self.layers.expect_only(&[Level::Host, Level::Aggregation, Level::Core])?;
        let base = LinkSpec::checked(self.rate, self.delay, "")?;
        let [host, local, global] = [Level::Host, Level::Aggregation, Level::Core].map(|l| self.layers.links(l, base));
        let (host, local, global) = (host?, local?, global?);
        let counts = [
            ("groups", self.groups, 2),
            ("switches", self.switches, 1),
            ("hosts_per_switch", self.hosts_per_switch, 1),
            ("global_links", self.global_links, 1),
        ];
        if let Some((field, count, least)) = counts.into_iter().find(|(_, count, least)| count < least) {
            return Err(TopologyError::field(field, count, format!("at least {least}")));
        }
        let [g, a, p, h] = counts.map(|(_, count, _)| u64::from(count));
        if h > g - 1 {
            let expected = format!("at most {}: a switch has one link to each other group at most", g - 1);
            return Err(TopologyError::field("global_links", h, expected));
        }
        // How many links a pair of groups has.
        let links = a.saturating_mul(h) / (g - 1);
        if links == 0 {
            let expected = format!("at least {}, so that each group has a link to each other", (g - 1).div_ceil(a));
            return Err(TopologyError::field("global_links", h, expected));
        }
        let switches = g.saturating_mul(a);
        let hosts = switches.saturating_mul(p);
        let within = switches.saturating_mul(a - 1) / 2;
        let between = (g.saturating_mul(g - 1) / 2).saturating_mul(links);
        let found = counts.map(|(_, count, _)| count.to_string()).join(", ");
        Size { hosts, switches, racks: switches, links: hosts.saturating_add(within).saturating_add(between) }
            .check(&counts.map(|(field, ..)| field).join(", "), found)?;

        let Self { groups, switches, hosts_per_switch, global_links, .. } = *self;
        let mut graph = Graph::with_hosts(hosts as u32, |host| Some(host / (switches * hosts_per_switch)));
        let first = graph.nodes.len() as NodeId;
        for (group, switch) in (0..groups).flat_map(|group| (0..switches).map(move |switch| (group, switch))) {
            graph.add_switch(format!("edge{group}.{switch}"), Level::Edge, Some(group));
        }
        for host_number in 0..graph.hosts {
            graph.connect(host_number, first + host_number / hosts_per_switch, host.rate, host.delay);
        }
        for group in 0..groups {
            let of = first + group * switches;
            for (a, b) in (0..switches).flat_map(|a| (a + 1..switches).map(move |b| (a, b))) {
                graph.connect(of + a, of + b, local.rate, local.delay);
            }
        }
        // The ports of a group lead to the groups after it in turn.
        let port = |from: u32, to: u32, link: u32| link * (groups - 1) + (to + groups - from) % groups - 1;
        for link in 0..links as u32 {
            for (a, b) in (0..groups).flat_map(|a| (a + 1..groups).map(move |b| (a, b))) {
                let end = |from: u32, to: u32| first + from * switches + port(from, to, link) / global_links;
                graph.connect(end(a, b), end(b, a), global.rate, global.delay);
            }
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::{config, fabric};
    use anabranch_transport::Rate;
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn the_papers_balanced_sizes() {
        // ISCA 2008, §3.1: a = 2 p = 2 h, g = a h + 1 groups; of p = h = 2 and a = 4, 72 hosts in 9 groups.
        for h in [1_u32, 2, 3, 4] {
            let (a, g) = (2 * h, 2 * h * h + 1);
            let f = fabric(&format!(
                "topology = 'dragonfly'\ngroups = {g}\nswitches = {a}\nhosts_per_switch = {h}\nglobal_links = {h}"
            ));
            assert_eq!(f.hosts, g * a * h);
            // Every port is taken: p + (a - 1) + h.
            let ports = f.ports_by_node();
            assert!(ports[f.hosts as usize..].iter().all(|ports| ports.len() as u32 == h + a - 1 + h));
            let routes = Routes::build(&f, |_| true);
            let longest = (1..f.hosts).map(|host| routes.hop_count(0, host)).max();
            // Two links of hosts, and local, global, local.
            assert_eq!(longest, Some(5));
        }
    }

    #[test]
    fn every_pair_of_groups_has_as_many_links() {
        let f = fabric(
            "topology = 'dragonfly'\ngroups = 4\nswitches = 5\nhosts_per_switch = 1\nglobal_links = 3\nlayers = { aggregation = { rate = '2Gbps' }, core = { rate = '3Gbps' } }",
        );
        let (mut pairs, mut ends): (BTreeMap<_, u32>, BTreeMap<_, u32>) = Default::default();
        for link in f.links.iter().filter(|link| !f.is_host(link.a)) {
            let pods = [link.a, link.b].map(|n| f.nodes[n as usize].pod);
            *ends.entry((link.a, link.b)).or_default() += 1;
            if pods[0] == pods[1] {
                assert_eq!(link.rate, Rate::from_gbps(2));
            } else {
                assert_eq!(link.rate, Rate::from_gbps(3));
                *pairs.entry(pods).or_default() += 1;
            }
        }
        // Fifteen ports of a group for three others: five links of each pair, no two between the same switches.
        assert_eq!(pairs.into_values().collect::<Vec<_>>(), [5; 6]);
        assert!(ends.into_values().all(|links| links == 1));
    }

    #[test]
    fn what_is_no_dragonfly_is_refused() {
        let error = |groups: u32, switches: u32, links: u32| {
            let text = format!(
                "topology = 'dragonfly'\ngroups = {groups}\nswitches = {switches}\nhosts_per_switch = 2\nglobal_links = {links}"
            );
            config(&text).build(Path::new("")).unwrap_err().to_string()
        };
        assert!(error(1, 4, 1).contains("`groups` is 1"));
        assert!(error(3, 4, 3).contains("at most 2"));
        assert!(error(10, 4, 2).contains("at least 3, so that each group has a link"));
        assert!(error(u32::MAX, u32::MAX, 7).contains("a fabric of at most"));
    }
}
