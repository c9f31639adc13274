//! Incast: many senders, one receiver, at the same time.

use super::{Ends, PlacementPattern, Plan, choose, known_host, need_hosts};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each request is answered by `senders` hosts at once, one session each, as in partition-aggregate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Number of senders of a request, all different.
    pub senders: u32,
    /// The receiving host; without it each request draws one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<u32>,
    /// Which hosts send.
    #[serde(default)]
    pub choice: Senders,
}

/// Which hosts send in an incast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Senders {
    /// Drawn for each request.
    #[default]
    Random,
    /// Those that follow the receiver in number, around the end: the same in every request to it.
    Consecutive,
}

impl PlacementPattern for Incast {
    fn check(&self) -> Vec<Fault> {
        if self.senders == 0 { vec![Fault::new("senders", "must be at least 1")] } else { Vec::new() }
    }

    fn plan(&self, fabric: &Context, _: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        let what = format!("an incast of {} senders and their receiver", self.senders);
        need_hosts(fabric, "senders", u64::from(self.senders) + 1, &what)?;
        let fixed = self.receiver.map(|host| known_host(fabric, "receiver", host)).transpose()?;
        let (hosts, config) = (fabric.hosts(), self.clone());
        let mut others: Vec<u32> = Vec::new();
        let place = move |rng: &mut Stream, ends: &mut Vec<Ends>| {
            let receiver = fixed.unwrap_or_else(|| rng.random_range(0..hosts));
            others.clear();
            others.extend((receiver + 1..hosts).chain(0..receiver));
            if config.choice == Senders::Random {
                choose::sample_front(rng, &mut others, config.senders as usize);
            }
            ends.extend(others.iter().take(config.senders as usize).map(|sender| Ends::pair(*sender, receiver)));
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: self.senders, round: Some(u64::from(self.senders)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{place, refused};
    use std::collections::BTreeSet;

    #[test]
    fn all_senders_differ_and_reach_one_receiver() {
        let incast = Incast { senders: 7, receiver: None, choice: Senders::Random };
        let requests = place(&incast, &racks(4, 3), Mode::Unicast, 200);
        let mut receivers = BTreeSet::new();
        for ends in requests {
            let receiver = ends[0].sinks[0];
            let senders: BTreeSet<u32> = ends.iter().map(|e| e.sources[0]).collect();
            assert!(ends.iter().all(|e| e.sinks == [receiver]));
            assert!(senders.len() == 7 && !senders.contains(&receiver));
            receivers.insert(receiver);
        }
        assert_eq!(receivers.len(), 12, "the receiver is drawn anew for each request");
    }

    #[test]
    fn consecutive_senders_wrap_around() {
        let incast = Incast { senders: 3, receiver: Some(4), choice: Senders::Consecutive };
        let ends = place(&incast, &racks(2, 3), Mode::Unicast, 1).remove(0);
        assert_eq!(ends, [Ends::pair(5, 4), Ends::pair(0, 4), Ends::pair(1, 4)]);
    }

    #[test]
    fn needs_enough_hosts() {
        let incast = |senders, receiver| Incast { senders, receiver, choice: Senders::Random };
        assert_eq!(refused(&incast(6, None), &racks(2, 3)).key, "senders");
        assert_eq!(refused(&incast(2, Some(6)), &racks(2, 3)).key, "receiver");
        assert_eq!(incast(0, None).check()[0].key, "senders");
    }
}
