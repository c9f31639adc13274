//! Gaussian elimination over GF(2) on rows of bits, which writes down what it adds to what.

use alloc::vec::Vec;

/// No equation.
const NONE: u32 = u32::MAX;

/// A system in echelon form, into which equations are put one by one until there are enough.
#[derive(Clone, Debug, Default)]
pub(super) struct Dense {
    unknowns: usize,
    words: usize,
    /// The coefficients of the equations that were taken.
    bits: Vec<u64>,
    /// For each unknown the equation whose first coefficient is that unknown's.
    pivots: Vec<u32>,
    rank: usize,
    /// (target, source): to be added, in this order, to what the equations are equal to.
    pub(super) additions: Vec<(u32, u32)>,
}

impl Dense {
    /// Begins a system of that many unknowns.
    pub(super) fn clear(&mut self, unknowns: usize) {
        self.unknowns = unknowns;
        self.words = unknowns.div_ceil(64);
        self.bits.clear();
        self.pivots.clear();
        self.pivots.resize(unknowns, NONE);
        self.rank = 0;
        self.additions.clear();
    }

    pub(super) fn is_solvable(&self) -> bool {
        self.rank == self.unknowns
    }

    /// Takes an equation, if it says anything new; it is then number 0, 1, .. of those taken.
    pub(super) fn take(&mut self, coefficients: &[u64]) -> bool {
        debug_assert_eq!(coefficients.len(), self.words);
        let start = self.bits.len();
        let (equation, additions) = (self.rank as u32, self.additions.len());
        self.bits.extend_from_slice(coefficients);
        let (taken, row) = self.bits.split_at_mut(start);
        for word in 0..self.words {
            while row[word] != 0 {
                let unknown = word * 64 + row[word].trailing_zeros() as usize;
                let pivot = self.pivots[unknown];
                if pivot == NONE {
                    self.pivots[unknown] = equation;
                    self.rank += 1;
                    return true;
                }
                // The pivot's coefficients before this word are zero.
                let pivot_row = &taken[pivot as usize * self.words..][..self.words];
                for (bits, pivot_bits) in row[word..].iter_mut().zip(&pivot_row[word..]) {
                    *bits ^= pivot_bits;
                }
                self.additions.push((equation, pivot));
            }
        }
        self.bits.truncate(start);
        self.additions.truncate(additions);
        false
    }

    /// Eliminates upwards; after all additions, [`equation`](Self::equation) gives each unknown.
    pub(super) fn substitute_back(&mut self) {
        debug_assert!(self.is_solvable());
        for unknown in (0..self.unknowns).rev() {
            let equation = self.pivots[unknown];
            let row = &self.bits[equation as usize * self.words..][..self.words];
            for (word, &bits) in row.iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    let other = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if other != unknown {
                        self.additions.push((equation, self.pivots[other]));
                    }
                }
            }
        }
    }

    /// The equation that ends as the value of `unknown`.
    pub(super) fn equation(&self, unknown: usize) -> usize {
        self.pivots[unknown] as usize
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::siblings::random::SplitMix64;

    #[test]
    fn additions_solve_random_systems() {
        for unknowns in [0, 1, 2, 63, 64, 65, 130] {
            let mut random = SplitMix64::of_symbol(0, unknowns, 1);
            let solution: Vec<u8> = (0..unknowns).map(|_| random.next() as u8).collect();
            let mut dense = Dense::default();
            dense.clear(unknowns as usize);
            let mut values = Vec::new();
            while !dense.is_solvable() {
                let mut row: Vec<u64> = (0..unknowns.div_ceil(64)).map(|_| random.next()).collect();
                if unknowns % 64 != 0 {
                    *row.last_mut().unwrap() &= (1 << (unknowns % 64)) - 1;
                }
                if dense.take(&row) {
                    let terms = (0..unknowns as usize).filter(|u| row[u / 64] >> (u % 64) & 1 == 1);
                    values.push(terms.fold(0, |sum, u| sum ^ solution[u]));
                }
                assert!(!dense.take(&row), "nothing new the second time");
                assert!(!dense.take(&vec![0; row.len()]));
            }
            dense.substitute_back();
            for &(target, source) in &dense.additions {
                values[target as usize] ^= values[source as usize];
            }
            assert!((0..unknowns as usize).all(|u| values[dense.equation(u)] == solution[u]));
        }
    }
}
