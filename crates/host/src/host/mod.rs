//! All sessions of a host.
//!
//! Like quinn's `Endpoint` beside its `Connection`: [`Host::handle_datagram`] takes datagrams, [`Host::poll_transmit`] yields datagrams to send, and
//! [`Host::poll_event`] reports what happened. A datagram that belongs to no session costs only a lookup: only a packet that opens a session, with a
//! valid MAC, creates state.

mod any_session;
mod factory;
mod opener;
mod reception;
mod table;

use std::collections::VecDeque;
use std::net::SocketAddr;

use anabranch_transport::{Stats, Time};

use crate::admission::Opening;
use crate::config::HostConfig;
use crate::event::{HostEvent, SessionId};
use crate::marking::{Class, Marking};
use crate::random::Random;
use crate::session::{Ending, Failure, Incoming};
use crate::wire::{Answer, Kind, Object as Wanted, Prefix, Reason, Refusal};
use crate::{Manifest, Object, Received};
use any_session::AnySession;
use factory::Factory;
use opener::Opener;
use reception::{Opened, Reception};
use table::{Route, Table};

/// Events that the application has not taken, besides four for each session: above this limit no session is opened.
const WAITING_EVENTS: usize = 1024;

/// All sessions of a host.
#[derive(Debug)]
pub struct Host {
    factory: Factory,
    table: Table,
    reception: Reception,
    events: VecDeque<(SessionId, HostEvent)>,
    refused_datagrams: u64,
}

impl Host {
    /// A host without sessions. `seed` must be random, and new for each host.
    ///
    /// # Panics
    ///
    /// If the configuration is not [valid](HostConfig::validate).
    pub fn new(config: HostConfig, seed: [u8; 32]) -> Self {
        if let Err(error) = config.validate() {
            panic!("HostConfig: {error}");
        }
        let mut random = Random::new(&seed);
        Self {
            reception: Reception::new(random.array()),
            factory: Factory::new(config, random),
            table: Table::default(),
            events: VecDeque::new(),
            refused_datagrams: 0,
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &HostConfig {
        self.factory.config()
    }

    /// Sessions that are not over.
    pub fn sessions(&self) -> usize {
        self.table.len()
    }

    /// Datagrams that were rejected: damaged, forged, replayed, of no session, or of another version.
    pub fn refused_datagrams(&self) -> u64 {
        self.refused_datagrams
    }

    /// How many bytes of an object that is sent all receivers have that are not done yet. `None` if the session is over or does not send.
    pub fn acknowledged(&self, id: SessionId) -> Option<u64> {
        match self.table.get(id)? {
            AnySession::Outgoing(outgoing) => Some(outgoing.acknowledged()),
            AnySession::Pending(_) | AnySession::Incoming(_) => None,
        }
    }

    /// Descriptions of what each session waits for, for people.
    pub fn describe(&self) -> Vec<String> {
        self.table.iter().map(AnySession::waiting_for).collect()
    }

    /// Whether packets to a group may be for this host: not while a session was [detached](HostEvent::Detached) from its group, whose packets would
    /// only fill the link, and no other session has a group.
    pub fn listens_to_groups(&self) -> bool {
        let incoming = self.table.iter().filter_map(|session| match session {
            AnySession::Incoming(incoming) if !incoming.is_closed() => Some(incoming),
            _ => None,
        });
        let (mut detached, mut grouped) = (false, false);
        for session in incoming {
            detached |= session.is_detached();
            grouped |= session.is_grouped();
        }
        grouped || !detached
    }

    /// Counters of a session.
    pub fn stats(&self, id: SessionId) -> Option<Stats> {
        self.table.get(id).map(AnySession::stats)
    }

    /// Offers an object to receivers, and sends it by multicast or as a copy to each. The first symbols follow the offer at once.
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: an object too large to be numbered, or receivers too few, too many or named twice.
    pub fn send(
        &mut self,
        now: Time,
        object: Box<dyn Object>,
        manifest: Manifest,
        receivers: &[SocketAddr],
        group: Option<SocketAddr>,
    ) -> Result<SessionId, Failure> {
        let is_free = |session| self.table.is_free(receivers, session);
        let outgoing = self.factory.offer(now, object, manifest, receivers, group, is_free)?;
        if let Some(salt) = outgoing.opened_with() {
            // If the offer returns to this host, it opens nothing.
            self.reception.admission.remember(salt);
        }
        let id = self.table.next_id();
        for (index, &peer) in receivers.iter().enumerate() {
            self.table.add_route(peer, outgoing.session(), id, index);
        }
        self.table.insert(id, AnySession::Outgoing(Box::new(outgoing)));
        Ok(id)
    }

    /// Asks servers for an object that all of them have, and fetches a share of it from each.
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: servers too few or too many.
    pub fn fetch(&mut self, now: Time, object: Wanted, servers: &[SocketAddr]) -> Result<SessionId, Failure> {
        if !(1..=256).contains(&servers.len()) {
            return Err(Failure::Unacceptable("an object is asked of 1 to 256 servers".to_owned()));
        }
        let id = self.table.next_id();
        let mut lanes = Vec::new();
        for (index, &server) in servers.iter().enumerate() {
            let salt = self.factory.salt();
            let session = self.factory.session_number(|session| self.table.is_free(&[server], session));
            self.reception.admission.remember(salt);
            self.table.add_route(server, session, id, index);
            lanes.push(self.factory.lane(server, session, salt));
        }
        let incoming = self.factory.fetch(now, lanes, object);
        self.table.insert(id, AnySession::Incoming(Box::new(incoming)));
        Ok(id)
    }

    /// Accepts an object that was [offered](HostEvent::Offered).
    pub fn accept(&mut self, now: Time, id: SessionId) {
        self.accept_rest(now, id, 0);
    }

    /// Accepts an object that was [offered](HostEvent::Offered), of which the first `bytes` bytes are here from an earlier session. Returns the
    /// offset from which bytes will arrive: a little earlier, since they arrive in blocks; from the beginning, if there are several receivers.
    pub fn accept_rest(&mut self, now: Time, id: SessionId, bytes: u64) -> u64 {
        let mut from = 0;
        self.with_incoming(now, id, |incoming| from = incoming.accept(now, bytes));
        from
    }

    /// Declines an object that was offered because it is already here.
    pub fn have(&mut self, now: Time, id: SessionId) {
        self.with_incoming(now, id, |incoming| incoming.close(now, Ending::Had));
    }

    /// Reports whether the hash of a [complete](HostEvent::Complete) object is right. Until then the sender waits, for up to
    /// [`HostConfig::stall_after`].
    pub fn checked(&mut self, now: Time, id: SessionId, right: bool) {
        self.with_incoming(now, id, |incoming| incoming.close(now, Ending::Verified(right)));
    }

    /// Declines what was offered or requested.
    pub fn refuse(&mut self, now: Time, id: SessionId, refusal: Refusal) {
        match self.table.take_pending(id) {
            Some(pending) => self.turn_away(id, pending.opener, refusal),
            None => self.with_incoming(now, id, |incoming| incoming.close(now, Ending::Refused(refusal))),
        }
    }

    /// The application must read a file in order to decide about what was offered or requested. The peer is asked to wait, and
    /// [`HostEvent::Confirmed`] follows once it has shown that it is there now, at its address: only then is the work worth it. A request from an
    /// address that is not validated is forgotten ([`HostEvent::Closed`]), and comes again with a cookie.
    ///
    /// An object that was offered can then be [refused](Self::refuse), or be [here](Self::have); it cannot be accepted, since its sender sends no
    /// more. Meanwhile [`working`](Self::working) tells the progress.
    pub fn defer(&mut self, now: Time, id: SessionId) {
        let Some(AnySession::Pending(pending)) = self.table.get_mut(id) else {
            return self.with_incoming(now, id, |incoming| incoming.defer(now));
        };
        let opener = pending.opener;
        if pending.validated {
            pending.defer(now, self.factory.config());
            self.reception.answer(&mut self.factory, opener, &Answer::Wait { read: 0 });
            self.events.push_back((id, HostEvent::Confirmed { peer: opener.peer }));
            return self.after(now, id);
        }
        self.table.take_pending(id);
        self.close_pending(id, opener);
        self.reception.admission.forget(opener.salt);
        self.reception.retry(now, opener);
    }

    /// The application has read more in order to decide about a [deferred](Self::defer) session: `read` bytes for this session, or for those
    /// before it. Without progress, the session ends after [`HostConfig::stall_after`].
    pub fn working(&mut self, now: Time, id: SessionId, read: u64) {
        match self.table.get_mut(id) {
            Some(AnySession::Pending(pending)) => pending.on_work(now, read, self.factory.config()),
            _ => self.with_incoming(now, id, |incoming| incoming.on_work(now, read)),
        }
    }

    /// Whether the remote end of a session has shown that it is there now, at its address: nobody repeats recorded packets.
    pub fn is_confirmed(&self, id: SessionId) -> bool {
        self.table.get(id).is_some_and(AnySession::is_proven)
    }

    /// Permission bits of the file that a session receives, at most 0o777, when it is [complete](HostEvent::Complete). `None` if its sender does not
    /// tell them: it is of an earlier build.
    pub fn mode(&self, id: SessionId) -> Option<u16> {
        match self.table.get(id)? {
            AnySession::Incoming(incoming) => incoming.mode(),
            AnySession::Pending(_) | AnySession::Outgoing(_) => None,
        }
    }

    /// When something authentic last arrived in a session that receives.
    pub fn last_arrival(&self, id: SessionId) -> Option<Time> {
        match self.table.get(id)? {
            AnySession::Incoming(incoming) => Some(incoming.last_arrival()),
            AnySession::Pending(_) | AnySession::Outgoing(_) => None,
        }
    }

    /// Sends an object that was [requested](HostEvent::Requested).
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: an object too large to be numbered. The request is then refused.
    pub fn serve(
        &mut self,
        now: Time,
        id: SessionId,
        object: Box<dyn Object>,
        manifest: Manifest,
    ) -> Result<(), Failure> {
        let Some(pending) = self.table.take_pending(id) else { return Ok(()) };
        let opener = pending.opener;
        match self.factory.serve(now, *pending, object, manifest) {
            Ok(outgoing) => {
                self.table.insert(id, AnySession::Outgoing(Box::new(outgoing)));
                Ok(())
            }
            Err(failure) => {
                self.turn_away(id, opener, Refusal::new(Reason::TooLarge, &failure.to_string()));
                Err(failure)
            }
        }
    }

    /// Ends a session in any state, and notifies its peers.
    pub fn cancel(&mut self, now: Time, id: SessionId) {
        match self.table.get_mut(id) {
            Some(AnySession::Outgoing(outgoing)) => outgoing.cancel(&Failure::Stopped),
            Some(AnySession::Incoming(incoming)) => incoming.close(now, Ending::Cancelled),
            Some(AnySession::Pending(_)) => return self.refuse(now, id, Refusal::new(Reason::Other, "cancelled")),
            None => {}
        }
        self.after(now, id);
    }

    /// Handles a datagram that has arrived. Decrypts it in place.
    pub fn handle_datagram(&mut self, now: Time, arrival: Received, bytes: &mut [u8]) {
        let taken = Prefix::parse(bytes).ok().and_then(|prefix| {
            match (self.table.route(arrival.from, prefix.session), prefix.kind) {
                (Some(route), kind) => self.dispatch(now, route, kind, arrival, bytes),
                (None, Kind::Open) => self.on_open(now, (arrival.from, prefix.session), bytes),
                (None, _) => None,
            }
        });
        self.refused_datagrams += u64::from(taken.is_none());
    }

    /// Hands a datagram to its session. `None` if it is rejected.
    fn dispatch(&mut self, now: Time, route: Route, kind: Kind, arrival: Received, bytes: &mut [u8]) -> Option<()> {
        let Route { id, index } = route;
        if let (Kind::Open, Some(AnySession::Pending(pending))) = (kind, self.table.get_mut(id)) {
            let (opener, answer) = (pending.opener, pending.on_repeated(now, bytes, self.factory.config())?);
            self.reception.answer(&mut self.factory, opener, &answer);
            self.after(now, id);
            return Some(());
        }
        let protection = &self.factory.config().protection;
        self.table.get_mut(id)?.handle_datagram(now, index, kind, arrival, protection, bytes)?;
        if let (Kind::Answer, Some(AnySession::Outgoing(outgoing))) = (kind, self.table.get(id))
            && outgoing.is_accepted_by(index)
        {
            // The receiver learns at once that this host is there.
            self.factory.known_to.meet(now, arrival.from);
        }
        if let Some(AnySession::Incoming(incoming)) = self.table.get_mut(id) {
            incoming.on_arrival(now);
        }
        self.after(now, id);
        Some(())
    }

    /// A peer opens a session from an address and by a number. `None` if the packet is rejected.
    fn on_open(&mut self, now: Time, from: (SocketAddr, u32), bytes: &mut [u8]) -> Option<()> {
        let &HostConfig { max_sessions, .. } = self.config();
        if self.events.len() >= WAITING_EVENTS + 4 * max_sessions {
            // The application cannot keep up.
            return None;
        }
        let has_room = self.table.active() < max_sessions;
        match self.reception.receive(now, &mut self.factory, has_room, from, bytes)? {
            Opened::TurnedAway => {}
            Opened::Declined(what) => {
                let (id, (manifest, refusal)) = (self.table.next_id(), *what);
                self.events.push_back((id, HostEvent::Declined { peer: from.0, manifest, refusal }));
            }
            Opened::Offered(incoming) => {
                self.open(from, AnySession::Incoming(incoming), Opening::Offer);
                // An attacker that replays recorded offers cannot keep others out: its offers are the older ones.
                if let Some(oldest) = self.reception.admission.offer_too_many((max_sessions / 2).max(1)) {
                    self.with_incoming(now, oldest, |incoming| incoming.give_up(now));
                }
            }
            Opened::Requested(pending) => {
                let requested = HostEvent::Requested { peer: from.0, object: pending.request.object.clone() };
                let opening = Opening::Request { validated: pending.validated };
                let id = self.open(from, AnySession::Pending(pending), opening);
                self.events.push_back((id, requested));
            }
        }
        Some(())
    }

    /// A session that a peer has opened.
    fn open(&mut self, (peer, number): (SocketAddr, u32), mut session: AnySession, opening: Opening) -> SessionId {
        let id = self.table.next_id();
        session.take_events(|event| self.events.push_back((id, event)));
        self.table.add_route(peer, number, id, 0);
        self.reception.admission.enter(id, peer.ip(), opening);
        self.table.insert(id, session);
        id
    }

    /// Fires the timers that are due: to be called at the time that [`poll_timeout`](Self::poll_timeout) returns.
    pub fn handle_timeout(&mut self, now: Time) {
        for id in self.table.due(now) {
            match self.table.get_mut(id) {
                Some(AnySession::Pending(_)) => {
                    self.refuse(now, id, Refusal::new(Reason::Busy, "not answered in time"));
                }
                Some(AnySession::Outgoing(outgoing)) => outgoing.handle_timeout(now),
                Some(AnySession::Incoming(incoming)) => incoming.handle_timeout(now),
                None => {}
            }
            self.after(now, id);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.table.next_timeout()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(SessionId, HostEvent)> {
        let (id, event) = self.events.pop_front()?;
        if let (HostEvent::Block { bytes, .. }, Some(AnySession::Incoming(incoming))) = (&event, self.table.get_mut(id))
            && incoming.on_taken(bytes.len())
        {
            self.table.make_ready(id);
        }
        Some((id, event))
    }

    /// Appends the next datagram to `out`, and its destination addresses to `to`. Returns its marking; `None` if there is no datagram now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>, to: &mut Vec<SocketAddr>) -> Option<Marking> {
        to.clear();
        if let Some((peer, datagram)) = self.reception.next_answer() {
            out.extend_from_slice(&datagram);
            to.push(peer);
            return Some(self.factory.config().marking(Class::Control));
        }
        while let Some(id) = self.table.turn() {
            let sent = self.table.get_mut(id).and_then(|session| session.poll_transmit(now, out, to));
            if let Some(class) = sent {
                self.table.sent();
                return Some(self.factory.config().marking(class));
            }
            self.after_transmit(now, id);
            self.table.wait(id);
        }
        None
    }

    fn with_incoming(&mut self, now: Time, id: SessionId, change: impl FnOnce(&mut Incoming)) {
        if let Some(AnySession::Incoming(incoming)) = self.table.get_mut(id) {
            change(incoming);
            self.after(now, id);
        }
    }

    /// Something has happened to a session.
    fn after(&mut self, now: Time, id: SessionId) {
        self.table.make_ready(id);
        self.after_transmit(now, id);
    }

    /// Reports the events of a session, and forgets it if it is over.
    fn after_transmit(&mut self, now: Time, id: SessionId) {
        let Some(session) = self.table.get_mut(id) else { return };
        session.take_events(|event| {
            self.factory.learn(now, &event);
            self.events.push_back((id, event));
        });
        let (over, ending) = (session.is_over(now), session.is_ending());
        let (is_proven, peer) = (session.is_proven(), session.offered_by());
        if is_proven
            && self.reception.admission.prove(id)
            && let Some(peer) = peer
        {
            self.reception.proven.meet(now, peer);
        }
        if ending && self.table.end(id) {
            // The session no longer counts against the limits.
            self.reception.admission.leave(id);
        }
        if over {
            self.close(id);
        }
        if let Some(oldest) = self.table.ending_too_many() {
            self.close(oldest);
        }
    }

    /// A session is over, and forgotten.
    fn close(&mut self, id: SessionId) {
        let Some(session) = self.table.remove(id) else { return };
        self.reception.admission.leave(id);
        self.events.push_back((id, HostEvent::Closed { stats: session.stats(), sent_bytes: session.sent_bytes() }));
    }

    /// A request that was removed from the table is refused.
    fn turn_away(&mut self, id: SessionId, opener: Opener, refusal: Refusal) {
        self.close_pending(id, opener);
        self.reception.refuse(&mut self.factory, opener, refusal);
    }

    /// A request that was removed from the table is forgotten.
    fn close_pending(&mut self, id: SessionId, opener: Opener) {
        self.table.forget(id, &[(opener.peer, opener.session)]);
        self.reception.admission.leave(id);
        self.events.push_back((id, HostEvent::Closed { stats: Stats::default(), sent_bytes: 0 }));
    }
}
