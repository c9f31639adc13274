//! R10, the Raptor code of RFC 5053: RaptorQ's ancestor, over GF(2) alone.
//!
//! K source symbols become L = K + S + H intermediate symbols by a precode, S of which are sparse (LDPC) sums and H dense
//! ones (half symbols); an encoding symbol is the sum of a few intermediate symbols, so chosen that the first K are the
//! source symbols. `parameters.rs` is the standard as written. The decoder solves the same equations as any decoder that
//! is as good as the code allows (`solver.rs`): it fails when they have no unique solution, and never else.
//!
//! Blocks and symbols are here; FEC payload ids, object partitioning and sub-blocking of RFC 5053 are not.
//!
//! The 16 bits of the encoding symbol id are not all of use: symbols 65521 to 65535 repeat symbols 0 to 14, because
//! §5.4.4.4 computes modulo 65521.

mod dense;
mod parameters;
mod peeling;
mod rows;
mod solver;
mod tables;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use self::parameters::{ENCODING_SYMBOLS, MAX_SOURCE_SYMBOLS, MIN_SOURCE_SYMBOLS, Parameters};
use self::solver::Solver;
use super::xor::{symbol, symbol_mut, xor};
use crate::fountain::{
    Decodability, FountainCode, FountainDecoder, FountainEncoder, FountainError, Limits, check_length, check_loaded,
};

/// The Raptor code of RFC 5053.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct R10;

impl R10 {
    fn limits() -> Limits {
        Limits {
            source_symbols: MIN_SOURCE_SYMBOLS..=MAX_SOURCE_SYMBOLS,
            encoding_symbols: u64::from(ENCODING_SYMBOLS),
            systematic: true,
        }
    }
}

impl FountainCode for R10 {
    fn name(&self) -> &'static str {
        "r10"
    }

    fn limits(&self) -> Limits {
        Self::limits()
    }

    fn encoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainEncoder>, FountainError> {
        Self::limits().check_shape(source_symbols, symbol_size)?;
        let parameters = Parameters::new(source_symbols);
        let mut solver = Solver::new(&parameters);
        let source: Vec<u32> = (0..source_symbols).collect();
        assert!(
            solver.solve(&parameters, &source),
            "the systematic index is so chosen that the source symbols suffice"
        );
        solver.finish();
        let intermediate = vec![0; parameters.l as usize * symbol_size];
        Ok(Box::new(R10Encoder { parameters, solver, symbol_size, intermediate, loaded: false }))
    }

    fn decoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainDecoder>, FountainError> {
        Self::limits().check_shape(source_symbols, symbol_size)?;
        Ok(Box::new(R10Decoder::new(Parameters::new(source_symbols), symbol_size)))
    }

    fn decodability(&self, source_symbols: u32) -> Result<Box<dyn Decodability>, FountainError> {
        Self::limits().check_source_symbols(source_symbols)?;
        let parameters = Parameters::new(source_symbols);
        Ok(Box::new(R10Decodability { solver: Solver::new(&parameters), parameters }))
    }
}

/// Writes the sum of the intermediate symbols that make encoding symbol `id` (§5.4.4.3) to `out`.
fn encode(parameters: &Parameters, intermediate: &[u8], id: u32, out: &mut [u8]) {
    out.fill(0);
    parameters.columns(id, |column| xor(out, symbol(intermediate, out.len(), column as usize)));
}

struct R10Encoder {
    parameters: Parameters,
    solver: Solver,
    symbol_size: usize,
    intermediate: Vec<u8>,
    loaded: bool,
}

impl FountainEncoder for R10Encoder {
    fn load(&mut self, block: &[u8]) -> Result<(), FountainError> {
        check_length("source block", self.parameters.k as usize * self.symbol_size, block.len())?;
        self.solver.execute(block, self.symbol_size, &mut self.intermediate);
        self.loaded = true;
        Ok(())
    }

    fn encode_into(&self, id: u32, out: &mut [u8]) -> Result<(), FountainError> {
        R10::limits().check_id(id)?;
        check_length("symbol", self.symbol_size, out.len())?;
        check_loaded(self.loaded)?;
        encode(&self.parameters, &self.intermediate, id, out);
        Ok(())
    }
}

struct R10Decoder {
    parameters: Parameters,
    solver: Solver,
    symbol_size: usize,
    ids: Vec<u32>,
    /// The symbols `ids`.
    received: Vec<u8>,
    /// A bit for each id.
    seen: Vec<u64>,
    /// Number of source symbols among `ids`.
    source: usize,
    /// The source symbols that were received, or all.
    block: Vec<u8>,
    complete: bool,
    /// How many symbols the last attempt had, which failed.
    tried: usize,
    intermediate: Vec<u8>,
}

impl R10Decoder {
    fn new(parameters: Parameters, symbol_size: usize) -> Self {
        Self {
            solver: Solver::new(&parameters),
            symbol_size,
            ids: Vec::new(),
            received: Vec::new(),
            seen: vec![0; ENCODING_SYMBOLS as usize / 64],
            source: 0,
            block: vec![0; parameters.k as usize * symbol_size],
            complete: false,
            tried: 0,
            intermediate: vec![0; parameters.l as usize * symbol_size],
            parameters,
        }
    }

    fn has(&self, id: u32) -> bool {
        self.seen[id as usize / 64] >> (id % 64) & 1 == 1
    }

    fn decode(&mut self) {
        if self.complete || self.ids.len() == self.tried {
            return;
        }
        let k = self.parameters.k;
        if self.source == k as usize {
            self.complete = true;
            return;
        }
        if !self.solver.solve(&self.parameters, &self.ids) {
            self.tried = self.ids.len();
            return;
        }
        self.solver.finish();
        self.solver.execute(&self.received, self.symbol_size, &mut self.intermediate);
        for id in (0..k).filter(|&id| !self.has(id)).collect::<Vec<u32>>() {
            let out = symbol_mut(&mut self.block, self.symbol_size, id as usize);
            encode(&self.parameters, &self.intermediate, id, out);
        }
        self.complete = true;
    }
}

impl FountainDecoder for R10Decoder {
    fn add_symbol(&mut self, id: u32, symbol: &[u8]) -> Result<bool, FountainError> {
        R10::limits().check_id(id)?;
        check_length("symbol", self.symbol_size, symbol.len())?;
        if self.complete || self.has(id) {
            return Ok(false);
        }
        self.seen[id as usize / 64] |= 1 << (id % 64);
        if id < self.parameters.k {
            symbol_mut(&mut self.block, self.symbol_size, id as usize).copy_from_slice(symbol);
            self.source += 1;
        }
        self.ids.push(id);
        self.received.extend_from_slice(symbol);
        Ok(true)
    }

    fn try_decode(&mut self) -> Option<&[u8]> {
        self.decode();
        self.complete.then_some(&self.block)
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.received.clear();
        self.seen.fill(0);
        self.source = 0;
        self.complete = false;
        self.tried = 0;
    }
}

struct R10Decodability {
    parameters: Parameters,
    solver: Solver,
}

impl Decodability for R10Decodability {
    fn decodes(&mut self, ids: &[u32]) -> Result<bool, FountainError> {
        ids.iter().try_for_each(|&id| R10::limits().check_id(id))?;
        Ok(self.solver.solve(&self.parameters, ids))
    }
}
