//! Work on several blocks at once.

use core::num::NonZeroUsize;

use super::block_encoder::BlockEncoder;
use super::encoder::Encoder;
use super::error::EncoderError;
use crate::threads::{Threads, with_state};

impl<D: AsRef<[u8]> + Sync> Encoder<D> {
    /// Encodes all blocks that have symbols, on up to `threads` threads, and hands each to `visit`, in no fixed order. Each
    /// thread has one block in memory. Where there are fewer blocks than threads, several share the work on a block.
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
        let at_once = threads.min(NonZeroUsize::new(blocks.clone().count()).unwrap_or(NonZeroUsize::MIN));
        let each = Threads::new(threads).split(at_once);
        with_state(
            at_once,
            blocks,
            || None,
            |own: &mut Option<BlockEncoder>, block| {
                let encoder = match own {
                    Some(encoder) => {
                        self.load_block(block.number(), encoder)?;
                        encoder
                    }
                    none => none.insert(self.block_encoder_on(each, block.number())?),
                };
                visit(encoder)
            },
        )
    }
}
