//! A block that is being received.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::error::DecoderError;
use super::super::layout::BlockLayout;
use super::super::plans::Plans;
use crate::kernels::Kernels;
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
}

impl State {
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        if let Self::Decoded(bytes) = self { Some(bytes) } else { None }
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
        kernels: Kernels,
        spare: Option<Box<Self>>,
    ) -> Result<Box<Self>, DecoderError> {
        let (symbols, size) = (layout.source_symbols(), usize::from(layout.symbol_size()));
        let plan = plans.get(symbols)?;
        let mut block = match spare {
            Some(mut spare) => {
                spare.decoder.reset(plan, symbols, size)?;
                spare.wanted = 0;
                spare
            }
            None => Box::new(Self { decoder: SourceBlockDecoder::new(plan, symbols, size)?, wanted: 0 }),
        };
        block.decoder.use_kernels(kernels);
        Ok(block)
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
        let symbols = match self.decoder.try_decode() {
            Ok(symbols) => symbols,
            Err(not_yet) => {
                // The decoder keeps 32 symbols more before it wants to be asked again. So many are missing only if someone
                // chose the symbols for it.
                self.wanted = received + not_yet.more.min(32) as usize;
                return Ok(None);
            }
        };
        let mut bytes = buffer(layout.size())?;
        let size = layout.size() as usize; // it fits, there being a buffer of that size
        if layout.sub_blocks() == 1 {
            bytes.extend_from_slice(symbols.get(..size).unwrap_or(symbols));
        } else {
            bytes.resize(size, 0);
            // Sizes that do not fit would be a fault here, not in what was received.
            layout.deinterleave(symbols, &mut bytes).map_err(|_| DecoderError::Memory { bytes: layout.size() })?;
        }
        Ok(Some(bytes))
    }
}

/// An empty vector with room for `size` bytes.
pub(super) fn buffer(size: u64) -> Result<Vec<u8>, DecoderError> {
    let mut bytes = Vec::new();
    let reserved = usize::try_from(size).ok().and_then(|size| bytes.try_reserve_exact(size).ok());
    reserved.map(|()| bytes).ok_or(DecoderError::Memory { bytes: size })
}
