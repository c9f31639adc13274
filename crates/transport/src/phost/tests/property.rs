//! Whatever the channel does short of losing everything, the flow arrives once and both ends close.

use super::*;
use proptest::prelude::*;

/// A well-mixed function of its arguments (splitmix64).
fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How many of 256 packets are lost, trimmed, sent back, late and doubled.
type Channel = [u8; 5];

fn fate(channel: Channel, seed: u64, n: u64, from: usize) -> Fate {
    let z = mix(seed, n);
    let hits = |place: usize| ((z >> (8 * place)) as u8) < channel[place];
    match () {
        () if hits(0) => Fate::Drop,
        () if hits(1) && from == SENDER => Fate::Trim,
        () if hits(2) && from == SENDER => Fate::Return,
        () if hits(3) => Fate::Late(Duration::from_us(mix(z, 0) % 9_000)),
        () if hits(4) => Fate::Duplicate,
        () => Fate::Deliver,
    }
}

fn channel(worst: u8) -> impl Strategy<Value = Channel> {
    let share = || prop_oneof![Just(0), 0..=worst];
    (share(), share(), share(), share(), share()).prop_map(|(a, b, c, d, e)| [a, b, c, d, e])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_flow_over_a_poor_channel_completes(
        flow in 0..100 * PAYLOAD, window in 1..40_u32, free in 0..40_u32, seed in any::<u64>(), channel in channel(100),
    ) {
        let cfg = config(|c| {
            (c.window, c.free_tokens) = (window, Some(free));
            c.retries = 100_000;
        });
        let mut p = pair_with(&cfg, Some(flow), move |n, from, _| fate(channel, seed, n, from));
        finish(&mut p, flow);
    }
}
