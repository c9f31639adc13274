//! Which instruction sets there are, and which one is used.

use super::Operation;
#[cfg(target_arch = "x86_64")]
use super::lanes::avx512::Avx512;
use super::lanes::portable::Portable;

/// An instruction set that symbols are combined with.
///
/// Every level gives the same bytes. [`Level::best`] is what codecs use unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust on 64-bit words: every processor.
    Portable,
    /// NEON, on AArch64.
    Neon,
    /// SSSE3: 128 bits, multiplication by table look-ups in a register.
    Ssse3,
    /// AVX2: 256 bits, multiplication by table look-ups in a register.
    Avx2,
    /// AVX2 with the Galois field instructions: 256 bits, multiplication in one instruction.
    Avx2Gfni,
    /// AVX-512 with the Galois field instructions: 512 bits, multiplication in one instruction.
    Avx512,
}

impl Level {
    /// Every level, from the slowest.
    pub const ALL: [Self; 6] = [Self::Portable, Self::Neon, Self::Ssse3, Self::Avx2, Self::Avx2Gfni, Self::Avx512];

    /// Whether this processor has the level's instructions.
    ///
    /// Without the `std` feature that is what the crate was compiled for (`-C target-feature`), for the core library
    /// cannot ask the processor.
    pub fn is_available(self) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        macro_rules! has {
            ($($feature:tt),*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
        }
        #[cfg(all(target_arch = "x86_64", not(feature = "std")))]
        macro_rules! has {
            ($($feature:tt),*) => { $(cfg!(target_feature = $feature))&&* };
        }
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has!("avx512f", "avx512bw", "gfni"),
            _ => false,
        }
    }

    /// The fastest level that this processor has.
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Self::Portable)
    }
}

/// The kernels of a level that this processor is known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernels(Level);

impl Kernels {
    /// Those of `level`; `None` when the processor lacks its instructions.
    pub(crate) fn of(level: Level) -> Option<Self> {
        level.is_available().then_some(Self(level))
    }

    /// The fastest here.
    pub(crate) fn best() -> Self {
        Self(Level::best())
    }

    /// Which level's they are.
    pub(crate) fn level(self) -> Level {
        self.0
    }

    /// Does `operation` with them.
    #[inline]
    pub(crate) fn run<O: Operation>(self, operation: O) -> O::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type exists only where the level's instructions do.
            Level::Avx512 => unsafe { run_avx512(operation) },
            // SAFETY: needs no particular instructions.
            _ => unsafe { operation.run::<Portable>() },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn run_avx512<O: Operation>(operation: O) -> O::Output {
    // SAFETY: the caller vouches for the instructions.
    unsafe { operation.run::<Avx512>() }
}
