//! Objects exchanged with the `raptorq` crate: descriptions, packets, and what is decoded from them.

use anabranch_raptorq::{Decoder, Encoder, ObjectTransmissionInformation as Oti};
use proptest::prelude::*;
use raptorq as peer;

fn peer_oti(oti: &Oti) -> peer::ObjectTransmissionInformation {
    peer::ObjectTransmissionInformation::deserialize(&oti.serialize())
}

fn bytes(length: u64, seed: u8) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8 ^ seed).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn defaults_are_the_same(length in 1u64..1 << 33, payload_size in 16u16..) {
        let peer = peer::ObjectTransmissionInformation::with_defaults(length, payload_size);
        // The other crate does not notice when the count of blocks overflows its byte.
        if let Ok(own) = Oti::with_defaults(length, payload_size) {
            prop_assert_eq!(own.serialize(), peer.serialize());
        }
    }

    #[test]
    fn packets_are_the_same_and_decode_there_and_here(
        length in 1u64..5000, units in 4u16..40, blocks in 1u8..5, sub_blocks in 1u16..9, alignment in 1u8..9, seed: u8,
    ) {
        let size = units * u16::from(alignment);
        // The other crate has no blocks without symbols, and at least one unit in each sub-symbol.
        prop_assume!(length.div_ceil(u64::from(size)) >= u64::from(blocks) && sub_blocks <= units);
        let oti = Oti::new(length, size, blocks, sub_blocks, alignment).unwrap();
        let object = bytes(length, seed);
        let own: Vec<Vec<u8>> = Encoder::new(&object, oti).unwrap().packets(5).unwrap()
            .map(|packet| packet.unwrap().serialize()).collect();
        let theirs: Vec<Vec<u8>> = peer::Encoder::new(&object, peer_oti(&oti)).get_encoded_packets(5)
            .iter().map(peer::EncodingPacket::serialize).collect();
        prop_assert_eq!(&own, &theirs);

        // Three symbols of each block are lost, and five repair symbols there: too few once in 10^7 times.
        let lost = |packet: &[u8]| packet[1..3] == [0, 0] && [1, 4, 7].contains(&packet[3]);
        let mut decoder = Decoder::new(oti).unwrap();
        let mut peer_decoder = peer::Decoder::new(peer_oti(&oti));
        let mut found = (None, None);
        for packet in own.iter().filter(|packet| !lost(packet)) {
            found.0 = found.0.or(decoder.decode(packet).unwrap());
            found.1 = found.1.or(peer_decoder.decode(peer::EncodingPacket::deserialize(packet)));
        }
        prop_assert_eq!(found.0.as_ref(), Some(&object));
        prop_assert_eq!(found.1.as_ref(), Some(&object));
    }
}
