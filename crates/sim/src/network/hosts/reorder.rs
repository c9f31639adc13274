//! Flows whose packets are [put in order](crate::host::resequencer) before their receivers get them. The time at which a packet has waited
//! for long enough shares the wake-up of its endpoint: at most one event of both is pending.

use super::attending::Rise;
use super::{Hosts, accept};
use crate::engine::arena::PacketId;
use crate::host::EndpointId;
use crate::host::resequencer::{Piece, Resequencer};
use crate::host::stack::{Header, Seen};
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;

impl Hosts {
    /// What puts the packets of a receiver in order, if hosts do so and its packets `can` be.
    pub(in crate::network) fn resequencer(&self, can: bool) -> Option<Box<Resequencer<(Header, Seen)>>> {
        self.reorder.filter(|_| can).map(|timeout| Box::new(Resequencer::new(timeout)))
    }

    fn resequencer_of(&mut self, id: EndpointId) -> Option<&mut Resequencer<(Header, Seen)>> {
        self.endpoints[id as usize].as_mut()?.place_mut().resequencer.as_deref_mut()
    }

    /// A packet for such a receiver has come. Without data it goes up at once.
    #[inline(never)]
    pub(super) fn resequence(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        packet: PacketId,
    ) {
        let (hot, header) = (*engine.packets.hot(packet), *engine.packets.header(packet));
        let seen = accept(engine, ledger, packet, &hot);
        let (id, now) = (hot.endpoint, engine.now());
        let data = header.span().zip(self.resequencer_of(id));
        let Some((span, resequencer)) = data else {
            return self.with_endpoint(engine, fabric, ledger, id, Rise { header, seen });
        };
        let cell = fabric.schemes().cell(hot.path);
        match resequencer.arrive(now, Piece { span, cell, packet: (header, seen) }) {
            Some(rising) => self.rise(engine, fabric, ledger, id, Some(rising)),
            // While others wait a wake-up is pending.
            None if resequencer.waiting() == 1 => self.await_release(engine, id),
            None => {}
        }
    }

    /// An endpoint's wake-up: gives it what has waited for long enough.
    #[cold]
    pub(super) fn release_overdue(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
    ) {
        let now = engine.now();
        let Some(resequencer) = self.resequencer_of(id) else { return };
        resequencer.time_passes(now);
        self.rise(engine, fabric, ledger, id, None);
        self.await_release(engine, id);
    }

    /// Gives an endpoint a packet, and then all that may follow.
    fn rise(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        first: Option<(Header, Seen)>,
    ) {
        let mut rising = first.or_else(|| self.resequencer_of(id)?.take());
        while let Some((header, seen)) = rising {
            self.with_endpoint(engine, fabric, ledger, id, Rise { header, seen });
            rising = self.resequencer_of(id).and_then(Resequencer::take);
        }
    }

    /// Schedules the wake-up of an endpoint whose packets wait.
    fn await_release(&mut self, engine: &mut Engine, id: EndpointId) {
        if let Some(deadline) = self.resequencer_of(id).and_then(|resequencer| resequencer.deadline()) {
            engine.wake(engine.entities.timer(id), deadline);
        }
    }
}
