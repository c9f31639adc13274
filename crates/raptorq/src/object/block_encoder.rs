//! The packets of one block.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::error::EncoderError;
use super::layout::{BlockLayout, LayoutError};
use super::packet::{EncodingPacket, PacketError, PayloadId};
use crate::kernels::Kernels;
use crate::threads::Threads;
use crate::{BlockError, ENCODING_SYMBOL_IDS, EncodingPlan, Level, SourceBlockEncoder};

/// Makes the packets of one block of an object; any of them, in any order, as often as needed.
///
/// It holds the block's intermediate symbols, somewhat more than the block itself, and refers to nothing else: it can be
/// kept, moved to another thread, cloned, which copies the symbols, and loaded with another block, of this object or another, re-using its memory. Get one
/// from [`Encoder::block_encoder`](super::Encoder::block_encoder), or make it from the bytes of a block that was read
/// from somewhere.
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    layout: BlockLayout,
    coder: SourceBlockEncoder,
    /// The source symbols, where these are not simply the bytes of the block.
    symbols: Vec<u8>,
}

impl BlockEncoder {
    /// An encoder of the block at `layout` whose bytes are `block`, by a plan for its source symbol count.
    ///
    /// # Errors
    ///
    /// If the block has no symbols, is not as long as its layout says, or has another K' than the plan.
    pub fn new(layout: BlockLayout, plan: Arc<EncodingPlan>, block: &[u8]) -> Result<Self, EncoderError> {
        Self::on((Kernels::best(), Threads::default()), layout, plan, block)
    }

    /// As [`new`](Self::new), by the instructions and threads that are named.
    pub(super) fn on(
        (kernels, threads): (Kernels, Threads),
        layout: BlockLayout,
        plan: Arc<EncodingPlan>,
        block: &[u8],
    ) -> Result<Self, EncoderError> {
        check_block(&layout, block)?;
        let mut coder = SourceBlockEncoder::new(plan, layout.source_symbols(), usize::from(layout.symbol_size()))?;
        coder.use_kernels(kernels);
        coder.set_threads(threads);
        let mut encoder = Self { layout, coder, symbols: Vec::new() };
        encoder.fill(block)?;
        Ok(encoder)
    }

    /// Replaces the block by another, as [`new`](Self::new) would, but re-using memory.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new). The encoder keeps its block then.
    pub fn load(&mut self, layout: BlockLayout, plan: Arc<EncodingPlan>, block: &[u8]) -> Result<(), EncoderError> {
        let kernels = self.coder.kernels();
        self.load_with(layout, plan, block, kernels)
    }

    pub(super) fn load_with(
        &mut self,
        layout: BlockLayout,
        plan: Arc<EncodingPlan>,
        block: &[u8],
        kernels: Kernels,
    ) -> Result<(), EncoderError> {
        check_block(&layout, block)?;
        self.coder.reset(plan, layout.source_symbols(), usize::from(layout.symbol_size()))?;
        self.coder.use_kernels(kernels);
        self.layout = layout;
        self.fill(block)
    }

    /// Uses the instructions of `level` from now on, instead of the best ones.
    ///
    /// # Errors
    ///
    /// [`BlockError::Level`] when this processor lacks them.
    pub fn with_level(mut self, level: Level) -> Result<Self, EncoderError> {
        self.coder.use_kernels(Kernels::of(level).ok_or(BlockError::Level(level))?);
        Ok(self)
    }

    /// Whose instructions it uses.
    pub fn level(&self) -> Level {
        self.coder.level()
    }

    fn fill(&mut self, block: &[u8]) -> Result<(), EncoderError> {
        if self.layout.sub_blocks() == 1 && self.layout.size() == self.layout.padded_size() {
            self.coder.load(block)?;
        } else {
            self.symbols.resize(self.layout.padded_size() as usize, 0);
            self.layout.interleave(block, &mut self.symbols)?;
            self.coder.load(&self.symbols)?;
        }
        Ok(())
    }

    /// Which block this is.
    pub fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    /// Writes symbol `esi` to `symbol`, of T bytes: a source symbol below K, a repair symbol from there on.
    ///
    /// # Errors
    ///
    /// If `esi` has more than 24 bits, or `symbol` not T bytes.
    pub fn encode_into(&self, esi: u32, symbol: &mut [u8]) -> Result<(), EncoderError> {
        Ok(self.coder.encode_into(esi, symbol)?)
    }

    /// Writes the packet of symbol `esi` as it is sent, 4 + T bytes, to `packet`.
    ///
    /// # Errors
    ///
    /// If `esi` has more than 24 bits, or `packet` not 4 + T bytes.
    pub fn packet_into(&self, esi: u32, packet: &mut [u8]) -> Result<(), EncoderError> {
        let id = PayloadId::new(self.layout.number(), esi)?;
        let symbol = start_packet(&self.layout, id, packet)?;
        self.encode_into(esi, symbol)
    }

    /// The packet of symbol `esi`.
    ///
    /// # Errors
    ///
    /// If `esi` has more than 24 bits.
    pub fn packet(&self, esi: u32) -> Result<EncodingPacket, EncoderError> {
        let id = PayloadId::new(self.layout.number(), esi)?;
        let mut symbol = vec![0; usize::from(self.layout.symbol_size())];
        self.encode_into(esi, &mut symbol)?;
        Ok(EncodingPacket::new(id, symbol))
    }

    /// The packets of all source symbols.
    ///
    /// # Errors
    ///
    /// None that is known: all of them exist.
    pub fn source_packets(&self) -> Result<Vec<EncodingPacket>, EncoderError> {
        (0..self.layout.source_symbols()).map(|esi| self.packet(esi)).collect()
    }

    /// `count` packets of repair symbols, from the one with number `first` on; the first repair symbol of all has number
    /// 0, and the ESI K.
    ///
    /// # Errors
    ///
    /// If the last would have an ESI of more than 24 bits.
    pub fn repair_packets(&self, first: u32, count: u32) -> Result<Vec<EncodingPacket>, EncoderError> {
        repair_ids(&self.layout, first, count)?.map(|esi| self.packet(esi)).collect()
    }
}

/// The ESIs of `count` repair symbols from number `first` on.
pub(super) fn repair_ids(layout: &BlockLayout, first: u32, count: u32) -> Result<core::ops::Range<u32>, PacketError> {
    let start = layout.source_symbols().saturating_add(first);
    let end = start.saturating_add(count);
    if end > ENCODING_SYMBOL_IDS {
        return Err(PacketError::EncodingSymbolId { esi: end - 1 });
    }
    Ok(start..end)
}

/// Writes the ID to the packet, and returns where its one symbol goes.
pub(super) fn start_packet<'a>(
    layout: &BlockLayout,
    id: PayloadId,
    packet: &'a mut [u8],
) -> Result<&'a mut [u8], PacketError> {
    let (expected, found) = (PayloadId::SIZE + usize::from(layout.symbol_size()), packet.len());
    match packet.split_first_chunk_mut() {
        Some((start, symbol)) if found == expected => {
            *start = id.serialize();
            Ok(symbol)
        }
        _ => Err(PacketError::BufferSize { expected, found }),
    }
}

fn check_block(layout: &BlockLayout, block: &[u8]) -> Result<(), EncoderError> {
    if layout.source_symbols() == 0 {
        return Err(EncoderError::EmptyBlock { number: layout.number() });
    }
    let (expected, found) = (layout.size(), block.len());
    if expected != found as u64 {
        return Err(LayoutError::Size { what: "the block", expected, found }.into());
    }
    Ok(())
}
