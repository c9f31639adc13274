//! LT codes (Luby, *LT codes*, FOCS 2002): each encoding symbol is the sum of a random set of source symbols, and decoding
//! is belief propagation.
//!
//! The degree of a symbol comes from a [`Soliton`] distribution, its neighbours are a uniform set of that size, and both
//! are a function of the seed, K and the id (`neighbours.rs`). The decoder works as symbols arrive and keeps what it
//! could not use yet (`peeling.rs`). It solves no equations beyond that, as Luby's does not: sets of symbols exist that
//! Gaussian elimination would decode and this decoder does not.
//!
//! Not systematic: ids 0 to K - 1 are encoding symbols like all others.

mod neighbours;
mod peeling;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use self::neighbours::Neighbours;
use self::peeling::Peeling;
use super::Soliton;
use super::xor::{symbol, xor};
use crate::fountain::{
    Decodability, FountainCode, FountainDecoder, FountainEncoder, FountainError, Limits, check_length, check_loaded,
};

/// The most source symbols. No analysis ends there, but memory for a degree distribution and for the decoder's graph
/// grows with K ln K.
const MAX_SOURCE_SYMBOLS: u32 = 1 << 20;

/// An LT code: a degree distribution and a seed.
///
/// The default is the robust soliton with c = 0.05 and δ = 0.5, and seed 0: it decodes 99 of 100 blocks of 10,000 symbols
/// with 10 % more of them. A smaller c needs fewer symbols typically and many more sometimes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lt {
    soliton: Soliton,
    seed: u64,
}

impl Lt {
    /// The code with that degree distribution; sender and receiver use the same `seed`.
    ///
    /// # Errors
    ///
    /// When a parameter of the distribution is out of range.
    pub fn new(soliton: Soliton, seed: u64) -> Result<Self, FountainError> {
        Ok(Self { soliton: soliton.check()?, seed })
    }

    fn neighbours(&self, source_symbols: u32) -> Neighbours {
        Neighbours::new(self.soliton, self.seed, source_symbols)
    }
}

impl Default for Lt {
    fn default() -> Self {
        Self { soliton: Soliton::Robust { c: 0.05, delta: 0.5 }, seed: 0 }
    }
}

impl FountainCode for Lt {
    fn name(&self) -> &'static str {
        "lt"
    }

    fn limits(&self) -> Limits {
        Limits { source_symbols: 1..=MAX_SOURCE_SYMBOLS, encoding_symbols: 1 << 32, systematic: false }
    }

    fn encoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainEncoder>, FountainError> {
        let k = self.limits().check_shape(source_symbols, symbol_size)?;
        let neighbours = self.neighbours(source_symbols);
        Ok(Box::new(LtEncoder { neighbours, symbol_size, block: vec![0; k * symbol_size], loaded: false }))
    }

    fn decoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainDecoder>, FountainError> {
        self.limits().check_shape(source_symbols, symbol_size)?;
        let neighbours = self.neighbours(source_symbols);
        let peeling = Peeling::new(source_symbols, symbol_size);
        Ok(Box::new(LtDecoder { neighbours, symbol_size, peeling, seen: BTreeSet::new(), drawn: Vec::new() }))
    }

    fn decodability(&self, source_symbols: u32) -> Result<Box<dyn Decodability>, FountainError> {
        self.limits().check_source_symbols(source_symbols)?;
        let neighbours = self.neighbours(source_symbols);
        Ok(Box::new(LtDecodability { neighbours, peeling: Peeling::new(source_symbols, 0), drawn: Vec::new() }))
    }
}

struct LtEncoder {
    neighbours: Neighbours,
    symbol_size: usize,
    block: Vec<u8>,
    loaded: bool,
}

impl FountainEncoder for LtEncoder {
    fn load(&mut self, block: &[u8]) -> Result<(), FountainError> {
        check_length("source block", self.block.len(), block.len())?;
        self.block.copy_from_slice(block);
        self.loaded = true;
        Ok(())
    }

    fn encode_into(&self, id: u32, out: &mut [u8]) -> Result<(), FountainError> {
        check_length("symbol", self.symbol_size, out.len())?;
        check_loaded(self.loaded)?;
        let mut drawn = Vec::new();
        self.neighbours.draw(id, &mut drawn);
        out.fill(0);
        for &neighbour in &drawn {
            xor(out, symbol(&self.block, self.symbol_size, neighbour as usize));
        }
        Ok(())
    }
}

/// Memory grows with the symbols that it is given: the caller decides when to give up.
struct LtDecoder {
    neighbours: Neighbours,
    symbol_size: usize,
    peeling: Peeling,
    seen: BTreeSet<u32>,
    drawn: Vec<u32>,
}

impl FountainDecoder for LtDecoder {
    fn add_symbol(&mut self, id: u32, symbol: &[u8]) -> Result<bool, FountainError> {
        check_length("symbol", self.symbol_size, symbol.len())?;
        if self.peeling.is_complete() || !self.seen.insert(id) {
            return Ok(false);
        }
        self.neighbours.draw(id, &mut self.drawn);
        self.peeling.add(&self.drawn, symbol);
        Ok(true)
    }

    fn try_decode(&mut self) -> Option<&[u8]> {
        self.peeling.is_complete().then(|| self.peeling.block())
    }

    fn clear(&mut self) {
        self.seen.clear();
        self.peeling.clear();
    }
}

struct LtDecodability {
    neighbours: Neighbours,
    peeling: Peeling,
    drawn: Vec<u32>,
}

impl Decodability for LtDecodability {
    fn decodes(&mut self, ids: &[u32]) -> Result<bool, FountainError> {
        self.peeling.clear();
        for &id in ids {
            self.neighbours.draw(id, &mut self.drawn);
            self.peeling.add(&self.drawn, &[]);
            if self.peeling.is_complete() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
