//! Objects with each instruction set: the level that was asked for is used for every block, and gives the same bytes.

use std::num::NonZeroUsize;

use crate::common::Random;
use anabranch_raptorq::{
    BlockError, Decoder, DecoderError, Encoder, EncoderError, EncodingPacket, Level, LoadedBlocks,
    ObjectTransmissionInformation, PayloadId,
};

/// 30 000 bytes in packets of 96, in three blocks, with sub-blocks.
fn object() -> (Vec<u8>, ObjectTransmissionInformation) {
    (Random::new(7).bytes(30_000), ObjectTransmissionInformation::new(30_000, 96, 3, 2, 8).unwrap())
}

fn packets(encoder: &Encoder<Vec<u8>>) -> Vec<EncodingPacket> {
    encoder.packets(120).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_level_sends_the_same_packets_and_decodes_them() {
    let (object, oti) = object();
    let expected = packets(&Encoder::new(object.clone(), oti).unwrap().with_level(Level::Portable).unwrap());
    for level in Level::available() {
        let encoder = Encoder::new(object.clone(), oti).unwrap().with_level(level).unwrap();
        assert_eq!(encoder.level(), level);
        assert_eq!(packets(&encoder), expected, "{level}");
        let mut decoder = Decoder::new(oti).unwrap().with_level(level).unwrap();
        assert_eq!(decoder.level(), level);
        let received =
            expected.iter().skip(1).step_by(2).find_map(|packet| decoder.decode(&packet.serialize()).unwrap());
        assert!(received.as_ref() == Some(&object), "{level}");
    }
}

#[test]
fn blocks_use_the_level_of_their_encoder() {
    let (object, oti) = object();
    let portable = Encoder::new(object.clone(), oti).unwrap().with_level(Level::Portable).unwrap();
    let best = Encoder::new(object, oti).unwrap();
    assert_eq!(best.level(), Level::best());
    let mut block = portable.block_encoder(1).unwrap();
    assert_eq!(block.level(), Level::Portable);
    portable.load_block(2, &mut block).unwrap();
    assert_eq!(block.level(), Level::Portable);
    best.load_block(0, &mut block).unwrap();
    assert_eq!(block.level(), Level::best(), "the block is encoded by the encoder that loads it");
    let expected = block.packet(1000).unwrap();
    let block = block.with_level(Level::Portable).unwrap();
    assert_eq!((block.level(), block.packet(1000).unwrap()), (Level::Portable, expected.clone()));
    let mut loaded = LoadedBlocks::new(&portable, NonZeroUsize::MIN);
    assert_eq!(loaded.packet(PayloadId::new(0, 1000).unwrap()).unwrap(), expected);
}

#[test]
fn blocks_in_progress_and_those_to_come_use_the_level_of_their_decoder() {
    let (object, oti) = object();
    let encoder = Encoder::new(object, oti).unwrap();
    let sent: Vec<Vec<u8>> = packets(&encoder).iter().map(EncodingPacket::serialize).collect();
    let feed = |decoder: &mut Decoder, block: u8, count: usize| {
        for packet in sent.iter().filter(|packet| packet[0] == block).skip(1).take(count) {
            decoder.add_packet(packet).unwrap();
        }
    };
    // Nothing but its debug output tells what is inside a decoder.
    let uses = |decoder: &Decoder, level: Level| format!("{decoder:?}").contains(&format!("Kernels({level:?})"));
    let mut decoder = Decoder::new(oti).unwrap();
    feed(&mut decoder, 0, 10);
    assert!(uses(&decoder, Level::best()));

    let mut decoder = decoder.with_level(Level::Portable).unwrap();
    let only_portable =
        |decoder: &Decoder| Level::available().all(|level| uses(decoder, level) == (level == Level::Portable));
    assert!(only_portable(&decoder), "the block in progress");
    feed(&mut decoder, 1, 10);
    feed(&mut decoder, 0, 120);
    assert!(decoder.block(0).is_some());
    // In the memory of the block that is decoded.
    feed(&mut decoder, 2, 10);
    assert!(only_portable(&decoder), "blocks that began later");
}

#[test]
fn a_level_that_this_processor_lacks_is_an_error() {
    let (object, oti) = object();
    for &level in Level::ALL.iter().filter(|level| !level.is_available()) {
        let expected = BlockError::Level(level);
        let encoder = Encoder::new(object.clone(), oti).unwrap();
        assert_eq!(encoder.block_encoder(0).unwrap().with_level(level).err(), Some(EncoderError::Block(expected)));
        assert_eq!(encoder.with_level(level).err(), Some(EncoderError::Block(expected)));
        assert_eq!(Decoder::new(oti).unwrap().with_level(level).err(), Some(DecoderError::Block(expected)));
    }
}
