//! NEON: four registers of 16 bytes, and multiplication by look-ups.

use core::arch::aarch64::{
    uint8x16_t, vandq_u8, vcltzq_s8, vcombine_u8, vdup_n_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8,
    vreinterpretq_s8_u8, vshlq_n_u8, vshrq_n_u8, vst1q_u8, vtstq_u8,
};

use super::nibbles::{LookUp, Nibbles};
use super::registers::{Register, Registers};
use crate::rfc::octet::POLYNOMIAL;

/// 64 bytes in four registers.
pub(crate) type Neon = Registers<uint8x16_t, Nibbles<uint8x16_t>, 4>;

/// Which bit of its byte each element of a register stands for.
static BIT: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

// SAFETY, for every block below: the trait's callers vouch for the instructions and the pointers.
impl Register for uint8x16_t {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { vdupq_n_u8(0) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        unsafe { vld1q_u8(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { vst1q_u8(to, self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { veorq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u64) -> Self {
        // Each byte gets the byte of `bits` that its bit is in, and becomes 1 if that bit is set.
        // SAFETY: see above; 16 bytes of `BIT` are readable.
        unsafe {
            let bytes = vcombine_u8(vdup_n_u8(bits as u8), vdup_n_u8((bits >> 8) as u8));
            vandq_u8(vtstq_u8(bytes, vld1q_u8(BIT.as_ptr())), vdupq_n_u8(1))
        }
    }
}

// SAFETY, for every block below: the trait's callers vouch for the instructions.
impl LookUp for uint8x16_t {
    #[inline(always)]
    unsafe fn table(entries: &[u8; 16]) -> Self {
        // SAFETY: see above; 16 bytes are readable.
        unsafe { vld1q_u8(entries.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn look_up(self, indices: Self) -> Self {
        // SAFETY: see above.
        unsafe { vqtbl1q_u8(self, indices) }
    }

    #[inline(always)]
    unsafe fn low_nibbles(self) -> Self {
        // SAFETY: see above.
        unsafe { vandq_u8(self, vdupq_n_u8(0x0f)) }
    }

    #[inline(always)]
    unsafe fn high_nibbles(self) -> Self {
        // SAFETY: see above.
        unsafe { vshrq_n_u8::<4>(self) }
    }

    #[inline(always)]
    unsafe fn double(self) -> Self {
        // Bytes whose top bit is set are negative; these are reduced.
        // SAFETY: see above.
        unsafe {
            let carry = vcltzq_s8(vreinterpretq_s8_u8(self));
            veorq_u8(vshlq_n_u8::<1>(self), vandq_u8(carry, vdupq_n_u8(POLYNOMIAL)))
        }
    }
}
