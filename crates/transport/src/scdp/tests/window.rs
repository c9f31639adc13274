//! Receivers that find their own windows.

use super::codec::{SHORT, Shape, short, transfer};
use super::*;
use crate::scdp::WindowControl;
use crate::testing::poor::{Poor, draw};
use proptest::prelude::*;

fn bbr(change: impl FnOnce(&mut ScdpConfig)) -> ScdpConfig {
    config(|c| {
        c.window_control = WindowControl::Bbr;
        change(c);
    })
}

/// A path of a millisecond and 1 Gbps, which holds 168 packets.
const FAR: Duration = Duration::from_ms(1);
const PRODUCT: u64 = 168;

fn far(
    nodes: Vec<Connection>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    // Pulls may leave faster than the link carries what they ask for: the window alone holds them back.
    Pair::new(nodes, FAR, 1, PACKET / 4, policy)
}

fn far_unicast(
    config: &ScdpConfig,
    symbols: u64,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let sender = Connection::Sender(Sender::unicast(config, Some(symbols * SYMBOL)));
    far(vec![sender, Connection::Receiver(Receiver::new(config, 1, 3))], policy)
}

/// Loses one packet in `one_in`, at random.
fn lossy(one_in: u64, seed: u64) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static {
    move |n, from, _| if from == HUB && draw(seed, n).is_multiple_of(one_in) { Fate::Drop } else { Fate::Deliver }
}

/// The most symbols that were in flight at once: requested or pushed, and not yet arrived.
fn most_on_their_way(pair: &Pair<Connection>, from: usize) -> usize {
    let pulled = pair.log.iter().filter(|e| e.1 != from);
    let asked = pulled.filter(|e| matches!(e.3.header, Header::Pull(p) if !p.done)).map(|e| (e.0, 1_i64));
    let mut busy = Time::ZERO;
    let mut arrived = Vec::new();
    for sent in pair.log.iter().filter(|e| e.1 == from) {
        busy = busy.max(sent.0) + PACKET;
        arrived.push((busy + FAR, -1));
    }
    let mut all: Vec<(Time, i64)> = asked.chain(arrived).collect();
    all.sort_by_key(|&(at, change)| (at, change));
    let initial = 12;
    let counts = all.iter().scan(initial, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0) as usize
}

#[test]
fn the_window_grows_to_what_the_path_holds_and_not_beyond_its_bounds() {
    let mut p = far_unicast(&bbr(|_| {}), 40_000, deliver);
    finish(&mut p);
    // Four doublings, and a little.
    assert!(completed(&p, 1) < PACKET * 40_000 + FAR * 14, "{}", completed(&p, 1));
    let most = most_on_their_way(&p, HUB) as u64;
    assert!((2 * PRODUCT..3 * PRODUCT).contains(&most), "{most}");
    let mut p = far_unicast(&bbr(|c| c.window_limit = 50), 4_000, deliver);
    finish(&mut p);
    assert!(most_on_their_way(&p, HUB) <= 50);
    // As in the papers, the window is twelve.
    let mut p = far_unicast(&config(|_| {}), 4_000, deliver);
    finish(&mut p);
    assert!(most_on_their_way(&p, HUB) <= 12);
}

#[test]
fn one_symbol_in_a_hundred_lost_by_lot_costs_less_than_a_tenth() {
    let symbols = 60_000;
    for seed in 0..3 {
        let mut clean = far_unicast(&bbr(|_| {}), symbols, deliver);
        let mut p = far_unicast(&bbr(|_| {}), symbols, lossy(100, seed));
        finish(&mut clean);
        finish(&mut p);
        let cost = completed(&p, 1).as_secs_f64() / completed(&clean, 1).as_secs_f64() - 1.0;
        println!("seed {seed}: 1 % lost by lot costs {:.1} %", cost * 100.0);
        // About three symbols more for each block of a hundred: the one that was lost, and the overhead.
        assert!((0.01..0.1).contains(&cost), "{cost}");
    }
}

#[test]
fn each_end_of_a_group_finds_its_window() {
    let cfg = bbr(|_| {});
    let symbols = 20_000;
    let mut nodes = vec![Connection::Sender(Sender::one_to_many(&cfg, Some(symbols * SYMBOL), 3))];
    nodes.extend((0..3).map(|i| Connection::Receiver(Receiver::new(&cfg, 1, i))));
    // The pulls of one take four times as long, and another one loses symbols.
    let mut copies = 0_u64;
    let mut p = far(nodes, move |_, from, _| {
        copies += u64::from(from == HUB);
        match from {
            2 => Fate::Late(FAR * 3),
            HUB if copies % 3 == 2 && draw(5, copies).is_multiple_of(100) => Fate::Drop,
            _ => Fate::Deliver,
        }
    });
    finish(&mut p);
    let slowest = (1..=3).map(|n| completed(&p, n)).max().expect("three");
    assert!(slowest < PACKET * symbols * 120 / 100 + FAR * 60, "{slowest}");
}

#[test]
fn symbols_are_ecn_capable_if_asked() {
    for ecn in [false, true] {
        let mut p = far_unicast(&bbr(|c| c.ecn = ecn), 1000, |_, _, _| Fate::Mark);
        finish(&mut p);
        assert!(p.log.iter().all(|e| e.3.ect == (ecn && !e.3.control)));
        assert_eq!(stats(&p, 1).marked_received, if ecn { 1000 } else { 0 });
    }
}

#[test]
fn whoever_marks_everything_gets_the_least() {
    let mut marked = far_unicast(&bbr(|c| c.ecn = true), 3_000, |_, _, _| Fate::Mark);
    finish(&mut marked);
    let mut p = far_unicast(&bbr(|c| c.ecn = true), 3_000, deliver);
    finish(&mut p);
    assert!(completed(&marked, 1) > completed(&p, 1) * 3);
    assert_eq!(stats(&marked, 1).timeouts, 0);
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::OneTo(1)), (2u16..5).prop_map(Shape::OneTo), (1u16..6).prop_map(Shape::ToOne)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the channel does short of losing everything: the bytes arrive, and the bookkeeping of windows that grow and shrink
    /// holds after every step.
    #[test]
    fn every_session_over_a_poor_channel_completes(
        bytes in 1u64..600 * SHORT, shape in shape(), window in 1u32..40, limit in 4u32..200, block in 1u32..=128,
        tolerance in 0u32..40, seed in any::<u64>(), lose in 0u8..60, trim in 0u8..60, late in 0u8..60, mark in 0u8..60,
    ) {
        let cfg = short(|c| {
            (c.window_control, c.window_limit, c.ecn) = (WindowControl::Bbr, limit, true);
            (c.initial_window, c.initial_window_many_to_one) = (window, window);
            (c.block_symbols, c.reorder_tolerance) = (block, tolerance);
        });
        let latest = Duration::from_ms(3);
        let poor = Poor { seed, lose, lose_back: lose, trim, late, mark, latest, ..Poor::GOOD };
        transfer(&cfg, bytes, shape, poor.policy());
    }
}
