//! What each column owes to the inactive ones, as a bit for each of these.

use alloc::vec::Vec;

use super::peel::Peeling;
use super::skeleton::Skeleton;
use super::work::{VISIT, WORD, Work, words_of};
use crate::kernels::program::{Gather, Program, Source};
use crate::memory::reserve_double;

/// A bit vector over the inactive columns for each column: a peeled column is the sum of received symbols and of the
/// inactive columns whose bits are set.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnBits {
    words: usize,
    bits: Vec<u64>,
    /// The inactive columns of a line, until the peeled ones are all there.
    inactive: Vec<u16>,
}

impl ColumnBits {
    /// 64-bit words of a vector.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// All vectors, `words` for each column.
    pub(super) fn all(&self) -> &[u64] {
        &self.bits
    }

    /// Follows the order of peeling: the vectors of all columns, and the peeled lines of the program.
    pub(super) fn follow(
        &mut self,
        peeling: &Peeling,
        skeleton: &Skeleton,
        source: impl Fn(u32) -> Source,
        program: &mut Program,
        work: &mut Work,
    ) {
        self.words = words_of(peeling.inactive.len());
        self.bits.clear();
        // A quarter more inactive columns may need another word.
        let most = words_of(peeling.inactive.len() + peeling.inactive.len() / 4);
        self.bits.reserve_exact(skeleton.parameters.l as usize * most);
        self.bits.resize(skeleton.parameters.l as usize * self.words, 0);
        for (i, &column) in peeling.inactive.iter().enumerate() {
            self.bits[column as usize * self.words + i / 64] = 1 << (i % 64);
        }
        match self.words {
            1 => self.follow_by::<1>(peeling, skeleton, source, program),
            2 => self.follow_by::<2>(peeling, skeleton, source, program),
            _ => self.follow_by::<4>(peeling, skeleton, source, program),
        }
        let terms = program.peeled.terms.len() as u64;
        work.add(self.bits.len() as u64 * WORD + terms * (VISIT + self.words as u64 * WORD));
    }

    /// `N` divides the number of words.
    fn follow_by<const N: usize>(
        &mut self,
        peeling: &Peeling,
        skeleton: &Skeleton,
        source: impl Fn(u32) -> Source,
        program: &mut Program,
    ) {
        let (bits, _) = self.bits.as_chunks_mut::<N>();
        let groups = self.words / N;
        let list = &mut program.peeled;
        let inactive = &mut self.inactive;
        list.lines.reserve(peeling.pivots.len());
        for pivot in &peeling.pivots {
            let before = list.terms.len();
            inactive.clear();
            for &column in peeling.row(skeleton, pivot.row) {
                if column == pivot.column {
                    continue;
                }
                if peeling.is_peeled(column) {
                    list.terms.push(column);
                } else {
                    inactive.push(column);
                }
                for group in 0..groups {
                    let from = bits[column as usize * groups + group];
                    let to = &mut bits[pivot.column as usize * groups + group];
                    for word in 0..N {
                        to[word] ^= from[word];
                    }
                }
            }
            let forward = (list.terms.len() - before) as u16;
            list.terms.extend_from_slice(inactive);
            let total = (list.terms.len() - before) as u16;
            list.lines.push(Gather { source: source(pivot.row), target: u32::from(pivot.column), forward, total });
        }
    }

    /// Makes room for as much again.
    pub(super) fn reserve_double(&mut self) {
        reserve_double(&mut self.inactive);
    }

    /// Adds the vectors of `columns` to `to`.
    pub(super) fn add(&self, columns: &[u16], to: &mut [u64]) {
        for &column in columns {
            let from = &self.bits[column as usize * self.words..][..self.words];
            for (to, from) in to.iter_mut().zip(from) {
                *to ^= from;
            }
        }
    }
}
