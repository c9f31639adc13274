//! Encoding.

use alloc::sync::Arc;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::num::NonZeroUsize;

use super::error::ENCODING_SYMBOL_IDS;
use super::shape::{Shape, check_length};
use super::{BlockError, EncodingPlan};
use crate::kernels::execute::{Chunk, Emission, Layout, Rows, Task, chunks};
use crate::kernels::program::GatherList;
use crate::kernels::{Kernels, Level};
use crate::solve::row_columns;
use crate::threads::Threads;

/// Encodes one source block after another (RFC 6330 §5.3).
///
/// [`load`](Self::load) computes the intermediate symbols of a block, from which any encoding symbol is the sum of a
/// few. The encoder owns all the memory it needs, and keeps it: the next block of the same shape allocates nothing.
/// It takes little more than the block's size, each symbol counted as a multiple of 256 bytes, or of 64 if it has no more than
/// 128. A clone copies that, and shares the plan.
#[derive(Clone, Debug)]
pub struct SourceBlockEncoder {
    shape: Shape,
    kernels: Kernels,
    threads: Threads,
    /// Lanes of a strip of what is loaded.
    width: usize,
    /// The intermediate symbols, strip by strip.
    area: Vec<Chunk>,
    loaded: bool,
}

impl SourceBlockEncoder {
    /// An encoder for blocks of `source_symbols` (K) symbols of `symbol_size` (T) bytes.
    ///
    /// # Errors
    ///
    /// [`BlockError::SourceSymbols`], [`BlockError::SymbolSize`], and [`BlockError::Plan`] when the plan is not that
    /// of K.
    pub fn new(plan: Arc<EncodingPlan>, source_symbols: u32, symbol_size: usize) -> Result<Self, BlockError> {
        let shape = Shape::new(plan, source_symbols, symbol_size)?;
        Ok(Self {
            shape,
            kernels: Kernels::best(),
            threads: Threads::default(),
            width: 0,
            area: Vec::new(),
            loaded: false,
        })
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

    /// Shares the work on each block among up to `threads` threads, the calling one included, which live as long as a call.
    /// A block that is too small to gain by it has one.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Threads::new(threads);
        self
    }

    pub(crate) fn set_threads(&mut self, threads: Threads) {
        self.threads = threads;
    }

    pub(crate) fn kernels(&self) -> Kernels {
        self.kernels
    }

    pub(crate) fn use_kernels(&mut self, kernels: Kernels) {
        self.kernels = kernels;
    }

    /// Prepares for blocks of another shape. The block loaded before is gone.
    ///
    /// # Errors
    ///
    /// As [`SourceBlockEncoder::new`]; then nothing has changed.
    pub fn reset(
        &mut self,
        plan: Arc<EncodingPlan>,
        source_symbols: u32,
        symbol_size: usize,
    ) -> Result<(), BlockError> {
        self.shape = Shape::new(plan, source_symbols, symbol_size)?;
        self.loaded = false;
        Ok(())
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

    /// Takes a block of K * T bytes, and computes its intermediate symbols. The block itself is not kept.
    ///
    /// # Errors
    ///
    /// [`BlockError::Length`]; the block loaded before is still there then.
    pub fn load(&mut self, block: &[u8]) -> Result<(), BlockError> {
        check_length("the block", self.shape.bytes(), block.len())?;
        let plan = &*self.shape.plan;
        let threads = self.threads.for_work(plan.program().work(self.shape.strips()));
        self.width = self.shape.width(threads);
        let task = Task {
            program: plan.program(),
            hdpc: &plan.skeleton.hdpc,
            symbol_size: self.shape.symbol_size,
            block: Rows::Read(block),
            repairs: Rows::Read(&[]),
            emit: &GatherList::default(),
            emission: Emission::Block,
            width: self.width,
            layout: Layout::Keep,
            threads,
        };
        self.area.resize(chunks(&task), Chunk::ZERO);
        self.kernels.execute(task, &mut self.area);
        self.loaded = true;
        Ok(())
    }

    /// Writes the encoding symbol with the id `esi` (RFC 6330 §5.3.4.2): a source symbol if `esi` is below K, else a
    /// repair symbol.
    ///
    /// # Errors
    ///
    /// [`BlockError::EncodingSymbolId`], [`BlockError::NothingLoaded`], and [`BlockError::Length`] when `out` does not
    /// have T bytes.
    pub fn encode_into(&self, esi: u32, out: &mut [u8]) -> Result<(), BlockError> {
        check_length("the buffer for a symbol", self.shape.symbol_size, out.len())?;
        self.encode_all(esi, out)
    }

    /// Writes the encoding symbols from `first_esi` on, one after the other, as many as `out` has room for: source symbols below
    /// K, repair symbols from there on.
    ///
    /// # Errors
    ///
    /// [`BlockError::EncodingSymbolId`] when one of them has no id, [`BlockError::NothingLoaded`], and
    /// [`BlockError::Length`] when `out` does not have a multiple of T bytes.
    pub fn symbols_into(&self, first_esi: u32, out: &mut [u8]) -> Result<(), BlockError> {
        let whole = out.len() - out.len() % self.shape.symbol_size;
        check_length("the buffer for whole symbols", whole, out.len())?;
        self.encode_all(first_esi, out)
    }

    fn encode_all(&self, first_esi: u32, out: &mut [u8]) -> Result<(), BlockError> {
        let count = (out.len() / self.shape.symbol_size) as u64;
        let last = (u64::from(first_esi) + count).saturating_sub(1);
        if last >= u64::from(ENCODING_SYMBOL_IDS) {
            return Err(BlockError::EncodingSymbolId { found: last });
        }
        if !self.loaded {
            return Err(BlockError::NothingLoaded);
        }
        let parameters = &self.shape.plan.skeleton.parameters;
        for (esi, out) in (first_esi..).zip(out.chunks_exact_mut(self.shape.symbol_size)) {
            // The LT degree is 30 at most, and there are 3 permanently inactive columns at most (RFC 6330 §5.3.5).
            let mut terms = [0; 33];
            let mut count = 0;
            row_columns(parameters, self.shape.isi(esi), |column| {
                terms[count] = column as u16;
                count += 1;
            });
            self.kernels.sum_kept(&terms[..count], &self.area, parameters.l as usize, self.width, out);
        }
        Ok(())
    }
}
