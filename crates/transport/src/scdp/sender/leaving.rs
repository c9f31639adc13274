//! How receivers leave a group: given up, or sent the rest alone.

use super::apart::{Apart, Fate};
use super::member::Member;
use super::members::Members;
use super::stream::Stream;
use super::surplus::Surplus;
use super::{Mode, Sender};
use crate::outbox::Outbox;
use crate::{Event, Peer, Stats, Time};
use std::sync::Arc;

impl Sender {
    pub(super) fn apart(&mut self) -> &mut Apart {
        self.apart.get_or_insert_with(Box::default)
    }

    /// A receiver no longer answers: it no longer counts, and the others continue.
    pub(super) fn lose(&mut self, now: Time, peer: Peer) {
        self.members.leave(peer);
        if self.packets.options().mode == Mode::OneToMany {
            self.apart().lose(peer);
            self.events.push(Event::PeerDropped(peer));
        }
        self.close_if_done();
        self.release();
        self.watch(now);
    }

    /// What has become of receivers outside the group.
    pub(super) fn on_fates(&mut self, now: Time) {
        let until = now + self.config.linger;
        for (peer, fate) in self.apart().take_fates(until) {
            match fate {
                Fate::Completed => {
                    self.members.on_completed_apart();
                    self.events.push(Event::PeerCompleted(peer));
                }
                Fate::Failed(surplus) => {
                    self.events.push(Event::PeerDropped(peer));
                    if let Some(member) = self.members.get_mut(peer) {
                        member.surplus = surplus;
                    }
                }
            }
        }
        self.close_if_done();
    }

    /// A receiver leaves the group and is sent symbols of its own.
    pub(super) fn detach(&mut self, peer: Peer) {
        let Some(member) = self.members.get_mut(peer).filter(|member| member.counts()) else { return };
        let own = member.alone();
        member.forget_joining();
        let (base, end) = (own.base(), own.end());
        let mut alone = self.alone(own, self.stream.continued(base));
        alone.release();
        // It may have asked for more of a later block than the others have.
        (base..end).for_each(|block| alone.advance(block, false));
        self.leave(peer, alone);
    }

    /// A receiver leaves the group and is sent blocks from `base` on, of which nothing was sent to it alone.
    pub(super) fn fork(&mut self, peer: Peer, base: u32) {
        let Some(member) = self.members.get(peer) else { return };
        let alone = self.alone(member.alone_from(base), Stream::from(base, self.stream.numbering));
        self.leave(peer, alone);
        self.events.push(Event::PeerDetached(peer));
    }

    /// A sender for one receiver.
    fn alone(&self, member: Member, stream: Stream) -> Self {
        Self {
            state: self.state,
            members: Members::new(member, 1, None),
            limits: self.limits.for_one(),
            stream,
            packets: self.packets.for_one(),
            watch: None,
            apart: None,
            departure: self.departure,
            sent_at: self.sent_at,
            events: Outbox::default(),
            stats: Stats::default(),
            config: Arc::clone(&self.config),
        }
    }

    /// A receiver leaves the group; `alone` sends to it from now on.
    fn leave(&mut self, peer: Peer, alone: Self) {
        self.members.leave(peer);
        self.apart().detach(peer, alone);
        self.release();
    }

    /// What the first receiver asks for without need.
    pub(super) fn surplus(&self) -> Surplus {
        self.members.get(0).map(|only| only.surplus).unwrap_or_default()
    }
}
