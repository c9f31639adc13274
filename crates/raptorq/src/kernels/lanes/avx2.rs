//! AVX2: two registers of 32 bytes, and multiplication by look-ups in both halves of each.

use core::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_add_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpgt_epi8,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi64x,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_xor_si256,
};

use super::nibbles::{LookUp, Nibbles};
use super::registers::{Register, Registers};
use crate::rfc::octet::POLYNOMIAL;

/// 64 bytes in two registers.
pub(crate) type Avx2 = Registers<__m256i, Nibbles<__m256i>, 2>;

// SAFETY, for every block below: the trait's callers vouch for the instructions and the pointers.
impl Register for __m256i {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u64) -> Self {
        // Each byte gets the byte of `bits` that its bit is in, keeps that bit, and becomes 1 if it is not zero.
        // SAFETY: see above. The shuffle works within halves, both of which hold all of the 32 bits.
        unsafe {
            let all = _mm256_set1_epi32(bits as i32);
            let bytes = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
            let bit = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
            let kept = _mm256_and_si256(_mm256_shuffle_epi8(all, bytes), bit);
            _mm256_min_epu8(kept, _mm256_set1_epi8(1))
        }
    }
}

// SAFETY, for every block below: the trait's callers vouch for the instructions.
impl LookUp for __m256i {
    #[inline(always)]
    unsafe fn table(entries: &[u8; 16]) -> Self {
        // SAFETY: see above; 16 bytes are readable.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(entries.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn look_up(self, indices: Self) -> Self {
        // SAFETY: see above.
        unsafe { _mm256_shuffle_epi8(self, indices) }
    }

    #[inline(always)]
    unsafe fn low_nibbles(self) -> Self {
        // SAFETY: see above.
        unsafe { _mm256_and_si256(self, _mm256_set1_epi8(0x0f)) }
    }

    #[inline(always)]
    unsafe fn high_nibbles(self) -> Self {
        // There is no shift of bytes; what comes in from the neighbour is cleared.
        // SAFETY: see above.
        unsafe { _mm256_srli_epi16::<4>(self).low_nibbles() }
    }

    #[inline(always)]
    unsafe fn double(self) -> Self {
        // Bytes whose top bit is set are negative; these are reduced.
        // SAFETY: see above.
        unsafe {
            let carry = _mm256_cmpgt_epi8(_mm256_setzero_si256(), self);
            let reduction = _mm256_and_si256(carry, _mm256_set1_epi8(POLYNOMIAL as i8));
            _mm256_xor_si256(_mm256_add_epi8(self, self), reduction)
        }
    }
}
