//! Whatever the channel does short of losing everything, every receiver reassembles the object and every end closes.

use super::codec::{SHORT, Shape, mix, short, transfer};
use super::*;
use crate::scdp::Repair;
use proptest::prelude::*;

/// What a channel does, in packets of 256.
#[derive(Clone, Copy, Debug)]
struct Channel {
    seed: u64,
    lose: u8,
    trim: u8,
    late: u8,
    twice: u8,
    latest: Duration,
}

impl Channel {
    fn fate(&self, n: u64) -> Fate {
        let z = mix(self.seed, n);
        let dice = |shift: u32| (z >> shift) as u8;
        if dice(0) < self.lose {
            return Fate::Drop;
        }
        if dice(8) < self.trim {
            return Fate::Trim;
        }
        if dice(24) < self.late {
            return Fate::Late(Duration(mix(z, 0) % (self.latest.0 + 1)));
        }
        if dice(32) < self.twice { Fate::Duplicate } else { Fate::Deliver }
    }
}

/// Loses up to 30 %, and trims, delays and repeats up to half of the packets.
fn channel() -> impl Strategy<Value = Channel> {
    let share = |worst: u8| prop_oneof![Just(0), 0..=worst];
    (any::<u64>(), share(77), share(128), share(128), share(128), 0u64..5_000).prop_map(
        |(seed, lose, trim, late, twice, latest)| Channel {
            seed,
            lose,
            trim,
            late,
            twice,
            latest: Duration::from_us(latest),
        },
    )
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::OneTo(1)), (2u16..5).prop_map(Shape::OneTo), (1u16..6).prop_map(Shape::ToOne)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_session_over_a_poor_channel_completes(
        bytes in 1u64..300 * SHORT, shape in shape(), window in 1u32..40, block in 1u32..=128, tolerance in 0u32..40,
        random in any::<bool>(), c in channel(),
    ) {
        let cfg = short(|cfg| {
            (cfg.initial_window, cfg.initial_window_many_to_one) = (window, window);
            (cfg.block_symbols, cfg.reorder_tolerance) = (block, tolerance);
            cfg.repair = if random { Repair::Random } else { Repair::Partitioned };
        });
        transfer(&cfg, bytes, shape, move |n, _, _| c.fate(n));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn trimming_alone_needs_no_timeout(
        bytes in 1u64..300 * SHORT, senders in 1u16..5, trim in 0u8..128, seed in any::<u64>(),
    ) {
        let c = Channel { seed, lose: 0, trim, late: 0, twice: 0, latest: Duration::ZERO };
        for shape in [Shape::OneTo(1), Shape::ToOne(senders)] {
            let p = transfer(&short(|_| {}), bytes, shape, move |n, _, _| c.fate(n));
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
        let c = Channel { seed, lose: 0, trim, late, twice: 0, latest: Duration::from_us(latest) };
        let p = transfer(&cfg, bytes, Shape::ToOne(senders), move |n, _, _| c.fate(n));
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
    let c = Channel { seed, lose: 50, trim: 37, late: 0, twice: 117, latest: Duration::ZERO };
    transfer(&cfg, 1633, Shape::OneTo(3), move |n, _, _| c.fate(n));
}
