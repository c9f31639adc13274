//! One receiver of a session that sends.

use std::net::SocketAddr;

use anabranch_transport::scdp::Excuse;
use anabranch_transport::{Duration, Time};

use crate::session::Failure;
use crate::session::repeat::Repeat;
use crate::session::unpadded::Unpadded;
use crate::wire::Control;
use crate::{Sealer, Unsealer};

/// State of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not answered yet.
    Opening,
    /// It pulls.
    Active,
    /// It has a file of that name and size, and reads it in order to answer.
    Waiting,
    /// It has all symbols that it needs, and has not yet reported whether the object is right.
    Complete,
    /// It needs nothing more.
    Over,
}

/// How the symbols for all receivers reach this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// By the group, if there is one.
    Group,
    /// By the group, but the receiver reports that nothing arrives. It is sent a symbol both by the group and by unicast.
    Probe,
    /// That symbol has been sent. If the receiver still reports that nothing arrives when it must have got that symbol, it is sent copies.
    Probed,
    /// Packets to the group do not reach it: it is sent copies.
    Copies,
    /// Not at all: it is sent symbols of its own, at its own pace.
    Detached,
}

/// A symbol sent by the group and by unicast has reached the receiver, and a report that it came by unicast alone could be here, after two round
/// trips: no more than this, and no less than host timers are late.
const PROBED_FOR: (Duration, Duration) = (Duration::from_ms(20), Duration::from_ms(500));
/// A report that comes later than this after the last one is about something else.
const REPORT_FOR: Duration = Duration::from_secs(3);
/// Who is sent copies catches up within this time on what had been sent by the group meanwhile.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(1);

/// A receiver that came late joins the others within this time after it was asked to, or is one of an earlier version that does not understand.
const JOINS_WITHIN: Duration = Duration::from_ms(500);

/// A report of a receiver that nothing arrives by the group.
#[derive(Clone, Copy, Debug)]
struct NoMulticast {
    /// When it last reported that.
    reported: Time,
    /// When the probe was sent; before, when it first reported that.
    probed: Time,
}

/// One receiver.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what it is, and what it is due, are independent of each other")]
pub(crate) struct Remote {
    peer: SocketAddr,
    /// Opens what it sends; in an offered session, from its answer on.
    unsealer: Option<Unsealer>,
    /// In an offered session: seals what only this receiver is sent, from its answer on.
    sealer: Option<Sealer>,
    /// In a requested session: opens the request if it arrives again.
    opening: Option<Unsealer>,
    phase: Phase,
    /// The offer, or the question how the session ended.
    repeat: Repeat,
    /// Offers without padding.
    unpadded: Unpadded,
    /// A message that is due once.
    due: Option<Control>,
    /// The answer is due: for the first time, or again since it was lost.
    answer_due: bool,
    delivery: Delivery,
    /// It has asked for the file's permission bits.
    mode_due: bool,
    no_multicast: Option<NoMulticast>,
    /// The others go on without it until it comes: nothing that is sent to all is for it.
    absent: bool,
    /// It came late, and is asked to join the others at this block.
    joins: Option<(u32, Repeat)>,
    /// The time from the first offer to the answer: no less than a round trip.
    answered_after: Duration,
    /// The receiver knows that this host is at its address, unless it has been restarted.
    knows: bool,
    /// Bytes that it has read in order to answer, as it says.
    read: u64,
}

impl Remote {
    /// A receiver that an object is offered to from now on. It may already know that this host is at its address.
    pub(crate) fn offered(now: Time, peer: SocketAddr, knows: bool) -> Self {
        let mut remote = Self { knows, ..Self::new(peer) };
        remote.repeat.start(now);
        remote
    }

    /// A receiver that requests an object and awaits an answer.
    pub(crate) fn asking(peer: SocketAddr, opening: Unsealer, unsealer: Unsealer) -> Self {
        Self { unsealer: Some(unsealer), opening: Some(opening), answer_due: true, ..Self::new(peer) }
    }

    fn new(peer: SocketAddr) -> Self {
        Self {
            peer,
            unsealer: None,
            sealer: None,
            opening: None,
            phase: Phase::Opening,
            repeat: Repeat::default(),
            unpadded: Unpadded::default(),
            due: None,
            answer_due: false,
            delivery: Delivery::Group,
            mode_due: false,
            no_multicast: None,
            absent: false,
            joins: None,
            answered_after: Duration::ZERO,
            knows: false,
            read: 0,
        }
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether it needs nothing more.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether it needs no more symbols.
    pub(super) fn has_all(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Complete | Phase::Over)
    }

    /// Whether it needs the symbols that are sent to all.
    pub(super) fn needs_common_symbols(&self) -> bool {
        self.delivery != Delivery::Detached && !self.absent && !self.has_all()
    }

    /// Whether packets to the group do not reach it.
    pub(super) fn is_by_unicast(&self) -> bool {
        self.delivery == Delivery::Copies
    }

    /// Whether it is sent nothing any more unless it asks.
    pub(super) fn is_done_with(&self) -> bool {
        self.is_over() && self.due.is_none()
    }

    /// Opens a request that arrives again.
    pub(crate) fn opening(&mut self) -> Option<&mut Unsealer> {
        self.opening.as_mut()
    }

    /// Opens what it sends, once it has answered.
    pub(crate) fn unsealer(&mut self) -> Option<&mut Unsealer> {
        self.unsealer.as_mut()
    }

    /// Seals what only this receiver is sent, if it has keys for that.
    pub(super) fn sealer(&mut self) -> Option<&mut Sealer> {
        self.sealer.as_mut()
    }

    /// The time from the offer to its answer that arrives now, if the offer was not repeated.
    pub(super) fn round_trip(&self, now: Time) -> Option<Duration> {
        self.repeat.since().map(|since| now.since(since))
    }

    /// It has answered. Returns whether the offer had been repeated.
    pub(super) fn on_answer(&mut self, now: Time, unsealer: Unsealer, sealer: Sealer) -> bool {
        (self.unsealer, self.sealer) = (Some(unsealer), Some(sealer));
        self.answered_after = self.repeat.age(now);
        self.repeat.stop();
        self.phase = Phase::Active;
        self.repeat.is_repeated()
    }

    /// It reads a file in order to answer. It is shown that this end is there, and asked now and then: each question gets an answer.
    pub(super) fn wait(&mut self, now: Time, read: u64) {
        (self.phase, self.read) = (Phase::Waiting, read);
        self.repeat.start(now);
    }

    /// It has not decided yet. Returns whether it has read more since it last said so.
    pub(super) fn keep_waiting(&mut self, now: Time, read: u64) -> bool {
        let more = read > self.read;
        if more {
            self.read = read;
            self.repeat.extend(now);
        }
        more
    }

    /// An authentic datagram has arrived from it.
    pub(super) fn on_authentic(&mut self) {
        if self.phase == Phase::Opening {
            self.phase = Phase::Active;
        }
    }

    /// It has shown that it is alive.
    pub(super) fn on_keep_alive(&mut self, now: Time) {
        if self.phase == Phase::Complete {
            // It is still checking the hash.
            self.repeat.extend(now);
        }
    }

    /// It reports that nothing arrives by the group. The first time the reason may be that a few were lost, and
    /// later ones wait for other receivers. Returns whether it is sent copies from now on.
    pub(super) fn on_no_multicast(&mut self, now: Time) -> bool {
        let is_new = self.no_multicast.is_none_or(|report| now.since(report.reported) >= REPORT_FOR);
        if is_new && self.delivery == Delivery::Probed {
            self.delivery = Delivery::Group;
        }
        let known = self.no_multicast.filter(|_| !is_new);
        let report = known.unwrap_or(NoMulticast { reported: now, probed: now });
        self.no_multicast = Some(NoMulticast { reported: now, ..report });
        let (least, most) = PROBED_FOR;
        let is_heard = now.since(report.probed) >= (self.answered_after * 2).max(least).min(most);
        match self.delivery {
            Delivery::Group => self.delivery = Delivery::Probe,
            Delivery::Probed if is_heard => {
                self.delivery = Delivery::Copies;
                return true;
            }
            _ => {}
        }
        false
    }

    /// A symbol is sent by the group for all receivers that are probed. Returns whether this receiver is one of them.
    pub(super) fn on_group_probe(&mut self, now: Time) -> bool {
        let waits = self.delivery == Delivery::Probe;
        if waits {
            self.delivery = Delivery::Probed;
            self.no_multicast = self.no_multicast.map(|report| NoMulticast { probed: now, ..report });
        }
        waits
    }

    /// Why it is not judged now, if it is not: it has just reported that nothing arrives by the group, or has just begun to be sent copies.
    pub(super) fn excuse(&self, now: Time) -> Excuse {
        let since = self.no_multicast.map(|report| now.since(report.reported));
        match self.delivery {
            Delivery::Probe | Delivery::Probed if since.is_some_and(|since| since < REPORT_FOR) => Excuse::Unreached,
            Delivery::Copies if since.is_some_and(|since| since < CATCHES_UP_WITHIN) => Excuse::CatchesUp,
            _ => Excuse::None,
        }
    }

    /// It reports that packets to the group reach it again. Returns whether it was sent copies.
    pub(super) fn on_multicast(&mut self) -> bool {
        let was_sent_copies = self.delivery == Delivery::Copies;
        if was_sent_copies || matches!(self.delivery, Delivery::Probe | Delivery::Probed) {
            (self.delivery, self.no_multicast) = (Delivery::Group, None);
        }
        was_sent_copies
    }

    /// It has all symbols that it needs.
    pub(super) fn on_complete(&mut self, now: Time) {
        if !self.is_over() {
            self.phase = Phase::Complete;
            self.repeat.start(now);
            // It is checking the hash and reports the result by itself: it is only asked if that takes long.
            self.repeat.take(now);
        }
    }

    /// It is sent symbols of its own from now on, and notified.
    pub(super) fn detach(&mut self) {
        (self.delivery, self.due) = (Delivery::Detached, Some(Control::Detached));
        (self.absent, self.joins) = (false, None);
    }

    /// The others go on without it.
    pub(super) fn set_absent(&mut self) {
        self.absent = true;
    }

    /// Whether the others go on without it.
    pub(super) fn is_absent(&self) -> bool {
        self.absent
    }

    /// It came late, and is asked to join the others at a block until it does. Returns whether that is new.
    pub(super) fn ask_to_join(&mut self, now: Time, first: u32) -> bool {
        let is_new = self.joins.is_none();
        if is_new {
            let mut repeat = Repeat::default();
            repeat.start(now);
            self.joins = Some((first, repeat));
        }
        is_new
    }

    /// It is with the others.
    pub(super) fn has_joined(&mut self) {
        (self.absent, self.joins) = (false, None);
    }

    /// Whether it has been asked to join for so long that it does not understand.
    pub(super) fn cannot_join(&self, now: Time) -> bool {
        self.joins
            .as_ref()
            .is_some_and(|(_, repeat)| repeat.lasts(now, JOINS_WITHIN + self.answered_after.min(JOINS_WITHIN)))
    }

    /// The block at which it is asked to join, if that is to be sent now.
    pub(super) fn take_join(&mut self, now: Time) -> Option<u32> {
        self.joins
            .as_mut()
            .filter(|(_, repeat)| repeat.due().is_some())
            .and_then(|(first, repeat)| repeat.take(now).then_some(*first))
    }

    /// It needs nothing more.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
        self.repeat.stop();
        self.joins = None;
    }

    /// Makes a message to it due.
    pub(super) fn tell(&mut self, control: Control) {
        self.due = Some(control);
    }

    /// The message that is due, if any.
    pub(super) fn take_due(&mut self) -> Option<Control> {
        self.due.take()
    }

    /// It asks for the file's permission bits.
    pub(super) fn ask_mode(&mut self) {
        self.mode_due = true;
    }

    /// Whether it is to be told the file's permission bits now.
    pub(super) fn take_mode(&mut self) -> bool {
        std::mem::take(&mut self.mode_due) && !self.is_over()
    }

    /// Its request is to be answered.
    pub(super) fn make_answer_due(&mut self) {
        self.answer_due = true;
    }

    /// Whether its request is to be answered now.
    pub(super) fn take_answer(&mut self) -> bool {
        std::mem::take(&mut self.answer_due) && !self.is_over()
    }

    /// Whether the offer must be padded, as for an unknown peer. The first offer to a receiver that knows this host need not be.
    pub(super) fn needs_padding(&self) -> bool {
        !self.knows || self.repeat.is_repeated()
    }

    /// Whether the offer, or the question how the session ended, is to be sent now.
    pub(super) fn take_repeated(&mut self, now: Time) -> bool {
        let is_due = !self.is_over() && self.repeat.take(now);
        if is_due && self.phase == Phase::Opening {
            self.unpadded.on_padded(self.repeat.times());
        }
        is_due
    }

    /// Whether an offer without padding is to be sent now.
    pub(super) fn take_unpadded(&mut self) -> bool {
        self.unpadded.take() && self.phase == Phase::Opening
    }

    /// An offer without padding has been answered, and nothing else. Returns whether padded ones do not arrive.
    pub(super) fn on_unpadded_answered(&mut self, now: Time) -> bool {
        self.repeat.hurry(now);
        self.unpadded.on_answer()
    }

    /// Whether it has left a message unanswered for `limit`.
    pub(super) fn is_unanswered(&self, now: Time, limit: Duration) -> bool {
        self.repeat.lasts(now, limit)
    }

    /// The reason for giving it up when it stays silent.
    pub(super) fn silence(&self) -> Failure {
        if self.phase == Phase::Complete { Failure::Unconfirmed } else { Failure::TimedOut }
    }

    /// When a message is to be sent again, or the receiver is given up.
    pub(super) fn poll_timeout(&self, limit: Duration) -> Option<Time> {
        let joins = self.joins.as_ref().and_then(|(_, repeat)| repeat.due());
        self.repeat.due().into_iter().chain(self.repeat.ends(limit)).chain(joins).min().filter(|_| !self.is_over())
    }
}
