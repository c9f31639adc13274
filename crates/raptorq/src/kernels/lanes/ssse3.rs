//! SSSE3: four registers of 16 bytes, and multiplication by look-ups.

use core::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_and_si128, _mm_cmpgt_epi8, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_min_epu8,
    _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi64x, _mm_setzero_si128, _mm_shuffle_epi8, _mm_srli_epi16,
    _mm_storeu_si128, _mm_xor_si128,
};

use super::nibbles::{LookUp, Nibbles};
use super::registers::{Register, Registers};
use crate::rfc::octet::POLYNOMIAL;

/// 64 bytes in four registers.
pub(crate) type Ssse3 = Registers<__m128i, Nibbles<__m128i>, 4>;

// SAFETY, for every block below: the trait's callers vouch for the instructions and the pointers.
impl Register for __m128i {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u64) -> Self {
        // Each byte gets the byte of `bits` that its bit is in, keeps that bit, and becomes 1 if it is not zero.
        // SAFETY: see above.
        unsafe {
            let all = _mm_cvtsi32_si128(bits as i32);
            let bytes = _mm_set_epi64x(0x0101_0101_0101_0101, 0);
            let bit = _mm_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
            let kept = _mm_and_si128(_mm_shuffle_epi8(all, bytes), bit);
            _mm_min_epu8(kept, _mm_set1_epi8(1))
        }
    }
}

// SAFETY, for every block below: the trait's callers vouch for the instructions.
impl LookUp for __m128i {
    #[inline(always)]
    unsafe fn table(entries: &[u8; 16]) -> Self {
        // SAFETY: see above; 16 bytes are readable.
        unsafe { _mm_loadu_si128(entries.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn look_up(self, indices: Self) -> Self {
        // SAFETY: see above.
        unsafe { _mm_shuffle_epi8(self, indices) }
    }

    #[inline(always)]
    unsafe fn low_nibbles(self) -> Self {
        // SAFETY: see above.
        unsafe { _mm_and_si128(self, _mm_set1_epi8(0x0f)) }
    }

    #[inline(always)]
    unsafe fn high_nibbles(self) -> Self {
        // There is no shift of bytes; what comes in from the neighbour is cleared.
        // SAFETY: see above.
        unsafe { _mm_srli_epi16::<4>(self).low_nibbles() }
    }

    #[inline(always)]
    unsafe fn double(self) -> Self {
        // Bytes whose top bit is set are negative; these are reduced.
        // SAFETY: see above.
        unsafe {
            let carry = _mm_cmpgt_epi8(_mm_setzero_si128(), self);
            let reduction = _mm_and_si128(carry, _mm_set1_epi8(POLYNOMIAL as i8));
            _mm_xor_si128(_mm_add_epi8(self, self), reduction)
        }
    }
}
