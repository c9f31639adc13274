//! Temporary.
#![allow(missing_docs)]
use super::graph::{Graph, NodeId, PortId};
use anabranch_transport::{Duration, Rate};
pub struct Routes { attach: Vec<u32>, host_port: Vec<PortId>, dist: Vec<Vec<u8>>, sets: Vec<Vec<Vec<PortId>>>, hosts: u32, owner: Vec<(u32,Rate,Duration)> }
impl Routes {
    pub fn build(graph: &Graph, alive: impl Fn(usize) -> bool) -> Self {
        let n = graph.nodes.len(); let by = graph.ports_by_node();
        let mut attach = vec![u32::MAX; graph.hosts as usize]; let mut host_port = vec![0; graph.hosts as usize];
        for h in 0..graph.hosts { let p = by[h as usize][0]; attach[h as usize] = graph.port_peer(p); host_port[h as usize] = p ^ 1; }
        let mut dist = vec![vec![]; n]; let mut sets = vec![vec![]; n];
        for s in graph.hosts as usize..n { if !attach.contains(&(s as u32)) { continue; }
            let mut d = vec![u8::MAX; n]; d[s] = 0; let mut q = std::collections::VecDeque::from([s]);
            while let Some(u) = q.pop_front() { for &p in &by[u] { let v = graph.port_peer(p) as usize; if alive((p/2) as usize) && v >= graph.hosts as usize && d[v] == u8::MAX { d[v] = d[u]+1; q.push_back(v); } } }
            sets[s] = (0..n).map(|u| if u < graph.hosts as usize { vec![] } else { by[u].iter().copied().filter(|&p| alive((p/2) as usize) && d[u] != u8::MAX && u32::from(d[graph.port_peer(p) as usize]) + 1 == u32::from(d[u])).collect() }).collect();
            dist[s] = d; }
        let owner = (0..graph.ports()).map(|p| (graph.port_peer(p), graph.links[(p/2) as usize].rate, graph.links[(p/2) as usize].delay)).collect();
        Self { attach, host_port, dist, sets, hosts: graph.hosts, owner }
    }
    #[inline] pub fn next_ports(&self, s: NodeId, dst: u32) -> &[PortId] { let a = self.attach[dst as usize]; if a == s { std::slice::from_ref(&self.host_port[dst as usize]) } else { &self.sets[a as usize][s as usize] } }
    pub fn hop_count(&self, a: u32, b: u32) -> u8 { self.dist[self.attach[b as usize] as usize][self.attach[a as usize] as usize].saturating_add(2) }
    pub fn path_count(&self, a: u32, b: u32) -> u32 { fn c(r: &Routes, s: u32, b: u32) -> u32 { if r.attach[b as usize] == s { return 1; } r.next_ports(s,b).iter().map(|&p| c(r, r.owner[p as usize].0, b)).sum() } c(self, self.attach[a as usize], b) }
    pub fn ideal_path(&self, a: u32, b: u32) -> Vec<(Rate, Duration)> { let up = self.host_port[a as usize]^1; let mut v = vec![(self.owner[up as usize].1, self.owner[up as usize].2)]; let mut s = self.attach[a as usize]; while s >= self.hosts { let ps = self.next_ports(s,b); let Some(&p) = ps.first() else { break }; v.push((self.owner[p as usize].1, self.owner[p as usize].2)); s = self.owner[p as usize].0; } v }
}
#[inline] pub fn select(ports: &[PortId], path: &mut u32) -> PortId { if ports.len() == 1 { return ports[0]; } let x = u64::from(*path) * ports.len() as u64; *path = x as u32; ports[(x >> 32) as usize] }
