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
    /// The receiving host; without it, as `receivers` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<u32>,
    /// Which hosts receive.
    #[serde(default, skip_serializing_if = "Receivers::is_random")]
    pub receivers: Receivers,
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
    /// Drawn so that in a round of requests each host also sends to `senders` receivers. With `receivers = "each"`.
    Balanced,
}

/// Which hosts receive in an incast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Receivers {
    /// Drawn for each request.
    #[default]
    Random,
    /// All hosts in turn: a round has a request of each (the N Senders of Song §5.3.1.3).
    Each,
}

impl Receivers {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_random(&self) -> bool {
        *self == Self::Random
    }
}

impl PlacementPattern for Incast {
    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.senders == 0 {
            faults.push(Fault::new("senders", "must be at least 1"));
        }
        if self.receiver.is_some() && self.receivers == Receivers::Each {
            faults.push(Fault::new("receivers", "\"each\" names all hosts, `receiver` names one: give one of them"));
        }
        if self.choice == Senders::Balanced && self.receivers != Receivers::Each {
            let fault = Fault::new("choice", "senders are balanced over a round of requests of all hosts");
            faults.push(fault.hint("receivers = \"each\""));
        }
        faults
    }

    fn plan(&self, fabric: &Context, _: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        let what = format!("an incast of {} senders and their receiver", self.senders);
        need_hosts(fabric, "senders", u64::from(self.senders) + 1, &what)?;
        let fixed = self.receiver.map(|host| known_host(fabric, "receiver", host)).transpose()?;
        let (hosts, config) = (fabric.hosts(), self.clone());
        let mut others: Vec<u32> = Vec::new();
        let (mut next, mut round) = (0, Vec::new());
        let each = config.receivers == Receivers::Each;
        let place = move |rng: &mut Stream, ends: &mut Vec<Ends>| {
            let receiver = match fixed {
                Some(host) => host,
                None if each => next,
                None => rng.random_range(0..hosts),
            };
            next = (receiver + 1) % hosts;
            if config.choice == Senders::Balanced {
                if receiver == 0 {
                    round = choose::regular(rng, hosts, config.senders);
                }
                return ends.extend(round[receiver as usize].iter().map(|sender| Ends::pair(*sender, receiver)));
            }
            others.clear();
            others.extend((receiver + 1..hosts).chain(0..receiver));
            if config.choice == Senders::Random {
                choose::sample_front(rng, &mut others, config.senders as usize);
            }
            ends.extend(others.iter().take(config.senders as usize).map(|sender| Ends::pair(*sender, receiver)));
        };
        let requests = if each { u64::from(hosts) } else { 1 };
        let round = Some(requests * u64::from(self.senders));
        Ok(Plan { place: Box::new(place), sessions_per_request: self.senders, round })
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
        let incast = Incast { senders: 7, receiver: None, receivers: Receivers::Random, choice: Senders::Random };
        let requests = place(&incast, &racks(4, 3), Mode::Unicast, 200);
        let mut receivers = BTreeSet::new();
        for ends in requests {
            let receiver = ends[0].sinks[0];
            let senders: BTreeSet<u32> = ends.iter().map(|e| e.sources[0]).collect();
            assert!(ends.iter().all(|e| e.sinks[..] == [receiver]));
            assert!(senders.len() == 7 && !senders.contains(&receiver));
            receivers.insert(receiver);
        }
        assert_eq!(receivers.len(), 12, "the receiver is drawn anew for each request");
    }

    /// The N Senders of Song §5.3.1.3: in a round each host receives from N others, and with balanced senders also sends to N.
    #[test]
    fn in_a_round_each_host_receives_and_may_send_as_often() {
        let fabric = racks(4, 4);
        let mut matrices = BTreeSet::new();
        for (senders, choice) in [(3, Senders::Balanced), (15, Senders::Balanced), (5, Senders::Random)] {
            let incast = Incast { senders, receiver: None, receivers: Receivers::Each, choice };
            let plan = incast.plan(&fabric, Mode::Unicast, &mut crate::random::stream(1, "placement")).unwrap();
            assert_eq!(plan.round, Some(16 * u64::from(senders)));
            for round in place(&incast, &fabric, Mode::Unicast, 3 * 16).chunks(16) {
                let mut sends = [0; 16];
                for (receiver, ends) in (0..).zip(round) {
                    assert!(ends.iter().all(|e| e.sinks[..] == [receiver] && e.sources != e.sinks));
                    let own: BTreeSet<u32> = ends.iter().map(|e| e.sources[0]).collect();
                    assert_eq!(own.len() as u32, senders, "no host twice");
                    for &h in &own {
                        sends[h as usize] += 1;
                    }
                }
                assert!(choice == Senders::Random || sends == [senders; 16], "{sends:?}");
                matrices.insert(format!("{round:?}"));
            }
        }
        assert_eq!(matrices.len(), 9, "drawn anew for each round");
    }

    #[test]
    fn receivers_are_told_once() {
        let incast = |receiver, receivers, choice| Incast { senders: 2, receiver, receivers, choice }.check();
        assert_eq!(incast(Some(1), Receivers::Each, Senders::Random)[0].key, "receivers");
        assert_eq!(incast(None, Receivers::Random, Senders::Balanced)[0].key, "choice");
    }

    #[test]
    fn consecutive_senders_wrap_around() {
        let incast =
            Incast { senders: 3, receiver: Some(4), receivers: Receivers::Random, choice: Senders::Consecutive };
        let ends = place(&incast, &racks(2, 3), Mode::Unicast, 1).remove(0);
        assert_eq!(ends, [Ends::pair(5, 4), Ends::pair(0, 4), Ends::pair(1, 4)]);
    }

    #[test]
    fn needs_enough_hosts() {
        let incast =
            |senders, receiver| Incast { senders, receiver, receivers: Receivers::Random, choice: Senders::Random };
        assert_eq!(refused(&incast(6, None), &racks(2, 3)).key, "senders");
        assert_eq!(refused(&incast(2, Some(6)), &racks(2, 3)).key, "receiver");
        assert_eq!(incast(0, None).check()[0].key, "senders");
    }
}
