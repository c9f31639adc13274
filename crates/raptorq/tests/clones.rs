//! A clone goes on from where the original is, and neither notices the other.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::common::{Random, ours};
use anabranch_raptorq::{
    Decoder, Encoder, LoadedBlocks, ObjectTransmissionInformation, PayloadId, Progress, RepairMatrix,
    SourceBlockEncoder,
};

/// An object of two blocks with other numbers of symbols, 1000 bytes in packets of 16.
fn object() -> (Vec<u8>, ObjectTransmissionInformation) {
    (Random::new(1).bytes(1000), ObjectTransmissionInformation::new(1000, 16, 2, 1, 1).unwrap())
}

#[test]
fn block_encoders_go_on_with_different_blocks() {
    let (k, size) = (30, 24);
    let plan = ours::plan(k);
    let blocks = [1, 2].map(|seed| Random::new(seed).bytes(k as usize * size));
    let mut first = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
    first.load(&blocks[0]).unwrap();
    let mut second = first.clone();
    assert_eq!(ours::symbol(&first, size, 77), ours::symbol(&second, size, 77));
    second.load(&blocks[1]).unwrap();
    let matrix = RepairMatrix::new(&plan, k, 77, 1).unwrap().clone();
    for (encoder, block) in [(&first, &blocks[0]), (&second, &blocks[1])] {
        let mut repair = vec![0; size];
        matrix.encode_into(block, size, &mut repair).unwrap();
        assert_eq!(ours::symbol(encoder, size, 77), repair);
    }
}

#[test]
fn block_decoders_go_on_with_different_symbols() {
    // A block of many symbols is collected apart from its place until an eighth has arrived, so clone before and after.
    for (k, size) in [(10, 3), (700, 200)] {
        let plan = ours::plan(k);
        let block = Random::new(k.into()).bytes(k as usize * size);
        let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
        encoder.load(&block).unwrap();
        for part in [k / 20, k / 2, k] {
            let mut first = ours::decoder(&plan, k, size);
            // Every other symbol is a source symbol.
            for i in 0..part {
                let esi = if i % 2 == 0 { i / 2 } else { k + i };
                first.add_symbol(esi, &ours::symbol(&encoder, size, esi)).unwrap();
            }
            let mut second = first.clone();
            for (decoder, repairs) in [(&mut first, 2 * k..), (&mut second, 5 * k..)] {
                for esi in repairs {
                    if decoder.try_decode().is_ok() {
                        break;
                    }
                    decoder.add_symbol(esi, &ours::symbol(&encoder, size, esi)).unwrap();
                }
                assert!(decoder.try_decode().unwrap() == block, "K = {k}, cloned after {part} symbols");
                // And with the next block, in memory that has no room to spare.
                decoder.clear();
                (k..2 * k + 10).for_each(|esi| {
                    decoder.add_symbol(esi, &ours::symbol(&encoder, size, esi)).unwrap();
                });
                assert!(decoder.try_decode().unwrap() == block, "K = {k}, the block after");
            }
        }
    }
}

#[test]
fn objects_go_on_with_different_packets() {
    let (object, oti) = object();
    let encoder = Encoder::new(object.clone(), oti).unwrap();
    let mut blocks = LoadedBlocks::new(Box::new(encoder.clone()), NonZeroUsize::new(1).unwrap());
    let id = |block, esi| PayloadId::new(block, esi).unwrap();
    let first = blocks.packet(id(0, 100)).unwrap();
    let mut others = blocks.clone();
    others.packet(id(1, 100)).unwrap();
    assert_eq!((blocks.loaded().collect::<Vec<_>>(), others.loaded().collect::<Vec<_>>()), (vec![0], vec![1]));
    assert_eq!(others.packet(id(0, 100)).unwrap(), first);
    assert_eq!(encoder.block_encoder(0).unwrap().clone().packet(100).unwrap(), first);

    // One decoder has a decoded block, one in progress, and a spare block's memory.
    let packets: Vec<_> = encoder.packets(40).unwrap().map(|packet| packet.unwrap().serialize()).collect();
    let mut decoder = Decoder::new(oti).unwrap();
    let half = packets.len() / 2;
    for packet in packets[..half].iter().step_by(2).chain(&packets[half..half + 3]) {
        decoder.add_packet(packet).unwrap();
    }
    assert_eq!(decoder.block(0), Some(&object[..oti.block(0).unwrap().size() as usize]));
    let mut clone = decoder.clone();
    assert_eq!(clone.take_block(0).as_deref(), decoder.block(0));
    assert_eq!((clone.block(0), decoder.block(0).is_some()), (None, true));
    let feed = |decoder: &mut Decoder, packets: &[Vec<u8>]| {
        packets.iter().any(|packet| decoder.add_packet(packet) == Ok(Progress::Complete))
    };
    assert!(feed(&mut decoder, &packets[half + 3..]));
    assert_eq!(decoder.try_result().unwrap(), object);
    assert!(!clone.is_complete() && feed(&mut clone, &packets[half + 10..]));
    assert_eq!(clone.block(1), decoder.block(1));
}
