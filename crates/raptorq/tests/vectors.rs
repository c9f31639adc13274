//! Known answers: repair symbols that two other codecs, nanorq and the crates.io `raptorq` 2.0.1, agree on.

use crate::common::ours;

const SYMBOL_SIZE: usize = 16;

/// K, ESI, and the repair symbol in hexadecimal.
const VECTORS: [(u32, u32, &str); 9] = [
    (10, 10, "6873b15e2b5cb31d719351bebec9a018"),
    (10, 11, "74a2b5823b66a5cd7bddcafdc09daecb"),
    (10, 17, "c55d80cccb7945c2f4b46925398b6330"),
    (100, 100, "407cca428677a93a93c6c4189d0f8c3a"),
    (100, 101, "6ff689c1a7dc6af3a51d87a674b46849"),
    (100, 107, "01e581fbe962dd2bb14842dc268684ff"),
    (1000, 1000, "9ad7bc3b151682d7a9fcc54dad37435c"),
    (1000, 1001, "c33e12f139320258ed894c7401838775"),
    (1000, 1007, "a10b5a72bd8b7a5b5355cc59fa83e757"),
];

/// Byte `i` of every vector's block.
fn source_byte(i: usize) -> u8 {
    (131 * i + 17 * (i / 128) + 5) as u8
}

fn hexadecimal(symbol: &[u8]) -> String {
    format!("{:032x}", u128::from_be_bytes(symbol.try_into().expect("16 bytes")))
}

#[test]
fn repair_symbols_are_those_of_other_codecs() {
    for (k, esi, expected) in VECTORS {
        let block: Vec<u8> = (0..k as usize * SYMBOL_SIZE).map(source_byte).collect();
        let encoder = ours::encoder(&ours::plan(k), &block, SYMBOL_SIZE);
        assert_eq!(hexadecimal(&ours::symbol(&encoder, SYMBOL_SIZE, esi)), expected, "K = {k}, ESI {esi}");
    }
}

#[test]
fn a_range_of_repair_symbols_has_the_known_ones_in_their_places() {
    for k in [10, 100, 1000] {
        let block: Vec<u8> = (0..k as usize * SYMBOL_SIZE).map(source_byte).collect();
        let encoder = ours::encoder(&ours::plan(k), &block, SYMBOL_SIZE);
        let mut range = [0; 8 * SYMBOL_SIZE];
        encoder.symbols_into(k, &mut range).unwrap();
        for (_, esi, expected) in VECTORS.iter().filter(|vector| vector.0 == k) {
            let symbol = &range[(esi - k) as usize * SYMBOL_SIZE..][..SYMBOL_SIZE];
            assert_eq!(&hexadecimal(symbol), expected, "K = {k}, ESI {esi}");
        }
    }
}
