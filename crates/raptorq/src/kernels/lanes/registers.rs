//! A lane out of several registers, for the instruction sets whose registers are narrower than 64 bytes.
//!
//! An instruction set says what it does with one [`Register`]; a [`Multiplier`] says how it multiplies. [`Registers`]
//! makes a [`Lane`] of them. Loops instead of closures, here and in the implementations: a closure is a function of its
//! own, compiled without the instructions of the level, and relies on the optimiser's goodwill to be inlined.

use core::marker::PhantomData;

use super::{Lane, load_part_by_copy, store_part_by_copy};

/// Bytes in one register.
///
/// # Safety
///
/// As for [`Lane`].
pub(crate) trait Register: Copy {
    /// How many bytes.
    const BYTES: usize;

    /// Zero bytes.
    unsafe fn zero() -> Self;

    /// The [`Self::BYTES`] bytes at `from`.
    unsafe fn load(from: *const u8) -> Self;

    /// Writes [`Self::BYTES`] bytes.
    unsafe fn store(self, to: *mut u8);

    /// The exclusive or.
    unsafe fn xor(self, other: Self) -> Self;

    /// Byte `i` is bit `i` of `bits`: 0 or 1. Bits from [`Self::BYTES`] on mean nothing.
    unsafe fn from_bits(bits: u64) -> Self;
}

/// Multiplication of a register's bytes by one constant; a value is the constant, prepared.
///
/// # Safety
///
/// As for [`Lane`].
pub(crate) trait Multiplier<R>: Copy {
    /// Prepares a multiplication by `coefficient`.
    unsafe fn new(coefficient: u8) -> Self;

    /// Every byte times the coefficient.
    unsafe fn multiply(self, register: R) -> R;

    /// Every byte times 2.
    unsafe fn double(register: R) -> R;
}

/// 64 bytes in `N` registers, multiplied by way of `M`.
#[derive(Clone, Copy)]
pub(crate) struct Registers<R, M, const N: usize>([R; N], PhantomData<M>);

impl<R: Register, M: Multiplier<R>, const N: usize> Registers<R, M, N> {
    const FILLS_A_LANE: () = assert!(N * R::BYTES == super::super::LANE && size_of::<R>() == R::BYTES);

    #[inline(always)]
    unsafe fn all_zero() -> Self {
        const { Self::FILLS_A_LANE };
        // SAFETY: the caller vouches for the instructions.
        Self(unsafe { [R::zero(); N] }, PhantomData)
    }
}

// SAFETY, for every block below: the trait's callers vouch for the instructions and the pointers; `N * R::BYTES` is 64.
impl<R: Register, M: Multiplier<R>, const N: usize> Lane for Registers<R, M, N> {
    type Factor = M;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Self::all_zero() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        unsafe {
            let mut lane = Self::all_zero();
            for i in 0..N {
                lane.0[i] = R::load(from.add(i * R::BYTES));
            }
            lane
        }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, length: usize) -> Self {
        // SAFETY: see above.
        unsafe { load_part_by_copy(from, length) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        for i in 0..N {
            // SAFETY: see above.
            unsafe { self.0[i].store(to.add(i * R::BYTES)) }
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, length: usize) {
        // SAFETY: see above.
        unsafe { store_part_by_copy(self, to, length) }
    }

    #[inline(always)]
    unsafe fn xor(mut self, other: Self) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { self.0[i].xor(other.0[i]) };
        }
        self
    }

    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        // SAFETY: see above.
        unsafe { self.xor(second).xor(third) }
    }

    #[inline(always)]
    unsafe fn double(mut self) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { M::double(self.0[i]) };
        }
        self
    }

    #[inline(always)]
    unsafe fn factor(coefficient: u8) -> M {
        // SAFETY: see above.
        unsafe { M::new(coefficient) }
    }

    #[inline(always)]
    unsafe fn multiply(mut self, factor: M) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { factor.multiply(self.0[i]) };
        }
        self
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u64) -> Self {
        // SAFETY: see above.
        unsafe {
            let mut lane = Self::all_zero();
            for i in 0..N {
                lane.0[i] = R::from_bits(bits >> (i * R::BYTES));
            }
            lane
        }
    }
}
