//! Pages of hashes that receivers ask for, and how many each may ask for.
//!
//! A page is many times as long as the question. So a receiver that asks again and again gets only as many answers as one that loses almost
//! everything may need: several for each page that comes next, again for each later page once the blocks before it are complete, and each second as
//! many pages as may be wanted at once, since a receiver that nothing reaches asks once a second. Requests beyond that are dropped.

use std::collections::VecDeque;

use anabranch_transport::{Duration, Time};

use crate::hash_tree::{PAGE_HASHES, Page, SPAN, Shape};

/// Pages queued for sending, at most: receivers ask again for further ones.
const WAITING: usize = 64;
/// A page that was sent to the group is not sent there again within this time, since it is on its way to all receivers that ask for it. Less than the
/// time that a receiver that has lost it waits before it asks again.
const ENOUGH_FOR: Duration = Duration::from_ms(2);
/// How often a page is sent to a receiver that asks for it, at least: in the first second a receiver asks eight times, and then once a second.
const TIMES: u64 = 8;
/// The time in which as many pages are allowed as may be wanted at once.
const SECOND: Duration = Duration::from_secs(1);
/// Bytes of the object that a page of the lowest level covers.
const PAGE_BYTES: u64 = PAGE_HASHES as u64 * SPAN;

/// Pages to send.
#[derive(Debug)]
pub(super) struct Pages {
    /// Pages, each with the receiver that asked for it.
    waiting: VecDeque<(usize, Page)>,
    /// Pages that were sent to all, and when.
    sent: VecDeque<(Page, Time)>,
    /// Pages that a receiver may want at once.
    at_once: u64,
    allowances: Vec<Allowance>,
}

/// How many pages a receiver may still ask for.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    pages: u64,
    /// The time up to which pages have been credited.
    since: Time,
    /// Bytes of the object that the receiver is known to have.
    has: u64,
}

impl Pages {
    /// For `receivers` receivers of an object of `size` bytes, of which `under_way` bytes are in flight at once.
    pub(super) fn new(now: Time, receivers: usize, size: u64, under_way: u64) -> Self {
        let levels = u64::from(Shape::new(size).levels());
        // On each level one page may end within the bytes in flight and another one begin; above the lowest level there are fewer.
        let at_once = under_way.min(size).div_ceil(PAGE_BYTES) + 2 * levels;
        let allowance = Allowance { pages: TIMES * at_once, since: now, has: 0 };
        Self { waiting: VecDeque::new(), sent: VecDeque::new(), at_once, allowances: vec![allowance; receivers] }
    }

    /// A receiver asks for a page.
    pub(super) fn ask(&mut self, now: Time, receiver: usize, page: Page) {
        let Some(allowance) = self.allowances.get_mut(receiver) else { return };
        if self.waiting.len() >= WAITING || self.waiting.contains(&(receiver, page)) {
            return;
        }
        let earned = now.since(allowance.since).ps() / (SECOND.ps() / self.at_once.max(1));
        if earned > 0 {
            (allowance.pages, allowance.since) = ((allowance.pages + earned).min(TIMES * self.at_once), now);
        }
        if allowance.pages > 0 {
            allowance.pages -= 1;
            self.waiting.push_back((receiver, page));
        }
    }

    /// A receiver has the first `has` bytes of the object.
    pub(super) fn on_progress(&mut self, receiver: usize, has: u64) {
        let Some(allowance) = self.allowances.get_mut(receiver).filter(|allowance| allowance.has < has) else { return };
        let new = has / PAGE_BYTES - allowance.has / PAGE_BYTES;
        allowance.has = has;
        allowance.pages = (allowance.pages + new.saturating_mul(TIMES)).min(TIMES * self.at_once);
    }

    /// The next page to send, and the receiver that asked for it.
    pub(super) fn next(&mut self) -> Option<(usize, Page)> {
        self.waiting.pop_front()
    }

    /// A page is to be sent to all. Returns whether it is sent: not if it has just been sent.
    pub(super) fn goes_to_all(&mut self, now: Time, page: Page) -> bool {
        while self.sent.front().is_some_and(|(_, at)| now.since(*at) >= ENOUGH_FOR) {
            self.sent.pop_front();
        }
        let new = self.sent.iter().all(|(sent, _)| *sent != page);
        if new {
            self.sent.push_back((page, now));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object of 1 GiB, of which 9 MB are in flight at once.
    const SIZE: u64 = 1 << 30;
    const UNDER_WAY: u64 = 9_000_000;

    fn pages(receivers: usize) -> Pages {
        Pages::new(Time::ZERO, receivers, SIZE, UNDER_WAY)
    }

    fn page(index: u64) -> Page {
        Page { level: 1, index }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// How many pages a receiver gets that asks for `count` pages at once.
    fn got(pages: &mut Pages, now: Time, receiver: usize, count: u64) -> u64 {
        (0..count)
            .filter(|&index| {
                pages.ask(now, receiver, page(index));
                pages.next().is_some()
            })
            .count() as u64
    }

    #[test]
    fn what_all_ask_for_at_once_is_sent_once() {
        let mut pages = pages(3);
        for receiver in 0..3 {
            pages.ask(at(0), receiver, page(7));
            pages.ask(at(0), receiver, page(7));
        }
        let asked: Vec<_> = std::iter::from_fn(|| pages.next()).collect();
        assert_eq!(asked, [(0, page(7)), (1, page(7)), (2, page(7))]);
        assert!(pages.goes_to_all(at(0), page(7)) && !pages.goes_to_all(at(1999), page(7)));
        assert!(pages.goes_to_all(at(1999), page(8)) && pages.goes_to_all(at(2000), page(7)));
        (0..1000).for_each(|index| pages.ask(at(2000), 0, page(index)));
        assert_eq!(std::iter::from_fn(|| pages.next()).count(), WAITING);
    }

    #[test]
    fn who_asks_for_ever_gets_a_page_now_and_then_and_the_others_all_that_they_want() {
        let mut pages = pages(2);
        let at_once = pages.at_once;
        assert_eq!(at_once, 3 + 2 * 3);
        assert_eq!(got(&mut pages, at(0), 0, 10_000), TIMES * at_once);
        let in_ten_seconds: u64 = (1..=100_000).map(|n| got(&mut pages, at(n * 100), 0, 1)).sum();
        assert!((9 * at_once..=10 * at_once).contains(&in_ten_seconds), "{in_ten_seconds}");
        assert_eq!(got(&mut pages, at(0), 1, 10_000), TIMES * at_once);
        assert_eq!(got(&mut pages, at(3_600_000_000), 0, 10_000), TIMES * at_once, "no more is saved up");
    }

    #[test]
    fn who_comes_further_may_ask_for_what_comes_next_and_who_says_so_twice_for_no_more() {
        let mut pages = pages(1);
        let mut total = got(&mut pages, at(0), 0, 1000);
        for has in (0..=SIZE).step_by(140_000).chain([u64::MAX, 0, SIZE]) {
            pages.on_progress(0, has.min(SIZE));
            total += got(&mut pages, at(0), 0, 1000);
        }
        assert_eq!(total, TIMES * (pages.at_once + SIZE / PAGE_BYTES));
    }
}
