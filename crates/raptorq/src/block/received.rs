//! Which symbols of a block have arrived.

use alloc::vec::Vec;

/// What became of a symbol that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was new, and was kept.
    New,
    /// It was there already.
    Duplicate,
    /// It was not kept: the block is decoded, or has so many symbols that more repair symbols are not worth keeping.
    Redundant,
}

/// The ids of the symbols that there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    /// A bit for each source symbol.
    source: Vec<u64>,
    /// How many of them are set.
    source_count: u32,
    /// Repair symbols in the order in which they came.
    repairs: Vec<u32>,
    /// The same, sorted.
    sorted: Vec<u32>,
}

impl Received {
    pub(super) fn clear(&mut self, source_symbols: u32) {
        self.source.clear();
        self.source.resize((source_symbols as usize).div_ceil(64), 0);
        self.source_count = 0;
        self.repairs.clear();
        self.sorted.clear();
    }

    /// Makes room for `count` repair symbols in all.
    pub(super) fn reserve(&mut self, count: usize) {
        self.repairs.reserve_exact(count.saturating_sub(self.repairs.len()));
        self.sorted.reserve_exact(count.saturating_sub(self.sorted.len()));
    }

    pub(super) fn has_source(&self, esi: u32) -> bool {
        self.source[esi as usize / 64] >> (esi % 64) & 1 == 1
    }

    /// Notes a source symbol that was not there.
    pub(super) fn add_source(&mut self, esi: u32) {
        self.source[esi as usize / 64] |= 1 << (esi % 64);
        self.source_count += 1;
    }

    /// Notes a repair symbol unless it is known.
    pub(super) fn add_repair(&mut self, esi: u32) -> bool {
        // Ids mostly come in rising order, and then nothing moves.
        let Err(place) = self.sorted.binary_search(&esi) else { return false };
        self.sorted.insert(place, esi);
        self.repairs.push(esi);
        true
    }

    /// Notes all source symbols.
    pub(super) fn complete(&mut self, source_symbols: u32) {
        self.source.fill(u64::MAX);
        self.source_count = source_symbols;
    }

    pub(super) fn has_repair(&self, esi: u32) -> bool {
        self.sorted.binary_search(&esi).is_ok()
    }

    /// Symbols, all told.
    pub(super) fn count(&self) -> usize {
        self.source_count as usize + self.repairs.len()
    }

    pub(super) fn source_count(&self) -> u32 {
        self.source_count
    }

    pub(super) fn repairs(&self) -> &[u32] {
        &self.repairs
    }

    /// The source symbols that are not there, in rising order.
    pub(super) fn lost(&self, source_symbols: u32) -> impl Iterator<Item = u32> + '_ {
        self.source.iter().enumerate().flat_map(move |(word, &bits)| {
            let first = word as u32 * 64;
            let valid = (source_symbols - first).min(64);
            let mut missing = !bits & (u64::MAX >> (64 - valid));
            core::iter::from_fn(move || {
                (missing != 0).then(|| {
                    let bit = missing.trailing_zeros();
                    missing &= missing - 1;
                    first + bit
                })
            })
        })
    }
}
