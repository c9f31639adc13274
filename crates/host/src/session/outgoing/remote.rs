//! One receiver of a session that sends.

use std::net::SocketAddr;

use anabranch_transport::{Duration, Time};

use crate::session::Failure;
use crate::session::repeat::Repeat;
use crate::wire::Control;
use crate::{Sealer, Unsealer};

/// Where a receiver stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not answered yet.
    Opening,
    /// It pulls.
    Active,
    /// It has all symbols that it needs, and has not yet said whether the object is right.
    Complete,
    /// It needs nothing more.
    Over,
}

/// How symbols get to a receiver that are for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// By the group, if there is one.
    Group,
    /// So, too; but nothing has come yet, it says. It is sent a symbol by the group and by itself.
    Probe,
    /// That symbol has left. If it says so again, it is sent copies.
    Probed,
    /// What goes to the group does not get there: it is sent copies.
    Copies,
    /// Not at all: it is sent symbols of its own, at its own pace.
    Detached,
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
    delivery: Delivery,
    /// It knows that this host is at its address, if it has not been restarted.
    knows: bool,
}

impl Remote {
    /// A receiver that an object is offered to from now on. It may know that this host is at its address.
    pub(crate) fn offered(now: Time, peer: SocketAddr, knows: bool) -> Self {
        let mut remote = Self { knows, ..Self::new(peer) };
        remote.repeat.start(now);
        remote
    }

    /// A receiver that asks for an object, and is to be answered.
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
            due: None,
            answer_due: false,
            delivery: Delivery::Group,
            knows: false,
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
        matches!(self.phase, Phase::Complete | Phase::Over)
    }

    /// Whether it needs symbols that are for all.
    pub(super) fn needs_common_symbols(&self) -> bool {
        self.delivery != Delivery::Detached && !self.has_all()
    }

    /// Whether what goes to the group does not get there.
    pub(super) fn is_by_unicast(&self) -> bool {
        self.delivery == Delivery::Copies
    }

    /// Whether it is told nothing any more, unless it asks.
    pub(super) fn is_done_with(&self) -> bool {
        self.is_over() && self.due.is_none()
    }

    /// The keys for a request that comes again.
    pub(crate) fn opening(&mut self) -> Option<&mut Unsealer> {
        self.opening.as_mut()
    }

    /// The keys for what it says, once it has answered.
    pub(crate) fn unsealer(&mut self) -> Option<&mut Unsealer> {
        self.unsealer.as_mut()
    }

    /// The keys for what it alone is told, if there are such.
    pub(super) fn sealer(&mut self) -> Option<&mut Sealer> {
        self.sealer.as_mut()
    }

    /// It has answered, after the offer had to be repeated perhaps: if so.
    pub(super) fn on_answer(&mut self, unsealer: Unsealer, sealer: Sealer) -> bool {
        (self.unsealer, self.sealer) = (Some(unsealer), Some(sealer));
        self.repeat.stop();
        self.phase = Phase::Active;
        self.repeat.is_repeated()
    }

    /// Something authentic has come from it.
    pub(super) fn on_authentic(&mut self) {
        if self.phase == Phase::Opening {
            self.phase = Phase::Active;
        }
    }

    /// It shows that it is there.
    pub(super) fn on_keep_alive(&mut self, now: Time) {
        if self.phase == Phase::Complete {
            // It is still checking the hash.
            self.repeat.extend(now);
        }
    }

    /// Nothing has come to it by way of the group, it says. The first time that may be because the first window was lost, and what comes
    /// after it waits for others.
    pub(super) fn on_no_multicast(&mut self) {
        self.delivery = match self.delivery {
            Delivery::Group => Delivery::Probe,
            Delivery::Probed => Delivery::Copies,
            other => other,
        };
    }

    /// A symbol is sent by the group that all get who were to be sent one. Whether this one was.
    pub(super) fn on_group_probe(&mut self) -> bool {
        let waits = self.delivery == Delivery::Probe;
        if waits {
            self.delivery = Delivery::Probed;
        }
        waits
    }

    /// It has all symbols that it needs.
    pub(super) fn on_complete(&mut self, now: Time) {
        if !self.is_over() {
            self.phase = Phase::Complete;
            self.repeat.start(now);
            // It is checking the hash, and tells by itself: it is only asked if that takes long.
            self.repeat.take(now);
        }
    }

    /// It is sent symbols of its own, and told so.
    pub(super) fn detach(&mut self) {
        (self.delivery, self.due) = (Delivery::Detached, Some(Control::Detached));
    }

    /// It needs nothing more.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
        self.repeat.stop();
    }

    /// It is to be told this.
    pub(super) fn tell(&mut self, control: Control) {
        self.due = Some(control);
    }

    /// What it is to be told.
    pub(super) fn take_due(&mut self) -> Option<Control> {
        self.due.take()
    }

    /// Its request is to be answered.
    pub(super) fn make_answer_due(&mut self) {
        self.answer_due = true;
    }

    /// Whether its request is to be answered now.
    pub(super) fn take_answer(&mut self) -> bool {
        std::mem::take(&mut self.answer_due) && !self.is_over()
    }

    /// Whether the offer is to have as many bytes as one of a stranger: the first one, to who knows this host, not.
    pub(super) fn needs_padding(&self) -> bool {
        !self.knows || self.repeat.is_repeated()
    }

    /// Whether the offer, or the question how it ended, is to be sent now.
    pub(super) fn take_repeated(&mut self, now: Time) -> bool {
        !self.is_over() && self.repeat.take(now)
    }

    /// Whether it has not answered for so long.
    pub(super) fn is_unanswered(&self, now: Time, limit: Duration) -> bool {
        self.repeat.lasts(now, limit)
    }

    /// Why it is given up when it says nothing.
    pub(super) fn silence(&self) -> Failure {
        if self.phase == Phase::Complete { Failure::Unconfirmed } else { Failure::TimedOut }
    }

    /// When something is to be sent again, or it is given up.
    pub(super) fn poll_timeout(&self, limit: Duration) -> Option<Time> {
        self.repeat.due().into_iter().chain(self.repeat.ends(limit)).min().filter(|_| !self.is_over())
    }
}
