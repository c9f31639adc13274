//! One sender, as its receiver sees it: what it may be asked for, how long it takes to answer, and what it is told.

use super::arrived::Arrived;
use super::credits::Credits;
use super::pull_pace::PullPace;
use super::retransmission::Retransmission;
use super::timer::MOST_MINIMA;
use super::window::Window;
use crate::scdp::config::PullPacing;
use crate::{Duration, Time};

/// In a group a round trip may be this many times the least one: the rest of the time, symbols wait for other receivers.
const ROUND_TRIP_WITHIN: u64 = 4;

/// A control message owed to a sender, besides requests for symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scdp::receiver) enum Message {
    /// The receiver is alive, and asks for nothing now.
    Keepalive,
    /// The receiver has the whole object.
    Done,
}

/// One sender.
#[derive(Clone, Debug, Default)]
pub(in crate::scdp::receiver) struct Lane {
    pub(in crate::scdp::receiver) credits: Credits,
    pub(in crate::scdp::receiver) retransmission: Retransmission,
    /// When pulls to it may leave, where this receiver paces them.
    pull_pace: Option<Box<PullPace>>,
    message_due: Option<Message>,
    /// The last pull to it says that all blocks before this one are complete.
    told: u32,
    /// Blocks that were requested from it alone and did not arrive in time.
    withheld: u32,
    /// None of its symbols are accepted.
    excluded: bool,
}

/// What others may know, and tell it.
impl Lane {
    /// A symbol has arrived, whatever becomes of it.
    #[inline]
    pub(in crate::scdp::receiver) fn pace_pulls(&mut self, now: Time, trimmed: bool) {
        if let Some(pace) = &mut self.pull_pace {
            pace.on_symbol(now, trimmed);
        }
    }

    /// A pull leaves: for the `index`-th symbol of a block, with `coming` symbols in flight before. `is_round_trip`: no other has asked for it.
    #[inline]
    pub(in crate::scdp::receiver) fn on_pull(
        &mut self,
        now: Time,
        block: u32,
        index: u32,
        is_round_trip: bool,
        coming: u32,
    ) {
        if is_round_trip {
            self.retransmission.on_pull(now, block, index);
        }
        self.credits.on_pull(now, block, index, is_round_trip, coming);
    }

    /// A control message is owed to the sender, in place of one that has not left.
    pub(in crate::scdp::receiver) fn owe(&mut self, message: Message) {
        self.message_due = Some(message);
    }

    pub(in crate::scdp::receiver) fn take_message(&mut self) -> Option<Message> {
        self.message_due.take()
    }

    /// A pull leaves, which says that all blocks before `base` are complete.
    #[inline]
    pub(in crate::scdp::receiver) fn tell(&mut self, base: u32) {
        self.told = base;
    }

    /// Whether the last pull says that all blocks before `base` are complete, and no others.
    #[inline]
    pub(in crate::scdp::receiver) fn is_told(&self, base: u32) -> bool {
        self.told == base
    }

    pub(in crate::scdp::receiver) fn is_excluded(&self) -> bool {
        self.excluded
    }

    /// Blocks that it has withheld.
    pub(in crate::scdp::receiver) fn withheld(&self) -> u32 {
        self.withheld
    }

    /// It has withheld a block. Returns whether for the first time.
    pub(in crate::scdp::receiver) fn withholds(&mut self) -> bool {
        self.withheld += 1;
        self.withheld == 1
    }
}

/// What the account of all senders tells it.
impl Lane {
    pub(super) fn new(pacing: PullPacing) -> Self {
        Self { pull_pace: (pacing == PullPacing::Arrivals).then(Box::default), ..Self::default() }
    }

    /// The session begins: `pushed` symbols of the window are on their way.
    pub(super) fn begin(&mut self, now: Time, window: Window, pushed: u32) {
        self.retransmission.begin(now);
        self.credits.begin(window, pushed);
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

    /// The mean time between pulls, if they are paced.
    pub(super) fn pull_interval(&self) -> Option<Duration> {
        self.pull_pace.as_ref()?.interval()
    }

    /// The mean time between its symbols while it is asked for as many as it may be, if it is known how long it takes to answer.
    pub(super) fn time_per_symbol(&self) -> Option<Duration> {
        let by_window = self.credits.response()? / u64::from(self.credits.most().max(1));
        Some(self.pull_interval().map_or(by_window, |paced| paced.max(by_window)))
    }

    /// Where others may take over from it: whether it has not answered in time.
    pub(super) fn is_late(&self) -> Option<bool> {
        self.credits.times_answers().then(|| self.retransmission.timeouts() > 0)
    }

    /// Whether it answers, as far as is known, or may do so again: one of several.
    #[inline]
    pub(super) fn is_in_touch(&self) -> bool {
        !self.retransmission.is_left_out() && !self.excluded
    }

    /// None of its symbols are accepted any more.
    pub(super) fn exclude(&mut self) {
        self.excluded = true;
        self.message_due = None;
        self.retransmission.cancel();
        self.credits.forget_requests();
    }

    /// When a pull is repeated, if nothing arrives; `minimum` after the last arrival at least.
    #[inline]
    pub(super) fn timeout(&self, minimum: Duration) -> Option<Time> {
        if self.credits.in_flight() > 0 { self.retransmission.timeout(minimum) } else { None }
    }

    /// One pull is to be sent, which takes a credit. Returns the symbols in flight before.
    #[inline]
    pub(super) fn spend(&mut self, now: Time) -> u32 {
        let coming = self.credits.spend();
        if coming == 0 {
            self.retransmission.begin(now);
        }
        if let Some(pace) = &mut self.pull_pace {
            pace.spend(now);
        }
        coming
    }

    /// A symbol has arrived, whole or trimmed. `in_group`: it may have waited for other receivers. `minimum`: of the timeout for pulls.
    #[inline]
    pub(super) fn on_symbol(&mut self, now: Time, symbol: &Arrived, in_group: bool, minimum: Duration) {
        let least = if in_group { self.credits.window().round_trip() } else { None };
        let longest = least.map_or(minimum * MOST_MINIMA, |least| least * ROUND_TRIP_WITHIN);
        self.retransmission.on_symbol(now, symbol, in_group, longest);
        self.credits.on_symbol(now, symbol);
    }

    /// Nothing has arrived for too long. Returns whether it is given up after `most` retries.
    pub(super) fn on_timeout(&mut self, now: Time, most: u32) -> bool {
        let given_up = self.retransmission.on_timeout(now, most);
        self.credits.on_timeout(self.retransmission.timeouts());
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrived::Seen;
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
    fn a_pull_is_repeated_once_nothing_new_arrives_and_something_is_in_flight() {
        let mut lane = lane();
        assert_eq!(lane.timeout(MINIMUM), Some(at(2)));
        lane.on_symbol(at(1), &arrived(0, Seen::Whole), false, MINIMUM);
        assert_eq!(lane.timeout(MINIMUM), Some(at(3)));
        lane.credits.no_longer_waits(10);
        assert_eq!(lane.timeout(MINIMUM), None);
        lane.spend(at(9));
        assert_eq!(lane.timeout(MINIMUM), Some(at(11)), "silence counts from the first request");
    }

    #[test]
    fn a_silent_sender_is_out_of_touch_until_it_sends_anything() {
        let mut lane = lane();
        lane.on_timeout(at(2), 9);
        assert!(lane.is_in_touch());
        lane.on_timeout(at(6), 9);
        assert!(!lane.is_in_touch());
        lane.on_symbol(at(7), &arrived(0, Seen::Trimmed), false, MINIMUM);
        assert_eq!((lane.is_in_touch(), lane.on_timeout(at(20), 1)), (true, true), "the second in a row");
    }

    #[test]
    fn an_excluded_sender_is_told_and_asked_nothing() {
        let mut lane = lane();
        lane.owe(Message::Keepalive);
        lane.on_timeout(at(2), 9);
        lane.exclude();
        let due = (lane.take_message(), lane.retransmission.take_due(), lane.is_in_touch());
        assert_eq!(due, (None, false, false));
        lane.retransmission.reset();
        assert!(!lane.is_in_touch());
    }

    #[test]
    fn in_a_group_a_round_trip_is_at_most_four_times_the_least() {
        let config = ScdpConfig { window_control: crate::scdp::WindowControl::Bbr, ..ScdpConfig::default() };
        let mut lane = Lane::default();
        lane.begin(at(0), Window::new(12, 4, &config, 1, 0), 0);
        let mut ask = |now, index, takes| {
            let coming = lane.spend(now);
            lane.on_pull(now, 0, index, true, coming);
            lane.on_symbol(now + takes, &arrived(index, Seen::Whole), true, MINIMUM);
            lane.credits.no_longer_waits(1);
            lane.retransmission.answer_timeout(Duration::ZERO)
        };
        let short = Duration::from_ms(1);
        (0..200).for_each(|n| _ = ask(at(2 * u64::from(n)), n, short));
        let usual = ask(at(400), 200, short);
        assert!(usual < short + Duration::from_us(1), "{usual}");
        let long = (201..206).map(|n| ask(at(1000 * u64::from(n - 200)), n, Duration::from_ms(900))).max();
        // SRTT is at most 4 ms, and RTTVAR 3 ms.
        assert!(long.is_some_and(|long| long > usual && long < Duration::from_ms(4 + 4 * 3)), "{long:?}");
    }
}
