use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn oti(f: u64, t: u16, z: u8, n: u16, al: u8) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(f, t, z, n, al).unwrap()
}

#[test]
fn blocks_by_hand() {
    // Kt = 101: blocks of 26, 25, 25, 25 symbols of 100 bytes. 101 * 100 - 10 001 = 99 bytes of padding.
    let blocks: Vec<_> = oti(10_001, 100, 4, 1, 4).blocks().collect();
    let found: Vec<_> = blocks.iter().map(|b| (b.number(), b.source_symbols(), b.offset(), b.size())).collect();
    assert_eq!(found, [(0, 26, 0, 2600), (1, 25, 2600, 2500), (2, 25, 5100, 2500), (3, 25, 7600, 2401)]);
    assert_eq!(blocks[3].padded_size(), 2500);
    assert_eq!(blocks[3].symbol_padding(24), 99);
    assert_eq!(blocks[3].symbol_padding(23), 0);
    assert_eq!(blocks[3].symbol_padding(25), 0, "repair symbols have no padding");
    assert_eq!(blocks[0].symbol_padding(25), 0);
}

#[test]
fn an_object_of_nothing_has_blocks_of_nothing() {
    for z in [1, 3, 255] {
        let layout = oti(0, 8, z, 1, 1);
        assert_eq!(layout.blocks().len(), usize::from(z));
        assert!(layout.blocks().all(|b| (b.source_symbols(), b.offset(), b.size(), b.padded_size()) == (0, 0, 0, 0)));
    }
}

#[test]
fn more_blocks_than_symbols_leaves_the_last_ones_empty() {
    let blocks: Vec<_> = oti(10, 8, 4, 1, 1).blocks().map(|b| (b.source_symbols(), b.offset(), b.size())).collect();
    assert_eq!(blocks, [(1, 0, 8), (1, 8, 2), (0, 10, 0), (0, 10, 0)]);
}

#[test]
fn sub_blocks_by_hand() {
    // T = 10 bytes in units of 2, N = 2: TL = 3 units, TS = 2. K = 3 symbols, F = 27. The block is
    // bytes 0..18 (three sub-symbols of 6) and 18..30 (three of 4), of which 27..30 are padding.
    let block = oti(27, 10, 1, 2, 2).block(0).unwrap();
    let bytes: Vec<u8> = (0..27).collect();
    let mut symbols = vec![0xEE; 30];
    block.interleave(&bytes, &mut symbols).unwrap();
    assert_eq!(symbols[..10], [0, 1, 2, 3, 4, 5, 18, 19, 20, 21]);
    assert_eq!(symbols[10..20], [6, 7, 8, 9, 10, 11, 22, 23, 24, 25]);
    assert_eq!(symbols[20..], [12, 13, 14, 15, 16, 17, 26, 0, 0, 0]);
    assert_eq!([0, 1, 2].map(|esi| block.symbol_padding(esi)), [0, 0, 3]);
}

#[test]
fn padding_can_reach_several_symbols() {
    // T = 8 in four sub-blocks of 2, K = 2: sub-symbol j of symbol i lies at 4 j + 2 i. F = 9 leaves 7 bytes of padding:
    // bytes 9..16. Symbol 0 holds 0, 1, 4, 5, 8, 9, 12, 13; symbol 1 holds 2, 3, 6, 7, 10, 11, 14, 15.
    let block = oti(9, 8, 1, 4, 1).block(0).unwrap();
    assert_eq!([0, 1].map(|esi| block.symbol_padding(esi)), [3, 4]);
    let mut symbols = vec![0xEE; 16];
    block.interleave(&[1; 9], &mut symbols).unwrap();
    assert_eq!(symbols, [1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn sub_blocks_without_bytes_cost_nothing() {
    // Eight units in 65 535 sub-blocks: the first eight have one each.
    let block = oti(9, 8, 1, 65_535, 1).block(0).unwrap();
    assert_eq!(block.sub_blocks(), 8);
    let mut symbols = vec![0xEE; 16];
    block.interleave(&[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut symbols).unwrap();
    assert_eq!(symbols, [1, 3, 5, 7, 9, 0, 0, 0, 2, 4, 6, 8, 0, 0, 0, 0]);
}

#[test]
fn wrong_sizes_are_errors() {
    let block = oti(27, 10, 1, 2, 2).block(0).unwrap();
    let (bytes, mut symbols) = ([0; 28], [0; 31]);
    for (b, s) in [(26, 30), (28, 30), (27, 29), (27, 31), (0, 0)] {
        assert!(matches!(block.interleave(&bytes[..b], &mut symbols[..s]), Err(LayoutError::Size { .. })));
        let mut bytes = bytes;
        assert!(matches!(block.deinterleave(&symbols[..s], &mut bytes[..b]), Err(LayoutError::Size { .. })));
    }
    assert!(block.source_symbol_into(0, &bytes[..27], &mut symbols[..9]).is_err());
    assert!(block.source_symbol_into(0, &bytes[..26], &mut symbols[..10]).is_err());
    let no_such = LayoutError::SourceSymbol { esi: 3, source_symbols: 3 };
    assert_eq!(block.source_symbol_into(3, &bytes[..27], &mut symbols[..10]), Err(no_such));
}

proptest! {
    #[test]
    fn the_blocks_are_the_object(f in 0u64..1 << 33, t in 1u16..2000, z in 1u8..=255) {
        if let Ok(oti) = ObjectTransmissionInformation::new(f, t, z, 1, 1) {
            let mut end = 0;
            let mut symbols = 0;
            for block in oti.blocks() {
                prop_assert_eq!(block.offset(), end);
                prop_assert!(block.size() <= block.padded_size());
                prop_assert!(block.padded_size() - block.size() < u64::from(t));
                end += block.size();
                symbols += block.source_symbols();
            }
            prop_assert_eq!(end, f);
            prop_assert_eq!(symbols, oti.source_symbols());
            let backwards: Vec<_> = oti.blocks().rev().map(|b| b.number()).collect();
            prop_assert_eq!(backwards, (0..z).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn deinterleaving_undoes_interleaving(
        f in 0u64..3000, units in 1u16..40, n in 1u16..60, al in 1u8..=8, z in 1u8..4,
    ) {
        let oti = oti(f, units * u16::from(al), z, n, al);
        let object: Vec<u8> = (0..f).map(|i| (i * 7 + i / 256) as u8 | 1).collect();
        let size = usize::from(oti.symbol_size());
        let mut padding = 0;
        for block in oti.blocks() {
            let bytes = &object[block.range().unwrap()];
            let mut symbols = vec![0xEE; block.padded_size() as usize];
            block.interleave(bytes, &mut symbols).unwrap();
            let mut back = vec![0xEE; bytes.len()];
            block.deinterleave(&symbols, &mut back).unwrap();
            prop_assert_eq!(&back, bytes);
            for (esi, symbol) in symbols.chunks(size).enumerate() {
                let mut alone = vec![0xEE; size];
                block.source_symbol_into(esi as u32, bytes, &mut alone).unwrap();
                prop_assert_eq!(&alone, symbol);
                // No byte of the object is 0, so zeros at the end are the padding.
                let zeros = symbol.iter().rev().take_while(|&&byte| byte == 0).count();
                prop_assert_eq!(usize::from(block.symbol_padding(esi as u32)), zeros);
                padding += zeros as u64;
            }
        }
        prop_assert_eq!(padding, u64::from(oti.source_symbols()) * size as u64 - f);
    }
}
