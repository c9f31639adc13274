//! What a decoder allocates, against what the documentation of its limits promises.

use anabranch_raptorq::{Decoder, DecoderLimits, Encoder, ObjectTransmissionInformation as Oti, Progress};

/// The bytes of memory a decoder takes at most, from its making to its last packet, with `lost` of 16 source symbols lost.
/// With `together`, the packets of all blocks alternate, so that all blocks are in progress at once.
fn peak(oti: Oti, lost: u32, together: bool) -> u64 {
    let object: Vec<u8> = (0..oti.transfer_length()).map(|i| ((i * i) >> 7) as u8).collect();
    let largest = oti.block(0).unwrap().source_symbols();
    let encoder = Encoder::new(&object, oti).unwrap();
    let mut packets: Vec<_> = encoder.packets(largest + 3).unwrap().map(Result::unwrap).collect();
    packets.retain(|packet| {
        let esi = packet.payload_id().encoding_symbol_id();
        esi % 16 >= lost || esi >= largest
    });
    if together {
        packets.sort_by_key(|packet| packet.payload_id().encoding_symbol_id());
    }
    let packets: Vec<Vec<u8>> = packets.iter().map(anabranch_raptorq::EncodingPacket::serialize).collect();
    let mut decoded = None;
    let measured = allocation_counter::measure(|| {
        let mut decoder = Decoder::with_limits(oti, DecoderLimits::none()).unwrap();
        let mut complete = |packet| decoder.add_packet(packet) == Ok(Progress::Complete);
        assert!(packets.iter().any(|packet| complete(packet)), "not complete: {oti:?}");
        decoded = Some(decoder);
    });
    assert!(decoded.unwrap().try_result().unwrap() == object, "wrong bytes: {oti:?}");
    measured.bytes_max
}

#[test]
fn memory_is_what_the_limits_imply() {
    let shapes = [(1, 60_000), (5, 6000), (10, 1000), (60, 1000), (100, 1280), (1000, 1280), (1000, 16), (9000, 1)];
    for (symbols, size) in shapes {
        let block = 3 * (symbols + 30) * size + 1024 * (symbols + 30);
        for lost in [0, 1, 16] {
            let one = Oti::new(symbols * size, size as u16, 1, 1, 1).unwrap();
            let found = peak(one, lost, false);
            assert!(found <= symbols * size + block, "K {symbols}, T {size}, {lost}/16 lost: {found}");
        }
        let four = Oti::new(4 * symbols * size, size as u16, 4, 1, 1).unwrap();
        let found = peak(four, 8, false);
        assert!(found <= 4 * symbols * size + block, "one of four blocks, K {symbols}, T {size}: {found}");
        let found = peak(four, 8, true);
        assert!(found <= 4 * symbols * size + 4 * block, "four blocks at once, K {symbols}, T {size}: {found}");
    }
}
