//! Every K from 1 to 56403 is encoded, loses symbols and is decoded.
//!
//! The full run is long (`make test-codec-all`); the ordinary tests take a sample of it.

use crate::common::{MAX_ESI, Random, classes, in_parallel, ours};
use anabranch_raptorq::{SourceBlockDecoder, SourceBlockEncoder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The K of one class, which share a plan.
struct Class {
    smallest: u32,
    largest: u32,
}

/// All classes, the largest first: what is left over for one thread at the end is then short.
fn all_classes() -> Vec<Class> {
    let ranges = classes().into_iter().scan(0, |below, largest| {
        let smallest = std::mem::replace(below, largest) + 1;
        Some(Class { smallest, largest })
    });
    let mut ranges: Vec<Class> = ranges.collect();
    ranges.reverse();
    ranges
}

/// An encoder and a decoder that go from block to block, whatever their K.
struct Codec {
    encoder: SourceBlockEncoder,
    decoder: SourceBlockDecoder,
}

impl Codec {
    fn new() -> Self {
        let plan = ours::plan(1);
        Self { encoder: SourceBlockEncoder::new(Arc::clone(&plan), 1, 1).unwrap(), decoder: ours::decoder(&plan, 1, 1) }
    }

    /// Encodes a block of `k` symbols, loses some, and decodes it.
    fn round_trip(&mut self, plan: &Arc<anabranch_raptorq::EncodingPlan>, k: u32) {
        let mut random = Random::new(k.into());
        let size = 1 + random.below(12) as usize;
        let block = random.bytes(k as usize * size);
        self.encoder.reset(Arc::clone(plan), k, size).unwrap();
        self.decoder.reset(Arc::clone(plan), k, size).unwrap();
        self.encoder.load(&block).unwrap();

        // A few symbols, a twentieth, a third, all.
        let lost = [(1 + random.below(4)).min(k), k.div_ceil(20), k.div_ceil(3), k][random.below(4) as usize];
        // Often just as many as were lost, when one more may be needed.
        let extra = random.below(3);
        let mut arrivals = random.arrivals(k, lost, lost + extra);
        let mut symbol = vec![0; size];
        let mut received = 0;
        let decoded = loop {
            for esi in arrivals.drain(..) {
                if esi < k {
                    symbol.copy_from_slice(&block[esi as usize * size..][..size]);
                } else {
                    self.encoder.encode_into(esi, &mut symbol).unwrap();
                }
                self.decoder.add_symbol(esi, &symbol).unwrap();
                received += 1;
            }
            assert!(self.decoder.may_decode(), "K = {k}: {received} symbols are enough to try");
            if let Ok(decoded) = self.decoder.try_decode() {
                break decoded;
            }
            // One in 256^8 blocks comes here with 8 more symbols than it has.
            assert!(received < k + 8, "K = {k}, T = {size}: {received} symbols do not decode");
            arrivals.push(k + random.below(MAX_ESI - k));
        };
        assert!(decoded == block, "K = {k}, T = {size}, {lost} lost, {received} received: other bytes");
    }
}

#[test]
fn a_sample_of_all_k_returns_the_data() {
    // The ends of every eighth class, where K = K' and where the padding is longest, and all small K.
    let sample: Vec<Class> = all_classes().into_iter().step_by(8).collect();
    in_parallel(&sample, |class| {
        let plan = ours::plan(class.largest);
        let mut codec = Codec::new();
        for k in [class.smallest, class.smallest.midpoint(class.largest), class.largest] {
            codec.round_trip(&plan, k);
        }
    });
    let mut codec = Codec::new();
    for k in 1..=300 {
        codec.round_trip(&ours::plan(k), k);
    }
}

#[test]
#[ignore = "takes tens of minutes: make test-codec-all"]
#[allow(clippy::disallowed_methods, reason = "to say how long the rest will take")]
fn every_k_returns_the_data() {
    let start = std::time::Instant::now();
    let classes = all_classes();
    // Time is nearly proportional to the symbols of all blocks.
    let symbols = |class: &Class| (class.smallest..=class.largest).map(u64::from).sum::<u64>();
    let total: u64 = classes.iter().map(symbols).sum();
    let (done, blocks) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(&classes, |class| {
        let plan = ours::plan(class.largest);
        let mut codec = Codec::new();
        for k in class.smallest..=class.largest {
            codec.round_trip(&plan, k);
        }
        let now = done.fetch_add(symbols(class), Ordering::Relaxed) + symbols(class);
        blocks.fetch_add(u64::from(class.largest - class.smallest + 1), Ordering::Relaxed);
        let (share, spent) = (now as f64 / total as f64, start.elapsed().as_secs_f64());
        eprintln!(
            "K = {} to {}: done; {:.1} % of the work in {spent:.0} s, about {:.0} s to go",
            class.smallest,
            class.largest,
            100.0 * share,
            spent / share - spent
        );
    });
    assert_eq!(blocks.into_inner(), 56_403);
}
