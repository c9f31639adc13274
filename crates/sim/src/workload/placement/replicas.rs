//! Replicated storage: a client writes an object to its replicas, or reads it from them.

use super::{Ends, PlacementPattern, Plan, choose, need_hosts};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// Each request comes from a client drawn uniformly and concerns a block with `replicas` replicas on other hosts, or several
/// blocks at once.
///
/// Mode `one_to_many` writes one session to all replicas, `many_to_one` reads one session from all of them. Mode
/// `unicast` is what transports without group sessions do: a write is one session to each replica at once, a read one
/// session from a replica in the client's rack or, if there is none, from a random one (SCDP §V-A).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replicas {
    /// Number of replicas, at least 1.
    pub replicas: u32,
    /// Which hosts hold them.
    #[serde(default)]
    pub policy: Policy,
    /// Blocks that a read fetches at once, at least 1: one session each, all of one size, each with replicas of its own
    /// (read-ahead, SCDP §V-A). Writes: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub blocks: u32,
    /// Whether the client writes or reads. Follows from the mode where that is `one_to_many` or `many_to_one`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
}

/// Which hosts hold the replicas of a block. The client is never one of them (SCDP §V-A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// As HDFS by default: the first on a random host, the second in another rack, the third on another host of the
    /// second's rack, more on random hosts.
    #[default]
    Hdfs,
    /// All on random hosts.
    Random,
    /// All on random hosts outside the client's rack (Polyraptor: thesis, chapter 3).
    Remote,
}

fn one() -> u32 {
    1
}

/// What a client does with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It sends the block to the replicas.
    Write,
    /// It fetches the block from the replicas.
    Read,
}

impl Replicas {
    fn access(&self, mode: Mode) -> Option<Access> {
        match mode {
            Mode::OneToMany => Some(Access::Write),
            Mode::ManyToOne => Some(Access::Read),
            Mode::Unicast => self.access,
        }
    }

    /// HDFS needs a second rack, and a second host in it; `remote` needs all its hosts outside any rack.
    fn check_racks(&self, fabric: &Context) -> Result<(), Fault> {
        // The client and the first replica may each take one host of the second rack's candidates.
        let deepest = if self.replicas >= 3 { 3 } else { 2 };
        let roomy = fabric.racks().iter().filter(|r| r.len() >= deepest).count();
        if self.policy == Policy::Hdfs && self.replicas >= 2 && roomy < 2 {
            let message = format!("HDFS placement of {} replicas needs two racks of {deepest} hosts", self.replicas);
            return Err(Fault::new("policy", message).hint("use `policy = \"random\"`"));
        }
        let largest = fabric.racks().iter().map(Vec::len).max().unwrap_or(0);
        let outside = fabric.hosts() as usize - largest;
        if self.policy == Policy::Remote && outside < self.replicas as usize {
            let message = format!("{} replicas outside the client's rack; only {outside} hosts are", self.replicas);
            return Err(Fault::new("policy", message).hint("use `policy = \"random\"`"));
        }
        Ok(())
    }
}

/// Draws the replicas of one block into `held`, the client being `client`.
fn draw(rng: &mut Stream, fabric: &Context, client: u32, config: &Replicas, held: &mut Vec<u32>) {
    let wanted = config.replicas as usize;
    held.clear();
    let any = |rng: &mut Stream, held: &[u32], fits: &dyn Fn(u32) -> bool| {
        // The checks of `plan` see to it that a fitting host exists.
        loop {
            let host = rng.random_range(0..fabric.hosts());
            if host != client && !held.contains(&host) && fits(host) {
                return host;
            }
        }
    };
    if config.policy != Policy::Remote {
        held.push(choose::other(rng, fabric.hosts(), client));
    }
    if config.policy == Policy::Hdfs && wanted >= 2 {
        let first_rack = fabric.rack(held[0]);
        // With a third replica to come, the remote rack must have room for two besides the client.
        let room = |rack: u32| fabric.rack_hosts(rack).len() - usize::from(fabric.rack(client) == rack);
        let needed = if wanted >= 3 { 2 } else { 1 };
        let second = any(rng, held, &|h| fabric.rack(h) != first_rack && room(fabric.rack(h)) >= needed);
        held.push(second);
        if wanted >= 3 {
            let third = any(rng, held, &|h| fabric.rack(h) == fabric.rack(second));
            held.push(third);
        }
    }
    while held.len() < wanted {
        let elsewhere = |h| config.policy != Policy::Remote || fabric.rack(h) != fabric.rack(client);
        let more = any(rng, held, &elsewhere);
        held.push(more);
    }
}

impl PlacementPattern for Replicas {
    fn check(&self) -> Vec<Fault> {
        let given = [("replicas", self.replicas), ("blocks", self.blocks)];
        given.into_iter().filter(|(_, n)| *n == 0).map(|(key, _)| Fault::new(key, "must be at least 1")).collect()
    }

    fn mode(&self, asked: Option<Mode>) -> Result<Mode, Fault> {
        let mode = asked.unwrap_or(match self.access {
            Some(Access::Read) => Mode::ManyToOne,
            Some(Access::Write) | None => Mode::OneToMany,
        });
        match (mode, self.access) {
            (Mode::Unicast, None) => Err(Fault::new("placement", "unicast sessions with replicas need `access`")
                .hint("`access = \"write\"` or `access = \"read\"`")),
            (Mode::OneToMany, Some(Access::Read)) => {
                Err(Fault::new("placement.access", "a one_to_many session writes; it cannot read"))
            }
            (Mode::ManyToOne, Some(Access::Write)) => {
                Err(Fault::new("placement.access", "a many_to_one session reads; it cannot write"))
            }
            _ if self.blocks > 1 && self.access(mode) == Some(Access::Write) => {
                Err(Fault::new("placement.blocks", "only reads fetch several blocks at once")
                    .hint("a write of several blocks is one request after the other: leave `blocks` out"))
            }
            _ => Ok(mode),
        }
    }

    fn one_size(&self) -> bool {
        true
    }

    fn plan(&self, fabric: &Context, mode: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        let what = format!("{} replicas and a client", self.replicas);
        need_hosts(fabric, "replicas", u64::from(self.replicas) + 1, &what)?;
        self.check_racks(fabric)?;
        let access = self.access(mode).ok_or_else(|| Fault::new("", "unicast sessions with replicas need `access`"))?;
        let (fabric, config) = (fabric.clone(), self.clone());
        let mut held: Vec<u32> = Vec::new();
        let place = move |rng: &mut Stream, ends: &mut Vec<Ends>| {
            let client = rng.random_range(0..fabric.hosts());
            for _ in 0..config.blocks {
                draw(rng, &fabric, client, &config, &mut held);
                // Drawn in every mode, so that all modes of a sweep see the same clients and replicas.
                let any = held[rng.random_range(0..held.len())];
                match (mode, access) {
                    (Mode::Unicast, Access::Write) => ends.extend(held.iter().map(|host| Ends::pair(client, *host))),
                    (Mode::Unicast, Access::Read) => {
                        let near = held.iter().copied().find(|h| fabric.rack(*h) == fabric.rack(client));
                        ends.push(Ends::pair(near.unwrap_or(any), client));
                    }
                    (_, Access::Write) => ends.push(Ends { sources: smallvec![client], sinks: held.as_slice().into() }),
                    (_, Access::Read) => ends.push(Ends { sources: held.as_slice().into(), sinks: smallvec![client] }),
                }
            }
        };
        let sessions = if mode == Mode::Unicast && access == Access::Write { self.replicas } else { self.blocks };
        Ok(Plan { place: Box::new(place), sessions_per_request: sessions, round: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{place, refused};
    use std::collections::BTreeSet;

    fn three(policy: Policy, access: Option<Access>) -> Replicas {
        Replicas { replicas: 3, policy, blocks: 1, access }
    }

    #[test]
    fn hdfs_puts_two_replicas_in_one_remote_rack() {
        let fabric = racks(10, 5);
        for ends in place(&three(Policy::Hdfs, None), &fabric, Mode::OneToMany, 2_000) {
            let (client, held) = (ends[0].sources[0], &ends[0].sinks);
            let rack = |i: usize| fabric.rack(held[i]);
            assert!(held.len() == 3 && !held.contains(&client));
            assert!(held[0] != held[1] && held[1] != held[2] && held[0] != held[2]);
            assert!(rack(0) != rack(1) && rack(1) == rack(2), "{held:?}");
        }
    }

    #[test]
    fn tight_racks_still_end() {
        // Two racks of three: the client may sit in the remote rack, which then has exactly two hosts left.
        let requests = place(&three(Policy::Hdfs, None), &racks(2, 3), Mode::ManyToOne, 500);
        assert!(requests.iter().all(|ends| ends[0].sources.len() == 3 && ends[0].sinks.len() == 1));
        assert_eq!(refused(&three(Policy::Hdfs, Some(Access::Read)), &racks(4, 2)).key, "policy");
        assert_eq!(refused(&three(Policy::Random, Some(Access::Read)), &racks(1, 3)).key, "replicas");
    }

    #[test]
    fn remote_replicas_are_outside_the_client_s_rack() {
        let fabric = racks(3, 4);
        let mut racks_used = BTreeSet::new();
        for ends in place(&three(Policy::Remote, None), &fabric, Mode::OneToMany, 2_000) {
            let (client, held) = (ends[0].sources[0], &ends[0].sinks);
            assert_eq!(held.iter().collect::<BTreeSet<_>>().len(), 3);
            assert!(held.iter().all(|h| fabric.rack(*h) != fabric.rack(client)));
            racks_used.insert(held.iter().map(|h| fabric.rack(*h)).collect::<BTreeSet<_>>().len());
        }
        assert_eq!(racks_used, BTreeSet::from([1, 2]), "racks are not chosen");
        assert_eq!(refused(&three(Policy::Remote, Some(Access::Read)), &racks(2, 2)).key, "policy");
    }

    #[test]
    fn a_read_ahead_fetches_blocks_with_replicas_of_their_own() {
        let fabric = racks(10, 5);
        let ahead = |blocks| Replicas { blocks, ..three(Policy::Hdfs, Some(Access::Read)) };
        let mut same = 0;
        for ends in place(&ahead(3), &fabric, Mode::ManyToOne, 300) {
            assert!(ends.iter().all(|block| block.sinks == ends[0].sinks && block.sources.len() == 3));
            same += usize::from(ends[0].sources[0] == ends[1].sources[0]);
        }
        // One in 49 by chance.
        assert!(same < 30, "{same}");
        assert_eq!(ahead(0).check()[0].key, "blocks");
        let write = Replicas { blocks: 2, ..three(Policy::Hdfs, None) };
        assert_eq!(write.mode(None).unwrap_err().key, "placement.blocks");
        assert_eq!(ahead(2).mode(None), Ok(Mode::ManyToOne));
    }

    #[test]
    fn all_modes_see_the_same_clients_and_replicas() {
        let fabric = racks(10, 5);
        let write = place(&three(Policy::Random, None), &fabric, Mode::OneToMany, 300);
        let multi = place(&three(Policy::Random, Some(Access::Write)), &fabric, Mode::Unicast, 300);
        let read = place(&three(Policy::Random, Some(Access::Read)), &fabric, Mode::Unicast, 300);
        for ((one, many), single) in write.iter().zip(&multi).zip(&read) {
            let (client, held) = (one[0].sources[0], &one[0].sinks);
            assert_eq!(*many, held.iter().map(|h| Ends::pair(client, *h)).collect::<Vec<_>>());
            let (source, sink) = (single[0].sources[0], single[0].sinks[0]);
            assert!(sink == client && held.contains(&source));
            if held.iter().any(|h| fabric.rack(*h) == fabric.rack(client)) {
                assert_eq!(fabric.rack(source), fabric.rack(client), "a replica in the rack is nearest");
            }
        }
    }

    #[test]
    fn mode_and_access_must_agree() {
        let key = |mode, access| three(Policy::Hdfs, access).mode(mode).map_err(|f| f.key);
        assert_eq!(key(None, None), Ok(Mode::OneToMany));
        assert_eq!(key(None, Some(Access::Read)), Ok(Mode::ManyToOne));
        assert_eq!(key(Some(Mode::Unicast), None), Err("placement".to_owned()));
        assert_eq!(key(Some(Mode::OneToMany), Some(Access::Read)), Err("placement.access".to_owned()));
    }
}
