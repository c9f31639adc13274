//! A session that sends: to one receiver or to many, offered or asked for.
//!
//! Symbols are sealed once, whoever gets them. What a receiver says is authenticated with a key of its own, so that none can
//! speak for another.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_transport::scdp::{Header, Layout, Options, Pull, ScdpConfig, Sender, StragglerPolicy, Symbol};
use anabranch_transport::{Arrival, Duration, Endpoint, Event, GROUP, Peer, Stats, Time};

use super::blocks::Blocks;
use super::lag::Lag;
use super::outcome::{Failure, Outcome};
pub(crate) use super::pace::Pace;
use super::repeat::Repeat;
use crate::keys::TAG;
use crate::wire::{Answer, Control, Held, Offer, Open, Parameters, Salt, SymbolRepr};
use crate::{Ecn, Manifest, Object, SealError, Sealer, Unsealer, wire};

/// Bytes that may go to an address before it has shown that it receives them, for each byte that came from it (RFC 9000 §8.1).
pub(crate) const AMPLIFICATION: usize = 3;

/// How a session began.
#[derive(Debug)]
pub(crate) enum Origin {
    /// This host has offered the object, to a group perhaps.
    Offered {
        /// This host's.
        salt: Salt,
        /// Where symbols go that are for all.
        group: Option<SocketAddr>,
    },
    /// The receiver has asked for it, and is answered.
    Requested {
        /// Bytes that may still be sent before the receiver's address is known to be its own.
        allowance: Option<usize>,
    },
}

/// Where a receiver stands.
#[derive(Debug)]
enum Phase {
    /// It has not answered yet.
    Opening,
    /// It pulls.
    Active,
    /// It has all symbols that it needs, and has not yet said whether the object is right.
    Complete,
    /// It needs nothing more.
    Over,
}

/// One receiver.
#[derive(Debug)]
pub(crate) struct Remote {
    peer: SocketAddr,
    /// For what it says; of an offered session, from its answer on.
    unsealer: Option<Unsealer>,
    /// Of an offered session, for what it alone is told, from its answer on.
    sealer: Option<Sealer>,
    /// Of a requested one, for the request, if it comes again.
    opening: Option<Unsealer>,
    phase: Phase,
    /// The offer, or the question how it ended.
    repeat: Repeat,
    /// A message that is due once.
    due: Option<Control>,
    /// The answer is due: the first one, or once more since it was lost.
    answer_due: bool,
    /// What goes to the group does not get there: it is sent copies.
    by_unicast: bool,
    /// It is sent symbols of its own, at its own pace.
    detached: bool,
}

impl Remote {
    /// A receiver that an object is offered to.
    pub(crate) fn offered(peer: SocketAddr) -> Self {
        Self {
            peer,
            unsealer: None,
            sealer: None,
            opening: None,
            phase: Phase::Opening,
            repeat: Repeat::default(),
            due: None,
            answer_due: false,
            by_unicast: false,
            detached: false,
        }
    }

    /// A receiver that asks for an object.
    pub(crate) fn asking(peer: SocketAddr, opening: Unsealer, unsealer: Unsealer) -> Self {
        Self { unsealer: Some(unsealer), opening: Some(opening), ..Self::offered(peer) }
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }
}

/// What a session that sends begins with.
pub(crate) struct Beginning {
    pub(crate) session: u32,
    pub(crate) origin: Origin,
    pub(crate) manifest: Manifest,
    pub(crate) object: Box<dyn Object>,
    pub(crate) sender: Sender,
    pub(crate) options: Options,
    pub(crate) lane: u8,
    pub(crate) sealer: Sealer,
    pub(crate) remotes: Vec<Remote>,
    pub(crate) pace: Option<Pace>,
    /// How long a receiver may be behind before it leaves its group.
    pub(crate) detach_after: Option<Duration>,
    pub(crate) config: Arc<ScdpConfig>,
    pub(crate) give_up_after: Duration,
    pub(crate) stall_after: Duration,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Outgoing {
    session: u32,
    origin: Origin,
    manifest: Manifest,
    sender: Sender,
    options: Options,
    lane: u8,
    blocks: Blocks,
    sealer: Sealer,
    remotes: Vec<Remote>,
    /// Something about a receiver has changed: a message may be due, and symbols may go elsewhere. Not looked for with each symbol.
    changed: bool,
    /// Where symbols go that are for all.
    targets: Vec<SocketAddr>,
    /// Nobody needs anything more.
    over: bool,
    pace: Option<Pace>,
    /// It has asked for the next packet too early: when it may.
    paced_until: Option<Time>,
    give_up_after: Duration,
    stall_after: Duration,
    began: Time,
    /// When it last came a step further, and where it was then.
    progress: Time,
    step: (u32, usize),
    drops_stragglers: bool,
    /// Of a group whose stragglers go on by themselves.
    lag: Option<Lag>,
    symbol: Vec<u8>,
    /// Receivers whose fate is new to the application.
    outcomes: Vec<(usize, Outcome)>,
    sent_bytes: u64,
}

impl Outgoing {
    pub(crate) fn new(now: Time, beginning: Beginning) -> Self {
        let Beginning { session, origin, manifest, object, sender, options, lane, sealer, .. } = beginning;
        let Beginning { mut remotes, pace, detach_after, config, give_up_after, stall_after, .. } = beginning;
        let layout = Layout::from_options(&options).expect("the sender made them");
        for remote in &mut remotes {
            match origin {
                Origin::Offered { .. } => remote.repeat.start(now),
                Origin::Requested { .. } => remote.answer_due = true,
            }
        }
        let blocks = Blocks::new(object, layout, options.object_bytes, usize::from(options.symbol_bytes));
        let (symbol, outcomes) = (Vec::new(), Vec::new());
        let lag = detach_after.filter(|_| remotes.len() > 1);
        let lag = lag.map(|time| Lag::new(now, u32::from(options.window), time, remotes.len()));
        Self {
            session,
            origin,
            manifest,
            sender,
            options,
            lane,
            blocks,
            sealer,
            remotes,
            changed: true,
            targets: Vec::new(),
            over: false,
            pace,
            paced_until: None,
            give_up_after,
            lag,
            stall_after,
            began: now,
            progress: now,
            step: (0, 0),
            drops_stragglers: config.straggler.policy == StragglerPolicy::Drop,
            symbol,
            outcomes,
            sent_bytes: 0,
        }
    }

    /// The address of a receiver.
    pub(crate) fn peer(&self, index: usize) -> SocketAddr {
        self.remotes[index].peer
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.remotes.iter().map(|remote| remote.peer)
    }

    /// Whether the receiver has not yet shown that its address is its own.
    pub(crate) fn is_unvalidated(&self) -> bool {
        matches!(self.origin, Origin::Requested { allowance: Some(_) })
    }

    pub(crate) fn session(&self) -> u32 {
        self.session
    }

    /// Bytes that all have who still need some.
    pub(crate) fn acknowledged(&self) -> u64 {
        let layout = Layout::from_options(&self.options).expect("the sender made them");
        let symbols = layout.symbols_before(self.sender.base());
        (symbols * u64::from(self.options.symbol_bytes)).min(self.manifest.size)
    }

    pub(crate) fn waiting_for(&self) -> String {
        let phases: Vec<String> = self.remotes.iter().map(|r| format!("{} {:?}", r.peer, r.phase)).collect();
        format!("sends to {}; {}", phases.join(", "), self.sender.waiting_for())
    }

    pub(crate) fn stats(&self) -> Stats {
        self.sender.stats()
    }

    /// Bytes of all datagrams, once for each address.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// The salt with which this end opened the session, if it did.
    pub(crate) fn opened_with(&self) -> Option<Salt> {
        match self.origin {
            Origin::Offered { salt, .. } => Some(salt),
            Origin::Requested { .. } => None,
        }
    }

    /// The receiver's answer has come, for the first time perhaps: from now on it is understood with these keys.
    /// What it alone is told is sealed with `sealer`.
    pub(crate) fn on_answer(&mut self, now: Time, index: usize, answer: Answer, unsealer: Unsealer, sealer: Sealer) {
        let remote = &mut self.remotes[index];
        if !matches!(remote.phase, Phase::Opening) {
            return;
        }
        self.changed = true;
        (remote.unsealer, remote.sealer) = (Some(unsealer), Some(sealer));
        remote.repeat.stop();
        remote.phase = Phase::Active;
        match answer {
            // It is shown that its sender is there now, and not one whose datagrams somebody has recorded. If this is lost, it learns that when
            // it is asked how it ended.
            Answer::AcceptOffer { held: Held::None, .. } => {
                remote.due = Some(Control::KeepAlive);
                if remote.repeat.is_repeated() {
                    // The first window has gone by without it. The others of its group wait for its pulls; and it would think that nothing
                    // gets to it by the group.
                    self.sender.probe_receiver(index as Peer);
                }
            }
            Answer::AcceptOffer { held: Held::All, .. } => {
                self.set_outcome(index, Outcome::AlreadyThere);
                self.on_pulls(now, index, [DONE]);
            }
            Answer::Refuse(refusal) => {
                self.set_outcome(index, Outcome::Refused(refusal));
                self.sender.drop_receiver(now, index as Peer);
            }
            // It was not asked for anything.
            Answer::AcceptRequest { .. } => {
                self.set_outcome(
                    index,
                    Outcome::Failed(Failure::Unacceptable("it answers an offer as if it were a request".to_owned())),
                );
                self.sender.drop_receiver(now, index as Peer);
            }
        }
        self.drain(now);
    }

    /// The receiver's request has come again: the answer to it was lost.
    pub(crate) fn on_repeated_request(&mut self, bytes: usize) {
        if let Origin::Requested { allowance: Some(allowance), .. } = &mut self.origin {
            *allowance += AMPLIFICATION * bytes;
        }
        (self.remotes[0].answer_due, self.changed) = (true, true);
    }

    /// The keys for a request that comes again.
    pub(crate) fn opening(&mut self, index: usize) -> Option<&mut Unsealer> {
        self.remotes[index].opening.as_mut()
    }

    /// The keys for what a receiver says, once it has answered.
    pub(crate) fn unsealer(&mut self, index: usize) -> Option<&mut Unsealer> {
        self.remotes[index].unsealer.as_mut()
    }

    /// Something authentic has come from a receiver.
    fn on_authentic(&mut self, index: usize) {
        if let Origin::Requested { allowance, .. } = &mut self.origin {
            *allowance = None;
        }
        let remote = &mut self.remotes[index];
        if matches!(remote.phase, Phase::Opening) {
            remote.phase = Phase::Active;
        }
    }

    /// Pulls of a receiver have come.
    pub(crate) fn on_pulls(&mut self, now: Time, index: usize, pulls: impl IntoIterator<Item = Pull>) {
        self.on_authentic(index);
        for pull in pulls {
            let (header, from) = (Header::Pull(pull), index as Peer);
            self.sender.handle_packet(now, &Arrival { header, from, trimmed: false, ce: false, returned: false });
        }
        if let Some(lag) = &mut self.lag {
            let asked = (0..self.remotes.len()).map(|peer| self.sender.asked(peer as Peer));
            if let Some(straggler) = lag.observe(now, asked) {
                self.sender.detach_receiver(straggler as Peer);
            }
        }
        self.drain(now);
    }

    /// A message of a receiver has come.
    pub(crate) fn on_control(&mut self, now: Time, index: usize, control: Control) {
        self.on_authentic(index);
        self.changed = true;
        match control {
            Control::Close { verified } => {
                // The receiver can forget the session when it knows that its word has arrived.
                self.remotes[index].due = Some(control);
                let wrong = Outcome::Failed(Failure::Hash);
                self.set_outcome(index, if verified { Outcome::Verified } else { wrong });
                self.on_pulls(now, index, [DONE]);
            }
            Control::Cancel => {
                self.set_outcome(index, Outcome::Failed(Failure::Cancelled));
                self.sender.drop_receiver(now, index as Peer);
                self.drain(now);
            }
            Control::NoMulticast => self.remotes[index].by_unicast = true,
            // It is still checking the hash.
            Control::KeepAlive if matches!(self.remotes[index].phase, Phase::Complete) => {
                self.remotes[index].repeat.extend(now);
            }
            Control::GivenUp | Control::KeepAlive | Control::Detached => {}
        }
    }

    /// What became of a receiver is known.
    fn set_outcome(&mut self, index: usize, outcome: Outcome) {
        let remote = &mut self.remotes[index];
        if !remote.is_over() {
            remote.phase = Phase::Over;
            remote.repeat.stop();
            self.changed = true;
            self.outcomes.push((index, outcome));
        }
    }

    /// What the sender has to tell.
    fn drain(&mut self, now: Time) {
        while let Some(event) = self.sender.poll_event() {
            self.changed = true;
            match event {
                Event::PeerCompleted(peer) => {
                    let remote = &mut self.remotes[usize::from(peer)];
                    if !remote.is_over() {
                        remote.phase = Phase::Complete;
                        remote.repeat.start(now);
                        // It is checking the hash, and tells by itself: it is only asked if that takes long.
                        remote.repeat.take(now);
                    }
                }
                Event::PeerDropped(peer) => {
                    let failure = if self.drops_stragglers { Failure::GivenUp } else { Failure::TimedOut };
                    self.set_outcome(usize::from(peer), Outcome::Failed(failure));
                }
                Event::Failed(_) => self.set_all_outcomes(&Failure::TimedOut),
                Event::PeerDetached(peer) => {
                    let remote = &mut self.remotes[usize::from(peer)];
                    (remote.detached, remote.due) = (true, Some(Control::Detached));
                }
                Event::Closed | Event::Connected | Event::Completed { .. } | Event::BlockReady(_) => {}
            }
        }
        let has_all = |remote: &&Remote| matches!(remote.phase, Phase::Complete | Phase::Over);
        let step = (self.sender.base(), self.remotes.iter().filter(has_all).count());
        if step != self.step {
            (self.step, self.progress) = (step, now);
        }
    }

    /// When it ends, or the slowest receiver is given up, if nothing brings it further.
    fn deadline(&self) -> Option<Time> {
        let stalled = self.progress + self.stall_after;
        // Who does not show that it receives the answer may never have asked.
        let unproven = self.is_unvalidated().then(|| self.began + self.give_up_after);
        let over = self.remotes.iter().all(Remote::is_over);
        (!over).then(|| unproven.map_or(stalled, |at| at.min(stalled)))
    }

    /// Nothing has come further, although receivers show signs of life: the one that holds back the others is given up, or all.
    fn on_stall(&mut self, now: Time) {
        self.progress = now;
        match self.sender.straggler() {
            Some((slowest, _)) => self.end(now, usize::from(slowest), Failure::TimedOut),
            None => {
                for index in 0..self.remotes.len() {
                    let complete = matches!(self.remotes[index].phase, Phase::Complete);
                    self.end(now, index, if complete { Failure::Unconfirmed } else { Failure::TimedOut });
                }
            }
        }
    }

    /// A receiver is given up.
    fn end(&mut self, now: Time, index: usize, failure: Failure) {
        self.set_outcome(index, Outcome::Failed(failure));
        self.sender.drop_receiver(now, index as Peer);
        self.drain(now);
    }

    fn set_all_outcomes(&mut self, failure: &Failure) {
        for index in 0..self.remotes.len() {
            self.set_outcome(index, Outcome::Failed(failure.clone()));
        }
    }

    /// Ends the session. The receivers are told.
    pub(crate) fn cancel(&mut self, failure: &Failure) {
        self.changed = true;
        for remote in self.remotes.iter_mut().filter(|remote| !remote.is_over()) {
            remote.due = Some(Control::Cancel);
        }
        self.set_all_outcomes(failure);
    }

    /// What became of receivers, since the last call.
    pub(crate) fn take_outcomes(&mut self) -> Vec<(usize, Outcome)> {
        std::mem::take(&mut self.outcomes)
    }

    /// Whether nothing more will happen.
    pub(crate) fn is_over(&self) -> bool {
        self.remotes.iter().all(|remote| remote.is_over() && remote.due.is_none())
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.paced_until = self.paced_until.filter(|until| *until > now);
        // Whatever is repeated may be due.
        self.changed = true;
        self.sender.handle_timeout(now);
        self.drain(now);
        if self.deadline().is_some_and(|at| at <= now) {
            self.on_stall(now);
        }
        for index in 0..self.remotes.len() {
            let remote = &self.remotes[index];
            if remote.repeat.lasts(now, self.give_up_after) {
                let failure = match remote.phase {
                    Phase::Complete => Failure::Unconfirmed,
                    _ => Failure::TimedOut,
                };
                self.end(now, index, failure);
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let repeats =
            self.remotes.iter().filter(|remote| !remote.is_over()).filter_map(|remote| {
                remote.repeat.due().into_iter().chain(remote.repeat.ends(self.give_up_after)).min()
            });
        repeats.chain(self.sender.poll_timeout()).chain(self.paced_until).chain(self.deadline()).min()
    }

    /// The next datagram, appended to `out`, and where it goes: to these, each. Symbols are for many, messages for one.
    ///
    /// # Errors
    ///
    /// [`Failure::Read`]. The session is then over.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
        to: &mut Vec<SocketAddr>,
    ) -> Result<Option<Ecn>, Failure> {
        to.clear();
        if self.changed {
            for index in 0..self.remotes.len() {
                let before = out.len();
                if self.poll_message(now, index, out)? {
                    self.pay(out.len() - before);
                    to.push(self.remotes[index].peer);
                    return Ok(Some(Ecn::NotEct));
                }
            }
            self.set_targets();
            self.over = self.remotes.iter().all(Remote::is_over);
            self.changed = false;
        }
        self.paced_until = self.pace.map(|pace| pace.next()).filter(|next| *next > now);
        if self.paced_until.is_some() {
            // It is this end that makes the others wait.
            self.progress = now;
        }
        if self.paced_until.is_some() || self.over {
            return Ok(None);
        }
        if let Origin::Requested { allowance: Some(left), .. } = self.origin
            && left < usize::from(self.options.symbol_bytes) + HEADERS + LAST_WORD
        {
            return Ok(None);
        }
        while let Some(transmit) = self.sender.poll_transmit(now) {
            let before = out.len();
            match transmit.header {
                Header::Symbol(symbol) => {
                    match transmit.to {
                        GROUP => to.extend_from_slice(&self.targets),
                        peer => to.push(self.remotes[usize::from(peer)].peer),
                    }
                    if to.is_empty() {
                        continue;
                    }
                    self.seal(&symbol, out)?;
                }
                Header::GivenUp => {
                    to.push(self.remotes[usize::from(transmit.to)].peer);
                    self.tell(usize::from(transmit.to), Control::GivenUp, out)?;
                }
                Header::Pull(_) => continue,
            }
            let bytes = (out.len() - before) * to.len();
            self.pay(bytes);
            if let Some(pace) = &mut self.pace {
                pace.spend(now, bytes as u64);
            }
            return Ok(Some(if transmit.ect { Ecn::Ect0 } else { Ecn::NotEct }));
        }
        Ok(None)
    }

    /// Bytes leave, perhaps to an address that is not validated.
    fn pay(&mut self, bytes: usize) {
        self.sent_bytes += bytes as u64;
        if let Origin::Requested { allowance: Some(left), .. } = &mut self.origin {
            *left = left.saturating_sub(bytes);
        }
    }

    /// A message for one receiver alone.
    fn tell(&mut self, index: usize, control: Control, out: &mut Vec<u8>) -> Result<(), Failure> {
        let sealer = self.remotes[index].sealer.as_mut().unwrap_or(&mut self.sealer);
        sealer.control(self.session, control, out).map_err(failure)
    }

    /// A message for one receiver, if one is due.
    fn poll_message(&mut self, now: Time, index: usize, out: &mut Vec<u8>) -> Result<bool, Failure> {
        let remote = &mut self.remotes[index];
        if let Some(control) = remote.due.take() {
            self.tell(index, control, out)?;
            return Ok(true);
        }
        if std::mem::take(&mut remote.answer_due) && !remote.is_over() {
            let parameters = Parameters::of(&self.options);
            let answer = Answer::AcceptRequest { manifest: self.manifest.clone(), parameters };
            self.sealer.answer(self.session, &answer, out).map_err(failure)?;
            return Ok(true);
        }
        if remote.is_over() || !remote.repeat.take(now) {
            return Ok(false);
        }
        match (&remote.phase, &self.origin) {
            (Phase::Opening, &Origin::Offered { group, .. }) => {
                let (manifest, parameters) = (self.manifest.clone(), Parameters::of(&self.options));
                let offer = Offer { manifest, parameters, group, receivers: self.remotes.len() as u16 };
                self.sealer.open(self.session, index as u16, &Open::Offer(offer), out).map_err(failure)?;
            }
            // It answers with how it ended.
            _ => self.tell(index, Control::KeepAlive, out)?,
        }
        Ok(true)
    }

    /// Where symbols go that are for all who still need some: to the group once, and to each whom it does not reach.
    fn set_targets(&mut self) {
        let group = match self.origin {
            Origin::Offered { group, .. } => group,
            Origin::Requested { .. } => None,
        };
        let waits = |r: &&Remote| !r.detached && !matches!(r.phase, Phase::Complete | Phase::Over);
        self.targets.clear();
        let mut listening = false;
        for remote in self.remotes.iter().filter(waits) {
            if group.is_some() && !remote.by_unicast {
                listening = true;
            } else {
                self.targets.push(remote.peer);
            }
        }
        self.targets.extend(group.filter(|_| listening));
    }

    fn seal(&mut self, symbol: &Symbol, out: &mut Vec<u8>) -> Result<(), Failure> {
        let read = self.blocks.symbol(symbol.block, symbol.esi, &mut self.symbol);
        read.map_err(|error| Failure::Read(error.to_string()))?;
        let header = SymbolRepr::new(symbol, self.lane);
        self.sealer.symbol(self.session, &header, &self.symbol, out).map_err(failure)
    }
}

/// Bytes of a symbol packet besides the symbol.
pub(crate) const HEADERS: usize = wire::SYMBOL_HEADER + TAG;

/// Bytes of a message such as the one that a session is cancelled.
const LAST_WORD: usize = 64;

/// What a receiver says that has everything.
const DONE: Pull = Pull { block: 0, upto: 0, base: 0, fin: true, retry: false, done: true };

fn failure(error: SealError) -> Failure {
    Failure::Unacceptable(error.to_string())
}
