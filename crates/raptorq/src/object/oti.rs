//! What a receiver must know of an object before its first packet (RFC 6330 §3.3), and how a sender chooses it (§4.3).

use core::num::{NonZeroU16, NonZeroU32};

use super::partition::{Partition, partition};
use crate::rfc::parameters::MAX_SOURCE_SYMBOLS;
use crate::rfc::tables::SYSTEMATIC;

/// The largest transfer length that §3.3.2 allows, in bytes.
///
/// With symbols of at most 65 535 bytes and at most 255 blocks, no object reaches it: the largest that
/// [`ObjectTransmissionInformation::new`] accepts has 942 574 504 275 bytes (erratum 5548 to RFC 6330).
pub const MAX_TRANSFER_LENGTH: u64 = 946_270_874_880;

/// Why numbers cannot describe an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtiError {
    /// The serialised form does not have 12 bytes.
    #[error("object transmission information has 12 bytes, not {found}")]
    Size {
        /// How many bytes there are.
        found: usize,
    },
    /// F is too large (§3.3.2).
    #[error("transfer length F = {transfer_length} is above {MAX_TRANSFER_LENGTH}")]
    TransferLength {
        /// F.
        transfer_length: u64,
    },
    /// A parameter that must be positive is zero (§3.3.2, §3.3.3).
    #[error("{parameter} must be positive")]
    Zero {
        /// Its name.
        parameter: &'static str,
    },
    /// T is not a multiple of Al (§4.4.1.2).
    #[error("symbol size T = {symbol_size} is not a multiple of the alignment Al = {alignment}")]
    Alignment {
        /// T.
        symbol_size: u16,
        /// Al.
        alignment: u8,
    },
    /// A block would have more than K'_max = 56403 symbols (§4.4.1.2).
    #[error("a block would have {symbols} source symbols, more than {MAX_SOURCE_SYMBOLS}")]
    SourceSymbols {
        /// ceil(ceil(F / T) / Z).
        symbols: u64,
    },
    /// The payload size P' is not a positive multiple of Al, as §4.3 assumes.
    #[error("payload size P' = {payload_size} is not a positive multiple of the alignment Al = {alignment}")]
    PayloadSize {
        /// P'.
        payload_size: u16,
        /// Al.
        alignment: u8,
    },
    /// Not even one sub-symbol of the wanted size fits a symbol (§4.3, `N_max` = 0).
    #[error("a sub-symbol of SS * Al = {sub_symbol} bytes does not fit a symbol of {symbol_size}")]
    SubSymbolSize {
        /// SS * Al.
        sub_symbol: u32,
        /// T.
        symbol_size: u16,
    },
    /// The receiver's memory does not hold a block of even 10 symbols, the smallest K' (§4.3).
    #[error("a working memory of WS = {working_memory} bytes does not hold the smallest block")]
    WorkingMemory {
        /// WS.
        working_memory: u64,
    },
    /// The object needs more blocks than there are numbers for (§3.3.3: Z has 8 bits).
    #[error("the object needs {blocks} blocks, more than 255; give more working memory or larger packets")]
    SourceBlocks {
        /// How many it needs.
        blocks: u64,
    },
}

/// The FEC object transmission information: F, T, Z, N and Al of an object (§3.3).
///
/// Sender and receiver must agree on it. A value of this type keeps every rule of the RFC, wherever it came from:
///
/// - F, the transfer length in bytes, is at most [`MAX_TRANSFER_LENGTH`]; 0 is an object without symbols;
/// - T, the symbol size in bytes, is positive and a multiple of Al, the symbol alignment;
/// - Z blocks, at least one, have at most 56 403 symbols each: ceil(ceil(F/T)/Z) <= K'_max;
/// - N, the number of sub-blocks of each block, is at least one.
///
/// With the feature `serde` it is written as `transfer_length`, `symbol_size`, `source_blocks`, `sub_blocks` and `symbol_alignment`;
/// numbers that break a rule are an error when they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectTransmissionInformation {
    transfer_length: u64,
    symbol_size: NonZeroU16,
    source_blocks: u8,
    sub_blocks: NonZeroU16,
    symbol_alignment: u8,
    /// Kt = ceil(F / T), of which all else is made; at most 255 * 56403.
    symbols: u32,
}

impl ObjectTransmissionInformation {
    /// Bytes of the serialised form.
    pub const SIZE: usize = 12;

    /// The description of an object of `transfer_length` bytes (F) in symbols of `symbol_size` bytes (T), cut into
    /// `source_blocks` (Z), each in `sub_blocks` (N), with all cuts at multiples of `alignment` bytes (Al).
    ///
    /// # Errors
    ///
    /// If the numbers break a rule of the RFC; the error says which.
    pub fn new(
        transfer_length: u64,
        symbol_size: u16,
        source_blocks: u8,
        sub_blocks: u16,
        alignment: u8,
    ) -> Result<Self, OtiError> {
        if transfer_length > MAX_TRANSFER_LENGTH {
            return Err(OtiError::TransferLength { transfer_length });
        }
        let symbol_size = NonZeroU16::new(symbol_size).ok_or(OtiError::Zero { parameter: "the symbol size T" })?;
        let sub_blocks = NonZeroU16::new(sub_blocks).ok_or(OtiError::Zero { parameter: "the sub-block count N" })?;
        if source_blocks == 0 {
            return Err(OtiError::Zero { parameter: "the source block count Z" });
        }
        if alignment == 0 {
            return Err(OtiError::Zero { parameter: "the symbol alignment Al" });
        }
        if !symbol_size.get().is_multiple_of(u16::from(alignment)) {
            return Err(OtiError::Alignment { symbol_size: symbol_size.get(), alignment });
        }
        // §4.4.1.2: "ceil(ceil(F/T)/Z) <= K'_max".
        let symbols = transfer_length.div_ceil(u64::from(symbol_size.get()));
        let largest_block = symbols.div_ceil(u64::from(source_blocks));
        if largest_block > u64::from(MAX_SOURCE_SYMBOLS) {
            return Err(OtiError::SourceSymbols { symbols: largest_block });
        }
        // At most 255 * 56403, so it fits.
        let symbols = symbols as u32;
        Ok(Self { transfer_length, symbol_size, source_blocks, sub_blocks, symbol_alignment: alignment, symbols })
    }

    /// A choice that suits most: symbols as large as `payload_size` allows, and blocks that a receiver can decode in
    /// 10 MiB.
    ///
    /// `payload_size` is what a packet has room for after the 4 bytes of the payload ID. The alignment is 8 bytes, and
    /// sub-symbols have at least 64; for payloads below 64 bytes both are 1. The `raptorq` crate chooses the same.
    ///
    /// # Errors
    ///
    /// If `payload_size` is 0 or the object is too long for it: 255 blocks of 56 403 symbols must hold it, which is
    /// 20 GB in payloads of 1400 bytes.
    pub fn with_defaults(transfer_length: u64, payload_size: u16) -> Result<Self, OtiError> {
        const WORKING_MEMORY: u64 = 10 << 20;
        let (alignment, sub_symbol) = if payload_size >= 64 { (8, 8) } else { (1, 1) };
        let payload_size = payload_size - payload_size % u16::from(alignment);
        Self::generate(transfer_length, payload_size, WORKING_MEMORY, alignment, sub_symbol)
    }

    /// The example algorithm of §4.3: as few blocks as `working_memory` allows, then as few sub-blocks.
    ///
    /// - `transfer_length` (F): bytes of the object;
    /// - `payload_size` (P'): bytes of symbol in a packet, a multiple of `alignment`; becomes T;
    /// - `working_memory` (WS): the largest block, or sub-block, that receivers can decode in memory, in bytes;
    /// - `alignment` (Al): symbols and sub-symbols are a multiple of so many bytes;
    /// - `sub_symbol` (SS): a sub-symbol has at least SS * Al bytes.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit each other, or the object would need more than 255 blocks.
    pub fn generate(
        transfer_length: u64,
        payload_size: u16,
        working_memory: u64,
        alignment: u8,
        sub_symbol: u16,
    ) -> Result<Self, OtiError> {
        if alignment == 0 {
            return Err(OtiError::Zero { parameter: "the symbol alignment Al" });
        }
        if sub_symbol == 0 {
            return Err(OtiError::Zero { parameter: "the sub-symbol size SS" });
        }
        if payload_size == 0 || !payload_size.is_multiple_of(u16::from(alignment)) {
            return Err(OtiError::PayloadSize { payload_size, alignment });
        }
        let symbol_size = u32::from(payload_size);
        let alignment_size = u32::from(alignment);
        let sub_symbol = u32::from(sub_symbol) * alignment_size;
        let most_sub_blocks = symbol_size / sub_symbol;
        if most_sub_blocks == 0 {
            return Err(OtiError::SubSymbolSize { sub_symbol, symbol_size: payload_size });
        }
        // KL(n): the largest K' for which a sub-block, with symbols of a n-th of T, fits the memory.
        let largest_block = |n: u32| {
            let sub_symbol = alignment_size * symbol_size.div_ceil(alignment_size * n);
            let fits = working_memory / u64::from(sub_symbol);
            let classes = SYSTEMATIC.partition_point(|class| u64::from(class.0) <= fits);
            classes.checked_sub(1).map(|last| u64::from(SYSTEMATIC[last].0))
        };
        let symbols = transfer_length.div_ceil(u64::from(symbol_size));
        let most = largest_block(most_sub_blocks).ok_or(OtiError::WorkingMemory { working_memory })?;
        // An object of no bytes has a block, too: Z is positive.
        let blocks = symbols.div_ceil(most).max(1);
        let source_blocks = u8::try_from(blocks).map_err(|_| OtiError::SourceBlocks { blocks })?;
        let block = symbols.div_ceil(blocks);
        let sub_blocks = (1..most_sub_blocks)
            .find(|&n| largest_block(n).is_some_and(|most| block <= most))
            .unwrap_or(most_sub_blocks);
        // N is at most T, so it fits.
        Self::new(transfer_length, payload_size, source_blocks, sub_blocks as u16, alignment)
    }

    /// Reads the 12 bytes that [`serialize`](Self::serialize) writes. The reserved byte is ignored.
    ///
    /// # Errors
    ///
    /// If there are not 12 bytes, or the numbers in them break a rule of the RFC.
    pub fn deserialize(bytes: &[u8]) -> Result<Self, OtiError> {
        let Ok(&[f4, f3, f2, f1, f0, _reserved, t1, t0, z, n1, n0, al]) = <&[u8; Self::SIZE]>::try_from(bytes) else {
            return Err(OtiError::Size { found: bytes.len() });
        };
        let transfer_length = u64::from_be_bytes([0, 0, 0, f4, f3, f2, f1, f0]);
        Self::new(transfer_length, u16::from_be_bytes([t1, t0]), z, u16::from_be_bytes([n1, n0]), al)
    }

    /// The common part of 8 bytes (§3.3.2) and the scheme-specific part of 4 (§3.3.3), big endian.
    ///
    /// | bytes | 0..5 | 5 | 6..8 | 8 | 9..11 | 11 |
    /// |---|---|---|---|---|---|---|
    /// | | F | reserved, 0 | T | Z | N | Al |
    pub fn serialize(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&self.common().to_be_bytes());
        bytes[8..].copy_from_slice(&self.scheme_specific().to_be_bytes());
        bytes
    }

    /// The common part (§3.3.2) as a number, `F << 24 | T`, which is how C libraries hand it over.
    pub fn common(&self) -> u64 {
        self.transfer_length << 24 | u64::from(self.symbol_size())
    }

    /// The scheme-specific part (§3.3.3) as a number, `Z << 24 | N << 8 | Al`.
    pub fn scheme_specific(&self) -> u32 {
        u32::from(self.source_blocks) << 24 | u32::from(self.sub_blocks()) << 8 | u32::from(self.symbol_alignment)
    }

    /// From the two numbers that [`common`](Self::common) and [`scheme_specific`](Self::scheme_specific) return.
    ///
    /// # Errors
    ///
    /// If the numbers in them break a rule of the RFC.
    pub fn from_parts(common: u64, scheme_specific: u32) -> Result<Self, OtiError> {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&common.to_be_bytes());
        bytes[8..].copy_from_slice(&scheme_specific.to_be_bytes());
        Self::deserialize(&bytes)
    }

    /// F: bytes of the object.
    pub const fn transfer_length(&self) -> u64 {
        self.transfer_length
    }

    /// T: bytes of a symbol.
    pub const fn symbol_size(&self) -> u16 {
        self.symbol_size.get()
    }

    /// Z: how many blocks the object is cut into.
    pub const fn source_blocks(&self) -> u8 {
        self.source_blocks
    }

    /// N: how many sub-blocks each block is cut into.
    pub const fn sub_blocks(&self) -> u16 {
        self.sub_blocks.get()
    }

    /// Al: all cuts are at multiples of so many bytes.
    pub const fn symbol_alignment(&self) -> u8 {
        self.symbol_alignment
    }

    /// Kt: source symbols of all blocks together.
    pub const fn source_symbols(&self) -> u32 {
        self.symbols
    }

    /// `(KL, KS, ZL, ZS)` of §4.4.1.2: source symbols of the large and of the small blocks, and how many there are of
    /// each.
    pub fn block_partition(&self) -> Partition {
        partition(self.symbols, NonZeroU32::new(u32::from(self.source_blocks)).unwrap_or(NonZeroU32::MIN))
    }

    /// `(TL, TS, NL, NS)` of §4.4.1.2: sizes of the large and of the small sub-symbols in units of Al, and how many
    /// there are of each in a symbol.
    pub fn sub_block_partition(&self) -> Partition {
        let units = u32::from(self.symbol_size()) / u32::from(self.symbol_alignment);
        partition(units, self.sub_blocks.into())
    }
}

#[cfg(test)]
mod tests;
