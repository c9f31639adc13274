//! Object transmission information from outside: read, written back, and followed to the blocks it implies.
#![no_main]

use anabranch_raptorq::{Decoder, DecoderError, DecoderLimits, ObjectTransmissionInformation, OtiError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_at(bytes.len().min(12));
    match ObjectTransmissionInformation::deserialize(first) {
        Ok(oti) => {
            let mut expected = <[u8; 12]>::try_from(first).expect("other sizes are errors");
            expected[5] = 0; // reserved
            assert_eq!(oti.serialize(), expected);
            check(&oti);
        }
        Err(error) => assert_eq!(error == OtiError::Size { found: first.len() }, first.len() != 12),
    }
    // The rest are arguments of the derivation.
    if let Some(&[f4, f3, f2, f1, f0, p1, p0, w3, w2, w1, w0, al, s1, s0]) = rest.first_chunk() {
        let length = u64::from_be_bytes([0, 0, 0, f4, f3, f2, f1, f0]);
        let payload_size = u16::from_be_bytes([p1, p0]);
        let memory = u64::from(u32::from_be_bytes([w3, w2, w1, w0]));
        let sub_symbol = u16::from_be_bytes([s1, s0]);
        if let Ok(oti) = ObjectTransmissionInformation::generate(length, payload_size, memory, al, sub_symbol) {
            assert_eq!((oti.transfer_length(), oti.symbol_size()), (length, payload_size));
            check(&oti);
        }
        if let Ok(oti) = ObjectTransmissionInformation::with_defaults(length, payload_size) {
            assert_eq!(oti.transfer_length(), length);
            check(&oti);
        }
    }
});

fn check(oti: &ObjectTransmissionInformation) {
    assert_eq!(ObjectTransmissionInformation::deserialize(&oti.serialize()), Ok(*oti));
    assert_eq!(ObjectTransmissionInformation::from_parts(oti.common(), oti.scheme_specific()), Ok(*oti));

    let (mut end, mut symbols, mut largest) = (0, 0, 0);
    assert_eq!(oti.blocks().len(), usize::from(oti.source_blocks()));
    for block in oti.blocks() {
        assert_eq!(Some(block), oti.block(block.number()));
        assert_eq!(block.offset(), end);
        let padding = block.padded_size() - block.size();
        assert!(padding < u64::from(oti.symbol_size()));
        assert!(block.source_symbols() <= 56_403);
        if let Some(last) = block.source_symbols().checked_sub(1) {
            assert!(u64::from(block.symbol_padding(last)) <= padding);
            assert_eq!(block.symbol_padding(last) == 0, padding == 0);
        }
        end += block.size();
        symbols += block.source_symbols();
        largest = largest.max(block.padded_size());
    }
    assert_eq!((end, symbols), (oti.transfer_length(), oti.source_symbols()));
    assert!(oti.block(oti.source_blocks()).is_none());

    let limits = DecoderLimits::default().object_bytes(1 << 20).block_bytes(1 << 16).source_symbols(1000);
    match Decoder::with_limits(*oti, limits) {
        Ok(decoder) => {
            assert!(end <= 1 << 20 && largest <= 1 << 16 && oti.block_partition().large <= 1000);
            assert_eq!(decoder.is_complete(), end == 0);
        }
        Err(DecoderError::ObjectTooLarge { .. }) => assert!(end > 1 << 20),
        Err(DecoderError::BlockTooLarge { .. }) => assert!(largest > 1 << 16),
        Err(DecoderError::TooManySymbols { symbols, .. }) => assert!(symbols > 1000),
        Err(error) => panic!("{error}"),
    }
    // Without limits, too, nothing is allocated before a packet comes.
    Decoder::with_limits(*oti, DecoderLimits::none()).expect("64 bits address every block");
}
