//! All receivers of a session that sends: where common symbols are sent, and the outcome of each receiver.

use std::net::SocketAddr;

use anabranch_transport::{Duration, GROUP, Peer, Time};

use super::remote::{Phase, Remote};
use crate::session::Delivery;
use crate::session::{Failure, Outcome};
use crate::wire::Control;

/// Receivers.
#[derive(Debug)]
pub(super) struct Remotes {
    all: Vec<Remote>,
    /// Something about a receiver has changed: a message may be due, and the targets may differ. Avoids a search for each symbol.
    changed: bool,
    /// Where symbols for all receivers are sent: the group, and receivers that are sent copies.
    targets: Vec<(Option<usize>, SocketAddr)>,
    group: Option<SocketAddr>,
    /// When a symbol goes to the group as well, to find out whether it reaches those again that are sent copies, and how long after the last one.
    retry: Option<(Time, Duration)>,
    /// No receiver needs anything more.
    over: bool,
    /// Outcomes of receivers that the application has not taken yet.
    outcomes: Vec<(usize, Outcome)>,
    /// How symbols reach receivers from now on, where that has changed.
    deliveries: Vec<(usize, Delivery)>,
}

/// The first pause before the group is tried again, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_ms(500), Duration::from_secs(16));

impl Remotes {
    /// Receivers, and the group address for common symbols, if there is one.
    pub(super) fn new(remotes: Vec<Remote>, group: Option<SocketAddr>) -> Self {
        Self {
            all: remotes,
            changed: true,
            targets: Vec::new(),
            group,
            retry: None,
            over: false,
            outcomes: Vec::new(),
            deliveries: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Remote> + '_ {
        self.all.iter()
    }

    pub(super) fn get(&self, index: usize) -> &Remote {
        &self.all[index]
    }

    /// A receiver, for changes that affect neither symbols nor messages.
    pub(super) fn get_mut(&mut self, index: usize) -> &mut Remote {
        &mut self.all[index]
    }

    /// A receiver, for changes that may affect symbols or messages.
    pub(super) fn change(&mut self, index: usize) -> &mut Remote {
        self.changed = true;
        &mut self.all[index]
    }

    /// Something may have changed.
    pub(super) fn mark_changed(&mut self) {
        self.changed = true;
    }

    /// Whether messages may be due, and symbols may go elsewhere.
    pub(super) fn have_changed(&self) -> bool {
        self.changed
    }

    /// No message is due any more. Finds the targets for symbols that all remaining receivers need: the group once, and each receiver that it does
    /// not reach.
    pub(super) fn set_targets(&mut self) {
        self.targets.clear();
        let mut listening = false;
        for (index, remote) in self.all.iter().enumerate().filter(|(_, remote)| remote.needs_common_symbols()) {
            if self.group.is_some() && !remote.is_by_unicast() {
                listening = true;
            } else {
                self.targets.push((Some(index), remote.peer()));
            }
        }
        if let Some(group) = self.group.filter(|_| listening) {
            // First, so that receivers of both notice that it reaches them: of two copies the later one is not accepted.
            self.targets.insert(0, (None, group));
        }
        self.over = self.are_over();
        self.changed = false;
    }

    /// Appends the destinations of a symbol to `to`: of all receivers, with copies only for those that need it, or of one.
    pub(super) fn address(&mut self, now: Time, peer: Peer, needs: impl Fn(usize) -> bool, to: &mut Vec<SocketAddr>) {
        if peer == GROUP {
            let group = self.group.filter(|_| self.targets.first().is_some_and(|(index, _)| index.is_some()));
            if let Some((_, pause)) = self.retry.filter(|(at, _)| group.is_some() && *at <= now) {
                self.retry = Some((now + pause, (pause * 2).min(RETRY.1)));
                to.extend(group);
            }
            let targets = self.targets.iter().filter(|(index, _)| index.is_none_or(&needs));
            return to.extend(targets.map(|(_, address)| *address));
        }
        let index = usize::from(peer);
        if self.group.is_some() && self.all[index].on_group_probe(now) {
            // One symbol suffices for all receivers that wait for one.
            self.all.iter_mut().for_each(|remote| _ = remote.on_group_probe(now));
            to.extend(self.group);
        }
        to.push(self.all[index].peer());
    }

    /// A receiver reports that nothing arrives by the group.
    pub(super) fn on_no_multicast(&mut self, now: Time, index: usize) {
        if self.change(index).on_no_multicast(now) {
            self.deliveries.push((index, Delivery::Copies));
            // The group is tried again ever more rarely, however often it comes and goes; and once for all that it does not reach.
            if self.retry.is_none_or(|(at, _)| at <= now) {
                let pause = self.retry.map_or(RETRY.0, |(_, pause)| pause);
                self.retry = Some((now + pause, (pause * 2).min(RETRY.1)));
            }
        }
    }

    /// A receiver reports that packets to the group reach it again.
    pub(super) fn on_multicast(&mut self, index: usize) {
        if self.all[index].on_multicast() {
            self.changed = true;
            self.deliveries.push((index, Delivery::Group));
        }
    }

    /// The others go on without a receiver that has not come.
    pub(super) fn set_absent(&mut self, index: usize) {
        self.change(index).set_absent();
    }

    /// A receiver came late, lacks so many bytes that the others have, and is asked to join them at a block.
    pub(super) fn ask_to_join(&mut self, now: Time, index: usize, first: u32, missed: u64) {
        if self.all[index].ask_to_join(now, first) {
            self.changed = true;
            self.deliveries.push((index, Delivery::Late { missed }));
        }
    }

    /// A receiver that came late does not join the others: it is sent symbols of its own.
    pub(super) fn cannot_join(&mut self, index: usize) {
        self.change(index).has_joined();
        self.deliveries.push((index, Delivery::Alone));
    }

    /// A receiver that the others did not wait for is with them.
    pub(super) fn has_joined(&mut self, index: usize) {
        self.change(index).has_joined();
    }

    /// A receiver holds the others back: it is sent symbols of its own.
    pub(super) fn detach(&mut self, index: usize, is_told: bool) {
        self.change(index).detach();
        if is_told {
            self.deliveries.push((index, Delivery::Alone));
        }
    }

    /// Changes of how symbols reach receivers since the last call.
    pub(super) fn take_deliveries(&mut self) -> Vec<(usize, Delivery)> {
        std::mem::take(&mut self.deliveries)
    }

    /// Whether no receiver needed anything more when the targets were last set.
    pub(super) fn were_over(&self) -> bool {
        self.over
    }

    /// Whether no receiver needs anything more.
    pub(super) fn are_over(&self) -> bool {
        self.all.iter().all(Remote::is_over)
    }

    /// Whether, in addition, all messages that are due have been sent.
    pub(super) fn are_done_with(&self) -> bool {
        self.all.iter().all(Remote::is_done_with)
    }

    /// How many receivers need no more symbols.
    pub(super) fn complete(&self) -> usize {
        self.all.iter().filter(|remote| remote.has_all()).count()
    }

    /// The outcome of a receiver is known.
    pub(super) fn set_outcome(&mut self, index: usize, outcome: Outcome) {
        let remote = &mut self.all[index];
        if !remote.is_over() {
            remote.end();
            self.changed = true;
            self.outcomes.push((index, outcome));
        }
    }

    /// The transport has lost a receiver: it will not get the object, unless it said that it needs nothing and is deciding.
    pub(super) fn lose(&mut self, index: usize, failure: Failure) {
        if self.all[index].phase() != Phase::Waiting {
            self.set_outcome(index, Outcome::Failed(failure));
        }
    }

    /// As [`lose`](Self::lose); a receiver that has ever answered is told that it is given up.
    pub(super) fn give_up(&mut self, index: usize, failure: Failure) {
        let remote = &mut self.all[index];
        if !remote.is_over() && !matches!(remote.phase(), Phase::Opening | Phase::Waiting) {
            remote.tell(Control::GivenUp);
        }
        self.lose(index, failure);
    }

    /// Sets this outcome for all receivers that have none yet.
    pub(super) fn fail(&mut self, failure: &Failure) {
        for index in 0..self.all.len() {
            self.set_outcome(index, Outcome::Failed(failure.clone()));
        }
    }

    /// The session ends. Notifies the receivers that still need something.
    pub(super) fn cancel(&mut self, failure: &Failure) {
        self.changed = true;
        for remote in self.all.iter_mut().filter(|remote| !remote.is_over()) {
            remote.tell(Control::Cancel);
        }
        self.fail(failure);
    }

    /// Outcomes of receivers since the last call.
    pub(super) fn take_outcomes(&mut self) -> Vec<(usize, Outcome)> {
        std::mem::take(&mut self.outcomes)
    }

    /// When a message is to be sent again, or a receiver is given up.
    pub(super) fn poll_timeout(&self, limit: Duration) -> Option<Time> {
        self.all.iter().filter_map(|remote| remote.poll_timeout(limit)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::scdp::Excuse;

    fn peer(n: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, n], 7000))
    }

    fn offered(count: u8, group: Option<SocketAddr>) -> Remotes {
        Remotes::new((0..count).map(|n| Remote::offered(Time::ZERO, peer(n), false)).collect(), group)
    }

    /// Where a symbol goes.
    fn address(remotes: &mut Remotes, to: Peer) -> Vec<SocketAddr> {
        let mut found = Vec::new();
        remotes.address(ms(1), to, |_| true, &mut found);
        found
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn symbols_go_to_the_group_once_and_to_those_it_does_not_reach() {
        let mut remotes = offered(4, None);
        assert!(remotes.have_changed());
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(0), peer(1), peer(2), peer(3)]);
        let mut to = Vec::new();
        remotes.address(ms(1), GROUP, |index| index == 2, &mut to);
        assert_eq!(to, [peer(2)], "the only one that needs it");
        let mut remotes = offered(4, Some(peer(100)));
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(100)]);
        assert_eq!(address(&mut remotes, 3), [peer(3)]);
        assert!(!remotes.have_changed());
        remotes.on_no_multicast(ms(0), 1);
        address(&mut remotes, 1);
        remotes.on_no_multicast(ms(30), 1);
        remotes.detach(2, true);
        assert!(remotes.have_changed());
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(100), peer(1)]);
        assert_eq!(remotes.take_deliveries(), [(1, Delivery::Copies), (2, Delivery::Alone)]);
        remotes.change(0).on_complete(Time::ZERO);
        remotes.set_outcome(3, Outcome::Verified);
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(1)], "nobody listens to the group any more");
        assert_eq!(remotes.complete(), 2);
    }

    #[test]
    fn that_nothing_comes_by_the_group_is_believed_when_it_is_said_again() {
        let mut remotes = offered(3, Some(peer(100)));
        (0..2).for_each(|index| remotes.on_no_multicast(ms(0), index));
        remotes.on_no_multicast(ms(0), 1);
        remotes.set_targets();
        assert_eq!(address(&mut remotes, 1), [peer(100), peer(1)], "a symbol by the group, and in any case");
        assert_eq!(address(&mut remotes, 0), [peer(0)], "who has got that one");
        remotes.on_no_multicast(ms(5), 0);
        remotes.on_no_multicast(ms(25), 1);
        remotes.on_no_multicast(ms(25), 2);
        remotes.set_targets();
        assert_eq!(
            address(&mut remotes, GROUP),
            [peer(100), peer(1)],
            "the first was said before the symbol was there"
        );
        let excuses = |index: usize, later| [25, later].map(|at| remotes.get(index).excuse(ms(at)));
        assert_eq!(excuses(0, 5000), [Excuse::Unreached, Excuse::None]);
        assert_eq!(excuses(1, 1025), [Excuse::CatchesUp, Excuse::None]);
    }

    #[test]
    fn a_silence_that_passed_is_not_held_against_the_group() {
        for (again, is_back, expected) in [(30, false, peer(1)), (30, true, peer(100)), (5000, false, peer(100))] {
            let mut remotes = offered(2, Some(peer(100)));
            remotes.on_no_multicast(ms(0), 1);
            address(&mut remotes, 1);
            if is_back {
                remotes.on_multicast(1);
            }
            remotes.on_no_multicast(ms(again), 1);
            remotes.set_outcome(0, Outcome::Verified);
            remotes.set_targets();
            assert_eq!(address(&mut remotes, GROUP), [expected], "{again} ms, {is_back}");
        }
    }

    #[test]
    fn a_group_that_died_is_tried_again_ever_more_rarely_and_used_again() {
        let mut remotes = offered(2, Some(peer(100)));
        (0..2).for_each(|index| remotes.on_no_multicast(ms(0), index));
        (0..2).for_each(|index| _ = address(&mut remotes, index));
        (0..2).for_each(|index| remotes.on_no_multicast(ms(30), index));
        remotes.set_targets();
        let mut tried = Vec::new();
        for t in (0..10_000).step_by(10) {
            let mut to = Vec::new();
            remotes.address(ms(t), GROUP, |_| true, &mut to);
            assert!(to.ends_with(&[peer(0), peer(1)]));
            if to.len() > 2 {
                tried.push((t, to[0]));
            }
        }
        assert_eq!(tried, [(530, peer(100)), (1530, peer(100)), (3530, peer(100)), (7530, peer(100))]);
        remotes.on_multicast(0);
        remotes.on_multicast(0);
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(100), peer(1)]);
        assert_eq!(remotes.take_deliveries()[2..], [(0, Delivery::Group)]);
    }

    #[test]
    fn the_fate_of_each_is_told_once() {
        let mut remotes = offered(2, None);
        remotes.set_outcome(1, Outcome::Verified);
        remotes.cancel(&Failure::Stopped);
        assert_eq!(remotes.take_outcomes(), [(1, Outcome::Verified), (0, Outcome::Failed(Failure::Stopped))]);
        assert!(remotes.are_over() && !remotes.are_done_with() && remotes.take_outcomes().is_empty());
        assert_eq!((remotes.get_mut(1).take_due(), remotes.get_mut(0).take_due()), (None, Some(Control::Cancel)));
        assert!(remotes.are_done_with() && !remotes.were_over());
        remotes.set_targets();
        assert!(remotes.were_over() && address(&mut remotes, GROUP).is_empty());
    }
}
