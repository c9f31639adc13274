//! Events that endpoints report, and how endpoints close.

use super::Hosts;
use crate::host::{EndpointId, Feed, Hosted, Place, Remotes};
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;
use anabranch_transport::standings::ClaimChange;
use anabranch_transport::{Event, FailureReason, Peer};

impl Hosts {
    /// An endpoint reports. False if it has closed.
    pub(super) fn on_event(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        place: &mut Place,
        event: Event,
    ) -> bool {
        match event {
            Event::Completed { at } => {
                place.completed = true;
                if let Some(receiver) = place.receiver {
                    ledger.completed(place.session, receiver, at);
                    self.barriers.completed(ledger, place.session, at);
                    self.jobs.delivered(place.session, receiver, at);
                    self.await_requests(engine);
                }
                true
            }
            Event::PeerDetached(_) | Event::PeerDropped(_) if self.undo("a receiver leaves a group") => true,
            Event::PeerDetached(peer) => {
                leave_group(fabric, ledger, place, place.remotes.get(peer).endpoint);
                ledger.detached(place.session, peer);
                true
            }
            Event::PeerDropped(peer) => {
                // A receiver that is gone has everything.
                if let Some(receiver) = self.receiver_of(place, peer)
                    && ledger.dropped(place.session, receiver)
                {
                    self.jobs.stop(place.session, "a receiver was given up");
                    self.await_requests(engine);
                }
                true
            }
            // A receiver that was given up: its row already says so.
            Event::Failed(FailureReason::GivenUp) | Event::Closed => false,
            Event::Failed(_) if self.undo("an endpoint gives up") => false,
            Event::Failed(reason) => {
                let side = if place.receiver.is_some() { "receiver" } else { "sender" };
                ledger.failed(place.session, || format!("{side} on h{}: {reason}", place.host));
                place.failed = true;
                false
            }
            Event::Connected
            | Event::BlockReady(_)
            | Event::PeerCompleted(_)
            | Event::PeerAbsent(_)
            | Event::PeerWithholds(_) => true,
        }
    }

    /// Which receiver of its session a sender knows as `peer`: with several connections, each has one receiver, number 0.
    fn receiver_of(&self, place: &Place, peer: Peer) -> Option<u16> {
        match &place.remotes {
            Remotes::Many(_) => Some(peer),
            Remotes::One(remote) => {
                self.endpoints[remote.endpoint as usize].as_ref().and_then(|hosted| hosted.place().receiver)
            }
        }
    }

    /// An endpoint is gone: keeps its counters and, with the last one of a session, frees the multicast groups.
    pub(super) fn close(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        hosted: &Hosted,
    ) {
        self.open_endpoints -= 1;
        engine.pending.wheel.cancel(engine.entities.timer(id));
        if let Some(was) = hosted.claim() {
            self.ranking.update(id, hosted.place(), ClaimChange { was: Some(was), remaining: None, places: 1 });
        }
        ledger.keep_stats(hosted.place().session, hosted.place().receiver, hosted.stats());
        if hosted.place().failed {
            self.give_up_receivers_of(ledger, id, hosted.place());
            let why = ledger.failure(hosted.place().session).unwrap_or_else(|| "an end has given up".to_owned());
            self.barriers.stop(hosted.place().session, engine.now(), &why);
            self.jobs.stop(hosted.place().session, &why);
            self.await_requests(engine);
        } else if hosted.place().receiver.is_none() && self.jobs.has(hosted.place().session) {
            self.release_receiver(engine, fabric, ledger, hosted);
            self.jobs.sender_closed(hosted.place().session, engine.now());
            self.await_requests(engine);
        }
        for group in ledger.endpoint_closed(hosted.place().session, engine.now) {
            fabric.remove_group(group, engine.ahead_of_switches());
        }
    }

    /// A sender of a job has closed. If its receiver has seen every packet that it sent, no copy of one is left that would have to be
    /// answered: the receiver need not linger, which a million of them would do at a time.
    fn release_receiver(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, sender: &Hosted) {
        let Remotes::One(remote) = &sender.place().remotes else { return };
        let place = &mut self.endpoints[remote.endpoint as usize];
        let is_done = |receiver: &mut Hosted| {
            let seen = receiver.stats();
            let serves_one = matches!(receiver.place().remotes, Remotes::One(_));
            let all = seen.data_received + seen.trimmed_received == sender.stats().data_sent;
            serves_one && all && receiver.place().completed && receiver.place().feeds.is_none()
        };
        if let Some(receiver) = place.take_if(is_done) {
            self.close(engine, fabric, ledger, remote.endpoint, &receiver);
        }
    }

    /// The application stops a session: its endpoints close, and packets that still arrive for them are ignored.
    pub(in crate::network) fn end(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        session: u32,
    ) {
        for id in ledger.endpoints_of(session) {
            if let Some(mut hosted) = self.endpoints[id as usize].take() {
                self.on_event(engine, fabric, ledger, hosted.place_mut(), Event::Completed { at: engine.now() });
                self.close(engine, fabric, ledger, id, &hosted);
                self.tell_standings(engine, fabric, ledger);
            }
        }
    }

    /// The run is over: collects the counters of the endpoints that are still open.
    pub(in crate::network) fn finish(&mut self, ledger: &mut Ledger) {
        for hosted in self.endpoints.iter_mut().filter_map(Option::take) {
            ledger.keep_stats(hosted.place().session, hosted.place().receiver, hosted.stats());
        }
    }

    /// An endpoint has given up: those of its receivers that no other endpoint serves will never be complete.
    fn give_up_receivers_of(&mut self, ledger: &mut Ledger, id: EndpointId, place: &Place) {
        if place.receiver.is_some() {
            return self.lose(ledger, id, place);
        }
        for receiver in place.remotes.all().iter().map(|remote| remote.endpoint) {
            let mut others = ledger.endpoints_of(place.session);
            let serves = |other: &Hosted| {
                let place = other.place();
                place.receiver.is_none() && place.remotes.all().iter().any(|remote| remote.endpoint == receiver)
            };
            if others.any(|other| other != id && self.endpoints[other as usize].as_ref().is_some_and(serves)) {
                continue;
            }
            if let Some(left) = self.endpoints[receiver as usize].take() {
                self.lose(ledger, receiver, left.place());
                self.endpoints[receiver as usize] = Some(left);
            }
        }
    }

    /// A receiving endpoint will never have its object, unless it is complete, nor will those that it relays to.
    fn lose(&mut self, ledger: &mut Ledger, id: EndpointId, place: &Place) {
        if place.completed {
            return;
        }
        let Some(receiver) = place.receiver else { return };
        ledger.lost(place.session, receiver);
        let Some(Feed::Relay(relay)) = place.feeds.filter(|&feed| feed != Feed::Relay(id)) else { return };
        if let Some(relay_end) = self.endpoints[relay as usize].take() {
            self.give_up_receivers_of(ledger, relay, relay_end.place());
            self.endpoints[relay as usize] = Some(relay_end);
        }
    }
}

/// The sender of a one-to-many session continues without one of its receivers in the group. Packets in flight to
/// the old group reach that receiver, too: it has asked for them.
fn leave_group(fabric: &mut Fabric, ledger: &mut Ledger, place: &mut Place, leaver: EndpointId) {
    let Some(group) = place.group.and_then(|old| fabric.install_without(old, leaver)) else { return };
    ledger.add_group(place.session, group);
    place.group = Some(group);
}
