//! The random linear fountain: every encoding symbol is a combination of all source symbols with uniform coefficients.
//!
//! It is the yardstick. The decoder fails when K + o random rows of K coefficients have not rank K, which has the
//! probability 1 - ∏ (1 - q^-i), i from o + 1 to K + o, for a field of q elements, whatever K is: about q^-(o+1) q/(q-1).
//! R10 comes near it for GF(2), RaptorQ for GF(256). It costs K operations for each symbol of a block, and K^2 for
//! each row to decode; no one sends large blocks with it.
//!
//! Rows have one byte for each coefficient for both fields: GF(2) is the subfield {0, 1} of GF(256), and elimination
//! does not leave it.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::random::SplitMix64;
use super::xor::{symbol, symbol_mut};
use crate::fountain::{
    Decodability, FountainCode, FountainDecoder, FountainEncoder, FountainError, Limits, check_length, check_loaded,
};
use crate::kernels::Kernels;
use crate::rfc::octet;

/// The most source symbols: beyond, a decoder takes minutes.
const MAX_SOURCE_SYMBOLS: u32 = 1 << 13;

/// The field that coefficients are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// 0 and 1.
    Gf2,
    /// The octets of RFC 6330.
    Gf256,
}

/// A random linear fountain code; sender and receiver use the same field and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomLinear {
    field: Field,
    seed: u64,
}

impl RandomLinear {
    /// The code over `field` whose coefficients follow from `seed`.
    pub fn new(field: Field, seed: u64) -> Self {
        Self { field, seed }
    }

    /// Writes the coefficients of symbol `id` to `row`, one a byte; K is its length.
    fn coefficients(self, id: u32, row: &mut [u8]) {
        let mut random = SplitMix64::of_symbol(self.seed, row.len() as u32, id);
        match self.field {
            Field::Gf2 => {
                for bits in row.chunks_mut(64) {
                    let word = random.next();
                    for (i, coefficient) in bits.iter_mut().enumerate() {
                        *coefficient = (word >> i & 1) as u8;
                    }
                }
            }
            Field::Gf256 => {
                for octets in row.chunks_mut(8) {
                    octets.copy_from_slice(&random.next().to_le_bytes()[..octets.len()]);
                }
            }
        }
    }
}

impl FountainCode for RandomLinear {
    fn name(&self) -> &'static str {
        match self.field {
            Field::Gf2 => "linear-gf2",
            Field::Gf256 => "linear-gf256",
        }
    }

    fn limits(&self) -> Limits {
        Limits { source_symbols: 1..=MAX_SOURCE_SYMBOLS, encoding_symbols: 1 << 32, systematic: false }
    }

    fn encoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainEncoder>, FountainError> {
        let k = self.limits().check_shape(source_symbols, symbol_size)?;
        Ok(Box::new(LinearEncoder { code: *self, symbol_size, block: vec![0; k * symbol_size], loaded: false }))
    }

    fn decoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainDecoder>, FountainError> {
        let k = self.limits().check_shape(source_symbols, symbol_size)?;
        Ok(Box::new(LinearDecoder { code: *self, seen: BTreeSet::new(), system: System::new(k, symbol_size) }))
    }

    fn decodability(&self, source_symbols: u32) -> Result<Box<dyn Decodability>, FountainError> {
        let k = self.limits().check_source_symbols(source_symbols)?;
        Ok(Box::new(LinearDecodability { code: *self, system: System::new(k, 0) }))
    }
}

struct LinearEncoder {
    code: RandomLinear,
    symbol_size: usize,
    block: Vec<u8>,
    loaded: bool,
}

impl FountainEncoder for LinearEncoder {
    fn load(&mut self, block: &[u8]) -> Result<(), FountainError> {
        check_length("source block", self.block.len(), block.len())?;
        self.block.copy_from_slice(block);
        self.loaded = true;
        Ok(())
    }

    fn encode_into(&self, id: u32, out: &mut [u8]) -> Result<(), FountainError> {
        check_length("symbol", self.symbol_size, out.len())?;
        check_loaded(self.loaded)?;
        let mut row = vec![0; self.block.len() / self.symbol_size];
        self.code.coefficients(id, &mut row);
        out.fill(0);
        for (&coefficient, source) in row.iter().zip(self.block.chunks_exact(self.symbol_size)) {
            multiply_add(out, coefficient, source);
        }
        Ok(())
    }
}

struct LinearDecoder {
    code: RandomLinear,
    seen: BTreeSet<u32>,
    system: System,
}

impl FountainDecoder for LinearDecoder {
    fn add_symbol(&mut self, id: u32, symbol: &[u8]) -> Result<bool, FountainError> {
        check_length("symbol", self.system.symbol_size, symbol.len())?;
        if self.system.rank == self.system.k || !self.seen.insert(id) {
            return Ok(false);
        }
        self.system.add(self.code, id, symbol);
        Ok(true)
    }

    fn try_decode(&mut self) -> Option<&[u8]> {
        (self.system.rank == self.system.k).then(|| self.system.solve())
    }

    fn clear(&mut self) {
        self.seen.clear();
        self.system.clear();
    }
}

struct LinearDecodability {
    code: RandomLinear,
    system: System,
}

impl Decodability for LinearDecodability {
    fn decodes(&mut self, ids: &[u32]) -> Result<bool, FountainError> {
        self.system.clear();
        for &id in ids {
            self.system.add(self.code, id, &[]);
        }
        Ok(self.system.rank == self.system.k)
    }
}

/// A system of equations in echelon form, into which rows are put one by one.
struct System {
    k: usize,
    symbol_size: usize,
    rank: usize,
    /// Whether there is a row whose first non-zero coefficient, which is 1, is in this column.
    present: Vec<bool>,
    /// K rows of K coefficients; row i belongs to column i.
    rows: Vec<u8>,
    /// What the rows are equal to; after [`solve`](Self::solve), the source block.
    values: Vec<u8>,
    /// The row that is being put in.
    row: Vec<u8>,
    value: Vec<u8>,
    solved: bool,
}

impl System {
    fn new(k: usize, symbol_size: usize) -> Self {
        Self {
            k,
            symbol_size,
            rank: 0,
            present: vec![false; k],
            rows: vec![0; k * k],
            values: vec![0; k * symbol_size],
            row: vec![0; k],
            value: vec![0; symbol_size],
            solved: false,
        }
    }

    fn clear(&mut self) {
        self.rank = 0;
        self.present.fill(false);
        self.solved = false;
    }

    fn add(&mut self, code: RandomLinear, id: u32, value: &[u8]) {
        if self.rank == self.k {
            return;
        }
        code.coefficients(id, &mut self.row);
        self.value.copy_from_slice(value);
        for column in 0..self.k {
            let leading = self.row[column];
            if leading == 0 {
                continue;
            }
            let own = &mut self.rows[column * self.k..][..self.k];
            if !self.present[column] {
                let scale = octet::inverse(leading);
                own[..column].fill(0);
                own[column..].fill(0);
                multiply_add(own, scale, &self.row);
                let value = symbol_mut(&mut self.values, self.symbol_size, column);
                value.fill(0);
                multiply_add(value, scale, &self.value);
                self.present[column] = true;
                self.rank += 1;
                return;
            }
            multiply_add(&mut self.row[column..], leading, &own[column..]);
            multiply_add(&mut self.value, leading, symbol(&self.values, self.symbol_size, column));
        }
    }

    /// The source block; the rank must be K.
    fn solve(&mut self) -> &[u8] {
        debug_assert_eq!(self.rank, self.k);
        if !self.solved {
            for column in (0..self.k).rev() {
                let (above, own) = self.values.split_at_mut(column * self.symbol_size);
                for (row, value) in above.chunks_exact_mut(self.symbol_size).enumerate() {
                    multiply_add(value, self.rows[row * self.k + column], &own[..self.symbol_size]);
                }
            }
            self.solved = true;
        }
        &self.values
    }
}

/// `target += coefficient * source`.
pub(super) fn multiply_add(target: &mut [u8], coefficient: u8, source: &[u8]) {
    Kernels::best().multiply_add(target, source, coefficient);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODES: [RandomLinear; 2] =
        [RandomLinear { field: Field::Gf2, seed: 3 }, RandomLinear { field: Field::Gf256, seed: 3 }];

    #[test]
    fn failures_are_as_frequent_as_theory_says() {
        for (code, q, trials) in [(CODES[0], 2.0f64, 4000u32), (CODES[1], 256.0, 20_000)] {
            for o in [0, 1, 2] {
                let k = 8;
                let mut test = code.decodability(k).unwrap();
                let failures = (0..trials)
                    .filter(|trial| {
                        let ids: Vec<u32> = (0..k + o).map(|i| trial * 100 + i).collect();
                        !test.decodes(&ids).unwrap()
                    })
                    .count();
                let p = 1.0 - (o + 1..=k + o).map(|i| 1.0 - q.powi(-(i as i32))).product::<f64>();
                let mean = p * f64::from(trials);
                let tolerance = 5.0 * (mean * (1.0 - p)).sqrt() + 1.0;
                assert!((failures as f64 - mean).abs() < tolerance, "{code:?} {o}: {failures} and not {mean}");
            }
        }
    }

    #[test]
    fn rows_of_gf2_stay_in_gf2() {
        let mut system = System::new(70, 0);
        (0..75).for_each(|id| system.add(CODES[0], id, &[]));
        assert!(system.rows.iter().all(|&c| c < 2));
    }
}
