//! A decoder of a small object, and whatever packets.
#![no_main]

use std::num::NonZeroUsize;

use anabranch_raptorq::{
    BlockStatus, Decoder, DecoderError, DecoderLimits, Encoder, LoadedBlocks, ObjectTransmissionInformation, PayloadId,
    PlanCache, Progress,
};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    length: u16,
    units: u8,
    blocks: u8,
    sub_blocks: u8,
    alignment: u8,
    blocks_in_progress: u8,
    extra_symbols: u8,
    events: Vec<Event>,
}

#[derive(Arbitrary, Debug)]
enum Event {
    /// Any bytes.
    Garbage(Vec<u8>),
    /// The right sizes, more or less, and wrong content.
    Wrong {
        block: u8,
        esi: u32,
        symbols: u8,
        cut: u8,
        fill: u8,
    },
    /// As an honest sender sends it; several symbols in a row.
    Right {
        block: u8,
        esi: u32,
        symbols: u8,
        collect: bool,
    },
    /// Right source symbols, so that objects are completed.
    Source {
        block: u8,
        first: u8,
        count: u8,
    },
    DecodeReady,
    Take(u8),
}

thread_local! {
    static PLANS: PlanCache = PlanCache::new();
}

fuzz_target!(|input: Input| {
    let alignment = input.alignment % 8 + 1;
    let size = (u16::from(input.units % 16) + 1) * u16::from(alignment);
    let length = usize::from(input.length % 3000);
    let (blocks, sub_blocks) = (input.blocks % 5 + 1, u16::from(input.sub_blocks % 20) + 1);
    let oti = ObjectTransmissionInformation::new(length as u64, size, blocks, sub_blocks, alignment).unwrap();
    let object: Vec<u8> = (0..length).map(|i| (i * 89 + i / 251) as u8).collect();
    let cache = PLANS.with(PlanCache::clone);
    let encoder = Encoder::with_cache(&object, oti, &cache).unwrap();
    let mut sender = LoadedBlocks::new(&encoder, NonZeroUsize::new(2).unwrap());
    let limits = DecoderLimits::default()
        .blocks_in_progress(usize::from(input.blocks_in_progress % 6))
        .extra_symbols(u32::from(input.extra_symbols % 8));
    let mut decoder = Decoder::with_limits(oti, limits).unwrap().with_cache(&cache);
    let mut receiver = Receiver { decoder: &mut decoder, honest: true, taken: false };

    for event in input.events.iter().take(400) {
        match *event {
            Event::Garbage(ref bytes) => receiver.add(bytes, false, false),
            Event::Wrong { block, esi, symbols, cut, fill } => {
                let id = PayloadId::new(block % (blocks + 1), esi & 0xFF_FFFF).unwrap();
                let mut packet = id.serialize().to_vec();
                packet.resize(4 + usize::from(symbols % 4) * usize::from(size), fill);
                packet.truncate(packet.len() - usize::from(cut).min(packet.len()));
                receiver.add(&packet, false, false);
            }
            Event::Right { block, esi, symbols, collect } => {
                let block = block % blocks;
                let mut packet = PayloadId::new(block, esi & 0xFF_FFFF).unwrap().serialize().to_vec();
                let mut symbol = vec![0; usize::from(size)];
                for esi in (esi & 0xFF_FFFF..1 << 24).take(usize::from(symbols % 4) + 1) {
                    if sender.encode_into(PayloadId::new(block, esi).unwrap(), &mut symbol).is_ok() {
                        packet.extend_from_slice(&symbol);
                    }
                }
                receiver.add(&packet, true, collect);
            }
            Event::Source { block, first, count } => {
                let layout = oti.block(block % blocks).unwrap();
                for esi in u32::from(first)..layout.source_symbols().min(u32::from(first) + u32::from(count)) {
                    let id = PayloadId::new(layout.number(), esi).unwrap();
                    receiver.add(&sender.packet(id).unwrap().serialize(), true, false);
                }
            }
            Event::DecodeReady => decoder_ready(receiver.decoder),
            Event::Take(block) => {
                let expected = receiver.decoder.block(block).map(<[u8]>::to_vec);
                let found = receiver.decoder.take_block(block);
                receiver.taken |= found.is_some();
                assert_eq!(found, expected);
            }
        }
    }

    let (honest, taken) = (receiver.honest, receiver.taken);
    for block in oti.blocks() {
        if let Some(bytes) = decoder.block(block.number()) {
            assert_eq!(bytes.len() as u64, block.size());
            assert!(!honest || bytes == &object[block.range().unwrap()]);
        }
    }
    match decoder.try_result() {
        Ok(result) => {
            assert!(decoder.is_complete() && result.len() == length);
            assert!(!honest || result == object);
            let mut out = vec![0xEE; length];
            decoder.try_result_into(&mut out).unwrap();
            assert_eq!(out, result);
        }
        Err(DecoderError::Taken { .. }) => assert!(taken && decoder.is_complete()),
        Err(DecoderError::Incomplete { blocks }) => assert!(blocks > 0 && !decoder.is_complete()),
        Err(error) => panic!("{error}"),
    }
});

struct Receiver<'a> {
    decoder: &'a mut Decoder,
    /// Whether all that arrived was right.
    honest: bool,
    taken: bool,
}

impl Receiver<'_> {
    fn add(&mut self, packet: &[u8], right: bool, collect: bool) {
        let number = packet.first().copied().unwrap_or(0);
        let before = self.decoder.block_status(number);
        let progress = if collect { self.decoder.collect_packet(packet) } else { self.decoder.add_packet(packet) };
        let after = self.decoder.block_status(number);
        match progress {
            Ok(Progress::Collecting { missing }) => assert_eq!(after, Some(BlockStatus::Collecting { missing })),
            Ok(Progress::BlockDecoded { number: decoded }) => {
                assert!(!collect && decoded == number && after == Some(BlockStatus::Decoded));
            }
            Ok(Progress::Complete) => assert!(!collect && self.decoder.is_complete()),
            Ok(Progress::Redundant) => assert_eq!(before, after),
            Ok(other) => panic!("{other:?}"),
            Err(_) => assert_eq!(before, after),
        }
        if !right && progress.is_ok_and(|progress| progress != Progress::Redundant) {
            self.honest = false;
        }
    }
}

fn decoder_ready(decoder: &mut Decoder) {
    decoder.decode_ready().unwrap();
    for number in 0..decoder.config().source_blocks() {
        assert_ne!(decoder.block_status(number), Some(BlockStatus::Collecting { missing: 0 }));
    }
}
