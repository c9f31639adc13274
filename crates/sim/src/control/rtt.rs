//! How long a round trip takes whose packets pass a link.

use crate::fabric::graph::{Graph, NodeId, PortId};
use anabranch_transport::Duration;

/// Hosts on the near side of a link and those on its far side, with what lies between: round trips in an idle fabric are
/// twice the propagation delay from one to the other.
///
/// The mean over all pairs of hosts with a shortest path over the link. Exact where all hosts that are nearer to one end of
/// the link reach all that are nearer to the other over it, which is so in trees, leaf-spine fabrics, fat-trees and dumbbells;
/// elsewhere it is that mean for a fabric in which they did. Without the time that it takes to send a packet.
pub(super) fn round_trip(graph: &Graph, links_of: &[Vec<PortId>], port: PortId) -> Duration {
    let (near, far) = (graph.port_owner(port), graph.port_peer(port));
    let (from_near, from_far) = (Reach::of(graph, links_of, near), Reach::of(graph, links_of, far));
    let one_way = graph.links[port as usize / 2].delay.ps()
        + mean_delay(graph, &from_near, &from_far)
        + mean_delay(graph, &from_far, &from_near);
    Duration(2 * one_way)
}

/// Mean delay to the hosts that are nearer here than there.
fn mean_delay(graph: &Graph, here: &Reach, there: &Reach) -> u64 {
    let nearer = (0..graph.hosts as usize).filter(|&h| here.hops[h] < there.hops[h]);
    let (sum, hosts) = nearer.fold((0_u128, 0_u128), |(sum, n), h| (sum + u128::from(here.delay[h]), n + 1));
    sum.checked_div(hosts).unwrap_or(0) as u64
}

/// How far all nodes are from one.
struct Reach {
    /// Links on the shortest path.
    hops: Vec<u32>,
    /// Smallest propagation delay of such a path, in picoseconds.
    delay: Vec<u64>,
}

impl Reach {
    fn of(graph: &Graph, links_of: &[Vec<PortId>], root: NodeId) -> Self {
        let mut reach = Self { hops: vec![u32::MAX; graph.nodes.len()], delay: vec![u64::MAX; graph.nodes.len()] };
        (reach.hops[root as usize], reach.delay[root as usize]) = (0, 0);
        let mut order = vec![root];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            if graph.is_host(node) && node != root && !graph.hosts_relay {
                continue;
            }
            let (hops, delay) = (reach.hops[node as usize] + 1, reach.delay[node as usize]);
            for &port in &links_of[node as usize] {
                let peer = graph.port_peer(port) as usize;
                if reach.hops[peer] == u32::MAX {
                    reach.hops[peer] = hops;
                    order.push(peer as NodeId);
                }
                if reach.hops[peer] == hops {
                    reach.delay[peer] = reach.delay[peer].min(delay + graph.links[port as usize / 2].delay.ps());
                }
            }
        }
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::topology::tests::fabric;

    fn trip(graph: &Graph, port: &str) -> Duration {
        round_trip(graph, &graph.ports_by_node(), graph.port_named(port).expect("a port"))
    }

    #[test]
    fn a_star_has_two_links_each_way() {
        let star = fabric("topology = 'star'\nhosts = 5\ndelay = '150us'");
        let switch = &star.nodes[5].name;
        assert_eq!(trip(&star, &format!("{switch}-h4")), Duration::from_us(600));
        assert_eq!(trip(&star, &format!("h0-{switch}")), Duration::from_us(600));
    }

    #[test]
    fn a_dumbbell_has_the_bottleneck_too() {
        let dumbbell = fabric("topology = 'dumbbell'\nleft = 2\nright = 1\ndelay = '10us'\nbottleneck_delay = '30us'");
        assert_eq!(trip(&dumbbell, "left-right"), Duration::from_us(2 * 50));
        // To h0: from h1 over two links, from h2 over three: on average (20 + 50) / 2.
        assert_eq!(trip(&dumbbell, "left-h0"), Duration::from_us(70));
    }

    #[test]
    fn in_a_fat_tree_it_is_the_mean_over_who_passes() {
        let tree = fabric("topology = 'fat-tree'\nk = 4\ndelay = '1us'");
        // Between pods: six links each way, whatever the hosts.
        assert_eq!(trip(&tree, "agg0.0-core0"), Duration::from_us(12));
        // Up from an edge switch: 2 of 14 hosts are in the pod, 4 links away; 12 are 6 links away.
        let up = trip(&tree, "edge0.0-agg0.0").ps();
        assert_eq!(up, 2 * (1_000_000 + 1_000_000 + (2 * 2_000_000 + 12 * 4_000_000) / 14));
    }
}
