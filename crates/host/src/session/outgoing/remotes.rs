//! All receivers of a session that sends: where common symbols are sent, and the outcome of each receiver.

use std::net::SocketAddr;

use anabranch_transport::{Duration, GROUP, Peer, Time};

use super::remote::{Phase, Remote};
use crate::session::{Failure, Outcome};
use crate::wire::Control;

/// Receivers.
#[derive(Debug)]
pub(super) struct Remotes {
    all: Vec<Remote>,
    /// Something about a receiver has changed: a message may be due, and the targets may differ. Avoids a search for each symbol.
    changed: bool,
    /// Where symbols for all receivers are sent.
    targets: Vec<SocketAddr>,
    group: Option<SocketAddr>,
    /// No receiver needs anything more.
    over: bool,
    /// Outcomes of receivers that the application has not taken yet.
    outcomes: Vec<(usize, Outcome)>,
}

impl Remotes {
    /// Receivers, and the group address for common symbols, if there is one.
    pub(super) fn new(remotes: Vec<Remote>, group: Option<SocketAddr>) -> Self {
        Self { all: remotes, changed: true, targets: Vec::new(), group, over: false, outcomes: Vec::new() }
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
        for remote in self.all.iter().filter(|remote| remote.needs_common_symbols()) {
            if self.group.is_some() && !remote.is_by_unicast() {
                listening = true;
            } else {
                self.targets.push(remote.peer());
            }
        }
        self.targets.extend(self.group.filter(|_| listening));
        self.over = self.are_over();
        self.changed = false;
    }

    /// Appends the destinations of a symbol to `to`: of all receivers that need it, or of one.
    pub(super) fn address(&mut self, peer: Peer, to: &mut Vec<SocketAddr>) {
        if peer == GROUP {
            return to.extend_from_slice(&self.targets);
        }
        let index = usize::from(peer);
        if self.group.is_some() && self.all[index].on_group_probe() {
            // One symbol suffices for all receivers that wait for one.
            self.all.iter_mut().for_each(|remote| _ = remote.on_group_probe());
            to.extend(self.group);
        }
        to.push(self.all[index].peer());
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

    /// Whether no receiver has got everything in this session, and is about to confirm it or has.
    pub(super) fn none_is_complete(&self) -> bool {
        let has_got = |remote: &Remote| remote.phase() == Phase::Complete;
        let verified = self.outcomes.iter().any(|(_, outcome)| *outcome == Outcome::Verified);
        !self.all.iter().any(has_got) && !verified
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

    /// A receiver is given up, and told so if it has ever answered.
    pub(super) fn give_up(&mut self, index: usize, failure: Failure) {
        let remote = &mut self.all[index];
        if !remote.is_over() && remote.phase() != Phase::Opening {
            remote.tell(Control::GivenUp);
        }
        self.set_outcome(index, Outcome::Failed(failure));
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

    fn peer(n: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, n], 7000))
    }

    fn offered(count: u8, group: Option<SocketAddr>) -> Remotes {
        Remotes::new((0..count).map(|n| Remote::offered(Time::ZERO, peer(n), false)).collect(), group)
    }

    /// Where a symbol goes.
    fn address(remotes: &mut Remotes, to: Peer) -> Vec<SocketAddr> {
        let mut found = Vec::new();
        remotes.address(to, &mut found);
        found
    }

    #[test]
    fn symbols_go_to_the_group_once_and_to_those_it_does_not_reach() {
        let mut remotes = offered(4, None);
        assert!(remotes.have_changed());
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(0), peer(1), peer(2), peer(3)]);
        let mut remotes = offered(4, Some(peer(100)));
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(100)]);
        assert_eq!(address(&mut remotes, 3), [peer(3)]);
        assert!(!remotes.have_changed());
        remotes.change(1).on_no_multicast();
        address(&mut remotes, 1);
        remotes.change(1).on_no_multicast();
        remotes.change(2).detach();
        assert!(remotes.have_changed());
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(1), peer(100)]);
        remotes.change(0).on_complete(Time::ZERO);
        remotes.set_outcome(3, Outcome::Verified);
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(1)], "nobody listens to the group any more");
        assert_eq!(remotes.complete(), 2);
    }

    #[test]
    fn that_nothing_came_by_the_group_is_believed_when_it_is_said_again() {
        let mut remotes = offered(3, Some(peer(100)));
        (0..2).for_each(|index| remotes.change(index).on_no_multicast());
        remotes.change(1).on_no_multicast();
        remotes.set_targets();
        assert_eq!(address(&mut remotes, 1), [peer(100), peer(1)], "a symbol by the group, and in any case");
        assert_eq!(address(&mut remotes, 0), [peer(0)], "who has got that one");
        remotes.change(1).on_no_multicast();
        remotes.change(2).on_no_multicast();
        remotes.set_targets();
        assert_eq!(address(&mut remotes, GROUP), [peer(1), peer(100)]);
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
