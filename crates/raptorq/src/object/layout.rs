//! Where a block lies in its object, and how its bytes become symbols (RFC 6330 §4.4.1.2).
//!
//! With one sub-block, the usual case, a block's symbols are its bytes, cut every T. With N sub-blocks each symbol takes
//! a sub-symbol from each sub-block, so that a receiver short of memory can decode one sub-block after the other;
//! [`BlockLayout::interleave`] and [`BlockLayout::deinterleave`] go back and forth.

use core::ops::Range;

use super::oti::ObjectTransmissionInformation;
use super::partition::Partition;

/// Why a block's bytes and symbols cannot be made of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A buffer does not have the size of what it is for.
    #[error("{what} has {expected} bytes, not {found}")]
    Size {
        /// What the buffer is for.
        what: &'static str,
        /// The size it must have.
        expected: u64,
        /// The size it has.
        found: usize,
    },
    /// The block has fewer source symbols.
    #[error("there is no source symbol {esi} in a block of {source_symbols}")]
    SourceSymbol {
        /// The number asked for.
        esi: u32,
        /// K.
        source_symbols: u32,
    },
}

fn check_size(what: &'static str, expected: u64, found: usize) -> Result<(), LayoutError> {
    if expected == found as u64 { Ok(()) } else { Err(LayoutError::Size { what, expected, found }) }
}

/// One block of an object: where it lies, how many symbols it has, and how they are made of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockLayout {
    number: u8,
    source_symbols: u32,
    symbol_size: u16,
    offset: u64,
    size: u64,
    /// `(TL, TS, NL, NS)`, in bytes.
    sub_symbols: Partition,
}

impl BlockLayout {
    pub(crate) fn of(oti: &ObjectTransmissionInformation, number: u8) -> Option<Self> {
        let (source_symbols, symbols_before) = oti.block_partition().part(u32::from(number))?;
        let symbol_size = u64::from(oti.symbol_size());
        // The last block that has symbols ends with the object, before its padding does (Kt * T >= F). Blocks without
        // symbols, which follow if Z > Kt, are there, too.
        let offset = (symbols_before * symbol_size).min(oti.transfer_length());
        let size = (u64::from(source_symbols) * symbol_size).min(oti.transfer_length() - offset);
        let alignment = u32::from(oti.symbol_alignment());
        let cut = oti.sub_block_partition();
        // With more sub-blocks than units of alignment in a symbol, the last ones have no bytes, and are left out.
        let small_count = if cut.small == 0 { 0 } else { cut.small_count };
        let sub_symbols = Partition { large: cut.large * alignment, small: cut.small * alignment, small_count, ..cut };
        Some(Self { number, source_symbols, symbol_size: oti.symbol_size(), offset, size, sub_symbols })
    }

    /// SBN: the number of the block, from 0.
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// K: source symbols of the block; 0 if the object has fewer symbols than blocks.
    pub const fn source_symbols(&self) -> u32 {
        self.source_symbols
    }

    /// T: bytes of a symbol.
    pub const fn symbol_size(&self) -> u16 {
        self.symbol_size
    }

    /// N: the number of sub-blocks, those without bytes left out.
    pub const fn sub_blocks(&self) -> u32 {
        self.sub_symbols.large_count + self.sub_symbols.small_count
    }

    /// Where the block begins in the object, in bytes.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the object that are in the block.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// K * T: bytes of the block's source symbols. In the last block these are more than its [`size`](Self::size) if T
    /// does not divide F; zeros follow its bytes then.
    pub fn padded_size(&self) -> u64 {
        u64::from(self.source_symbols) * u64::from(self.symbol_size)
    }

    /// Which bytes of the object are in the block; `None` if the object is larger than the address space.
    pub fn range(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        let end = usize::try_from(self.offset + self.size).ok()?;
        Some(start..end)
    }

    /// How many bytes at the end of source symbol `esi` are padding. Packets may leave them out (§4.4.2).
    ///
    /// 0 if the block has no such source symbol.
    pub fn symbol_padding(&self, esi: u32) -> u16 {
        if esi >= self.source_symbols {
            return 0;
        }
        let mut padding = 0;
        for sub_symbol in (0..self.sub_blocks()).rev() {
            let Some((size, place)) = self.sub_symbol(sub_symbol, esi) else { break };
            let present = self.size.saturating_sub(place).min(u64::from(size));
            padding += u64::from(size) - present;
            if present > 0 {
                break;
            }
        }
        padding as u16 // of one symbol, so at most T
    }

    /// Writes source symbol `esi` to `symbol`, taking it from the block's bytes, `block`.
    ///
    /// # Errors
    ///
    /// If `block` does not have [`size`](Self::size) bytes, or `symbol` not T; or if there is no such source symbol.
    pub fn source_symbol_into(&self, esi: u32, block: &[u8], symbol: &mut [u8]) -> Result<(), LayoutError> {
        if esi >= self.source_symbols {
            return Err(LayoutError::SourceSymbol { esi, source_symbols: self.source_symbols });
        }
        check_size("a block", self.size, block.len())?;
        check_size("a symbol", u64::from(self.symbol_size), symbol.len())?;
        let mut rest = symbol;
        for sub_symbol in 0..self.sub_blocks() {
            let Some((size, place)) = self.sub_symbol(sub_symbol, esi) else { break };
            let Some((part, after)) = rest.split_at_mut_checked(size as usize) else { break };
            copy_padded(block, place, part);
            rest = after;
        }
        Ok(())
    }

    /// Writes all source symbols, one after the other, to `symbols`, taking them from the block's bytes.
    ///
    /// # Errors
    ///
    /// If `block` does not have [`size`](Self::size) bytes, or `symbols` not [`padded_size`](Self::padded_size).
    pub fn interleave(&self, block: &[u8], symbols: &mut [u8]) -> Result<(), LayoutError> {
        check_size("a block", self.size, block.len())?;
        check_size("the symbols of a block", self.padded_size(), symbols.len())?;
        if self.sub_blocks() == 1 {
            copy_padded(block, 0, symbols);
            return Ok(());
        }
        for (esi, symbol) in symbols.chunks_exact_mut(usize::from(self.symbol_size)).enumerate() {
            self.source_symbol_into(esi as u32, block, symbol)?;
        }
        Ok(())
    }

    /// Writes the block's bytes to `block`, taking them from its source symbols; undoes [`interleave`](Self::interleave).
    ///
    /// # Errors
    ///
    /// If `symbols` does not have [`padded_size`](Self::padded_size) bytes, or `block` not [`size`](Self::size).
    pub fn deinterleave(&self, symbols: &[u8], block: &mut [u8]) -> Result<(), LayoutError> {
        check_size("the symbols of a block", self.padded_size(), symbols.len())?;
        check_size("a block", self.size, block.len())?;
        let symbol_size = usize::from(self.symbol_size);
        let mut within = 0; // where the sub-symbol begins in its symbol
        let mut rest = block;
        for sub_symbol in 0..self.sub_blocks() {
            let Some((size, _)) = self.sub_symbol(sub_symbol, 0) else { break };
            for symbol in symbols.chunks_exact(symbol_size) {
                // Only the last sub-symbols may be cut short by the end of the block.
                let (part, after) = rest.split_at_mut(rest.len().min(size as usize));
                part.copy_from_slice(&symbol[within..within + part.len()]);
                rest = after;
            }
            within += size as usize;
        }
        Ok(())
    }

    /// The size of sub-symbol `index` of every symbol, and where that of symbol `esi` lies in the padded block.
    fn sub_symbol(&self, index: u32, esi: u32) -> Option<(u32, u64)> {
        let (size, before) = self.sub_symbols.part(index)?;
        if esi >= self.source_symbols {
            return None;
        }
        // A sub-block has the sub-symbols of all K symbols, one after the other.
        let place = before * u64::from(self.source_symbols) + u64::from(esi) * u64::from(size);
        Some((size, place))
    }
}

/// Fills `out` with the bytes of `from` from `place` on, and zeros after its end.
fn copy_padded(from: &[u8], place: u64, out: &mut [u8]) {
    let rest = usize::try_from(place).ok().and_then(|place| from.get(place..)).unwrap_or(&[]);
    let present = rest.len().min(out.len());
    out[..present].copy_from_slice(&rest[..present]);
    out[present..].fill(0);
}

impl ObjectTransmissionInformation {
    /// Where the blocks lie in the object, in order.
    pub fn blocks(&self) -> Blocks {
        Blocks::new(self)
    }

    /// Where block `number` lies in the object; `None` if the object has no such block.
    pub fn block(&self, number: u8) -> Option<BlockLayout> {
        BlockLayout::of(self, number)
    }
}

/// The blocks of an object, in order; see [`ObjectTransmissionInformation::blocks`].
#[derive(Clone, Debug)]
pub struct Blocks {
    oti: ObjectTransmissionInformation,
    numbers: Range<u8>,
}

impl Blocks {
    pub(crate) fn new(oti: &ObjectTransmissionInformation) -> Self {
        Self { oti: *oti, numbers: 0..oti.source_blocks() }
    }
}

impl Iterator for Blocks {
    type Item = BlockLayout;

    fn next(&mut self) -> Option<BlockLayout> {
        self.numbers.next().and_then(|number| self.oti.block(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl DoubleEndedIterator for Blocks {
    fn next_back(&mut self) -> Option<BlockLayout> {
        self.numbers.next_back().and_then(|number| self.oti.block(number))
    }
}

impl ExactSizeIterator for Blocks {}
impl core::iter::FusedIterator for Blocks {}

#[cfg(test)]
mod tests;
