//! Connections that carry block after block.

use super::Hosts;
use super::attending::Rarely;
use crate::host::{EndpointId, Feed};
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;
use anabranch_transport::Time;

impl Hosts {
    /// Makes the sender of a unicast session, and the receiver after it, carry one fragment after another: now the first one is available.
    /// Packets carry `payload` bytes.
    pub(in crate::network) fn await_blocks(&mut self, sender: EndpointId, fragment: u64, payload: u64, now: Time) {
        if let Some(hosted) = &mut self.endpoints[sender as usize] {
            hosted.set_available(now, whole_packets(fragment, payload));
        }
        if let Some(hosted) = &mut self.endpoints[sender as usize + 1] {
            hosted.place_mut().feeds = Some(Feed::Client);
        }
    }

    /// A receiver has `bytes` bytes of its session: maybe another fragment.
    pub(super) fn feed_client(&mut self, engine: &mut Engine, ledger: &mut Ledger, session: u32, bytes: u64) {
        self.barriers.delivered(ledger, session, bytes, engine.now());
        self.await_requests(engine);
    }

    /// A server provides the first `bytes` bytes of a session.
    pub(in crate::network) fn provide(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        session: u32,
        bytes: u64,
    ) {
        let transport = &ledger.group_of(&ledger.specs()[session as usize]).transport;
        let available = whole_packets(bytes, transport.object(transport.packet_bytes()));
        let sender = ledger.endpoints_of(session).start;
        self.with_endpoint(engine, fabric, ledger, sender, Rarely::Provide(available));
    }

    /// Schedules the arrival of requests for blocks at their servers, and what is due in jobs.
    pub(in crate::network) fn await_requests(&self, engine: &mut Engine) {
        if let Some(due) = self.barriers.due().into_iter().chain(self.jobs.due()).min() {
            engine.wake(engine.entities.requests, due);
        }
    }

    /// A client gives up a session that is not complete: its endpoints close.
    pub(in crate::network) fn give_up(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        session: u32,
        why: &str,
    ) {
        if !ledger.is_open(session) {
            return;
        }
        ledger.given_up(session, why);
        for id in ledger.endpoints_of(session) {
            if let Some(hosted) = self.endpoints[id as usize].take() {
                self.close(engine, fabric, ledger, id, &hosted);
            }
        }
    }
}

/// Senders make up full packets only: the last packet of a fragment carries the first bytes of the next one, too.
fn whole_packets(bytes: u64, payload: u64) -> u64 {
    bytes.next_multiple_of(payload)
}
