//! One sender, as its receiver sees it: its window, what of that is in flight, and for how long it has been silent.

use super::pace::Pace;
use super::pull_pace::PullPace;
use super::timer::RetransmissionTimer;
use super::window::{Seen, Window};
use crate::retries::Retries;
use crate::scdp::config::PullPacing;
use crate::{Duration, Time};

/// Timeouts in a row that one of several senders may have before it is left out. Few, as the others can do its share.
const LEFT_OUT_AFTER: u32 = 1;

/// A symbol that has arrived, whole or trimmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) block: u32,
    /// How many symbols of the block its sender had emitted before.
    pub(super) index: u32,
    /// Where a pull for it would have been counted.
    pub(super) asked_as: u32,
    pub(super) seen: Seen,
    /// It shows that its sender is alive, and nothing else: the same has arrived before.
    pub(super) is_repeated: bool,
    /// It was sent to others of the group: it says nothing about what this receiver may ask for.
    pub(super) is_of_others: bool,
}

/// A control message owed to a sender, besides requests for symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The receiver is alive, and asks for nothing now.
    Keepalive,
    /// The receiver has the whole object.
    Done,
}

/// One sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    window: Window,
    /// Pulls that may be sent: the window less what is in flight. 0 while more is in flight than the window, which has shrunk.
    credits: u32,
    outstanding: u32,
    /// How fast it answers, where others may take over from it.
    pace: Option<Box<Pace>>,
    /// When pulls to it may leave, where this receiver paces them.
    pull_pace: Option<Box<PullPace>>,
    last_arrival: Time,
    /// Since when nothing that was asked for has arrived.
    silent_since: Time,
    /// Timeouts in a row.
    retries: Retries,
    timer: RetransmissionTimer,
    /// A pull was repeated and not yet answered.
    retried: bool,
    /// Symbols asked for in all, across blocks: it gives the order of requests.
    asked: u64,
    retry_due: bool,
    /// Control message owed to the sender.
    message_due: Option<Message>,
    /// Blocks that were requested from it alone and did not arrive in time.
    withheld: u32,
    /// None of its symbols are accepted.
    excluded: bool,
}

impl Lane {
    pub(super) fn new(pacing: PullPacing) -> Self {
        Self { pull_pace: (pacing == PullPacing::Arrivals).then(Box::default), ..Self::default() }
    }

    /// A symbol has arrived, whatever becomes of it.
    #[inline]
    pub(super) fn pace_pulls(&mut self, now: Time, trimmed: bool) {
        if let Some(pace) = &mut self.pull_pace {
            pace.on_symbol(now, trimmed);
        }
    }

    /// Finds out whether a pull may leave now.
    pub(super) fn ask_pace(&mut self, now: Time) {
        if let Some(pace) = &mut self.pull_pace {
            pace.ask(now);
        }
    }

    /// Time has passed: a pull that is due by now does not wait.
    pub(super) fn on_time(&mut self, now: Time) {
        if let Some(pace) = &mut self.pull_pace {
            pace.on_time(now);
        }
    }

    /// When the next pull may leave, if it waits for its pace.
    #[inline]
    pub(super) fn paced_until(&self) -> Option<Time> {
        self.pull_pace.as_ref().and_then(|pace| pace.waits_until())
    }

    /// The session begins: `pushed` symbols of the window are on their way.
    pub(super) fn begin(&mut self, now: Time, window: Window, pushed: u32) {
        (self.credits, self.outstanding) = (window.symbols() - pushed, pushed);
        (self.last_arrival, self.silent_since) = (now, now);
        self.window = window;
    }

    /// Others may take over from it: its answers are timed, from before the first request on.
    pub(super) fn time_answers(&mut self) {
        self.pace = Some(Box::default());
    }

    #[inline]
    pub(super) fn credits(&self) -> u32 {
        self.credits
    }

    /// Symbols that blocks wait for.
    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    #[inline]
    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// Symbols that were asked for and have neither arrived nor are known to be lost, whether a block waits for them or not.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.pace.as_ref().map_or(0, |pace| pace.in_flight(self.asked)).max(self.outstanding)
    }

    /// The most symbols that may be in flight.
    #[inline]
    pub(super) fn most(&self) -> u32 {
        let window = self.window.symbols();
        self.pace.as_ref().map_or(window, |pace| pace.bound(window))
    }

    /// Pulls that may be sent, counted anew.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.most().saturating_sub(self.in_flight())
    }

    /// The window, or the number of symbols in flight, has changed. Returns the credits.
    #[inline]
    pub(super) fn refresh(&mut self) -> u32 {
        self.credits = self.room();
        self.credits
    }

    /// Whether it is asked for fewer symbols than its window allows.
    pub(super) fn is_held_back(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.is_held_back())
    }

    /// How long its sender takes to answer, if that is known and matters.
    pub(super) fn response(&self) -> Option<Duration> {
        self.pace.as_ref()?.response()
    }

    /// The mean time between pulls, if they are paced.
    pub(super) fn pull_interval(&self) -> Option<Duration> {
        self.pull_pace.as_ref()?.interval()
    }

    /// The mean time between its symbols while it is asked for as many as it may be, if it is known how long it takes to answer.
    pub(super) fn time_per_symbol(&self) -> Option<Duration> {
        let by_window = self.response()? / u64::from(self.most().max(1));
        Some(self.pull_interval().map_or(by_window, |paced| paced.max(by_window)))
    }

    pub(super) fn is_slower_than(&self, bar: Duration) -> bool {
        self.response().is_some_and(|response| response > bar)
    }

    /// Where others may take over from it: whether it has not answered in time.
    pub(super) fn is_late(&self) -> Option<bool> {
        self.pace.as_ref().map(|_| self.retries.timeouts() > 0)
    }

    /// When the symbol with this number, among all that it was asked for, was asked for; `None` if a newer one has arrived.
    pub(super) fn asked_at(&self, number: u64) -> Option<Time> {
        self.pace.as_ref()?.asked_at(number)
    }

    /// Others send in its place what it was asked for last with this number.
    pub(super) fn on_late(&mut self, number: u64) {
        let (asked, window) = (self.asked, self.window.symbols());
        if let Some(pace) = self.pace.as_mut().filter(|pace| pace.asked_at(number).is_some()) {
            pace.on_late(number, asked, window);
        }
    }

    /// Whether it answers, as far as is known, or may do so again: one of several.
    #[inline]
    pub(super) fn is_in_touch(&self) -> bool {
        !self.is_left_out() && !self.excluded
    }

    pub(super) fn is_excluded(&self) -> bool {
        self.excluded
    }

    /// None of its symbols are accepted any more.
    pub(super) fn exclude(&mut self) {
        self.excluded = true;
        (self.retry_due, self.message_due) = (false, None);
        self.forget_requests();
    }

    /// Its silence until now no longer counts.
    pub(super) fn reset_timeouts(&mut self) {
        self.retries.on_answer();
    }

    /// Blocks that it has withheld.
    pub(super) fn withheld(&self) -> u32 {
        self.withheld
    }

    /// It has withheld a block. Returns whether for the first time.
    pub(super) fn withholds(&mut self) -> bool {
        self.withheld += 1;
        self.withheld == 1
    }

    /// A control message is owed to the sender, in place of one that has not left.
    pub(super) fn owe(&mut self, message: Message) {
        self.message_due = Some(message);
    }

    pub(super) fn take_message(&mut self) -> Option<Message> {
        self.message_due.take()
    }

    /// Since when nothing that was asked for has arrived.
    pub(super) fn silent_since(&self) -> Time {
        self.silent_since
    }

    /// How long it may take to answer; `minimum` at least.
    #[inline]
    pub(super) fn answer_timeout(&self, minimum: Duration) -> Duration {
        self.timer.timeout(minimum)
    }

    /// When a pull is repeated, if nothing arrives.
    #[inline]
    pub(super) fn timeout(&self, minimum: Duration) -> Option<Time> {
        let waits = self.in_flight() > 0 && !self.retry_due;
        waits.then(|| self.last_arrival + self.timer.timeout(minimum))
    }

    /// `count` symbols are asked for. Returns how many of all blocks were before.
    #[inline]
    pub(super) fn ask(&mut self, count: u32) -> u64 {
        let before = self.asked;
        self.asked += u64::from(count);
        before
    }

    /// With the last of them, this block has been asked for `upto` symbols.
    #[inline]
    pub(super) fn on_asked(&mut self, now: Time, block: u32, upto: u32) {
        if let Some(pace) = &mut self.pace {
            pace.on_request(now, block, upto, self.asked);
        }
    }

    /// One pull is to be sent, which takes a credit. Returns the symbols in flight before.
    #[inline]
    pub(super) fn spend(&mut self, now: Time) -> u32 {
        let coming = self.in_flight();
        if coming == 0 {
            (self.last_arrival, self.silent_since) = (now, now);
        }
        self.outstanding += 1;
        self.credits -= 1;
        if let Some(pace) = &mut self.pull_pace {
            pace.spend(now);
        }
        coming
    }

    /// It is: for the `index`-th symbol of a block, with `coming` symbols in flight before. `is_round_trip`: no other has asked for it.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32, is_round_trip: bool, coming: u32) {
        if is_round_trip {
            self.timer.on_pull(now, block, index);
        }
        self.window.on_pull(now, block, index, is_round_trip, coming);
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
        let coming = self.in_flight();
        if let Some(pace) = &mut self.pace {
            pace.on_symbol(now, symbol.block, symbol.index);
        }
        if !symbol.is_of_others {
            self.window.on_symbol(now, symbol.block, symbol.index, symbol.seen, coming);
        }
        // A header shows that the sender is alive, but that must not raise the rate of pulls on a path that trims all symbols.
        self.retries.limit(if symbol.seen == Seen::Trimmed { LEFT_OUT_AFTER } else { 0 });
    }

    /// It was new.
    #[inline]
    pub(super) fn on_new_symbol(&mut self, now: Time) {
        self.last_arrival = now;
    }

    /// It was in flight, and of use.
    #[inline]
    pub(super) fn on_useful(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.on_useful(self.window.symbols());
        }
    }

    /// `count` symbols are no longer in flight. Returns the credits.
    #[inline]
    pub(super) fn no_longer_waits(&mut self, count: u32) -> u32 {
        self.outstanding -= count;
        self.refresh()
    }

    /// `count` symbols are lost, which the window learns. Returns the credits.
    pub(super) fn on_lost(&mut self, count: u32) -> u32 {
        self.window.on_lost(count);
        self.no_longer_waits(count)
    }

    /// There was less to ask for than the window allows.
    pub(super) fn on_limited(&mut self) {
        self.window.on_limited();
    }

    /// Whether a pull was repeated and not yet answered.
    #[inline]
    pub(super) fn is_retried(&self) -> bool {
        self.retried
    }

    /// The repeated pull was answered.
    pub(super) fn on_answer(&mut self) {
        self.retried = false;
    }

    /// Whether a pull is to be repeated now.
    #[inline]
    pub(super) fn take_retry(&mut self) -> bool {
        std::mem::take(&mut self.retry_due)
    }

    /// It is.
    pub(super) fn on_retry(&mut self) {
        self.retried = true;
    }

    /// No pull is timed across this.
    pub(super) fn forget_pull(&mut self) {
        self.timer.forget_pull();
    }

    /// Nothing has arrived for too long. Returns whether it is given up after `most` retries.
    pub(super) fn on_timeout(&mut self, now: Time, most: u32) -> bool {
        let given_up = self.retries.on_timeout(most);
        self.timer.on_timeout();
        self.window.on_timeout(self.retries.timeouts());
        self.forget_requests();
        (self.last_arrival, self.retry_due) = (now, true);
        given_up
    }

    /// The other senders do its share, if they can: whether it has been silent for too long for one of several.
    pub(super) fn is_left_out(&self) -> bool {
        self.retries.timeouts() > LEFT_OUT_AFTER
    }

    /// No pull is repeated.
    pub(super) fn stop_retrying(&mut self) {
        self.retry_due = false;
    }

    /// Nothing that was asked for is on its way.
    fn forget_requests(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.forget(self.asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::ScdpConfig;

    const MINIMUM: Duration = Duration::from_ms(2);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// A fixed window of 12, of which 10 are on their way.
    fn lane() -> Lane {
        let mut lane = Lane::default();
        lane.begin(at(0), Window::new(12, 0, &ScdpConfig::default(), 1, 0), 10);
        lane
    }

    fn arrived(index: u32, seen: Seen) -> Arrived {
        Arrived { block: 0, index, asked_as: index, seen, is_repeated: false, is_of_others: false }
    }

    #[test]
    fn credits_are_the_window_less_what_is_in_flight() {
        let mut lane = lane();
        assert_eq!((lane.credits(), lane.in_flight()), (2, 10));
        assert_eq!((lane.spend(at(1)), lane.credits(), lane.outstanding()), (10, 1, 11));
        assert_eq!((lane.no_longer_waits(4), lane.on_lost(2), lane.outstanding()), (5, 7, 5));
        assert_eq!(lane.credits(), lane.room());
    }

    #[test]
    fn a_pull_is_repeated_once_nothing_new_arrives_and_something_is_in_flight() {
        let mut lane = lane();
        assert_eq!(lane.timeout(MINIMUM), Some(at(2)));
        lane.on_symbol(at(1), &arrived(0, Seen::Whole), false, MINIMUM);
        assert_eq!(lane.timeout(MINIMUM), Some(at(3)));
        let repeated = Arrived { is_repeated: true, ..arrived(0, Seen::Whole) };
        lane.on_symbol(at(2), &repeated, false, MINIMUM);
        assert_eq!(lane.timeout(MINIMUM), Some(at(3)), "the same once more says nothing");
        lane.on_symbol(at(2), &arrived(1, Seen::Whole), true, MINIMUM);
        assert_eq!(
            (lane.timeout(MINIMUM), lane.silent_since()),
            (Some(at(3)), at(2)),
            "in a group nor does one for others"
        );
        lane.on_new_symbol(at(2));
        assert_eq!(lane.timeout(MINIMUM), Some(at(4)));
        assert_eq!((lane.on_timeout(at(4), 1), lane.timeout(MINIMUM)), (false, None), "it is due now");
        assert!(lane.take_retry() && !lane.take_retry());
        assert_eq!(lane.timeout(MINIMUM), Some(at(8)), "and doubled");
        lane.no_longer_waits(10);
        assert_eq!(lane.timeout(MINIMUM), None);
    }

    #[test]
    fn a_silent_sender_is_left_out_after_two_timeouts_and_headers_alone_keep_it_at_one() {
        let mut lane = lane();
        lane.on_timeout(at(2), 9);
        assert!(lane.is_in_touch() && !lane.is_left_out());
        lane.on_timeout(at(6), 9);
        assert!(!lane.is_in_touch() && lane.is_left_out());
        lane.on_symbol(at(7), &arrived(0, Seen::Trimmed), false, MINIMUM);
        assert_eq!((lane.is_in_touch(), lane.on_timeout(at(20), 1)), (true, true), "the second in a row");
        lane.on_symbol(at(21), &arrived(1, Seen::Whole), false, MINIMUM);
        assert!(!lane.on_timeout(at(40), 1));
    }

    #[test]
    fn an_excluded_sender_is_told_and_asked_nothing() {
        let mut lane = lane();
        lane.owe(Message::Keepalive);
        lane.on_timeout(at(2), 9);
        lane.exclude();
        assert_eq!((lane.take_message(), lane.take_retry(), lane.is_in_touch()), (None, false, false));
        lane.reset_timeouts();
        assert!(!lane.is_in_touch());
    }

    #[test]
    fn what_no_block_waits_for_any_more_still_fills_the_window_of_one_that_is_timed() {
        let mut lane = Lane::default();
        lane.time_answers();
        lane.ask(10);
        lane.on_asked(at(0), 0, 10);
        lane.begin(at(0), Window::new(12, 0, &ScdpConfig::default(), 2, 0), 10);
        assert_eq!((lane.no_longer_waits(10), lane.in_flight(), lane.outstanding()), (2, 10, 0));
        lane.on_symbol(at(5), &arrived(7, Seen::Whole), false, MINIMUM);
        assert_eq!((lane.refresh(), lane.response()), (10, Some(Duration::from_ms(5))));
        assert_eq!((lane.asked_at(8), lane.asked_at(9)), (None, Some(at(0))));
        assert!(lane.is_slower_than(Duration::from_ms(4)) && !lane.is_slower_than(Duration::from_ms(5)));
    }
}
