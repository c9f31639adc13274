//! Work on several items at once.

#[cfg(feature = "std")]
mod scoped;

use core::num::NonZeroUsize;
use core::ops::Range;

#[cfg(feature = "std")]
pub(crate) use scoped::{for_each, with_state};

/// How many threads may share a work, the calling one among them. Without `std`, it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads(NonZeroUsize);

impl Default for Threads {
    fn default() -> Self {
        Self(NonZeroUsize::MIN)
    }
}

impl Threads {
    /// Octets that a thread must have to add or multiply to be worth its start: a core takes some 100 microseconds for them, and
    /// starting a thread half of that. Tests have threads for every octet.
    const LEAST: u64 = if cfg!(test) { 1 } else { 16 << 20 };

    #[cfg(feature = "std")]
    pub(crate) fn new(threads: NonZeroUsize) -> Self {
        Self(threads)
    }

    pub(crate) fn count(self) -> usize {
        self.0.get()
    }

    /// How many each of so many works at once may have.
    #[cfg(feature = "std")]
    pub(crate) fn split(self, works: NonZeroUsize) -> Self {
        NonZeroUsize::new(self.0.get() / works).map_or(Self::default(), Self)
    }

    /// As many as are worth it for so many octets that are added or multiplied.
    pub(crate) fn for_work(self, octets: u64) -> Self {
        self.at_most(usize::try_from(octets / Self::LEAST).unwrap_or(usize::MAX))
    }

    /// No more than that, and one at least.
    fn at_most(self, most: usize) -> Self {
        NonZeroUsize::new(self.count().min(most)).map_or(Self::default(), Self)
    }

    /// Cuts `count` items into a share for each thread, as equal as can be, and none of them empty.
    pub(crate) fn shares(self, count: usize) -> impl ExactSizeIterator<Item = Range<usize>> + use<> {
        let threads = self.0.get().min(count);
        (0..threads).map(move |thread| count * thread / threads..count * (thread + 1) / threads)
    }

    /// Does `work` on all `shares`, each on a thread of its own.
    pub(crate) fn each<T>(self, shares: impl ExactSizeIterator<Item = T> + Send, work: impl Fn(T) + Sync) {
        match self.at_most(shares.len()).0 {
            #[cfg(feature = "std")]
            threads if threads.get() > 1 => {
                let Ok(()) = for_each::<T, core::convert::Infallible>(threads, shares, |share| {
                    work(share);
                    Ok(())
                });
            }
            _ => shares.for_each(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(count: usize) -> Threads {
        Threads(NonZeroUsize::new(count).unwrap())
    }

    #[test]
    fn shares_are_everything_once() {
        for count in 0..20 {
            for number in 1..9 {
                let shares: alloc::vec::Vec<_> = threads(number).shares(count).collect();
                assert!(shares.iter().all(|share| !share.is_empty()) && shares.len() <= number);
                assert!(shares.into_iter().flatten().eq(0..count), "{count} by {number}");
            }
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn no_thread_is_started_for_nothing() {
        use std::collections::HashSet;
        use std::sync::Barrier;
        use std::{sync::Mutex, thread};

        // Each share waits for all others, so that each has a thread; a million threads could not be started.
        let (all, seen) = (Barrier::new(3), Mutex::new(HashSet::new()));
        threads(1_000_000).each(0..3, |_| {
            all.wait();
            seen.lock().unwrap().insert(thread::current().id());
        });
        assert_eq!(seen.into_inner().unwrap().len(), 3);
        assert_eq!(
            (threads(9).at_most(3), threads(9).at_most(0), threads(2).at_most(3)),
            (threads(3), threads(1), threads(2))
        );
    }

    #[test]
    fn little_work_is_done_by_one() {
        let least = Threads::LEAST;
        let cases = [(0, 1), (least, 1), (2 * least - 1, 1), (2 * least, 2), (3 * least, 3), (u64::MAX, 4)];
        for (octets, expected) in cases {
            assert_eq!(threads(4).for_work(octets), threads(expected), "{octets}");
        }
    }
}
