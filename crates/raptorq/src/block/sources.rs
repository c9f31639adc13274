//! The source symbols of a block, with memory in proportion to what has arrived.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::BlockError;

/// The block gets its memory when an eighth of its symbols have arrived.
const SHARE: usize = 8;
/// Blocks up to this size get it at once.
const SMALL: usize = 64 << 10;

/// The block as one piece, or its first symbols in the order in which they came.
///
/// The piece grows as symbols come. Where they come in order, it is written once, and not filled with zeros before.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// Without room, or with room for all of the block. It reaches to the last symbol that came, or has an older block's bytes.
    block: Vec<u8>,
    early: Vec<u8>,
    /// Where in `early` a symbol is, by its id.
    places: BTreeMap<u32, usize>,
}

impl Sources {
    /// Forgets all symbols. Memory for a block of `bytes` is kept if there is so much.
    pub(super) fn clear(&mut self, bytes: usize) {
        self.early.clear();
        self.places.clear();
        if self.block.capacity() < bytes {
            self.block = Vec::new();
        } else if self.block.len() != bytes {
            self.block.clear();
        }
    }

    /// Makes room for one symbol more when `arrived` are there, source and repair symbols, of a block of `bytes`.
    ///
    /// # Errors
    ///
    /// [`BlockError::Memory`]; then nothing has changed.
    #[inline]
    pub(super) fn prepare(&mut self, arrived: usize, size: usize, bytes: usize) -> Result<(), BlockError> {
        if self.block.capacity() < bytes { self.grow(arrived, size, bytes) } else { Ok(()) }
    }

    /// Whether the block has no room yet.
    fn is_early(&self) -> bool {
        self.block.capacity() == 0
    }

    #[cold]
    fn grow(&mut self, arrived: usize, size: usize, bytes: usize) -> Result<(), BlockError> {
        if self.is_early() && bytes > SMALL && (arrived + 1).saturating_mul(size) < bytes / SHARE {
            return reserve(&mut self.early, size, bytes / SHARE);
        }
        self.block.try_reserve_exact(bytes - self.block.len()).map_err(|_| BlockError::Memory { bytes })?;
        let (early, places) = (core::mem::take(&mut self.early), core::mem::take(&mut self.places));
        for (esi, place) in places {
            self.put(esi, &early[place..][..size]);
        }
        Ok(())
    }

    /// Takes a symbol that room was made for.
    #[inline]
    pub(super) fn add(&mut self, esi: u32, symbol: &[u8]) {
        if self.is_early() {
            self.places.insert(esi, self.early.len());
            self.early.extend_from_slice(symbol);
        } else {
            self.put(esi, symbol);
        }
    }

    /// Writes a symbol to its place in the block.
    #[inline]
    fn put(&mut self, esi: u32, symbol: &[u8]) {
        let start = esi as usize * symbol.len();
        if start < self.block.len() {
            self.block[start..][..symbol.len()].copy_from_slice(symbol);
        } else {
            self.block.resize(start, 0);
            self.block.extend_from_slice(symbol);
        }
    }

    /// A symbol of `size` bytes that was added.
    pub(super) fn symbol(&self, esi: u32, size: usize) -> &[u8] {
        match self.places.get(&esi) {
            Some(&place) => &self.early[place..][..size],
            None => &self.block[esi as usize * size..][..size],
        }
    }

    /// The block, once it has been [completed](Self::complete) or all source symbols have come.
    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// All of the block, `bytes` long. It is one piece once K symbols have arrived.
    pub(super) fn complete(&mut self, bytes: usize) -> &mut [u8] {
        self.block.resize(bytes, 0);
        &mut self.block
    }

    /// The block, moved out. What is left is as empty as after [`clear`](Self::clear).
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.early.clear();
        self.places.clear();
        core::mem::take(&mut self.block)
    }
}

/// Room for `size` bytes more in `vector`, which will have `most` at most: twice as much as there was if it is full.
///
/// # Errors
///
/// [`BlockError::Memory`]; then nothing has changed.
#[inline]
pub(super) fn reserve(vector: &mut Vec<u8>, size: usize, most: usize) -> Result<(), BlockError> {
    if vector.capacity() - vector.len() >= size {
        return Ok(());
    }
    let wanted = (2 * vector.len()).max(SMALL).min(most).saturating_sub(vector.len()).max(size);
    let bytes = vector.len() + wanted;
    vector.try_reserve_exact(wanted).map_err(|_| BlockError::Memory { bytes })
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    const SIZE: usize = 1000;

    /// Adds symbols of the bytes `esi + generation`, and reads all of them back.
    fn add_all(sources: &mut Sources, symbols: u32, order: &[u32], generation: u8) {
        let bytes = symbols as usize * SIZE;
        for (arrived, &esi) in order.iter().enumerate() {
            sources.prepare(arrived, SIZE, bytes).unwrap();
            sources.add(esi, &[esi as u8 + generation; SIZE]);
            for &there in &order[..=arrived] {
                assert_eq!(sources.symbol(there, SIZE), [there as u8 + generation; SIZE], "{there} of {order:?}");
            }
        }
    }

    #[test]
    fn symbols_come_in_any_order_and_blocks_one_after_the_other() {
        // Beyond 64 kB memory is taken as symbols come.
        for symbols in [3, 100] {
            let in_order: Vec<u32> = (0..symbols).collect();
            let backwards = in_order.iter().rev().copied().collect();
            let shuffled = (0..symbols).map(|i| (i * 37 + 11) % symbols).collect();
            let mut sources = Sources::default();
            for (generation, order) in [in_order, backwards, shuffled].into_iter().enumerate() {
                sources.clear(symbols as usize * SIZE);
                add_all(&mut sources, symbols, &order, generation as u8);
                assert_eq!(sources.block().len(), symbols as usize * SIZE);
                assert!(
                    sources.block().chunks(SIZE).zip(0..).all(|(symbol, esi)| symbol == [esi + generation as u8; SIZE])
                );
            }
        }
    }

    #[test]
    fn gaps_are_there_when_the_block_is_completed() {
        let mut sources = Sources::default();
        add_all(&mut sources, 10, &[1, 4, 2], 0);
        assert_eq!(sources.complete(10 * SIZE).len(), 10 * SIZE);
        assert_eq!(sources.symbol(4, SIZE), [4; SIZE]);
        // A clone has no room, and takes some.
        let mut clone = sources.clone();
        clone.prepare(3, SIZE, 10 * SIZE).unwrap();
        clone.add(9, &[9; SIZE]);
        assert_eq!(clone.complete(10 * SIZE)[9 * SIZE..], vec![9; SIZE]);
    }

    #[test]
    fn what_was_taken_leaves_an_empty_block() {
        let mut sources = Sources::default();
        add_all(&mut sources, 2, &[1, 0], 0);
        assert_eq!(sources.take(), [vec![0; SIZE], vec![1; SIZE]].concat());
        add_all(&mut sources, 2, &[0, 1], 5);
        assert_eq!(sources.block(), [vec![5; SIZE], vec![6; SIZE]].concat());
    }
}
