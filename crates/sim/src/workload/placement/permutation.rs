//! A permutation traffic matrix.

use super::{Ends, PlacementPattern, Plan, choose, need_hosts};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each host sends to exactly one other host and receives from exactly one other host: a random permutation without
/// fixed points, drawn once. Requests go through the senders in order, over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Permutation {
    /// Share of the hosts that take part, above 0 and at most 1, drawn at random; at least two hosts.
    pub share: f64,
}

impl Default for Permutation {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

impl PlacementPattern for Permutation {
    fn check(&self) -> Vec<Fault> {
        if self.share > 0.0 && self.share <= 1.0 {
            return Vec::new();
        }
        vec![Fault::new("share", format!("must be above 0 and at most 1, not {}", self.share))]
    }

    fn plan(&self, fabric: &Context, _: Mode, rng: &mut Stream) -> Result<Plan, Fault> {
        let size = (self.share * f64::from(fabric.hosts())).round() as usize;
        need_hosts(fabric, "", 2, "a permutation")?;
        if size < 2 {
            let hosts = fabric.hosts();
            return Err(Fault::new("share", format!("{} of {hosts} hosts is fewer than two hosts", self.share)));
        }
        let mut members: Vec<u32> = (0..fabric.hosts()).collect();
        if size < members.len() {
            choose::sample_front(rng, &mut members, size);
            members.truncate(size);
            members.sort_unstable();
        }
        let image = choose::derangement(rng, size);
        let mut next = 0;
        let place = move |_: &mut Stream, ends: &mut Vec<Ends>| {
            ends.push(Ends::pair(members[next], members[image[next] as usize]));
            next = (next + 1) % size;
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: 1, round: Some(size as u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{pairs, refused};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_member_sends_once_and_receives_once(n_racks in 1_u32..6, per_rack in 2_u32..9, share in 0.3_f64..=1.0) {
            let fabric = racks(n_racks, per_rack);
            let size = (share * f64::from(fabric.hosts())).round() as usize;
            prop_assume!(size >= 2);
            let drawn = pairs(&Permutation { share }, &fabric, 2 * size);
            let sources: BTreeSet<u32> = drawn[..size].iter().map(|p| p.0).collect();
            let sinks: BTreeSet<u32> = drawn[..size].iter().map(|p| p.1).collect();
            prop_assert_eq!(sources.len(), size);
            prop_assert_eq!(&sources, &sinks);
            prop_assert!(drawn.iter().all(|(a, b)| a != b));
            prop_assert_eq!(&drawn[..size], &drawn[size..]);
        }
    }

    #[test]
    fn thirty_per_cent_of_the_papers_fabric_are_75_hosts() {
        let mut rng = crate::random::stream(1, "placement");
        let plan = Permutation { share: 0.3 }.plan(&racks(50, 5), Mode::Unicast, &mut rng).unwrap();
        assert_eq!(plan.round, Some(75));
        assert_eq!(refused(&Permutation { share: 0.1 }, &racks(1, 4)).key, "share");
        assert_eq!(Permutation { share: 30.0 }.check()[0].key, "share");
    }
}
