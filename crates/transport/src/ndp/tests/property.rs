//! Whatever the channel does short of losing everything, the object arrives once and both ends close.

use super::*;
use crate::testing::poor::Poor;
use proptest::prelude::*;

fn transfer(object: u64, window: u32, return_to_sender: bool, poor: Poor) -> Pair<Connection> {
    let cfg = config(|cfg| (cfg.initial_window, cfg.return_to_sender) = (window, return_to_sender));
    let mut p = pair_with(&cfg, Some(object), DELAY, poor.policy());
    finish(&mut p, object);
    p
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_transfer_over_a_poor_channel_completes(
        object in 0u64..100 * PAYLOAD, window in 1u32..40, rts in any::<bool>(), poor in Poor::all(128, Duration::from_ms(5)).up_to(),
    ) {
        transfer(object, window, rts, poor);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn even_over_a_wretched_one(object in 0u64..30 * PAYLOAD, rts in any::<bool>(), poor in Poor::all(215, Duration::from_ms(5)).up_to()) {
        transfer(object, 12, rts, poor);
    }
}

proptest! {
    #[test]
    fn trimming_and_reordering_alone_need_no_timeout_and_resend_just_what_was_trimmed(
        packets in 1u64..200, trim in 0u8..128, late in 0u8..128, seed in any::<u64>(),
    ) {
        // Late by less than the timeouts.
        let latest = Duration::from_us(200);
        let p = transfer(packets * PAYLOAD, 12, false, Poor { seed, trim, late, latest, ..Poor::GOOD });
        let (s, r) = stats(&p);
        prop_assert_eq!((s.timeouts, r.timeouts), (0, 0));
        prop_assert_eq!((s.retransmitted, r.data_received), (r.trimmed_received, packets));
    }
}
