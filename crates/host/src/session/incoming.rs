//! A session that receives: an object that was offered, or one that was asked of several servers.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_raptorq::PlanCache;
use anabranch_transport::scdp::{Header, Layout, Mode, Options, Pull, RaptorQDecoder, Receiver, ScdpConfig};
use anabranch_transport::{Arrival, Duration, Endpoint, Event, Peer, Stats, Time};

use super::outcome::Failure;
use super::pull_pace::PullPace;
use super::repeat::Repeat;
use crate::limits::Limits;
use crate::wire::{
    Answer, Control, Cookie, Held, MAX_PULLS, Object as Wanted, Open, PullRepr, Refusal, Request, Salt, SymbolRepr,
};
use crate::{Manifest, Payload, Received, SealError, Sealer, Unsealer};

/// Pulls that are collected before they leave: as many as symbols may arrive in one batch of datagrams.
const BATCH: usize = 512;

/// How long a receiver of a group waits for its first symbol before it asks for copies of its own: some round trips of a data
/// centre, and less than anybody notices.
const FIRST_SYMBOL_WITHIN: Duration = Duration::from_ms(10);

/// More symbols than this that come to one receiver alone are not only to learn whether it is there: it is sent copies.
const PROBES: u32 = 16;

/// What the news of a block takes besides its bytes, at least.
const NEWS: u64 = 128;

/// What a session that receives is held to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) largest_packet: u16,
    pub(crate) limits: Limits,
    pub(crate) give_up_after: Duration,
    pub(crate) stall_after: Duration,
}

/// One sender.
#[derive(Debug)]
pub(crate) struct Lane {
    peer: SocketAddr,
    session: u32,
    /// This end's, with which it asked or answered.
    salt: Salt,
    sealer: Sealer,
    /// For what it says; of an object that was asked for, from its answer on.
    unsealer: Option<Unsealer>,
    /// Of an offer: for what its sender says to this end alone, once it has this end's answer.
    confirmed: Option<Unsealer>,
    /// The sender is there now: nobody plays back what it said to somebody at some other time.
    is_proven: bool,
    /// The request.
    repeat: Repeat,
    /// Messages that are due.
    due: Option<Control>,
    answer_due: bool,
    cookie: Option<Cookie>,
    /// Why nothing will come.
    refused: Option<Refusal>,
    ended: bool,
}

impl Lane {
    /// A server that is asked.
    pub(crate) fn asked(peer: SocketAddr, session: u32, salt: Salt, sealer: Sealer) -> Self {
        Self {
            peer,
            session,
            salt,
            sealer,
            unsealer: None,
            confirmed: None,
            is_proven: false,
            repeat: Repeat::default(),
            due: None,
            answer_due: false,
            cookie: None,
            refused: None,
            ended: false,
        }
    }

    /// A sender that offers.
    pub(crate) fn offering(
        peer: SocketAddr,
        session: u32,
        salt: Salt,
        sealer: Sealer,
        unsealer: Unsealer,
        confirmed: Unsealer,
    ) -> Self {
        let (unsealer, confirmed) = (Some(unsealer), Some(confirmed));
        Self { unsealer, confirmed, ..Self::asked(peer, session, salt, sealer) }
    }
}

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Servers are asked.
    Asking,
    /// The application has to decide.
    Offered,
    /// Symbols are received.
    Receiving,
    /// All bytes were handed over, and nothing shows yet that their sender is there now.
    Confirming,
    /// All bytes were handed over, and the application compares their hash.
    Checking,
    /// The application has decided; whoever asks is told.
    Closed(Ending),
    /// It failed.
    Failed,
}

/// What senders are told at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    Verified(bool),
    Had,
    Refused(Refusal),
    Cancelled,
}

/// What the application is told.
#[derive(Debug)]
pub(crate) enum News {
    /// What the object is: it is accepted or refused.
    Found,
    /// Bytes at their place.
    Block { offset: u64, bytes: Vec<u8> },
    /// All bytes were handed over.
    Complete,
    /// What is sent to the group is not for this session any more.
    Detached,
    /// There will be nothing more.
    Failed(Failure),
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Incoming {
    phase: Phase,
    lanes: Vec<Lane>,
    wanted: Option<Wanted>,
    manifest: Option<Manifest>,
    options: Option<Options>,
    receiver: Option<Receiver>,
    config: Arc<ScdpConfig>,
    largest_packet: u16,
    /// Of a session that has a group, until something has come: when to say that nothing does.
    no_multicast: Repeat,
    grouped: bool,
    detached: bool,
    /// Its answer has left, and with it the time began in which something has to come by the group.
    answered: bool,
    /// Symbols that came to this receiver alone.
    copies: u32,
    /// Pulls to send, by lane.
    pulls: Vec<Vec<Pull>>,
    forget_at: Option<Time>,
    /// The counters at the end.
    last_stats: Stats,
    /// Later than this no question about the end is answered.
    forget_by: Time,
    /// When it last came a step further.
    progress: Time,
    give_up_after: Duration,
    stall_after: Duration,
    /// When the offer last came.
    offered_at: Time,
    /// Bytes of those that the application has not taken.
    untaken: u64,
    limits: Limits,
    news: Vec<News>,
    sent_bytes: u64,
    pull_pace: PullPace,
    /// There may be pulls that leave later.
    paced_until: Option<Time>,
}

impl Incoming {
    /// An offer has come.
    pub(crate) fn offered(
        now: Time,
        lane: Lane,
        manifest: Manifest,
        options: Options,
        grouped: bool,
        terms: &Terms,
        config: Arc<ScdpConfig>,
    ) -> Self {
        let mut incoming = Self::new(now, vec![lane], terms, config, Phase::Offered);
        (incoming.manifest, incoming.options, incoming.grouped) = (Some(manifest), Some(options), grouped);
        incoming.news.push(News::Found);
        incoming
    }

    /// Asks servers for an object.
    pub(crate) fn asking(
        now: Time,
        mut lanes: Vec<Lane>,
        wanted: Wanted,
        terms: &Terms,
        config: Arc<ScdpConfig>,
    ) -> Self {
        for lane in &mut lanes {
            lane.repeat.start(now);
        }
        let mut incoming = Self::new(now, lanes, terms, config, Phase::Asking);
        incoming.wanted = Some(wanted);
        incoming
    }

    fn new(now: Time, lanes: Vec<Lane>, terms: &Terms, config: Arc<ScdpConfig>, phase: Phase) -> Self {
        let &Terms { largest_packet, limits, give_up_after, stall_after } = terms;
        let pulls = vec![Vec::new(); lanes.len()];
        Self {
            phase,
            lanes,
            wanted: None,
            manifest: None,
            options: None,
            receiver: None,
            config,
            largest_packet,
            no_multicast: Repeat::default(),
            grouped: false,
            detached: false,
            answered: false,
            copies: 0,
            pulls,
            forget_at: None,
            last_stats: Stats::default(),
            forget_by: now,
            progress: now,
            give_up_after,
            stall_after,
            offered_at: now,
            untaken: 0,
            limits,
            news: Vec::new(),
            sent_bytes: 0,
            pull_pace: PullPace::default(),
            paced_until: None,
        }
    }

    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = (SocketAddr, u32)> + '_ {
        self.lanes.iter().map(|lane| (lane.peer, lane.session))
    }

    /// Whether symbols come by a group.
    pub(crate) fn is_grouped(&self) -> bool {
        self.grouped
    }

    /// Whether they did, and what comes by the group is for others.
    pub(crate) fn is_detached(&self) -> bool {
        self.detached
    }

    /// Whether it only remembers how it ended.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Whether the sender that has offered it is there now.
    pub(crate) fn is_proven(&self) -> bool {
        self.lanes[0].is_proven
    }

    /// A block has been taken by the application. Whether there may be something to send that there was no room for.
    pub(crate) fn on_taken(&mut self, bytes: usize) -> bool {
        let was_full = self.is_full();
        self.untaken = self.untaken.saturating_sub(bytes as u64 + NEWS);
        was_full && !self.is_full()
    }

    /// Whether the application has so many blocks to take that no more are wanted.
    fn is_full(&self) -> bool {
        self.untaken > self.limits.session
    }

    pub(crate) fn waiting_for(&self) -> String {
        let peers: Vec<String> = self.lanes.iter().map(|lane| lane.peer.to_string()).collect();
        let transport = self.receiver.as_ref().map_or_else(String::new, Endpoint::waiting_for);
        format!("receives from {}: {:?} {transport}", peers.join(", "), self.phase)
    }

    pub(crate) fn stats(&self) -> Stats {
        self.receiver.as_ref().map_or(self.last_stats, Endpoint::stats)
    }

    /// Bytes of all datagrams.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// The salt with which this end asked a server, if it did.
    pub(crate) fn opened_with(&self, lane: usize) -> Option<Salt> {
        self.wanted.as_ref().map(|_| self.lanes[lane].salt)
    }

    pub(crate) fn unsealer(&mut self, lane: usize) -> Option<&mut Unsealer> {
        self.lanes[lane].unsealer.as_mut()
    }

    /// A message of a sender, opened; of an offer, it may show that its sender is there now.
    pub(crate) fn open_control(&mut self, lane: usize, bytes: &mut [u8]) -> Option<Control> {
        let lane = &mut self.lanes[lane];
        if let Some(control) = lane.confirmed.as_mut().and_then(|unsealer| unsealer.control(bytes).ok()) {
            lane.is_proven = true;
            return Some(control);
        }
        lane.unsealer.as_mut()?.control(bytes).ok()
    }

    pub(crate) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Whether nothing more will happen.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        let silent = self.lanes.iter().all(|lane| lane.due.is_none() && !lane.answer_due);
        silent && self.forget_at.is_some_and(|at| at <= now)
    }

    /// The application takes the object, of which it has the first `bytes`. From where they come on.
    pub(crate) fn accept(&mut self, now: Time, bytes: u64) -> u64 {
        let (Some(options), Phase::Offered) = (self.options, &self.phase) else { return 0 };
        let layout = Layout::from_options(&options).expect("checked when they came");
        let symbol = u64::from(options.symbol_bytes);
        // Many receivers go through an object together.
        let together = options.mode == Mode::OneToMany;
        let first = if together { 0 } else { layout.blocks_before(bytes / symbol).min(layout.blocks - 1) };
        let decoder = RaptorQDecoder::new(usize::from(options.symbol_bytes), PlanCache::global().clone());
        let receiver = Receiver::new(Arc::clone(&self.config), options.lanes, 0);
        let mut receiver = receiver.with_decoder(Box::new(decoder)).with_first(first);
        receiver.start(now);
        self.receiver = Some(receiver);
        (self.phase, self.progress) = (Phase::Receiving, now);
        if self.wanted.is_none() {
            self.lanes[0].answer_due = true;
        }
        layout.symbols_before(first) * symbol
    }

    /// The application has the object already.
    pub(crate) fn have(&mut self, now: Time) {
        self.close(now, Ending::Had);
    }

    /// The application does not want it.
    pub(crate) fn refuse(&mut self, now: Time, refusal: Refusal) {
        self.close(now, Ending::Refused(refusal));
    }

    /// The application has compared the hash.
    pub(crate) fn checked(&mut self, now: Time, right: bool) {
        self.close(now, Ending::Verified(right));
    }

    /// The application ends it.
    pub(crate) fn cancel(&mut self, now: Time) {
        self.close(now, Ending::Cancelled);
    }

    fn close(&mut self, now: Time, ending: Ending) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        // An offer is answered; later, and to servers, it is a message.
        let by_answer = self.wanted.is_none() && self.phase == Phase::Offered;
        self.phase = Phase::Closed(ending);
        // All that is left to do is to repeat how it ended, for as long as that may be lost and asked for again.
        self.last_stats = self.stats();
        self.receiver = None;
        self.pulls.iter_mut().for_each(Vec::clear);
        self.forget_at = Some(now + self.config.linger);
        self.forget_by = now + self.config.linger + self.give_up_after;
        for lane in 0..self.lanes.len() {
            self.lanes[lane].repeat.stop();
            self.no_multicast.stop();
            // It may have been complete before its answer has left.
            self.lanes[lane].answer_due |= by_answer;
            if !by_answer {
                self.tell_ending(lane);
            }
        }
    }

    /// A sender goes on after the end: the last word was lost.
    fn on_question(&mut self, now: Time, lane: usize) {
        if matches!(self.phase, Phase::Closed(_)) {
            // Who asks for ever does not keep the session for ever.
            self.forget_at = Some((now + self.config.linger).min(self.forget_by));
            self.tell_ending(lane);
        }
    }

    /// A sender is told how it ended.
    fn tell_ending(&mut self, lane: usize) {
        let Phase::Closed(ending) = &self.phase else { return };
        let lane = &mut self.lanes[lane];
        lane.due = match ending {
            Ending::Verified(verified) => Some(Control::Close { verified: *verified }),
            Ending::Cancelled | Ending::Refused(_) | Ending::Had => lane.unsealer.is_some().then_some(Control::Cancel),
        };
    }

    /// The offer has come again: the answer was lost.
    pub(crate) fn on_repeated_offer(&mut self, now: Time) {
        self.offered_at = now;
        if self.wanted.is_none() && self.phase != Phase::Offered {
            self.lanes[0].answer_due = true;
        }
    }

    /// A server wants the request again, with a cookie.
    pub(crate) fn on_retry(&mut self, now: Time, lane: usize, salt: Salt, cookie: Cookie) {
        let lane = &mut self.lanes[lane];
        if lane.salt == salt && lane.unsealer.is_none() {
            // Anyone who sees the request can send one. The first is answered at once; of those that come after it the last one
            // counts, when the request is due again: else a forged one would keep the genuine one out, or make this end
            // send a large request for each small packet.
            if lane.cookie.replace(cookie).is_none() {
                lane.repeat.start(now);
            }
        }
    }

    /// A server has answered, for the first time perhaps: from now on it is understood with these keys.
    /// What this end says is sealed with `sealer`.
    pub(crate) fn on_answer(&mut self, now: Time, index: usize, answer: Answer, unsealer: Unsealer, sealer: Sealer) {
        let lane = &mut self.lanes[index];
        let Some(wanted) = self.wanted.as_ref().filter(|_| lane.unsealer.is_none()) else { return };
        (lane.unsealer, lane.sealer) = (Some(unsealer), sealer);
        lane.is_proven = true;
        // Until a symbol comes, the server is shown that its answer has arrived: before that it may not send more.
        lane.repeat.start(now);
        match answer {
            Answer::AcceptRequest { manifest, parameters } => {
                let asked_for = match wanted {
                    Wanted::Hash(hash) => manifest.hash == *hash,
                    Wanted::Name(name) => manifest.name == *name,
                };
                let window = u32::from(parameters.window) <= self.config.initial_window_many_to_one;
                if !asked_for || !window || usize::from(parameters.lanes) != self.lanes.len() {
                    return self.fail(now, Failure::Unacceptable("a server's answer makes no sense".to_owned()));
                }
                let options = match self.limits.check(&manifest, &parameters) {
                    Ok(options) => options,
                    Err(refusal) => return self.fail(now, Failure::Unacceptable(refusal.text().to_owned())),
                };
                match (&self.manifest, &self.options) {
                    (None, _) => {
                        (self.manifest, self.options) = (Some(manifest), Some(options));
                        (self.phase, self.progress) = (Phase::Offered, now);
                        self.news.push(News::Found);
                    }
                    (Some(known), Some(agreed)) if known.hash == manifest.hash && *agreed == options => {}
                    _ => self.fail(now, Failure::ReplicasDiffer),
                }
            }
            Answer::Refuse(refusal) => {
                lane.repeat.stop();
                let lane = &mut self.lanes[index];
                lane.refused = Some(refusal);
                self.end_lane(now, index);
            }
            Answer::AcceptOffer { .. } => self.end_lane(now, index),
        }
    }

    /// Nothing will come of a lane.
    fn end_lane(&mut self, now: Time, index: usize) {
        self.lanes[index].ended = true;
        self.lanes[index].repeat.stop();
        if self.lanes.iter().all(|lane| lane.ended) {
            let refusals = self
                .lanes
                .iter()
                .filter_map(|lane| lane.refused.as_ref().map(|refusal| format!("{}: {}", lane.peer, refusal.text())));
            let refusals: Vec<String> = refusals.collect();
            let failure = if refusals.is_empty() { Failure::Cancelled } else { Failure::Refused(refusals.join("; ")) };
            self.fail(now, failure);
        }
    }

    fn fail(&mut self, now: Time, failure: Failure) {
        if matches!(self.phase, Phase::Closed(_) | Phase::Failed) {
            return;
        }
        for lane in &mut self.lanes {
            lane.repeat.stop();
            lane.due = (lane.unsealer.is_some() && !lane.ended).then_some(Control::Cancel);
        }
        self.phase = Phase::Failed;
        self.forget_at = Some(now);
        self.news.push(News::Failed(failure));
    }

    /// A symbol has come.
    pub(crate) fn on_symbol(
        &mut self,
        now: Time,
        lane: usize,
        symbol: &SymbolRepr,
        payload: Payload<'_>,
        arrival: Received,
    ) {
        self.on_question(now, lane);
        if self.is_full() {
            return;
        }
        let (Some(options), Some(receiver)) = (self.options, &mut self.receiver) else { return };
        if usize::from(symbol.lane) != lane {
            return;
        }
        self.lanes[lane].repeat.stop();
        // Single ones are sent to it alone to learn whether it is there.
        self.copies += u32::from(!arrival.by_group);
        if arrival.by_group || self.copies > PROBES {
            self.no_multicast.stop();
        }
        let ce = arrival.ce;
        let (trimmed, payload) = match payload {
            Payload::Whole(bytes) => (false, bytes),
            Payload::Trimmed => (true, &[][..]),
        };
        self.pull_pace.on_symbol(now, trimmed);
        let header = Header::Symbol(symbol.symbol(options));
        let arrival = Arrival { header, from: lane as Peer, trimmed, ce, returned: false };
        receiver.handle_payload(now, &arrival, payload);
        self.drain(now);
    }

    /// A message has come.
    pub(crate) fn on_control(&mut self, now: Time, index: usize, control: Control) {
        if self.phase == Phase::Confirming && self.lanes[index].is_proven {
            self.complete(now);
        }
        match control {
            Control::Cancel => self.end_lane(now, index),
            Control::GivenUp => {
                if let Some(receiver) = &mut self.receiver {
                    let header = Header::GivenUp;
                    let arrival = Arrival { header, from: index as Peer, trimmed: false, ce: false, returned: false };
                    receiver.handle_payload(now, &arrival, &[]);
                }
                self.drain(now);
            }
            Control::Detached => {
                self.no_multicast.stop();
                self.detached = true;
                if std::mem::take(&mut self.grouped) {
                    self.news.push(News::Detached);
                }
            }
            // It wants to know how it ended.
            Control::KeepAlive if self.phase == Phase::Checking => self.lanes[index].due = Some(Control::KeepAlive),
            Control::KeepAlive => self.on_question(now, index),
            // It has seen the last word.
            Control::Close { .. } if matches!(self.phase, Phase::Closed(_)) => {
                (self.lanes[index].ended, self.lanes[index].due) = (true, None);
                if self.lanes.iter().all(|lane| lane.ended || lane.unsealer.is_none()) {
                    self.forget_at = Some(now);
                }
            }
            Control::Close { .. } | Control::NoMulticast => {}
        }
    }

    /// All bytes were handed over.
    fn complete(&mut self, now: Time) {
        (self.phase, self.progress) = (Phase::Checking, now);
        self.news.push(News::Complete);
    }

    /// What the receiver has to tell.
    fn drain(&mut self, now: Time) {
        let (Some(receiver), Some(options)) = (&mut self.receiver, &self.options) else { return };
        let mut failed = None;
        while let Some(event) = receiver.poll_event() {
            match event {
                Event::BlockReady(block) => {
                    let mut bytes = receiver.take_block(block);
                    let layout = Layout::from_options(options).expect("checked when they came");
                    let offset = layout.symbols_before(block) * u64::from(options.symbol_bytes);
                    let left = self.manifest.as_ref().map_or(0, |manifest| manifest.size.saturating_sub(offset));
                    bytes.truncate(left.min(bytes.len() as u64) as usize);
                    self.untaken += bytes.len() as u64 + NEWS;
                    self.progress = now;
                    self.news.push(News::Block { offset, bytes });
                }
                Event::Completed { .. } if self.phase == Phase::Receiving => {
                    // An object that was recorded and is played back completes; nobody is there to confirm it.
                    (self.phase, self.progress) = (Phase::Confirming, now);
                }
                Event::Failed(reason) => failed = Some(reason),
                _ => {}
            }
        }
        if self.phase == Phase::Confirming && (self.wanted.is_some() || self.lanes[0].is_proven) {
            self.complete(now);
        }
        match failed {
            Some(anabranch_transport::FailureReason::GivenUp) => self.fail(now, Failure::GivenUp),
            Some(anabranch_transport::FailureReason::TimedOut) => self.fail(now, Failure::TimedOut),
            Some(other) => self.fail(now, Failure::Unacceptable(other.to_string())),
            None => {}
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.paced_until = self.paced_until.filter(|until| *until > now);
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_timeout(now);
            self.drain(now);
        }
        let limit = self.give_up_after;
        if self.deadline().is_some_and(|at| at <= now) {
            self.fail(now, Failure::TimedOut);
        }
        if self.phase == Phase::Asking && self.lanes.iter().all(|lane| lane.ended || lane.repeat.lasts(now, limit)) {
            self.fail(now, Failure::TimedOut);
        }
        for lane in &mut self.lanes {
            if lane.repeat.lasts(now, limit) {
                lane.repeat.stop();
            }
        }
    }

    /// When it ends if nothing brings it further.
    fn deadline(&self) -> Option<Time> {
        let stalled = self.progress + self.stall_after;
        match self.phase {
            Phase::Closed(_) | Phase::Failed => None,
            Phase::Offered if self.wanted.is_none() => Some(stalled.min(self.offered_at + self.give_up_after)),
            Phase::Confirming => Some(self.progress + self.give_up_after),
            _ => Some(stalled),
        }
    }

    /// More has come that is newer, of openers of whom as little is known.
    pub(crate) fn give_up(&mut self, now: Time) {
        self.fail(now, Failure::TimedOut);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let limit = self.give_up_after;
        let asking = self.lanes.iter().filter(|lane| !lane.ended);
        let repeats = asking.filter_map(|lane| lane.repeat.due().into_iter().chain(lane.repeat.ends(limit)).min());
        let receiver = self.receiver.as_ref().and_then(Endpoint::poll_timeout);
        repeats
            .chain(self.no_multicast.due())
            .chain(receiver)
            .chain(self.forget_at)
            .chain(self.deadline())
            .chain(self.paced_until)
            .min()
    }

    /// The next datagram, appended to `out`, and where it goes.
    ///
    /// # Errors
    ///
    /// [`SealError`]: the session has gone on for too long.
    pub(crate) fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Option<SocketAddr>, SealError> {
        let before = out.len();
        let to = self.poll_datagram(now, out)?;
        self.sent_bytes += (out.len() - before) as u64;
        Ok(to)
    }

    fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Option<SocketAddr>, SealError> {
        for index in 0..self.lanes.len() {
            if self.poll_message(now, index, out)? {
                return Ok(Some(self.lanes[index].peer));
            }
        }
        if self.pulls.iter().all(Vec::is_empty) {
            self.collect(now);
        }
        let Some(index) = self.pulls.iter().position(|pulls| !pulls.is_empty()) else { return Ok(None) };
        let pulls = &mut self.pulls[index];
        let mut packet = PullRepr::new(&pulls[0]);
        let taken = 1 + pulls[1..].iter().take(MAX_PULLS - 1).take_while(|pull| packet.push(pull)).count();
        pulls.drain(..taken);
        let lane = &mut self.lanes[index];
        lane.sealer.pull(lane.session, &packet, out)?;
        Ok(Some(lane.peer))
    }

    /// Collects what is to be pulled now: of each block the last pull says what those before it do.
    fn collect(&mut self, now: Time) {
        let is_full = self.is_full();
        let Some(receiver) = self.receiver.as_mut().filter(|_| !is_full) else { return };
        for _ in 0..BATCH {
            let transmit = receiver.poll_transmit(now).or_else(|| {
                self.paced_until = self.pull_pace.paced_until(now);
                let pull = if self.paced_until.is_none() { receiver.poll_pull(now) } else { None };
                pull.inspect(|_| self.pull_pace.spend(now))
            });
            let Some(transmit) = transmit else { return };
            let Header::Pull(pull) = transmit.header else { continue };
            let pulls = &mut self.pulls[usize::from(transmit.to)];
            let alike = |other: &&mut Pull| {
                (other.block, other.base, other.retry, other.done) == (pull.block, pull.base, pull.retry, pull.done)
            };
            match pulls.iter_mut().rfind(alike) {
                Some(other) => (other.upto, other.fin) = (other.upto.max(pull.upto), other.fin | pull.fin),
                None => pulls.push(pull),
            }
        }
    }

    /// A message for one sender, if one is due.
    fn poll_message(&mut self, now: Time, index: usize, out: &mut Vec<u8>) -> Result<bool, SealError> {
        let lanes = self.lanes.len() as u16;
        let lane = &mut self.lanes[index];
        if std::mem::take(&mut lane.answer_due) {
            let answer = match &self.phase {
                Phase::Closed(Ending::Refused(refusal)) => Answer::Refuse(refusal.clone()),
                Phase::Closed(Ending::Had) => {
                    Answer::AcceptOffer { largest_packet: self.largest_packet, held: Held::All }
                }
                _ => Answer::AcceptOffer { largest_packet: self.largest_packet, held: Held::None },
            };
            // From now on, and not from when the application accepted: it may have taken its time since the offer came.
            if self.grouped && self.phase == Phase::Receiving && !std::mem::replace(&mut self.answered, true) {
                self.no_multicast.start(now + FIRST_SYMBOL_WITHIN);
            }
            lane.sealer.answer(lane.session, &answer, out)?;
            return Ok(true);
        }
        if let Some(control) = lane.due.take() {
            lane.sealer.control(lane.session, control, out)?;
            return Ok(true);
        }
        if index == 0 && self.no_multicast.take(now) {
            lane.sealer.control(lane.session, Control::NoMulticast, out)?;
            return Ok(true);
        }
        let Some(wanted) = self.wanted.as_ref().filter(|_| lane.repeat.take(now)) else { return Ok(false) };
        if lane.unsealer.is_some() {
            lane.sealer.control(lane.session, Control::KeepAlive, out)?;
            return Ok(true);
        }
        let request = Request {
            object: wanted.clone(),
            lane: index as u16,
            lanes,
            window: self.config.initial_window_many_to_one.min(u32::from(u16::MAX)) as u16,
            largest_packet: self.largest_packet,
            cookie: lane.cookie.clone(),
        };
        lane.sealer.open(lane.session, 0, &Open::Request(request), out)?;
        Ok(true)
    }
}
