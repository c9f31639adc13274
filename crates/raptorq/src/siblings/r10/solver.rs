//! Solving for the intermediate symbols (RFC 5053 §5.4.2.4 and §5.5): first which additions, from ids alone, then the
//! additions.

use alloc::vec;
use alloc::vec::Vec;

use super::dense::Dense;
use super::parameters::Parameters;
use super::peeling::Peeling;
use super::rows::Rows;
use crate::siblings::xor::{symbol, symbol_mut, xor, xor_within};

/// An equation of the dense part.
#[derive(Clone, Copy, Debug)]
enum Equation {
    /// This sparse row, which found no pair.
    Row(u32),
    /// This half symbol.
    Half(u32),
}

/// The solution for one set of symbols, and the memory to make the next one.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    /// Bit h at j: whether intermediate symbol j is part of half symbol h.
    half: Vec<u32>,
    rows: Rows,
    peeling: Peeling,
    /// Those that `dense` took.
    equations: Vec<Equation>,
    dense: Dense,
    /// Each column as a sum of inactive ones, up to what follows from values: a row of bits.
    expressions: Vec<u64>,
}

impl Solver {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self {
            half: parameters.half().collect(),
            rows: Rows::new(parameters),
            peeling: Peeling::new(parameters.l as usize),
            equations: Vec::new(),
            dense: Dense::default(),
            expressions: Vec::new(),
        }
    }

    /// Whether the symbols `ids` determine all intermediate symbols. Then [`execute`](Self::execute) computes them.
    pub(super) fn solve(&mut self, parameters: &Parameters, ids: &[u32]) -> bool {
        if ids.len() < parameters.k as usize {
            return false;
        }
        self.rows.receive(parameters, ids);
        self.peeling.run(&self.rows);
        let unknowns = self.peeling.inactive.len();
        self.dense.clear(unknowns);
        self.equations.clear();
        self.express_columns(parameters.l as usize);
        self.take_rows_left();
        self.take_half(parameters);
        self.dense.is_solvable()
    }

    /// Number of inactive columns of the last solution.
    #[cfg(test)]
    pub(super) fn inactive(&self) -> usize {
        self.peeling.inactive.len()
    }

    fn words(&self) -> usize {
        self.peeling.inactive.len().div_ceil(64)
    }

    fn express_columns(&mut self, columns: usize) {
        let words = self.words();
        self.expressions.clear();
        self.expressions.resize(columns * words, 0);
        for (unknown, &column) in self.peeling.inactive.iter().enumerate() {
            self.expressions[usize::from(column) * words + unknown / 64] |= 1 << (unknown % 64);
        }
        for &(row, column) in &self.peeling.pairs {
            let column = usize::from(column);
            for &other in self.rows.row(row as usize) {
                let other = usize::from(other);
                if other != column {
                    for word in 0..words {
                        self.expressions[column * words + word] ^= self.expressions[other * words + word];
                    }
                }
            }
        }
    }

    /// The rows without a pair come first: they are sparse, and their values are cheap.
    fn take_rows_left(&mut self) {
        let words = self.words();
        let mut bits = vec![0; words];
        for &row in &self.peeling.left {
            if self.dense.is_solvable() {
                break;
            }
            bits.fill(0);
            for &column in self.rows.row(row as usize) {
                add_bits(&mut bits, &self.expressions[usize::from(column) * words..]);
            }
            if self.dense.take(&bits) {
                self.equations.push(Equation::Row(row));
            }
        }
    }

    fn take_half(&mut self, parameters: &Parameters) {
        let words = self.words();
        if self.dense.is_solvable() {
            return;
        }
        let mut bits = vec![0; parameters.h as usize * words];
        for (column, &half) in self.half.iter().enumerate() {
            let mut half = half;
            while half != 0 {
                let h = half.trailing_zeros() as usize;
                half &= half - 1;
                add_bits(&mut bits[h * words..][..words], &self.expressions[column * words..]);
            }
        }
        for h in 0..parameters.h {
            let own = (parameters.k + parameters.s + h) as usize;
            let bits = &mut bits[h as usize * words..][..words];
            add_bits(bits, &self.expressions[own * words..]);
            if self.dense.take(bits) {
                self.equations.push(Equation::Half(h));
            }
        }
    }

    /// Completes the plan of a solvable set; once for each [`solve`](Self::solve).
    pub(super) fn finish(&mut self) {
        self.dense.substitute_back();
    }

    /// Computes the intermediate symbols from `received`, the values of the symbols that were solved for, in their order.
    pub(super) fn execute(&self, received: &[u8], symbol_size: usize, intermediate: &mut [u8]) {
        // With the inactive symbols taken for zero, what the others would be.
        for &column in &self.peeling.inactive {
            symbol_mut(intermediate, symbol_size, usize::from(column)).fill(0);
        }
        self.follow(received, symbol_size, intermediate);
        // What the dense equations then miss is what the inactive symbols make.
        let mut values = vec![0; self.equations.len() * symbol_size];
        for (value, &equation) in values.chunks_exact_mut(symbol_size).zip(&self.equations) {
            self.evaluate(equation, received, intermediate, value);
        }
        for &(target, source) in &self.dense.additions {
            xor_within(&mut values, symbol_size, target as usize, source as usize);
        }
        for (unknown, &column) in self.peeling.inactive.iter().enumerate() {
            let value = symbol(&values, symbol_size, self.dense.equation(unknown));
            symbol_mut(intermediate, symbol_size, usize::from(column)).copy_from_slice(value);
        }
        // Now the others as they are. Going through the sparse rows again is cheaper than through the dense
        // expressions.
        self.follow(received, symbol_size, intermediate);
    }

    /// Computes the columns of all pairs from the inactive ones.
    fn follow(&self, received: &[u8], symbol_size: usize, intermediate: &mut [u8]) {
        for &(row, column) in &self.peeling.pairs {
            let target = symbol_mut(intermediate, symbol_size, usize::from(column));
            match self.rows.received(row as usize) {
                Some(n) => target.copy_from_slice(symbol(received, symbol_size, n)),
                None => target.fill(0),
            }
            for &other in self.rows.row(row as usize) {
                if other != column {
                    xor_within(intermediate, symbol_size, usize::from(column), usize::from(other));
                }
            }
        }
    }

    /// Writes to `value`, which is zero, by how much the columns as they are do not fulfil an equation.
    fn evaluate(&self, equation: Equation, received: &[u8], intermediate: &[u8], value: &mut [u8]) {
        let symbol_size = value.len();
        match equation {
            Equation::Row(row) => {
                if let Some(n) = self.rows.received(row as usize) {
                    value.copy_from_slice(symbol(received, symbol_size, n));
                }
                for &column in self.rows.row(row as usize) {
                    if !self.peeling.is_inactive(column) {
                        xor(value, symbol(intermediate, symbol_size, usize::from(column)));
                    }
                }
            }
            Equation::Half(h) => {
                let own = self.half.len() + h as usize;
                let members = self.half.iter().enumerate().filter(|&(_, half)| half >> h & 1 == 1);
                for column in members.map(|(column, _)| column).chain([own]) {
                    if !self.peeling.is_inactive(column as u16) {
                        xor(value, symbol(intermediate, symbol_size, column));
                    }
                }
            }
        }
    }
}

/// `target ^= source`, for as many words as `target` has.
fn add_bits(target: &mut [u64], source: &[u64]) {
    for (t, s) in target.iter_mut().zip(source) {
        *t ^= s;
    }
}
