//! All sessions of a host.
//!
//! As quinn's `Endpoint` beside its `Connection`: datagrams come in with [`Host::handle_datagram`], and go out with
//! [`Host::poll_transmit`]; [`Host::poll_event`] tells what happened. What belongs to no session costs nothing but the look for it:
//! only a packet that opens one, with a valid MAC, makes state.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_transport::scdp::{Layout, Mode, ScdpConfig, Sender};
use anabranch_transport::{Stats, Time};

use crate::admission::{Admission, Known, Opening};
use crate::config::{HostConfig, symbol_bytes};
use crate::event::{HostEvent, SessionId};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::session::{AMPLIFICATION, Beginning, Failure, Incoming, Lane, News, Origin, Outgoing, Pace, Remote, Terms};
use crate::wire::{
    Answer, Cookie, HandshakePacket, Kind, Object as Wanted, Offer, Open, Prefix, Reason, Refusal, Request,
    RetryPacket, RetryRepr, Salt,
};
use crate::{Ecn, Manifest, Object, Received, Sealer, Unsealer};

/// Events that the application has not taken, beside four of each session: while there are more, nobody opens a session.
const WAITING_EVENTS: usize = 1024;

/// Sessions that are over but for a last word that may have to be repeated, at most: of more, the oldest is forgotten.
const ENDINGS: usize = 1024;

/// Answers to packets that open nothing, at most: more are not given.
const STRAY_ANSWERS: usize = 64;

/// A request that the application has not answered yet.
#[derive(Debug)]
struct Pending {
    peer: SocketAddr,
    session: u32,
    opener: Salt,
    unsealer: Unsealer,
    request: Request,
    bytes: usize,
    validated: bool,
    until: Time,
}

#[derive(Debug)]
enum Session {
    Pending(Box<Pending>),
    Outgoing(Box<Outgoing>),
    Incoming(Box<Incoming>),
}

/// Which session a datagram is of, and of which of its ends.
#[derive(Clone, Copy, Debug)]
struct Route {
    id: SessionId,
    index: usize,
}

/// All sessions of a host.
#[derive(Debug)]
pub struct Host {
    config: HostConfig,
    random: Random,
    cookie_secret: [u8; 32],
    sessions: BTreeMap<SessionId, Session>,
    routes: HashMap<(SocketAddr, u32), Route>,
    admission: Admission,
    schedule: Schedule,
    /// Sessions that are over but for a last word that may have to be repeated.
    endings: BTreeSet<SessionId>,
    stray: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<(SessionId, HostEvent)>,
    next_id: u64,
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
            config,
            cookie_secret: random.array(),
            random,
            sessions: BTreeMap::new(),
            routes: HashMap::new(),
            admission: Admission::default(),
            schedule: Schedule::default(),
            endings: BTreeSet::new(),
            stray: VecDeque::new(),
            events: VecDeque::new(),
            next_id: 0,
            refused_datagrams: 0,
        }
    }

    /// How it is set.
    pub fn config(&self) -> &HostConfig {
        &self.config
    }

    /// Sessions that are not over.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Datagrams that were not taken: damaged, forged, repeated, of no session, or of another version.
    pub fn refused_datagrams(&self) -> u64 {
        self.refused_datagrams
    }

    /// Of an object that is sent, how many bytes all receivers have that still need some. `None` when the session is over.
    pub fn acknowledged(&self, id: SessionId) -> Option<u64> {
        match self.sessions.get(&id)? {
            Session::Outgoing(outgoing) => Some(outgoing.acknowledged()),
            Session::Pending(_) | Session::Incoming(_) => None,
        }
    }

    /// For a person: what each session waits for.
    pub fn describe(&self) -> Vec<String> {
        let one = |session: &Session| match session {
            Session::Pending(pending) => format!("{} asks for an object, and is not answered", pending.peer),
            Session::Outgoing(outgoing) => outgoing.waiting_for(),
            Session::Incoming(incoming) => incoming.waiting_for(),
        };
        self.sessions.values().map(one).collect()
    }

    /// Whether anything that is sent to a group may be for this host: not while some session was [detached](HostEvent::Detached) from
    /// its group, which would only fill its link, and no other has one.
    pub fn listens_to_groups(&self) -> bool {
        let incoming = self.sessions.values().filter_map(|session| match session {
            Session::Incoming(incoming) if !incoming.is_closed() => Some(incoming),
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
        self.sessions.get(&id).map(|session| match session {
            Session::Pending(_) => Stats::default(),
            Session::Outgoing(outgoing) => outgoing.stats(),
            Session::Incoming(incoming) => incoming.stats(),
        })
    }

    /// Offers an object to receivers, and sends it: by way of a multicast group, or to each its own copy. The first symbols follow the
    /// offer at once.
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
        let count = u16::try_from(receivers.len()).ok().filter(|&count| (1..=1000).contains(&count));
        let count = count.ok_or_else(|| Failure::Unacceptable("an object has 1 to 1000 receivers".to_owned()))?;
        if receivers.iter().collect::<HashSet<_>>().len() < receivers.len() {
            return Err(Failure::Unacceptable("a receiver is named twice".to_owned()));
        }
        let to_many = count > 1 || group.is_some();
        let mode = if to_many { Mode::OneToMany } else { Mode::Unicast };
        let config = self.transport(self.config.symbol_bytes(), self.config.initial_window, manifest.size, mode);
        let bytes = check_size(manifest.size, &config)?;
        let sender = if to_many {
            Sender::one_to_many(Arc::clone(&config), Some(bytes), count)
        } else {
            Sender::unicast(Arc::clone(&config), Some(bytes))
        };
        let salt = Salt(self.random.array());
        let sealer = Sealer::new(self.config.protection.opener(salt));
        let session = self.new_session(receivers);
        // If the offer comes back to this host, it opens nothing.
        self.admission.remember(salt);
        let remotes = receivers.iter().map(|&peer| Remote::offered(peer)).collect();
        let id = self.next_id();
        for (index, &peer) in receivers.iter().enumerate() {
            self.routes.insert((peer, session), Route { id, index });
        }
        let beginning = Beginning {
            session,
            origin: Origin::Offered { salt, group },
            manifest,
            object,
            options: *sender.options(),
            sender,
            lane: 0,
            sealer,
            remotes,
            pace: self.config.rate.map(Pace::new),
            detach_after: self.config.stragglers.detach_after(),
            config,
            give_up_after: self.config.give_up_after,
            stall_after: self.config.stall_after,
        };
        self.insert(id, Session::Outgoing(Box::new(Outgoing::new(now, beginning))));
        Ok(id)
    }

    /// Asks servers for an object that all of them have, of each a share.
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: servers too few or too many.
    pub fn fetch(&mut self, now: Time, object: Wanted, servers: &[SocketAddr]) -> Result<SessionId, Failure> {
        if !(1..=256).contains(&servers.len()) {
            return Err(Failure::Unacceptable("an object is asked of 1 to 256 servers".to_owned()));
        }
        let id = self.next_id();
        let mut lanes = Vec::new();
        for (index, &peer) in servers.iter().enumerate() {
            let (salt, session) = (Salt(self.random.array()), self.new_session(&[peer]));
            self.admission.remember(salt);
            self.routes.insert((peer, session), Route { id, index });
            let sealer = Sealer::new(self.config.protection.opener(salt));
            lanes.push(Lane::asked(peer, session, salt, sealer));
        }
        let config = self.transport(self.config.symbol_bytes(), self.config.initial_window, 0, Mode::ManyToOne);
        let incoming = Incoming::asking(now, lanes, object, &self.terms(), config);
        self.insert(id, Session::Incoming(Box::new(incoming)));
        Ok(id)
    }

    /// Takes an object that was [offered](HostEvent::Offered).
    pub fn accept(&mut self, now: Time, id: SessionId) {
        self.accept_rest(now, id, 0);
    }

    /// Takes an object that was [offered](HostEvent::Offered), of which the first `bytes` are here from an earlier session. Returns from where on the
    /// bytes will come: a little earlier, since they come in blocks; from the beginning, if there are several receivers.
    pub fn accept_rest(&mut self, now: Time, id: SessionId, bytes: u64) -> u64 {
        let mut from = 0;
        self.with_incoming(now, id, |incoming| from = incoming.accept(now, bytes));
        from
    }

    /// The object that was offered is here already.
    pub fn have(&mut self, now: Time, id: SessionId) {
        self.with_incoming(now, id, |incoming| incoming.have(now));
    }

    /// The hash of an object that is [complete](HostEvent::Complete) is right, or wrong. Until then the sender waits, for up to
    /// [`HostConfig::stall_after`].
    pub fn checked(&mut self, now: Time, id: SessionId, right: bool) {
        self.with_incoming(now, id, |incoming| incoming.checked(now, right));
    }

    /// Declines what was offered or requested.
    pub fn refuse(&mut self, now: Time, id: SessionId, refusal: Refusal) {
        if let Some(pending) = self.take_pending(id) {
            self.forget_ends(id, &[(pending.peer, pending.session)]);
            self.refuse_stray(pending.peer, pending.session, pending.opener, 0, refusal);
            self.events.push_back((id, unopened()));
            return;
        }
        self.with_incoming(now, id, |incoming| incoming.refuse(now, refusal));
    }

    /// A request that waits for an answer, taken out.
    fn take_pending(&mut self, id: SessionId) -> Option<Box<Pending>> {
        match self.sessions.remove(&id)? {
            Session::Pending(pending) => Some(pending),
            other => {
                self.sessions.insert(id, other);
                None
            }
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
        let Some(pending) = self.take_pending(id) else { return Ok(()) };
        let Pending { peer, session, opener, unsealer, request, bytes, validated, .. } = *pending;
        // What fits the path at both ends; and no more at once than may go to an address that is not validated.
        let largest = self.config.largest_packet.min(request.largest_packet);
        let symbol_bytes = symbol_bytes(largest);
        let window = u32::from(request.window).min(self.config.initial_window);
        let allowance = (!validated).then_some(AMPLIFICATION * bytes);
        let pushed = if validated { window } else { window.min(UNVALIDATED_WINDOW) };
        let config = self.transport(symbol_bytes, pushed, manifest.size, Mode::ManyToOne);
        let size = match check_size(manifest.size, &config) {
            Ok(size) => size,
            Err(failure) => {
                self.forget_ends(id, &[(peer, session)]);
                let refusal = Refusal::new(Reason::TooLarge, &failure.to_string());
                self.refuse_stray(peer, session, opener, 0, refusal);
                self.events.push_back((id, unopened()));
                return Err(failure);
            }
        };
        let sender = Sender::many_to_one(Arc::clone(&config), Some(size), request.lane, request.lanes);
        let salt = Salt(self.random.array());
        let sealer = Sealer::new(self.config.protection.responder(opener, salt, 0));
        let confirmed = Unsealer::new(self.config.protection.confirmed(opener, salt, 0));
        let beginning = Beginning {
            session,
            origin: Origin::Requested { allowance },
            manifest,
            object,
            options: *sender.options(),
            sender,
            lane: request.lane as u8,
            sealer,
            remotes: vec![Remote::asking(peer, unsealer, confirmed)],
            pace: self.config.rate.map(Pace::new),
            detach_after: self.config.stragglers.detach_after(),
            config,
            give_up_after: self.config.give_up_after,
            stall_after: self.config.stall_after,
        };
        self.insert(id, Session::Outgoing(Box::new(Outgoing::new(now, beginning))));
        Ok(())
    }

    /// Ends a session, whatever it does. The peers are told.
    pub fn cancel(&mut self, now: Time, id: SessionId) {
        match self.sessions.get_mut(&id) {
            Some(Session::Outgoing(outgoing)) => outgoing.cancel(&Failure::Stopped),
            Some(Session::Incoming(incoming)) => incoming.cancel(now),
            Some(Session::Pending(_)) => return self.refuse(now, id, Refusal::new(Reason::Other, "cancelled")),
            None => {}
        }
        self.after(now, id);
    }

    /// A datagram has come. It is decrypted in place.
    pub fn handle_datagram(&mut self, now: Time, arrival: Received, bytes: &mut [u8]) {
        let Received { from, .. } = arrival;
        let taken = Prefix::parse(bytes).ok().and_then(|prefix| {
            match (self.routes.get(&(from, prefix.session)).copied(), prefix.kind) {
                (Some(route), kind) => self.dispatch(now, route, kind, arrival, bytes),
                (None, Kind::Open) => self.on_open(now, from, prefix.session, bytes),
                (None, _) => None,
            }
        });
        self.refused_datagrams += u64::from(taken.is_none());
    }

    /// Hands a datagram to its session. `None` if it is not taken.
    fn dispatch(&mut self, now: Time, route: Route, kind: Kind, arrival: Received, bytes: &mut [u8]) -> Option<()> {
        let Route { id, index } = route;
        let protection = &self.config.protection;
        match (self.sessions.get_mut(&id)?, kind) {
            (Session::Incoming(incoming), Kind::Symbol) => {
                let (symbol, payload) = incoming.unsealer(index)?.symbol(bytes).ok()?;
                incoming.on_symbol(now, index, &symbol, payload, arrival);
            }
            (Session::Incoming(incoming), Kind::Control) => {
                let control = incoming.open_control(index, bytes)?;
                incoming.on_control(now, index, control);
            }
            (Session::Incoming(incoming), Kind::Open) => {
                incoming.unsealer(index)?.open(bytes).ok()?;
                incoming.on_repeated_offer(now);
            }
            (Session::Incoming(incoming), Kind::Answer) => {
                let packet = HandshakePacket::new(bytes).ok().filter(|packet| packet.index() == 0)?;
                let (opener, salt) = (incoming.opened_with(index)?, packet.salt());
                let mut unsealer = Unsealer::new(protection.responder(opener, salt, 0));
                let answer = unsealer.answer(bytes).ok()?;
                let sealer = Sealer::new(protection.confirmed(opener, salt, 0));
                incoming.on_answer(now, index, answer, unsealer, sealer);
            }
            (Session::Incoming(incoming), Kind::Retry) => {
                let retry = RetryRepr::parse(&RetryPacket::new(bytes).ok()?);
                incoming.on_retry(now, index, retry.salt, retry.cookie);
            }
            (Session::Outgoing(outgoing), Kind::Pull) => {
                let pulls = outgoing.unsealer(index)?.pull(bytes).ok()?;
                outgoing.on_pulls(now, index, pulls.pulls());
            }
            (Session::Outgoing(outgoing), Kind::Control) => {
                let control = outgoing.unsealer(index)?.control(bytes).ok()?;
                outgoing.on_control(now, index, control);
            }
            (Session::Outgoing(outgoing), Kind::Answer) => {
                let packet = HandshakePacket::new(bytes).ok()?;
                let own = usize::from(packet.index()) == index && outgoing.unsealer(index).is_none();
                let (opener, salt, place) = (outgoing.opened_with()?, packet.salt(), packet.index());
                let mut unsealer = own.then(|| Unsealer::new(protection.responder(opener, salt, place)))?;
                let answer = unsealer.answer(bytes).ok()?;
                let sealer = Sealer::new(protection.confirmed(opener, salt, place));
                outgoing.on_answer(now, index, answer, unsealer, sealer);
            }
            (Session::Outgoing(outgoing), Kind::Open) => {
                outgoing.opening(index)?.open(bytes).ok()?;
                outgoing.on_repeated_request(bytes.len());
            }
            _ => return None,
        }
        self.after(now, id);
        Some(())
    }

    /// Somebody opens a session.
    fn on_open(&mut self, now: Time, from: SocketAddr, session: u32, bytes: &mut [u8]) -> Option<()> {
        let packet = HandshakePacket::new(bytes).ok()?;
        let (salt, index) = (packet.salt(), packet.index());
        if self.events.len() >= WAITING_EVENTS + 4 * self.config.max_sessions {
            // The application does not keep up.
            return None;
        }
        let refused = match self.admission.known(salt) {
            Some(Known::Used) => return None,
            Some(Known::Refused(refusal)) => Some(refusal.clone()),
            None => None,
        };
        let mut unsealer = Unsealer::new(self.config.protection.opener(salt));
        let message = unsealer.open(bytes).ok()?;
        if let Some(refusal) = refused {
            self.answer_stray(from, session, salt, index, &Answer::Refuse(refusal));
            return Some(());
        }
        if self.sessions.len() - self.endings.len() >= self.config.max_sessions
            || self.admission.from(from.ip()) >= self.config.max_sessions_per_address
        {
            // It may come again when there is room.
            let refusal = Refusal::new(Reason::Busy, "too many sessions at once");
            self.answer_stray(from, session, salt, index, &Answer::Refuse(refusal));
            return Some(());
        }
        let minute = now.ps() / 60_000_000_000_000;
        let validated = match &message {
            Open::Request(Request { cookie: Some(cookie), .. }) => {
                cookie.check(&self.cookie_secret, from, salt, minute)
            }
            _ => false,
        };
        match message {
            Open::Offer(offer) => self.on_offer(now, from, session, salt, index, &offer, unsealer),
            Open::Request(_) if !validated && self.admission.half_open_requests() >= self.config.max_unvalidated => {
                let cookie = Cookie::make(&self.cookie_secret, from, salt, minute);
                let mut datagram = Vec::new();
                RetryRepr { session, salt, cookie }.emit(&mut datagram);
                // The same packet may come again, with the cookie.
                self.push_stray(from, datagram);
            }
            Open::Request(request) => {
                self.admission.remember(salt);
                let id = self.next_id();
                let (object, until) = (request.object.clone(), now + self.config.give_up_after);
                let pending = Pending {
                    peer: from,
                    session,
                    opener: salt,
                    unsealer,
                    request,
                    bytes: bytes.len(),
                    validated,
                    until,
                };
                self.routes.insert((from, session), Route { id, index: 0 });
                self.admission.enter(id, from.ip(), Opening::Request { validated });
                self.insert(id, Session::Pending(Box::new(pending)));
                self.events.push_back((id, HostEvent::Requested { peer: from, object }));
            }
        }
        Some(())
    }

    /// Somebody offers an object.
    #[allow(clippy::too_many_arguments, reason = "all that is known of one packet")]
    fn on_offer(
        &mut self,
        now: Time,
        from: SocketAddr,
        session: u32,
        opener: Salt,
        index: u16,
        offer: &Offer,
        unsealer: Unsealer,
    ) {
        let options = match self.config.limits().check(&offer.manifest, &offer.parameters) {
            Ok(options) if options.lanes == 1 => options,
            Ok(_) => {
                let refusal = Refusal::new(Reason::Unsupported, "parameters that this host cannot use");
                return self.refuse_stray(from, session, opener, index, refusal);
            }
            Err(refusal) => return self.refuse_stray(from, session, opener, index, refusal),
        };
        self.admission.remember(opener);
        let id = self.next_id();
        let salt = Salt(self.random.array());
        let protection = &self.config.protection;
        let sealer = Sealer::new(protection.responder(opener, salt, index));
        let confirmed = Unsealer::new(protection.confirmed(opener, salt, index));
        let lane = Lane::offering(from, session, salt, sealer, unsealer, confirmed);
        let (window, k) = (u32::from(options.window), u32::from(options.block_symbols));
        let config = Arc::new(self.config.transport(options.symbol_bytes, window, k, options.mode));
        let grouped = offer.group.is_some() && options.mode == Mode::OneToMany;
        let incoming = Incoming::offered(now, lane, offer.manifest.clone(), options, grouped, &self.terms(), config);
        self.routes.insert((from, session), Route { id, index: 0 });
        self.admission.enter(id, from.ip(), Opening::Offer);
        self.insert(id, Session::Incoming(Box::new(incoming)));
        self.gather_incoming(id);
        // Who plays offers back that it has recorded cannot keep others out: theirs are the older ones.
        if let Some(oldest) = self.admission.offer_too_many((self.config.max_sessions / 2).max(1)) {
            self.with_incoming(now, oldest, |incoming| incoming.give_up(now));
        }
    }

    /// The time has come that [`poll_timeout`](Self::poll_timeout) told.
    pub fn handle_timeout(&mut self, now: Time) {
        let is_due = |id: &SessionId| self.sessions.get(id).and_then(timeout).is_some_and(|at| at <= now);
        let due: Vec<SessionId> = self.schedule.due(now).chain(self.schedule.ready().filter(is_due)).collect();
        for id in due {
            match self.sessions.get_mut(&id) {
                Some(Session::Pending(_)) => self.refuse(now, id, Refusal::new(Reason::Busy, "not answered in time")),
                Some(Session::Outgoing(outgoing)) => outgoing.handle_timeout(now),
                Some(Session::Incoming(incoming)) => incoming.handle_timeout(now),
                None => {}
            }
            self.after(now, id);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ready = self.schedule.ready().filter_map(|id| self.sessions.get(&id).and_then(timeout));
        ready.chain(self.schedule.next_timer()).min()
    }

    /// What happened since the last call.
    pub fn poll_event(&mut self) -> Option<(SessionId, HostEvent)> {
        let (id, event) = self.events.pop_front()?;
        if let (HostEvent::Block { bytes, .. }, Some(Session::Incoming(incoming))) =
            (&event, self.sessions.get_mut(&id))
            && incoming.on_taken(bytes.len())
        {
            self.schedule.make_ready(id);
        }
        Some((id, event))
    }

    /// The next datagram, appended to `out`, and the addresses that it goes to, each: in `to`. How it is to be sent; none if there is none now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>, to: &mut Vec<SocketAddr>) -> Option<Ecn> {
        to.clear();
        if let Some((peer, datagram)) = self.stray.pop_front() {
            out.extend_from_slice(&datagram);
            to.push(peer);
            return Some(Ecn::NotEct);
        }
        while let Some(id) = self.schedule.turn() {
            let sent = match self.sessions.get_mut(&id) {
                Some(Session::Outgoing(outgoing)) => {
                    let sent = outgoing.poll_transmit(now, out, to);
                    sent.unwrap_or_else(|failure| {
                        outgoing.cancel(&failure);
                        outgoing.poll_transmit(now, out, to).unwrap_or(None)
                    })
                }
                Some(Session::Incoming(incoming)) => {
                    // It has lasted for more datagrams than its keys may: that is millions of gigabytes.
                    let peer = incoming.poll_transmit(now, out).unwrap_or_else(|_| {
                        incoming.cancel(now);
                        None
                    });
                    to.extend(peer);
                    peer.map(|_| Ecn::NotEct)
                }
                Some(Session::Pending(_)) | None => None,
            };
            if sent.is_some() {
                self.schedule.sent();
                return sent;
            }
            self.after_transmit(now, id);
            self.schedule.wait(id, self.sessions.get(&id).and_then(timeout));
        }
        None
    }

    /// A number for a session with these peers that none of their sessions has.
    fn new_session(&mut self, peers: &[SocketAddr]) -> u32 {
        loop {
            let session = u32::from_be_bytes(self.random.array());
            if peers.iter().all(|&peer| !self.routes.contains_key(&(peer, session))) {
                return session;
            }
        }
    }

    /// How the transport is set for an object of that size.
    fn transport(&self, symbol_bytes: u16, window: u32, object_bytes: u64, mode: Mode) -> Arc<ScdpConfig> {
        let k = self.config.limits().block_symbols(self.config.block_symbols, object_bytes, symbol_bytes);
        Arc::new(self.config.transport(symbol_bytes, window, k, mode))
    }

    /// What sessions that receive are held to.
    fn terms(&self) -> Terms {
        let &HostConfig { largest_packet, give_up_after, stall_after, .. } = &self.config;
        Terms { largest_packet, limits: self.config.limits(), give_up_after, stall_after }
    }

    fn next_id(&mut self) -> SessionId {
        self.next_id += 1;
        SessionId(self.next_id)
    }

    fn insert(&mut self, id: SessionId, session: Session) {
        self.sessions.insert(id, session);
        self.schedule.make_ready(id);
    }

    fn with_incoming(&mut self, now: Time, id: SessionId, change: impl FnOnce(&mut Incoming)) {
        if let Some(Session::Incoming(incoming)) = self.sessions.get_mut(&id) {
            change(incoming);
            self.after(now, id);
        }
    }

    /// Something has happened to a session.
    fn after(&mut self, now: Time, id: SessionId) {
        self.schedule.make_ready(id);
        self.after_transmit(now, id);
    }

    /// Tells what happened to a session, and forgets it if it is over.
    fn after_transmit(&mut self, now: Time, id: SessionId) {
        let over = match self.sessions.get_mut(&id) {
            Some(Session::Outgoing(outgoing)) => {
                for (index, outcome) in outgoing.take_outcomes() {
                    let peer = outgoing.peer(index);
                    self.events.push_back((id, HostEvent::Receiver { index, peer, outcome }));
                }
                if !outgoing.is_unvalidated() {
                    self.admission.prove(id);
                }
                outgoing.is_over()
            }
            Some(Session::Incoming(incoming)) => {
                if incoming.is_proven() {
                    self.admission.prove(id);
                }
                let over = incoming.is_over(now);
                if incoming.is_closed() && self.endings.insert(id) {
                    // It takes nobody's place any more.
                    self.admission.leave(id);
                }
                self.gather_incoming(id);
                over
            }
            Some(Session::Pending(_)) | None => return,
        };
        if over {
            self.close(id);
        }
        if let Some(&oldest) = self.endings.first().filter(|_| self.endings.len() > ENDINGS) {
            self.close(oldest);
        }
    }

    /// A session is over, and forgotten.
    fn close(&mut self, id: SessionId) {
        let (stats, sent_bytes, ends): (_, _, Vec<(SocketAddr, u32)>) = match self.sessions.remove(&id) {
            Some(Session::Outgoing(outgoing)) => {
                let ends = outgoing.peers().map(|peer| (peer, outgoing.session())).collect();
                (outgoing.stats(), outgoing.sent_bytes(), ends)
            }
            Some(Session::Incoming(incoming)) => (incoming.stats(), incoming.sent_bytes(), incoming.peers().collect()),
            Some(Session::Pending(_)) | None => return,
        };
        self.forget_ends(id, &ends);
        self.events.push_back((id, HostEvent::Closed { stats, sent_bytes }));
    }

    fn forget_ends(&mut self, id: SessionId, ends: &[(SocketAddr, u32)]) {
        for end in ends {
            if self.routes.get(end).is_some_and(|route| route.id == id) {
                self.routes.remove(end);
            }
        }
        self.schedule.remove(id);
        self.admission.leave(id);
        self.endings.remove(&id);
    }

    fn gather_incoming(&mut self, id: SessionId) {
        let Some(Session::Incoming(incoming)) = self.sessions.get_mut(&id) else { return };
        for news in incoming.take_news() {
            let event = match news {
                News::Found => match (incoming.manifest(), incoming.peers().next()) {
                    (Some(manifest), Some((peer, _))) => HostEvent::Offered { peer, manifest: manifest.clone() },
                    _ => continue,
                },
                News::Block { offset, bytes } => HostEvent::Block { offset, bytes },
                News::Complete => HostEvent::Complete,
                News::Detached => HostEvent::Detached,
                News::Failed(failure) => HostEvent::Failed(failure),
            };
            self.events.push_back((id, event));
        }
    }

    /// Refuses a packet for good: whoever repeats it is told again, if the answer was lost.
    fn refuse_stray(&mut self, to: SocketAddr, session: u32, opener: Salt, index: u16, refusal: Refusal) {
        self.admission.refuse(opener, refusal.clone());
        self.answer_stray(to, session, opener, index, &Answer::Refuse(refusal));
    }

    /// Answers a packet that opens nothing.
    fn answer_stray(&mut self, to: SocketAddr, session: u32, opener: Salt, index: u16, answer: &Answer) {
        let salt = Salt(self.random.array());
        let mut datagram = Vec::new();
        let mut sealer = Sealer::new(self.config.protection.responder(opener, salt, index));
        if sealer.answer(session, answer, &mut datagram).is_ok() {
            self.push_stray(to, datagram);
        }
    }

    fn push_stray(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        if self.stray.len() < STRAY_ANSWERS {
            self.stray.push_back((to, datagram));
        }
    }
}

/// Symbols for an address that is not validated: with the answer they are less than three times the request.
const UNVALIDATED_WINDOW: u32 = 2;

/// A request that was not served is over.
fn unopened() -> HostEvent {
    HostEvent::Closed { stats: Stats::default(), sent_bytes: 0 }
}

/// When something is due in a session.
fn timeout(session: &Session) -> Option<Time> {
    match session {
        Session::Pending(pending) => Some(pending.until),
        Session::Outgoing(outgoing) => outgoing.poll_timeout(),
        Session::Incoming(incoming) => incoming.poll_timeout(),
    }
}

/// Bytes to send of an object: an empty one is sent as a byte that nobody takes.
fn check_size(size: u64, config: &ScdpConfig) -> Result<u64, Failure> {
    // The transport would make its blocks larger, and with them the memory that they take.
    if Layout::new(size, config.symbol_bytes(), config.block_symbols).is_none_or(|layout| layout.endless()) {
        return Err(Failure::Unacceptable(format!("an object of {size} bytes is too large")));
    }
    Ok(size.max(1))
}
