//! Work, counted rather than timed, so that it is the same on every machine and in every run.

/// What looking at an entry of a sparse row counts for: half a cache line.
pub(crate) const VISIT: u64 = 32;
/// Octets of a word of bits.
pub(crate) const WORD: u64 = 8;

/// Words of a vector: few sizes, for each of which the compiler can unroll its loops.
pub(crate) fn words_of(inactive: usize) -> usize {
    match inactive.div_ceil(64) {
        words @ 0..=2 => words.max(1),
        words => words.next_multiple_of(4),
    }
}

/// Octets that were added or multiplied, and how many may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) done: u64,
    pub(crate) limit: u64,
}

impl Work {
    /// None yet, and as much as it takes.
    pub(crate) fn unlimited() -> Self {
        Self { done: 0, limit: u64::MAX }
    }

    /// Notes what is about to be done, or was done.
    #[inline]
    pub(crate) fn add(&mut self, octets: u64) {
        self.done += octets;
    }

    /// Whether so much more is within the limit.
    #[inline]
    pub(crate) fn allows(&self, octets: u64) -> bool {
        self.done.saturating_add(octets) <= self.limit
    }
}
