//! A session that receives an object that was offered, or one that several servers were asked for.

mod attributes;
mod backlog;
mod checker;
mod checking;
mod found;
mod hashes;
mod lane;
mod lanes;
mod lifetime;
mod multicast;
mod path;
mod pulls;
mod transport;

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_transport::scdp::{Header, Options, ScdpConfig};
use anabranch_transport::{Arrival, Endpoint, Event, FailureReason, Peer, Stats, Time};

use super::bounds::Bounds;
use super::outcome::Failure;
use crate::limits::Limits;
use crate::wire::{Answer, Control, Object as Wanted, Reason, SYMBOL_HEADER, SymbolRepr};
use crate::{Manifest, Payload, PublicKey, Received, SealError, Sealer, Unsealer, trust};
use attributes::Attributes;
use backlog::Backlog;
pub(crate) use backlog::News;
use checker::Checker;
use found::Found;
pub(crate) use lane::Lane;
use lanes::Lanes;
pub(crate) use lifetime::Ending;
use lifetime::{Lifetime, Phase};
use multicast::Multicast;
use path::Paths;
use pulls::Pulls;
use transport::Transport;

/// Limits and requirements for sessions that receive.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) largest_packet: u16,
    pub(crate) limits: Limits,
    /// Keys of which one must have signed the object, if there are any.
    pub(crate) signers: Vec<PublicKey>,
    pub(crate) bounds: Bounds,
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Incoming {
    lifetime: Lifetime,
    lanes: Lanes,
    found: Option<Found>,
    transport: Transport,
    /// Present while blocks are received.
    checker: Option<Checker>,
    /// Servers that refused before another one described the object: the application is informed then.
    refused_early: Vec<News>,
    /// The application knows that the peer of a deferred session is there now.
    confirmed: bool,
    /// The answer to the offer says how the session ended.
    ended_by_answer: bool,
    /// All blocks have arrived.
    has_all: bool,
    /// With several senders: the last one from which a block was fetched again, and the last one that was asked for hashes.
    fetched_again_from: usize,
    asked_for_hashes: usize,
    largest_packet: u16,
    limits: Limits,
    signers: Vec<PublicKey>,
    multicast: Multicast,
    paths: Paths,
    pulls: Pulls,
    attributes: Attributes,
    backlog: Backlog,
    sent_bytes: u64,
    /// Bytes of the offer and of symbols.
    received_bytes: u64,
    /// When the last symbol arrived, and the last datagram of any kind.
    last_symbol: Time,
    last_arrival: Time,
}

impl Incoming {
    /// An offer of `bytes` bytes has arrived.
    #[allow(clippy::too_many_arguments, reason = "what an offer says")]
    pub(crate) fn offered(
        now: Time,
        bytes: usize,
        lane: Lane,
        manifest: Manifest,
        options: Options,
        grouped: bool,
        terms: &Terms,
        config: Arc<ScdpConfig>,
    ) -> Self {
        let lifetime = Lifetime::offered(now, terms.bounds, config.linger);
        let mut incoming = Self::new(now, lifetime, Lanes::offering(lane), terms, config);
        incoming.received_bytes = bytes as u64;
        incoming.multicast = Multicast::new(grouped);
        incoming.found = Some(Found { manifest, options });
        incoming.backlog.push(News::Found);
        incoming
    }

    /// Asks servers for an object.
    pub(crate) fn asking(now: Time, lanes: Vec<Lane>, wanted: Wanted, terms: &Terms, config: Arc<ScdpConfig>) -> Self {
        let lifetime = Lifetime::asking(now, terms.bounds, config.linger);
        Self::new(now, lifetime, Lanes::asked(now, lanes, wanted), terms, config)
    }

    fn new(now: Time, lifetime: Lifetime, lanes: Lanes, terms: &Terms, config: Arc<ScdpConfig>) -> Self {
        let &Terms { largest_packet, limits, .. } = terms;
        Self {
            lifetime,
            pulls: Pulls::new(lanes.len()),
            paths: Paths::new(now, lanes.len()),
            fetched_again_from: lanes.drawn(),
            lanes,
            found: None,
            transport: Transport::new(config),
            checker: None,
            refused_early: Vec::new(),
            confirmed: false,
            ended_by_answer: false,
            has_all: false,
            asked_for_hashes: 0,
            largest_packet,
            limits,
            signers: terms.signers.clone(),
            multicast: Multicast::new(false),
            attributes: Attributes::default(),
            backlog: Backlog::new(limits.session),
            sent_bytes: 0,
            received_bytes: 0,
            last_symbol: Time::ZERO,
            last_arrival: now,
        }
    }

    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.found.as_ref().map(|found| &found.manifest)
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = (SocketAddr, u32)> + '_ {
        self.lanes.peers()
    }

    /// The sender that offered the object; `None` if servers were asked for it.
    pub(crate) fn offered_by(&self) -> Option<SocketAddr> {
        self.lanes.wanted().is_none().then(|| self.lanes[0].peer())
    }

    /// The permission bits of the file, if a sender has told them.
    pub(crate) fn mode(&self) -> Option<u16> {
        self.attributes.mode()
    }

    /// Whether symbols arrive by a group.
    pub(crate) fn is_grouped(&self) -> bool {
        self.multicast.is_grouped()
    }

    /// Whether this receiver was detached from its group, whose packets are now for others.
    pub(crate) fn is_detached(&self) -> bool {
        self.multicast.is_detached()
    }

    /// Whether the session only remembers how it ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.lifetime.is_closed()
    }

    /// Whether the sender that offered the object has shown that it is there now.
    pub(crate) fn is_proven(&self) -> bool {
        self.lanes[0].is_proven()
    }

    /// The application has taken a block. Returns whether that made room for something to be sent.
    pub(crate) fn on_taken(&mut self, bytes: usize) -> bool {
        self.backlog.on_taken(bytes)
    }

    pub(crate) fn waiting_for(&self) -> String {
        let peers: Vec<String> = self.lanes.peers().map(|(peer, _)| peer.to_string()).collect();
        format!("receives from {}: {:?} {}", peers.join(", "), self.lifetime.phase(), self.transport.waiting_for())
    }

    pub(crate) fn stats(&self) -> Stats {
        self.transport.stats()
    }

    /// Bytes of all datagrams.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// When something authentic last arrived.
    pub(crate) fn last_arrival(&self) -> Time {
        self.last_arrival
    }

    /// Something authentic has arrived.
    pub(crate) fn on_arrival(&mut self, now: Time) {
        self.last_arrival = now;
    }

    /// One of its senders.
    pub(crate) fn lane(&mut self, index: usize) -> &mut Lane {
        &mut self.lanes[index]
    }

    pub(crate) fn take_news(&mut self) -> Vec<News> {
        self.backlog.take()
    }

    /// Whether nothing more will happen.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        self.lanes.are_silent() && self.lifetime.is_forgotten(now)
    }

    /// The application accepts the object, of which it has the first `bytes` bytes. Returns the offset from which bytes will arrive.
    pub(crate) fn accept(&mut self, now: Time, bytes: u64) -> u64 {
        // A sender that was told to wait has stopped sending: it can only be refused, and offer the object again.
        let is_open = match self.lifetime.phase() {
            Phase::Offered => true,
            Phase::Deferred => self.lanes.wanted().is_some(),
            _ => false,
        };
        let Some(found) = self.found.as_ref().filter(|_| is_open) else { return 0 };
        let (first, offset) = found.first_block(bytes);
        let mut checker = Checker::new(&found.manifest, found.options, offset);
        checker.need(now, first);
        self.checker = Some(checker);
        self.transport.start(now, found.options, first, self.multicast.is_grouped());
        self.lifetime.enter(now, Phase::Receiving);
        self.paths.start(now);
        self.attributes.start(now);
        self.confirm();
        if self.lanes.wanted().is_none() {
            self.lanes[0].make_answer_due();
        }
        offset
    }

    /// The application has decided, and nothing more is received.
    pub(crate) fn close(&mut self, now: Time, ending: Ending) {
        if self.is_closed() {
            return;
        }
        // An offer is answered; later, and for servers, the decision is a message.
        let by_answer =
            self.lanes.wanted().is_none() && matches!(self.lifetime.phase(), Phase::Offered | Phase::Deferred);
        self.ended_by_answer = by_answer;
        self.transport.stop();
        self.checker = None;
        self.pulls.clear();
        self.attributes.stop();
        self.multicast.stop();
        self.lanes.close(now, &ending, by_answer);
        self.lifetime.close(now, ending);
    }

    /// A sender continues after the end: the close was lost.
    fn on_question(&mut self, now: Time, lane: usize) {
        if let Phase::Closed(ending) = self.lifetime.phase() {
            if self.ended_by_answer {
                self.lanes[lane].make_answer_due();
            } else {
                self.lanes[lane].tell_ending(ending);
            }
            self.lifetime.on_question(now);
        }
    }

    /// The application must read a file in order to decide. The senders are told to wait, and the application is told when the peer has shown that it
    /// is there now.
    pub(crate) fn defer(&mut self, now: Time) {
        if *self.lifetime.phase() != Phase::Offered {
            return;
        }
        self.lifetime.enter(now, Phase::Deferred);
        if self.lanes.wanted().is_none() {
            self.lanes[0].make_answer_due();
        }
        self.confirm();
    }

    /// The application has read more in order to decide.
    pub(crate) fn on_work(&mut self, now: Time, read: u64) {
        self.lifetime.on_work(now, read);
    }

    /// Tells the application, once, that the peer of a session that it has deferred or accepted is there now.
    fn confirm(&mut self) {
        let is_there = self.lanes.wanted().is_some() || self.is_proven();
        let is_open = matches!(self.lifetime.phase(), Phase::Deferred | Phase::Receiving | Phase::Confirming);
        if is_there && !self.confirmed && is_open {
            self.confirmed = true;
            self.backlog.push(News::Confirmed);
        }
    }

    /// A server must read a file before it can answer.
    fn on_wait(&mut self, now: Time, index: usize, read: u64) {
        let waits = self.lanes.wanted().is_some() && !self.lanes[index].has_answered();
        if waits && self.lanes[index].on_wait(now, read) && *self.lifetime.phase() == Phase::Asking {
            self.lifetime.on_progress(now);
        }
    }

    /// The offer has arrived again: the answer was lost.
    pub(crate) fn on_repeated_offer(&mut self, now: Time) {
        self.lifetime.on_repeated_offer(now);
        if self.lanes.wanted().is_none() && *self.lifetime.phase() != Phase::Offered {
            self.lanes[0].make_answer_due();
        }
    }

    /// The server has answered, perhaps for the first time: from now on `unsealer` opens what it sends, and `sealer` seals what it is sent.
    pub(crate) fn on_answer(&mut self, now: Time, index: usize, answer: Answer, unsealer: Unsealer, sealer: Sealer) {
        if let Answer::Wait { read } = answer {
            return self.on_wait(now, index, read);
        }
        let wanted = self.lanes.wanted().filter(|_| !self.lanes[index].has_answered());
        let Some(wanted) = wanted.cloned() else { return };
        if matches!(&answer, Answer::Refuse(refusal) if refusal.reason == Reason::Unpadded) {
            return self.on_unpadded_answered(now, index);
        }
        match self.lifetime.phase() {
            Phase::Closed(ending) => {
                let has_it = matches!(&answer, Answer::AcceptRequest { manifest, .. }
                    if self.manifest().is_some_and(|own| own.hash == manifest.hash));
                if !has_it {
                    // The right object came from other servers.
                    self.lanes[index].on_refused("another object");
                }
                return self.lanes[index].on_late_answer(unsealer, sealer, ending);
            }
            Phase::Failed => return,
            _ => {}
        }
        self.lanes[index].on_answer(now, unsealer, sealer);
        self.paths.start_one(now, index);
        match answer {
            Answer::AcceptRequest { manifest, parameters } => {
                if let Err(refusal) = trust::check(&manifest, &self.signers) {
                    // Handled as a refusal: other servers may have the object signed.
                    self.refuse_lane(now, index, refusal.text());
                    return self.lanes[index].tell_refused();
                }
                let (window, lanes) = (self.transport.window(), self.lanes.len());
                let found = Found::announced(manifest, &parameters, &wanted, window, lanes, &self.limits);
                match (found, &self.found) {
                    (Err(why), _) => {
                        self.refuse_lane(now, index, &why);
                        self.lanes[index].tell_refused();
                    }
                    (Ok(found), None) => {
                        self.found = Some(found);
                        self.lifetime.enter(now, Phase::Offered);
                        self.backlog.push(News::Found);
                        for news in std::mem::take(&mut self.refused_early) {
                            self.backlog.push(news);
                        }
                    }
                    (Ok(found), Some(known)) if known.is_same(&found) => {}
                    (Ok(_), Some(_)) => self.fail(now, Failure::ReplicasDiffer),
                }
            }
            Answer::Refuse(refusal) => {
                self.refuse_lane(now, index, refusal.text());
            }
            Answer::AcceptOffer { .. } | Answer::Wait { .. } => self.end_lane(now, index),
        }
    }

    /// A server has refused, or its object was refused.
    fn refuse_lane(&mut self, now: Time, index: usize, why: &str) {
        self.lanes[index].on_refused(why);
        self.tell_excluded(index, why);
        self.end_lane(now, index);
    }

    /// Informs the application that one of several servers is excluded.
    fn tell_excluded(&mut self, index: usize, why: &str) {
        if self.lanes.len() == 1 {
            return;
        }
        let news = News::Excluded { peer: self.lanes[index].peer(), why: why.to_owned() };
        // If all refuse, their refusals are the failure.
        if self.found.is_some() { self.backlog.push(news) } else { self.refused_early.push(news) }
    }

    /// Nothing more is expected from a lane.
    fn end_lane(&mut self, now: Time, index: usize) {
        if let Some(failure) = self.lanes.end(index) {
            self.fail(now, failure);
        }
    }

    fn fail(&mut self, now: Time, failure: Failure) {
        if matches!(self.lifetime.phase(), Phase::Closed(_) | Phase::Failed) {
            return;
        }
        self.lanes.fail();
        self.attributes.stop();
        self.lifetime.fail(now);
        self.backlog.push(News::Failed(failure));
    }

    /// A symbol has arrived.
    pub(crate) fn on_symbol(
        &mut self,
        now: Time,
        lane: usize,
        symbol: &SymbolRepr,
        payload: Payload<'_>,
        arrival: Received,
    ) {
        if self.lanes[lane].has_refused() {
            // The server does not know yet that it is excluded.
            return self.lanes[lane].tell_refused();
        }
        self.on_question(now, lane);
        if self.backlog.is_full() {
            return;
        }
        let (Some(found), Some(receiver)) = (&self.found, self.transport.receiver()) else { return };
        if usize::from(symbol.lane) != lane {
            return;
        }
        self.lanes[lane].stop();
        if *self.lifetime.phase() == Phase::Receiving && self.multicast.on_symbol(now, arrival.by_group) {
            self.lanes[lane].tell_keep_alive();
        }
        let (trimmed, payload) = match payload {
            Payload::Whole(bytes) => (false, bytes),
            Payload::Trimmed => (true, &[][..]),
        };
        // The last symbol of an object may be small enough for a path that carries no others.
        if trimmed || payload.len() == usize::from(found.options.symbol_bytes) {
            self.paths.on_symbol(now, lane);
        }
        self.last_symbol = now;
        self.received_bytes += (SYMBOL_HEADER + payload.len()) as u64;
        let header = Header::Symbol(symbol.symbol(found.options));
        let arrival = Arrival { header, from: lane as Peer, trimmed, ce: arrival.ce, returned: false };
        receiver.handle_payload(now, &arrival, payload);
        if self.transport.is_step_of_others(symbol.block) {
            self.lifetime.on_progress(now);
        }
        self.drain(now);
    }

    /// A message has arrived.
    pub(crate) fn on_control(&mut self, now: Time, index: usize, control: Control) {
        if self.lanes[index].has_refused() {
            // The server answers the exclusion, or does not know of it yet.
            return match control {
                Control::Close { .. } | Control::Cancel | Control::Narrow { .. } | Control::Probe { .. } => {}
                _ => self.lanes[index].tell_refused(),
            };
        }
        self.confirm();
        if let Control::Mode(mode) = control
            && self.lanes[index].is_proven()
        {
            self.attributes.on_mode(mode);
        }
        self.complete_if_confirmed(now);
        match control {
            Control::Cancel => self.end_lane(now, index),
            Control::GivenUp => {
                self.transport.on_given_up(now, index);
                self.drain(now);
            }
            Control::Detached => {
                if let Some(receiver) = self.transport.receiver() {
                    receiver.on_detached();
                }
                if self.multicast.on_detached() {
                    self.backlog.push(News::Detached);
                }
            }
            // The sender asks what has become of its offer.
            Control::KeepAlive if *self.lifetime.phase() == Phase::Deferred => {
                self.lifetime.on_repeated_offer(now);
                match self.lanes.wanted() {
                    None => self.lanes[index].make_answer_due(),
                    Some(_) => self.lanes[index].tell_keep_alive(),
                }
            }
            Control::Join { first } => self.join(now, first),
            // The sender asks how the session ended.
            Control::KeepAlive if *self.lifetime.phase() == Phase::Checking => self.lanes[index].tell_keep_alive(),
            Control::KeepAlive => self.on_question(now, index),
            // The sender answers the close.
            Control::Close { .. } | Control::Narrow { .. } if self.is_closed() => {
                if self.lanes.on_close_answered(index) {
                    self.lifetime.forget(now);
                }
            }
            Control::Probe { padding } => self.on_probe(now, index, padding),
            Control::Close { .. }
            | Control::NoMulticast
            | Control::AskHashes(_)
            | Control::AskProbes { .. }
            | Control::Narrow { .. }
            | Control::AskMode
            | Control::Mode(_) => {}
        }
    }

    /// The others of its group have part of the object already.
    fn join(&mut self, now: Time, first: u32) {
        let blocks = self.found.as_ref().map_or(0, Found::blocks);
        if first < blocks
            && self.lanes.wanted().is_none()
            && *self.lifetime.phase() == Phase::Receiving
            && self.transport.join_at(first)
            && let Some(checker) = &mut self.checker
        {
            checker.need(now, first);
            self.lifetime.on_progress(now);
        }
    }

    /// All bytes have been handed over, a sender is there now, and it has told the file's permission bits if it does.
    fn complete_if_confirmed(&mut self, now: Time) {
        let is_there = self.lanes.wanted().is_some() || self.is_proven();
        if *self.lifetime.phase() == Phase::Confirming && is_there && self.attributes.is_settled(now) {
            self.attributes.stop();
            self.lifetime.enter(now, Phase::Checking);
            self.backlog.push(News::Complete);
        }
    }

    /// Handles the events of the transport's receiver.
    fn drain(&mut self, now: Time) {
        let mut failed = None;
        while let Some(event) = self.transport.receiver().and_then(Endpoint::poll_event) {
            match event {
                Event::BlockReady(block) => self.check_block(now, block),
                Event::Completed { .. } => self.has_all = true,
                Event::Failed(reason) => failed = Some(reason),
                Event::PeerWithholds(sender) => {
                    self.backlog.push(News::Withheld { peer: self.lanes[usize::from(sender)].peer() });
                }
                _ => {}
            }
        }
        let is_checked = self.checker.as_ref().is_some_and(Checker::is_empty);
        if self.has_all && is_checked && *self.lifetime.phase() == Phase::Receiving {
            // A replay of a recorded object completes as well, but no sender is there to confirm it.
            self.multicast.stop();
            self.lifetime.enter(now, Phase::Confirming);
        }
        self.complete_if_confirmed(now);
        match failed {
            Some(FailureReason::GivenUp) => self.fail(now, Failure::GivenUp),
            Some(FailureReason::TimedOut) => self.fail(now, Failure::TimedOut),
            Some(other) => self.fail(now, Failure::Unacceptable(other.to_string())),
            None => {}
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.complete_if_confirmed(now);
        if let Some(receiver) = self.transport.receiver() {
            receiver.handle_timeout(now);
            self.drain(now);
        }
        if self.hashes_deadline().is_some_and(|at| at <= now) {
            self.fail(now, self.without_hashes(now));
        }
        if self.lifetime.is_stalled(now) {
            self.fail(now, Failure::TimedOut);
        }
        let limit = self.lifetime.give_up_after();
        if *self.lifetime.phase() == Phase::Asking && self.lanes.are_lost(now, limit) {
            self.fail(now, Failure::TimedOut);
        }
        self.lanes.stop_asking(now, limit);
        self.watch_paths(now);
    }

    /// Gives the session up in favour of newer ones, whose openers have not shown either that they are there.
    pub(crate) fn give_up(&mut self, now: Time) {
        self.fail(now, Failure::TimedOut);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let lanes = self.lanes.poll_timeout(self.lifetime.give_up_after());
        let times = [
            lanes,
            self.multicast.poll_timeout(),
            self.transport.poll_timeout(),
            self.lifetime.poll_timeout(),
            self.next_ask(),
            self.hashes_deadline(),
            self.paths_due(),
            self.attributes.poll_timeout(),
        ];
        times.into_iter().flatten().min()
    }

    /// Appends the next datagram to `out`. Returns its destination.
    ///
    /// # Errors
    ///
    /// [`SealError`]: the session has lasted too long.
    pub(crate) fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Option<SocketAddr>, SealError> {
        let before = out.len();
        let to = self.poll_datagram(now, out)?;
        self.sent_bytes += (out.len() - before) as u64;
        Ok(to)
    }

    fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Option<SocketAddr>, SealError> {
        for index in 0..self.lanes.len() {
            if self.poll_message(now, index, out)? {
                return Ok(Some(self.lanes[index].peer()));
            }
        }
        if let Some(peer) = self.poll_ask(now, out)? {
            return Ok(Some(peer));
        }
        if let Some(peer) = self.poll_path(now, out)? {
            return Ok(Some(peer));
        }
        if let Some(question) = self.attributes.take_question(now)
            && let Some(index) =
                self.lanes.next_to_ask(question as usize + self.lanes.len() - 1, |lane| self.transport.is_slow(lane))
        {
            let lane = &mut self.lanes[index];
            lane.control(Control::AskMode, out)?;
            return Ok(Some(lane.peer()));
        }
        if self.pulls.is_empty()
            && !self.backlog.is_full()
            && let Some(receiver) = self.transport.receiver()
        {
            self.pulls.collect(now, receiver);
        }
        let Some((index, packet)) = self.pulls.next_packet() else { return Ok(None) };
        let lane = &mut self.lanes[index];
        lane.pull(&packet, out)?;
        Ok(Some(lane.peer()))
    }

    /// Appends a message for one sender, if one is due.
    fn poll_message(&mut self, now: Time, index: usize, out: &mut Vec<u8>) -> Result<bool, SealError> {
        let lane = &mut self.lanes[index];
        if lane.take_answer() {
            if *self.lifetime.phase() == Phase::Receiving {
                self.multicast.on_accepted(now);
            }
            lane.answer(&self.lifetime.answer(self.largest_packet), out)?;
            return Ok(true);
        }
        if lane.poll_message(now, out)? {
            return Ok(true);
        }
        if index == 0 && self.multicast.take_silence(now) {
            lane.control(Control::NoMulticast, out)?;
            return Ok(true);
        }
        self.lanes.poll_request(now, index, self.transport.window(), self.largest_packet, out)
    }
}
