//! Which instruction sets there are, and which one is used.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use thiserror::Error;

use super::Operation;
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
use super::lanes::neon::Neon;
use super::lanes::portable::Portable;
#[cfg(target_arch = "x86_64")]
use super::lanes::{avx2::Avx2, avx2_gfni::Avx2Gfni, avx512::Avx512, ssse3::Ssse3};

/// An instruction set that symbols are combined with.
///
/// Every level gives the same bytes. [`Level::best`] is what codecs use unless told otherwise.
///
/// A level is written and parsed as `portable`, `neon`, `ssse3`, `avx2`, `avx2-gfni` or `avx512`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust on 64-bit words: every processor.
    Portable,
    /// NEON, on 64-bit Arm: 128 bits, multiplication by table look-ups in a register.
    Neon,
    /// SSSE3: 128 bits, multiplication by table look-ups in a register.
    Ssse3,
    /// AVX2: 256 bits, multiplication by table look-ups in a register.
    Avx2,
    /// AVX2 with the Galois field instructions: 256 bits, multiplication in one instruction.
    Avx2Gfni,
    /// AVX-512 (F and BW) with the Galois field instructions: 512 bits, multiplication in one instruction.
    Avx512,
}

/// Why a level cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LevelError {
    /// No level is called that.
    #[error("no instruction set level is called {name:?}; there are {}", Names)]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// This processor lacks the instructions.
    #[error("this processor cannot run level {level}")]
    Unavailable {
        /// What was asked for.
        level: Level,
    },
}

/// The names of all levels, to be listed in a message.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, level) in Level::ALL.iter().enumerate() {
            write!(f, "{}{level}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = LevelError;

    /// The level of that name, whether this processor has it or not.
    fn from_str(name: &str) -> Result<Self, LevelError> {
        let found = Self::ALL.iter().copied().find(|level| level.name() == name);
        found.ok_or_else(|| LevelError::Unknown { name: name.to_owned() })
    }
}

impl Level {
    /// Every level, from the slowest.
    pub const ALL: &'static [Self] =
        &[Self::Portable, Self::Neon, Self::Ssse3, Self::Avx2, Self::Avx2Gfni, Self::Avx512];

    /// The environment variable that forces a level; see [`Level::best`].
    pub const VARIABLE: &str = "ANABRANCH_RAPTORQ_LEVEL";

    /// What it is called in messages, on command lines and in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Ssse3 => "ssse3",
            Self::Avx2 => "avx2",
            Self::Avx2Gfni => "avx2-gfni",
            Self::Avx512 => "avx512",
        }
    }

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
            // NEON belongs to 64-bit Arm; targets without it have another calling convention, and no processor to detect.
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            Self::Neon => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => has!("ssse3"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2Gfni => has!("avx2", "gfni"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has!("avx512f", "avx512bw", "gfni"),
            _ => false,
        }
    }

    /// The levels that this processor has, from the slowest; [`Level::Portable`] is always the first.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.iter().copied().filter(|level| level.is_available())
    }

    /// The level that codecs use unless told otherwise: the one that the environment variable
    /// `ANABRANCH_RAPTORQ_LEVEL` names, else the fastest that this processor has.
    ///
    /// A name that is unknown, or a level that this processor lacks, counts as no name; a program that would rather
    /// complain asks `Level::from_environment`. Without the `std` feature there is no environment.
    pub fn best() -> Self {
        #[cfg(feature = "std")]
        if let Ok(Some(level)) = Self::from_environment() {
            return level;
        }
        Self::available().next_back().unwrap_or(Self::Portable)
    }

    /// The level that `ANABRANCH_RAPTORQ_LEVEL` forces; `None` when it is not set, or empty.
    ///
    /// The variable is read once, at the first call here or of [`Level::best`]; later changes have no effect.
    ///
    /// # Errors
    ///
    /// [`LevelError::Unknown`] when it names no level, [`LevelError::Unavailable`] when it names one that this
    /// processor lacks.
    #[cfg(feature = "std")]
    pub fn from_environment() -> Result<Option<Self>, LevelError> {
        static FORCED: std::sync::OnceLock<Result<Option<Level>, LevelError>> = std::sync::OnceLock::new();
        FORCED.get_or_init(|| Self::from_variable(std::env::var_os(Self::VARIABLE).as_deref())).clone()
    }

    /// What a value of the environment variable forces.
    #[cfg(feature = "std")]
    fn from_variable(value: Option<&std::ffi::OsStr>) -> Result<Option<Self>, LevelError> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
        let level: Self = value.to_string_lossy().parse()?;
        if level.is_available() { Ok(Some(level)) } else { Err(LevelError::Unavailable { level }) }
    }
}

/// The kernels of a level that this processor is known to have.
///
/// A value is the proof that [`Kernels::run`] relies on: the field is private to this module, and everything here that
/// makes one has asked [`Level::is_available`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernels(Level);

impl Kernels {
    /// Those of `level`; `None` when the processor lacks its instructions.
    pub(crate) fn of(level: Level) -> Option<Self> {
        level.is_available().then_some(Self(level))
    }

    /// Those of [`Level::best`].
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
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            // SAFETY: a value of this type exists only where the level's instructions do.
            Level::Neon => unsafe { operation.run::<Neon>() },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Ssse3 => unsafe { run_ssse3(operation) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { run_avx2(operation) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2Gfni => unsafe { run_avx2_gfni(operation) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx512 => unsafe { run_avx512(operation) },
            // SAFETY: needs no particular instructions.
            _ => unsafe { operation.run::<Portable>() },
        }
    }
}

/// Functions that are compiled for a level's instructions, and into which operations are inlined.
#[cfg(target_arch = "x86_64")]
macro_rules! entries {
    ($($name:ident, $lane:ty, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<O: Operation>(operation: O) -> O::Output {
            // SAFETY: the caller vouches for the instructions.
            unsafe { operation.run::<$lane>() }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
entries! {
    run_ssse3, Ssse3, "ssse3";
    run_avx2, Avx2, "avx2";
    run_avx2_gfni, Avx2Gfni, "avx2,gfni";
    run_avx512, Avx512, "avx512f,avx512bw,gfni";
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_refused_with_the_list() {
        for &level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        for name in ["", "AVX512", "avx2_gfni", " avx2", "sse2"] {
            let error = name.parse::<Level>().unwrap_err();
            assert_eq!(error, LevelError::Unknown { name: name.to_owned() });
            let message = error.to_string();
            assert!(message.contains(&alloc::format!("{name:?}")), "{message}");
            assert!(message.ends_with("portable, neon, ssse3, avx2, avx2-gfni, avx512"), "{message}");
        }
    }

    #[test]
    fn kernels_exist_for_available_levels_only() {
        for &level in Level::ALL {
            assert_eq!(Kernels::of(level).map(Kernels::level), level.is_available().then_some(level));
        }
        assert!(Level::Portable.is_available());
        assert_eq!(Level::available().next(), Some(Level::Portable));
        assert!(Kernels::best().level().is_available());
        // No processor has both.
        assert!(!(Level::Neon.is_available() && Level::Ssse3.is_available()));
    }

    #[cfg(feature = "std")]
    #[test]
    fn the_variable_forces_a_level_or_says_why_not() {
        use std::ffi::OsStr;

        assert_eq!(Level::from_variable(None), Ok(None));
        assert_eq!(Level::from_variable(Some(OsStr::new(""))), Ok(None));
        assert_eq!(
            Level::from_variable(Some(OsStr::new("fastest"))),
            Err(LevelError::Unknown { name: "fastest".to_owned() })
        );
        for &level in Level::ALL {
            let expected = if level.is_available() { Ok(Some(level)) } else { Err(LevelError::Unavailable { level }) };
            assert_eq!(Level::from_variable(Some(OsStr::new(level.name()))), expected);
        }
    }

    #[cfg(all(feature = "std", unix))]
    #[test]
    fn a_variable_that_is_not_text_is_an_unknown_name() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        assert!(matches!(
            Level::from_variable(Some(OsStr::from_bytes(b"avx\xff"))),
            Err(LevelError::Unknown { name }) if name == "avx\u{fffd}"
        ));
    }
}
