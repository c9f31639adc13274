//! What one sender owes, and how much more it may be asked for.
//!
//! Each pull spends a credit, and each symbol that arrives, or is lost, returns one (SCDP §IV-G). What changes the number of credits is called by
//! [`Lanes`](super::Lanes) alone, which has the sum of all senders.

use super::arrived::Arrived;
use super::pace::Pace;
use super::window::Window;
use crate::{Duration, Time};

/// The window of a sender, and what of that is in flight.
#[derive(Clone, Debug, Default)]
pub(in crate::scdp::receiver) struct Credits {
    window: Window,
    /// The window less what is in flight. 0 while more is in flight than the window, which has shrunk.
    left: u32,
    outstanding: u32,
    /// Symbols asked for in all, across blocks: it gives the order of requests.
    asked: u64,
    /// How fast the sender answers, where others may take over from it.
    pace: Option<Box<Pace>>,
}

/// What others may know, and tell it.
impl Credits {
    /// Pulls that may be sent.
    #[inline]
    pub(in crate::scdp::receiver) fn left(&self) -> u32 {
        self.left
    }

    /// Symbols that blocks wait for.
    #[inline]
    pub(in crate::scdp::receiver) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    #[inline]
    pub(in crate::scdp::receiver) fn window(&self) -> &Window {
        &self.window
    }

    /// The most symbols that may be in flight.
    #[inline]
    pub(in crate::scdp::receiver) fn most(&self) -> u32 {
        let window = self.window.symbols();
        self.pace.as_ref().map_or(window, |pace| pace.bound(window))
    }

    /// Whether fewer symbols are asked for than the window allows.
    pub(in crate::scdp::receiver) fn is_held_back(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.is_held_back())
    }

    /// How long the sender takes to answer, if that is known and matters.
    pub(in crate::scdp::receiver) fn response(&self) -> Option<Duration> {
        self.pace.as_ref()?.response()
    }

    pub(in crate::scdp::receiver) fn is_slower_than(&self, bar: Duration) -> bool {
        self.response().is_some_and(|response| response > bar)
    }

    /// When the symbol with this number, among all that were asked for, was asked for; `None` if a newer one has arrived.
    pub(in crate::scdp::receiver) fn asked_at(&self, number: u64) -> Option<Time> {
        self.pace.as_ref()?.asked_at(number)
    }

    /// `count` symbols are asked for. Returns how many of all blocks were before.
    #[inline]
    pub(in crate::scdp::receiver) fn ask(&mut self, count: u32) -> u64 {
        let before = self.asked;
        self.asked += u64::from(count);
        before
    }

    /// With the last of them, this block has been asked for `upto` symbols.
    #[inline]
    pub(in crate::scdp::receiver) fn on_asked(&mut self, now: Time, block: u32, upto: u32) {
        if let Some(pace) = &mut self.pace {
            pace.on_request(now, block, upto, self.asked);
        }
    }

    /// A symbol has arrived that was in flight, and of use.
    #[inline]
    pub(in crate::scdp::receiver) fn on_useful(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.on_useful(self.window.symbols());
        }
    }

    /// Others send in its place what it was asked for last with this number.
    pub(in crate::scdp::receiver) fn on_late(&mut self, number: u64) {
        let (asked, window) = (self.asked, self.window.symbols());
        if let Some(pace) = self.pace.as_mut().filter(|pace| pace.asked_at(number).is_some()) {
            pace.on_late(number, asked, window);
        }
    }

    /// There was less to ask for than the window allows.
    pub(in crate::scdp::receiver) fn on_limited(&mut self) {
        self.window.on_limited();
    }
}

/// What changes how many there are.
impl Credits {
    /// The session begins: `pushed` symbols of the window are on their way.
    pub(super) fn begin(&mut self, window: Window, pushed: u32) {
        (self.left, self.outstanding) = (window.symbols() - pushed, pushed);
        self.window = window;
    }

    /// Others may take over from this sender: its answers are timed, from before the first request on.
    pub(super) fn time_answers(&mut self) {
        self.pace = Some(Box::default());
    }

    /// Whether others may.
    pub(super) fn times_answers(&self) -> bool {
        self.pace.is_some()
    }

    /// Symbols that were asked for and have neither arrived nor are known to be lost, whether a block waits for them or not.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.pace.as_ref().map_or(0, |pace| pace.in_flight(self.asked)).max(self.outstanding)
    }

    /// Pulls that may be sent, counted anew.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.most().saturating_sub(self.in_flight())
    }

    /// The window, or the number of symbols in flight, has changed. Returns the credits.
    #[inline]
    pub(super) fn refresh(&mut self) -> u32 {
        self.left = self.room();
        self.left
    }

    /// A pull takes one. Returns the symbols in flight before.
    #[inline]
    pub(super) fn spend(&mut self) -> u32 {
        let coming = self.in_flight();
        self.outstanding += 1;
        self.left -= 1;
        coming
    }

    /// It is for the `index`-th symbol of a block, with `coming` symbols in flight before. `is_round_trip`: no other has asked for it.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32, is_round_trip: bool, coming: u32) {
        self.window.on_pull(now, block, index, is_round_trip, coming);
    }

    /// A symbol has arrived, whole or trimmed.
    #[inline]
    pub(super) fn on_symbol(&mut self, now: Time, symbol: &Arrived) {
        let coming = self.in_flight();
        if let Some(pace) = &mut self.pace {
            pace.on_symbol(now, symbol.block, symbol.index);
        }
        if !symbol.is_of_others {
            self.window.on_symbol(now, symbol.block, symbol.index, symbol.seen, coming);
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

    /// Nothing arrived for too long, for the `timeouts`-th time in a row.
    pub(super) fn on_timeout(&mut self, timeouts: u32) {
        self.window.on_timeout(timeouts);
        self.forget_requests();
    }

    /// Nothing that was asked for is on its way.
    pub(super) fn forget_requests(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.forget(self.asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrived::Seen;
    use super::*;
    use crate::scdp::ScdpConfig;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// A fixed window of 12, of `lanes` senders.
    fn window(lanes: u32) -> Window {
        Window::new(12, 0, &ScdpConfig::default(), lanes, 0)
    }

    #[test]
    fn credits_are_the_window_less_what_is_in_flight() {
        let mut credits = Credits::default();
        credits.begin(window(1), 10);
        assert_eq!((credits.left(), credits.in_flight()), (2, 10));
        assert_eq!((credits.spend(), credits.left(), credits.outstanding()), (10, 1, 11));
        assert_eq!((credits.no_longer_waits(4), credits.on_lost(2), credits.outstanding()), (5, 7, 5));
        assert_eq!(credits.left(), credits.room());
    }

    #[test]
    fn what_no_block_waits_for_any_more_still_fills_the_window_of_one_that_is_timed() {
        let mut credits = Credits::default();
        credits.time_answers();
        credits.ask(10);
        credits.on_asked(at(0), 0, 10);
        credits.begin(window(2), 10);
        assert_eq!((credits.no_longer_waits(10), credits.in_flight(), credits.outstanding()), (2, 10, 0));
        let (index, seen) = (7, Seen::Whole);
        let symbol = Arrived { block: 0, index, asked_as: index, seen, is_repeated: false, is_of_others: false };
        credits.on_symbol(at(5), &symbol);
        assert_eq!((credits.refresh(), credits.response()), (10, Some(Duration::from_ms(5))));
        assert_eq!((credits.asked_at(8), credits.asked_at(9)), (None, Some(at(0))));
        assert!(credits.is_slower_than(Duration::from_ms(4)) && !credits.is_slower_than(Duration::from_ms(5)));
    }

    #[test]
    fn who_is_late_may_owe_half_until_it_is_of_use_again() {
        let mut credits = Credits::default();
        credits.time_answers();
        credits.ask(12);
        credits.on_asked(at(0), 0, 12);
        credits.begin(window(2), 12);
        credits.on_late(13);
        assert!(!credits.is_held_back(), "it was not asked for that");
        credits.on_late(12);
        assert_eq!((credits.is_held_back(), credits.most(), credits.room()), (true, 6, 0));
        (0..6).for_each(|_| credits.on_useful());
        assert_eq!(credits.most(), 7);
        credits.no_longer_waits(12);
        credits.on_timeout(1);
        assert_eq!((credits.in_flight(), credits.refresh()), (0, 7), "nothing is on its way");
    }
}
