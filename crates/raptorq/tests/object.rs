//! Objects, from bytes to packets and back, through the public interface only.

use std::num::NonZeroUsize;
use std::sync::Arc;

#[cfg(feature = "std")]
use anabranch_raptorq::PlanCache;
use anabranch_raptorq::{
    BlockEncoder, BlockStatus, Decoder, DecoderError, DecoderLimits, Encoder, EncoderError, EncodingPacket,
    LoadedBlocks, ObjectTransmissionInformation, OtiError, PacketError, PayloadId, Progress,
};
use proptest::prelude::*;

type Oti = ObjectTransmissionInformation;

/// What may be moved to another thread, and what shared between threads.
#[test]
fn types_can_cross_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<anabranch_raptorq::SourceBlockEncoder>();
    send::<anabranch_raptorq::SourceBlockDecoder>();
    send::<BlockEncoder>();
    send::<Decoder>();
    send::<LoadedBlocks<Arc<Encoder<Vec<u8>>>>>();
    sync::<anabranch_raptorq::EncodingPlan>();
    sync::<BlockEncoder>();
    sync::<Encoder<Vec<u8>>>();
    #[cfg(feature = "std")]
    sync::<PlanCache>();
}

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}

fn packets(encoder: &Encoder<impl AsRef<[u8]>>, repair: u32) -> Vec<EncodingPacket> {
    encoder.packets(repair).unwrap().collect::<Result<_, _>>().unwrap()
}

fn id(block: u8, esi: u32) -> PayloadId {
    PayloadId::new(block, esi).unwrap()
}

/// Parameters of small objects: all of F, T, Z, N and Al, without regard to what is sensible.
fn otis() -> impl Strategy<Value = Oti> {
    (0u64..6000, 1u16..24, 1u8..7, 1u16..30, 1u8..9).prop_map(|(length, units, blocks, sub_blocks, alignment)| {
        Oti::new(length, units * u16::from(alignment), blocks, sub_blocks, alignment).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_was_sent_is_received(
        oti in otis(), seed: u64, loss in 0u32..=100, order in any::<prop::sample::Index>(),
    ) {
        let object = bytes(oti.transfer_length() as usize, seed);
        let encoder = Encoder::new(&object, oti).unwrap();
        let largest = oti.block(0).unwrap().source_symbols();
        // Repair packets make up for what is lost, and four more: enough but once in 2^40.
        let mut sent = packets(&encoder, largest + 4);
        let mut random = bytes(sent.len() * 4, seed ^ 1).into_iter();
        let mut lost = vec![0; usize::from(oti.source_blocks())];
        sent.retain(|packet| {
            let block = usize::from(packet.payload_id().source_block_number());
            let symbols = oti.block(block as u8).unwrap().source_symbols();
            let is_lost = u32::from(random.next().unwrap()) * 100 < loss * 256;
            let keep = !is_lost || lost[block] == symbols.min(largest);
            lost[block] += u32::from(!keep);
            keep
        });
        if !sent.is_empty() {
            // Another order, each fifth packet twice.
            let middle = order.index(sent.len());
            sent.rotate_left(middle);
            let again: Vec<_> = sent.iter().step_by(5).cloned().collect();
            sent.extend(again);
        }

        let mut decoder = Decoder::new(Oti::deserialize(&oti.serialize()).unwrap()).unwrap();
        for packet in &sent {
            decoder.add_packet(&packet.serialize()).unwrap();
        }
        prop_assert!(decoder.is_complete());
        prop_assert_eq!(decoder.try_result().unwrap(), &object[..]);
        let mut out = vec![0xEE; object.len()];
        decoder.try_result_into(&mut out).unwrap();
        prop_assert_eq!(&out, &object);
        for block in oti.blocks() {
            prop_assert_eq!(decoder.block(block.number()).unwrap(), &object[block.range().unwrap()]);
        }
    }

    #[test]
    fn all_ways_make_the_same_packets(oti in otis(), seed: u64) {
        let object = bytes(oti.transfer_length() as usize, seed);
        let encoder = Arc::new(Encoder::new(object, oti).unwrap());
        let expected = packets(&encoder, 3);
        let mut loaded = LoadedBlocks::new(Arc::clone(&encoder), NonZeroUsize::new(2).unwrap());
        let mut blocks = Vec::new();
        for block in oti.blocks() {
            match encoder.block_encoder(block.number()) {
                Ok(encoder) => {
                    let mut all = encoder.source_packets().unwrap();
                    all.extend(encoder.repair_packets(0, 3).unwrap());
                    blocks.extend(all);
                }
                Err(error) => prop_assert_eq!(error, EncoderError::EmptyBlock { number: block.number() }),
            }
        }
        prop_assert_eq!(&blocks, &expected);
        let mut out = vec![0xEE; 4 + usize::from(oti.symbol_size())];
        for packet in expected.iter().rev() {
            loaded.packet_into(packet.payload_id(), &mut out).unwrap();
            prop_assert_eq!(&out, &packet.serialize());
            prop_assert_eq!(&loaded.packet(packet.payload_id()).unwrap(), packet);
            prop_assert!(loaded.loaded().count() <= 2);
        }
    }

    #[test]
    fn any_bytes_are_a_packet_or_an_error(
        oti in otis(), packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..60),
    ) {
        let mut decoder = Decoder::new(oti).unwrap();
        for mut packet in packets {
            if packet.len() > 4 {
                // Mostly blocks and symbols that exist, of whole symbols.
                packet[0] %= oti.source_blocks() + 1;
                packet[1] = 0;
                packet[2] %= 2;
                let size = usize::from(oti.symbol_size());
                let whole = (packet.len() - 4) / size * size;
                packet.truncate(4 + whole.max(1));
            }
            let before = decoder.is_complete();
            if decoder.add_packet(&packet).is_err() {
                prop_assert_eq!(decoder.is_complete(), before);
            }
        }
        match decoder.try_result() {
            Ok(object) => prop_assert_eq!(object.len() as u64, oti.transfer_length()),
            Err(error) => prop_assert!(matches!(error, DecoderError::Incomplete { .. }), "unexpected: {error}"),
        }
    }
}

#[test]
fn several_symbols_in_a_packet_and_no_padding() {
    let oti = Oti::new(995, 10, 3, 1, 1).unwrap();
    let object = bytes(995, 3);
    let encoder = Encoder::new(&object[..], oti).unwrap();
    let mut decoder = Decoder::new(oti).unwrap();
    // All source packets in threes, the last without padding.
    for block in oti.blocks() {
        let data = &object[block.range().unwrap()];
        for (number, symbols) in data.chunks(30).enumerate() {
            decoder.add_symbol(id(block.number(), number as u32 * 3), symbols).unwrap();
        }
    }
    assert_eq!(decoder.try_result().unwrap(), object);

    // All repair packets in fives.
    let mut decoder = Decoder::new(oti).unwrap();
    for block in oti.blocks() {
        let encoder = encoder.block_encoder(block.number()).unwrap();
        for five in 0..8 {
            let repair = encoder.repair_packets(five * 5, 5).unwrap();
            let symbols: Vec<u8> = repair.iter().flat_map(|packet| packet.data().iter().copied()).collect();
            decoder.add_symbol(repair[0].payload_id(), &symbols).unwrap();
        }
    }
    assert_eq!(decoder.try_result().unwrap(), object);
}

#[test]
fn progress_is_told() {
    let oti = Oti::new(40, 10, 2, 1, 1).unwrap();
    let object = bytes(40, 5);
    let sent = packets(&Encoder::new(&object, oti).unwrap(), 0);
    let mut decoder = Decoder::new(oti).unwrap();
    assert_eq!(decoder.block_status(0), Some(BlockStatus::Waiting));
    let mut add = |number: usize| decoder.add_packet(&sent[number].serialize()).unwrap();
    assert_eq!(add(0), Progress::Collecting { missing: 1 });
    assert_eq!(add(0), Progress::Redundant);
    assert_eq!(add(1), Progress::BlockDecoded { number: 0 });
    assert_eq!(add(1), Progress::Redundant);
    assert_eq!(add(2), Progress::Collecting { missing: 1 });
    assert_eq!(decoder.block_status(0), Some(BlockStatus::Decoded));
    assert_eq!(decoder.block_status(1), Some(BlockStatus::Collecting { missing: 1 }));
    assert_eq!(decoder.block_status(2), None);
    assert_eq!(decoder.block(0), Some(&object[..20]));
    assert_eq!(decoder.block(1), None);
    assert_eq!(decoder.try_result(), Err(DecoderError::Incomplete { blocks: 1 }));
    let mut symbol = [0; 10];
    let known: Vec<_> = [(0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
        .map(|(block, esi)| decoder.source_symbol_into(id(block, esi), &mut symbol).unwrap())
        .into();
    assert_eq!(known, [true, true, false, false, false]);
    assert!(decoder.source_symbol_into(id(1, 0), &mut symbol).unwrap());
    assert_eq!(symbol, object[20..30]);
    assert_eq!(decoder.add_packet(&sent[3].serialize()), Ok(Progress::Complete));
    assert_eq!(decoder.try_result_into(&mut [0; 39]), Err(DecoderError::BufferSize { expected: 40, found: 39 }));
}

#[test]
fn blocks_can_be_taken_as_they_come() {
    let oti = Oti::new(1000, 10, 4, 2, 1).unwrap();
    let object = bytes(1000, 6);
    let sent = packets(&Encoder::new(&object, oti).unwrap(), 0);
    let limits = DecoderLimits::default().blocks_in_progress(1);
    let mut decoder = Decoder::with_limits(oti, limits).unwrap();
    let mut file = vec![0; 1000];
    for packet in &sent {
        let number = packet.payload_id().source_block_number();
        assert_ne!(decoder.add_packet(&packet.serialize()), Ok(Progress::Redundant), "no packet was sent twice");
        if let Some(block) = decoder.take_block(number) {
            file[oti.block(number).unwrap().range().unwrap()].copy_from_slice(&block);
            assert_eq!(decoder.take_block(number), None);
        }
    }
    assert_eq!(file, object);
    assert!(decoder.is_complete());
    assert_eq!(decoder.block_status(3), Some(BlockStatus::Taken));
    assert_eq!(decoder.try_result(), Err(DecoderError::Taken { number: 0 }));
    assert_eq!(decoder.add_packet(&sent[0].serialize()), Ok(Progress::Redundant));
}

#[test]
fn the_object_is_handed_over_once() {
    for (blocks, length) in [(1, 990), (4, 990), (1, 1)] {
        let oti = Oti::new(length, 10, blocks, 2, 1).unwrap();
        let object = bytes(length as usize, 6);
        let sent: Vec<_> =
            packets(&Encoder::new(&object, oti).unwrap(), 1).iter().map(EncodingPacket::serialize).collect();
        let mut decoder = Decoder::new(oti).unwrap();
        assert!(matches!(decoder.take_object(), Err(DecoderError::Incomplete { .. })));
        let handed: Vec<_> = sent.iter().filter_map(|packet| decoder.decode(packet).unwrap()).collect();
        assert!(handed == [object], "once, although packets came later");
        assert!(decoder.is_complete());
        assert_eq!(decoder.block_status(0), Some(BlockStatus::Taken));
        assert_eq!(decoder.take_object(), Err(DecoderError::Taken { number: 0 }));
        assert_eq!(decoder.try_result(), Err(DecoderError::Taken { number: 0 }));
    }
    // Of an object that was not taken whole, nothing is said to be whole.
    let oti = Oti::new(20, 10, 2, 1, 1).unwrap();
    let object = bytes(20, 6);
    let sent = packets(&Encoder::new(&object, oti).unwrap(), 0);
    let mut decoder = Decoder::new(oti).unwrap();
    assert_eq!(decoder.decode(&sent[0].serialize()), Ok(None));
    assert!(decoder.take_block(0).is_some());
    assert_eq!(decoder.decode(&sent[1].serialize()), Err(DecoderError::Taken { number: 0 }));
}

#[test]
fn what_is_not_for_the_object_is_an_error_and_changes_nothing() {
    let oti = Oti::new(95, 10, 2, 1, 1).unwrap();
    let mut decoder = Decoder::new(oti).unwrap();
    let error = |decoder: &mut Decoder, packet: &[u8]| decoder.add_packet(packet).unwrap_err();
    assert_eq!(error(&mut decoder, &[0; 3]), PacketError::Truncated { found: 3 }.into());
    assert_eq!(error(&mut decoder, &[0; 4]), DecoderError::PacketSize { found: 0, symbol_size: 10 });
    assert_eq!(error(&mut decoder, &[0; 13]), DecoderError::PacketSize { found: 9, symbol_size: 10 });
    assert_eq!(error(&mut decoder, &[2; 14]), DecoderError::NoSuchBlock { number: 2, blocks: 2 });
    let over = [&[0, 0xFF, 0xFF, 0xFF][..], &[0; 20]].concat();
    assert_eq!(error(&mut decoder, &over), PacketError::EncodingSymbolId { esi: 1 << 24 }.into());
    let mixed = [&[0, 0, 0, 4][..], &[0; 20]].concat();
    assert_eq!(error(&mut decoder, &mixed), DecoderError::MixedPacket { esi: 4, first_repair: 5 });
    let padding = [&[1, 0, 0, 4][..], &[1; 10]].concat();
    assert_eq!(error(&mut decoder, &padding), DecoderError::Padding { esi: 4 });
    assert_eq!([0, 1].map(|block| decoder.block_status(block)), [Some(BlockStatus::Waiting); 2]);
    assert!(decoder.plans().is_empty());
}

#[test]
fn limits_hold() {
    let limits = DecoderLimits::default();
    let new = |oti: Oti, limits| Decoder::with_limits(oti, limits).map(drop).unwrap_err();
    let huge = Oti::new(942_574_504_275, 65_535, 255, 1, 1).unwrap();
    assert_eq!(new(huge, limits), DecoderError::ObjectTooLarge { size: 942_574_504_275, limit: 1 << 30 });
    let block = 56_403 * 65_535;
    if cfg!(target_pointer_width = "32") {
        assert!(matches!(new(huge, DecoderLimits::none()), DecoderError::BlockTooLarge { .. }));
    } else {
        // Nothing is allocated before the first packet.
        assert!(Decoder::with_limits(huge, DecoderLimits::none()).is_ok());
    }
    let small = limits.object_bytes(u64::MAX).block_bytes(block - 1);
    assert_eq!(new(huge, small), DecoderError::BlockTooLarge { size: block, limit: block - 1 });
    let few = limits.source_symbols(99);
    let oti = Oti::new(1000, 10, 1, 1, 1).unwrap();
    assert_eq!(new(oti, few), DecoderError::TooManySymbols { symbols: 100, limit: 99 });

    let oti = Oti::new(60, 10, 3, 1, 1).unwrap();
    let sent = packets(&Encoder::new(&bytes(60, 1), oti).unwrap(), 0);
    let mut decoder = Decoder::with_limits(oti, limits.blocks_in_progress(2)).unwrap();
    let mut add = |number: usize| decoder.add_packet(&sent[number].serialize());
    assert!(add(0).is_ok() && add(2).is_ok());
    assert_eq!(add(4), Err(DecoderError::TooManyBlocks { limit: 2 }));
    assert_eq!(add(1), Ok(Progress::BlockDecoded { number: 0 }));
    assert_eq!(add(4), Ok(Progress::Collecting { missing: 1 }));
    assert_eq!(
        Decoder::with_limits(oti, limits.blocks_in_progress(0)).unwrap().add_packet(&sent[0].serialize()),
        Err(DecoderError::TooManyBlocks { limit: 0 })
    );
}

#[test]
fn symbols_that_never_suffice_take_bounded_memory() {
    // A hostile sender can choose repair symbols that depend on each other: all of these together determine at most 19
    // of 20 symbols.
    let oti = Oti::new(200, 10, 1, 1, 1).unwrap();
    let object = bytes(200, 9);
    let encoder = Encoder::new(&object, oti).unwrap();
    let block = encoder.block_encoder(0).unwrap();
    let dependent = dependent_ids(&block, 1).take(24);
    let limit = 2;
    let mut decoder = Decoder::with_limits(oti, DecoderLimits::default().extra_symbols(limit)).unwrap();
    let mut refused = 0;
    for esi in dependent {
        match decoder.add_packet(&block.packet(esi).unwrap().serialize()) {
            Ok(Progress::Collecting { missing }) => assert!(missing >= 1),
            Err(DecoderError::TooManyExtraSymbols { limit: 2 }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 24 - 22, "20 symbols, and two more, were kept");
    // Source symbols still help.
    for esi in 0..20 {
        if decoder.add_packet(&block.packet(esi).unwrap().serialize()).unwrap() == Progress::Complete {
            assert_eq!(decoder.try_result().unwrap(), object);
            return;
        }
    }
    panic!("20 source symbols are the block");
}

#[test]
fn a_packet_is_used_up_to_the_limit() {
    let oti = Oti::new(200, 10, 1, 1, 1).unwrap();
    let object = bytes(200, 9);
    let block = Encoder::new(&object, oti).unwrap().block_encoder(0).unwrap();
    let mut decoder = Decoder::with_limits(oti, DecoderLimits::default().extra_symbols(1)).unwrap();
    for esi in dependent_ids(&block, 1).take(20) {
        decoder.add_packet(&block.packet(esi).unwrap().serialize()).unwrap();
    }
    assert_eq!(decoder.block_status(0), Some(BlockStatus::Collecting { missing: 1 }));
    // Two symbols in a packet, with room for one: the first is used, and the second is not an error.
    let first = dependent_ids(&block, 2).next().unwrap();
    let both = [block.packet(first).unwrap().data(), block.packet(first + 1).unwrap().data()].concat();
    assert_eq!(decoder.add_symbol(id(0, first), &both), Ok(Progress::Collecting { missing: 1 }));
    assert_eq!(decoder.add_symbol(id(0, first), &both), Err(DecoderError::TooManyExtraSymbols { limit: 1 }));
    for esi in 0..20 {
        decoder.add_packet(&block.packet(esi).unwrap().serialize()).unwrap();
    }
    assert_eq!(decoder.try_result().unwrap(), object);
}

/// The first of `run` repair symbols in a row, of a block of 20 symbols, where all these together have a rank of 19.
fn dependent_ids(block: &BlockEncoder, run: usize) -> impl Iterator<Item = u32> {
    // What a symbol is made of can be read from a block of 20 symbols of 20 bytes in which byte i of symbol i is 1. All
    // symbols to which the first source symbol adds nothing depend on the other 19.
    assert_eq!(block.layout().source_symbols(), 20);
    let unit: Vec<u8> = (0..400).map(|i| u8::from(i % 21 == 0)).collect();
    let oti = Oti::new(400, 20, 1, 1, 1).unwrap();
    let rows = Encoder::new(unit, oti).unwrap().block_encoder(0).unwrap();
    let mut row = [0; 20];
    let mut in_a_row = 0;
    (20..1 << 24).filter_map(move |esi| {
        rows.encode_into(esi, &mut row).unwrap();
        in_a_row = if row[0] == 0 { in_a_row + 1 } else { 0 };
        (in_a_row >= run).then(|| esi + 1 - run as u32)
    })
}

#[test]
fn an_object_of_nothing_is_complete() {
    let oti = Oti::with_defaults(0, 100).unwrap();
    let encoder = Encoder::new([], oti).unwrap();
    assert!(encoder.plans().is_empty());
    assert_eq!(encoder.packets(3).unwrap().count(), 0);
    assert_eq!(encoder.block_encoder(0).unwrap_err(), EncoderError::EmptyBlock { number: 0 });
    let mut decoder = Decoder::new(oti).unwrap();
    assert!(decoder.is_complete());
    assert!(decoder.try_result().unwrap().is_empty());
    assert_eq!(decoder.add_packet(&[0; 4 + 96]), Ok(Progress::Redundant));
}

#[test]
fn requests_that_make_no_sense_are_errors() {
    let oti = Oti::new(100, 10, 2, 1, 1).unwrap();
    let object = bytes(100, 2);
    let size = |found| EncoderError::ObjectSize { expected: 100, found };
    assert_eq!(Encoder::new(&object[..99], oti).unwrap_err(), size(99));
    assert_eq!(Encoder::new(&[0; 101], oti).unwrap_err(), size(101));
    let encoder = Encoder::new(&object, oti).unwrap();
    let no_such = EncoderError::NoSuchBlock { number: 2, blocks: 2 };
    assert_eq!(encoder.block_encoder(2).unwrap_err(), no_such);
    let mut block = encoder.block_encoder(1).unwrap();
    let first = block.packet(7).unwrap();
    assert_eq!(encoder.load_block(2, &mut block).unwrap_err(), no_such);
    assert_eq!(block.packet(7).unwrap(), first, "the block is still there");
    assert!(encoder.packets((1 << 24) - 5).is_ok());
    let esi = EncoderError::Packet(PacketError::EncodingSymbolId { esi: 1 << 24 });
    assert_eq!(encoder.packets((1 << 24) - 4).unwrap_err(), esi);
    assert_eq!(block.repair_packets((1 << 24) - 6, 2).unwrap_err(), esi);
    assert!(block.repair_packets(u32::MAX, u32::MAX).is_err());
    assert_eq!(block.packet(1 << 24).unwrap_err(), esi);
    assert_eq!(block.packet((1 << 24) - 1).unwrap().data().len(), 10);
    assert!(block.packet_into(0, &mut [0; 13]).is_err() && block.packet_into(0, &mut [0; 15]).is_err());
    assert!(block.encode_into(0, &mut [0; 9]).is_err());
    assert!(encoder.source_symbol_into(id(0, 5), &mut [0; 10]).is_err());
    let mut loaded = LoadedBlocks::new(&encoder, NonZeroUsize::MIN);
    assert_eq!(loaded.packet(id(2, 9)).unwrap_err(), no_such);
    assert!(loaded.encode_into(id(0, 9), &mut [0; 9]).is_err());
    let too_long = OtiError::SourceBlocks { blocks: 256 };
    let long = 255 * 56_403 + 1;
    assert_eq!(Oti::with_defaults(long, 1).unwrap_err(), too_long);
    let other = Arc::new(anabranch_raptorq::EncodingPlan::generate(100).unwrap());
    assert!(BlockEncoder::new(oti.block(0).unwrap(), other, &object[..50]).is_err());
}

#[test]
fn plans_are_passed_on() {
    let oti = Oti::new(1010, 10, 2, 1, 1).unwrap(); // blocks of 51 and 50 symbols
    let object = bytes(1010, 4);
    let first = Encoder::new(&object, oti).unwrap();
    let second = Encoder::with_plans(&object, oti, first.plans()).unwrap();
    let mut decoder = Decoder::new(oti).unwrap();
    first.plans().iter().for_each(|plan| decoder.add_plan(plan));
    check_shared(&first, &second, decoder);
}

#[cfg(feature = "std")]
#[test]
fn plans_are_shared_by_a_cache() {
    let oti = Oti::new(1010, 10, 2, 1, 1).unwrap();
    let object = bytes(1010, 4);
    let cache = PlanCache::new();
    let first = Encoder::with_cache(&object, oti, &cache).unwrap();
    let second = Encoder::with_cache(&object, oti, &cache).unwrap();
    check_shared(&first, &second, Decoder::new(oti).unwrap().with_cache(&cache));
}

/// Two encoders and a decoder of the same object have the same plans, and work.
fn check_shared(first: &Encoder<&Vec<u8>>, second: &Encoder<&Vec<u8>>, mut decoder: Decoder) {
    let among_first = |plan: &Arc<_>| first.plans().iter().any(|other| Arc::ptr_eq(plan, other));
    assert!(second.plans().iter().all(among_first));
    assert_eq!(packets(first, 3), packets(second, 3));
    for packet in packets(first, 3).iter().filter(|packet| packet.payload_id().encoding_symbol_id() > 1) {
        decoder.add_packet(&packet.serialize()).unwrap();
    }
    assert_eq!(&decoder.try_result().unwrap(), *first.object());
    assert!(!decoder.plans().is_empty() && decoder.plans().iter().all(among_first));
}

#[cfg(feature = "std")]
#[test]
fn blocks_on_several_threads() {
    let oti = Oti::new(100_003, 100, 7, 3, 4).unwrap();
    let object = bytes(100_003, 8);
    let encoder = Encoder::new(&object, oti).unwrap();
    for threads in [1, 3, 20].map(|threads| NonZeroUsize::new(threads).unwrap()) {
        let decoder = std::sync::Mutex::new(Decoder::new(oti).unwrap());
        let visit = |block: &BlockEncoder| {
            let count = block.layout().source_symbols() + 3;
            for packet in block.repair_packets(100, count)? {
                let progress = decoder.lock().unwrap().collect_packet(&packet.serialize()).unwrap();
                assert!(matches!(progress, Progress::Collecting { .. }));
            }
            Ok::<_, EncoderError>(())
        };
        encoder.for_each_block(threads, visit).unwrap();
        let mut decoder = decoder.into_inner().unwrap();
        assert!(
            oti.blocks()
                .all(|block| decoder.block_status(block.number()) == Some(BlockStatus::Collecting { missing: 0 }))
        );
        if threads == NonZeroUsize::MIN {
            decoder.decode_ready().unwrap();
        } else {
            decoder.decode_ready_on(threads).unwrap();
        }
        assert_eq!(decoder.try_result().unwrap(), object);
    }
}
