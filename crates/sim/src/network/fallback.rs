//! Sessions carried by unicast connections: one-to-many and many-to-one too, of transports that have nothing else.

use super::Network;
use super::sessions::Leg;
use crate::random;
use crate::transport::Transport;
use crate::workload::{Fallback, Mode, Session};
use anabranch_transport::{Bytes, Time};
use rand::RngExt as _;

impl Network {
    /// Opens the connections that carry a session.
    pub(super) fn open_fallback(&mut self, session: u32, spec: &Session, transport: &Transport) {
        let fallback = self.groups[usize::from(spec.group)].fallback;
        match (spec.mode, fallback) {
            (Mode::OneToMany, Some(Fallback::DaisyChain)) => self.open_daisy_chain(session, spec, transport),
            (Mode::ManyToOne, Some(Fallback::Partition)) => self.open_partition(session, spec, transport),
            (Mode::ManyToOne, _) => {
                let from = self.nearest(session, spec);
                self.sessions[session as usize].senders[0] = from;
                self.open_unicast(session, spec, transport, Leg { from, to: spec.sinks[0], row: 0, size: spec.size });
            }
            // Multi-unicast: the object crosses the sender's uplink once for each receiver.
            (Mode::Unicast | Mode::OneToMany, _) => {
                for (row, &to) in (0..).zip(&spec.sinks) {
                    let leg = Leg { from: spec.sources[0], to, row, size: spec.size };
                    self.open_unicast(session, spec, transport, leg);
                }
            }
        }
    }

    /// From the source to the first receiver, from there to the next, and so on. Each connection but the first sends what
    /// has arrived in order at its host, and so begins before the one that feeds it ends (SCDP §V-A, Figure 4b).
    fn open_daisy_chain(&mut self, session: u32, spec: &Session, transport: &Transport) {
        let (mut from, mut feeder) = (spec.sources[0], None);
        for (row, &to) in (0..).zip(&spec.sinks) {
            let (sender, receiver) =
                self.open_unicast(session, spec, transport, Leg { from, to, row, size: spec.size });
            self.sessions[session as usize].senders[usize::from(row)] = from;
            if let Some(feeder) = feeder
                && let Some(upstream) = &mut self.endpoints[feeder as usize]
            {
                upstream.feeds = Some(sender);
                if let Some(relay) = &mut self.endpoints[sender as usize] {
                    relay.stack.set_available(Time(self.engine.now), 0);
                }
            }
            (from, feeder) = (to, Some(receiver));
        }
    }

    /// Each source sends a part of its own; parts differ by one byte at most. A source whose part is empty sends nothing.
    fn open_partition(&mut self, session: u32, spec: &Session, transport: &Transport) {
        let n = spec.sources.len() as u64;
        let start = |size: u64, part: u64| (u128::from(size) * u128::from(part) / u128::from(n)) as u64;
        let mut parts = 0;
        for (part, &from) in (0..).zip(&spec.sources) {
            let size = spec.size.map(|s| Bytes(start(s.0, part + 1) - start(s.0, part)));
            if size != Some(Bytes(0)) {
                parts += 1;
                self.open_unicast(session, spec, transport, Leg { from, to: spec.sinks[0], row: 0, size });
            }
        }
        self.sessions[session as usize].parts = parts;
    }

    /// "A client will read a block from a server located in the same rack, or a randomly selected one" (SCDP §V-A). Several in
    /// the rack are equally near: one of them is drawn. The draw depends on seed and session alone.
    fn nearest(&self, session: u32, spec: &Session) -> u32 {
        let in_rack = |&s: &u32| self.routes.hop_count(s, spec.sinks[0]) == 2;
        let near: Vec<u32> = spec.sources.iter().copied().filter(in_rack).collect();
        let from = if near.is_empty() { &spec.sources } else { &near };
        from[random::substream(self.seed, "nearest", u64::from(session)).random_range(0..from.len())]
    }
}
