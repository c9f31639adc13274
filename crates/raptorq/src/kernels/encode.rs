//! Encoding symbols from intermediate symbols that were kept.

use super::execute::{Chunk, lanes};
use super::{Kernels, LANE, Lane, Operation};

impl Kernels {
    /// Writes to `out` the sum of the slots in `terms`, from the strips that [`super::execute::Layout::Keep`] left in
    /// `area`.
    ///
    /// # Panics
    ///
    /// If a term is not below `columns`, or the area is too small for as many bytes as `out` has.
    pub(crate) fn sum_kept(self, terms: &[u16], area: &[Chunk], columns: usize, width: usize, out: &mut [u8]) {
        assert!(terms.iter().all(|&term| (term as usize) < columns));
        let strips = lanes(out.len()).div_ceil(width);
        let chunks = columns.checked_mul(width).and_then(|strip| strip.checked_mul(strips));
        assert!(chunks.is_some_and(|chunks| chunks <= area.len()), "the area is of another shape");
        self.run(SumKept { terms, area, columns, width, out });
    }
}

struct SumKept<'a> {
    terms: &'a [u16],
    area: &'a [Chunk],
    columns: usize,
    width: usize,
    out: &'a mut [u8],
}

impl Operation for SumKept<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let Self { terms, area, columns, width, out } = self;
        for (lane, out) in out.chunks_mut(LANE).enumerate() {
            let strip = lane / width * columns * width + lane % width;
            // SAFETY: terms are below `columns`, and the area holds all strips of so many lanes, as `sum_kept` found;
            // the instructions are there.
            unsafe {
                let slot = |term: u16| V::load(area.get_unchecked(strip + term as usize * width).0.as_ptr());
                let mut pairs = terms.chunks_exact(2);
                let mut sum = V::zero();
                for pair in &mut pairs {
                    sum = sum.xor3(slot(pair[0]), slot(pair[1]));
                }
                if let &[last] = pairs.remainder() {
                    sum = sum.xor(slot(last));
                }
                if out.len() == LANE {
                    sum.store(out.as_mut_ptr());
                } else {
                    sum.store_part(out.as_mut_ptr(), out.len());
                }
            }
        }
    }
}
