//! A few repair symbols straight from the block.

use alloc::vec::Vec;

use super::coefficients::RepairCoefficients;
use super::error::ENCODING_SYMBOL_IDS;
use super::{BlockError, EncodingPlan};
use crate::kernels::product::{Inputs, Outputs};
use crate::kernels::{Kernels, Level};
use crate::rfc::Parameters;
use crate::threads::Threads;

/// Makes given repair symbols of any number of blocks without their intermediate symbols, as a dense product.
///
/// Worth it while repair symbols are few: about 20 for 1000 source symbols (see the crate's benchmarks); with more,
/// [`SourceBlockEncoder`](super::SourceBlockEncoder) is faster. The matrix depends on K and on the symbols' ids, not on
/// the data: make it once, share it, use it for every block.
#[derive(Clone, Debug)]
pub struct RepairMatrix {
    kernels: Kernels,
    coefficients: RepairCoefficients,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl RepairMatrix {
    /// For blocks of `source_symbols` (K), and the `count` repair symbols from `first_esi` (at least K) on.
    ///
    /// It takes K * `count` bytes, the latter rounded up to a multiple of 64.
    ///
    /// # Errors
    ///
    /// [`BlockError::SourceSymbols`]; [`BlockError::Plan`] when the plan is not that of K;
    /// [`BlockError::EncodingSymbolId`] when one of the symbols is not a repair symbol; [`BlockError::Count`] when
    /// `count` is not 1 to 1024.
    pub fn new(plan: &EncodingPlan, source_symbols: u32, first_esi: u32, count: u32) -> Result<Self, BlockError> {
        /// Beyond a fraction of this there is no point.
        const MOST: u32 = 1024;
        let parameters = Parameters::of(source_symbols).ok_or(BlockError::SourceSymbols { found: source_symbols })?;
        if parameters.k_prime != plan.extended_symbols() {
            return Err(BlockError::Plan { extended: plan.extended_symbols(), found: source_symbols });
        }
        if !(1..=MOST).contains(&count) {
            return Err(BlockError::Count { most: MOST, found: count });
        }
        let last = u64::from(first_esi) + u64::from(count) - 1;
        if first_esi < source_symbols || last >= u64::from(ENCODING_SYMBOL_IDS) {
            let found = if first_esi < source_symbols { first_esi.into() } else { last };
            return Err(BlockError::EncodingSymbolId { found });
        }
        let kernels = Kernels::best();
        let mut coefficients = RepairCoefficients::default();
        let padding = parameters.k_prime - source_symbols;
        let isis = (0..count as usize).map(|i| first_esi + padding + i as u32);
        coefficients.find(kernels, plan, source_symbols, isis);
        coefficients.shrink();
        Ok(Self { kernels, coefficients, inputs: (0..source_symbols).collect(), outputs: (0..count).collect() })
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

    /// Whose instructions it uses.
    pub fn level(&self) -> Level {
        self.kernels.level()
    }

    /// K: how many source symbols a block has.
    pub fn source_symbols(&self) -> usize {
        self.inputs.len()
    }

    /// How many repair symbols it makes.
    pub fn count(&self) -> usize {
        self.outputs.len()
    }

    /// Writes the repair symbols of `block`, K symbols of `symbol_size` (T) bytes, one after the other to `out`.
    ///
    /// # Errors
    ///
    /// [`BlockError::SymbolSize`], and [`BlockError::Length`] when `block` does not have K * T bytes or `out` not
    /// [`count`](Self::count) * T.
    pub fn encode_into(&self, block: &[u8], symbol_size: usize, out: &mut [u8]) -> Result<(), BlockError> {
        let bytes = |rows: usize| rows.checked_mul(symbol_size).filter(|&bytes| bytes > 0);
        let (Some(source), Some(repair)) = (bytes(self.inputs.len()), bytes(self.outputs.len())) else {
            return Err(BlockError::SymbolSize { found: symbol_size });
        };
        for (what, expected, found) in [("the block", source, block.len()), ("the output", repair, out.len())] {
            if expected != found {
                return Err(BlockError::Length { what, expected, found });
            }
        }
        let inputs = Inputs { symbols: block, rows: &self.inputs };
        let outputs = Outputs { symbols: out, rows: &self.outputs, replace: true };
        self.kernels.product(self.coefficients.all(), inputs, symbol_size, outputs, Threads::default());
        Ok(())
    }
}
