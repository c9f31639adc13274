//! Barrier synchronisation: where the threads of a run wait for each other.

use std::hint::spin_loop;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// How often a thread spins at most before it sleeps: some tens to hundreds of microseconds, by how long the processor pauses. To sleep
/// and to be woken takes as long as a window of a small fabric. With 1024 and at least 16, NDP in a fat-tree of k = 8, in two parts on a Xeon
/// with long pauses, took 1.4 times as long.
const MOST_SPINS: u32 = 4096;
/// How often it spins at least.
const LEAST_SPINS: u32 = 256;

/// How often a thread spins before it sleeps: halved after it spun in vain, doubled after it did not. Where other processes
/// take the cores, the thread that is waited for may not even run, and spinning only keeps it from running.
pub(super) struct Spins(u32);

impl Spins {
    pub(super) fn new() -> Self {
        Self(MOST_SPINS)
    }

    /// Spins while a condition holds; false if it still holds at the end.
    fn while_true(&mut self, holds: impl Fn() -> bool) -> bool {
        for _ in 0..self.0 {
            if !holds() {
                self.0 = (2 * self.0).min(MOST_SPINS);
                return true;
            }
            spin_loop();
        }
        self.0 = (self.0 / 2).max(LEAST_SPINS);
        false
    }
}

/// A barrier: the last thread to arrive does something for all, then all continue.
pub(super) struct Barrier {
    threads: u32,
    waiting: AtomicU32,
    /// How often it has opened.
    generation: AtomicU32,
    /// A thread has panicked: no thread is waited for.
    poisoned: AtomicBool,
    sleepers: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads: threads as u32,
            waiting: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            poisoned: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits for all other threads. The last to arrive runs `last` before any continues. False if one of them never arrives.
    pub(super) fn wait(&self, spins: &mut Spins, last: impl FnOnce()) -> bool {
        let generation = self.generation.load(Acquire);
        let closed = || self.generation.load(Acquire) == generation && !self.poisoned.load(Acquire);
        if self.waiting.fetch_add(1, AcqRel) + 1 == self.threads {
            last();
            self.waiting.store(0, Relaxed);
            let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            self.generation.store(generation.wrapping_add(1), Release);
            drop(sleepers);
            self.wake.notify_all();
        } else if !spins.while_true(closed) {
            let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.wake.wait_while(sleepers, |()| closed()).unwrap_or_else(PoisonError::into_inner));
        }
        !self.poisoned.load(Acquire)
    }

    /// Opens the barrier for good if the thread panics while this is held.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Barrier::guard`].
pub(super) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let sleepers = self.0.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.poisoned.store(true, Release);
            drop(sleepers);
            self.0.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_acts_alone_and_before_all_go_on() {
        let (barrier, sum) = (Barrier::new(3), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut spins = Spins::new();
                    for turn in 1..500 {
                        assert!(barrier.wait(&mut spins, || sum.store(sum.load(Relaxed) + 1, Relaxed)));
                        assert_eq!(sum.load(Relaxed), turn);
                        assert!(barrier.wait(&mut spins, || {}));
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_panicked() {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait(&mut Spins::new(), || {}));
            let panics = scope.spawn(|| {
                let _guard = barrier.guard();
                panic!("as it should");
            });
            assert!(panics.join().is_err());
            assert!(!waits.join().expect("it only waits"));
        });
    }

    #[test]
    fn who_spins_in_vain_spins_less() {
        let mut spins = Spins::new();
        assert!(!spins.while_true(|| true));
        assert_eq!(spins.0, MOST_SPINS / 2);
        for _ in 0..20 {
            assert!(!spins.while_true(|| true));
        }
        assert_eq!(spins.0, LEAST_SPINS);
        assert!(spins.while_true(|| false));
        assert_eq!(spins.0, 2 * LEAST_SPINS);
        for _ in 0..20 {
            assert!(spins.while_true(|| false));
        }
        assert_eq!(spins.0, MOST_SPINS);
    }
}
