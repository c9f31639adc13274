//! Random pairs with a given share of traffic within the rack.

use super::{Between, Ends, PlacementPattern, Plan, choose, need_hosts};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sender is drawn uniformly; the receiver is in its rack with probability `same_rack`, else in another rack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RackAware {
    /// Probability that both ends are in the same rack, 0 to 1. 0: all traffic leaves the rack.
    pub same_rack: f64,
}

impl PlacementPattern for RackAware {
    fn check(&self) -> Vec<Fault> {
        if (0.0..=1.0).contains(&self.same_rack) {
            return Vec::new();
        }
        vec![Fault::new("same_rack", format!("must be from 0 to 1, not {}", self.same_rack))]
    }

    fn plan(&self, fabric: &Context, _: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        need_hosts(fabric, "", 2, "a pair")?;
        let share = self.same_rack;
        let used = || fabric.racks().iter().filter(|r| !r.is_empty());
        if share > 0.0 && used().any(|r| r.len() == 1) {
            return Err(Fault::new("same_rack", "must be 0 in a fabric with a rack of a single host"));
        }
        if share < 1.0 && used().count() == 1 {
            return Err(Fault::new("same_rack", "must be 1 in a fabric of a single rack"));
        }
        let fabric = fabric.clone();
        let place = move |rng: &mut Stream, ends: &mut Vec<Ends>| {
            let source = rng.random_range(0..fabric.hosts());
            let rack = fabric.rack_hosts(fabric.rack(source));
            let sink = if rng.random::<f64>() < share {
                let own = rack.iter().position(|h| *h == source).unwrap_or_default() as u32;
                rack[choose::other(rng, rack.len() as u32, own) as usize]
            } else {
                // Racks are small next to the fabric, so rejection ends soon.
                loop {
                    let sink = rng.random_range(0..fabric.hosts());
                    if fabric.rack(sink) != fabric.rack(source) {
                        break sink;
                    }
                }
            };
            ends.push(Ends::pair(source, sink));
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: 1, round: None })
    }

    fn groups(&self, fabric: &Context) -> Option<Vec<Between>> {
        let of_rack = |rack: u32| {
            let (own, others): (Vec<u32>, Vec<u32>) = (0..fabric.hosts()).partition(|&h| fabric.rack(h) == rack);
            let share = own.len() as f64 / f64::from(fabric.hosts());
            let outside = Between { from: own.clone(), to: others, share: share * (1.0 - self.same_rack) };
            [Between { from: own.clone(), to: own, share: share * self.same_rack }, outside]
        };
        Some((0..fabric.racks().len() as u32).flat_map(of_rack).filter(|group| group.share > 0.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{pairs, refused};

    #[test]
    fn the_share_within_the_rack_is_as_asked() {
        let fabric = racks(4, 5);
        for share in [0.0, 0.3, 1.0] {
            let drawn = pairs(&RackAware { same_rack: share }, &fabric, 20_000);
            assert!(drawn.iter().all(|(a, b)| a != b));
            let same = drawn.iter().filter(|(a, b)| fabric.rack(*a) == fabric.rack(*b)).count();
            // Standard deviation at 0.3: 0.0032.
            assert!((same as f64 / 20_000.0 - share).abs() < 0.013);
        }
    }

    #[test]
    fn needs_racks_that_allow_it() {
        assert_eq!(refused(&RackAware { same_rack: 0.5 }, &racks(1, 4)).key, "same_rack");
        assert_eq!(refused(&RackAware { same_rack: 0.5 }, &racks(4, 1)).key, "same_rack");
        assert_eq!(RackAware { same_rack: 30.0 }.check()[0].key, "same_rack");
    }
}
