//! Every class of blocks exchanged with the crates.io `raptorq` codec: equal repair symbols, and each decodes what the
//! other encoded. The ordinary tests take a sample.
//!
//! Both sides of a comparison can only be wrong together; `reference.rs` and `vectors.rs` are for that.

use crate::common::peer::Peer;
use crate::common::{MAX_ESI, Random, classes, in_parallel, ours};

/// Exchanges one block of `k` symbols, both ways.
fn exchange(k: u32, seed: u64) {
    let mut random = Random::new((seed << 32) | u64::from(k));
    let size = 4 + random.below(13) as usize;
    let block = random.bytes(k as usize * size);
    let context = format!("K = {k}, T = {size}, seed {seed}");
    let plan = ours::plan(k);
    let k_prime = plan.extended_symbols();
    let (encoder, peer) = (ours::encoder(&plan, &block, size), Peer::encode(&block, size));

    // On the wire are ESIs, which leave out the padding: K' is an ordinary repair symbol of a block with K < K'.
    for esi in [k, k + 1, k + 7, k_prime, k_prime + 1, k + 1000, k + 100_000, MAX_ESI] {
        assert_eq!(ours::symbol(&encoder, size, esi), peer.repair(esi), "repair symbol {esi} of {context}");
    }

    let arrivals = |random: &mut Random| {
        // One symbol, some per cent, a third, all but one, all.
        let lost = [1, k.div_ceil(33), k.div_ceil(3), k - 1, k][random.below(5) as usize];
        random.arrivals(k, lost, lost + 2)
    };
    let mut decoder = ours::decoder(&plan, k, size);
    for esi in arrivals(&mut random) {
        let symbol = if esi < k { block[esi as usize * size..][..size].to_vec() } else { peer.repair(esi) };
        decoder.add_symbol(esi, &symbol).unwrap();
    }
    match decoder.try_decode() {
        Ok(decoded) => assert!(decoded == block, "we decode other bytes than the peer encoded: {context}"),
        Err(more) => panic!("we cannot decode what the peer encoded ({more}): {context}"),
    }

    let symbols = arrivals(&mut random).into_iter().map(|esi| (esi, ours::symbol(&encoder, size, esi)));
    match Peer::decode(k, size, symbols) {
        Some(decoded) => assert!(decoded == block, "the peer decodes other bytes than we encoded: {context}"),
        None => panic!("the peer cannot decode what we encoded: {context}"),
    }
}

/// K' of every class, the largest first.
fn full_blocks() -> Vec<u32> {
    classes().into_iter().rev().collect()
}

/// For every class a K that needs padding, where there is one: the smallest of the class, the largest, one between.
fn padded_blocks() -> Vec<u32> {
    let mut random = Random::new(0);
    let k_prime = classes();
    let ranges = k_prime.iter().scan(0, |below, &k_prime| Some((std::mem::replace(below, k_prime) + 1, k_prime)));
    let padded = ranges.filter(|(smallest, k_prime)| smallest < k_prime).map(|(smallest, k_prime)| {
        let count = k_prime - smallest;
        smallest + [0, count - 1, random.below(count)][random.below(3) as usize]
    });
    let mut padded: Vec<u32> = padded.collect();
    padded.reverse();
    padded
}

#[test]
fn a_sample_of_all_classes_is_exchanged_with_the_peer() {
    // From the largest class down. The parameters of all 477 are compared with the standard's tables in `rfc::tables`, and
    // every one has a plan (`block::tests`).
    let sample: Vec<u32> = full_blocks().into_iter().step_by(16).collect();
    in_parallel(&sample, |&k| exchange(k, 1));
}

#[test]
#[ignore = "takes minutes: make test-codec-all"]
fn every_class_is_exchanged_with_the_peer() {
    in_parallel(&full_blocks(), |&k| exchange(k, 1));
}

#[test]
fn padded_blocks_of_some_classes_are_exchanged_with_the_peer() {
    let some: Vec<u32> = padded_blocks().into_iter().step_by(24).collect();
    in_parallel(&some, |&k| exchange(k, 2));
}

#[test]
#[ignore = "takes minutes: make test-codec-all"]
fn padded_blocks_of_every_class_are_exchanged_with_the_peer() {
    for seed in 3..6 {
        in_parallel(&padded_blocks(), |&k| exchange(k, seed));
    }
}

#[test]
fn the_smallest_blocks_are_exchanged_with_the_peer() {
    for k in 1..=60 {
        for seed in 10..20 {
            exchange(k, seed);
        }
    }
}
