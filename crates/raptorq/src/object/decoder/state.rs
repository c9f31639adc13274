//! A block that is being received.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::error::DecoderError;
use super::super::layout::BlockLayout;
use super::super::plans::Plans;
use crate::kernels::Kernels;
use crate::threads::Threads;
use crate::{Added, BlockError, SourceBlockDecoder};

/// A block on its way.
#[derive(Clone, Debug, Default)]
pub(super) enum State {
    #[default]
    Waiting,
    Collecting(Box<Collecting>),
    Decoded(Vec<u8>),
    Taken,
}

/// A block whose symbols are being collected.
#[derive(Clone, Debug)]
pub(super) struct Collecting {
    decoder: SourceBlockDecoder,
    /// How many symbols must be there before decoding is tried: more than K after it failed.
    wanted: usize,
    /// What decoding has taken.
    work: u64,
}

impl State {
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        if let Self::Decoded(bytes) = self { Some(bytes) } else { None }
    }

    /// The block's bytes, if it is decoded; else none.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        if let Self::Decoded(bytes) = self { bytes } else { Vec::new() }
    }

    pub(super) fn use_kernels(&mut self, kernels: Kernels) {
        if let Self::Collecting(block) = self {
            block.decoder.use_kernels(kernels);
        }
    }

    #[cfg(feature = "std")]
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Collecting(block) if block.missing() == 0)
    }
}

impl Collecting {
    /// For the block at `layout`, in the memory of `spare` if there is one.
    pub(super) fn start(
        layout: &BlockLayout,
        plans: &mut Plans,
        (kernels, threads): (Kernels, Threads),
        spare: Option<Box<Self>>,
    ) -> Result<Box<Self>, DecoderError> {
        let (symbols, size) = (layout.source_symbols(), usize::from(layout.symbol_size()));
        let plan = plans.get(symbols)?;
        let mut block = if let Some(mut spare) = spare {
            spare.decoder.reset(plan, symbols, size)?;
            (spare.wanted, spare.work) = (0, 0);
            spare
        } else {
            Box::new(Self { decoder: SourceBlockDecoder::new(plan, symbols, size)?, wanted: 0, work: 0 })
        };
        block.decoder.set_threads(threads);
        block.decoder.use_kernels(kernels);
        Ok(block)
    }

    #[cfg(feature = "std")]
    pub(super) fn set_threads(&mut self, threads: Threads) {
        self.decoder.set_threads(threads);
    }

    /// What decoding it has taken: see [`SourceBlockDecoder::work`].
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// A source symbol, if it was received.
    pub(super) fn source_symbol(&self, esi: u32) -> Option<&[u8]> {
        self.decoder.source_symbol(esi)
    }

    /// How many symbols must arrive before decoding is worth a try.
    pub(super) fn missing(&self) -> u32 {
        if self.decoder.is_complete() {
            return 0;
        }
        let wanted = self.wanted.saturating_sub(self.decoder.symbols_received());
        self.decoder.symbols_missing().max(wanted as u32) // as many as are asked for at once: a few
    }

    /// Adds one symbol, and says whether it was new.
    pub(super) fn add(
        &mut self,
        layout: &BlockLayout,
        esi: u32,
        symbol: &[u8],
        padded: &mut Vec<u8>,
        max_extra: u32,
    ) -> Result<bool, DecoderError> {
        // Source symbols have their place in the block. Of the repair symbols, each takes memory.
        let most = (layout.source_symbols() as usize).saturating_add(max_extra as usize);
        if esi >= layout.source_symbols() && self.wanted > 0 && self.decoder.symbols_received() >= most {
            return Err(DecoderError::TooManyExtraSymbols { limit: max_extra });
        }
        let size = usize::from(layout.symbol_size());
        let symbol = if symbol.len() == size {
            symbol
        } else {
            padded.clear();
            padded.extend_from_slice(symbol);
            padded.resize(size, 0);
            padded
        };
        match self.decoder.add_symbol(esi, symbol) {
            Ok(added) => Ok(added == Added::New),
            Err(BlockError::Memory { bytes }) => Err(DecoderError::Memory { bytes: bytes as u64 }),
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes of the block, without padding, if the symbols suffice.
    pub(super) fn decode(&mut self, layout: &BlockLayout) -> Result<Option<Vec<u8>>, DecoderError> {
        let received = self.decoder.symbols_received();
        let tried = self.decoder.try_decode().map(drop);
        self.work = self.decoder.work();
        if let Err(not_yet) = tried {
            // The decoder keeps 32 symbols more before it wants to be asked again. So many are missing only if someone
            // chose the symbols for it.
            self.wanted = received + not_yet.more.min(32) as usize;
            return Ok(None);
        }
        let size = layout.size() as usize; // it fits, there being a block of that size
        if layout.sub_blocks() == 1 {
            let block = self.decoder.take_block().ok();
            return Ok(block.map(|mut bytes| {
                bytes.truncate(size);
                bytes
            }));
        }
        let mut bytes = buffer(layout.size())?;
        bytes.resize(size, 0);
        let Ok(symbols) = self.decoder.try_decode() else { return Ok(None) };
        // Sizes that do not fit would be a fault here, not in what was received.
        layout.deinterleave(symbols, &mut bytes).map_err(|_| DecoderError::Memory { bytes: layout.size() })?;
        Ok(Some(bytes))
    }
}

/// An empty vector with room for `size` bytes.
pub(super) fn buffer(size: u64) -> Result<Vec<u8>, DecoderError> {
    let mut bytes = Vec::new();
    let reserved = usize::try_from(size).ok().and_then(|size| bytes.try_reserve_exact(size).ok());
    reserved.map(|()| bytes).ok_or(DecoderError::Memory { bytes: size })
}
