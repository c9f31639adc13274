//! Arithmetic on byte slices of any length and alignment, for rows of small matrices and codes without a plan.
//!
//! Slices that are combined have equal lengths; it is a mistake of this crate if they do not, and a panic.

use super::{Kernels, LANE, Lane, Operation};

impl Kernels {
    /// Adds `source` to `target`.
    pub(crate) fn xor_into(self, target: &mut [u8], source: &[u8]) {
        self.run(XorInto { target, source });
    }

    /// Adds `coefficient` times `source` to `target`.
    pub(crate) fn multiply_add(self, target: &mut [u8], source: &[u8], coefficient: u8) {
        match coefficient {
            0 => {}
            1 => self.xor_into(target, source),
            _ => self.run(MultiplyAdd { target, source, coefficient }),
        }
    }

    /// Multiplies `target` by `coefficient`.
    pub(crate) fn multiply(self, target: &mut [u8], coefficient: u8) {
        match coefficient {
            0 => target.fill(0),
            1 => {}
            _ => self.run(Multiply { target, coefficient }),
        }
    }
}

struct XorInto<'a> {
    target: &'a mut [u8],
    source: &'a [u8],
}

struct MultiplyAdd<'a> {
    target: &'a mut [u8],
    source: &'a [u8],
    coefficient: u8,
}

struct Multiply<'a> {
    target: &'a mut [u8],
    coefficient: u8,
}

impl Operation for XorInto<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let length = self.source.len();
        assert_eq!(self.target.len(), length);
        // SAFETY: the caller vouches for the instructions; both slices have `length` bytes.
        unsafe { replace::<V, _>(self.target.as_mut_ptr(), self.source.as_ptr(), length, Sum) }
    }
}

impl Operation for MultiplyAdd<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let length = self.source.len();
        assert_eq!(self.target.len(), length);
        // SAFETY: the caller vouches for the instructions; both slices have `length` bytes.
        unsafe {
            let function = SumWithProduct::<V>(V::factor(self.coefficient));
            replace::<V, _>(self.target.as_mut_ptr(), self.source.as_ptr(), length, function);
        }
    }
}

impl Operation for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let (target, length) = (self.target.as_mut_ptr(), self.target.len());
        // SAFETY: the caller vouches for the instructions; the slice has `length` bytes.
        unsafe { replace::<V, _>(target, target, length, Product::<V>(V::factor(self.coefficient))) }
    }
}

/// What [`replace`] replaces a lane of the target with. A trait rather than a closure, for a closure cannot be forced
/// to be inlined.
///
/// # Safety
///
/// As for [`Lane`].
trait Function<V: Lane>: Copy {
    unsafe fn of(self, target: V, source: V) -> V;
}

#[derive(Clone, Copy)]
struct Sum;

#[derive(Clone, Copy)]
struct SumWithProduct<V: Lane>(V::Factor);

#[derive(Clone, Copy)]
struct Product<V: Lane>(V::Factor);

impl<V: Lane> Function<V> for Sum {
    #[inline(always)]
    unsafe fn of(self, target: V, source: V) -> V {
        // SAFETY: passed on.
        unsafe { target.xor(source) }
    }
}

impl<V: Lane> Function<V> for SumWithProduct<V> {
    #[inline(always)]
    unsafe fn of(self, target: V, source: V) -> V {
        // SAFETY: passed on.
        unsafe { target.xor(source.multiply(self.0)) }
    }
}

impl<V: Lane> Function<V> for Product<V> {
    #[inline(always)]
    unsafe fn of(self, _: V, source: V) -> V {
        // SAFETY: passed on.
        unsafe { source.multiply(self.0) }
    }
}

/// Replaces the `length` bytes at `target` by `function` of themselves and those at `source`.
///
/// # Safety
///
/// As for [`Lane`]; `length` bytes can be read at both pointers and written at `target`. The two are the same or do not
/// overlap.
#[inline(always)]
unsafe fn replace<V: Lane, F: Function<V>>(target: *mut u8, source: *const u8, length: usize, function: F) {
    let rest = length % LANE;
    let whole = length - rest;
    let mut at = 0;
    while at < whole {
        // SAFETY: `at` and the 63 bytes after it are below `length`; the rest is passed on.
        unsafe {
            let (to, from) = (target.add(at), source.add(at));
            function.of(V::load(to), V::load(from)).store(to);
        }
        at += LANE;
    }
    if rest > 0 {
        // SAFETY: `rest` bytes, 1 to 63, remain after `whole`; the rest is passed on.
        unsafe {
            let (to, from) = (target.add(whole), source.add(whole));
            function.of(V::load_part(to, rest), V::load_part(from, rest)).store_part(to, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::vec::Vec;
    use alloc::{format, vec};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::kernels::lanes::testing::{bytes, each_kernels};
    use crate::rfc::octet;

    /// Lengths on both sides of a lane's end, and some of many lanes.
    fn lengths() -> Vec<usize> {
        if cfg!(miri) { vec![0, 1, 15, 63, 64, 65, 130] } else { (0..200).chain([1279, 1280, 1500]).collect() }
    }

    /// Coefficients for slices of `length` bytes: all of them at some lengths, and some of them at all lengths.
    fn coefficients(length: usize) -> impl Iterator<Item = u8> {
        let all = if cfg!(miri) { length == 1 } else { [63, 127, 1500].contains(&length) };
        let step = if all { 1 } else { 61 };
        [0, 1, 2, 255].into_iter().chain((length % step..256).step_by(step).map(|coefficient| coefficient as u8))
    }

    /// Runs `change` on a slice at each of several offsets in a larger buffer, and compares the slice with `expected`
    /// and the bytes around it with what they were.
    fn check(before: &[u8], expected: &[u8], what: &str, change: impl Fn(&mut [u8])) {
        const AROUND: usize = 70;
        for offset in [0, 1, 8, 33] {
            let slice = AROUND + offset..AROUND + offset + before.len();
            let mut buffer = vec![0xa5; slice.end + AROUND];
            buffer[slice.clone()].copy_from_slice(before);
            change(&mut buffer[slice.clone()]);
            assert_eq!(&buffer[slice.clone()], expected, "{what}, offset {offset}");
            let around = [&buffer[..slice.start], &buffer[slice.end..]].concat();
            assert_eq!(around, vec![0xa5; around.len()], "{what}, offset {offset}: around the slice");
        }
    }

    #[test]
    fn sums_are_those_of_bytes() {
        each_kernels(|kernels| {
            for length in lengths() {
                let (target, source) = (bytes(1, length), bytes(2, length));
                let expected: Vec<u8> = target.iter().zip(&source).map(|(a, b)| a ^ b).collect();
                let what = format!("{}, {length} bytes", kernels.level());
                check(&target, &expected, &what, |target| kernels.xor_into(target, &source));
            }
        });
    }

    #[test]
    fn products_are_those_of_the_rfc_for_all_coefficients_and_lengths() {
        each_kernels(|kernels| {
            for length in lengths() {
                let (target, source) = (bytes(1, length), bytes(2, length));
                for coefficient in coefficients(length) {
                    let what = format!("{}, {length} bytes, coefficient {coefficient}", kernels.level());
                    let product: Vec<u8> = source.iter().map(|&b| octet::multiply(coefficient, b)).collect();
                    check(&source, &product, &what, |target| kernels.multiply(target, coefficient));
                    let sum: Vec<u8> = target.iter().zip(&product).map(|(a, b)| a ^ b).collect();
                    check(&target, &sum, &what, |target| kernels.multiply_add(target, &source, coefficient));
                }
            }
        });
    }

    #[test]
    fn a_source_may_lie_anywhere() {
        each_kernels(|kernels| {
            let source = bytes(3, 300);
            for offset in (0..70).step_by(if cfg!(miri) { 23 } else { 1 }) {
                let mut target = bytes(4, 200);
                let expected: Vec<u8> =
                    target.iter().zip(&source[offset..]).map(|(a, &b)| a ^ octet::multiply(0xb7, b)).collect();
                kernels.multiply_add(&mut target, &source[offset..offset + 200], 0xb7);
                assert_eq!(target, expected, "{}, offset {offset}", kernels.level());
            }
        });
    }

    #[test]
    fn slices_of_different_lengths_are_refused() {
        each_kernels(|kernels| {
            for (target, source) in [(64, 65), (65, 64), (0, 1)] {
                let (mut target, source) = (bytes(1, target), bytes(2, source));
                let refused = catch_unwind(AssertUnwindSafe(|| kernels.xor_into(&mut target, &source)));
                assert!(refused.is_err(), "{}", kernels.level());
                let refused = catch_unwind(AssertUnwindSafe(|| kernels.multiply_add(&mut target, &source, 3)));
                assert!(refused.is_err(), "{}", kernels.level());
            }
        });
    }
}
