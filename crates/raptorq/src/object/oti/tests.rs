use proptest::prelude::*;

use super::*;

type Oti = ObjectTransmissionInformation;

#[test]
fn the_twelve_bytes_are_those_of_the_rfc() {
    // §3.3.2: F in 40 bits, 8 reserved, T in 16. §3.3.3: Z in 8 bits, N in 16, Al in 8.
    let oti = Oti::new(0x01_0203_0405, 0x0608, 200, 0x0102, 4).unwrap();
    assert_eq!(oti.serialize(), [1, 2, 3, 4, 5, 0, 6, 8, 200, 1, 2, 4]);
    assert_eq!(oti.common(), 0x0102_0304_0500_0608);
    assert_eq!(oti.scheme_specific(), 0xC801_0204);
    assert_eq!(Oti::from_parts(oti.common(), oti.scheme_specific()), Ok(oti));
}

#[test]
fn every_rule_has_its_error() {
    let too_long = MAX_TRANSFER_LENGTH + 1;
    assert_eq!(Oti::new(too_long, 65_535, 255, 1, 1), Err(OtiError::TransferLength { transfer_length: too_long }));
    for (t, z, n, al) in [(0, 1, 1, 1), (8, 0, 1, 1), (8, 1, 0, 1), (8, 1, 1, 0)] {
        assert!(matches!(Oti::new(8, t, z, n, al), Err(OtiError::Zero { .. })), "T {t} Z {z} N {n} Al {al}");
    }
    assert_eq!(Oti::new(8, 10, 1, 1, 4), Err(OtiError::Alignment { symbol_size: 10, alignment: 4 }));
    // Two blocks of 56403 symbols are full with 112806; one byte more needs another symbol.
    assert!(Oti::new(112_806 * 8, 8, 2, 1, 4).is_ok());
    assert_eq!(Oti::new(112_806 * 8 + 1, 8, 2, 1, 4), Err(OtiError::SourceSymbols { symbols: 56_404 }));
    for found in [0, 11, 13] {
        assert_eq!(Oti::deserialize(&[1; 13][..found]), Err(OtiError::Size { found }));
    }
}

#[test]
fn the_largest_object_is_that_of_the_erratum() {
    // Erratum 5548: 255 blocks of 56403 symbols of 65535 bytes.
    let largest = 942_574_504_275;
    assert_eq!(Oti::new(largest, 65_535, 255, 1, 1).unwrap().source_symbols(), 255 * 56_403);
    assert_eq!(Oti::new(largest + 1, 65_535, 255, 1, 1), Err(OtiError::SourceSymbols { symbols: 56_404 }));
    assert_eq!(Oti::new(MAX_TRANSFER_LENGTH, 65_535, 255, 1, 1), Err(OtiError::SourceSymbols { symbols: 56_625 }));
}

#[test]
fn the_reserved_byte_is_ignored() {
    let mut bytes = Oti::new(1000, 100, 1, 1, 4).unwrap().serialize();
    bytes[5] = 0xFF;
    assert_eq!(Oti::deserialize(&bytes).unwrap().serialize()[5], 0);
}

#[test]
fn partitions_by_hand() {
    // F = 10 001 in symbols of 100 bytes: Kt = 101. Four blocks: ceil(101/4) = 26, floor = 25, one large and three small.
    // Symbols of 25 units of 4 bytes in three sub-blocks: one of 9 units, two of 8.
    let oti = Oti::new(10_001, 100, 4, 3, 4).unwrap();
    assert_eq!(oti.source_symbols(), 101);
    assert_eq!(oti.block_partition(), Partition { large: 26, small: 25, large_count: 1, small_count: 3 });
    assert_eq!(oti.sub_block_partition(), Partition { large: 9, small: 8, large_count: 1, small_count: 2 });
}

#[test]
fn generated_by_hand() {
    // §4.3 with F = 1 000 000, P' = 1000, WS = 100 000, Al = 4, SS = 8. T = 1000, Kt = 1000, N_max = floor(1000/32) = 31.
    // KL(31): a sub-symbol has 4 * ceil(1000/124) = 36 bytes; 100 000 / 36 = 2777, and K' = 2772 is the largest below.
    // Z = ceil(1000/2772) = 1. KL(n) must be 1000 at least: n = 9 gives sub-symbols of 4 * ceil(1000/36) = 112 bytes,
    // 892 symbols; n = 10 gives 100 bytes, 1000 symbols, but the largest K' is 989 then; n = 11 gives
    // 4 * ceil(1000/44) = 92 bytes, 1086 symbols, K' = 1085.
    assert_eq!(Oti::generate(1_000_000, 1000, 100_000, 4, 8), Oti::new(1_000_000, 1000, 1, 11, 4));
    // The same without sub-blocks (SS = 250): 100 000 / 1000 = 100 symbols, K' = 97, Z = ceil(1000/97) = 11.
    assert_eq!(Oti::generate(1_000_000, 1000, 100_000, 4, 250), Oti::new(1_000_000, 1000, 11, 1, 4));
}

#[test]
fn generate_says_what_does_not_fit() {
    let generate = Oti::generate;
    assert_eq!(generate(10, 10, 1 << 20, 4, 1), Err(OtiError::PayloadSize { payload_size: 10, alignment: 4 }));
    assert_eq!(generate(10, 0, 1 << 20, 4, 1), Err(OtiError::PayloadSize { payload_size: 0, alignment: 4 }));
    assert!(matches!(generate(10, 16, 1 << 20, 0, 1), Err(OtiError::Zero { .. })));
    assert!(matches!(generate(10, 16, 1 << 20, 4, 0), Err(OtiError::Zero { .. })));
    assert_eq!(generate(10, 16, 1 << 20, 4, 5), Err(OtiError::SubSymbolSize { sub_symbol: 20, symbol_size: 16 }));
    let most = generate(10, 65_280, 1 << 20, 255, 65_535);
    assert_eq!(most, Err(OtiError::SubSymbolSize { sub_symbol: 255 * 65_535, symbol_size: 65_280 }));
    assert_eq!(generate(10, 16, 39, 4, 1), Err(OtiError::WorkingMemory { working_memory: 39 }));
    assert!(generate(10, 16, 40, 4, 1).is_ok());
    // Blocks of 10 symbols of 16 bytes: 255 of them hold 40 800 bytes.
    assert!(generate(40_800, 16, 160, 4, 4).is_ok());
    assert_eq!(generate(40_801, 16, 160, 4, 4), Err(OtiError::SourceBlocks { blocks: 256 }));
    assert!(matches!(generate(u64::MAX, 1, u64::MAX, 1, 1), Err(OtiError::SourceBlocks { .. })));
}

#[test]
fn defaults() {
    assert_eq!(Oti::with_defaults(0, 1400), Oti::new(0, 1400, 1, 1, 8));
    assert_eq!(Oti::with_defaults(1, 63), Oti::new(1, 63, 1, 1, 1));
    assert_eq!(Oti::with_defaults(1, 71), Oti::new(1, 64, 1, 1, 8));
    assert_eq!(Oti::with_defaults(1, 0), Err(OtiError::PayloadSize { payload_size: 0, alignment: 1 }));
    // The documented limit, for every payload size: 255 blocks of 56403 symbols.
    for payload_size in 1..=u16::MAX {
        let symbol_size = if payload_size < 64 { payload_size } else { payload_size & !7 };
        let most = 255 * 56_403 * u64::from(symbol_size);
        assert_eq!(Oti::with_defaults(most, payload_size).map(|oti| oti.source_blocks()), Ok(255));
        let beyond = Oti::with_defaults(most + 1, payload_size);
        assert_eq!(beyond, Err(OtiError::SourceBlocks { blocks: 256 }), "payload of {payload_size}");
    }
}

proptest! {
    #[test]
    fn what_is_accepted_is_written_back(bytes in any::<[u8; 12]>(), small in any::<bool>()) {
        let mut bytes = bytes;
        if small {
            // Random numbers are rarely acceptable: make the object small and the alignment 1.
            bytes[..3].fill(0);
            bytes[11] = 1;
        }
        if let Ok(oti) = Oti::deserialize(&bytes) {
            bytes[5] = 0;
            prop_assert_eq!(oti.serialize(), bytes);
            let again = Oti::new(
                oti.transfer_length(), oti.symbol_size(), oti.source_blocks(), oti.sub_blocks(), oti.symbol_alignment(),
            );
            prop_assert_eq!(again, Ok(oti));
            prop_assert!(oti.block_partition().large <= MAX_SOURCE_SYMBOLS);
        }
    }

    #[test]
    fn what_is_generated_keeps_the_memory(
        length in 0..1u64 << 34,
        units in 1u16..1000,
        memory in 1u64..1 << 28,
        alignment in 1u8..=16,
        sub_symbol in 1u16..64,
    ) {
        let payload_size = units * u16::from(alignment);
        if let Ok(oti) = Oti::generate(length, payload_size, memory, alignment, sub_symbol) {
            prop_assert_eq!(oti.symbol_size(), payload_size);
            prop_assert!(oti.sub_blocks() == 1
                || oti.sub_block_partition().small >= u32::from(sub_symbol));
            let cut = oti.sub_block_partition();
            let largest = if cut.large_count > 0 { cut.large } else { cut.small } * u32::from(alignment);
            let block = oti.block_partition().large;
            let extended = SYSTEMATIC.iter().find(|class| class.0 >= block).unwrap().0;
            prop_assert!(u64::from(extended) * u64::from(largest) <= memory);
            // One block fewer would not do, nor one sub-block fewer.
            if oti.sub_blocks() > 1 {
                let fewer = u32::from(oti.sub_blocks()) - 1;
                let size = u32::from(units).div_ceil(fewer) * u32::from(alignment);
                prop_assert!(u64::from(extended) * u64::from(size) > memory);
            }
        }
    }
}
