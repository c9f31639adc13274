//! From an object to its packets.

use alloc::sync::Arc;
use alloc::vec;
use core::iter::FusedIterator;
use core::ops::Range;

use super::block_encoder::{BlockEncoder, repair_ids};
use super::error::EncoderError;
use super::layout::{BlockLayout, Blocks};
use super::oti::ObjectTransmissionInformation;
use super::packet::{EncodingPacket, PayloadId};
#[cfg(feature = "std")]
use super::plan_cache::PlanCache;
use super::plans::Plans;
use crate::kernels::Kernels;
use crate::threads::Threads;
use crate::{BlockError, EncodingPlan, Level};

/// Makes the packets of an object.
///
/// `D` is what holds the object: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, a memory map. The encoder itself holds little else than
/// encoding plans, which all blocks of a size share. Source symbols come straight from the object. Repair symbols need
/// the intermediate symbols of their block, somewhat more memory than the block has bytes:
///
/// - [`packets`](Self::packets) goes through all packets with one block in memory at a time;
/// - [`block_encoder`](Self::block_encoder) hands out one block to keep, for instance one for each thread;
/// - [`LoadedBlocks`](super::LoadedBlocks) serves packets of any blocks in any order, with as many in memory as it is
///   told.
///
/// A clone clones `D`, which copies a `Vec` and not an `Arc`, and shares the plans.
///
/// ```
/// use anabranch_raptorq::Encoder;
///
/// let encoder = Encoder::with_defaults(b"What goes over the wire is mostly the object itself.", 16)?;
/// let packets: Vec<_> = encoder.packets(2)?.collect::<Result<_, _>>()?;
/// assert_eq!(packets.len(), 4 + 2);
/// assert_eq!(packets[1].data(), b"he wire is mostl");
/// # Ok::<(), anabranch_raptorq::EncoderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder<D> {
    object: D,
    oti: ObjectTransmissionInformation,
    plans: Plans,
    threads: Threads,
    kernels: Kernels,
}

impl<D: AsRef<[u8]>> Encoder<D> {
    /// An encoder of `object`, cut as `oti` says.
    ///
    /// Makes the plans for the object's blocks, one or two.
    ///
    /// # Errors
    ///
    /// If the object is not as long as `oti` says.
    pub fn new(object: D, oti: ObjectTransmissionInformation) -> Result<Self, EncoderError> {
        Self::build(object, oti, Plans::default())
    }

    /// An encoder of `object`, cut as [`ObjectTransmissionInformation::with_defaults`] finds good.
    ///
    /// `payload_size` is what a packet has room for after the 4 bytes of the payload ID.
    ///
    /// # Errors
    ///
    /// If the object is too long for such packets.
    pub fn with_defaults(object: D, payload_size: u16) -> Result<Self, EncoderError> {
        let length = object.as_ref().len() as u64;
        let oti = ObjectTransmissionInformation::with_defaults(length, payload_size)?;
        Self::new(object, oti)
    }

    /// As [`new`](Self::new), re-using plans: those of `plans` that fit, for instance the [`plans`](Self::plans) of
    /// another encoder. Only what is missing is made.
    ///
    /// # Errors
    ///
    /// If the object is not as long as `oti` says.
    pub fn with_plans(
        object: D,
        oti: ObjectTransmissionInformation,
        plans: &[Arc<EncodingPlan>],
    ) -> Result<Self, EncoderError> {
        let mut own = Plans::default();
        for plan in plans {
            own.offer(&oti, plan);
        }
        Self::build(object, oti, own)
    }

    /// As [`new`](Self::new), with the plans of a cache.
    ///
    /// # Errors
    ///
    /// If the object is not as long as `oti` says.
    #[cfg(feature = "std")]
    pub fn with_cache(object: D, oti: ObjectTransmissionInformation, cache: &PlanCache) -> Result<Self, EncoderError> {
        let mut plans = Plans::default();
        plans.set_cache(cache);
        Self::build(object, oti, plans)
    }

    fn build(object: D, oti: ObjectTransmissionInformation, mut plans: Plans) -> Result<Self, EncoderError> {
        check_object(&oti, object.as_ref())?;
        plans.complete(&oti)?;
        Ok(Self { object, oti, plans, threads: Threads::default(), kernels: Kernels::best() })
    }

    /// Shares the work on each block among up to `threads` threads, the calling one included, which live as long as a call. For
    /// objects of one large block; [`for_each_block`](Self::for_each_block) does several blocks at once.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_threads(mut self, threads: core::num::NonZeroUsize) -> Self {
        self.threads = Threads::new(threads);
        self
    }

    /// Encodes blocks with the instructions of `level` instead of the best ones. (Plans are made with the best ones all the same.)
    ///
    /// # Errors
    ///
    /// [`BlockError::Level`] when this processor lacks them.
    pub fn with_level(mut self, level: Level) -> Result<Self, EncoderError> {
        self.kernels = Kernels::of(level).ok_or(BlockError::Level(level))?;
        Ok(self)
    }

    /// Whose instructions it uses.
    pub fn level(&self) -> Level {
        self.kernels.level()
    }

    /// What receivers must know before the first packet.
    #[doc(alias = "get_config")]
    pub fn config(&self) -> ObjectTransmissionInformation {
        self.oti
    }

    /// The object.
    pub fn object(&self) -> &D {
        &self.object
    }

    /// The plans for the object's blocks, to be re-used elsewhere.
    pub fn plans(&self) -> &[Arc<EncodingPlan>] {
        self.plans.as_slice()
    }

    /// All packets: of each block the source packets, and then `repair_per_block` repair packets.
    ///
    /// # Errors
    ///
    /// If a block does not have so many repair symbols. The packets themselves come as results because `D` could change
    /// its mind about what the object is; with usual types they are never errors.
    #[doc(alias = "get_encoded_packets")]
    pub fn packets(&self, repair_per_block: u32) -> Result<Packets<'_, D>, EncoderError> {
        // No block is larger than the first.
        repair_ids(&self.layout(0)?, 0, repair_per_block)?;
        Ok(Packets { encoder: self, repair_per_block, blocks: self.oti.blocks(), current: None, loaded: None })
    }

    /// Writes the source symbol that `id` names to `symbol`, straight from the object.
    ///
    /// # Errors
    ///
    /// If there is no such block or source symbol, or `symbol` does not have T bytes.
    pub fn source_symbol_into(&self, id: PayloadId, symbol: &mut [u8]) -> Result<(), EncoderError> {
        let layout = self.layout(id.source_block_number())?;
        let block = self.block_bytes(&layout)?;
        Ok(layout.source_symbol_into(id.encoding_symbol_id(), block, symbol)?)
    }

    /// An encoder of one block, to keep.
    ///
    /// # Errors
    ///
    /// If there is no such block, or it has no symbols.
    #[doc(alias = "get_block_encoders")]
    pub fn block_encoder(&self, number: u8) -> Result<BlockEncoder, EncoderError> {
        self.block_encoder_on(self.threads, number)
    }

    pub(super) fn block_encoder_on(&self, threads: Threads, number: u8) -> Result<BlockEncoder, EncoderError> {
        let layout = self.layout(number)?;
        BlockEncoder::on((self.kernels, threads), layout, self.plan(&layout)?, self.block_bytes(&layout)?)
    }

    /// Loads another block into an encoder, which keeps its memory, and uses the [level](Self::level) of this one.
    ///
    /// # Errors
    ///
    /// If there is no such block, or it has no symbols. The encoder is as it was then.
    pub fn load_block(&self, number: u8, encoder: &mut BlockEncoder) -> Result<(), EncoderError> {
        let layout = self.layout(number)?;
        encoder.load_with(layout, self.plan(&layout)?, self.block_bytes(&layout)?, self.kernels)
    }

    pub(super) fn layout(&self, number: u8) -> Result<BlockLayout, EncoderError> {
        let blocks = self.oti.source_blocks();
        self.oti.block(number).ok_or(EncoderError::NoSuchBlock { number, blocks })
    }

    fn plan(&self, layout: &BlockLayout) -> Result<Arc<EncodingPlan>, EncoderError> {
        // All plans were made at the start; only a block without symbols has none.
        let plan = self.plans.find(layout.source_symbols());
        plan.cloned().ok_or(EncoderError::EmptyBlock { number: layout.number() })
    }

    fn block_bytes(&self, layout: &BlockLayout) -> Result<&[u8], EncoderError> {
        let object = self.object.as_ref();
        check_object(&self.oti, object)?;
        let bytes = layout.range().and_then(|range| object.get(range));
        bytes.ok_or(EncoderError::ObjectSize { expected: self.oti.transfer_length(), found: object.len() })
    }
}

fn check_object(oti: &ObjectTransmissionInformation, object: &[u8]) -> Result<(), EncoderError> {
    let (expected, found) = (oti.transfer_length(), object.len());
    if expected == found as u64 { Ok(()) } else { Err(EncoderError::ObjectSize { expected, found }) }
}

/// All packets of an object; see [`Encoder::packets`].
#[derive(Debug)]
pub struct Packets<'e, D> {
    encoder: &'e Encoder<D>,
    repair_per_block: u32,
    blocks: Blocks,
    current: Option<(BlockLayout, Range<u32>)>,
    /// The block whose first repair packet was due last.
    loaded: Option<BlockEncoder>,
}

impl<D: AsRef<[u8]>> Packets<'_, D> {
    /// ESIs of a block's packets; [`Encoder::packets`] made sure that there are so many.
    fn ids(&self, layout: &BlockLayout) -> Range<u32> {
        0..layout.source_symbols() + self.repair_per_block
    }

    fn packet(&mut self, layout: &BlockLayout, esi: u32) -> Result<EncodingPacket, EncoderError> {
        let id = PayloadId::new(layout.number(), esi)?;
        if esi < layout.source_symbols() {
            let mut symbol = vec![0; usize::from(layout.symbol_size())];
            self.encoder.source_symbol_into(id, &mut symbol)?;
            return Ok(EncodingPacket::new(id, symbol));
        }
        let loaded = match &mut self.loaded {
            Some(loaded) => {
                if loaded.layout().number() != layout.number() {
                    self.encoder.load_block(layout.number(), loaded)?;
                }
                loaded
            }
            none => none.insert(self.encoder.block_encoder(layout.number())?),
        };
        loaded.packet(esi)
    }
}

impl<D: AsRef<[u8]>> Iterator for Packets<'_, D> {
    type Item = Result<EncodingPacket, EncoderError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((layout, ids)) = &mut self.current
                && let Some(esi) = ids.next()
            {
                let layout = *layout;
                return Some(self.packet(&layout, esi));
            }
            let layout = self.blocks.find(|layout| layout.source_symbols() > 0)?;
            self.current = Some((layout, self.ids(&layout)));
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let current = self.current.as_ref().map_or(0, |(_, ids)| ids.len());
        // At most 255 blocks of 2^24 packets: a sum that overflows 32 bits has no room in memory there, either.
        let blocks = self.blocks.clone().filter(|layout| layout.source_symbols() > 0);
        let left = blocks.fold(current, |sum, layout| sum.saturating_add(self.ids(&layout).len()));
        (left, (left < usize::MAX).then_some(left))
    }
}

impl<D: AsRef<[u8]>> FusedIterator for Packets<'_, D> {}
