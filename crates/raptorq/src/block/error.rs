//! What can be wrong with a request about a block.

use thiserror::Error;

use crate::kernels::Level;
use crate::rfc::parameters::MAX_SOURCE_SYMBOLS;

/// One more than the largest encoding symbol id: ids have 24 bits (RFC 6330 §3.2).
pub const ENCODING_SYMBOL_IDS: u32 = 1 << 24;

/// A request about a source block that cannot be met. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// A block has 1 to 56403 source symbols.
    #[error("a source block has 1 to {MAX_SOURCE_SYMBOLS} source symbols, not {found}")]
    SourceSymbols {
        /// What was asked for.
        found: u32,
    },
    /// The plan is for another number of source symbols.
    #[error("the plan is for {extended} symbols (K'), and {found} source symbols need another")]
    Plan {
        /// The plan's K'.
        extended: u32,
        /// The source symbols of the block.
        found: u32,
    },
    /// A symbol has at least one byte, and a block no more than fit the address space.
    #[error("symbols of {found} bytes: the size must be at least 1, and the block must fit the address space")]
    SymbolSize {
        /// What was asked for.
        found: usize,
    },
    /// A buffer has the wrong length.
    #[error("{what} must have {expected} bytes, not {found}")]
    Length {
        /// What was handed over.
        what: &'static str,
        /// The length that it must have.
        expected: usize,
        /// The length that it has.
        found: usize,
    },
    /// Encoding symbol ids have 24 bits, and those of repair symbols are at least K.
    #[error("{found} is not the id of such a symbol: ids are below 2^24, those of repair symbols at least K")]
    EncodingSymbolId {
        /// What was asked for.
        found: u64,
    },
    /// Too many symbols at once, or none.
    #[error("1 to {most} repair symbols can be asked for, not {found}")]
    Count {
        /// The most that can be asked for.
        most: u32,
        /// What was asked for.
        found: u32,
    },
    /// There is no memory for what arrived.
    #[error("there is no memory for {bytes} bytes")]
    Memory {
        /// How much was asked for.
        bytes: usize,
    },
    /// No block was loaded.
    #[error("no block was loaded")]
    NothingLoaded,
    /// This processor lacks the instructions.
    #[error("this processor cannot run level {0}")]
    Level(Level),
}
