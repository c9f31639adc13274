//! What all blocks of a K' share.

use crate::kernels::Kernels;
use crate::kernels::program::Sealed;
use crate::rfc::Parameters;
use crate::solve::{Received, Skeleton, Solver, Work};

use super::BlockError;

/// Everything about encoding and decoding that depends on the extended symbol count K' only: the constraint rows, and
/// the program that computes the intermediate symbols of a complete block (RFC 6330 §5.3.3.4).
///
/// A plan is made once and then only read: share it in an `Arc` between threads, encoders, decoders, and all source
/// symbol counts with the same K'.
#[derive(Debug)]
pub struct EncodingPlan {
    pub(crate) skeleton: Skeleton,
    pub(crate) program: Sealed,
    /// What making the program took, which is about what one of received symbols takes.
    pub(crate) work: u64,
}

impl EncodingPlan {
    /// The plan for blocks of `source_symbols` (K), which is that of K'.
    ///
    /// # Errors
    ///
    /// [`BlockError::SourceSymbols`] unless `source_symbols` is 1 to 56403.
    pub fn generate(source_symbols: u32) -> Result<Self, BlockError> {
        let parameters = Parameters::of(source_symbols).ok_or(BlockError::SourceSymbols { found: source_symbols })?;
        let skeleton = Skeleton::new(parameters);
        let mut solver = Solver::default();
        let mut work = Work::unlimited();
        solver
            .solve(Kernels::best(), &skeleton, Received { lost: &[], repairs: &[] }, &mut work)
            .expect("RFC 6330 §5.3.3.4.2: the systematic indices make the rows of every K' independent");
        Ok(Self { skeleton, program: solver.into_program(), work: work.done })
    }

    /// K': how many symbols a block is extended to.
    pub fn extended_symbols(&self) -> u32 {
        self.skeleton.parameters.k_prime
    }

    /// How much memory the plan takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.skeleton.bytes() + self.program.bytes()
    }
}
