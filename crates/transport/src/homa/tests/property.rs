//! Whatever the channel does short of losing everything, the message arrives once and both ends close.

use super::*;
use crate::testing::poor::Poor;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_message_over_a_poor_channel_completes(
        message in 0..100 * PAYLOAD, window in 1..40_u64, blind in 1..40_u64, poor in Poor::all(100, Duration::from_ms(9)).up_to(),
    ) {
        let cfg = config(|c| {
            c.rtt_bytes = Bytes(window * PAYLOAD);
            c.unscheduled_bytes = Some(Bytes(blind * PAYLOAD));
            c.retries = 100_000;
        });
        let mut p = pair_with(&cfg, Some(message), poor.policy());
        finish(&mut p, message);
    }
}

proptest! {
    #[test]
    fn what_is_late_is_not_sent_again(packets in 1..200_u64, late in 0..128_u8, seed in any::<u64>()) {
        let poor = Poor { seed, late, latest: Duration::from_us(1023), ..Poor::GOOD };
        let mut p = pair(packets, poor.policy());
        finish(&mut p, packets * PAYLOAD);
        let (s, r) = stats(&p);
        prop_assert_eq!((s.data_sent, s.timeouts, r.timeouts), (packets, 0, 0));
    }
}
