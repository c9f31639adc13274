//! Multiplication by a constant with two look-ups in tables of 16 bytes, which are held in registers.
//!
//! Multiplication distributes over the exclusive or, so a product is that of the operand's low four bits plus that of
//! its high four bits, and each of these takes 16 values (Plank, Greenan and Miller, "Screaming Fast Galois Field
//! Arithmetic Using Intel SIMD Instructions", FAST 2013).

use super::registers::{Multiplier, Register};
use crate::rfc::octet::multiply;

/// A register whose instruction set looks up 16 bytes at once in a table of 16.
///
/// # Safety
///
/// As for [`Lane`](super::Lane).
pub(crate) trait LookUp: Register {
    /// The table `entries`, as often as the register holds it.
    unsafe fn table(entries: &[u8; 16]) -> Self;

    /// For each of `indices`, all below 16, the entry of this table.
    unsafe fn look_up(self, indices: Self) -> Self;

    /// The low four bits of each byte.
    unsafe fn low_nibbles(self) -> Self;

    /// The high four bits of each byte.
    unsafe fn high_nibbles(self) -> Self;

    /// Every byte times 2.
    unsafe fn double(self) -> Self;
}

/// The products of a constant with the 16 low and with the 16 high nibbles.
#[derive(Clone, Copy)]
pub(crate) struct Nibbles<R> {
    low: R,
    high: R,
}

/// What [`Nibbles`] is made of; aligned so that a coefficient's tables share a cache line.
#[repr(align(32))]
struct Products {
    low: [u8; 16],
    high: [u8; 16],
}

static PRODUCTS: [Products; 256] = {
    let mut products = [const { Products { low: [0; 16], high: [0; 16] } }; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            products[coefficient].low[nibble] = multiply(coefficient as u8, nibble as u8);
            products[coefficient].high[nibble] = multiply(coefficient as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        coefficient += 1;
    }
    products
};

// SAFETY, for every block below: the trait's callers vouch for the instructions.
impl<R: LookUp> Multiplier<R> for Nibbles<R> {
    #[inline(always)]
    unsafe fn new(coefficient: u8) -> Self {
        let products = &PRODUCTS[coefficient as usize];
        // SAFETY: see above.
        unsafe { Self { low: R::table(&products.low), high: R::table(&products.high) } }
    }

    #[inline(always)]
    unsafe fn multiply(self, register: R) -> R {
        // SAFETY: see above.
        unsafe { self.low.look_up(register.low_nibbles()).xor(self.high.look_up(register.high_nibbles())) }
    }

    #[inline(always)]
    unsafe fn double(register: R) -> R {
        // SAFETY: see above.
        unsafe { register.double() }
    }
}
