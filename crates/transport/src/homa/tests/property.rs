//! Whatever the channel does short of losing everything, the message arrives once and both ends close.

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
    fn every_message_over_a_poor_channel_completes(
        message in 0..100 * PAYLOAD, window in 1..40_u64, blind in 1..40_u64, seed in any::<u64>(), channel in channel(100),
    ) {
        let cfg = config(|c| {
            c.rtt_bytes = Bytes(window * PAYLOAD);
            c.unscheduled_bytes = Some(Bytes(blind * PAYLOAD));
            c.retries = 100_000;
        });
        let mut p = pair_with(&cfg, Some(message), move |n, from, _| fate(channel, seed, n, from));
        finish(&mut p, message);
    }
}

proptest! {
    #[test]
    fn what_is_late_is_not_sent_again(packets in 1..200_u64, late in 0..128_u8, seed in any::<u64>()) {
        let policy = move |n: u64, _: usize, _: &Transmit<Header>| {
            let z = mix(seed, n);
            if (z as u8) < late { Fate::Late(Duration::from_us(z >> 8 & 1023)) } else { Fate::Deliver }
        };
        let mut p = pair(packets, policy);
        finish(&mut p, packets * PAYLOAD);
        let (s, r) = stats(&p);
        prop_assert_eq!((s.data_sent, s.timeouts, r.timeouts), (packets, 0, 0));
    }
}
