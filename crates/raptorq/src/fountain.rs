//! One face for all fountain codes of this crate, so that one experiment runs over any of them.
//!
//! A [`FountainCode`] is a family with its parameters fixed, but for the number of source symbols. It makes three
//! things: a [`FountainEncoder`] and a [`FountainDecoder`], which move bytes, and a [`Decodability`], which sees symbol
//! ids alone and says whether they would decode. The third is what experiments with millions of trials need.
//!
//! The face is for comparison. It hides what RaptorQ can do beyond the others, and it allocates where RaptorQ's own
//! interface does not. Programs that want RaptorQ use that interface.
//!
//! ```
//! use anabranch_raptorq::fountain::{FountainCode, FountainError, RaptorQ};
//! use anabranch_raptorq::siblings::{Lt, R10};
//!
//! fn one_block(code: &dyn FountainCode) -> Result<u32, FountainError> {
//!     let (source_symbols, symbol_size) = (50, 8);
//!     let block: Vec<u8> = (0..source_symbols * 8).map(|i| (i * i >> 3) as u8).collect();
//!     let mut encoder = code.encoder(source_symbols, symbol_size)?;
//!     let mut decoder = code.decoder(source_symbols, symbol_size)?;
//!     encoder.load(&block)?;
//!     let mut symbol = vec![0; symbol_size];
//!     for id in 0.. {
//!         if id % 5 != 0 {
//!             encoder.encode_into(id, &mut symbol)?;
//!             decoder.add_symbol(id, &symbol)?;
//!         }
//!         if let Some(decoded) = decoder.try_decode() {
//!             assert_eq!(decoded, block);
//!             return Ok(id);
//!         }
//!     }
//!     unreachable!()
//! }
//!
//! for code in [&RaptorQ as &dyn FountainCode, &R10, &Lt::default()] {
//!     println!("{}: decoded after symbol {}", code.name(), one_block(code)?);
//! }
//! # Ok::<(), FountainError>(())
//! ```

mod raptorq;

use alloc::boxed::Box;
use core::fmt;
use core::ops::RangeInclusive;

use thiserror::Error;

pub use self::raptorq::RaptorQ;
use crate::BlockError;

/// A fountain code: encoding symbols without a fixed end, any sufficient set of which gives back the source block.
pub trait FountainCode: fmt::Debug + Send + Sync {
    /// A short name, as it stands in tables: `r10`.
    fn name(&self) -> &'static str;

    /// What the code is defined for.
    fn limits(&self) -> Limits;

    /// An encoder for blocks of `source_symbols` symbols of `symbol_size` bytes.
    ///
    /// # Errors
    ///
    /// When either number is outside the code's limits, or their product does not fit into memory addresses.
    fn encoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainEncoder>, FountainError>;

    /// A decoder for blocks of `source_symbols` symbols of `symbol_size` bytes.
    ///
    /// # Errors
    ///
    /// As [`encoder`](Self::encoder).
    fn decoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainDecoder>, FountainError>;

    /// The decoder without the bytes.
    ///
    /// # Errors
    ///
    /// When `source_symbols` is outside the code's limits.
    fn decodability(&self, source_symbols: u32) -> Result<Box<dyn Decodability>, FountainError>;
}

/// Makes encoding symbols of one block after another.
pub trait FountainEncoder: Send {
    /// Takes the next source block.
    ///
    /// # Errors
    ///
    /// When `block` is not as long as its symbols together. The encoder then keeps the block that it had.
    fn load(&mut self, block: &[u8]) -> Result<(), FountainError>;

    /// Writes encoding symbol `id` of the block.
    ///
    /// # Errors
    ///
    /// When no block was loaded, the code has no such id, or `out` is not one symbol long.
    fn encode_into(&self, id: u32, out: &mut [u8]) -> Result<(), FountainError>;
}

/// Recovers one block after another.
///
/// A decoder believes the bytes it is given, as a code for erasures must. Symbols that do not belong to one block
/// decode to something, or not at all, and never to a panic.
pub trait FountainDecoder: Send {
    /// Takes a symbol, in any order. Returns false when there was no use for it: its id has been seen, or the block is
    /// there.
    ///
    /// # Errors
    ///
    /// When the code has no such id, or `symbol` is not one symbol long. The decoder is then as it was.
    fn add_symbol(&mut self, id: u32, symbol: &[u8]) -> Result<bool, FountainError>;

    /// The block, or `None` when it takes more symbols. All symbols are kept, so that one more resumes.
    fn try_decode(&mut self) -> Option<&[u8]>;

    /// Forgets all symbols: the next block begins. Memory is kept.
    fn clear(&mut self);
}

/// Says of a set of encoding symbols whether it is enough for the code's own decoder.
///
/// That is a question about ids: for an erasure code it does not depend on the bytes.
pub trait Decodability: Send {
    /// Whether a decoder that was given these symbols, in any order, would return the block.
    ///
    /// # Errors
    ///
    /// When the code has no such id.
    fn decodes(&mut self, ids: &[u32]) -> Result<bool, FountainError>;
}

/// What a code is defined for, for one source block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Numbers of source symbols.
    pub source_symbols: RangeInclusive<u32>,
    /// How many encoding symbols there are; their ids begin at 0.
    pub encoding_symbols: u64,
    /// Whether the first encoding symbols are the source symbols.
    pub systematic: bool,
}

impl Limits {
    /// The last id.
    pub fn last_id(&self) -> u32 {
        u32::try_from(self.encoding_symbols.saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// K as an index, if the code is defined for it.
    pub(crate) fn check_source_symbols(&self, given: u32) -> Result<usize, FountainError> {
        if self.source_symbols.contains(&given) {
            Ok(given as usize)
        } else {
            let (min, max) = (*self.source_symbols.start(), *self.source_symbols.end());
            Err(FountainError::SourceSymbols { given, min, max })
        }
    }

    /// K as an index, if the code is defined for it and blocks of that shape can be addressed.
    pub(crate) fn check_shape(&self, source_symbols: u32, symbol_size: usize) -> Result<usize, FountainError> {
        let k = self.check_source_symbols(source_symbols)?;
        if symbol_size == 0 {
            return Err(FountainError::SymbolSize);
        }
        // Intermediate symbols of all codes here are fewer than 2 K + 64; no allocation is above `isize::MAX` bytes.
        match (2 * k + 64).checked_mul(symbol_size) {
            Some(bytes) if isize::try_from(bytes).is_ok() => Ok(k),
            _ => Err(FountainError::TooLarge { source_symbols, symbol_size }),
        }
    }

    pub(crate) fn check_id(&self, id: u32) -> Result<(), FountainError> {
        if u64::from(id) < self.encoding_symbols {
            Ok(())
        } else {
            Err(FountainError::SymbolId { given: id, last: self.last_id() })
        }
    }
}

/// That encoding symbols can be made.
pub(crate) fn check_loaded(loaded: bool) -> Result<(), FountainError> {
    if loaded { Ok(()) } else { Err(FountainError::NothingLoaded) }
}

/// That `found` is the length that it must be.
pub(crate) fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), FountainError> {
    if expected == found { Ok(()) } else { Err(FountainError::Length { what, expected, found }) }
}

/// What a [`FountainCode`] refuses.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FountainError {
    /// The code is not defined for this number of source symbols.
    #[error("{given} source symbols: the code takes {min} to {max}")]
    SourceSymbols {
        /// What was asked for.
        given: u32,
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
    /// Symbols without bytes.
    #[error("a symbol has at least one byte")]
    SymbolSize,
    /// The block is larger than memory can be.
    #[error("{source_symbols} symbols of {symbol_size} bytes are more than can be addressed")]
    TooLarge {
        /// Number of source symbols.
        source_symbols: u32,
        /// Bytes in each.
        symbol_size: usize,
    },
    /// A buffer of the wrong length.
    #[error("the {what} has {found} bytes and must have {expected}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Its length as it must be, in bytes.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// The code has fewer encoding symbols.
    #[error("encoding symbol {given}: the last one of the code is {last}")]
    SymbolId {
        /// The id that was asked for.
        given: u32,
        /// The largest id of the code.
        last: u32,
    },
    /// An encoder without a block.
    #[error("no block was loaded")]
    NothingLoaded,
    /// RaptorQ refuses something else.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A parameter of the code itself.
    #[error("{name} = {given}: {rule}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        given: f64,
        /// What it must be.
        rule: &'static str,
    },
}
