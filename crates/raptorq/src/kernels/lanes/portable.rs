//! Plain Rust: eight words of 64 bits. The other levels are tested against this one.

use super::Lane;
use crate::rfc::octet::{EXP, LOG};

/// 64 bytes as eight words.
#[derive(Clone, Copy)]
pub(crate) struct Portable([u64; 8]);

/// A byte in each byte of a word.
const fn every(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

/// `word` with each byte times 2: shift all, and reduce those bytes whose top bit was set.
#[inline(always)]
fn double(word: u64) -> u64 {
    let carry = (word & every(0x80)) >> 7;
    ((word & every(0x7f)) << 1) ^ (carry * 0x1d)
}

impl Lane for Portable {
    /// For each bit of the multiplicand, what that bit contributes.
    type Factor = [u64; 8];

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([0; 8])
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller vouches for 64 readable bytes; arrays of bytes need no alignment.
        let bytes = unsafe { &*from.cast::<[[u8; 8]; 8]>() };
        Self(core::array::from_fn(|i| u64::from_ne_bytes(bytes[i])))
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, length: usize) -> Self {
        // SAFETY: passed on.
        unsafe { super::load_part_by_copy(from, length) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller vouches for 64 writable bytes; arrays of bytes need no alignment.
        let bytes = unsafe { &mut *to.cast::<[[u8; 8]; 8]>() };
        for (bytes, word) in bytes.iter_mut().zip(self.0) {
            *bytes = word.to_ne_bytes();
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, length: usize) {
        // SAFETY: passed on.
        unsafe { super::store_part_by_copy(self, to, length) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] ^ second.0[i] ^ third.0[i]))
    }

    #[inline(always)]
    unsafe fn double(self) -> Self {
        Self(self.0.map(double))
    }

    #[inline(always)]
    unsafe fn factor(coefficient: u8) -> [u64; 8] {
        core::array::from_fn(|bit| {
            if coefficient == 0 { 0 } else { u64::from(EXP[LOG[coefficient as usize] as usize + bit]) }
        })
    }

    #[inline(always)]
    unsafe fn multiply(self, factor: [u64; 8]) -> Self {
        Self(self.0.map(|word| (0..8).fold(0, |product, bit| product ^ ((word >> bit & every(1)) * factor[bit]))))
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u64) -> Self {
        // Each byte of a word gets all eight bits and keeps its own; adding 127 carries a kept bit into the top one.
        const OWN: u64 = u64::from_ne_bytes([1, 2, 4, 8, 16, 32, 64, 128]);
        Self(bits.to_le_bytes().map(|bits| ((every(bits) & OWN) + every(0x7f)) >> 7 & every(1)))
    }
}
