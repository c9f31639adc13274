//! Whatever the channel does short of losing everything, the object arrives once and both ends close.

use super::*;
use crate::testing::poor::Poor;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_object_over_a_poor_channel_completes(
        object in 0..100 * PAYLOAD, window in 1..40_u32, which in 0..4_usize, poor in Poor::all(100, Duration::from_ms(9)).up_to(),
    ) {
        let cfg = UecConfig { initial_window: Some(window), retries: 100_000, ..config(ALL[which]) };
        let mut p = pair_with(&cfg, Some(object), poor.policy());
        finish(&mut p, object);
    }

    /// Without loss nothing is sent twice but what was trimmed, and the receiver gives no more credit than is used.
    #[test]
    fn what_is_only_trimmed_needs_no_timeout_and_no_credit_too_many(
        packets in 1..200_u64, window in 1..40_u32, which in 0..4_usize, seed in any::<u64>(), trim in 0..200_u8,
    ) {
        let cfg = UecConfig { initial_window: Some(window), ..config(ALL[which]) };
        let mut p = pair_with(&cfg, Some(packets * PAYLOAD), Poor { seed, trim, ..Poor::GOOD }.policy());
        finish(&mut p, packets * PAYLOAD);
        let (s, r) = stats(&p);
        prop_assert_eq!(s.data_sent, packets + r.trimmed_received);
        prop_assert_eq!(s.timeouts, 0);
        // EQDS gives a window ahead while nobody wants any, the others one packet to go on with.
        let ahead = if ALL[which] == Control::Eqds { u64::from(window) } else { 1 };
        prop_assert!(pulls(&p) as u64 <= s.data_sent + requests(&p) as u64 + ahead);
    }
}
