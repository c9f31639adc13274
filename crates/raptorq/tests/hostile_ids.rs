//! Symbols whose ids somebody chose so that decoding them takes long: the work is counted, and compared with that of a block
//! with ordinary losses.

use crate::common::reference::Reference;
use crate::common::{MAX_ESI, Random, ours};
use anabranch_raptorq::{
    Decoder, DecoderError, Encoder, EncodingPlan, ObjectTransmissionInformation, SourceBlockDecoder, SourceBlockEncoder,
};
use std::sync::Arc;

/// The most work that a block may take, next to one whose source symbols are all lost.
const MOST: f64 = 10.0;

/// Repair symbols that say nothing of source symbol `blind`: their coefficient of it is 0.
fn blind(plan: &Arc<EncodingPlan>, k: u32, blind: u32) -> Vec<u32> {
    // A block with a 1 at that symbol alone: its repair symbols are the coefficients.
    let mut unit = vec![0; k as usize];
    unit[blind as usize] = 1;
    let encoder = ours::encoder(plan, &unit, 1);
    let mut coefficient = [0];
    let mut ids = Vec::new();
    for esi in k..=MAX_ESI {
        encoder.encode_into(esi, &mut coefficient).unwrap();
        if coefficient == [0] {
            ids.push(esi);
            if ids.len() == 2 * k as usize + 600 {
                break;
            }
        }
    }
    ids
}

/// Repair symbols that are sums of the most intermediate symbols.
fn dense(k: u32) -> Vec<u32> {
    let code = Reference::new(k);
    // The table of degrees ends with 30, and small blocks have no more than K + 5.
    let most = 30.min(k);
    (k..=MAX_ESI).filter(|&esi| code.repair_degree(k, esi) >= most).take(2 * k as usize + 600).collect()
}

struct Receiver {
    decoder: SourceBlockDecoder,
    tries: u32,
}

impl Receiver {
    fn new(plan: &Arc<EncodingPlan>, k: u32) -> Self {
        Self { decoder: ours::decoder(plan, k, 1), tries: 0 }
    }

    /// As a receiver does that wants the block as soon as possible.
    fn add(&mut self, encoder: &SourceBlockEncoder, esi: u32) -> bool {
        self.decoder.add_symbol(esi, &ours::symbol(encoder, 1, esi)).unwrap();
        if !self.decoder.may_decode() {
            return false;
        }
        let before = self.decoder.work();
        let done = self.decoder.try_decode().is_ok();
        self.tries += u32::from(self.decoder.work() > before);
        done
    }

    fn add_all(&mut self, encoder: &SourceBlockEncoder, esis: impl IntoIterator<Item = u32>) -> bool {
        esis.into_iter().any(|esi| self.add(encoder, esi))
    }
}

/// The work of a block that lost `lost` symbols by chance: the most of some.
fn honest(encoder: &SourceBlockEncoder, plan: &Arc<EncodingPlan>, k: u32, lost: u32) -> u64 {
    let blocks = (0..5).map(|seed| {
        let mut receiver = Receiver::new(plan, k);
        assert!(receiver.add_all(encoder, Random::new(seed).arrivals(k, lost, lost + 4)));
        receiver.decoder.work()
    });
    blocks.max().unwrap()
}

/// Repair symbols to begin with, and the order of the rest.
const ORDERS: [&str; 5] =
    ["repair, then source", "repair, then source backwards", "in turn", "source, then repair", "shuffled"];

fn order(name: &str, k: u32, repairs: &[u32]) -> Vec<u32> {
    let first = &repairs[..repairs.len().min(k as usize + 40)];
    match name {
        "repair, then source" => first.iter().copied().chain((0..k).rev()).collect(),
        "repair, then source backwards" => first.iter().copied().chain(1..k).chain([0]).collect(),
        "in turn" => {
            let sources = (1..k).chain([0]);
            first.iter().copied().zip(sources).flat_map(|(repair, source)| [repair, source]).collect()
        }
        "source, then repair" => (1..k).chain(repairs.iter().copied()).chain([0]).collect(),
        _ => {
            let mut all: Vec<u32> = first.iter().copied().chain(1..k).collect();
            Random::new(7).shuffle(&mut all);
            all.push(0);
            all
        }
    }
}

fn attack(k: u32) {
    let plan = ours::plan(k);
    let block = Random::new(k.into()).bytes(k as usize);
    let encoder = ours::encoder(&plan, &block, 1);
    let ordinary = honest(&encoder, &plan, k, k);
    let (none, long) = (blind(&plan, k, 0), dense(k));
    let both: Vec<u32> = {
        let code = Reference::new(k);
        let mut ids = none.clone();
        ids.sort_by_key(|&esi| std::cmp::Reverse(code.repair_degree(k, esi)));
        ids
    };
    let mut worst = 0.0f64;
    for (kind, ids) in [("blind", &none), ("long rows", &long), ("blind, long rows first", &both)] {
        for name in ORDERS {
            let mut receiver = Receiver::new(&plan, k);
            assert!(receiver.add_all(&encoder, order(name, k, ids)), "all source symbols are there in the end");
            assert!(receiver.decoder.try_decode().unwrap() == block);
            let ratio = receiver.decoder.work() as f64 / ordinary as f64;
            println!("K = {k}, {kind}, {name}: {} tries, {ratio:.2} times the work", receiver.tries);
            worst = worst.max(ratio);
        }
    }
    assert!(worst <= MOST, "K = {k}: {worst:.1} times the work of a block with ordinary losses");
}

#[test]
fn chosen_ids_take_no_more_than_a_few_times_the_work_of_lost_ones() {
    for k in [10, 30, 100, 300, 2000] {
        attack(k);
    }
}

/// The same by packets of an object: each of its blocks is attacked, all at once, and a receiver adds what comes.
#[test]
fn chosen_ids_of_many_blocks_take_no_more_than_that_for_each() {
    const BLOCKS: u8 = 20;
    let k = 200;
    let plan = ours::plan(k);
    let length = u64::from(BLOCKS) * u64::from(k);
    let oti = ObjectTransmissionInformation::new(length, 1, BLOCKS, 1, 1).unwrap();
    let object = Random::new(1).bytes(length as usize);
    let sender = Encoder::with_plans(&object, oti, &[Arc::clone(&plan)]).unwrap();
    let blocks: Vec<_> = (0..BLOCKS).map(|number| sender.block_encoder(number).unwrap()).collect();
    let ordinary = honest(&ours::encoder(&plan, &object[..k as usize], 1), &plan, k, k);
    let ids = blind(&plan, k, 0);
    for name in ORDERS {
        for ready in [false, true] {
            let mut decoder = Decoder::new(oti).unwrap();
            decoder.add_plan(&plan);
            for esi in order(name, k, &ids) {
                for block in &blocks {
                    let packet = block.packet(esi).unwrap().serialize();
                    // More repair symbols than a block may have are refused.
                    let added = if ready { decoder.collect_packet(&packet) } else { decoder.add_packet(&packet) };
                    assert!(matches!(added, Ok(_) | Err(DecoderError::TooManyExtraSymbols { .. })), "{added:?}");
                }
                if ready {
                    decoder.decode_ready().unwrap();
                }
            }
            let ratio = decoder.work() as f64 / (f64::from(BLOCKS) * ordinary as f64);
            println!("{BLOCKS} blocks, K = {k}, blind, {name}: {ratio:.2} times the work");
            assert!(decoder.try_result().unwrap() == object);
            assert!(ratio > 0.0 && ratio <= MOST, "{name}: {ratio:.1} times the work of blocks with ordinary losses");
        }
    }
}

#[test]
#[ignore = "half a minute"]
fn chosen_ids_for_large_blocks() {
    for k in [4000, 20_000, 56_403] {
        attack(k);
    }
}
