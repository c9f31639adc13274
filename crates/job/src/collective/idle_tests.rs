//! Collectives on an idle fabric: members send and receive at the same time.

use super::tests::{chunks, job, servers};
use super::{Algorithm, Collective};
use crate::idle::{Alone, times};
use crate::job::Action;
use crate::settings::Settings;
use anabranch_transport::{Bytes, Duration, Time};

/// Time of an empty message, and of a byte, in picoseconds.
const A: u64 = 2_000_000;
const B: u64 = 20;

/// When the last rank ends, where a message of `s` bytes takes `A + B s` and its hosts' links for `B s`.
fn takes(what: (Collective, Algorithm), n: u32, size: u64, shape: super::Shape) -> u64 {
    let (job, _) = job(what, n, size, shape);
    let settings = Settings { eager: Bytes(u64::MAX), ..Settings::default() };
    let cost = |message: u32, _| {
        let Action::Send { bytes, .. } = job.operations()[job.sends()[message as usize] as usize].action else {
            panic!("only what sends is sent")
        };
        Alone { wire: Duration(B * bytes.0), takes: Duration(A + B * bytes.0) }
    };
    let ranks = times(&job, settings, Time::ZERO, cost);
    ranks.iter().filter_map(|rank| rank.ended).max().unwrap_or(Time::ZERO).ps()
}

#[test]
fn rings_and_exchanges_take_their_closed_forms() {
    for n in [2_u32, 4, 8, 16, 64] {
        let (count, log) = (u64::from(n), u64::from(n.ilog2()));
        let size = 1024 * count;
        let step = |parts: u64| A + B * size / parts;
        let ring = (Collective::AllReduce, Algorithm::Ring);
        assert_eq!(takes(ring, n, size, chunks(1)), 2 * (count - 1) * step(count));
        let doubling = (Collective::AllReduce, Algorithm::RecursiveDoubling);
        assert_eq!(takes(doubling, n, size, chunks(1)), log * step(1));
        // All at once: the links are full from the first byte on, and the last one takes as long as the first.
        let linear = (Collective::AllToAll, Algorithm::Linear);
        assert_eq!(takes(linear, n, size, chunks(1)), A + (count - 1) * (B * size / count));
        let hierarchical = (Collective::AllReduce, Algorithm::Hierarchical);
        assert_eq!(takes(hierarchical, n, size, servers(n)), 2 * (count - 1) * step(count));
    }
}

/// Two trees bring a broadcast of many chunks to `S / B` and an all-reduce to twice that, but for the way through the trees: the fact for
/// which they were invented (Sanders, Speck, Traff 2009). A binomial tree takes `log n` times as long.
#[test]
fn two_trees_use_the_whole_link() {
    for n in [5_u32, 8, 32, 33, 64] {
        let size = 1 << 31;
        let bound = size * B;
        let broadcast = takes((Collective::Broadcast, Algorithm::DoubleTree), n, size, chunks(256));
        assert!(broadcast >= bound && broadcast < bound * 115 / 100, "{n}: {broadcast} of {bound}");
        let sum = takes((Collective::AllReduce, Algorithm::DoubleTree), n, size, chunks(256));
        assert!(sum >= bound && sum < 2 * bound * 130 / 100, "{n}: {sum} of {}", 2 * bound);
    }
}

#[test]
fn of_several_receivers_each_has_its_own_link() {
    let what = (Collective::Broadcast, Algorithm::OneToMany);
    assert_eq!(takes(what, 9, 1000, chunks(1)), A + B * 1000);
}
