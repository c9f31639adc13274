//! How much a decoder may be made to do by those it listens to.

use super::error::DecoderError;
use super::oti::ObjectTransmissionInformation;
use crate::rfc::parameters::MAX_SOURCE_SYMBOLS;

/// How much memory and time the description of an object, and its packets, may make a [`Decoder`](super::Decoder) take.
///
/// Twelve bytes can describe an object of 942 GB, and one packet start a block of 3.7 GB. So a receiver that cannot trust
/// the sender sets limits that suit what it expects. The memory a decoder takes is at most
///
/// - the bytes of the decoded blocks that were not taken: `max_object_bytes`;
/// - for each block in progress, and for the decoder of a finished one that waits for the next block, three times a block
///   of 30 more symbols, one kilobyte for each of its symbols, which includes the plan, and `max_extra_symbols` symbols. It
///   grows with what arrives: until an eighth of the symbols are there, it is about twice theirs, and the plan;
/// - with `std`, the plans that the process keeps for the next object, whoever described this one: 64 MiB
///   ([`PlanCache::DEFAULT_MAX_BYTES`](crate::PlanCache::DEFAULT_MAX_BYTES)).
///
/// The time is bounded by a block's budget of work, which no setting changes: whatever symbols arrive, in whatever order, a
/// block takes less than ten times the work of one that lost all its source symbols (`tests/hostile_ids.rs`). Decoding that fails for the third time waits for one
/// more symbol, then for 2, 4, 8 more, and so on; once the budget is used up, for a fraction of K. Packets that were lost by
/// chance do not come to that, and a block of which all source symbols arrived is complete without any decoding. The number
/// of blocks, up to 255, multiplies it; [`SourceBlockDecoder::work`](crate::SourceBlockDecoder::work) counts it.
///
/// There may be more limits in later versions, so start from the defaults:
///
/// ```
/// use anabranch_raptorq::DecoderLimits;
///
/// let limits = DecoderLimits::default().object_bytes(16 << 20).blocks_in_progress(4);
/// assert_eq!(limits.max_object_bytes, 16 << 20);
/// ```
///
/// With the feature `serde` a limit that is not named when limits are read has its default, and an unknown name is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct DecoderLimits {
    /// The largest acceptable object (F), in bytes. Default: 1 GiB.
    pub max_object_bytes: u64,
    /// The largest acceptable block (K * T), in bytes. Default: 256 MiB.
    pub max_block_bytes: u64,
    /// The largest acceptable number of symbols in a block (K): decoding takes time that grows with it, even if the symbols
    /// are tiny. Default: all that the RFC allows, 56 403.
    pub max_source_symbols: u32,
    /// How many blocks may be in progress at once; packets of further ones are refused. Default: all that an object can
    /// have, 255.
    pub max_blocks_in_progress: usize,
    /// How many more symbols than K a block may have without being decodable, for a repair symbol to be kept; source symbols
    /// always are. Default: 32.
    ///
    /// Honest packets do not come to that. Of blocks of 10, 100 and 1000 symbols, with ids drawn at random or 10 % lost, K symbols did
    /// not suffice for one in 157 to 230, and K + 1 for one in 28,000 to 54,000 (K = 10 and 100); of 4 million blocks of 100 symbols
    /// with 10 % lost none needed more than K + 2. Measured with the crate's example `failure`:
    ///
    /// ```text
    /// cargo run --release --features fountain --example failure -- --seed 1 --code raptorq --k 10 --trials 1e7
    /// cargo run --release --features fountain --example failure -- --seed 1 --code raptorq --k 100 --trials 1e6
    /// cargo run --release --features fountain --example failure -- --seed 1 --code raptorq --k 100 --received loss=0.1 --trials 4e6
    /// cargo run --release --features fountain --example failure -- --seed 1 --code raptorq --k 1000 --received uniform,loss=0.1 --trials 1e5
    /// ```
    pub max_extra_symbols: u32,
}

impl Default for DecoderLimits {
    fn default() -> Self {
        Self {
            max_object_bytes: 1 << 30,
            max_block_bytes: 256 << 20,
            max_source_symbols: MAX_SOURCE_SYMBOLS,
            max_blocks_in_progress: 255,
            max_extra_symbols: 32,
        }
    }
}

impl DecoderLimits {
    /// Limits that accept every object whose blocks fit the address space: for descriptions that can be trusted.
    pub fn none() -> Self {
        Self { max_object_bytes: u64::MAX, max_block_bytes: u64::MAX, ..Self::default() }
    }

    /// Sets [`max_object_bytes`](Self::max_object_bytes).
    #[must_use]
    pub fn object_bytes(self, max_object_bytes: u64) -> Self {
        Self { max_object_bytes, ..self }
    }

    /// Sets [`max_block_bytes`](Self::max_block_bytes).
    #[must_use]
    pub fn block_bytes(self, max_block_bytes: u64) -> Self {
        Self { max_block_bytes, ..self }
    }

    /// Sets [`max_source_symbols`](Self::max_source_symbols).
    #[must_use]
    pub fn source_symbols(self, max_source_symbols: u32) -> Self {
        Self { max_source_symbols, ..self }
    }

    /// Sets [`max_blocks_in_progress`](Self::max_blocks_in_progress).
    #[must_use]
    pub fn blocks_in_progress(self, max_blocks_in_progress: usize) -> Self {
        Self { max_blocks_in_progress, ..self }
    }

    /// Sets [`max_extra_symbols`](Self::max_extra_symbols).
    #[must_use]
    pub fn extra_symbols(self, max_extra_symbols: u32) -> Self {
        Self { max_extra_symbols, ..self }
    }

    /// Whether an object is within the limits.
    pub(super) fn check(&self, oti: &ObjectTransmissionInformation) -> Result<(), DecoderError> {
        let size = oti.transfer_length();
        if size > self.max_object_bytes {
            return Err(DecoderError::ObjectTooLarge { size, limit: self.max_object_bytes });
        }
        // No block is larger than the first.
        let Some(largest) = oti.block(0) else { return Ok(()) };
        let symbols = largest.source_symbols();
        if symbols > self.max_source_symbols {
            return Err(DecoderError::TooManySymbols { symbols, limit: self.max_source_symbols });
        }
        // Decoding takes up to three times the block in one piece, and a piece has at most `isize::MAX` bytes.
        let addressable = isize::MAX as u64 / 4;
        let (size, limit) = (largest.padded_size(), self.max_block_bytes.min(addressable));
        if size > limit {
            return Err(DecoderError::BlockTooLarge { size, limit });
        }
        Ok(())
    }
}
