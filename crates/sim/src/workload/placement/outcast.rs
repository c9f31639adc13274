//! TCP Outcast: few flows from near and many from far share a receiver's link (Prakash et al., NSDI 2012).

use super::{Ends, PlacementPattern, Plan, choose, known_host};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each request starts one session from each of `near` hosts in the receiver's rack and `far` hosts outside its pod
/// (outside its rack, in a fabric of one pod). The hosts are drawn once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcast {
    /// The receiving host.
    #[serde(default)]
    pub receiver: u32,
    /// Number of senders in the receiver's rack.
    #[serde(default = "one")]
    pub near: u32,
    /// Number of senders far away.
    pub far: u32,
}

fn one() -> u32 {
    1
}

impl PlacementPattern for Outcast {
    fn check(&self) -> Vec<Fault> {
        let positive = |key, value| (value == 0).then(|| Fault::new(key, "must be at least 1"));
        [positive("near", self.near), positive("far", self.far)].into_iter().flatten().collect()
    }

    fn plan(&self, fabric: &Context, _: Mode, rng: &mut Stream) -> Result<Plan, Fault> {
        let receiver = known_host(fabric, "receiver", self.receiver)?;
        let (rack, pod) = (fabric.rack(receiver), fabric.pod(receiver));
        let one_pod = (0..fabric.hosts()).all(|h| fabric.pod(h) == pod);
        let mut near: Vec<u32> = fabric.rack_hosts(rack).iter().copied().filter(|h| *h != receiver).collect();
        let is_far = |h: &u32| if one_pod { fabric.rack(*h) != rack } else { fabric.pod(*h) != pod };
        let mut far: Vec<u32> = (0..fabric.hosts()).filter(is_far).collect();
        for (key, wanted, found) in [("near", self.near, near.len()), ("far", self.far, far.len())] {
            if wanted as usize > found {
                return Err(Fault::new(
                    key,
                    format!("{wanted} senders {key} host {}, but there are only {found}", self.receiver),
                ));
            }
        }
        choose::sample_front(rng, &mut near, self.near as usize);
        choose::sample_front(rng, &mut far, self.far as usize);
        let senders: Vec<u32> = near[..self.near as usize].iter().chain(&far[..self.far as usize]).copied().collect();
        let count = senders.len() as u32;
        let place = move |_: &mut Stream, ends: &mut Vec<Ends>| {
            ends.extend(senders.iter().map(|sender| Ends::pair(*sender, receiver)));
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: count, round: Some(u64::from(count)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{place, refused};

    #[test]
    fn near_senders_share_the_rack_and_far_ones_not_even_the_pod() {
        let fabric = racks(6, 4);
        let outcast = Outcast { receiver: 5, near: 2, far: 9 };
        let ends = place(&outcast, &fabric, Mode::Unicast, 1).remove(0);
        assert_eq!(ends.len(), 11);
        assert!(ends[..2].iter().all(|e| fabric.rack(e.sources[0]) == fabric.rack(5) && e.sources[0] != 5));
        assert!(ends[2..].iter().all(|e| fabric.pod(e.sources[0]) != fabric.pod(5)));
        assert_eq!(refused(&Outcast { receiver: 5, near: 4, far: 1 }, &fabric).key, "near");
        assert_eq!(refused(&Outcast { receiver: 5, near: 1, far: 17 }, &fabric).key, "far");
        assert_eq!(refused(&Outcast { receiver: 24, near: 1, far: 1 }, &fabric).key, "receiver");
    }
}
