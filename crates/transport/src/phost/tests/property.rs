//! Whatever the channel does short of losing everything, the flow arrives once and both ends close.

use super::*;
use crate::testing::poor::Poor;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_flow_over_a_poor_channel_completes(
        flow in 0..100 * PAYLOAD, window in 1..40_u32, free in 0..40_u32, poor in Poor::all(100, Duration::from_ms(9)).up_to(),
    ) {
        let cfg = config(|c| {
            (c.window, c.free_tokens) = (window, Some(free));
            c.retries = 100_000;
        });
        let mut p = pair_with(&cfg, Some(flow), poor.policy());
        finish(&mut p, flow);
    }
}
