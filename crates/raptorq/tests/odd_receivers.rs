//! Receivers that collect symbols in ways that no ordinary loss leads to: far more than needed, or ids that were chosen
//! so that they do not determine the block.

use crate::common::{MAX_ESI, Random, ours};
use anabranch_raptorq::{Added, NotYet, SourceBlockDecoder, SourceBlockEncoder};

/// The intermediate symbols that the encoding symbols of a block depend on, one bit a column, found with the public
/// interface alone: an encoder of one-byte symbols is a linear map, so 64 blocks tell rows apart.
struct Columns {
    encoders: Vec<SourceBlockEncoder>,
}

impl Columns {
    fn new(k: u32, blocks: usize) -> Self {
        let plan = ours::plan(k);
        let mut random = Random::new(k.into());
        let encoders = (0..blocks).map(|_| ours::encoder(&plan, &random.bytes(k as usize), 1)).collect();
        Self { encoders }
    }

    /// Symbol `esi` of every block: equal vectors belong to equal rows, sums to sums.
    fn signature(&self, esi: u32) -> Vec<u8> {
        self.encoders.iter().map(|encoder| ours::symbol(encoder, 1, esi)[0]).collect()
    }
}

fn add(encoder: &SourceBlockEncoder, decoder: &mut SourceBlockDecoder, esi: u32) -> Added {
    decoder.add_symbol(esi, &ours::symbol(encoder, decoder.symbol_size(), esi)).unwrap()
}

/// All the repair symbols that a decoder keeps come first, then source symbols, and only then is a decode tried.
#[test]
fn source_symbols_that_come_after_enough_repair_symbols_do_no_harm() {
    for (k, size) in [(10, 100), (300, 65), (56_403, 1)] {
        let plan = ours::plan(k);
        let block = Random::new(k.into()).bytes(k as usize * size);
        let encoder = ours::encoder(&plan, &block, size);
        for lost in [1, k / 2, k - k / 8] {
            let mut decoder = ours::decoder(&plan, k, size);
            let kept = (k..=MAX_ESI).position(|esi| add(&encoder, &mut decoder, esi) == Added::Redundant);
            assert!(kept >= Some(k as usize));
            for esi in lost..k {
                assert_eq!(add(&encoder, &mut decoder, esi), Added::New);
            }
            assert!(decoder.try_decode().unwrap() == block, "K = {k}, {lost} lost");
        }
    }
}

/// A block of which the first symbols add nothing to each other: the decoder says how many more it needs, takes so
/// many, and then decodes.
#[test]
fn a_decoder_takes_all_the_symbols_it_asks_for() {
    let (k, size) = (40, 3);
    let columns = Columns::new(k, 64);
    let plan = ours::plan(k);
    let block = Random::new(1).bytes(k as usize * size);
    let encoder = ours::encoder(&plan, &block, size);
    // Symbols with equal rows: of 40 and more columns, pairs of low degree repeat among so many ids.
    let mut rows = std::collections::BTreeMap::<Vec<u8>, Vec<u32>>::new();
    for esi in k..200_000 {
        rows.entry(columns.signature(esi)).or_default().push(esi);
    }
    let mut groups: Vec<Vec<u32>> = rows.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut decoder = ours::decoder(&plan, k, size);
    let mut kept = 0;
    for esi in groups.into_iter().flatten() {
        kept += u32::from(add(&encoder, &mut decoder, esi) == Added::New);
        if kept == k {
            break;
        }
    }
    let Err(NotYet { more, .. }) = decoder.try_decode() else { panic!("these symbols repeat each other") };
    assert!(more > 8, "{more} more needed: the ids are not bad enough for this test");
    assert_eq!(decoder.symbols_missing(), more);
    assert!(!decoder.may_decode());
    assert!(matches!(decoder.try_decode(), Err(NotYet { more: still, .. }) if still == more));
    let mut missing = more;
    let mut esi = MAX_ESI;
    while missing > 0 {
        assert_eq!(add(&encoder, &mut decoder, esi), Added::New, "{missing} more were asked for");
        missing -= 1;
        assert_eq!(decoder.symbols_missing(), missing);
        esi -= 1;
    }
    while decoder.try_decode().is_err() {
        add(&encoder, &mut decoder, esi);
        esi -= 1;
        assert!(MAX_ESI - esi < more + 8, "{more} random symbols were to suffice");
    }
    assert!(decoder.try_decode().unwrap() == block);
}
