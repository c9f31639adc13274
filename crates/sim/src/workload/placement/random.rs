//! Random pairs.

use super::{Between, Ends, PlacementPattern, Plan, choose, need_hosts};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each session between two different hosts drawn uniformly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Random {
    /// Whether hosts send in turn, each to another one drawn uniformly (Song §5.3.1.3), instead of being drawn, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
}

impl PlacementPattern for Random {
    fn plan(&self, fabric: &Context, _: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        need_hosts(fabric, "", 2, "a random pair")?;
        let (hosts, each, mut next) = (fabric.hosts(), self.each, 0);
        let place = move |rng: &mut Stream, ends: &mut Vec<Ends>| {
            let source = if each { next } else { rng.random_range(0..hosts) };
            next = (source + 1) % hosts;
            ends.push(Ends::pair(source, choose::other(rng, hosts, source)));
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: 1, round: each.then_some(u64::from(hosts)) })
    }

    fn groups(&self, fabric: &Context) -> Option<Vec<Between>> {
        let all: Vec<u32> = (0..fabric.hosts()).collect();
        Some(vec![Between { from: all.clone(), to: all, share: 1.0 }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{pairs, refused};

    #[test]
    fn pairs_are_uniform_and_never_a_host_with_itself() {
        let mut count = [[0_u32; 4]; 4];
        for (source, sink) in pairs(&Random::default(), &racks(2, 2), 12_000) {
            count[source as usize][sink as usize] += 1;
        }
        for (source, row) in count.iter().enumerate() {
            for (sink, n) in row.iter().enumerate() {
                assert!(if source == sink { *n == 0 } else { (850..1150).contains(n) }, "{count:?}");
            }
        }
        let mut received = [0_u32; 4];
        for (turn, (source, sink)) in (0..).zip(pairs(&Random { each: true }, &racks(2, 2), 4000)) {
            assert!(source == turn % 4 && sink != source);
            received[sink as usize] += 1;
        }
        assert!(received.iter().all(|n| (900..1100).contains(n)), "{received:?}");
        assert!(refused(&Random::default(), &racks(1, 1)).message.contains("at least 2 hosts"));
    }
}
