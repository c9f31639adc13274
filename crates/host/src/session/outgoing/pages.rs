//! Pages of hashes that receivers ask for.

use std::collections::VecDeque;

use anabranch_transport::{Duration, Time};

use crate::hash_tree::Page;

/// Pages that wait to be sent, at most: of more, receivers ask again.
const WAITING: usize = 64;
/// A page that has gone to the group is not sent there again within this time: all who ask for it have it on its way. Less than what
/// who has lost it waits before it asks again.
const ENOUGH_FOR: Duration = Duration::from_ms(2);

/// Pages to send.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// And which receiver asked for it.
    waiting: VecDeque<(usize, Page)>,
    /// Those that went to all, and when.
    sent: VecDeque<(Page, Time)>,
}

impl Pages {
    /// A receiver asks for a page.
    pub(super) fn ask(&mut self, receiver: usize, page: Page) {
        if self.waiting.len() < WAITING && !self.waiting.contains(&(receiver, page)) {
            self.waiting.push_back((receiver, page));
        }
    }

    /// The next page to send, and to whom.
    pub(super) fn next(&mut self) -> Option<(usize, Page)> {
        self.waiting.pop_front()
    }

    /// A page is to go to all. Whether it does: not if it just has.
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

    #[test]
    fn what_all_ask_for_at_once_is_sent_once() {
        let mut pages = Pages::default();
        let page = |index| Page { level: 1, index };
        for receiver in 0..3 {
            pages.ask(receiver, page(7));
            pages.ask(receiver, page(7));
        }
        let asked: Vec<_> = std::iter::from_fn(|| pages.next()).collect();
        assert_eq!(asked, [(0, page(7)), (1, page(7)), (2, page(7))]);
        let at = |us| Time::ZERO + Duration::from_us(us);
        assert!(pages.goes_to_all(at(0), page(7)) && !pages.goes_to_all(at(1999), page(7)));
        assert!(pages.goes_to_all(at(1999), page(8)) && pages.goes_to_all(at(2000), page(7)));
        (0..1000).for_each(|index| pages.ask(0, page(index)));
        assert_eq!(std::iter::from_fn(|| pages.next()).count(), WAITING);
    }
}
