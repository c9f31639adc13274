//! 64 bytes of a symbol in registers, one implementation an instruction set.

#[cfg(target_arch = "x86_64")]
mod affine;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2_gfni;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub(crate) mod neon;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")))]
mod nibbles;
pub(crate) mod portable;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")))]
mod registers;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ssse3;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

/// 64 bytes in registers, and GF(256) arithmetic on them.
///
/// All methods are `#[inline(always)]` and are called only from functions compiled for the instructions of the
/// implementation. The polynomial is that of RFC 6330 §5.7.
///
/// # Safety
///
/// Every method needs a processor with the instructions of the implementation. The pointers of `load` and `store` need
/// no alignment.
pub(crate) trait Lane: Copy {
    /// A constant to multiply with, in the form that [`Lane::multiply`] wants.
    type Factor: Copy;

    /// 64 zero bytes.
    unsafe fn zero() -> Self;

    /// The 64 bytes at `from`, all of which are readable.
    unsafe fn load(from: *const u8) -> Self;

    /// The first `length` (1 to 63) bytes at `from`, then zeros. No other byte is read.
    unsafe fn load_part(from: *const u8, length: usize) -> Self;

    /// Writes all 64 bytes.
    unsafe fn store(self, to: *mut u8);

    /// Writes the first `length` (1 to 63) bytes and no other.
    unsafe fn store_part(self, to: *mut u8, length: usize);

    /// The sum, which in this field is the exclusive or.
    unsafe fn xor(self, other: Self) -> Self;

    /// The sum of three.
    unsafe fn xor3(self, second: Self, third: Self) -> Self;

    /// Every byte times 2.
    unsafe fn double(self) -> Self;

    /// Prepares a multiplication by `coefficient`.
    unsafe fn factor(coefficient: u8) -> Self::Factor;

    /// Every byte times the factor's coefficient.
    unsafe fn multiply(self, factor: Self::Factor) -> Self;

    /// Byte `i` is bit `i` of `bits`: 0 or 1.
    unsafe fn from_bits(bits: u64) -> Self;
}

/// [`Lane::load_part`] for instruction sets without masked loads.
#[inline(always)]
#[allow(dead_code, reason = "not every architecture has such a level")]
pub(crate) unsafe fn load_part_by_copy<V: Lane>(from: *const u8, length: usize) -> V {
    let mut bytes = [0u8; 64];
    // SAFETY: the caller vouches for `length` readable bytes, and `length` is below 64.
    unsafe {
        copy_part(from, bytes.as_mut_ptr(), length);
        V::load(bytes.as_ptr())
    }
}

/// [`Lane::store_part`] for instruction sets without masked stores.
#[inline(always)]
#[allow(dead_code, reason = "not every architecture has such a level")]
pub(crate) unsafe fn store_part_by_copy<V: Lane>(lane: V, to: *mut u8, length: usize) {
    let mut bytes = [0u8; 64];
    // SAFETY: the caller vouches for `length` writable bytes, and `length` is below 64.
    unsafe {
        lane.store(bytes.as_mut_ptr());
        copy_part(bytes.as_ptr(), to, length);
    }
}

/// Copies `length` (1 to 63) bytes in pieces of fixed sizes: all symbols of a block end with the same part, so that the
/// branches are foreseen, and a call of `memcpy` would cost more than the copy.
///
/// # Safety
///
/// `length` is below 64, and so many bytes are readable at `from` and writable at `to`, which do not overlap.
#[inline(always)]
unsafe fn copy_part(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: passed on.
    unsafe {
        copy_piece::<32>(from, to, length);
        copy_piece::<16>(from, to, length);
        copy_piece::<8>(from, to, length);
        copy_piece::<4>(from, to, length);
        copy_piece::<2>(from, to, length);
        copy_piece::<1>(from, to, length);
    }
}

/// Copies the piece of `N` bytes that comes after the larger ones, if `length` has one.
///
/// # Safety
///
/// As for [`copy_part`]; `N` is a power of two.
#[inline(always)]
unsafe fn copy_piece<const N: usize>(from: *const u8, to: *mut u8, length: usize) {
    if length & N != 0 {
        let larger = length & !(2 * N - 1);
        // SAFETY: the larger pieces and this one are among the `length` bytes.
        unsafe { from.add(larger).cast::<[u8; N]>().copy_to_nonoverlapping(to.add(larger).cast(), 1) }
    }
}
