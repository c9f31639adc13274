//! Whether packets to a session's group reach this host.

use anabranch_transport::{Duration, Time};

use crate::session::repeat::Repeat;

/// How long a receiver of a group waits for its first symbol before it asks for copies of its own: some round trips of a data centre, and less than a
/// person notices.
const FIRST_SYMBOL_WITHIN: Duration = Duration::from_ms(10);

/// After its first symbol, a receiver of a group reports that nothing arrives if nothing does for twice the longest time between two symbols, and at
/// least for this long. While the group waits for one of its receivers, that costs a message now and then and a symbol in answer.
const SHORTEST_SILENCE: Duration = Duration::from_ms(50);
const LONGEST_SILENCE: Duration = Duration::from_ms(1000);
/// With each symbol, the longest time is forgotten by this part.
const FORGETS: u64 = 64;

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
    /// Symbols that were sent to this receiver alone since one last arrived by the group.
    copies: u32,
    /// When a symbol last arrived by the group, and the longest time between two, which is forgotten slowly.
    last: Option<Time>,
    longest: Duration,
    /// When to report that nothing arrives by the group; stopped while copies arrive.
    silence: Repeat,
    /// The report has been sent since a symbol last arrived by the group.
    reported: bool,
}

impl Multicast {
    pub(super) fn new(grouped: bool) -> Self {
        Self {
            membership: if grouped { Membership::Member } else { Membership::None },
            answered: false,
            copies: 0,
            last: None,
            longest: Duration::ZERO,
            silence: Repeat::default(),
            reported: false,
        }
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
        if self.is_grouped() && !std::mem::replace(&mut self.answered, true) && self.last.is_none() {
            self.silence.start(now + FIRST_SYMBOL_WITHIN);
        }
    }

    /// A symbol has arrived. Returns whether the sender is to be told that the group reaches this receiver again.
    pub(super) fn on_symbol(&mut self, now: Time, by_group: bool) -> bool {
        if !self.is_grouped() {
            return false;
        }
        if !by_group {
            // Single symbols are sent to this receiver alone as probes.
            self.copies += 1;
            if self.copies > PROBES {
                self.silence.stop();
            }
            return false;
        }
        if let Some(last) = self.last.replace(now) {
            let forgotten = Duration::from_ps(self.longest.ps() - self.longest.ps() / FORGETS);
            self.longest = forgotten.max(now.since(last)).min(LONGEST_SILENCE);
        }
        // The word may be lost: while copies come, it is told again.
        let gets_copies = std::mem::take(&mut self.copies) > PROBES;
        self.silence.start(now + (self.longest * 2).max(SHORTEST_SILENCE).min(LONGEST_SILENCE));
        std::mem::take(&mut self.reported) || gets_copies
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
        let silent = self.silence.take(now);
        self.reported |= silent;
        silent
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
            assert!(!multicast.on_symbol(at(14), false));
        }
        assert!(!multicast.take_silence(at(14)) && multicast.take_silence(at(15)));
        multicast.on_symbol(at(16), false);
        assert_eq!(multicast.poll_timeout(), None, "it is sent copies");
        assert!(multicast.on_symbol(at(500), true), "it reaches it after all");
        (0..=PROBES).for_each(|_| assert!(!multicast.on_symbol(at(600), false)));
        assert!(
            multicast.on_symbol(at(700), true) && !multicast.on_symbol(at(701), true),
            "copies still come: the word was lost"
        );
    }

    #[test]
    fn silence_is_told_at_any_time() {
        let mut multicast = Multicast::new(true);
        multicast.on_accepted(at(0));
        (0..100).for_each(|ms| assert!(!multicast.on_symbol(at(ms), true)));
        assert!(!multicast.take_silence(at(148)) && multicast.take_silence(at(149)));
        assert!(multicast.take_silence(at(169)), "and told again");
        assert!(multicast.on_symbol(at(199), true), "it was only a pause");
        assert_eq!(multicast.poll_timeout(), Some(at(399)), "twice as long as the longest so far");
        assert!(multicast.on_detached() && !multicast.on_detached());
        assert!(multicast.is_detached() && !multicast.is_grouped());
        assert!(!multicast.take_silence(at(1000)));
    }

    #[test]
    fn what_came_before_the_answer_left_counts() {
        let mut multicast = Multicast::new(true);
        multicast.on_symbol(at(3), true);
        multicast.on_accepted(at(5));
        assert_eq!(multicast.poll_timeout(), Some(at(53)));
    }

    #[test]
    fn without_a_group_nothing_is_missed() {
        let mut multicast = Multicast::new(false);
        multicast.on_accepted(at(0));
        assert!(!multicast.on_symbol(at(1), true));
        assert_eq!(multicast.poll_timeout(), None);
        assert!(!multicast.on_detached());
    }
}
