//! The code as a whole: against another implementation's symbols, and over K, losses and overhead.

use super::*;
use crate::siblings::random::SplitMix64;

/// The block of the vectors below.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (131 * i + 17 * (i / 128) + 5) as u8).collect()
}

#[test]
fn symbols_are_those_of_another_implementation() {
    // Repair symbols K, K + 1, K + 7, K + 1000 and 65520, made with raptor-code 1.0.12 of crates.io, symbols of 8 bytes. The
    // RFC has no test vectors, and no published set of encoded symbols was found.
    let vectors: [(u32, [&str; 5]); 6] = [
        (4, ["2818181868686878", "3030303050505050", "6040404020202000", "1828282838383828", "3030303050505050"]),
        (10, ["e5a82bae31b437fa", "9868686878787828", "f558db5ec144c76a", "8858585848484878", "ad30b336b93cbf42"]),
        (101, ["aaaa46563a7abe0e", "75d88b6661746772", "65d8ebf641843732", "83a60924afb285e0", "c87c00bca894c0f4"]),
        (1000, ["48bb1e61d4175a1d", "8d2b45dfe5fb9d37", "6ec17ce73a8d4803", "226950472e350c53", "8184c7929d80a33e"]),
        (4096, ["c86f760d14fbc209", "919c3ff21d787b2e", "e91b8907796b39df", "e02860a88068d058", "0b01d7c1ab818f71"]),
        (8192, ["2e311cb74a5db803", "ea161ea2aabe06e2", "7428f4b87c38fc88", "e01fae95fc6baaa1", "c0b3be410c9f6a1d"]),
    ];
    for (k, symbols) in vectors {
        let mut encoder = R10.encoder(k, 8).unwrap();
        encoder.load(&pattern(k as usize * 8)).unwrap();
        for (id, expected) in [k, k + 1, k + 7, k + 1000, 65_520].into_iter().zip(symbols) {
            let mut symbol = [0; 8];
            encoder.encode_into(id, &mut symbol).unwrap();
            assert_eq!(alloc::format!("{:016x}", u64::from_be_bytes(symbol)), expected, "K = {k}, symbol {id}");
        }
    }
}

/// Encodes, loses `lost` in 256 source symbols, replaces them by repair symbols and decodes.
fn round_trip(k: u32, lost: u64) {
    let symbol_size = 3;
    let mut random = SplitMix64::of_symbol(11, k, 0);
    let block: Vec<u8> = (0..k as usize * symbol_size).map(|_| random.next() as u8).collect();
    let mut encoder = R10.encoder(k, symbol_size).unwrap();
    encoder.load(&block).unwrap();
    let mut decoder = R10.decoder(k, symbol_size).unwrap();
    let mut symbol = [0; 3];
    let mut count = 0;
    for (id, source) in (0..k).zip(block.chunks(symbol_size)) {
        // Systematic: what is sent is the block.
        encoder.encode_into(id, &mut symbol).unwrap();
        assert_eq!(symbol, source, "K = {k}, symbol {id}");
        if random.next() % 256 >= lost {
            decoder.add_symbol(id, &symbol).unwrap();
            count += 1;
        }
    }
    let mut id = k + random.below(1000);
    while decoder.try_decode().is_none() {
        encoder.encode_into(id, &mut symbol).unwrap();
        decoder.add_symbol(id, &symbol).unwrap();
        id += 1;
        count += 1;
        assert!(count < k + 40, "K = {k} does not decode");
    }
    assert_eq!(decoder.try_decode().unwrap(), block, "K = {k}");
}

#[test]
fn systematic_and_decodable_for_sampled_k() {
    for k in (4..40).chain((40..1200).step_by(83)).chain([4095, MAX_SOURCE_SYMBOLS]) {
        for lost in [0, 13, 77, 256] {
            round_trip(k, lost);
        }
    }
}

#[test]
#[ignore = "long: every K"]
fn systematic_and_decodable_for_every_k() {
    for k in MIN_SOURCE_SYMBOLS..=MAX_SOURCE_SYMBOLS {
        round_trip(k, 26);
        round_trip(k, 256);
    }
}

#[test]
#[ignore = "long: every K"]
fn the_source_symbols_suffice_for_every_k() {
    // The encoder relies on it: this is what the systematic indices J(K) are for.
    for k in MIN_SOURCE_SYMBOLS..=MAX_SOURCE_SYMBOLS {
        let parameters = Parameters::new(k);
        let source: Vec<u32> = (0..k).collect();
        assert!(Solver::new(&parameters).solve(&parameters, &source), "K = {k}");
    }
}

/// The rank of the whole system of §5.4.2.4, by elimination that knows nothing of its structure.
fn has_full_rank(parameters: &Parameters, ids: &[u32]) -> bool {
    let (k, s, h, l) = (parameters.k, parameters.s, parameters.h, parameters.l as usize);
    let mut rows = vec![vec![false; l]; (s + h) as usize];
    for row in 0..s + h {
        rows[row as usize][(k + row) as usize] = true;
    }
    (0..k).for_each(|i| parameters.ldpc(i, |row| rows[row as usize][i as usize] = true));
    for (j, half) in parameters.half().enumerate() {
        (0..h).for_each(|bit| rows[(s + bit) as usize][j] |= half >> bit & 1 == 1);
    }
    for &id in ids {
        let mut row = vec![false; l];
        parameters.columns(id, |column| row[column as usize] = true);
        rows.push(row);
    }
    for column in 0..l {
        let Some(pivot) = (column..rows.len()).find(|&row| rows[row][column]) else { return false };
        rows.swap(column, pivot);
        let pivot = rows[column].clone();
        for row in &mut rows[column + 1..] {
            if row[column] {
                row.iter_mut().zip(&pivot).for_each(|(a, b)| *a ^= b);
            }
        }
    }
    true
}

#[test]
fn the_decoder_fails_only_where_no_decoder_can_do_better() {
    let mut failures = [0; 2];
    for k in [4, 7, 10, 23, 60] {
        let parameters = Parameters::new(k);
        let mut test = R10.decodability(k).unwrap();
        let mut random = SplitMix64::of_symbol(5, k, 0);
        for trial in 0..150 {
            let ids: Vec<u32> = (0..k + trial % 4).map(|_| random.below(ENCODING_SYMBOLS)).collect();
            let expected = has_full_rank(&parameters, &ids);
            assert_eq!(test.decodes(&ids).unwrap(), expected, "K = {k}: {ids:?}");
            failures[usize::from(expected)] += 1;
        }
    }
    assert!(failures.iter().all(|&n| n > 100), "both outcomes are common: {failures:?}");
}

#[test]
fn few_columns_are_inactive() {
    // What decoding costs. For K = 8192 at a tenth of K the dense part would cost too much.
    let parameters = Parameters::new(MAX_SOURCE_SYMBOLS);
    let mut solver = Solver::new(&parameters);
    let ids: Vec<u32> = (20_000..20_000 + MAX_SOURCE_SYMBOLS + 20).collect();
    assert!(solver.solve(&parameters, &ids));
    assert!(solver.inactive() < 400, "{}", solver.inactive());
}
