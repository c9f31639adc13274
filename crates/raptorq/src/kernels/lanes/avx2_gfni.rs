//! AVX2 with GFNI, for processors that have the Galois field instructions but no AVX-512: the registers of AVX2, and
//! multiplication as an 8x8 bit matrix.

use core::arch::x86_64::{__m256i, _mm256_gf2p8affine_epi64_epi8, _mm256_set1_epi64x};

use super::affine::MATRICES;
use super::registers::{Multiplier, Registers};

/// 64 bytes in two registers.
pub(crate) type Avx2Gfni = Registers<__m256i, Affine, 2>;

/// The constant's matrix, once for each 8 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Affine(__m256i);

// SAFETY, for every block below: the trait's callers vouch for the instructions.
impl Multiplier<__m256i> for Affine {
    #[inline(always)]
    unsafe fn new(coefficient: u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_set1_epi64x(MATRICES[coefficient as usize] as i64) })
    }

    #[inline(always)]
    unsafe fn multiply(self, register: __m256i) -> __m256i {
        // SAFETY: see above.
        unsafe { _mm256_gf2p8affine_epi64_epi8::<0>(register, self.0) }
    }

    #[inline(always)]
    unsafe fn double(register: __m256i) -> __m256i {
        // SAFETY: see above.
        unsafe { Self::new(2).multiply(register) }
    }
}
