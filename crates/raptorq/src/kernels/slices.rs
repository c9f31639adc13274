//! Arithmetic on byte slices.

use super::{Kernels, LANE, Lane, Operation};

impl Kernels {
    /// `destination[i] *= coefficient`.
    pub(crate) fn multiply(self, destination: &mut [u8], coefficient: u8) {
        for byte in destination {
            *byte = crate::rfc::octet::multiply(*byte, coefficient);
        }
    }

    /// `destination[i] += coefficient * source[i]`.
    pub(crate) fn multiply_add(self, destination: &mut [u8], source: &[u8], coefficient: u8) {
        assert_eq!(destination.len(), source.len());
        if coefficient != 0 {
            self.run(MultiplyAdd { destination, source, coefficient });
        }
    }
}

struct MultiplyAdd<'a> {
    destination: &'a mut [u8],
    source: &'a [u8],
    coefficient: u8,
}

impl Operation for MultiplyAdd<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let length = self.destination.len();
        let (to, from) = (self.destination.as_mut_ptr(), self.source.as_ptr());
        // SAFETY: all accesses are below `length`, which both slices have.
        unsafe {
            let factor = V::factor(self.coefficient);
            let mut at = 0;
            while at + LANE <= length {
                V::load(to.add(at)).xor(V::load(from.add(at)).multiply(factor)).store(to.add(at));
                at += LANE;
            }
            if at < length {
                let rest = length - at;
                V::load_part(to.add(at), rest)
                    .xor(V::load_part(from.add(at), rest).multiply(factor))
                    .store_part(to.add(at), rest);
            }
        }
    }
}
