//! All routes to lost symbols, with all kernels: what the tests of the public interface cannot choose.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::attempts::Ordinary;
use super::coefficients::RepairCoefficients;
use super::recover::Route;
use super::{Added, EncodingPlan, NotYet, SourceBlockDecoder, SourceBlockEncoder};
use crate::kernels::{Kernels, Level};
use crate::rfc::tables::SYSTEMATIC;
use crate::solve::Deficit;

/// Numbers without pattern (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A block, and some of its symbols: all but `lost` of the source symbols, and `repairs` repair symbols.
fn arrivals(plan: &Arc<EncodingPlan>, k: u32, size: usize, lost: u32, repairs: u32) -> (Vec<u8>, Vec<(u32, Vec<u8>)>) {
    let mut numbers = Numbers(u64::from(k) << 32 | u64::from(lost));
    let block: Vec<u8> = (0..k as usize * size).map(|_| numbers.next() as u8).collect();
    let mut encoder = SourceBlockEncoder::new(Arc::clone(plan), k, size).unwrap();
    encoder.load(&block).unwrap();
    let mut esis: Vec<u32> = (0..k).collect();
    for _ in 0..lost {
        esis.swap_remove(numbers.below(esis.len() as u64) as usize);
    }
    esis.extend((0..repairs).map(|i| k + i * 3 + (numbers.below(3)) as u32));
    let symbols = esis.into_iter().map(|esi| {
        let mut symbol = alloc::vec![0; size];
        encoder.encode_into(esi, &mut symbol).unwrap();
        (esi, symbol)
    });
    let symbols = symbols.collect();
    (block, symbols)
}

fn fill(decoder: &mut SourceBlockDecoder, symbols: &[(u32, Vec<u8>)]) {
    decoder.clear();
    for (esi, symbol) in symbols {
        decoder.add_symbol(*esi, symbol).unwrap();
    }
}

#[test]
fn every_route_with_every_level_recovers_the_block() {
    // Miri is slow: a small block by every route, with symbols that end within a lane.
    let sizes: &[u32] = if cfg!(miri) { &[10] } else { &[1, 2, 9, 10, 50, 101, 257, 1000] };
    let symbol_sizes: &[usize] = if cfg!(miri) { &[65] } else { &[1, 65, 1500] };
    for &k in sizes {
        let plan = Arc::new(EncodingPlan::generate(k).unwrap());
        for &size in symbol_sizes {
            if k == 1000 && size == 1500 {
                continue;
            }
            let losses = if cfg!(miri) { &[1, k][..] } else { &[1, 5, k / 10, k / 3, k] };
            for &lost in losses {
                let lost = lost.clamp(1, k);
                let (block, symbols) = arrivals(&plan, k, size, lost, lost + 2);
                for level in Level::available() {
                    let decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, size).unwrap();
                    let mut decoder = decoder.with_level(level).unwrap();
                    for route in [Route::Solve, Route::Plan, Route::Dense] {
                        decoder.force(route);
                        fill(&mut decoder, &symbols);
                        assert!(
                            decoder.try_decode().unwrap() == block,
                            "{level}, {route:?}: K = {k}, T = {size}, {lost} lost"
                        );
                    }
                }
            }
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn threads_make_the_same_bytes() {
    let (sizes, symbol_sizes): (&[u32], &[usize]) =
        if cfg!(miri) { (&[10], &[300]) } else { (&[1, 10, 101, 800], &[1, 65, 300, 1500]) };
    for (&k, &size) in sizes.iter().flat_map(|k| symbol_sizes.iter().map(move |size| (k, size))) {
        let plan = Arc::new(EncodingPlan::generate(k).unwrap());
        let (block, symbols) = arrivals(&plan, k, size, k.div_ceil(3), k.div_ceil(3) + 3);
        let counts: &[usize] = if cfg!(miri) { &[2] } else { &[2, 3, 7] };
        for threads in counts.iter().map(|&threads| core::num::NonZeroUsize::new(threads).unwrap()) {
            let encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
            let mut encoder = encoder.with_threads(threads);
            let decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, size).unwrap();
            let mut decoder = decoder.with_threads(threads);
            // What a run before left must not matter.
            for _ in 0..if cfg!(miri) { 1 } else { 2 } {
                encoder.load(&block).unwrap();
                let mut symbol = alloc::vec![0; size];
                for (esi, expected) in &symbols {
                    encoder.encode_into(*esi, &mut symbol).unwrap();
                    assert!(symbol == *expected, "K = {k}, T = {size}, ESI {esi}, {threads} threads");
                }
                for route in [Route::Solve, Route::Plan, Route::Dense] {
                    decoder.force(route);
                    fill(&mut decoder, &symbols);
                    assert!(
                        decoder.try_decode().unwrap() == block,
                        "{route:?}: K = {k}, T = {size}, {threads} threads"
                    );
                }
            }
        }
    }
}

/// The repair symbols from `20 + 20 * FAILS` on are the first 20 that do not determine a block of 20 symbols.
const FAILS: u32 = 46;

#[test]
fn all_routes_agree_on_what_is_missing() {
    // Without a symbol more than K about one block in 170 cannot be decoded.
    let k = 20;
    let plan = Arc::new(EncodingPlan::generate(k).unwrap());
    let mut decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, 1).unwrap();
    let mut failures = 0;
    let trials = if cfg!(miri) { FAILS..FAILS + 1 } else { 0..3000 };
    for first in trials {
        let symbols: Vec<(u32, Vec<u8>)> = (0..k).map(|i| (k + first * k + i, alloc::vec![0])).collect();
        let results = [Route::Solve, Route::Plan, Route::Dense].map(|route| {
            decoder.force(route);
            fill(&mut decoder, &symbols);
            decoder.try_decode().map(|_| ())
        });
        assert!(results.iter().all(|result| *result == results[0]), "{results:?} from {first}");
        failures += u32::from(results[0].is_err());
    }
    assert!((1..100).contains(&failures), "{failures} failed");
}

#[test]
fn a_failed_decode_goes_on_with_one_symbol_more() {
    let (k, size) = (20, 30);
    let plan = Arc::new(EncodingPlan::generate(k).unwrap());
    let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
    let block: Vec<u8> = (0..k as usize * size).map(|i| i as u8).collect();
    encoder.load(&block).unwrap();
    let mut decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, size).unwrap();
    let mut resumed = 0;
    // The routes themselves are run under Miri by the tests above.
    let routes = if cfg!(miri) { &[Route::Solve][..] } else { &[Route::Solve, Route::Plan, Route::Dense] };
    for &route in routes {
        decoder.force(route);
        for first in if cfg!(miri) { FAILS..FAILS + 1 } else { 0..1000 } {
            decoder.clear();
            let mut symbol = [0; 30];
            let mut ids = k + first * k..;
            let mut add = |decoder: &mut SourceBlockDecoder| {
                let esi = ids.next().unwrap();
                encoder.encode_into(esi, &mut symbol).unwrap();
                decoder.add_symbol(esi, &symbol).unwrap();
            };
            (0..k).for_each(|_| add(&mut decoder));
            while let Err(missing) = decoder.try_decode() {
                assert!(missing.more > 0);
                add(&mut decoder);
                resumed += 1;
            }
            assert!(decoder.try_decode().unwrap() == block);
        }
    }
    assert!(resumed > 0);
}

/// Ids of repair symbols that hardly depend on source symbol 0: `count` of those whose coefficient there is 0.
fn blind_to_the_first(plan: &EncodingPlan, k: u32, count: usize) -> Vec<u32> {
    let mut ids = Vec::new();
    for first in (k..).step_by(64) {
        let mut coefficients = RepairCoefficients::default();
        let padding = plan.extended_symbols() - k;
        coefficients.find(Kernels::best(), plan, k, (0..64).map(|i| first + padding + i));
        let line = coefficients.line(0)[0].0;
        ids.extend((first..).zip(line).filter(|(_, coefficient)| *coefficient == 0).map(|(esi, _)| esi));
        if ids.len() >= count {
            ids.truncate(count);
            return ids;
        }
    }
    ids
}

#[test]
#[cfg_attr(miri, ignore = "many symbols")]
fn repair_symbols_that_say_nothing_of_what_is_lost_are_no_reason_to_look_at_all_others() {
    let (k, size) = (600, 5);
    let plan = Arc::new(EncodingPlan::generate(k).unwrap());
    let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
    let block: Vec<u8> = (0..k as usize * size).map(|i| (i * 7) as u8).collect();
    encoder.load(&block).unwrap();
    let mut decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, size).unwrap();
    let mut symbol = alloc::vec![0; size];
    let useless = blind_to_the_first(&plan, k, k as usize);
    for route in [Route::Solve, Route::Plan, Route::Dense] {
        decoder.force(route);
        decoder.clear();
        for esi in useless.iter().copied().chain(1..k) {
            encoder.encode_into(esi, &mut symbol).unwrap();
            assert_eq!(decoder.add_symbol(esi, &symbol), Ok(Added::New));
        }
        // More than 512 of them are not even looked at.
        let Err(NotYet { more }) = decoder.try_decode() else { panic!("{route:?}: nothing tells symbol 0") };
        assert!(more >= Deficit::UNKNOWN.symbols, "{route:?}: {more}");
        assert_eq!((decoder.symbols_missing(), decoder.may_decode()), (more, false), "{route:?}");
        assert_eq!(decoder.source_symbol(1), Some(&block[size..2 * size]), "{route:?}: nothing is lost by trying");
        // The lost symbol itself is always welcome.
        assert_eq!(decoder.add_symbol(0, &block[..size]), Ok(Added::New));
        assert!(decoder.try_decode().unwrap() == block, "{route:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "many decodes")]
fn a_decoder_does_not_grow_without_bound_on_symbols_that_never_suffice() {
    let (k, size) = (20, 3);
    let plan = Arc::new(EncodingPlan::generate(k).unwrap());
    let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
    let block: Vec<u8> = (0..k as usize * size).map(|i| (i * 5) as u8).collect();
    encoder.load(&block).unwrap();
    let mut decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, size).unwrap();
    let mut symbol = alloc::vec![0; size];
    for esi in blind_to_the_first(&plan, k, 200) {
        encoder.encode_into(esi, &mut symbol).unwrap();
        decoder.add_symbol(esi, &symbol).unwrap();
        assert!(decoder.try_decode().is_err());
    }
    assert_eq!(decoder.symbols_received(), 2 * k as usize + 8);
    assert_eq!(decoder.add_symbol(1 << 23, &symbol), Ok(Added::Redundant));
    assert_eq!(decoder.add_symbol(0, &block[..size]), Ok(Added::New));
    // That would do, but the budget of attempts asks for a few more.
    let more = decoder.try_decode().err().map_or(0, |not_yet| not_yet.more);
    assert!(more < 4, "{more} more");
    for (esi, symbol) in (1..=more).zip(block[size..].chunks(size)) {
        assert_eq!(decoder.add_symbol(esi, symbol), Ok(Added::New));
    }
    assert!(decoder.try_decode().unwrap() == block);
}

/// Every K' has a plan: its rows are independent, as §5.3.3.4.2 promises, and the limits of the solver are far away.
#[test]
#[cfg_attr(miri, ignore = "hours of work there")]
fn every_class_has_a_plan() {
    for (k_prime, ..) in SYSTEMATIC {
        let plan = EncodingPlan::generate(k_prime).unwrap();
        assert_eq!(plan.extended_symbols(), k_prime);
        assert!(plan.program().inactive.len() < 600, "K' = {k_prime}: {} inactive", plan.program().inactive.len());
    }
}

#[test]
#[cfg_attr(miri, ignore = "many symbols")]
fn ordinary_losses_take_about_the_work_of_an_ordinary_decode() {
    for k in [1, 10, 30, 100, 300, 1000, 5000, 20_000, 56_403] {
        let plan = Arc::new(EncodingPlan::generate(k).unwrap());
        let mut decoder = SourceBlockDecoder::new(Arc::clone(&plan), k, 1).unwrap();
        let mut worst = 0.0f64;
        for lost in [1, k / 100, k / 20, k / 10, k / 5, k / 3, k / 2, k] {
            let lost = lost.clamp(1, k);
            let (_, symbols) = arrivals(&plan, k, 1, lost, lost + 4);
            fill(&mut decoder, &symbols);
            decoder.try_decode().unwrap();
            worst = worst.max(decoder.work() as f64 / Ordinary::of(&decoder.shape).decode() as f64);
        }
        assert!((0.5..2.5).contains(&worst), "K = {k}: {worst:.2} times the work of an ordinary decode");
    }
}

#[cfg(feature = "std")]
#[test]
fn the_work_of_a_plan_is_estimated_before_it_is_made() {
    let step = if cfg!(miri) { 300 } else { 12 };
    for &(k_prime, ..) in SYSTEMATIC.iter().step_by(step) {
        let plan = EncodingPlan::outline(k_prime).unwrap();
        let (search, run) = plan.ordinary();
        plan.program();
        let (exact_search, exact_run) = plan.ordinary();
        for (exact, estimate) in [(exact_search, search), (exact_run, run)] {
            let ratio = exact as f64 / estimate as f64;
            assert!((0.7..1.7).contains(&ratio), "K' = {k_prime}: {exact} where {estimate} was expected");
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn the_first_block_of_a_plan_does_without_its_program() {
    // As few losses as a plan serves best.
    let (k, size) = (500, 64);
    let plan = Arc::new(EncodingPlan::generate(k).unwrap());
    let (block, symbols) = arrivals(&plan, k, size, 10, 12);
    let outline = Arc::new(EncodingPlan::outline(k).unwrap());
    let before = outline.bytes();
    let mut grown = Vec::new();
    for _ in 0..3 {
        let mut decoder = SourceBlockDecoder::new(Arc::clone(&outline), k, size).unwrap();
        fill(&mut decoder, &symbols);
        assert!(decoder.try_decode().unwrap() == block);
        grown.push(outline.bytes() > before);
    }
    assert_eq!(grown, [false, true, true]);
    // A block of which nothing is lost has no use for it.
    let outline = Arc::new(EncodingPlan::outline(k).unwrap());
    let (block, symbols) = arrivals(&plan, k, size, 0, 0);
    for _ in 0..3 {
        let mut decoder = SourceBlockDecoder::new(Arc::clone(&outline), k, size).unwrap();
        fill(&mut decoder, &symbols);
        assert!(decoder.try_decode().unwrap() == block);
    }
    assert_eq!(outline.bytes(), before);
}
