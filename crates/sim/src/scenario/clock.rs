//! Whether what a run does fits its clock: what lasts longer than [`Time::LATEST`] is an error before anything moves.

use super::Scenario;
use crate::fabric::graph::{Graph, NodeId};
use crate::workload::{Fault, Session};
use anabranch_transport::{Bytes, Rate, Time};
use std::cmp::Reverse;

impl Scenario {
    /// The first session that cannot end in time, whatever else happens.
    pub(super) fn check_clock(&self, graph: &Graph, sessions: &[Session]) -> Result<(), Fault> {
        let slowest = graph.links.iter().map(|link| link.rate).min().unwrap_or(Rate(1));
        for session in sessions {
            let of = &self.workload[usize::from(session.group)];
            let under = |fault: Fault| fault.under(&format!("workload.{}", session.group));
            if let Some(barrier) = &of.barrier
                && session.start + barrier.think * u64::from(barrier.blocks - 1) > Time::LATEST
            {
                let message = format!("{} blocks with {} between them", barrier.blocks, barrier.think);
                return Err(under(too_long("barrier.think", &message).hint("fewer blocks")));
            }
            if let Some(duration) = of.duration().filter(|&lasts| session.start + lasts > Time::LATEST) {
                return Err(under(too_long(
                    "sizes.duration",
                    &format!("a session of {duration} from {:?} on", session.start),
                )));
            }
            let Some(size) = session.size else { continue };
            // Nearly always.
            if session.start + slowest.transmit_time(size.0) <= Time::LATEST {
                continue;
            }
            for &sink in &session.sinks {
                let rates = session.sources.iter().map(|&source| widest(graph, source, sink));
                let rate = rates.max().unwrap_or(slowest);
                if session.start + rate.transmit_time(size.0) > Time::LATEST {
                    return Err(self.too_slow(graph, size, rate));
                }
            }
        }
        Ok(())
    }

    /// The fault of the links whose rate is too low for an object.
    fn too_slow(&self, graph: &Graph, size: Bytes, rate: Rate) -> Fault {
        let own = serde_json::to_value(&self.fabric).unwrap_or_default();
        // Most fabrics have one rate, and some a second one for inner links.
        let keys = ["rate", "bottleneck_rate", "switch_rate"];
        let is = |key: &&str| own.get(key).and_then(serde_json::Value::as_str) == Some(rate.to_string().as_str());
        let key = keys.into_iter().find(is).map_or("fabric".to_owned(), |key| format!("fabric.{key}"));
        let link = graph.links.iter().find(|link| link.rate == rate);
        let ends = link.map(|link| [link.a, link.b].map(|node| graph.nodes[node as usize].name.as_str()));
        let ends = ends.map_or(String::new(), |[a, b]| format!(" such as {a}-{b}"));
        too_long(&key, &format!("a session of {size} over links of {rate}{ends}"))
            .hint("a higher rate, or smaller objects")
    }
}

fn too_long(key: &str, what: &str) -> Fault {
    Fault::new(key, format!("{what} lasts longer than a run can: 213 days, {} s", Time::LATEST.as_secs_f64()))
}

/// The highest rate at which every link of some path between two hosts works.
fn widest(graph: &Graph, from: u32, to: u32) -> Rate {
    let mut links: Vec<_> = graph.links.iter().collect();
    links.sort_by_key(|link| Reverse(link.rate));
    let mut parts: Vec<NodeId> = (0..graph.nodes.len() as NodeId).collect();
    for link in links {
        let (a, b) = (part(&mut parts, link.a), part(&mut parts, link.b));
        parts[a as usize] = b;
        if part(&mut parts, from) == part(&mut parts, to) {
            return link.rate;
        }
    }
    Rate(1)
}

/// The node that stands for the part of the fabric that a node is in (Tarjan's disjoint sets, with path halving).
fn part(parts: &mut [NodeId], mut node: NodeId) -> NodeId {
    while parts[node as usize] != node {
        parts[node as usize] = parts[parts[node as usize] as usize];
        node = parts[node as usize];
    }
    node
}

#[cfg(test)]
mod tests {
    use crate::scenario::parse;

    /// What is wrong, if anything is, with a run of this scenario.
    fn wrong(fabric: &str, workload: &str) -> Option<String> {
        let text = format!(
            "[transport]\nname = 'udp'\n[fabric]\n{fabric}\n[[workload]]\nplacement = {{ pattern = 'pairs', pairs = [[0, 1]] }}\n{workload}\n"
        );
        let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        plan.prepare(&plan.runs[0]).err().map(|error| error.to_string())
    }

    const STAR: &str = "topology = 'star'\nhosts = 2";

    #[test]
    fn requests_that_no_run_reaches_are_told_with_their_key() {
        let size = "sizes = { law = 'fixed', size = '1KB' }";
        for (key, arrivals) in [
            ("arrivals.every", "sessions = 300\narrivals = { law = 'interval', every = '86400s' }"),
            ("arrivals.every", "sessions = 3\narrivals = { law = 'interval', every = '18000000s' }"),
            ("arrivals.rate", "sessions = 300\narrivals = { law = 'poisson', rate = 1e-5 }"),
            ("arrivals.load", "sessions = 300\narrivals = { law = 'poisson', load = 1e-13 }"),
            (
                "arrivals.jitter",
                "sessions = 9\narrivals = { law = 'synchronised', at = '18400000s', jitter = '40000s' }",
            ),
        ] {
            let error = wrong(STAR, &format!("{size}\n{arrivals}")).unwrap_or_else(|| panic!("{arrivals}"));
            assert!(
                error.contains(key) && error.contains("213 days") && error.contains("hint:"),
                "{arrivals}: {error}"
            );
        }
        for fits in [
            "sessions = 200\narrivals = { law = 'interval', every = '86400s' }",
            "until = '100s'\narrivals = { law = 'interval', every = '18000000s' }",
            "until = '1000000s'\narrivals = { law = 'poisson', rate = 1e-5 }",
        ] {
            assert_eq!(wrong(STAR, &format!("{size}\n{fits}")), None, "{fits}");
        }
    }

    #[test]
    fn objects_that_a_link_never_carries_are_told_with_its_key() {
        let at_once = "sessions = 1\nsizes = { law = 'fixed', size = '10MB' }";
        let dumbbell = "topology = 'dumbbell'\nleft = 1\nright = 1\nbottleneck_rate = '1bps'";
        for (key, fabric) in [
            ("fabric.rate", format!("{STAR}\nrate = '1bps'")),
            ("fabric.rate", format!("{STAR}\nrate = '4bps'")),
            ("fabric.bottleneck_rate", dumbbell.to_owned()),
        ] {
            let error = wrong(&fabric, at_once).unwrap_or_else(|| panic!("{fabric}"));
            assert!(error.contains(key) && error.contains("213 days"), "{fabric}: {error}");
        }
        assert_eq!(wrong(&format!("{STAR}\nrate = '10bps'"), at_once), None);
        // Another path is fast enough.
        let spines = "topology = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 1";
        assert_eq!(wrong(spines, at_once), None);
    }

    #[test]
    fn what_lasts_too_long_is_told_with_its_key() {
        let endless = "sessions = 1\nsizes = { law = 'endless', duration = '18403200s' }\narrivals = { law = 'synchronised', at = '1s' }\ntransport = 'newreno'";
        assert!(wrong(STAR, endless).is_some_and(|e| e.contains("sizes.duration")));
        let barrier = "sessions = 1\nsizes = { law = 'fixed', size = '1MB' }\ntransport = 'newreno'\nbarrier = { blocks = 1000000, think = '1000s' }";
        assert!(wrong(STAR, barrier).is_some_and(|e| e.contains("barrier.think")));
    }
}
