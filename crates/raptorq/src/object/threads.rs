//! Work on several blocks at once.

use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::vec::Vec;

use super::block_encoder::BlockEncoder;
use super::encoder::Encoder;
use super::error::EncoderError;

/// Does `work` on all `items`, on up to `threads` threads, the calling one among them. An error ends the thread that meets
/// it; the first one is returned.
pub(super) fn for_each<T, E: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    with_state(threads, items, || (), |(), item| work(item))
}

/// As [`for_each`], with something that each thread makes for itself and uses for all its items.
fn with_state<T, S, E: Send>(
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

impl<D: AsRef<[u8]> + Sync> Encoder<D> {
    /// Encodes all blocks that have symbols, on up to `threads` threads, and hands each to `visit`, in no fixed order. Each
    /// thread has one block in memory.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use std::sync::Mutex;
    ///
    /// use anabranch_raptorq::{Encoder, EncoderError, ObjectTransmissionInformation};
    ///
    /// let object = vec![7; 100_000];
    /// let encoder = Encoder::new(&object, ObjectTransmissionInformation::new(100_000, 1000, 4, 1, 8)?)?;
    /// let repair = Mutex::new(Vec::new());
    /// encoder.for_each_block(NonZeroUsize::new(2).unwrap(), |block| {
    ///     let packets = block.repair_packets(0, 5)?;
    ///     repair.lock().unwrap().extend(packets);
    ///     Ok::<_, EncoderError>(())
    /// })?;
    /// assert_eq!(repair.into_inner().unwrap().len(), 4 * 5);
    /// # Ok::<(), EncoderError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What `visit` returns. Blocks after the first error may or may not be visited.
    pub fn for_each_block<E>(
        &self,
        threads: NonZeroUsize,
        visit: impl Fn(&BlockEncoder) -> Result<(), E> + Sync,
    ) -> Result<(), E>
    where
        E: From<EncoderError> + Send,
    {
        let blocks = self.config().blocks().filter(|block| block.source_symbols() > 0);
        let threads = threads.min(NonZeroUsize::new(blocks.clone().count()).unwrap_or(NonZeroUsize::MIN));
        with_state(
            threads,
            blocks,
            || None,
            |own: &mut Option<BlockEncoder>, block| {
                let encoder = match own {
                    Some(encoder) => {
                        self.load_block(block.number(), encoder)?;
                        encoder
                    }
                    none => none.insert(self.block_encoder(block.number())?),
                };
                visit(encoder)
            },
        )
    }
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
