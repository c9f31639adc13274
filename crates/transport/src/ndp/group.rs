//! The end that has an object for several receivers: each pulls, and every packet goes to all of them.
//!
//! Not in NDP's paper. SCDP's says that it would be "far from trivial" (§III): lost packets must be sent again, although they are of no use to those that have
//! them, and a sender must keep the pulls of all while it waits for the slowest. Here is what that costs. Each
//! receiver is an ordinary one, and the sender keeps an account of each as it keeps of its only one. A packet leaves for all when all that lack
//! something have pulled, so the group goes at the pace of the slowest.

use super::config::Multicast;
use super::header::{ANY_PULL, Header};
use super::timer::shortest_patience;
use super::{NdpConfig, Sender};
use crate::outbox::Outbox;
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, FailureReason, GROUP, Peer, Stats, Transmit};

/// The sending end of a connection to several receivers. Reports `PeerCompleted` for each that has everything and `PeerDropped` for each that does not
/// answer, then `Closed`; `Failed` if none has everything.
#[derive(Clone, Debug)]
pub struct GroupSender {
    /// The account of each receiver. What was sent to all counts in `stats`, what was sent to one in its own.
    members: Vec<Sender>,
    /// When the first timeout of each came since it was last heard.
    silent_since: Vec<Option<Time>>,
    /// After how long it is given up. While the group waits for it, the others get nothing and lose patience with the sender themselves: half of the
    /// shortest time that this takes them.
    patience: Duration,
    multicast: Multicast,
    events: Outbox<Event, 1>,
    open: usize,
    completed: bool,
    stats: Stats,
}

impl GroupSender {
    /// Sends an object of `object_bytes` to so many receivers; `None` for a stream without end. `config` must be valid.
    pub fn new(config: &NdpConfig, object_bytes: Option<u64>, receivers: u16) -> Self {
        // A returned header does not say which copy it was.
        let own = NdpConfig { return_to_sender: false, ..config.clone() };
        Self {
            members: (0..receivers).map(|_| Sender::of_group(&own, object_bytes)).collect(),
            silent_since: vec![None; usize::from(receivers)],
            patience: shortest_patience(config.pull_timeout, config.retries) / 2,
            multicast: config.multicast.unwrap_or_default(),
            events: Outbox::default(),
            open: usize::from(receivers),
            completed: false,
            stats: Stats::default(),
        }
    }

    fn open_members(&mut self) -> impl Iterator<Item = &mut Sender> {
        self.members.iter_mut().filter(|member| !member.is_done())
    }

    /// Whether a member that has timed out has been silent for too long.
    fn is_gone(&mut self, now: Time, peer: usize) -> bool {
        now.since(*self.silent_since[peer].get_or_insert(now)) >= self.patience
    }

    /// Reports what has become of a member.
    fn settle(&mut self, peer: usize) {
        let Some(event) = self.members[peer].poll_event() else { return };
        self.open -= 1;
        let completed = event == Event::Closed;
        self.completed |= completed;
        let peer = peer as Peer;
        self.events.push(if completed { Event::PeerCompleted(peer) } else { Event::PeerDropped(peer) });
        if self.open == 0 {
            let failed = Event::Failed(FailureReason::TimedOut);
            self.events.push(if self.completed { Event::Closed } else { failed });
        }
    }

    /// A packet for one receiver: what it has lost, where that is not sent to all, and what timed out, for which nobody pulls; all, if it is the last.
    fn send_to_one(&mut self, now: Time) -> Option<Transmit<Header>> {
        let (last, own) = (self.open == 1, self.multicast == Multicast::RepeatToOne);
        let mut members = (0..).zip(&mut self.members).filter(|(_, member)| !member.is_done());
        members.find_map(|(peer, member)| {
            let packet = match () {
                () if last => member.poll_transmit(now),
                () if own || member.may_send_unasked() => member.repair(now),
                () => None,
            };
            packet.map(|packet| Transmit { to: peer, ..packet })
        })
    }

    /// The next packet for all.
    fn send_to_all(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.open < 2 || !self.open_members().all(|member| member.may_send()) {
            return None;
        }
        let repeat = self.multicast == Multicast::RepeatToAll;
        let lost = if repeat { self.open_members().filter_map(Sender::first_lost).min() } else { None };
        let new = self.open_members().map(|member| member.next_new()).min().flatten();
        let Some(seq) = lost.or(new) else {
            self.open_members().for_each(Sender::give_up_unasked);
            return None;
        };
        let mut asked = false;
        self.open_members().for_each(|member| asked |= member.send_with_all(now, seq));
        self.stats.data_sent += 1;
        self.stats.retransmitted += u64::from(lost.is_some());
        // As long as one of them may not have heard of the connection, packets say that they open it.
        let pull = if asked { ANY_PULL } else { 0 };
        let opener = self.open_members().min_by_key(|member| member.is_heard())?;
        Some(Transmit { to: GROUP, ..opener.packet_for_all(now, seq, pull) })
    }
}

impl Endpoint for GroupSender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let peer = usize::from(arrival.from);
        if let Some(member) = self.members.get_mut(peer) {
            self.silent_since[peer] = None;
            member.handle_packet(now, arrival);
            self.settle(peer);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        for peer in 0..self.members.len() {
            let before = self.members[peer].stats().timeouts;
            self.members[peer].handle_timeout(now);
            if self.members[peer].stats().timeouts > before && self.is_gone(now, peer) {
                self.members[peer].give_up();
            }
            self.settle(peer);
        }
    }

    fn set_departure(&mut self, at: Time) {
        self.open_members().for_each(|member| member.set_departure(at));
    }

    fn uses_departure(&self) -> bool {
        self.members.iter().any(|member| !member.is_done() && member.uses_departure())
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        self.send_to_one(now).or_else(|| self.send_to_all(now))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.members.iter().filter_map(Endpoint::poll_timeout).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    fn stats(&self) -> Stats {
        self.members.iter().fold(self.stats, |mut sum, member| {
            sum += member.stats();
            sum
        })
    }

    fn waiting_for(&self) -> String {
        let open = self.members.iter().enumerate().find(|(_, member)| !member.is_done());
        open.map_or_else(
            || "nothing: the connection is over".into(),
            |(peer, member)| {
                format!("{} of {} receivers; {peer}: {}", self.open, self.members.len(), member.waiting_for())
            },
        )
    }
}
