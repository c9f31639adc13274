//! Gauss-Jordan elimination over GF(256), in place.

use alloc::vec::Vec;

use super::execute::{Chunk, lanes};
use super::{Kernels, LANE, Lane, Operation};
use crate::rfc::octet::inverse;

impl Kernels {
    /// Solves `matrix` x = s for as many unknowns as there are, from at least as many rows.
    ///
    /// `matrix` has rows of `lanes(unknowns)` chunks. On success `chosen[c]` names the `c`-th row that was used, and
    /// the first rows hold the inverse: x_i is the sum over c of `matrix[i][c]` times s of `chosen[c]`.
    ///
    /// Returns the rank if that is less than `unknowns`.
    pub(crate) fn invert(self, matrix: &mut [Chunk], unknowns: usize, chosen: &mut Vec<u32>) -> Result<(), usize> {
        let width = lanes(unknowns);
        assert!(matrix.len().is_multiple_of(width));
        chosen.clear();
        chosen.extend(0..(matrix.len() / width) as u32);
        let rank = self.run(Invert { matrix, unknowns, chosen });
        chosen.truncate(unknowns);
        if rank < unknowns { Err(rank) } else { Ok(()) }
    }
}

struct Invert<'a> {
    matrix: &'a mut [Chunk],
    unknowns: usize,
    chosen: &'a mut [u32],
}

impl Operation for Invert<'_> {
    type Output = usize;

    #[inline(always)]
    unsafe fn run<V: Lane>(self) -> usize {
        let Self { matrix, unknowns, chosen } = self;
        let width = lanes(unknowns);
        let rows = chosen.len();
        let octet = |matrix: &[Chunk], row: usize, at: usize| matrix[row * width + at / LANE].0[at % LANE];
        let mut rank = 0;
        for unknown in 0..unknowns {
            let Some(found) = (rank..rows).find(|&row| octet(matrix, row, unknown) != 0) else {
                // The rest only tells the rank, which then is that of a system in which this unknown is known.
                continue;
            };
            for chunk in 0..width {
                matrix.swap(rank * width + chunk, found * width + chunk);
            }
            chosen.swap(rank, found);
            let pivot = octet(matrix, rank, unknown);
            // The place of the unknown takes the coefficient of the row's right-hand side. (Where an unknown had no
            // pivot the inverse is not formed, and the places do not matter.)
            matrix[rank * width + unknown / LANE].0[unknown % LANE] = 1;
            let base = matrix.as_mut_ptr().cast::<u8>();
            let line = width * LANE;
            // SAFETY: rows below `rows` of `width` chunks are in the matrix; the instructions are there.
            unsafe {
                let factor = V::factor(inverse(pivot));
                let from = base.add(rank * line);
                for at in (0..line).step_by(LANE) {
                    V::load(from.add(at)).multiply(factor).store(from.add(at));
                }
                for row in (0..rows).filter(|&row| row != rank) {
                    let to = base.add(row * line);
                    let coefficient = *to.add(unknown);
                    if coefficient == 0 {
                        continue;
                    }
                    *to.add(unknown) = 0;
                    let factor = V::factor(coefficient);
                    for at in (0..line).step_by(LANE) {
                        V::load(to.add(at)).xor(V::load(from.add(at)).multiply(factor)).store(to.add(at));
                    }
                }
            }
            rank += 1;
        }
        rank
    }
}
