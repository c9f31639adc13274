//! The codec against the standard taken literally (`common/reference.rs`), for small blocks.

mod common;

use common::Random;
use common::peer::Peer;
use common::reference::Reference;

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
