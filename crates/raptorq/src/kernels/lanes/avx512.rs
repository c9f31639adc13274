//! AVX-512 (F, BW) with GFNI: one register, and multiplication as an 8x8 bit matrix.

use core::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8,
    _mm512_maskz_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_ternarylogic_epi64,
    _mm512_xor_si512,
};

use super::Lane;
use super::affine::MATRICES;

/// 64 bytes in one register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512i);

// SAFETY, for every block below: the trait's callers vouch for the instructions and the pointers.
impl Lane for Avx512 {
    type Factor = __m512i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_setzero_si512() })
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, length: usize) -> Self {
        // SAFETY: see above; masked-out bytes are not read.
        Self(unsafe { _mm512_maskz_loadu_epi8((1 << length) - 1, from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, length: usize) {
        // SAFETY: see above; masked-out bytes are not written.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), (1 << length) - 1, self.0) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        // SAFETY: see above. 0x96 is the truth table of a ^ b ^ c.
        Self(unsafe { _mm512_ternarylogic_epi64::<0x96>(self.0, second.0, third.0) })
    }

    #[inline(always)]
    unsafe fn double(self) -> Self {
        // SAFETY: see above.
        unsafe { self.multiply(Self::factor(2)) }
    }

    #[inline(always)]
    unsafe fn factor(coefficient: u8) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_set1_epi64(MATRICES[coefficient as usize] as i64) }
    }

    #[inline(always)]
    unsafe fn multiply(self, factor: __m512i) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(self.0, factor) })
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u64) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_maskz_set1_epi8(bits, 1) })
    }
}
