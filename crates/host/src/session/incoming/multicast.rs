//! Whether packets to a session's group reach this host.

use anabranch_transport::{Duration, Time};

use crate::session::repeat::Repeat;

/// How long a receiver of a group waits for its first symbol before it asks for copies of its own: some round trips of a data centre, and less than a
/// person notices.
const FIRST_SYMBOL_WITHIN: Duration = Duration::from_ms(10);

/// Up to this many symbols sent to one receiver alone may be probes. More mean that it is sent copies.
const PROBES: u32 = 16;

/// Whether symbols arrive by a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    None,
    Member,
    /// This receiver was detached from its group, whose packets are now for others.
    Detached,
}

/// A session's group, if it has one.
#[derive(Debug)]
pub(super) struct Multicast {
    membership: Membership,
    /// The answer to the offer has been sent, which starts the time within which something must arrive by the group.
    answered: bool,
    /// Symbols that were sent to this receiver alone.
    copies: u32,
    /// Symbols arrive, by the group or as copies.
    reached: bool,
    /// When to report that nothing arrives by the group; stopped once something has arrived.
    silence: Repeat,
}

impl Multicast {
    pub(super) fn new(grouped: bool) -> Self {
        let membership = if grouped { Membership::Member } else { Membership::None };
        Self { membership, answered: false, copies: 0, reached: false, silence: Repeat::default() }
    }

    /// Whether symbols arrive by a group.
    pub(super) fn is_grouped(&self) -> bool {
        self.membership == Membership::Member
    }

    /// Whether this receiver was detached from its group, whose packets are now for others.
    pub(super) fn is_detached(&self) -> bool {
        self.membership == Membership::Detached
    }

    /// The sender is told that the object is accepted, perhaps for the first time.
    pub(super) fn on_accepted(&mut self, now: Time) {
        // The time starts now, not when the application accepted, which may have been long after the offer arrived. By now symbols may have arrived,
        // and more may wait for other receivers.
        if self.is_grouped() && !std::mem::replace(&mut self.answered, true) && !self.reached {
            self.silence.start(now + FIRST_SYMBOL_WITHIN);
        }
    }

    /// A symbol has arrived.
    pub(super) fn on_symbol(&mut self, by_group: bool) {
        // Single symbols are sent to this receiver alone as probes.
        self.copies += u32::from(!by_group);
        if by_group || self.copies > PROBES {
            self.reached = true;
            self.silence.stop();
        }
    }

    /// The group's packets are no longer for this session. Returns whether they were before.
    pub(super) fn on_detached(&mut self) -> bool {
        self.silence.stop();
        std::mem::replace(&mut self.membership, Membership::Detached) == Membership::Member
    }

    /// The group does not matter any more.
    pub(super) fn stop(&mut self) {
        self.silence.stop();
    }

    /// Whether to tell the sender now that nothing arrives by the group.
    pub(super) fn take_silence(&mut self, now: Time) -> bool {
        self.silence.take(now)
    }

    /// When to tell the sender so.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.silence.due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn silence_of_the_group_is_told_from_the_first_answer_on() {
        let mut multicast = Multicast::new(true);
        assert_eq!(multicast.poll_timeout(), None);
        multicast.on_accepted(at(5));
        multicast.on_accepted(at(9));
        assert_eq!(multicast.poll_timeout(), Some(at(15)));
        for _ in 0..PROBES {
            multicast.on_symbol(false);
        }
        assert!(!multicast.take_silence(at(14)) && multicast.take_silence(at(15)));
        multicast.on_symbol(false);
        assert_eq!(multicast.poll_timeout(), None, "it is sent copies");
    }

    #[test]
    fn one_symbol_by_the_group_is_enough() {
        let mut multicast = Multicast::new(true);
        multicast.on_accepted(at(0));
        multicast.on_symbol(true);
        assert!(!multicast.take_silence(at(100)));
        assert!(multicast.on_detached() && !multicast.on_detached());
        assert!(multicast.is_detached() && !multicast.is_grouped());
    }

    #[test]
    fn what_came_before_the_answer_left_counts() {
        let mut multicast = Multicast::new(true);
        multicast.on_symbol(true);
        multicast.on_accepted(at(5));
        assert_eq!(multicast.poll_timeout(), None);
    }

    #[test]
    fn without_a_group_nothing_is_missed() {
        let mut multicast = Multicast::new(false);
        multicast.on_accepted(at(0));
        assert_eq!(multicast.poll_timeout(), None);
        assert!(!multicast.on_detached());
    }
}
