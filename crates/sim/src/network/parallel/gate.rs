//! Where the threads of a run wait for each other.

use std::hint::spin_loop;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// How often a thread looks before it goes to sleep: some tens of microseconds.
const LOOKS: u32 = 1000;

/// A barrier: the last thread to come does something for all, then all go on.
pub(super) struct Gate {
    threads: u32,
    waiting: AtomicU32,
    /// How often it has opened.
    opened: AtomicU32,
    /// A thread has panicked: nobody is waited for.
    broken: AtomicBool,
    asleep: Mutex<()>,
    open: Condvar,
}

impl Gate {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads: threads as u32,
            waiting: AtomicU32::new(0),
            opened: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(()),
            open: Condvar::new(),
        }
    }

    /// Waits for all others. The last one to come does `last` before anybody goes on. False if one of them never comes.
    pub(super) fn pass(&self, last: impl FnOnce()) -> bool {
        let opened = self.opened.load(Acquire);
        let closed = || self.opened.load(Acquire) == opened && !self.broken.load(Acquire);
        if self.waiting.fetch_add(1, AcqRel) + 1 == self.threads {
            last();
            self.waiting.store(0, Relaxed);
            let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.opened.store(opened.wrapping_add(1), Release);
            drop(asleep);
            self.open.notify_all();
        } else {
            let mut looks = 0;
            while closed() && looks < LOOKS {
                spin_loop();
                looks += 1;
            }
            let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.open.wait_while(asleep, |()| closed()).unwrap_or_else(PoisonError::into_inner));
        }
        !self.broken.load(Acquire)
    }

    /// Opens the gate for good if the thread panics while this is held.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Gate::guard`].
pub(super) struct Guard<'a>(&'a Gate);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let asleep = self.0.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.broken.store(true, Release);
            drop(asleep);
            self.0.open.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_acts_alone_and_before_all_go_on() {
        let (gate, sum) = (Gate::new(3), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for turn in 1..500 {
                        assert!(gate.pass(|| sum.store(sum.load(Relaxed) + 1, Relaxed)));
                        assert_eq!(sum.load(Relaxed), turn);
                        assert!(gate.pass(|| {}));
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_panicked() {
        let gate = Gate::new(2);
        thread::scope(|scope| {
            let waits = scope.spawn(|| gate.pass(|| {}));
            let panics = scope.spawn(|| {
                let _guard = gate.guard();
                panic!("as it should");
            });
            assert!(panics.join().is_err());
            assert!(!waits.join().expect("it only waits"));
        });
    }
}
