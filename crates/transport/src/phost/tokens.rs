//! The tokens that a sender holds for one flow.

use crate::units::Time;
use std::collections::VecDeque;

/// The right to send one packet for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// It is good up to this time.
    pub(super) expires: Time,
    pub(super) number: u64,
    pub(super) seq: u64,
}

/// All of them, those that expire first in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    held: VecDeque<Token>,
}

impl Tokens {
    pub(super) fn insert(&mut self, token: Token) {
        let place = self.held.partition_point(|held| held.expires <= token.expires);
        self.held.insert(place, token);
    }

    /// Drops those that have expired.
    pub(super) fn expire(&mut self, now: Time) {
        while self.held.front().is_some_and(|token| token.expires < now) {
            self.held.pop_front();
        }
    }

    fn usable(&self, available: u64) -> Option<usize> {
        self.held.iter().position(|token| token.seq < available)
    }

    /// Whether there is one for a packet below `available`.
    pub(super) fn has_usable(&self, available: u64) -> bool {
        self.usable(available).is_some()
    }

    /// Takes that one which expires first.
    pub(super) fn take(&mut self, available: u64) -> Option<Token> {
        self.held.remove(self.usable(available)?)
    }

    pub(super) fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_expire_is_used_first_and_none_after_that() {
        let mut tokens = Tokens::default();
        for (number, (expires, seq)) in (0..).zip([(30, 5), (10, 0), (20, 9), (20, 1)]) {
            tokens.insert(Token { expires: Time(expires), number, seq });
        }
        tokens.expire(Time(10));
        let mut take = |available| tokens.take(available).map(|token| token.number);
        assert_eq!([take(2), take(2), take(2)], [Some(1), Some(3), None], "packets 2 to 9 are not there yet");
        assert!(tokens.has_usable(10));
        tokens.expire(Time(21));
        assert_eq!(tokens.take(10).map(|token| token.number), Some(0));
        assert!(!tokens.has_usable(10));
    }
}
