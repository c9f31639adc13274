//! The source symbols of a block, with memory in proportion to what has arrived.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::BlockError;

/// The block gets its memory when an eighth of its symbols have arrived.
const SHARE: usize = 8;
/// Blocks up to this size get it at once.
const SMALL: usize = 64 << 10;

/// The block as one piece, or its first symbols in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// Empty, or all of the block.
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
        } else {
            self.block.resize(bytes, 0);
        }
    }

    /// Makes room for one symbol more when `arrived` are there, source and repair symbols, of a block of `bytes`.
    ///
    /// # Errors
    ///
    /// [`BlockError::Memory`]; then nothing has changed.
    #[inline]
    pub(super) fn prepare(&mut self, arrived: usize, size: usize, bytes: usize) -> Result<(), BlockError> {
        if self.block.is_empty() { self.grow(arrived, size, bytes) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, arrived: usize, size: usize, bytes: usize) -> Result<(), BlockError> {
        if bytes > SMALL && (arrived + 1).saturating_mul(size) < bytes / SHARE {
            return reserve(&mut self.early, size, bytes / SHARE);
        }
        self.block.try_reserve_exact(bytes).map_err(|_| BlockError::Memory { bytes })?;
        self.block.resize(bytes, 0);
        for (&esi, &place) in &self.places {
            self.block[esi as usize * size..][..size].copy_from_slice(&self.early[place..][..size]);
        }
        (self.early, self.places) = (Vec::new(), BTreeMap::new());
        Ok(())
    }

    /// Takes a symbol that room was made for.
    #[inline]
    pub(super) fn add(&mut self, esi: u32, symbol: &[u8]) {
        if self.block.is_empty() {
            self.places.insert(esi, self.early.len());
            self.early.extend_from_slice(symbol);
        } else {
            self.block[esi as usize * symbol.len()..][..symbol.len()].copy_from_slice(symbol);
        }
    }

    /// A symbol of `size` bytes that was added.
    pub(super) fn symbol(&self, esi: u32, size: usize) -> &[u8] {
        match self.places.get(&esi) {
            Some(&place) => &self.early[place..][..size],
            None => &self.block[esi as usize * size..][..size],
        }
    }

    /// The block. It is one piece once K symbols have arrived.
    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// The block, moved out. What is left is as empty as after [`clear`](Self::clear).
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.early.clear();
        self.places.clear();
        core::mem::take(&mut self.block)
    }

    pub(super) fn block_mut(&mut self) -> &mut [u8] {
        &mut self.block
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
