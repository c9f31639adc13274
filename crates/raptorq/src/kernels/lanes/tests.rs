//! Every level against the portable one, bit for bit, and the portable one against the arithmetic of the RFC.

use alloc::vec;
use alloc::vec::Vec;

use super::super::{Kernels, LANE, Level, Operation};
use super::Lane;
use super::testing::{bytes, each_kernels};
use crate::rfc::octet;

type Bytes = [u8; LANE];

fn portable() -> Kernels {
    Kernels::of(Level::Portable).expect("every processor has it")
}

/// 64 bytes without a pattern.
fn random(seed: u64) -> Bytes {
    bytes(seed, LANE).try_into().expect("as many as asked for")
}

/// The 256 values of a byte, in four lanes.
fn every_byte() -> [Bytes; 4] {
    core::array::from_fn(|i| core::array::from_fn(|j| (LANE * i + j) as u8))
}

/// All coefficients; under an interpreter, which is a thousand times slower, each bit and the extremes.
fn coefficients() -> impl Iterator<Item = u8> {
    (0..=255u8)
        .filter(|coefficient| !cfg!(miri) || coefficient.is_power_of_two() || [0, 0x1d, 255].contains(coefficient))
}

/// Where a part starts within other bytes: every alignment, or some.
fn offsets() -> impl Iterator<Item = usize> {
    (0..LANE).step_by(if cfg!(miri) { 17 } else { 1 })
}

/// The bytes of `lane`.
///
/// # Safety
///
/// As for [`Lane`].
#[inline(always)]
unsafe fn stored<V: Lane>(lane: V) -> Bytes {
    let mut bytes = [0xa5; LANE];
    // SAFETY: passed on; there is room for a lane.
    unsafe { lane.store(bytes.as_mut_ptr()) };
    bytes
}

/// Everything that needs no coefficient.
struct Sums<'a>(&'a [Bytes; 3]);

#[derive(PartialEq, Debug)]
struct SumsOut {
    zero: Bytes,
    copy: Bytes,
    xor: Bytes,
    xor3: Bytes,
    double: Bytes,
}

impl Operation for Sums<'_> {
    type Output = SumsOut;

    #[inline(always)]
    unsafe fn run<V: Lane>(self) -> SumsOut {
        // SAFETY: the caller vouches for the instructions, the type for the lengths.
        unsafe {
            let [a, b, c] = self.0;
            let (a, b, c) = (V::load(a.as_ptr()), V::load(b.as_ptr()), V::load(c.as_ptr()));
            SumsOut {
                zero: stored(V::zero()),
                copy: stored(a),
                xor: stored(a.xor(b)),
                xor3: stored(a.xor3(b, c)),
                double: stored(a.double()),
            }
        }
    }
}

struct Product<'a> {
    operand: &'a Bytes,
    coefficient: u8,
}

impl Operation for Product<'_> {
    type Output = Bytes;

    #[inline(always)]
    unsafe fn run<V: Lane>(self) -> Bytes {
        // SAFETY: the caller vouches for the instructions, the type for the length.
        unsafe { stored(V::load(self.operand.as_ptr()).multiply(V::factor(self.coefficient))) }
    }
}

struct FromBits(u64);

impl Operation for FromBits {
    type Output = Bytes;

    #[inline(always)]
    unsafe fn run<V: Lane>(self) -> Bytes {
        // SAFETY: the caller vouches for the instructions.
        unsafe { stored(V::from_bits(self.0)) }
    }
}

/// Loads a slice shorter than a lane.
struct LoadPart<'a>(&'a [u8]);

impl Operation for LoadPart<'_> {
    type Output = Bytes;

    #[inline(always)]
    unsafe fn run<V: Lane>(self) -> Bytes {
        assert!((1..LANE).contains(&self.0.len()));
        // SAFETY: the caller vouches for the instructions; the length was checked.
        unsafe { stored(V::load_part(self.0.as_ptr(), self.0.len())) }
    }
}

/// Stores into a slice shorter than a lane.
struct StorePart<'a> {
    lane: &'a Bytes,
    to: &'a mut [u8],
}

impl Operation for StorePart<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        assert!((1..LANE).contains(&self.to.len()));
        // SAFETY: the caller vouches for the instructions; the length was checked.
        unsafe { V::load(self.lane.as_ptr()).store_part(self.to.as_mut_ptr(), self.to.len()) }
    }
}

#[test]
fn portable_sums_are_those_of_the_rfc() {
    for a in every_byte() {
        let (b, c) = (random(1), random(2));
        let out = portable().run(Sums(&[a, b, c]));
        assert_eq!(out.zero, [0; LANE]);
        assert_eq!(out.copy, a);
        for i in 0..LANE {
            assert_eq!(out.xor[i], a[i] ^ b[i]);
            assert_eq!(out.xor3[i], a[i] ^ b[i] ^ c[i]);
            assert_eq!(out.double[i], octet::multiply(2, a[i]));
        }
    }
}

#[test]
fn portable_products_are_those_of_the_rfc() {
    for coefficient in coefficients() {
        for operand in every_byte() {
            let product = portable().run(Product { operand: &operand, coefficient });
            assert_eq!(product, operand.map(|byte| octet::multiply(coefficient, byte)), "coefficient {coefficient}");
        }
    }
}

#[test]
fn portable_bits_are_spread_in_order() {
    for bits in words() {
        let expected: Bytes = core::array::from_fn(|i| u8::from(bits >> i & 1 == 1));
        assert_eq!(portable().run(FromBits(bits)), expected, "{bits:#x}");
    }
}

/// Words with all, no, one and many bits set.
fn words() -> impl Iterator<Item = u64> {
    let random = (0..8).map(|seed| u64::from_le_bytes(bytes(seed, 8).try_into().expect("eight")));
    [0, u64::MAX].into_iter().chain((0..64).map(|bit| 1 << bit)).chain(random)
}

#[test]
fn all_levels_add_alike() {
    each_kernels(|kernels| {
        for (seed, a) in every_byte().into_iter().enumerate() {
            let operands = [a, random(seed as u64), random(100 + seed as u64)];
            assert_eq!(kernels.run(Sums(&operands)), portable().run(Sums(&operands)), "{}", kernels.level());
        }
    });
}

#[test]
fn all_levels_multiply_alike_with_every_coefficient() {
    each_kernels(|kernels| {
        for coefficient in coefficients() {
            for operand in &every_byte() {
                let product = kernels.run(Product { operand, coefficient });
                let expected = portable().run(Product { operand, coefficient });
                assert_eq!(product, expected, "{}, coefficient {coefficient}", kernels.level());
            }
        }
    });
}

#[test]
fn all_levels_spread_bits_alike() {
    each_kernels(|kernels| {
        for bits in words() {
            assert_eq!(kernels.run(FromBits(bits)), portable().run(FromBits(bits)), "{}: {bits:#x}", kernels.level());
        }
    });
}

#[test]
fn parts_of_every_length_are_loaded_with_zeros_after_them() {
    each_kernels(|kernels| {
        for length in 1..LANE {
            let around = bytes(length as u64, 2 * LANE);
            for offset in offsets() {
                let part = &around[offset..offset + length];
                let mut expected = [0; LANE];
                expected[..length].copy_from_slice(part);
                let what = (kernels.level(), length, offset);
                assert_eq!(kernels.run(LoadPart(part)), expected, "{what:?}");
                // An allocation of its own, whose end tools that watch the memory see.
                let alone: Vec<u8> = part.to_vec();
                assert_eq!(kernels.run(LoadPart(&alone)), expected, "{what:?}");
            }
        }
    });
}

#[test]
fn parts_of_every_length_are_stored_and_nothing_around_them() {
    let lane = random(7);
    each_kernels(|kernels| {
        for length in 1..LANE {
            for offset in offsets() {
                let mut buffer = vec![0xa5; 3 * LANE];
                let mut expected = buffer.clone();
                expected[offset..offset + length].copy_from_slice(&lane[..length]);
                kernels.run(StorePart { lane: &lane, to: &mut buffer[offset..offset + length] });
                assert_eq!(buffer, expected, "{}, {length} bytes, offset {offset}", kernels.level());
            }
            let mut alone = vec![0; length];
            kernels.run(StorePart { lane: &lane, to: &mut alone });
            assert_eq!(alone, lane[..length], "{}, {length} bytes", kernels.level());
        }
    });
}
