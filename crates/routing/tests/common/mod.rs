//! Fabrics and routings that the tests share.
#![allow(unreachable_pub, reason = "each test uses a part")]

use anabranch_routing::error::RoutingResult;
use anabranch_routing::fabric::Fabric;
use anabranch_routing::number::{Exact, Scalar};
use anabranch_routing::schemes::{Matters, Scheme, Shares, paths_of};
use anabranch_routing::traffic::{Pattern, TrafficMatrix};
use anabranch_sim::fabric::topology::TopologyConfig;
use std::path::Path;

pub fn fabric(toml: &str, failed: &[&str]) -> Fabric {
    let config: TopologyConfig = toml::from_str(toml).unwrap();
    let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
    Fabric::build(&config, Path::new("."), &failed).unwrap()
}

pub fn ft(m: u32, n: u32) -> Fabric {
    fabric(&format!("topology = 'm-port-n-tree'\nm = {m}\nn = {n}"), &[])
}

pub fn pattern(text: &str, fabric: &Fabric) -> TrafficMatrix {
    Pattern::parse(text).unwrap().unwrap().matrix(fabric.hosts(), 3).unwrap()
}

pub fn texts(values: &[Exact]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

pub fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}

/// A routing that names the numbers of the shortest paths of each pair of hosts, all with the same share.
pub struct Chosen<F>(pub F);

impl<F: Fn(u32, u32) -> Vec<usize> + Send + Sync> Scheme<Exact> for Chosen<F> {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Host, Matters::Host)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<Exact>) -> RoutingResult<()> {
        for port in [fabric.first_port(s), fabric.last_port(d)].into_iter().flatten() {
            out.add(port, Exact::ONE)?;
        }
        if fabric.rack(s) == fabric.rack(d) {
            return Ok(());
        }
        let paths = paths_of(fabric, fabric.rack(s), fabric.rack(d), 1000)?;
        let mut chosen: Vec<usize> = (self.0)(s, d).into_iter().map(|i| i % paths.len()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        for &i in &chosen {
            paths[i].iter().try_for_each(|&port| out.add(port, Exact::ratio(1, chosen.len() as u64)))?;
        }
        Ok(())
    }
}
