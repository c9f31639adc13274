//! Whatever the channel does short of losing everything, every receiver reassembles the object and every end closes.

use super::codec::{SHORT, Shape, short, transfer};
use super::*;
use crate::scdp::Repair;
use crate::testing::poor::Poor;
use proptest::prelude::*;

/// Loses up to 30 %, and trims, delays and repeats up to half of the packets.
const WORST: Poor =
    Poor { lose: 77, lose_back: 77, trim: 128, late: 128, twice: 128, latest: Duration::from_ms(5), ..Poor::GOOD };

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::OneTo(1)), (2u16..5).prop_map(Shape::OneTo), (1u16..6).prop_map(Shape::ToOne)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_session_over_a_poor_channel_completes(
        bytes in 1u64..300 * SHORT, shape in shape(), window in 1u32..40, block in 1u32..=128, tolerance in 0u32..40,
        random in any::<bool>(), per_pull in 1u32..12, poor in WORST.up_to(),
    ) {
        let cfg = short(|cfg| {
            (cfg.initial_window, cfg.initial_window_many_to_one) = (window, window);
            (cfg.block_symbols, cfg.reorder_tolerance) = (block, tolerance);
            cfg.symbols_per_pull = (per_pull > 1).then_some(per_pull);
            cfg.repair = if random { Repair::Random } else { Repair::Partitioned };
        });
        transfer(&cfg, bytes, shape, poor.policy());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn trimming_alone_needs_no_timeout(
        bytes in 1u64..300 * SHORT, senders in 1u16..5, trim in 0u8..128, seed in any::<u64>(),
    ) {
        let poor = Poor { seed, trim, ..Poor::GOOD };
        for shape in [Shape::OneTo(1), Shape::ToOne(senders)] {
            let p = transfer(&short(|_| {}), bytes, shape, poor.policy());
            prop_assert_eq!(p.nodes.iter().map(|n| n.stats().timeouts).sum::<u64>(), 0);
        }
    }

    /// Whole, trimmed, early or late: as long as no end repeats anything, the symbols of several senders are disjoint.
    #[test]
    fn several_senders_never_send_the_same_symbol(
        bytes in 1u64..300 * SHORT, senders in 1u16..6, window in 1u32..40, block in 1u32..=128, tolerance in 0u32..40,
        trim in 0u8..128, late in 0u8..128, latest in 0u64..400, seed in any::<u64>(),
    ) {
        let cfg = short(|cfg| {
            cfg.initial_window_many_to_one = window;
            (cfg.block_symbols, cfg.reorder_tolerance) = (block, tolerance);
        });
        let poor = Poor { seed, trim, late, latest: Duration::from_us(latest), ..Poor::GOOD };
        let p = transfer(&cfg, bytes, Shape::ToOne(senders), poor.policy());
        // A symbol of a block too far ahead of a late one is not kept.
        prop_assume!(p.nodes.iter().all(|n| n.stats().timeouts == 0));
        let mut whole = 0;
        let mut seen = BTreeSet::new();
        for (_, from, _, transmit, fate) in &p.log {
            if let Header::Symbol(symbol) = transmit.header {
                prop_assert!(seen.insert((symbol.block, symbol.esi)), "{symbol:?} again, by node {from}");
                whole += u64::from(*fate != Fate::Trim);
            }
        }
        prop_assert_eq!(p.nodes[HUB].stats().data_received, whole);
    }

    #[test]
    fn a_clean_channel_carries_each_symbol_once(bytes in 1u64..500 * SHORT, shape in shape(), window in 1u32..40) {
        let cfg = short(|c| (c.initial_window, c.initial_window_many_to_one) = (window, window));
        let p = transfer(&cfg, bytes, shape, |_, _, _| Fate::Deliver);
        let sent = p.nodes.iter().map(|n| n.stats().data_sent).sum::<u64>();
        if matches!(shape, Shape::OneTo(_)) {
            prop_assert_eq!(sent, bytes.div_ceil(SHORT));
        } else {
            // A random code over GF(2) wants a few symbols more where one sender ran out of source symbols first.
            let symbols = bytes.div_ceil(SHORT);
            prop_assert!(sent <= symbols + 16 * symbols.div_ceil(100), "{sent} of {symbols}");
        }
        prop_assert_eq!(p.nodes.iter().map(|n| n.stats().timeouts).sum::<u64>(), 0);
    }
}

#[test]
fn a_group_over_a_channel_that_loses_trims_and_repeats_does_not_wait_itself_to_death() {
    let cfg = short(|cfg| {
        (cfg.initial_window, cfg.block_symbols, cfg.reorder_tolerance) = (1, 69, 3);
        cfg.repair = Repair::Random;
    });
    let seed = 4_924_934_943_292_282_440;
    let poor = Poor { seed, lose: 50, lose_back: 50, trim: 37, twice: 117, ..Poor::GOOD };
    transfer(&cfg, 1633, Shape::OneTo(3), poor.policy());
}
