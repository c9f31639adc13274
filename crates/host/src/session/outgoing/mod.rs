//! A session that sends to one receiver or to many, offered by this host or requested.
//!
//! A symbol is sealed once, whoever receives it. Messages of a receiver are authenticated with a key of its own, so that no receiver can impersonate
//! another.

mod full;
mod origin;
mod pages;
mod probes;
mod progress;
mod remote;
mod remotes;

use std::net::SocketAddr;

use anabranch_transport::scdp::{Header, Layout, Options, Pull, Sender, StragglerPolicy, Symbol};
use anabranch_transport::{Arrival, Endpoint, Event, GROUP, Peer, Stats, Time, Transmit};

use super::blocks::Blocks;
use super::outcome::{Failure, Outcome};
use super::pace::Pace;
use crate::config::HostConfig;
use crate::hash_tree::Page;
use crate::keys::HEADERS;
use crate::limits::LIVE_BLOCKS;
use crate::marking::Class;
use crate::session::Delivery;
use crate::wire::{Answer, Control, HashesRepr, Held, Offer, Open, Parameters, Reason, Salt, SymbolRepr};
use crate::{Ecn, Manifest, Object, SealError, Sealer, Unsealer};
use full::Full;
pub(crate) use origin::Origin;
use pages::Pages;
use probes::Probes;
use progress::Progress;
use remote::Phase;
pub(crate) use remote::Remote;
use remotes::Remotes;

/// Bytes of a final message such as the cancellation of a session.
const FINAL_MESSAGE: usize = 64;

/// The pull of a receiver that has everything.
const DONE: Pull = Pull { block: 0, upto: 0, base: 0, fin: true, retry: false, done: true };

/// The initial state of a session that sends.
pub(crate) struct Beginning {
    pub(crate) session: u32,
    pub(crate) origin: Origin,
    pub(crate) manifest: Manifest,
    pub(crate) object: Box<dyn Object>,
    pub(crate) sender: Sender,
    pub(crate) lane: u8,
    pub(crate) sealer: Sealer,
    pub(crate) remotes: Vec<Remote>,
    pub(crate) pace: Option<Pace>,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Outgoing {
    session: u32,
    origin: Origin,
    manifest: Manifest,
    /// Permission bits that receivers are told.
    mode: u16,
    sender: Sender,
    options: Options,
    lane: u8,
    blocks: Blocks,
    sealer: Sealer,
    remotes: Remotes,
    pages: Pages,
    probes: Probes,
    pace: Option<Pace>,
    /// The sender has asked for the next packet too early: when it may leave.
    paced_until: Option<Time>,
    turn_of_group: bool,
    progress: Progress,
    drops_stragglers: bool,
    /// Whether the blocks that may be under way limit the rate.
    full: Full,
    /// The symbol that was sealed last.
    symbol: Vec<u8>,
    sent_bytes: u64,
}

impl Outgoing {
    pub(crate) fn new(now: Time, beginning: Beginning, config: &HostConfig) -> Self {
        let Beginning { session, origin, manifest, object, sender, lane, sealer, remotes, pace } = beginning;
        let options = *sender.options();
        let layout = Layout::from_options(&options).expect("the sender made them");
        let group = origin.group();
        let under_way = LIVE_BLOCKS * u64::from(options.block_symbols) * u64::from(options.symbol_bytes);
        let pages = Pages::new(now, remotes.len(), manifest.size, under_way);
        let probes = Probes::new(now, remotes.len());
        Self {
            session,
            origin,
            manifest,
            mode: object.mode(),
            sender,
            options,
            lane,
            blocks: Blocks::new(object, layout, options.object_bytes, usize::from(options.symbol_bytes)),
            sealer,
            full: Full::default(),
            remotes: Remotes::new(remotes, group),
            pages,
            probes,
            pace,
            paced_until: None,
            turn_of_group: false,
            progress: Progress::new(now, config.give_up_after, config.stall_after),
            drops_stragglers: config.stragglers.policy == StragglerPolicy::Drop,
            symbol: Vec::new(),
            sent_bytes: 0,
        }
    }

    /// One of its receivers.
    pub(crate) fn remote(&mut self, index: usize) -> &mut Remote {
        self.remotes.get_mut(index)
    }

    /// The address of a receiver.
    pub(crate) fn peer(&self, index: usize) -> SocketAddr {
        self.remotes.get(index).peer()
    }

    /// Whether a receiver has accepted the object, and needs it.
    pub(crate) fn is_accepted_by(&self, index: usize) -> bool {
        self.remotes.get(index).phase() == Phase::Active
    }

    /// Whether a receiver reads a file in order to answer, and has asked this end to wait.
    pub(crate) fn is_kept_waiting_by(&self, index: usize) -> bool {
        self.remotes.get(index).phase() == Phase::Waiting
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.remotes.iter().map(Remote::peer)
    }

    /// Whether the receiver's address is not validated yet.
    pub(crate) fn is_unvalidated(&self) -> bool {
        self.origin.is_unvalidated()
    }

    pub(crate) fn session(&self) -> u32 {
        self.session
    }

    /// How many bytes all receivers have that are not done yet.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.bytes_before(self.sender.base())
    }

    /// Bytes of the blocks before this one.
    fn bytes_before(&self, block: u32) -> u64 {
        let layout = Layout::from_options(&self.options).expect("the sender made them");
        let symbols = layout.symbols_before(block.min(layout.blocks));
        (symbols * u64::from(self.options.symbol_bytes)).min(self.manifest.size)
    }

    pub(crate) fn waiting_for(&self) -> String {
        let phases: Vec<String> =
            self.remotes.iter().map(|remote| format!("{} {:?}", remote.peer(), remote.phase())).collect();
        format!("sends to {}; {}", phases.join(", "), self.sender.waiting_for())
    }

    pub(crate) fn stats(&self) -> Stats {
        self.sender.stats()
    }

    /// Bytes of all datagrams, once for each address.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// The salt with which this end opened the session, if it is the opener.
    pub(crate) fn opened_with(&self) -> Option<Salt> {
        self.origin.opened_with()
    }

    /// The receiver's answer has arrived, perhaps for the first time: from now on `unsealer` opens what it sends, and `sealer` seals what it alone is
    /// sent.
    pub(crate) fn on_answer(&mut self, now: Time, index: usize, answer: Answer, unsealer: Unsealer, sealer: Sealer) {
        if self.remotes.get(index).phase() != Phase::Opening {
            return;
        }
        if matches!(&answer, Answer::Refuse(refusal) if refusal.reason == Reason::Unpadded) {
            return self.on_unpadded_answered(now, index);
        }
        let round_trip = self.remotes.get(index).round_trip(now);
        let is_repeated = self.remotes.change(index).on_answer(now, unsealer, sealer);
        self.sender.has_come(index as Peer, round_trip);
        match answer {
            // Shows the receiver that its sender is alive now, and not a replay of recorded datagrams. If this is lost, the receiver learns it when
            // it is asked how the session ended.
            Answer::AcceptOffer { held: Held::None, .. } => {
                self.remotes.change(index).tell(Control::KeepAlive);
                if is_repeated {
                    // It has missed the first window. The others of its group wait for its pulls, and it would conclude that the group's
                    // packets do not reach it.
                    self.sender.probe_receiver(index as Peer);
                }
            }
            Answer::AcceptOffer { held: Held::All, .. } => {
                self.remotes.set_outcome(index, Outcome::AlreadyThere);
                self.on_pulls(now, index, [DONE]);
            }
            Answer::Refuse(refusal) => {
                self.remotes.set_outcome(index, Outcome::Refused(refusal));
                self.sender.drop_receiver(now, index as Peer);
            }
            // It has a file of that name and size. Whatever it finds, it needs no symbols of this session.
            Answer::Wait { read } => {
                self.remotes.change(index).wait(now, read);
                self.sender.drop_receiver(now, index as Peer);
            }
            // The receiver was not asked for anything.
            Answer::AcceptRequest { .. } => self.on_nonsense(now, index),
        }
        self.drain(now);
    }

    /// A receiver that has asked this end to wait says more.
    pub(crate) fn on_later_answer(&mut self, now: Time, index: usize, answer: Answer) {
        match answer {
            Answer::Wait { read } => {
                if self.remotes.change(index).keep_waiting(now, read) {
                    self.progress.restart(now);
                }
            }
            Answer::AcceptOffer { held: Held::All, .. } => self.remotes.set_outcome(index, Outcome::AlreadyThere),
            Answer::Refuse(refusal) => self.remotes.set_outcome(index, Outcome::Refused(refusal)),
            Answer::AcceptOffer { held: Held::None, .. } | Answer::AcceptRequest { .. } => {
                self.on_nonsense(now, index);
            }
        }
    }

    /// A receiver answers what nobody has asked it.
    fn on_nonsense(&mut self, now: Time, index: usize) {
        let problem = Failure::Unacceptable("its answer makes no sense".to_owned());
        self.remotes.set_outcome(index, Outcome::Failed(problem));
        self.sender.drop_receiver(now, index as Peer);
    }

    /// The receiver's request has arrived again: the answer to it was lost.
    pub(crate) fn on_repeated_request(&mut self, bytes: usize) {
        self.origin.on_repeated_request(bytes);
        self.remotes.change(0).make_answer_due();
    }

    /// An authentic datagram has arrived from a receiver.
    fn on_authentic(&mut self, index: usize) {
        self.origin.on_authentic();
        self.remotes.get_mut(index).on_authentic();
    }

    /// Pulls of a receiver have arrived.
    pub(crate) fn on_pulls(&mut self, now: Time, index: usize, pulls: impl IntoIterator<Item = Pull>) {
        self.on_authentic(index);
        // Where there is one receiver, nobody is judged.
        for peer in (0..self.remotes.len()).filter(|_| self.remotes.len() > 1) {
            self.sender.excuse(peer as Peer, self.remotes.get(peer).excuse(now));
        }
        for pull in pulls {
            self.pages.on_progress(index, self.bytes_had(index, pull.base));
            let (header, from) = (Header::Pull(pull), index as Peer);
            self.sender.handle_packet(now, &Arrival { header, from, trimmed: false, ce: false, returned: false });
        }
        if self.remotes.get(index).is_absent() {
            self.on_absent(now, index);
        }
        self.full.on_blocks(now, self.sender.reached() - self.sender.base());
        self.drain(now);
    }

    /// A receiver that the others did not wait for has come, and may have joined them.
    fn on_absent(&mut self, now: Time, index: usize) {
        let peer = index as Peer;
        if let Some(first) = self.sender.joins_at(peer) {
            let missed = self.bytes_before(first) - self.bytes_before(self.sender.base_of(peer));
            self.remotes.ask_to_join(now, index, first, missed);
        } else if !self.sender.is_absent(peer) {
            self.remotes.has_joined(index);
        }
    }

    /// How many bytes of the object a receiver has that has all blocks before `base`. One that came late has those from another block on first.
    fn bytes_had(&self, index: usize, base: u32) -> u64 {
        match self.sender.joined_at(index as Peer) {
            Some(joined) if base < joined => self.manifest.size - self.bytes_before(joined) + self.bytes_before(base),
            Some(joined) => self.bytes_before(base) - self.bytes_before(joined),
            None => self.bytes_before(base),
        }
    }

    /// A message of a receiver has arrived.
    pub(crate) fn on_control(&mut self, now: Time, index: usize, control: Control) {
        self.on_authentic(index);
        self.remotes.mark_changed();
        match control {
            Control::Close { verified } => {
                // The receiver can forget the session once it knows that its message has arrived.
                self.remotes.change(index).tell(control);
                let wrong = Outcome::Failed(Failure::Hash);
                self.remotes.set_outcome(index, if verified { Outcome::Verified } else { wrong });
                self.on_pulls(now, index, [DONE]);
            }
            Control::Cancel => {
                self.remotes.set_outcome(index, Outcome::Failed(Failure::Cancelled));
                self.sender.drop_receiver(now, index as Peer);
                self.drain(now);
            }
            Control::NoMulticast => {
                self.remotes.on_no_multicast(now, index);
                // Without a symbol the receiver cannot ask for any.
                self.sender.probe_receiver(index as Peer);
            }
            Control::KeepAlive => {
                self.remotes.change(index).on_keep_alive(now);
                self.remotes.on_multicast(index);
            }
            Control::AskHashes(page) => self.pages.ask(now, index, page),
            Control::AskProbes { all } => self.on_ask_probes(now, index, all),
            Control::Narrow { bytes } => self.on_narrow(now, index, bytes),
            Control::AskMode => self.remotes.change(index).ask_mode(),
            Control::GivenUp | Control::Detached | Control::Probe { .. } | Control::Mode(_) | Control::Join { .. } => {}
        }
    }

    /// Handles the events of the transport's sender.
    fn drain(&mut self, now: Time) {
        while let Some(event) = self.sender.poll_event() {
            self.remotes.mark_changed();
            match event {
                Event::PeerCompleted(peer) => self.remotes.change(usize::from(peer)).on_complete(now),
                Event::PeerDropped(peer) => {
                    let failure = self.why_given_up(peer);
                    self.remotes.give_up(usize::from(peer), failure);
                }
                Event::Failed(_) => {
                    let failure = self.why_given_up(0);
                    (0..self.remotes.len()).for_each(|peer| self.remotes.lose(peer, failure.clone()));
                }
                Event::PeerAbsent(peer) => self.remotes.set_absent(usize::from(peer)),
                Event::PeerDetached(peer) => {
                    // Who came late and is sent now what it has missed has been reported.
                    self.remotes.detach(usize::from(peer), self.sender.joined_at(peer).is_none());
                }
                Event::Closed
                | Event::Connected
                | Event::Completed { .. }
                | Event::BlockReady(_)
                | Event::PeerWithholds(_) => {}
            }
        }
        self.progress.on_step(now, (self.sender.completed_blocks(), self.remotes.complete()));
    }

    /// Why the transport has given a receiver up.
    fn why_given_up(&self, peer: Peer) -> Failure {
        match (self.sender.is_exhausted(peer), self.drops_stragglers) {
            (true, _) => Failure::Insatiable,
            (false, true) => Failure::GivenUp,
            (false, false) => Failure::TimedOut,
        }
    }

    /// When the session ends, or the slowest receiver is given up, if there is no progress.
    fn deadline(&self) -> Option<Time> {
        (!self.remotes.are_over()).then(|| self.progress.deadline(self.is_unvalidated()))
    }

    /// There is no progress, although receivers show signs of life: gives up the receiver that holds the others back, or all of them.
    fn on_stall(&mut self, now: Time) {
        self.progress.restart(now);
        match self.sender.straggler() {
            Some((slowest, _)) => self.end(now, usize::from(slowest), Failure::TimedOut),
            None => {
                for index in 0..self.remotes.len() {
                    self.end(now, index, self.remotes.get(index).silence());
                }
            }
        }
    }

    /// Gives up a receiver.
    fn end(&mut self, now: Time, index: usize, failure: Failure) {
        self.remotes.set_outcome(index, Outcome::Failed(failure));
        self.sender.drop_receiver(now, index as Peer);
        self.drain(now);
    }

    /// Ends the session and notifies the receivers.
    pub(crate) fn cancel(&mut self, failure: &Failure) {
        self.remotes.cancel(failure);
    }

    /// Outcomes of receivers since the last call.
    pub(crate) fn take_outcomes(&mut self) -> Vec<(usize, Outcome)> {
        self.remotes.take_outcomes()
    }

    /// The bytes of the blocks that may be under way, once they limit the rate; afterwards, and before, nothing.
    pub(crate) fn take_full(&mut self) -> Option<u64> {
        let block = u64::from(self.options.block_symbols) * u64::from(self.options.symbol_bytes);
        self.full.take().then_some((LIVE_BLOCKS - 1) * block)
    }

    /// Changes of how symbols reach receivers since the last call.
    pub(crate) fn take_deliveries(&mut self) -> Vec<(usize, Delivery)> {
        self.remotes.take_deliveries()
    }

    /// Whether nothing more will happen.
    pub(crate) fn is_over(&self) -> bool {
        self.remotes.are_done_with()
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.paced_until = self.paced_until.filter(|until| *until > now);
        // Repeated messages may be due.
        self.remotes.mark_changed();
        self.sender.handle_timeout(now);
        self.drain(now);
        if self.deadline().is_some_and(|at| at <= now) {
            self.on_stall(now);
        }
        for index in 0..self.remotes.len() {
            let remote = self.remotes.get(index);
            if remote.cannot_join(now) {
                self.remotes.cannot_join(index);
                self.sender.serve_absent(index as Peer);
                self.drain(now);
            }
            let remote = self.remotes.get(index);
            if remote.is_unanswered(now, self.progress.give_up_after()) {
                self.end(now, index, remote.silence());
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let repeats = self.remotes.poll_timeout(self.progress.give_up_after());
        let times = [repeats, self.sender.poll_timeout(), self.paced_until, self.deadline()];
        times.into_iter().flatten().min()
    }

    /// Appends the next datagram to `out`, and its destination addresses to `to`. Symbols are for many receivers, messages for one.
    ///
    /// # Errors
    ///
    /// [`Failure::Read`]. The session is then over.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
        to: &mut Vec<SocketAddr>,
    ) -> Result<Option<Class>, Failure> {
        to.clear();
        if self.remotes.have_changed() {
            for index in 0..self.remotes.len() {
                let before = out.len();
                if self.poll_message(now, index, out)? {
                    self.pay(out.len() - before);
                    to.push(self.peer(index));
                    return Ok(Some(Class::Control));
                }
            }
            self.remotes.set_targets();
        }
        self.paced_until = self.pace.as_mut().and_then(|pace| pace.wait(now));
        if self.paced_until.is_some() && self.sender.has_due() {
            // This end makes the others wait.
            self.progress.restart(now);
        }
        if self.paced_until.is_some() || self.remotes.were_over() {
            return Ok(None);
        }
        if self.poll_probe(now, out, to)? {
            return Ok(Some(Class::Symbol(Ecn::NotEct)));
        }
        while let Some((index, page)) = self.pages.next() {
            let before = out.len();
            if self.send_page(now, index, page, out, to)? {
                let bytes = (out.len() - before) * to.len();
                self.pay(bytes);
                if let Some(pace) = &mut self.pace {
                    pace.spend(now, bytes as u64);
                }
                return Ok(Some(Class::Control));
            }
        }
        if !self.origin.allows(usize::from(self.options.symbol_bytes) + HEADERS + FINAL_MESSAGE) {
            return Ok(None);
        }
        while let Some(transmit) = self.next_transmit(now) {
            let before = out.len();
            let class = match transmit.header {
                Header::Symbol(symbol) => {
                    // Who has the block needs no more of it.
                    let sender = &self.sender;
                    let needs = |index: usize| sender.base_of(index as Peer) <= symbol.block;
                    self.remotes.address(now, transmit.to, needs, to);
                    if to.is_empty() {
                        continue;
                    }
                    self.seal(&symbol, out)?;
                    Class::Symbol(if transmit.ect { Ecn::Ect0 } else { Ecn::NotEct })
                }
                Header::GivenUp => {
                    to.push(self.peer(usize::from(transmit.to)));
                    self.tell(usize::from(transmit.to), Control::GivenUp, out)?;
                    Class::Control
                }
                Header::Pull(_) => continue,
            };
            let bytes = (out.len() - before) * to.len();
            self.pay(bytes);
            if let Some(pace) = &mut self.pace {
                pace.spend(now, bytes as u64);
            }
            return Ok(Some(class));
        }
        Ok(None)
    }

    /// The next packet: where a rate is kept, alternately of the group and of the receivers outside it.
    fn next_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        self.turn_of_group = !self.turn_of_group;
        let apart = if self.pace.is_some() && !self.turn_of_group { self.sender.poll_apart(now) } else { None };
        apart.or_else(|| self.sender.poll_transmit(now))
    }

    /// Accounts for bytes that leave, perhaps to an address that is not validated.
    fn pay(&mut self, bytes: usize) {
        self.sent_bytes += bytes as u64;
        self.origin.pay(bytes);
    }

    /// A message for one receiver alone.
    fn tell(&mut self, index: usize, control: Control, out: &mut Vec<u8>) -> Result<(), Failure> {
        let sealer = self.remotes.get_mut(index).sealer().unwrap_or(&mut self.sealer);
        sealer.control(self.session, control, out).map_err(failure)
    }

    /// A message for one receiver, if one is due.
    fn poll_message(&mut self, now: Time, index: usize, out: &mut Vec<u8>) -> Result<bool, Failure> {
        let remote = self.remotes.get_mut(index);
        if let Some(control) = remote.take_due() {
            self.tell(index, control, out)?;
            return Ok(true);
        }
        if let Some(first) = remote.take_join(now) {
            self.tell(index, Control::Join { first }, out)?;
            return Ok(true);
        }
        if remote.take_answer() {
            let parameters = Parameters::of(&self.options);
            let answer = Answer::AcceptRequest { manifest: self.manifest.clone(), parameters };
            self.sealer.answer(self.session, &answer, out).map_err(failure)?;
            return Ok(true);
        }
        if remote.take_mode() {
            self.tell(index, Control::Mode(self.mode & 0o777), out)?;
            return Ok(true);
        }
        let is_repeated = remote.take_repeated(now);
        if !is_repeated && !remote.take_unpadded() {
            return Ok(false);
        }
        match (remote.phase(), &self.origin) {
            (Phase::Opening, &Origin::Offered { group, .. }) => {
                let (manifest, parameters) = (self.manifest.clone(), Parameters::of(&self.options));
                let offer = Offer { manifest, parameters, group, receivers: self.remotes.len() as u16 };
                let (offer, index) = (Open::Offer(offer), index as u16);
                let sealed = if is_repeated && self.remotes.get(usize::from(index)).needs_padding() {
                    self.sealer.open(self.session, index, &offer, out)
                } else {
                    self.sealer.open_unpadded(self.session, index, &offer, out)
                };
                sealed.map_err(failure)?;
            }
            // The receiver answers how the session ended.
            _ => self.tell(index, Control::KeepAlive, out)?,
        }
        Ok(true)
    }

    /// Sends a page of hashes that a receiver has asked for: to that receiver, or to all that get the common symbols. Returns whether it is sent.
    fn send_page(
        &mut self,
        now: Time,
        index: usize,
        page: Page,
        out: &mut Vec<u8>,
        to: &mut Vec<SocketAddr>,
    ) -> Result<bool, Failure> {
        let tree = self.blocks.hash_tree().map_err(|error| Failure::Read(error.to_string()))?;
        let Some(hashes) = tree.page(page) else { return Ok(false) };
        let hashes = HashesRepr { page, hashes: hashes.to_vec() };
        let by_group = self.origin.group().is_some() && self.remotes.get(index).needs_common_symbols();
        if by_group && !self.pages.goes_to_all(now, page) {
            return Ok(false);
        }
        if by_group {
            self.remotes.address(now, GROUP, |_| true, to);
            self.sealer.hashes(self.session, &hashes, out).map_err(failure)?;
        } else {
            to.push(self.peer(index));
            let sealer = self.remotes.get_mut(index).sealer().unwrap_or(&mut self.sealer);
            sealer.hashes(self.session, &hashes, out).map_err(failure)?;
        }
        Ok(true)
    }

    fn seal(&mut self, symbol: &Symbol, out: &mut Vec<u8>) -> Result<(), Failure> {
        let read = self.blocks.symbol(symbol.block, symbol.esi, &mut self.symbol);
        read.map_err(|error| Failure::Read(error.to_string()))?;
        let header = SymbolRepr::new(symbol, self.lane);
        self.sealer.symbol(self.session, &header, &self.symbol, out).map_err(failure)
    }
}

fn failure(error: SealError) -> Failure {
    Failure::Unacceptable(error.to_string())
}
