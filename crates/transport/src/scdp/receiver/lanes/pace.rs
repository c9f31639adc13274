//! How fast one of several senders answers, and how many symbols it may owe for that.
//!
//! A sender sends in the order in which it was asked. So whatever was asked of it after the newest symbol that has arrived is still on
//! its way, whether a block waits for it or not: what no block waits for any more fills the sender's queue all the same. A sender whose
//! symbols come too late is asked for fewer, after AIMD: half as many, and one more for each such number that was of use. That
//! shortens its queue if its link is slow, and leaves the receiver's link to others if its path is long.

use crate::round_trip::RoundTrip;
use crate::{Duration, Time};
use std::collections::VecDeque;

/// Symbols of a block that were asked for at once.
#[derive(Clone, Copy, Debug)]
struct Request {
    block: u32,
    /// The symbols of the lane in this block, up to these.
    upto: u32,
    /// The symbols of the lane in all blocks, up to these.
    until: u64,
    at: Time,
}

/// What a receiver knows about the answers of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Those that are not answered, in order.
    requests: VecDeque<Request>,
    /// The number of the newest symbol that has arrived, among all that were asked for.
    newest: u64,
    /// From a request to its symbol, smoothed.
    response: RoundTrip,
    /// Symbols that may be on their way; `None`: as many as the window.
    quota: Option<u32>,
    /// Symbols that were of use since the quota last changed.
    useful: u32,
    /// Symbols that had been asked for when the quota was last cut.
    cut_at: u64,
}

impl Pace {
    /// The sender is asked for `count` symbols of a block, `upto` in all, and with them for `asked` of all blocks.
    pub(super) fn on_request(&mut self, now: Time, block: u32, upto: u32, asked: u64) {
        match self.requests.back_mut().filter(|last| (last.block, last.at) == (block, now)) {
            Some(last) => (last.upto, last.until) = (upto, asked),
            None => self.requests.push_back(Request { block, upto, until: asked, at: now }),
        }
    }

    /// The `index`-th symbol of the lane in a block has arrived.
    pub(super) fn on_symbol(&mut self, now: Time, block: u32, index: u32) {
        let Some(request) = self.requests.iter().find(|request| request.block == block && index < request.upto) else {
            return;
        };
        let taken = now - request.at;
        self.newest = self.newest.max(request.until.saturating_sub(u64::from(request.upto - 1 - index)));
        self.response.sample(taken);
        while self.requests.front().is_some_and(|request| request.until <= self.newest) {
            self.requests.pop_front();
        }
    }

    /// Nothing that was asked for is on its way.
    pub(super) fn forget(&mut self, asked: u64) {
        self.newest = asked;
        self.requests.clear();
    }

    /// Symbols on their way, of `asked`.
    pub(super) fn in_flight(&self, asked: u64) -> u32 {
        (asked - self.newest) as u32
    }

    /// How long the sender takes to answer, as far as is known.
    pub(super) fn response(&self) -> Option<Duration> {
        self.response.is_known().then(|| self.response.smoothed())
    }

    /// When the symbol with this number was asked for; `None` if a newer one has arrived.
    pub(super) fn asked_at(&self, number: u64) -> Option<Time> {
        let at = self.requests.partition_point(|request| request.until < number);
        self.requests.get(at).filter(|_| number > self.newest).map(|request| request.at)
    }

    /// Symbols that may be on their way, if the window allows so many.
    pub(super) fn bound(&self, window: u32) -> u32 {
        self.quota.map_or(window, |quota| quota.min(window))
    }

    /// Whether it is asked for fewer symbols than its window allows.
    pub(super) fn is_held_back(&self) -> bool {
        self.quota.is_some()
    }

    /// A symbol comes too late, the last of its block that the sender was asked for: the one with this `number`, of `asked`. All that are on
    /// their way at once count as one.
    pub(super) fn on_late(&mut self, number: u64, asked: u64, window: u32) {
        if number > self.cut_at {
            self.quota = Some((self.bound(window).min(self.in_flight(asked)) / 2).max(1));
            (self.useful, self.cut_at) = (0, asked);
        }
    }

    /// A symbol has come in time.
    pub(super) fn on_useful(&mut self, window: u32) {
        let Some(quota) = self.quota else { return };
        self.useful += 1;
        if self.useful >= quota {
            self.useful = 0;
            self.quota = Some(quota + 1).filter(|&quota| quota < window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn what_was_asked_after_the_newest_arrival_is_on_its_way() {
        let mut pace = Pace::default();
        pace.on_request(at(0), 0, 5, 5);
        pace.on_request(at(1), 1, 3, 8);
        pace.on_request(at(2), 0, 6, 9);
        pace.on_request(at(2), 0, 7, 10);
        assert_eq!((pace.in_flight(10), pace.requests.len(), pace.response()), (10, 3, None));
        pace.on_symbol(at(4), 0, 1);
        assert_eq!((pace.in_flight(10), pace.response()), (8, Some(Duration::from_ms(4))));
        pace.on_symbol(at(4), 0, 0);
        assert_eq!(pace.in_flight(10), 8, "it was overtaken");
        assert_eq!((pace.asked_at(2), pace.asked_at(5), pace.asked_at(6)), (None, Some(at(0)), Some(at(1))));
        pace.on_symbol(at(9), 0, 5);
        assert_eq!((pace.in_flight(10), pace.asked_at(9), pace.asked_at(10)), (1, None, Some(at(2))));
        for (block, index) in [(0, 9), (7, 0), (u32::MAX, u32::MAX), (1, 0)] {
            pace.on_symbol(at(9), block, index);
            assert_eq!(pace.in_flight(10), 1, "nobody waits for it");
        }
        pace.forget(10);
        assert_eq!((pace.in_flight(10), pace.asked_at(10)), (0, None));
    }

    #[test]
    fn who_comes_too_late_is_asked_for_half_and_slowly_for_more() {
        let mut pace = Pace::default();
        pace.on_request(at(0), 0, 60, 60);
        assert_eq!(pace.bound(100), 100);
        pace.on_late(40, 60, 100);
        assert_eq!(pace.bound(100), 30, "half of what is on its way");
        pace.on_late(60, 60, 100);
        assert_eq!(pace.bound(100), 30, "once for all that are");
        pace.on_request(at(1), 1, 10, 70);
        pace.on_late(61, 70, 100);
        assert_eq!(pace.bound(100), 15);
        (0..15).for_each(|_| pace.on_useful(100));
        assert_eq!(pace.bound(100), 16);
        (0..10_000).for_each(|_| pace.on_useful(100));
        assert!(pace.bound(100) == 100 && !pace.is_held_back(), "it is as good as others");
        for number in 71..90 {
            pace.on_request(at(number), 2, number as u32, number);
            pace.on_late(number, number, 100);
        }
        assert_eq!(pace.bound(100), 1);
    }
}
