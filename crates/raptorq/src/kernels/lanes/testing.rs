//! What the tests of the kernels share.

// The crate itself may be compiled without it; its tests run where there is one.
extern crate std;

use alloc::vec::Vec;

use super::super::{Kernels, Level};

/// Does `test` with the kernels of every level of this processor, and says which levels it lacks.
pub(crate) fn each_kernels(test: impl Fn(Kernels)) {
    for &level in Level::ALL {
        match Kernels::of(level) {
            Some(kernels) => test(kernels),
            None => std::eprintln!("not tested: level {level} is not available here"),
        }
    }
}

/// `length` bytes without a pattern, others for each `seed`.
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..length).map(|_| next() as u8).collect()
}
