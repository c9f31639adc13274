//! Which files of a shelf are still to be hashed, and whether those that are known are all that there are.

use std::collections::VecDeque;

use anabranch_transport::{Duration, Time};

/// Pause between two lists of the folder, at least: a list of a million files takes a second or two of a thread.
const PAUSE: Duration = Duration::from_secs(1);

/// Files to hash, and lists of the folder.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Names of files that are to be hashed.
    waiting: VecDeque<String>,
    /// When the last list began, and whether it is complete.
    began: Option<Time>,
    is_listing: bool,
    /// When the next list may begin.
    next: Time,
}

impl Index {
    /// Files may have to be hashed.
    pub(super) fn extend(&mut self, names: impl IntoIterator<Item = String>) {
        self.waiting.extend(names);
    }

    /// The next file that may have to be hashed.
    pub(super) fn pop(&mut self) -> Option<String> {
        self.waiting.pop_front()
    }

    /// Whether a list is to begin, for somebody who has asked at `asked`.
    pub(super) fn begin(&mut self, now: Time, asked: Time) -> bool {
        let begins = !self.is_listing && now >= self.next && self.began.is_none_or(|began| began < asked);
        if begins {
            (self.began, self.is_listing) = (Some(now), true);
        }
        begins
    }

    /// The list is complete. The next one waits for ten times as long as this one has taken.
    pub(super) fn end(&mut self, now: Time) {
        self.is_listing = false;
        let took = self.began.map_or(Duration::ZERO, |began| now.since(began));
        self.next = now + (took * 10).max(PAUSE);
    }

    /// Whether all files have been listed that were there at `asked`, and none waits any more.
    pub(super) fn is_complete(&self, asked: Time) -> bool {
        !self.is_listing && self.waiting.is_empty() && self.began.is_some_and(|began| began >= asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_answers_who_asked_before_it_and_the_next_one_waits() {
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        let mut index = Index::default();
        assert!(!index.is_complete(at(0)), "nothing has been listed");
        assert!(index.begin(at(5), at(5)) && !index.begin(at(6), at(6)));
        index.extend(["a".to_owned()]);
        index.end(at(305));
        assert!(!index.is_complete(at(5)), "a file waits");
        assert_eq!((index.pop().as_deref(), index.pop()), (Some("a"), None));
        assert!(index.is_complete(at(5)) && !index.is_complete(at(6)));
        assert!(!index.begin(at(9000), at(5)), "it has its answer");
        assert!(!index.begin(at(3304), at(6)) && index.begin(at(3305), at(6)));
        index.end(at(3306));
        assert!(!index.begin(at(4305), at(4000)) && index.begin(at(4306), at(4000)));
    }
}
