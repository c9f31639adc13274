//! When a pull to one sender is repeated, and for how long the sender has been silent.

use super::arrived::{Arrived, Seen};
use super::timer::RetransmissionTimer;
use crate::retries::Retries;
use crate::{Duration, Time};

/// Timeouts in a row that one of several senders may have before it is left out. Few, as the others can do its share.
const LEFT_OUT_AFTER: u32 = 1;

/// Repeated pulls, and what calls for them.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::scdp::receiver) struct Retransmission {
    /// What the timeout counts from: something has arrived that shows that nothing was lost.
    last_arrival: Time,
    /// Since when nothing at all has arrived.
    silent_since: Time,
    /// Timeouts in a row.
    retries: Retries,
    timer: RetransmissionTimer,
    /// A pull is to be repeated.
    due: bool,
    /// A pull was repeated and not yet answered.
    unanswered: bool,
}

impl Retransmission {
    /// Something is asked for, while nothing was in flight.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) {
        (self.last_arrival, self.silent_since) = (now, now);
    }

    /// Since when nothing that was asked for has arrived.
    pub(super) fn silent_since(&self) -> Time {
        self.silent_since
    }

    /// How long an answer may take; `minimum` at least.
    #[inline]
    pub(super) fn answer_timeout(&self, minimum: Duration) -> Duration {
        self.timer.timeout(minimum)
    }

    /// When a pull is repeated, if nothing arrives and something is in flight. `None` while one is about to be.
    #[inline]
    pub(super) fn timeout(&self, minimum: Duration) -> Option<Time> {
        (!self.due).then(|| self.last_arrival + self.timer.timeout(minimum))
    }

    /// Timeouts in a row.
    pub(in crate::scdp::receiver) fn timeouts(&self) -> u32 {
        self.retries.timeouts()
    }

    /// Whether it has been silent for too long for one of several senders.
    #[inline]
    pub(super) fn is_left_out(&self) -> bool {
        self.retries.timeouts() > LEFT_OUT_AFTER
    }

    /// A pull for the `index`-th symbol of a block leaves.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32) {
        self.timer.on_pull(now, block, index);
    }

    /// A symbol has arrived, whole or trimmed. `in_group`: symbols wait for other receivers, which is no round trip, and does not show
    /// that nothing was lost. No round trip takes longer than `longest`.
    #[inline]
    pub(super) fn on_symbol(&mut self, now: Time, symbol: &Arrived, in_group: bool, longest: Duration) {
        self.silent_since = now;
        if !in_group && !symbol.is_repeated {
            self.last_arrival = now;
        }
        self.timer.on_symbol(now, symbol.block, symbol.asked_as, longest);
        // A header shows that the sender is alive, but that must not raise the rate of pulls on a path that trims all symbols.
        self.retries.limit(if symbol.seen == Seen::Trimmed { LEFT_OUT_AFTER } else { 0 });
    }

    /// It was new: what others of a group wait for does not show that nothing was lost, but this does.
    #[inline]
    pub(in crate::scdp::receiver) fn on_new_symbol(&mut self, now: Time) {
        self.last_arrival = now;
    }

    /// No pull is timed across this.
    pub(in crate::scdp::receiver) fn forget_pull(&mut self) {
        self.timer.forget_pull();
    }

    /// Nothing has arrived for too long. Returns whether the sender is given up after `most` retries.
    pub(super) fn on_timeout(&mut self, now: Time, most: u32) -> bool {
        let given_up = self.retries.on_timeout(most);
        self.timer.on_timeout();
        (self.last_arrival, self.due) = (now, true);
        given_up
    }

    /// Its silence until now no longer counts.
    pub(super) fn reset(&mut self) {
        self.retries.on_answer();
    }

    /// Whether a pull is to be repeated now.
    #[inline]
    pub(in crate::scdp::receiver) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// It is.
    pub(in crate::scdp::receiver) fn on_repeated(&mut self) {
        self.unanswered = true;
    }

    /// None is.
    pub(super) fn cancel(&mut self) {
        self.due = false;
    }

    /// Whether a pull was repeated and not yet answered.
    #[inline]
    pub(in crate::scdp::receiver) fn is_unanswered(&self) -> bool {
        self.unanswered
    }

    /// The repeated pull was answered.
    pub(in crate::scdp::receiver) fn on_answer(&mut self) {
        self.unanswered = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUM: Duration = Duration::from_ms(2);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn arrived(index: u32, seen: Seen) -> Arrived {
        Arrived { block: 0, index, asked_as: index, seen, is_repeated: false, is_of_others: false }
    }

    #[test]
    fn the_timeout_counts_from_the_last_arrival_that_shows_that_nothing_was_lost() {
        let mut pulls = Retransmission::default();
        pulls.begin(at(0));
        assert_eq!(pulls.timeout(MINIMUM), Some(at(2)));
        pulls.on_symbol(at(1), &arrived(0, Seen::Whole), false, MINIMUM);
        assert_eq!(pulls.timeout(MINIMUM), Some(at(3)));
        let repeated = Arrived { is_repeated: true, ..arrived(0, Seen::Whole) };
        pulls.on_symbol(at(2), &repeated, false, MINIMUM);
        assert_eq!(pulls.timeout(MINIMUM), Some(at(3)), "the same once more says nothing");
        pulls.on_symbol(at(2), &arrived(1, Seen::Whole), true, MINIMUM);
        let known = (pulls.timeout(MINIMUM), pulls.silent_since());
        assert_eq!(known, (Some(at(3)), at(2)), "in a group nor does one for others");
        pulls.on_new_symbol(at(2));
        assert_eq!(pulls.timeout(MINIMUM), Some(at(4)));
    }

    #[test]
    fn a_pull_is_repeated_once_for_each_timeout_and_these_double() {
        let mut pulls = Retransmission::default();
        assert_eq!((pulls.on_timeout(at(4), 1), pulls.timeout(MINIMUM)), (false, None), "it is due now");
        assert!(pulls.take_due() && !pulls.take_due());
        assert_eq!(pulls.timeout(MINIMUM), Some(at(8)), "and doubled");
        assert!(pulls.on_timeout(at(8), 1), "one retry is not answered");
        pulls.cancel();
        assert!(!pulls.take_due() && !pulls.is_unanswered());
        pulls.on_repeated();
        assert!(pulls.is_unanswered());
        pulls.on_answer();
        assert!(!pulls.is_unanswered());
    }

    #[test]
    fn a_silent_sender_is_left_out_after_two_timeouts_and_headers_alone_keep_it_at_one() {
        let mut pulls = Retransmission::default();
        pulls.on_timeout(at(2), 9);
        assert!(!pulls.is_left_out());
        pulls.on_timeout(at(6), 9);
        assert!(pulls.is_left_out());
        pulls.on_symbol(at(7), &arrived(0, Seen::Trimmed), false, MINIMUM);
        assert_eq!((pulls.is_left_out(), pulls.timeouts(), pulls.on_timeout(at(20), 1)), (false, 1, true));
        pulls.on_symbol(at(21), &arrived(1, Seen::Whole), false, MINIMUM);
        assert!(!pulls.on_timeout(at(40), 1));
        pulls.reset();
        assert_eq!(pulls.timeouts(), 0);
    }
}
