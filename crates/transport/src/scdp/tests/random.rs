//! Senders that draw their repair symbols independently (Polyraptor).

use super::codec::{SHORT, Shape, transfer_seeded};
use super::*;
use crate::scdp::Repair;
use crate::testing::poor::draw;

fn random(change: impl FnOnce(&mut ScdpConfig)) -> ScdpConfig {
    config(|c| {
        c.repair = Repair::Random;
        change(c);
    })
}

/// Blocks of 100 symbols; every `n`-th symbol is trimmed.
fn trimmed(cfg: &ScdpConfig, symbols: u64, seeds: [u64; 3], n: u64) -> Pair<Connection> {
    let mut nodes = vec![Connection::Receiver(Receiver::new(cfg, 3, 7))];
    nodes.extend((0..).zip(seeds).map(|(i, seed)| {
        Connection::Sender(Sender::many_to_one(cfg, Some(symbols * SYMBOL), i, 3).with_repair_seed(seed))
    }));
    let mut data = 0;
    pair_of(nodes, move |_, from, _| {
        data += u64::from(from != HUB);
        if from != HUB && data.is_multiple_of(n) { Fate::Trim } else { Fate::Deliver }
    })
}

#[test]
fn source_symbols_are_shared_out_and_repair_symbols_start_anywhere() {
    let mut p = trimmed(&random(|_| {}), 300, [1, 2, 3], 10);
    finish(&mut p);
    assert_disjoint(&p, 1..=3);
    for (lane, node) in (1..=3).enumerate() {
        let of_first: Vec<Symbol> = symbols(&p, node, HUB).into_iter().map(|s| s.1).filter(|s| s.block == 0).collect();
        let (source, repair): (Vec<Symbol>, Vec<Symbol>) = of_first.iter().partition(|s| s.esi < 100);
        assert!(source.iter().all(|s| s.esi as usize % 3 == lane && s.esi / 3 == s.index));
        let steps = repair.windows(2).map(|s| (s[1].esi - s[0].esi, s[1].index - s[0].index));
        assert!(repair.len() > 1 && steps.into_iter().all(|step| step == (1, 1)), "{repair:?}");
        assert!(repair[0].esi > 1000, "not from K on: {}", repair[0].esi);
    }
    let r = stats(&p, HUB);
    // Each of three blocks lost symbols, and needed two beyond K.
    assert_eq!((r.decoded_blocks, r.overhead_symbols, r.timeouts), (3, 6, 0));
}

#[test]
fn without_loss_it_is_all_the_same() {
    let mut p = trimmed(&random(|_| {}), 240, [1, 2, 3], u64::MAX);
    finish(&mut p);
    let r = stats(&p, HUB);
    assert_eq!((r.data_received, r.overhead_symbols, r.decoded_blocks), (240, 0, 0));
}

#[test]
fn a_repair_symbol_that_comes_twice_counts_once() {
    // The worst case: all three draw the same start.
    let mut p = trimmed(&random(|c| c.block_symbols = 1000), 300, [5, 5, 5], 10);
    finish(&mut p);
    let repair = |node| symbols(&p, node, HUB).into_iter().map(|s| s.1.esi).filter(|&esi| esi >= 300);
    let all: Vec<u32> = (1..=3).flat_map(repair).collect();
    let different: BTreeSet<u32> = all.iter().copied().collect();
    assert!(different.len() < all.len());
    let r = stats(&p, HUB);
    // K + 2 different symbols; duplicates were useless.
    assert!(r.overhead_symbols > 2 && r.data_received == 300 + r.overhead_symbols, "{r:?}");
    assert_eq!((r.decoded_blocks, r.timeouts), (1, 0));
}

#[test]
fn bytes_arrive_whatever_the_seeds_are() {
    let cfg = codec::short(|c| c.repair = Repair::Random);
    for seeds in [|i: u16| u64::from(i), |_| 9] {
        let lossy = |n: u64, _: usize, t: &Transmit<Header>| match draw(5, n) % 10 {
            0 if !t.control => Fate::Drop,
            1 if !t.control => Fate::Trim,
            _ => Fate::Deliver,
        };
        let p = transfer_seeded(&cfg, 1003 * SHORT - 3, Shape::ToOne(3), seeds, lossy);
        assert!(p.nodes[HUB].stats().decoded_blocks >= 8);
    }
}
