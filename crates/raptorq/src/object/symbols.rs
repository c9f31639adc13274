//! What a received packet holds (RFC 6330 §4.4.2).

use super::error::DecoderError;
use super::layout::BlockLayout;
use super::packet::PacketError;
use crate::ENCODING_SYMBOL_IDS;

/// The symbols of a packet that is in order: one or more, with ESIs in a row, all source or all repair symbols. The last
/// may lack its padding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols<'a> {
    first: u32,
    symbol_size: usize,
    data: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// Checks all of it, so that no part of a packet that is not in order is used.
    pub(super) fn check(layout: &BlockLayout, first: u32, data: &'a [u8]) -> Result<Self, DecoderError> {
        let (symbol_size, found) = (layout.symbol_size(), data.len());
        let wrong_size = DecoderError::PacketSize { found, symbol_size };
        let size = usize::from(symbol_size);
        let Some(last) = found.div_ceil(size).checked_sub(1) else { return Err(wrong_size) };
        let last = u32::try_from(last).ok().and_then(|last| first.checked_add(last)).unwrap_or(u32::MAX);
        if last >= ENCODING_SYMBOL_IDS {
            return Err(PacketError::EncodingSymbolId { esi: last }.into());
        }
        if first < layout.source_symbols() && last >= layout.source_symbols() {
            return Err(DecoderError::MixedPacket { esi: first, first_repair: layout.source_symbols() });
        }
        let symbols = Self { first, symbol_size: size, data };
        if layout.size() == layout.padded_size() {
            return if found % size == 0 { Ok(symbols) } else { Err(wrong_size) };
        }
        for (esi, symbol) in symbols.iter() {
            let padding = usize::from(layout.symbol_padding(esi));
            let Some(sent) = symbol.get(size - padding..) else { return Err(wrong_size) };
            // §4.4.1.2: the object "MUST be padded at the end with [...] zero octets".
            if sent.iter().any(|&byte| byte != 0) {
                return Err(DecoderError::Padding { esi });
            }
        }
        Ok(symbols)
    }

    /// The symbols with their ESIs.
    pub(super) fn iter(self) -> impl Iterator<Item = (u32, &'a [u8])> {
        (self.first..).zip(self.data.chunks(self.symbol_size))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::ObjectTransmissionInformation;

    fn check(layout: &BlockLayout, first: u32, data: &[u8]) -> Result<Vec<(u32, usize)>, DecoderError> {
        Symbols::check(layout, first, data).map(|symbols| symbols.iter().map(|(esi, s)| (esi, s.len())).collect())
    }

    fn layout(f: u64, n: u16) -> BlockLayout {
        ObjectTransmissionInformation::new(f, 10, 1, n, 1).unwrap().block(0).unwrap()
    }

    #[test]
    fn whole_symbols_in_a_row() {
        let block = layout(50, 1);
        assert_eq!(check(&block, 0, &[1; 10]).unwrap(), [(0, 10)]);
        assert_eq!(check(&block, 2, &[1; 30]).unwrap(), [(2, 10), (3, 10), (4, 10)]);
        assert_eq!(check(&block, 5, &[1; 20]).unwrap(), [(5, 10), (6, 10)]);
        assert_eq!(check(&block, 4, &[1; 20]), Err(DecoderError::MixedPacket { esi: 4, first_repair: 5 }));
        for found in [0, 1, 9, 11, 19, 21] {
            let error = Err(DecoderError::PacketSize { found, symbol_size: 10 });
            assert_eq!(check(&block, 0, &vec![1; found]), error);
            assert_eq!(check(&block, 5, &vec![1; found]), error);
        }
    }

    #[test]
    fn ids_have_24_bits() {
        let block = layout(50, 1);
        assert_eq!(check(&block, ENCODING_SYMBOL_IDS - 1, &[1; 10]).unwrap(), [(ENCODING_SYMBOL_IDS - 1, 10)]);
        let esi = ENCODING_SYMBOL_IDS;
        assert_eq!(check(&block, esi - 1, &[1; 20]), Err(PacketError::EncodingSymbolId { esi }.into()));
    }

    #[test]
    fn the_padding_of_the_last_source_symbol_may_be_left_out() {
        // Of the last symbol, 3 bytes are the object's and 7 padding.
        let block = layout(43, 1);
        let mut last = [1; 20];
        last[13..].fill(0);
        for sent in 13..=20 {
            assert_eq!(check(&block, 3, &last[..sent]).unwrap(), [(3, 10), (4, sent - 10)]);
        }
        assert_eq!(check(&block, 3, &last[..12]), Err(DecoderError::PacketSize { found: 12, symbol_size: 10 }));
        assert_eq!(check(&block, 2, &last[..13]), Err(DecoderError::PacketSize { found: 13, symbol_size: 10 }));
        assert_eq!(check(&block, 5, &last[..13]), Err(DecoderError::PacketSize { found: 13, symbol_size: 10 }));
        last[17] = 1;
        assert_eq!(check(&block, 3, &last), Err(DecoderError::Padding { esi: 4 }));
        assert!(check(&block, 3, &last[..17]).is_ok());
    }

    #[test]
    fn with_sub_blocks_several_symbols_have_padding() {
        // Two symbols of five sub-symbols of 2 bytes; 7 bytes of padding: 3 in the first symbol, 4 in the second.
        let block = layout(13, 5);
        assert_eq!([0, 1].map(|esi| block.symbol_padding(esi)), [3, 4]);
        let symbol = [1, 1, 1, 1, 1, 1, 1, 0, 0, 0];
        assert_eq!(check(&block, 0, &symbol[..7]).unwrap(), [(0, 7)]);
        assert_eq!(check(&block, 1, &symbol), Err(DecoderError::Padding { esi: 1 }));
        // A packet can only be cut at its end.
        let both = [&symbol[..7], &[1; 6]].concat();
        assert!(check(&block, 0, &both).is_err());
    }
}
