//! Whatever the channel does short of losing everything, the object arrives once and both ends close.

use super::*;
use crate::random::mix;
use proptest::prelude::*;

/// How many of 256 packets are lost, trimmed, marked, late and doubled.
type Channel = [u8; 5];

fn fate(channel: Channel, seed: u64, n: u64, from: usize) -> Fate {
    assert!(n < 100_000, "it does not end");
    let z = mix(seed ^ mix(n.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    let hits = |place: usize| ((z >> (8 * place)) as u8) < channel[place];
    match () {
        () if hits(0) => Fate::Drop,
        () if hits(1) && from == SENDER => Fate::Trim,
        () if hits(2) && from == SENDER => Fate::Mark,
        () if hits(3) => Fate::Late(Duration::from_us(mix(z) % 9_000)),
        () if hits(4) => Fate::Duplicate,
        () => Fate::Deliver,
    }
}

fn channel(worst: u8) -> impl Strategy<Value = Channel> {
    let share = || prop_oneof![Just(0), 0..=worst];
    (share(), share(), share(), share(), share()).prop_map(|(a, b, c, d, e)| [a, b, c, d, e])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_object_over_a_poor_channel_completes(
        object in 0..100 * PAYLOAD, window in 1..40_u32, which in 0..4_usize, seed in any::<u64>(), channel in channel(100),
    ) {
        let cfg = UecConfig { initial_window: Some(window), retries: 100_000, ..config(ALL[which]) };
        let mut p = pair_with(&cfg, Some(object), move |n, from, _| fate(channel, seed, n, from));
        finish(&mut p, object);
    }

    /// Without loss nothing is sent twice but what was trimmed, and the receiver gives no more credit than is used.
    #[test]
    fn what_is_only_trimmed_needs_no_timeout_and_no_credit_too_many(
        packets in 1..200_u64, window in 1..40_u32, which in 0..4_usize, seed in any::<u64>(), trimmed in 0..200_u8,
    ) {
        let cfg = UecConfig { initial_window: Some(window), ..config(ALL[which]) };
        let mut p = pair_with(&cfg, Some(packets * PAYLOAD), move |n, from, _| fate([0, trimmed, 0, 0, 0], seed, n, from));
        finish(&mut p, packets * PAYLOAD);
        let (s, r) = stats(&p);
        prop_assert_eq!(s.data_sent, packets + r.trimmed_received);
        prop_assert_eq!(s.timeouts, 0);
        // EQDS gives a window ahead while nobody wants any, the others one packet to go on with.
        let ahead = if ALL[which] == Control::Eqds { u64::from(window) } else { 1 };
        prop_assert!(pulls(&p) as u64 <= s.data_sent + requests(&p) as u64 + ahead);
    }
}
