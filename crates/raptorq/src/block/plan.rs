//! What all blocks of a K' share.

use core::sync::atomic::{AtomicBool, Ordering};

use super::BlockError;
use crate::kernels::Kernels;
use crate::kernels::program::Sealed;
use crate::rfc::Parameters;
use crate::solve::{Received, Skeleton, Solver, Work};

/// Everything about encoding and decoding that depends on the extended symbol count K' only: the constraint rows, and
/// the program that computes the intermediate symbols of a complete block (RFC 6330 §5.3.3.4).
///
/// A plan is made once and then only read: share it in an `Arc` between threads, encoders, decoders, and all source
/// symbol counts with the same K'.
#[derive(Debug)]
pub struct EncodingPlan {
    pub(crate) skeleton: Skeleton,
    made: Later,
    /// Whether a decoder did without the program.
    spared: AtomicBool,
}

/// The program of a complete block.
#[derive(Debug)]
struct Made {
    program: Sealed,
    /// What making it took, which is about what one of received symbols takes.
    work: u64,
}

impl EncodingPlan {
    /// The plan for blocks of `source_symbols` (K), which is that of K'.
    ///
    /// # Errors
    ///
    /// [`BlockError::SourceSymbols`] unless `source_symbols` is 1 to 56403.
    pub fn generate(source_symbols: u32) -> Result<Self, BlockError> {
        let plan = Self::outline(source_symbols)?;
        plan.program();
        Ok(plan)
    }

    /// As [`generate`](Self::generate), but with `std` the program, which is most of the work, is made when it is first
    /// needed.
    pub(crate) fn outline(source_symbols: u32) -> Result<Self, BlockError> {
        let parameters = Parameters::of(source_symbols).ok_or(BlockError::SourceSymbols { found: source_symbols })?;
        let skeleton = Skeleton::new(parameters);
        Ok(Self { made: Later::new(&skeleton), skeleton, spared: AtomicBool::new(false) })
    }

    /// K': how many symbols a block is extended to.
    pub fn extended_symbols(&self) -> u32 {
        self.skeleton.parameters.k_prime
    }

    /// How much memory the plan takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.skeleton.bytes() + self.made.get().map_or(0, |made| made.program.bytes())
    }

    /// The program that computes the intermediate symbols of a complete block.
    pub(crate) fn program(&self) -> &Sealed {
        &self.made.make(&self.skeleton).program
    }

    /// Whether a decoder that can do without the program should do so: if it is not there, and would be for this block
    /// only. The second block that asks has the program made, and all later ones use it.
    pub(crate) fn spare_program(&self) -> bool {
        self.made.get().is_none() && !self.spared.swap(true, Ordering::Relaxed)
    }

    /// Work, as [`Work`] counts it, to make the program, and octets added to run it over symbols of one octet. While it is
    /// not there, this is an estimate.
    pub(crate) fn ordinary(&self) -> (u64, u64) {
        match self.made.get() {
            Some(made) => (made.work, made.program.work(1)),
            None => self.skeleton.ordinary(),
        }
    }
}

fn make(skeleton: &Skeleton) -> Made {
    let mut solver = Solver::default();
    let mut work = Work::unlimited();
    solver
        .solve(Kernels::best(), skeleton, Received { lost: &[], repairs: &[] }, &mut work)
        .expect("RFC 6330 §5.3.3.4.2: the systematic indices make the rows of every K' independent");
    Made { program: solver.into_program(), work: work.done }
}

/// A program that is made when it is first needed; without `std`, at once.
#[derive(Debug)]
struct Later {
    #[cfg(feature = "std")]
    made: std::sync::OnceLock<Made>,
    #[cfg(not(feature = "std"))]
    made: Made,
}

#[cfg(feature = "std")]
impl Later {
    fn new(_: &Skeleton) -> Self {
        Self { made: std::sync::OnceLock::new() }
    }

    fn get(&self) -> Option<&Made> {
        self.made.get()
    }

    /// If a thread is at it already, this waits for it.
    fn make(&self, skeleton: &Skeleton) -> &Made {
        self.made.get_or_init(|| make(skeleton))
    }
}

#[cfg(not(feature = "std"))]
impl Later {
    fn new(skeleton: &Skeleton) -> Self {
        Self { made: make(skeleton) }
    }

    #[allow(clippy::unnecessary_wraps, reason = "with `std` it may be missing")]
    fn get(&self) -> Option<&Made> {
        Some(&self.made)
    }

    fn make(&self, _: &Skeleton) -> &Made {
        &self.made
    }
}
