//! Gauss-Jordan elimination over GF(256), in place.

use alloc::vec::Vec;

use super::execute::{Chunk, lanes};
use super::{Kernels, LANE, Lane, Operation};
use crate::rfc::octet::inverse;

impl Kernels {
    /// Inverts as many columns of `matrix` as it has rows: at least as many columns are there to choose from.
    ///
    /// `matrix` has rows of `lanes(columns)` chunks, `rows` of them. On success `chosen[k]` is the column that was
    /// chosen in row `k`. Let N be the matrix of the chosen columns, in the order of the rows they were chosen in:
    /// then byte `chosen[j]` of row `k` is entry (k, j) of the inverse of N.
    ///
    /// # Errors
    ///
    /// The rank, if that is less than the number of rows; the matrix is of no use then.
    ///
    /// # Panics
    ///
    /// If the matrix has another size.
    pub(crate) fn invert(
        self,
        matrix: &mut [Chunk],
        rows: usize,
        columns: usize,
        chosen: &mut Vec<u32>,
    ) -> Result<(), usize> {
        assert_eq!(Some(matrix.len()), rows.checked_mul(lanes(columns)));
        chosen.clear();
        // All columns, of which the first few are those chosen so far.
        chosen.extend(0..columns as u32);
        let rank = self.run(Invert { matrix, rows, columns: chosen });
        chosen.truncate(rows);
        if rank < rows { Err(rank) } else { Ok(()) }
    }
}

struct Invert<'a> {
    matrix: &'a mut [Chunk],
    rows: usize,
    columns: &'a mut [u32],
}

impl Operation for Invert<'_> {
    type Output = usize;

    /// One exchange of a row for a column after the other: the row is solved for its chosen column's variable, which
    /// is then put into all other rows.
    #[inline(always)]
    unsafe fn run<V: Lane>(self) -> usize {
        let Self { matrix, rows, columns } = self;
        let line = lanes(columns.len()) * LANE;
        let base = matrix.as_mut_ptr().cast::<u8>();
        let mut rank = 0;
        for row in 0..rows {
            // SAFETY: rows below `rows` have `line` bytes, more than there are columns; the instructions are there.
            unsafe {
                let pivot_row = base.add(row * line);
                // A row that depends on those before it is left alone: the rank is all that counts from here on.
                let Some(place) = (rank..columns.len()).find(|&i| *pivot_row.add(columns[i] as usize) != 0) else {
                    continue;
                };
                columns.swap(rank, place);
                let column = columns[rank] as usize;
                let factor = V::factor(inverse(*pivot_row.add(column)));
                *pivot_row.add(column) = 1;
                for at in (0..line).step_by(LANE) {
                    V::load(pivot_row.add(at)).multiply(factor).store(pivot_row.add(at));
                }
                for other in (0..rows).filter(|&other| other != row) {
                    let to = base.add(other * line);
                    let factor = V::factor(*to.add(column));
                    *to.add(column) = 0;
                    for at in (0..line).step_by(LANE) {
                        V::load(to.add(at)).xor(V::load(pivot_row.add(at)).multiply(factor)).store(to.add(at));
                    }
                }
            }
            rank += 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::kernels::Level;
    use crate::rfc::octet::multiply;

    /// A small generator: the matrix need not be random, only without pattern.
    fn octets(seed: u32) -> impl FnMut() -> u8 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }
    }

    #[test]
    fn the_product_with_the_inverse_is_the_identity() {
        for level in Level::available() {
            let kernels = Kernels::of(level).unwrap();
            // Under Miri the sizes that are enough for each way to end.
            let sizes: &[_] =
                if cfg!(miri) { &[(1, 1), (3, 5), (9, 66)] } else { &[(1, 1), (3, 5), (17, 17), (64, 66), (70, 130)] };
            for &(rows, columns) in sizes {
                let mut octet = octets(rows as u32);
                let width = lanes(columns);
                let mut matrix = vec![Chunk::ZERO; rows * width];
                let entry = |matrix: &[Chunk], i: usize, j: usize| matrix[i * width + j / LANE].0[j % LANE];
                for i in 0..rows {
                    for j in 0..columns {
                        // The first column is empty, so that others must be chosen.
                        matrix[i * width + j / LANE].0[j % LANE] = if j == 0 && columns > rows { 0 } else { octet() };
                    }
                }
                let before = matrix.clone();
                let mut chosen = Vec::new();
                assert_eq!(kernels.invert(&mut matrix, rows, columns, &mut chosen), Ok(()), "{rows} x {columns}");
                for i in 0..rows {
                    for j in 0..rows {
                        let product = (0..rows).fold(0, |sum, k| {
                            let column = |k: usize| chosen[k] as usize;
                            sum ^ multiply(entry(&before, i, column(k)), entry(&matrix, k, column(j)))
                        });
                        assert_eq!(product, u8::from(i == j), "{level}: {rows} x {columns}, ({i}, {j})");
                    }
                }
            }
        }
    }

    #[test]
    fn a_singular_matrix_has_its_rank_told() {
        let mut matrix = vec![Chunk::ZERO; 5];
        for (i, row) in matrix.iter_mut().enumerate() {
            row.0[..3].copy_from_slice(&[1, i as u8, 2]);
        }
        assert_eq!(Kernels::best().invert(&mut matrix, 5, 3, &mut Vec::new()), Err(2));
    }
}
