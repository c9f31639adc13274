//! Sessions carried by unicast connections, including one-to-many and many-to-one of transports that have nothing else.

use super::{Leg, Opening};
use crate::network::Fallback;
use crate::random;
use crate::workload::{Mode, Session};
use anabranch_transport::Bytes;
use rand::RngExt as _;

/// How many connections carry a session.
pub(super) fn connections(fallback: Option<Fallback>, spec: &Session) -> u32 {
    match (spec.mode, fallback) {
        (Mode::ManyToOne, Some(Fallback::Partition)) => shares(spec).count() as u32,
        (Mode::ManyToOne, _) => 1,
        (Mode::Unicast | Mode::OneToMany, _) => spec.sinks.len() as u32,
    }
}

/// What each of these connections carries; `None` has no end.
pub(crate) fn sizes(fallback: Option<Fallback>, spec: &Session) -> Vec<Option<Bytes>> {
    if (spec.mode, fallback) == (Mode::ManyToOne, Some(Fallback::Partition)) {
        shares(spec).map(|(_, size)| size).collect()
    } else {
        vec![spec.size; connections(fallback, spec) as usize]
    }
}

/// Where each source sends a part of its own: the sources that send something, and how much.
fn shares(spec: &Session) -> impl Iterator<Item = (u32, Option<Bytes>)> {
    let n = spec.sources.len() as u64;
    let start = move |size: u64, part: u64| (u128::from(size) * u128::from(part) / u128::from(n)) as u64;
    let share = move |part| spec.size.map(|size| Bytes(start(size.0, part + 1) - start(size.0, part)));
    let shares = (0..).zip(&spec.sources).map(move |(part, &from)| (from, share(part)));
    shares.filter(|&(_, size)| size != Some(Bytes(0)))
}

impl Opening<'_> {
    /// Opens the connections that carry the session.
    pub(super) fn open_connections(&mut self) {
        let (spec, fallback) = (self.spec, self.ledger.group_of(self.spec).fallback);
        match (spec.mode, fallback) {
            (Mode::OneToMany, Some(Fallback::DaisyChain)) => self.open_daisy_chain(),
            (Mode::ManyToOne, Some(Fallback::Partition)) => self.open_partition(),
            (Mode::ManyToOne, _) => {
                let from = self.nearest();
                self.ledger.set_sender(self.session, 0, from);
                self.open_unicast(Leg { from, to: spec.sinks[0], row: 0, size: spec.size });
            }
            // Multi-unicast: the object crosses the sender's uplink once for each receiver.
            (Mode::Unicast | Mode::OneToMany, _) => {
                for (row, &to) in (0..).zip(&spec.sinks) {
                    self.open_unicast(Leg { from: spec.sources[0], to, row, size: spec.size });
                }
            }
        }
    }

    /// Connects the source to the first receiver, that one to the next, and so on. Each connection but the first sends what
    /// has arrived in order at its host, and so begins before the one that feeds it ends (SCDP §V-A, Figure 4b).
    fn open_daisy_chain(&mut self) {
        let (mut from, mut feeder) = (self.spec.sources[0], None);
        for (row, &to) in (0..).zip(&self.spec.sinks) {
            let (sender, receiver) = self.open_unicast(Leg { from, to, row, size: self.spec.size });
            self.ledger.set_sender(self.session, row, from);
            if let Some(feeder) = feeder {
                self.hosts.relay(feeder, sender, self.engine.now());
            }
            (from, feeder) = (to, Some(receiver));
        }
    }

    /// Each source sends a part of its own; parts differ by one byte at most. A source whose part is empty sends nothing.
    fn open_partition(&mut self) {
        let mut parts = 0;
        for (from, size) in shares(self.spec) {
            parts += 1;
            self.open_unicast(Leg { from, to: self.spec.sinks[0], row: 0, size });
        }
        self.ledger.set_parts(self.session, parts);
    }

    /// "A client will read a block from a server located in the same rack, or a randomly selected one" (SCDP §V-A). Several in
    /// the rack are equally near: one of them is drawn. The draw depends on seed and session alone.
    fn nearest(&self) -> u32 {
        let in_rack = |&s: &u32| self.fabric.routes().hop_count(s, self.spec.sinks[0]) == 2;
        let near: Vec<u32> = self.spec.sources.iter().copied().filter(in_rack).collect();
        let from = if near.is_empty() { &self.spec.sources[..] } else { &near };
        from[random::substream(self.seed, "nearest", u64::from(self.session)).random_range(0..from.len())]
    }
}
