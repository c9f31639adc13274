//! Which symbols of a block have arrived.

use alloc::vec::Vec;

/// What became of a symbol that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Added {
    /// It was new, and was kept.
    New,
    /// It was there already.
    Duplicate,
    /// It was not kept: the block is decoded, or has so many symbols that more repair symbols are not worth keeping.
    Redundant,
}

/// How many ids are sorted in at a time.
const RECENT: usize = 512;

/// The ids of the symbols that there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    /// A bit for each source symbol.
    source: Vec<u64>,
    /// How many of them are set.
    source_count: u32,
    /// Repair symbols in the order in which they came.
    repairs: Vec<u32>,
    /// The same, sorted, but for those in `recent`.
    sorted: Vec<u32>,
    /// The last few, sorted.
    recent: Vec<u32>,
}

impl Received {
    pub(super) fn clear(&mut self, source_symbols: u32) {
        self.source.clear();
        self.source.resize((source_symbols as usize).div_ceil(64), 0);
        self.source_count = 0;
        self.repairs.clear();
        self.sorted.clear();
        self.recent.clear();
    }

    /// Makes room for `count` repair symbols in all.
    pub(super) fn reserve(&mut self, count: usize) {
        self.repairs.reserve_exact(count.saturating_sub(self.repairs.len()));
        self.sorted.reserve_exact(count.saturating_sub(self.sorted.len()));
        self.recent.reserve_exact(count.min(RECENT).saturating_sub(self.recent.len()));
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
        // Ids mostly come in rising order, and then nothing moves. In falling order everything would, were it not for `recent`.
        let above = |ids: &[u32]| ids.last().is_none_or(|&last| last < esi);
        let place = if above(&self.recent) { Err(self.recent.len()) } else { self.recent.binary_search(&esi) };
        let Err(place) = place else { return false };
        if !above(&self.sorted) && self.sorted.binary_search(&esi).is_ok() {
            return false;
        }
        self.recent.insert(place, esi);
        self.repairs.push(esi);
        if self.recent.len() == RECENT {
            self.merge();
        }
        true
    }

    /// Notes all source symbols.
    pub(super) fn complete(&mut self, source_symbols: u32) {
        self.source.fill(u64::MAX);
        self.source_count = source_symbols;
    }

    pub(super) fn has_repair(&self, esi: u32) -> bool {
        self.sorted.binary_search(&esi).is_ok() || self.recent.binary_search(&esi).is_ok()
    }

    /// Sorts the recent ids into the others, from the end on: what is smaller than all of them stays where it is.
    fn merge(&mut self) {
        let (mut left, mut to) = (self.sorted.len(), self.sorted.len() + self.recent.len());
        self.sorted.resize(to, 0);
        while let Some(&esi) = self.recent.last() {
            to -= 1;
            if left > 0 && self.sorted[left - 1] > esi {
                left -= 1;
                self.sorted[to] = self.sorted[left];
            } else {
                self.sorted[to] = esi;
                self.recent.pop();
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_known_once_they_came_in_whatever_order() {
        let count = if cfg!(miri) { RECENT as u32 + 5 } else { 3000 };
        // 7919 is prime and no divisor of the counts: a permutation without order.
        let orders: [fn(u32, u32) -> u32; 3] = [|i, _| i, |i, count| count - 1 - i, |i, count| i * 7919 % count];
        for order in orders {
            let mut received = Received::default();
            received.clear(10);
            for i in 0..count {
                let esi = 2 * order(i, count);
                assert!(!received.has_repair(esi) && received.add_repair(esi));
                assert!(received.has_repair(esi) && !received.add_repair(esi) && !received.has_repair(esi + 1));
            }
            assert!((0..count).all(|i| received.has_repair(2 * i)));
            assert_eq!((received.repairs().len(), received.count()), (count as usize, count as usize));
            received.clear(10);
            assert!(!(0..count).any(|i| received.has_repair(2 * i)));
        }
    }
}
