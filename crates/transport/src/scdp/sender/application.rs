//! What an application asks of a sender.

use super::watch::Excuse;
use super::{Member, Sender, State};
use crate::scdp::header::{Header, Options};
use crate::{Duration, Event, Peer, Time, Transmit};

impl Sender {
    /// The seed of this sender's repair symbols, where senders draw them independently.
    #[must_use]
    pub fn with_repair_seed(mut self, seed: u64) -> Self {
        self.stream.numbering.set_seed(seed);
        self
    }

    /// Source symbols wait until all receivers have asked for them. Repair symbols of a block leave when one of them asks, up to as many as the block has
    /// source symbols, and 100 of a smaller one. Receivers that lose different symbols ask at different times. If each had to wait until all others have
    /// the block and those before it, it would take the symbols that wait for lost ones, since it has asked for them before others that arrive. What
    /// a receiver has not asked for exceeds its window by no more than that.
    #[must_use]
    pub fn with_repairs_for_any(mut self) -> Self {
        self.members.repairs_for_any = true;
        self
    }

    /// The same where the driver offers the object first: it says when each receiver [comes](Self::has_come), and until then the others
    /// [may go on](crate::Event::PeerAbsent) without it.
    #[must_use]
    pub fn with_offers(mut self) -> Self {
        if let Some(late) = self.late() {
            late.offered = true;
        }
        self
    }

    /// A receiver has answered the offer, so long after it; `None` if that says nothing about its path.
    pub fn has_come(&mut self, receiver: Peer, after: Option<Duration>) {
        if let Some(late) = self.late() {
            late.on_answer(receiver, after);
        }
    }

    /// Whether a receiver is judged from now on.
    pub fn excuse(&mut self, receiver: Peer, excuse: Excuse) {
        if let Some(late) = self.late() {
            late.excuse(receiver, excuse);
        }
    }

    /// The receiver that holds back the rest of the group, and when its last pull arrived. What to do about a straggler is the
    /// application's policy (§IV-D). `None` if no receiver is behind.
    pub fn straggler(&self) -> Option<(Peer, Time)> {
        self.members.straggler()
    }

    /// All blocks before this one are complete at every receiver that still needs something.
    pub fn base(&self) -> u32 {
        self.stream.base()
    }

    /// Nothing was sent to the group of blocks from this one on.
    pub fn reached(&self) -> u32 {
        self.stream.reached()
    }

    /// A receiver of the group has all blocks before this one, or from where it joined to this one.
    pub fn base_of(&self, receiver: Peer) -> u32 {
        self.members.get(receiver).map_or(0, Member::base)
    }

    /// Blocks that all receivers have completed in order, those outside the group included: it grows while any of them makes progress.
    pub fn completed_blocks(&self) -> u64 {
        self.members.completed_blocks() + self.apart.as_ref().map_or(0, |apart| apart.completed_blocks())
    }

    /// Whether a receiver, perhaps one that was given up, has asked for so much more than it needs that it got no more.
    pub fn is_exhausted(&self, receiver: Peer) -> bool {
        self.members.get(receiver).is_some_and(|member| member.surplus.exhausted_at().is_some())
    }

    /// The session's options, as carried by symbols of the initial window.
    pub fn options(&self) -> &Options {
        self.packets.options()
    }

    /// Whether symbols that receivers have asked for wait to be sent.
    pub fn has_due(&self) -> bool {
        self.stream.due() > 0 || self.apart.as_ref().is_some_and(|apart| apart.has_due())
    }

    /// A receiver has just joined, and may have missed the pushed symbols: it is sent a symbol again, without waiting for
    /// [`ScdpConfig::probe_timeout`](crate::scdp::ScdpConfig::probe_timeout).
    pub fn probe_receiver(&mut self, receiver: Peer) {
        if let Some(member) = self.members.get_mut(receiver).filter(|member| !member.is_done()) {
            member.silence.probe_anew();
        }
    }

    /// A receiver does not want the object, or cannot take it: it no longer counts, and the others continue. It is reported like a
    /// receiver that did not answer. No effect on a receiver that has the whole object, or left the group for a session of its own.
    pub fn drop_receiver(&mut self, now: Time, receiver: Peer) {
        if self.state != State::Closed && self.members.get(receiver).is_some_and(|member| !member.is_done()) {
            self.lose(now, receiver);
        }
    }

    /// The others of a group go on without a receiver that has not come yet, until it comes. No effect on one that has everything or has left.
    pub fn go_on_without(&mut self, receiver: Peer) {
        if self.members.go_on_without(receiver) {
            self.events.push(Event::PeerAbsent(receiver));
            self.release();
        }
    }

    /// Whether the others go on without a receiver.
    pub fn is_absent(&self, receiver: Peer) -> bool {
        self.members.get(receiver).is_some_and(Member::is_absent)
    }

    /// The block from which on a receiver that came late is to take blocks together with the others, until it does.
    pub fn joins_at(&self, receiver: Peer) -> Option<u32> {
        self.members.get(receiver).filter(|member| member.is_absent())?.joins_at()
    }

    /// Where a receiver that came late has joined the others, or is to.
    pub fn joined_at(&self, receiver: Peer) -> Option<u32> {
        self.members.get(receiver)?.joins_at()
    }

    /// A receiver that came late does not take blocks from a later one on first: it is sent symbols of its own from the beginning.
    /// [`Event::PeerDetached`] follows.
    pub fn serve_absent(&mut self, receiver: Peer) {
        if self.is_absent(receiver) {
            self.fork(receiver, self.base_of(receiver));
        }
    }

    /// The next packet for receivers outside the group. [`poll_transmit`](crate::Endpoint::poll_transmit) returns such packets only when
    /// there is nothing for the group. For drivers that send packets at a limited rate: the group could use up the whole rate, and
    /// receivers outside it would get nothing.
    pub fn poll_apart(&mut self, now: Time) -> Option<Transmit<Header>> {
        let apart = self.apart.as_mut().filter(|_| self.state != State::Closed)?;
        apart.poll_in_turn(now, self.departure, &self.packets)
    }
}
