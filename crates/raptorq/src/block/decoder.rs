//! Decoding.

use alloc::sync::Arc;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::num::NonZeroUsize;

use thiserror::Error;

use super::attempts::{Attempts, Ordinary};
use super::error::ENCODING_SYMBOL_IDS;
use super::received::{Added, Received};
use super::recover::{Arrived, Recovery};
use super::shape::{Shape, check_length};
use super::sources::{Sources, reserve};
use super::{BlockError, EncodingPlan};
use crate::kernels::{Kernels, Level};
use crate::solve::Work;
use crate::threads::Threads;

/// The symbols received so far do not determine the block. They are kept: go on adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("at least {more} more encoding symbols are needed")]
#[non_exhaustive]
pub struct NotYet {
    /// How many more symbols are needed, at least.
    ///
    /// When the symbols' ids were picked so badly that finding out would take out of all proportion, as no loss by chance
    /// can do, then this is how many to add before the next try.
    pub more: u32,
}

/// Why [`SourceBlockDecoder::try_decode_into`] did not write the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The request was wrong.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// Symbols are missing.
    #[error(transparent)]
    NotYet(#[from] NotYet),
}

/// More symbols than this above K, or above what a failed decode asked for, are not kept until a decode has failed. The
/// chance that so many do not suffice is 256^-9.
const SPARE: usize = 8;
/// More repair symbols than this above K are never kept, nor more than 2 K + [`SPARE`]: only ids that were chosen for it
/// can come to that, and memory has to end somewhere.
const MOST_SPARE: usize = 512;

/// A decode that failed frees the memory it worked with when a block has more symbols than this: some 250 bytes for each of
/// them, which a receiver of many blocks would have for all of them at once.
const KEPT: u32 = 4096;

/// Decodes one source block after another (RFC 6330 §5.4).
///
/// Symbols are added in any order; a received source symbol can be read at once. When [`may_decode`] says so,
/// [`try_decode`] recovers what is lost, in place.
///
/// The decoder owns all the memory it needs, and keeps it: the next block of the same shape, after [`clear`],
/// allocates nothing, unless it loses more symbols, or those lost are harder to find, than ever before. A decode that fails frees what
/// it worked with if K is above 4096. It takes at most three times the block's size when the block has 100 symbols or more, of about a
/// kilobyte or more; smaller symbols are worked on 64 bytes at a time all the same, and each thread more has some 256 bytes of each
/// symbol for itself. It is taken as symbols arrive: up to an eighth of the block's symbols, about twice theirs; from then on also that of the block. A size that comes from outside
/// should be compared with a limit all the same. A clone copies all symbols, and what the decoder works with, and shares the plan; it has
/// no room to spare, so that it allocates again.
///
/// [`may_decode`]: Self::may_decode
/// [`try_decode`]: Self::try_decode
/// [`clear`]: Self::clear
#[derive(Clone, Debug)]
pub struct SourceBlockDecoder {
    pub(super) shape: Shape,
    kernels: Kernels,
    threads: Threads,
    sources: Sources,
    received: Received,
    repairs: Vec<u8>,
    /// How many symbols there must be before a decode is tried: K, or more once one has failed.
    needed: usize,
    /// How many symbols there may be for another repair symbol to be kept.
    enough: usize,
    recovery: Recovery,
    attempts: Attempts,
    /// What decoding its symbols has taken.
    symbols: u64,
}

impl SourceBlockDecoder {
    /// A decoder for blocks of `source_symbols` (K) symbols of `symbol_size` (T) bytes.
    ///
    /// # Errors
    ///
    /// [`BlockError::SourceSymbols`], [`BlockError::SymbolSize`], and [`BlockError::Plan`] when the plan is not that
    /// of K.
    pub fn new(plan: Arc<EncodingPlan>, source_symbols: u32, symbol_size: usize) -> Result<Self, BlockError> {
        let shape = Shape::new(plan, source_symbols, symbol_size)?;
        let mut decoder = Self {
            shape,
            kernels: Kernels::best(),
            threads: Threads::default(),
            sources: Sources::default(),
            received: Received::default(),
            repairs: Vec::new(),
            needed: 0,
            enough: 0,
            recovery: Recovery::default(),
            attempts: Attempts::default(),
            symbols: 0,
        };
        decoder.clear();
        Ok(decoder)
    }

    /// Uses the instructions of `level` instead of the best ones.
    ///
    /// # Errors
    ///
    /// [`BlockError::Level`] when this processor lacks them.
    pub fn with_level(mut self, level: Level) -> Result<Self, BlockError> {
        self.kernels = Kernels::of(level).ok_or(BlockError::Level(level))?;
        Ok(self)
    }

    /// Shares the work on each block's symbols among up to `threads` threads, the calling one included, which live as long as a
    /// call. Finding out what to do with the symbols is not shared, which limits the gain: see the crate's benchmarks. A block that is
    /// too small to gain by it has one.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Threads::new(threads);
        self
    }

    pub(crate) fn set_threads(&mut self, threads: Threads) {
        self.threads = threads;
    }

    pub(crate) fn use_kernels(&mut self, kernels: Kernels) {
        self.kernels = kernels;
    }

    /// Forgets all symbols: what comes next is another block of the same shape. If the block before lost more than all before it,
    /// this makes room for one that is somewhat worse.
    pub fn clear(&mut self) {
        self.recovery.make_room();
        self.forget_symbols();
    }

    fn forget_symbols(&mut self) {
        self.received.clear(self.shape.source_symbols);
        self.sources.clear(self.shape.bytes());
        self.repairs.clear();
        (self.attempts, self.symbols) = (Attempts::default(), 0);
        self.expect(self.shape.source_symbols as usize);
    }

    /// Notes how many symbols a decode needs.
    fn expect(&mut self, needed: usize) {
        self.needed = needed;
        self.enough = needed.min(self.most()) + SPARE;
    }

    /// How many symbols there may be, give or take [`SPARE`], for a repair symbol to be kept.
    fn most(&self) -> usize {
        let k = self.shape.source_symbols as usize;
        k + MOST_SPARE.min(k)
    }

    /// Forgets all symbols: what comes next is a block of another shape.
    ///
    /// # Errors
    ///
    /// As [`SourceBlockDecoder::new`]; then nothing has changed.
    pub fn reset(
        &mut self,
        plan: Arc<EncodingPlan>,
        source_symbols: u32,
        symbol_size: usize,
    ) -> Result<(), BlockError> {
        let shape = Shape::new(plan, source_symbols, symbol_size)?;
        if shape.source_symbols != self.shape.source_symbols {
            self.recovery.forget_reserved();
        }
        self.shape = shape;
        self.clear();
        Ok(())
    }

    /// Takes a route whatever it costs.
    #[cfg(test)]
    pub(super) fn force(&mut self, route: super::recover::Route) {
        self.recovery.forced = Some(route);
    }

    /// Whose instructions it uses.
    pub fn level(&self) -> Level {
        self.kernels.level()
    }

    /// K: how many source symbols the block has.
    pub fn source_symbols(&self) -> u32 {
        self.shape.source_symbols
    }

    /// T: how many bytes a symbol has.
    pub fn symbol_size(&self) -> usize {
        self.shape.symbol_size
    }

    /// Hands over the symbol with the encoding symbol id `esi`, which is copied. Symbols may come in any order.
    ///
    /// Nothing can tell a symbol with wrong bytes from a right one: protect packets against corruption.
    ///
    /// # Errors
    ///
    /// [`BlockError::EncodingSymbolId`] and [`BlockError::Length`], and [`BlockError::Memory`] when there is none. Then nothing
    /// has changed.
    pub fn add_symbol(&mut self, esi: u32, symbol: &[u8]) -> Result<Added, BlockError> {
        let size = self.shape.symbol_size;
        if esi >= ENCODING_SYMBOL_IDS {
            return Err(BlockError::EncodingSymbolId { found: esi.into() });
        }
        check_length("a symbol", size, symbol.len())?;
        if esi < self.shape.source_symbols {
            if self.received.has_source(esi) {
                return Ok(Added::Duplicate);
            }
            self.sources.prepare(self.received.count(), size, self.shape.bytes())?;
            self.received.add_source(esi);
            self.sources.add(esi, symbol);
            return Ok(Added::New);
        }
        if self.received.count() >= self.enough || self.is_complete() {
            let known = self.received.has_repair(esi);
            return Ok(if known { Added::Duplicate } else { Added::Redundant });
        }
        self.sources.prepare(self.received.count(), size, self.shape.bytes())?;
        // No more than this are kept, so that a vector that doubles to the end would waste memory.
        let most = self.enough + 1 - self.received.count() + self.received.repairs().len();
        reserve(&mut self.repairs, size, most * size)?;
        self.received.reserve(self.repairs.capacity() / size);
        if !self.received.add_repair(esi) {
            return Ok(Added::Duplicate);
        }
        self.repairs.extend_from_slice(symbol);
        Ok(Added::New)
    }

    /// How many different symbols were received and kept.
    pub fn symbols_received(&self) -> usize {
        self.received.count()
    }

    /// How many symbols are missing before a decode can be tried: what K lacks, and after a decode that failed what that
    /// said is needed.
    pub fn symbols_missing(&self) -> u32 {
        if self.is_complete() { 0 } else { self.needed.saturating_sub(self.received.count()) as u32 }
    }

    /// Whether no symbols are [missing](Self::symbols_missing) for a decode to be tried. With K symbols it succeeds with a
    /// probability of about 99 %, with one more 99.99 %, with two 99.9999 %.
    pub fn may_decode(&self) -> bool {
        self.symbols_missing() == 0
    }

    /// Whether all source symbols are there, received or decoded.
    pub fn is_complete(&self) -> bool {
        self.received.source_count() == self.shape.source_symbols
    }

    /// The source symbol with the number `esi`, if it was received or decoded.
    pub fn source_symbol(&self, esi: u32) -> Option<&[u8]> {
        let there = esi < self.shape.source_symbols && self.received.has_source(esi);
        there.then(|| self.sources.symbol(esi, self.shape.symbol_size))
    }

    /// What decoding this block has taken so far, attempts that failed included: the octets that were added or multiplied,
    /// and the entries of sparse rows that were looked at, as 32 each. It depends on nothing but the symbols' ids and size,
    /// the level, and whether the block is the first of a [cached](crate::PlanCache) plan.
    pub fn work(&self) -> u64 {
        self.attempts.work + self.symbols
    }

    /// Recovers the lost symbols, and returns the block.
    ///
    /// # Errors
    ///
    /// [`NotYet`] when the symbols do not suffice. Add more and try again.
    pub fn try_decode(&mut self) -> Result<&[u8], NotYet> {
        let missing = self.symbols_missing();
        if missing > 0 {
            return Err(NotYet { more: missing });
        }
        if !self.is_complete() {
            let arrived = Arrived {
                shape: &self.shape,
                received: &self.received,
                block: self.sources.complete(self.shape.bytes()),
                repairs: &mut self.repairs,
                failed: self.attempts.failed > 0,
                threads: self.threads,
            };
            let (ordinary, count) = (Ordinary::of(&self.shape), self.received.count());
            let mut work = Work { done: self.attempts.work, limit: ordinary.limit(count) };
            let found = self.recovery.run(self.kernels, arrived, &mut work);
            match found {
                Ok(symbols) => (self.attempts.work, self.symbols) = (work.done, symbols),
                Err(deficit) => {
                    if self.shape.source_symbols > KEPT {
                        self.recovery.forget();
                    }
                    let more = self.attempts.fail(ordinary, count, self.most() + SPARE, work.done, deficit);
                    self.expect(count.saturating_add(more as usize));
                    return Err(NotYet { more });
                }
            }
            self.received.complete(self.shape.source_symbols);
        }
        Ok(self.sources.block())
    }

    /// As [`try_decode`](Self::try_decode), and moves the block out, without copying it. The decoder is then as after
    /// [`clear`](Self::clear), but needs new memory for the next block.
    ///
    /// # Errors
    ///
    /// Those of [`try_decode`](Self::try_decode).
    pub fn take_block(&mut self) -> Result<Vec<u8>, NotYet> {
        self.try_decode()?;
        let block = self.sources.take();
        self.forget_symbols();
        Ok(block)
    }

    /// As [`try_decode`](Self::try_decode), and copies the block to `out`.
    ///
    /// # Errors
    ///
    /// [`DecodeError::NotYet`], and [`DecodeError::Block`] when `out` does not have K * T bytes.
    pub fn try_decode_into(&mut self, out: &mut [u8]) -> Result<(), DecodeError> {
        check_length("the block", self.shape.bytes(), out.len())?;
        out.copy_from_slice(self.try_decode()?);
        Ok(())
    }
}
