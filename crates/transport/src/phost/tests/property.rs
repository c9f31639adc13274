//! Whatever the channel does short of losing everything, the flow arrives once and both ends close.

use super::*;
use crate::testing::poor::Poor;
use proptest::prelude::*;

const WORST: Poor = Poor {
    lose: 100,
    lose_back: 100,
    trim: 100,
    give_back: 100,
    late: 100,
    twice: 100,
    latest: Duration::from_ms(9),
    ..Poor::GOOD
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_flow_over_a_poor_channel_completes(
        flow in 0..100 * PAYLOAD, window in 1..40_u32, free in 0..40_u32, poor in WORST.up_to(),
    ) {
        let cfg = config(|c| {
            (c.window, c.free_tokens) = (window, Some(free));
            c.retries = 100_000;
        });
        let mut p = pair_with(&cfg, Some(flow), poor.policy());
        finish(&mut p, flow);
    }
}
