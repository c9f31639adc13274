//! Threads that live as long as a call.

use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::vec::Vec;

/// Does `work` on all `items`, on up to `threads` threads, the calling one among them. An error ends the thread that meets
/// it; the first one is returned.
pub(crate) fn for_each<T, E: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    with_state(threads, items, || (), |(), item| work(item))
}

/// As [`for_each`], with something that each thread makes for itself and uses for all its items.
pub(crate) fn with_state<T, S, E: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let items = Mutex::new(items);
    let run = || {
        let mut state = state();
        loop {
            // The lock must not outlive this statement. A panic in the iterator is passed on below.
            let item = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            match item {
                Some(item) => work(&mut state, item)?,
                None => return Ok(()),
            }
        }
    };
    thread::scope(|scope| {
        // When the system has no more threads, those that there are do all the work.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads.get()).map_while(spawn).collect();
        let own = run();
        others.into_iter().fold(own, |result, other| {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result.and(other)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_item_is_done_once() {
        for threads in [1, 2, 7] {
            let sum = AtomicU32::new(0);
            let done = for_each::<_, ()>(NonZeroUsize::new(threads).unwrap(), 0..1000u32, |item| {
                sum.fetch_add(item, Ordering::Relaxed);
                Ok(())
            });
            assert_eq!((done, sum.into_inner()), (Ok(()), 499_500));
        }
    }

    #[test]
    fn an_error_is_returned() {
        for threads in [1, 3] {
            let found =
                for_each(
                    NonZeroUsize::new(threads).unwrap(),
                    0..100,
                    |item| if item == 42 { Err(item) } else { Ok(()) },
                );
            assert_eq!(found, Err(42));
        }
    }
}
