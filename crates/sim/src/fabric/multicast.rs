//! Temporary.
#![allow(missing_docs)]
use super::graph::{Graph, NodeId, PortId};
use super::routing::Routes;
pub struct Tree(Vec<(NodeId, Vec<PortId>)>);
impl Tree { pub fn build(g: &Graph, r: &Routes, s: u32, rs: &[u32], _h: u64) -> Self { let mut m = std::collections::BTreeMap::<u32, Vec<u32>>::new(); let by = g.ports_by_node(); for &d in rs { let mut n = g.port_peer(by[s as usize][0]); while n >= g.hosts { let p = r.next_ports(n, d)[0]; let e = m.entry(n).or_default(); if !e.contains(&p) { e.push(p); } n = g.port_peer(p); } } Self(m.into_iter().collect()) }
 pub fn ports(&self, n: NodeId) -> &[PortId] { self.0.binary_search_by_key(&n, |e| e.0).map_or(&[], |i| &self.0[i].1) } }
