//! After its first block a codec allocates nothing, and what it has taken by then is bounded.

use crate::common::{Random, ours};
use allocation_counter::{AllocationInfo, measure};
use anabranch_raptorq::{EncodingPlan, RepairMatrix, SourceBlockDecoder, SourceBlockEncoder};
use std::sync::Arc;

/// K, and losses in symbols: none, few, some, many, all. Between them a decoder takes each of its ways.
fn cases() -> impl Iterator<Item = (u32, u32)> {
    let sizes = [10, 50, 100, 257, 1000, 4000];
    let losses = |k: u32| [0, 1, 5, k / 50, k / 20, k / 10, k / 5, k / 3, k];
    sizes.into_iter().flat_map(move |k| losses(k).map(|lost| (k, lost.min(k))))
}

/// Source and repair symbols as they come in.
struct Arrivals {
    block: Vec<u8>,
    symbols: Vec<(u32, Vec<u8>)>,
}

impl Arrivals {
    fn new(plan: &Arc<EncodingPlan>, k: u32, size: usize, lost: u32, extra: u32, seed: u64) -> Self {
        let mut random = Random::new((seed << 32) | u64::from(k));
        let block = random.bytes(k as usize * size);
        let encoder = ours::encoder(plan, &block, size);
        let esis = random.arrivals(k, lost, lost + extra).into_iter();
        let symbols = esis.map(|esi| (esi, ours::symbol(&encoder, size, esi))).collect();
        Self { block, symbols }
    }

    fn decode(&self, decoder: &mut SourceBlockDecoder) {
        for (esi, symbol) in &self.symbols {
            decoder.add_symbol(*esi, symbol).unwrap();
        }
        assert!(decoder.try_decode().expect("enough symbols") == self.block);
    }
}

#[test]
fn the_counter_counts() {
    let info = measure(|| drop(std::hint::black_box(vec![0u8; 1000])));
    assert_eq!((info.count_total, info.bytes_max, info.bytes_current), (1, 1000, 0));
}

#[test]
fn the_second_block_is_encoded_without_allocation() {
    for k in [1, 10, 11, 50, 100, 257, 1000, 4000] {
        for size in [1, 64, 1280, 1500] {
            let mut random = Random::new(k.into());
            let plan = ours::plan(k);
            let mut encoder = ours::encoder(&plan, &random.bytes(k as usize * size), size);
            let second = random.bytes(k as usize * size);
            let mut repairs = vec![0; 20 * size];
            let info = measure(|| {
                encoder.load(&second).unwrap();
                encoder.symbols_into(k, &mut repairs).unwrap();
                encoder.encode_into(k + 1_000_000, &mut repairs[..size]).unwrap();
                // The same shape once more, said in another way.
                encoder.reset(Arc::clone(&plan), k, size).unwrap();
                encoder.load(&second).unwrap();
            });
            assert_eq!(info.count_total, 0, "K = {k}, T = {size}: {info:?}");
        }
    }
}

#[test]
fn the_second_block_is_decoded_without_allocation() {
    let size = 40;
    for (k, lost) in cases() {
        let plan = ours::plan(k);
        let [first, second] = [1, 2].map(|seed| Arrivals::new(&plan, k, size, lost, 2, seed));
        let mut decoder = ours::decoder(&plan, k, size);
        first.decode(&mut decoder);
        let mut out = vec![0; second.block.len()];
        decoder.clear(); // makes room
        let info = measure(|| {
            second.decode(&mut decoder);
            decoder.try_decode_into(&mut out).unwrap();
            decoder.reset(Arc::clone(&plan), k, size).unwrap();
            second.decode(&mut decoder);
        });
        assert_eq!(info.count_total, 0, "K = {k}, {lost} lost: {info:?}");
    }
}

#[test]
fn a_matrix_makes_repair_symbols_without_allocation() {
    for (k, count) in [(10, 1), (100, 4), (1000, 20)] {
        let size = 1280;
        let matrix = RepairMatrix::new(&ours::plan(k), k, k, count).unwrap();
        let block = Random::new(k.into()).bytes(k as usize * size);
        let mut repairs = vec![0; count as usize * size];
        let info = measure(|| matrix.encode_into(&block, size, &mut repairs).unwrap());
        assert_eq!(info.count_total, 0, "K = {k}, {count} repair symbols: {info:?}");
    }
}

/// Asserts that `what` took at most three times the block.
fn at_most_thrice(what: &str, k: u32, size: usize, info: AllocationInfo) {
    let times = info.bytes_max as f64 / (f64::from(k) * size as f64);
    println!("{what}, K = {k}, T = {size}: {} bytes at most, {times:.2} times the block", info.bytes_max);
    assert!(times <= 3.0, "{what}, K = {k}, T = {size}: {times:.2} times the block");
}

#[test]
fn an_encoder_takes_at_most_three_times_the_block() {
    for k in [100, 101, 257, 1000, 4000, 10_000] {
        for size in [1280, 1408, 1500] {
            let plan = ours::plan(k);
            let block = Random::new(k.into()).bytes(k as usize * size);
            let mut repairs = vec![0; 20 * size];
            let info = measure(|| {
                let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
                encoder.load(&block).unwrap();
                encoder.symbols_into(k, &mut repairs).unwrap();
            });
            at_most_thrice("encoder", k, size, info);
        }
    }
}

#[test]
fn a_decoder_takes_at_most_three_times_the_block() {
    let size = 1280;
    for (k, lost) in cases().filter(|&(k, _)| k >= 100) {
        let plan = ours::plan(k);
        let arrivals = Arrivals::new(&plan, k, size, lost, 2, 1);
        let info = measure(|| arrivals.decode(&mut ours::decoder(&plan, k, size)));
        at_most_thrice(&format!("decoder, {lost} lost"), k, size, info);
    }
}

#[test]
fn a_decoder_that_is_flooded_takes_at_most_three_times_the_block() {
    // All source symbols are lost, and a sender that does not stop sends four times what is needed.
    let (k, size) = (300, 1280);
    let plan = ours::plan(k);
    let arrivals = Arrivals::new(&plan, k, size, k, 3 * k, 1);
    let info = measure(|| arrivals.decode(&mut ours::decoder(&plan, k, size)));
    at_most_thrice("flooded decoder", k, size, info);
}
