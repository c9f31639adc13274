//! The inactive columns: binary elimination first, then a small system over GF(256) for what it leaves open.

use alloc::vec::Vec;

use super::bits::ColumnBits;
use super::peel::Peeling;
use super::skeleton::Skeleton;
use super::work::{VISIT, WORD, Work};
use crate::kernels::Kernels;
use crate::kernels::program::{Program, Source};
use crate::memory::reserve_double;
use crate::rfc::octet::inverse;

/// The received symbols do not determine the block, or it would cost too much to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deficit {
    /// How many more symbols are needed at least: what the rank lacks.
    pub(crate) symbols: u32,
}

impl Deficit {
    /// For symbols that would take too much work, and whose rank is not known. More of a kind will not change that: the next
    /// attempt waits for more than one symbol.
    pub(crate) const UNKNOWN: Self = Self { symbols: 64 };
}

/// Memory of the elimination, used again by the next block.
#[derive(Clone, Debug, Default)]
pub(super) struct Elimination {
    residual_rows: Vec<u32>,
    /// Residual rows: bits of the inactive columns, then bits that say which residual rows a row is the sum of.
    matrix: Vec<u64>,
    /// Leading inactive column of each of the first rows.
    leads: Vec<u32>,
    /// Number in [`Elimination::leads`] or in `free` of each inactive column.
    free: Vec<u32>,
    /// The HDPC rows over the inactive columns once the peeled ones are put in, a byte a column.
    hdpc: Vec<u8>,
    /// The HDPC rows: coefficients of the free columns, then of the sums, then of the leads.
    dense: Vec<u8>,
}

impl Elimination {
    /// Completes `program`, whose peeled lines are there: residuals, leads, free columns, corrections.
    ///
    /// # Errors
    ///
    /// [`Deficit`] when the rows do not determine all columns.
    #[allow(clippy::too_many_arguments, reason = "what phase one found, what it is of, and where the outcome goes")]
    pub(super) fn run(
        &mut self,
        kernels: Kernels,
        peeling: &Peeling,
        skeleton: &Skeleton,
        columns: &ColumnBits,
        source: impl Fn(u32) -> Source,
        program: &mut Program,
        work: &mut Work,
    ) -> Result<(), Deficit> {
        let unknowns = peeling.inactive.len();
        self.residual_rows.clear();
        self.residual_rows.extend(peeling.residual_rows());
        self.fill(peeling, skeleton, columns, work);
        if !self.reduce(columns.words(), unknowns, work) {
            return Err(Deficit::UNKNOWN);
        }
        let rank = self.leads.len();
        // The HDPC rows can make up for no more than their number.
        if unknowns - rank > skeleton.hdpc.rows {
            return Err(Deficit { symbols: (unknowns - rank - skeleton.hdpc.rows) as u32 });
        }
        self.push_binary(peeling, skeleton, columns.words(), source, program);
        if rank < unknowns {
            self.solve_free(kernels, peeling, skeleton, columns, program, work)?;
        }
        Ok(())
    }

    /// Makes room for as much again.
    pub(super) fn reserve_double(&mut self) {
        reserve_double(&mut self.residual_rows);
        reserve_double(&mut self.matrix);
        reserve_double(&mut self.leads);
        reserve_double(&mut self.free);
        reserve_double(&mut self.hdpc);
        reserve_double(&mut self.dense);
    }

    /// Words of a row of the matrix.
    fn stride(&self, words: usize) -> usize {
        words + self.residual_rows.len().div_ceil(64)
    }

    fn fill(&mut self, peeling: &Peeling, skeleton: &Skeleton, columns: &ColumnBits, work: &mut Work) {
        let words = columns.words();
        let stride = self.stride(words);
        self.matrix.clear();
        self.matrix.resize(self.residual_rows.len() * stride, 0);
        for (i, (row, bits)) in self.residual_rows.iter().zip(self.matrix.chunks_exact_mut(stride)).enumerate() {
            let row = peeling.row(skeleton, *row);
            work.add(row.len() as u64 * (VISIT + words as u64 * WORD) + stride as u64 * WORD);
            columns.add(row, &mut bits[..words]);
            bits[words + i / 64] |= 1 << (i % 64);
        }
    }

    /// Gauss-Jordan: the first rows get a leading column each, in rising order, that no other row has. Says whether the work
    /// was within the limit; it stops when it is not.
    fn reduce(&mut self, words: usize, unknowns: usize, work: &mut Work) -> bool {
        let stride = self.stride(words);
        let rows = self.residual_rows.len();
        self.leads.clear();
        self.free.clear();
        for unknown in 0..unknowns {
            let (word, bit) = (unknown / 64, unknown % 64);
            let has = |matrix: &[u64], row: usize| matrix[row * stride + word] >> bit & 1 == 1;
            let rank = self.leads.len();
            let mut added = 0;
            // Every row is asked for its bit, once or twice.
            work.add(rows as u64 * WORD);
            if !work.allows(0) {
                return false;
            }
            let Some(found) = (rank..rows).find(|&row| has(&self.matrix, row)) else {
                self.free.push(unknown as u32);
                continue;
            };
            if found != rank {
                let (above, below) = self.matrix.split_at_mut(found * stride);
                above[rank * stride..][..stride].swap_with_slice(&mut below[..stride]);
            }
            let (above, rest) = self.matrix.split_at_mut(rank * stride);
            let (pivot, below) = rest.split_at_mut(stride);
            for other in above.chunks_exact_mut(stride).chain(below.chunks_exact_mut(stride)) {
                if other[word] >> bit & 1 == 1 {
                    for (to, from) in other.iter_mut().zip(&*pivot) {
                        *to ^= from;
                    }
                    added += 1;
                }
            }
            work.add(added * stride as u64 * WORD);
            self.leads.push(unknown as u32);
        }
        true
    }

    /// The lines that no coefficient other than 1 occurs in.
    fn push_binary(
        &mut self,
        peeling: &Peeling,
        skeleton: &Skeleton,
        words: usize,
        source: impl Fn(u32) -> Source,
        program: &mut Program,
    ) {
        let stride = self.stride(words);
        let columns = skeleton.parameters.l as usize;
        program.inactive.extend_from_slice(&peeling.inactive);
        program.free.extend(self.free.iter().map(|&unknown| peeling.inactive[unknown as usize]));
        for (i, &row) in self.residual_rows.iter().enumerate() {
            let list = &mut program.residuals;
            let before = list.terms.len();
            let peeled = peeling.row(skeleton, row).iter().filter(|&&column| peeling.is_peeled(column));
            list.terms.extend(peeled);
            list.push_line(source(row), (columns + i) as u32, before);
        }
        for (&lead, bits) in self.leads.iter().zip(self.matrix.chunks_exact(stride)) {
            let target = peeling.inactive[lead as usize];
            let list = &mut program.leads;
            let before = list.terms.len();
            list.terms.extend(ones(&bits[words..]).map(|i| (columns + i) as u16));
            list.push_line(Source::NONE, u32::from(target), before);
            let list = &mut program.corrections;
            let before = list.terms.len();
            list.terms.extend(ones(&bits[..words]).filter(|&i| i != lead as usize).map(|i| peeling.inactive[i]));
            if list.terms.len() > before {
                list.terms.push(target);
                list.push_line(Source::NONE, u32::from(target), before);
            }
        }
    }

    /// The free columns from the HDPC rows.
    ///
    /// Each HDPC row says: its sum over the peeled columns, taken with all inactive columns 0, plus its coefficients
    /// times the inactive columns, is 0. A lead is its value for free columns 0 plus some free columns; putting that
    /// in leaves an H x f system for the f free columns.
    fn solve_free(
        &mut self,
        kernels: Kernels,
        peeling: &Peeling,
        skeleton: &Skeleton,
        columns: &ColumnBits,
        program: &mut Program,
        work: &mut Work,
    ) -> Result<(), Deficit> {
        let parameters = &skeleton.parameters;
        let (h, f, rank) = (skeleton.hdpc.rows, self.free.len(), self.leads.len());
        let stride = self.stride(columns.words());
        let width = columns.words() * 64;
        // A column is added to two HDPC rows, 64 unknowns at a time; then a system of H rows is made and solved.
        let made = (skeleton.hdpc.pairs.len() + h) * width * 3 + h * rank * f + h * f * (f + h + rank);
        work.add(made as u64);
        self.hdpc.resize(h * width, 0);
        kernels.hdpc_of_bits(&skeleton.hdpc, columns.all(), columns.words(), &mut self.hdpc);
        // The identity that ends the HDPC rows. Their columns are the last of all, and so the last inactive ones.
        let first = peeling.inactive.len() - h;
        for row in 0..h {
            debug_assert_eq!(u32::from(peeling.inactive[first + row]), parameters.l - parameters.h + row as u32);
            self.hdpc[row * width + first + row] ^= 1;
        }
        let line = f + h + rank;
        self.dense.clear();
        self.dense.resize(h * line, 0);
        for (row, (dense, hdpc)) in self.dense.chunks_exact_mut(line).zip(self.hdpc.chunks_exact(width)).enumerate() {
            for (to, &unknown) in dense.iter_mut().zip(&self.free) {
                *to = hdpc[unknown as usize];
            }
            dense[f + row] = 1;
            for (i, (&lead, bits)) in self.leads.iter().zip(self.matrix.chunks_exact(stride)).enumerate() {
                let coefficient = hdpc[lead as usize];
                dense[f + h + i] = coefficient;
                for (to, &unknown) in dense.iter_mut().zip(&self.free) {
                    *to ^= coefficient * (bits[unknown as usize / 64] >> (unknown % 64) & 1) as u8;
                }
            }
        }
        let solved = reduce_octets(kernels, &mut self.dense, line, f);
        if solved < f {
            return Err(Deficit { symbols: (f - solved) as u32 });
        }
        let sums = parameters.l as usize + self.residual_rows.len();
        program.dense_inputs.extend((sums..sums + h).map(|slot| slot as u16));
        program.dense_inputs.extend(self.leads.iter().map(|&lead| peeling.inactive[lead as usize]));
        for row in self.dense.chunks_exact(line).take(f) {
            program.dense.extend_from_slice(&row[f..]);
        }
        Ok(())
    }
}

/// Gauss-Jordan over GF(256) on the first `unknowns` columns. Returns their rank; if that is full, the first rows are the
/// identity there.
fn reduce_octets(kernels: Kernels, matrix: &mut [u8], width: usize, unknowns: usize) -> usize {
    let rows = matrix.len() / width;
    let mut rank = 0;
    for unknown in 0..unknowns {
        let Some(found) = (rank..rows).find(|&row| matrix[row * width + unknown] != 0) else { continue };
        if found != rank {
            let (above, below) = matrix.split_at_mut(found * width);
            above[rank * width..][..width].swap_with_slice(&mut below[..width]);
        }
        let (above, rest) = matrix.split_at_mut(rank * width);
        let (pivot, below) = rest.split_at_mut(width);
        kernels.multiply(pivot, inverse(pivot[unknown]));
        for other in above.chunks_exact_mut(width).chain(below.chunks_exact_mut(width)) {
            kernels.multiply_add(other, pivot, other[unknown]);
        }
        rank += 1;
    }
    rank
}

/// The places of the bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(word, &bits)| {
        let mut rest = bits;
        core::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                word * 64 + bit
            })
        })
    })
}
