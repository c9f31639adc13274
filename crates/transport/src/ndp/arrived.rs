//! The packets that a receiver has: all below a number, and a bitmap of the few above it.

use super::window::MAX_SPAN;

const WORD: u64 = u64::BITS as u64;

/// A set of sequence numbers within [`MAX_SPAN`] of the lowest missing one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// The lowest number missing: everything below has arrived.
    base: u64,
    count: u64,
    /// Ring of bits for `base ..`; number `s` is bit `s % (64 * words.len())`. The length is zero or a power of two.
    words: Vec<u64>,
}

impl Arrived {
    /// The lowest number missing.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// How many numbers are in the set.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether a packet so far ahead can come from a sender that keeps to [`MAX_SPAN`].
    pub(crate) fn plausible(&self, seq: u64) -> bool {
        seq.saturating_sub(self.base) < MAX_SPAN
    }

    pub(crate) fn contains(&self, seq: u64) -> bool {
        seq < self.base || (seq - self.base < self.bits() && self.bit(seq))
    }

    /// Which of the 64 numbers from `first` on are in the set, the first in the lowest bit.
    pub(crate) fn map(&self, first: u64) -> u64 {
        let arrived = lowest(self.base.saturating_sub(first));
        if self.words.is_empty() {
            return arrived;
        }
        let word = |n: u64| u128::from(self.words[n as usize & (self.words.len() - 1)]);
        let ring = (word(first / WORD + 1) << WORD | word(first / WORD)) >> (first % WORD);
        // The ring's bits stand for other numbers below the lowest missing one, and where it ends.
        arrived | ring as u64 & lowest((self.base + self.bits()).saturating_sub(first)) & !arrived
    }

    /// Adds a [`Self::plausible`] number; false if it was there.
    #[inline]
    pub(crate) fn insert(&mut self, seq: u64) -> bool {
        if seq == self.base {
            self.advance();
        } else if self.contains(seq) {
            return false;
        } else {
            while seq - self.base >= self.bits() {
                self.grow();
            }
            let (word, mask) = self.place(seq);
            self.words[word] |= mask;
        }
        self.count += 1;
        true
    }

    /// `base` has arrived: steps over it and over what follows without a gap.
    fn advance(&mut self) {
        self.base += 1;
        while self.bits() > 0 && self.bit(self.base) {
            let (word, mask) = self.place(self.base);
            self.words[word] &= !mask;
            self.base += 1;
        }
    }

    fn bits(&self) -> u64 {
        self.words.len() as u64 * WORD
    }

    fn place(&self, seq: u64) -> (usize, u64) {
        ((seq / WORD) as usize & (self.words.len() - 1), 1 << (seq % WORD))
    }

    fn bit(&self, seq: u64) -> bool {
        let (word, mask) = self.place(seq);
        self.words[word] & mask != 0
    }

    fn grow(&mut self) {
        let old = std::mem::take(self);
        *self = Self { base: old.base, count: old.count, words: vec![0; (old.words.len() * 2).max(1)] };
        for seq in (old.base..old.base + old.bits()).filter(|&seq| old.bit(seq)) {
            let (word, mask) = self.place(seq);
            self.words[word] |= mask;
        }
    }
}

/// A word whose lowest `bits` bits are set; all if it has no more.
fn lowest(bits: u64) -> u64 {
    !u64::MAX.unbounded_shl(bits.min(WORD) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn in_order_arrivals_need_no_bitmap() {
        let mut a = Arrived::default();
        assert!((0..1000).all(|seq| a.insert(seq)));
        assert!(!a.insert(3));
        assert_eq!((a.base(), a.count(), a.words.len()), (1000, 1000, 0));
    }

    #[test]
    fn the_bitmap_is_bounded_by_the_span() {
        let mut a = Arrived::default();
        assert!(a.plausible(MAX_SPAN - 1) && !a.plausible(MAX_SPAN) && !a.plausible(u64::MAX));
        assert!((1..MAX_SPAN).all(|seq| a.insert(seq)));
        assert_eq!(a.bits(), MAX_SPAN);
        assert!(a.insert(0));
        assert_eq!(a.base(), MAX_SPAN);
        assert!(a.words.iter().all(|&w| w == 0));
    }

    proptest! {
        #[test]
        fn agrees_with_an_ordinary_set(steps in prop::collection::vec(0u64..300, 1..400)) {
            let (mut a, mut plain) = (Arrived::default(), BTreeSet::new());
            for step in steps {
                let seq = (a.base() + step).saturating_sub(50);
                prop_assert_eq!(a.contains(seq), plain.contains(&seq));
                prop_assert_eq!(a.insert(seq), plain.insert(seq));
                prop_assert_eq!(a.count(), plain.len() as u64);
                prop_assert_eq!(a.base(), (0..=plain.len() as u64).find(|s| !plain.contains(s)).unwrap());
            }
        }

        #[test]
        fn a_map_is_that_of_single_numbers(
            steps in prop::collection::vec(0u64..300, 0..400), starts in prop::collection::vec(0u64..1200, 1..40),
        ) {
            let mut a = Arrived::default();
            for step in steps {
                a.insert((a.base() + step).saturating_sub(50));
            }
            for start in starts {
                let first = (a.base() + start).saturating_sub(400);
                let plain = (0..WORD).map(|bit| u64::from(a.contains(first + bit)) << bit).sum::<u64>();
                prop_assert_eq!(a.map(first), plain, "from {} on; the lowest missing is {}", first, a.base());
            }
            prop_assert_eq!(a.map(u64::MAX), 0);
        }
    }
}
