//! The shape of a block, checked once.

use alloc::sync::Arc;

use super::{BlockError, EncodingPlan};
use crate::kernels::LANE;
use crate::kernels::execute::lanes;
use crate::rfc::Parameters;
use crate::threads::Threads;

/// A plan, K and T that fit each other.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) plan: Arc<EncodingPlan>,
    /// K.
    pub(super) source_symbols: u32,
    /// T.
    pub(super) symbol_size: usize,
}

impl Shape {
    pub(super) fn new(plan: Arc<EncodingPlan>, source_symbols: u32, symbol_size: usize) -> Result<Self, BlockError> {
        let parameters = Parameters::of(source_symbols).ok_or(BlockError::SourceSymbols { found: source_symbols })?;
        if parameters.k_prime != plan.extended_symbols() {
            return Err(BlockError::Plan { extended: plan.extended_symbols(), found: source_symbols });
        }
        // What a block needs in all is a small multiple of it.
        let fits =
            symbol_size.checked_mul(parameters.l as usize * 4).is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if symbol_size == 0 || !fits {
            return Err(BlockError::SymbolSize { found: symbol_size });
        }
        Ok(Self { plan, source_symbols, symbol_size })
    }

    /// Bytes of the block.
    pub(super) fn bytes(&self) -> usize {
        self.source_symbols as usize * self.symbol_size
    }

    /// The internal symbol id of an encoding symbol: repair symbols come after the padding (RFC 6330 §5.3.1).
    pub(super) fn isi(&self, esi: u32) -> u32 {
        if esi < self.source_symbols { esi } else { esi + (self.plan.extended_symbols() - self.source_symbols) }
    }

    /// Octets of a symbol, the end of its last strip included.
    pub(super) fn strips(&self) -> usize {
        lanes(self.symbol_size).next_multiple_of(self.width(Threads::default())) * LANE
    }

    /// Lanes of a strip, of which `threads` share a symbol's. Wide strips walk the program less often; narrow ones fit a near
    /// cache, and are easier to share.
    pub(super) fn width(&self, threads: Threads) -> usize {
        /// What a strip may take: half of a second-level cache that is not a large one.
        const CACHE: usize = 512 << 10;
        let lanes = lanes(self.symbol_size);
        let columns = self.plan.skeleton.parameters.l as usize;
        if lanes <= 2 {
            return lanes;
        }
        // Lanes that the thread with the most of them has.
        let most = |width: usize| lanes.div_ceil(width).div_ceil(threads.count()) * width;
        let shared = most(2) * 9 / 8 < most(4);
        if columns * 4 * LANE > CACHE || shared { 2 } else { 4 }
    }
}

/// An error unless a buffer has the length that it must have.
pub(super) fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), BlockError> {
    if expected == found { Ok(()) } else { Err(BlockError::Length { what, expected, found }) }
}
