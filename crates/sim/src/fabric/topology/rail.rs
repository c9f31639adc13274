//! Rail-optimised Clos: GPU `i` of every server hangs off leaf `i` of its segment, so that a ring over the GPUs with the same number never
//! leaves a leaf (NVIDIA DGX `SuperPOD` reference architecture; Alibaba HPN, SIGCOMM 2024). Two tiers, or three; one plane, or several.

use super::links::{Size, default_delay, default_rate, oversubscribed};
use super::{Layers, LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `pods` x `segments` x `servers` servers of `rails` GPUs. A host is a GPU with its network interface: host `rails * s + i` is GPU `i` of
/// server `s`. Each segment has a leaf for each rail and plane. A leaf has one link to each spine of its pod and plane; a spine, one to
/// each core switch of its plane. What joins the GPUs of a server is not part of it: `host.server`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rail {
    /// Segments (scalable units) of each pod, at least 1.
    #[schemars(range(min = 1))]
    pub segments: u32,
    /// Servers of each segment, at least 1.
    #[schemars(range(min = 1))]
    pub servers: u32,
    /// GPUs of each server, at least 1; 8 by default.
    #[serde(default = "eight")]
    #[schemars(range(min = 1))]
    pub rails: u32,
    /// Planes: ports of each network interface, each with leaves, spines and cores of its own, at least 1. With several, hosts choose
    /// among their links; `rate` is that of one.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub planes: u32,
    /// Spines of each pod and plane, at least 1.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Pods: above 1, there are three tiers.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub pods: u32,
    /// Core switches of each plane: above 0 if and only if there are several pods.
    #[serde(default)]
    pub cores: u32,
    /// Capacity from a leaf's hosts over capacity to its spines: 4 means 4:1, 1 is non-blocking. Sets the rate of the leaf-spine links, so
    /// that it must be left out of `layers`. Above zero, up to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000))]
    pub oversubscription: Option<f64>,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Layers with another rate or delay: `host`; `core` for the links that lead up to spines in two tiers; in three tiers `aggregation`
    /// for these, and `core` for those above.
    #[serde(default, skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

const fn one() -> u32 {
    1
}

const fn eight() -> u32 {
    8
}

/// The links of each layer.
struct Links {
    host: LinkSpec,
    spine: LinkSpec,
    core: LinkSpec,
}

impl Rail {
    /// The level of spines, whose name the layer of their links has.
    fn spine_level(&self) -> Level {
        if self.pods > 1 { Level::Aggregation } else { Level::Core }
    }

    fn links(&self) -> Result<Links, TopologyError> {
        let above = self.spine_level();
        // In two tiers, spines are the core.
        self.layers.expect_only(&[Level::Host, above, Level::Core][..if self.pods > 1 { 3 } else { 2 }])?;
        let base = LinkSpec::checked(self.rate, self.delay, "")?;
        let links = |level| self.layers.links(level, base);
        let (host, mut spine, core) = (links(Level::Host)?, links(above)?, links(Level::Core)?);
        if let Some(ratio) = self.oversubscription {
            let layer = if self.pods > 1 { self.layers.aggregation } else { self.layers.core };
            let given = layer.and_then(|links| links.rate).map(|_| above.name());
            spine = oversubscribed(ratio, (host, self.servers), (spine, self.spines), given)?;
        }
        Ok(Links { host, spine, core })
    }

    /// Checks the counts, and that the fabric is within the limits.
    fn check(&self) -> Result<(), TopologyError> {
        let counts = [
            ("segments", self.segments),
            ("servers", self.servers),
            ("rails", self.rails),
            ("planes", self.planes),
            ("spines", self.spines),
            ("pods", self.pods),
        ];
        if let Some((field, count)) = counts.into_iter().find(|&(_, count)| count == 0) {
            return Err(TopologyError::field(field, count, "at least 1"));
        }
        match (self.pods > 1, self.cores) {
            (true, 0) => {
                return Err(TopologyError::field("cores", 0, "at least 1: core switches join the pods"));
            }
            (false, 1..) => {
                return Err(TopologyError::field("cores", self.cores, "0 with a single pod")
                    .with_hint("pods = 2: core switches join pods, spines join the segments of one"));
            }
            _ => {}
        }
        let (found, names) = (counts.map(|(_, count)| count.to_string()).join(", "), counts.map(|(n, _)| n).join(", "));
        let [segments, servers, rails, planes, spines, pods] = counts.map(|(_, count)| u64::from(count));
        let cores = u64::from(self.cores);
        let product = |factors: &[u64]| factors.iter().fold(1_u64, |product, &factor| product.saturating_mul(factor));
        let hosts = product(&[pods, segments, servers, rails]);
        if hosts < 2 {
            return Err(TopologyError::field(names, found, "at least 2 hosts"));
        }
        let (leaves, all_spines) = (product(&[pods, segments, rails, planes]), product(&[pods, spines, planes]));
        let links = [product(&[hosts, planes]), product(&[leaves, spines]), product(&[all_spines, cores])];
        Size {
            hosts,
            switches: leaves.saturating_add(all_spines).saturating_add(product(&[cores, planes])),
            racks: leaves,
            links: links.into_iter().fold(0, u64::saturating_add),
        }
        .with_choosing_hosts(self.planes > 1)
        .check(&names, found)
    }
}

impl Topology for Rail {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let links = self.links()?;
        self.check()?;
        let Self { segments, servers, rails, planes, spines, pods, cores, .. } = *self;
        // With one pod, segments are what fabrics call pods.
        let of = |segment: u32| Some(if pods > 1 { segment / segments } else { segment });
        let segment_of = |host: u32| host / (servers * rails);
        let mut graph = Graph::with_hosts(pods * segments * servers * rails, |host| of(segment_of(host)));
        // A plane's switch has the plane in its name if there are several.
        let name = |what: String, plane: u32| if planes > 1 { format!("{what}@{plane}") } else { what };
        let first_leaf = graph.nodes.len() as NodeId;
        for (segment, rail) in (0..pods * segments).flat_map(|s| (0..rails).map(move |r| (s, r))) {
            for plane in 0..planes {
                graph.add_switch(name(format!("leaf{segment}.{rail}"), plane), Level::Edge, of(segment));
            }
        }
        let first_spine = graph.nodes.len() as NodeId;
        for (pod, spine) in (0..pods).flat_map(|pod| (0..spines).map(move |s| (pod, s))) {
            let (text, of) =
                if pods > 1 { (format!("spine{pod}.{spine}"), Some(pod)) } else { (format!("spine{spine}"), None) };
            for plane in 0..planes {
                graph.add_switch(name(text.clone(), plane), self.spine_level(), of);
            }
        }
        let first_core = graph.nodes.len() as NodeId;
        for core in 0..cores {
            for plane in 0..planes {
                graph.add_switch(name(format!("core{core}"), plane), Level::Core, None);
            }
        }
        for host in 0..graph.hosts {
            let leaf = first_leaf + (segment_of(host) * rails + host % rails) * planes;
            for plane in 0..planes {
                graph.connect(host, leaf + plane, links.host.rate, links.host.delay);
            }
        }
        for leaf in 0..pods * segments * rails * planes {
            let (pod, plane) = (leaf / (segments * rails * planes), leaf % planes);
            for spine in 0..spines {
                let spine = first_spine + (pod * spines + spine) * planes + plane;
                graph.connect(first_leaf + leaf, spine, links.spine.rate, links.spine.delay);
            }
        }
        for spine in 0..pods * spines * planes {
            for core in 0..cores {
                let core = first_core + core * planes + spine % planes;
                graph.connect(first_spine + spine, core, links.core.rate, links.core.delay);
            }
        }
        Ok(graph)
    }

    fn may_be_multi_homed(&self) -> bool {
        self.planes > 1
    }
}

#[cfg(test)]
mod tests {
    use crate::fabric::graph::Level;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::{config, fabric};
    use anabranch_transport::Rate;
    use std::path::Path;

    #[test]
    fn a_rail_is_a_leaf_and_rails_meet_at_the_spines() {
        let g = fabric(
            "topology = 'rail'\nsegments = 2\nservers = 4\nrails = 8\nspines = 3\nrate = '400Gbps'\noversubscription = 2",
        );
        assert_eq!((g.hosts, g.nodes.len(), g.links.len()), (64, 64 + 16 + 3, 64 + 16 * 3));
        let racks = g.racks();
        for (host, &rack) in racks.iter().enumerate() {
            let leaf = &g.nodes[rack as usize];
            assert_eq!(leaf.name, format!("leaf{}.{}", host / 32, host % 8));
            assert_eq!((leaf.pod, g.nodes[host].pod), (Some(host as u32 / 32), Some(host as u32 / 32)));
        }
        // Four hosts at 400 Gbps over three spines, two to one.
        assert_eq!(g.links.last().map(|link| link.rate), Some(Rate(266_666_666_667)));
        let routes = Routes::build(&g, |_| true);
        let ways = [(0, 8), (0, 1), (0, 32), (0, 33)].map(|(a, b)| (routes.hop_count(a, b), routes.path_count(a, b)));
        assert_eq!(ways, [(2, 1), (4, 3), (4, 3), (4, 3)]);
        assert!(
            !g.multi_homed()
                && !config("topology = 'rail'\nsegments = 2\nservers = 4\nspines = 3").may_be_multi_homed()
        );
    }

    #[test]
    fn planes_share_nothing_but_hosts() {
        let text = "topology = 'rail'\nsegments = 2\nservers = 2\nrails = 2\nplanes = 2\nspines = 3\nrate = '200Gbps'\nlayers = { core = { rate = '400Gbps' } }";
        let g = fabric(text);
        assert_eq!((g.hosts, g.nodes.len(), g.links.len()), (8, 8 + 8 + 6, 16 + 8 * 3));
        let plane = |n: u32| g.nodes[n as usize].name.rsplit_once('@').map(|(_, plane)| plane.to_owned());
        assert!(g.links.iter().filter(|l| !g.is_host(l.a)).all(|l| plane(l.a).is_some() && plane(l.a) == plane(l.b)));
        assert!(g.multi_homed() && config(text).may_be_multi_homed() && !g.hosts_relay);
        let routes = Routes::build(&g, |_| true);
        assert_eq!((routes.hop_count(0, 2), routes.path_count(0, 2)), (2, 2));
        assert_eq!((routes.hop_count(0, 1), routes.path_count(0, 1)), (4, 6));
    }

    #[test]
    fn pods_meet_at_the_core() {
        let g = fabric(
            "topology = 'rail'\nsegments = 2\nservers = 2\nrails = 4\nspines = 4\npods = 3\ncores = 8\nlayers = { aggregation = { rate = '2Gbps' }, core = { rate = '3Gbps' } }",
        );
        let count = |level| g.nodes.iter().filter(|node| node.level == level).count();
        assert_eq!([Level::Host, Level::Edge, Level::Aggregation, Level::Core].map(count), [48, 24, 12, 8]);
        assert_eq!(g.links.len(), 48 + 24 * 4 + 12 * 8);
        let routes = Routes::build(&g, |_| true);
        let ways = [(0, 4), (0, 1), (0, 47)].map(|(a, b)| (routes.hop_count(a, b), routes.path_count(a, b)));
        assert_eq!(ways, [(2, 1), (4, 4), (6, 4 * 8 * 4)]);
        assert_eq!((g.nodes[0].pod, g.nodes[47].pod), (Some(0), Some(2)));
        let rates: Vec<u64> = [0, 48, 48 + 96].iter().map(|&l: &usize| g.links[l].rate.bps() / 1_000_000_000).collect();
        assert_eq!(rates, [1, 2, 3]);
    }

    #[test]
    fn what_is_no_fabric_is_refused_before_anything_is_allocated() {
        let error = |text: &str| {
            let text = format!("topology = 'rail'\n{text}");
            config(&text).build(Path::new("")).unwrap_err().to_string()
        };
        let max = u32::MAX;
        assert!(error("segments = 1\nservers = 2\nspines = 0").contains("`spines` is 0"));
        assert!(error("segments = 1\nservers = 2\nspines = 1\npods = 2").contains("core switches join the pods"));
        assert!(error("segments = 1\nservers = 2\nspines = 1\ncores = 2").contains("pods = 2"));
        assert!(error("segments = 1\nservers = 1\nrails = 1\nspines = 1").contains("at least 2 hosts"));
        assert!(error(&format!("segments = {max}\nservers = {max}\nspines = {max}")).contains("a fabric of at most"));
        let both =
            "segments = 1\nservers = 2\nspines = 1\noversubscription = 2\nlayers = { core = { rate = '1Gbps' } }";
        assert!(error(both).contains("only one of it and `layers.core.rate`"));
        let layer = "segments = 1\nservers = 2\nspines = 1\nlayers = { aggregation = { rate = '1Gbps' } }";
        assert!(error(layer).contains("only layers that this fabric has: host, core"));
    }
}
