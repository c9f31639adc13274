//! The codec against the standard taken literally (`common/reference.rs`), for small blocks.

use crate::common::{MAX_ESI, Random, ours};
use anabranch_raptorq::Added;

use crate::common::peer::Peer;
use crate::common::reference::Reference;

/// Blocks with K' up to 62, K being K' or less.
const SOURCE_SYMBOLS: [u32; 14] = [1, 2, 9, 10, 11, 12, 18, 20, 26, 30, 36, 42, 49, 60];

/// Symbols of `block` by internal symbol id, the padding of §5.3.1 included.
fn extended(reference: &Reference, block: &[u8], size: usize) -> Vec<(u32, Vec<u8>)> {
    let source = block.chunks(size).map(<[u8]>::to_vec);
    let padded = source.chain(std::iter::repeat(vec![0; size]));
    (0..reference.extended_symbols()).zip(padded).collect()
}

#[test]
fn the_oracle_is_systematic_and_the_peer_agrees_with_it() {
    for k in SOURCE_SYMBOLS {
        let size = 5;
        let block = Random::new(k.into()).bytes(k as usize * size);
        let reference = Reference::new(k);
        let padding = reference.extended_symbols() - k;
        let symbols = extended(&reference, &block, size);
        let intermediate = reference.solve(&symbols).expect("the RFC chose J so that A is invertible");
        for (isi, symbol) in &symbols {
            assert_eq!(&reference.encode(&intermediate, *isi), symbol, "K = {k}, ISI {isi}");
        }
        let peer = Peer::encode(&block, size);
        for esi in k..k + 40 {
            assert_eq!(peer.repair(esi), reference.encode(&intermediate, esi + padding), "K = {k}, ESI {esi}");
        }
    }
}

#[test]
fn repair_symbols_are_those_of_the_standard() {
    for k in SOURCE_SYMBOLS {
        for size in [1, 3, 64, 65] {
            let block = Random::new((u64::from(k) << 8) + size as u64).bytes(k as usize * size);
            let reference = Reference::new(k);
            let padding = reference.extended_symbols() - k;
            let intermediate = reference.solve(&extended(&reference, &block, size)).expect("A is invertible");
            let encoder = ours::encoder(&ours::plan(k), &block, size);
            for esi in (0..k + 60).chain([k + 1000, 1 << 16, 1_000_003, MAX_ESI]) {
                assert_eq!(
                    ours::symbol(&encoder, size, esi),
                    reference.encode(&intermediate, if esi < k { esi } else { esi + padding }),
                    "K = {k}, T = {size}, ESI {esi}"
                );
            }
        }
    }
}

#[test]
fn a_block_is_decoded_exactly_when_its_symbols_determine_it() {
    // Some sets of just K symbols do not suffice: the rank of the standard's matrix tells which. A codec that gives up
    // on others, or that returns something for these, is wrong.
    let mut undetermined = 0;
    for (k, trials) in [(1, 300), (5, 600), (10, 1500), (11, 600), (20, 1000), (26, 500), (42, 150)] {
        let size = 4;
        let mut random = Random::new(k.into());
        let block = random.bytes(k as usize * size);
        let reference = Reference::new(k);
        let padding = reference.extended_symbols() - k;
        let plan = ours::plan(k);
        let encoder = ours::encoder(&plan, &block, size);
        let mut decoder = ours::decoder(&plan, k, size);
        for trial in 0..trials {
            let lost = 1 + random.below(k);
            let repair = lost + random.below(2);
            let esis = random.arrivals(k, lost, repair);
            let padded = k..k + padding;
            let isis = esis.iter().map(|&esi| if esi < k { esi } else { esi + padding });
            let mut matrix = reference.matrix(padded.chain(isis));
            let rank = crate::common::reference::eliminate(&mut matrix, reference.intermediate_symbols());

            decoder.clear();
            for &esi in &esis {
                assert_eq!(decoder.add_symbol(esi, &ours::symbol(&encoder, size, esi)), Ok(Added::New));
            }
            let determined = rank == reference.intermediate_symbols();
            match decoder.try_decode() {
                Ok(decoded) => {
                    assert!(determined, "K = {k}, trial {trial}: decoded from too little");
                    assert_eq!(decoded, block, "K = {k}, trial {trial}");
                }
                Err(not_yet) => {
                    assert!(!determined, "K = {k}, trial {trial}: not decoded though rank is full");
                    assert!(not_yet.more > 0, "K = {k}, trial {trial}: says that nothing is missing");
                    undetermined += 1;
                }
            }
        }
    }
    assert!(undetermined > 5, "only {undetermined} sets were too few: the test shows nothing");
}
