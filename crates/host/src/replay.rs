//! Replay protection: each datagram number of a direction is accepted once (the sliding bitmap of RFC 6479).

use crate::wire::WireError;

const WORDS: u64 = 128;

/// A bitmap of the newest numbers, as a ring of words that are cleared as a whole.
#[derive(Debug)]
pub(crate) struct ReplayWindow {
    words: [u64; WORDS as usize],
    /// The word of the highest number that has arrived, counted from the word of number 0.
    newest: u64,
}

impl ReplayWindow {
    /// A number that is below the highest by at most this can still be checked for replay.
    #[cfg(test)]
    pub(crate) const REACH: u64 = (WORDS - 1) * 64;

    pub(crate) fn new() -> Self {
        Self { words: [0; WORDS as usize], newest: 0 }
    }

    /// Whether a number may be accepted. It is [marked](Self::mark) only once its datagram is authenticated: otherwise anyone on the path could get
    /// it rejected by sending a copy with another payload.
    ///
    /// # Errors
    /// [`WireError::Replayed`]: it was accepted before, or is too old to tell.
    #[inline]
    pub(crate) fn check(&self, number: u64) -> Result<(), WireError> {
        let word = number / 64;
        let old = self.newest.checked_sub(word);
        let taken = match old {
            None => false,
            Some(age) if age < WORDS => self.words[slot(word)] >> (number % 64) & 1 == 1,
            Some(_) => true,
        };
        if taken { Err(WireError::Replayed) } else { Ok(()) }
    }

    /// Marks a number as accepted.
    #[inline]
    pub(crate) fn mark(&mut self, number: u64) {
        let word = number / 64;
        if word > self.newest {
            for passed in (self.newest + 1..=word).take(WORDS as usize) {
                self.words[slot(passed)] = 0;
            }
            self.newest = word;
        }
        self.words[slot(word)] |= 1 << (number % 64);
    }
}

#[inline]
fn slot(word: u64) -> usize {
    (word % WORDS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Steps are small, as large as the window, or larger; all around an advancing number.
        #[test]
        fn each_number_is_taken_once_and_late_ones_are(
            steps in prop::collection::vec((0u64..3, 0u64..100, 0u64..9000), 1..400),
            start in prop_oneof![Just(0), Just(u64::MAX / 2), 0u64..100_000],
        ) {
            let mut window = ReplayWindow::new();
            let (mut taken, mut highest, mut at) = (BTreeSet::new(), 0, start);
            for (stride, forward, back) in steps {
                at += forward * [1, 70, 9000][stride as usize];
                let number = at.saturating_sub(back);
                match window.check(number) {
                    Ok(()) => {
                        prop_assert!(taken.insert(number), "{number} twice");
                        window.mark(number);
                        highest = highest.max(number);
                    }
                    Err(_) => prop_assert!(
                        taken.contains(&number) || number + ReplayWindow::REACH < highest,
                        "{number} refused at {highest}"
                    ),
                }
            }
        }
    }

    #[test]
    fn words_are_cleared_before_they_are_used_again() {
        for step in [1, 64, 65, 8191, 8192, 8193] {
            let mut window = ReplayWindow::new();
            for number in (0..20_000).map(|i| i * step) {
                assert_eq!(window.check(number), Ok(()), "{number} in steps of {step}");
                window.mark(number);
            }
        }
        // Exactly one round of the ring behind: it shares its slot with the newest word.
        let mut window = ReplayWindow::new();
        window.mark(5);
        window.mark(WORDS * 64 + 6);
        assert_eq!(window.check(5), Err(WireError::Replayed));
        assert_eq!(window.check(7), Err(WireError::Replayed));
    }

    #[test]
    fn the_window_reaches_as_far_as_promised_and_no_number_breaks_it() {
        let mut window = ReplayWindow::new();
        window.mark(100_063);
        let oldest = 100_063 - ReplayWindow::REACH;
        const { assert!(ReplayWindow::REACH >= 4096) };
        assert_eq!(window.check(oldest), Ok(()));
        window.mark(oldest);
        assert_eq!(window.check(oldest), Err(WireError::Replayed));
        assert_eq!(window.check(oldest - 64), Err(WireError::Replayed));
        window.mark(u64::MAX);
        assert_eq!(window.check(u64::MAX), Err(WireError::Replayed));
        assert_eq!(window.check(u64::MAX - 1), Ok(()));
        assert_eq!(window.check(0), Err(WireError::Replayed));
    }
}
