//! Whatever the path does: everything arrives, exactly once, within the window, and both ends close.

use super::*;
use crate::Bytes;
use crate::testing::poor::Poor;
use proptest::prelude::*;

fn configs() -> impl Strategy<Value = TcpConfig> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let rto_min = prop::sample::select(vec![Duration::from_us(10), Duration::from_ms(1), Duration::from_ms(200)]);
    let switches = prop::array::uniform5(any::<bool>());
    (algorithm, rto_min, switches, 1_u32..40, 1460_u64..200_000).prop_map(
        |(congestion, rto_min, [sack, ecn, delayed_ack, limited_transmit, handshake], initial_window, window)| {
            TcpConfig {
                congestion,
                rto_min,
                sack,
                ecn,
                delayed_ack,
                limited_transmit,
                handshake,
                initial_window,
                receive_window: Bytes(window),
                delayed_ack_timeout: Duration::from_ms(1),
                rto_initial: Duration::from_ms(10),
                rto_max: Duration::from_secs(1),
                retries: 200,
                ..TcpConfig::default()
            }
        },
    )
}

const WORST: Poor = Poor {
    lose: 70,
    lose_back: 70,
    trim: 10,
    late: 50,
    twice: 25,
    mark: 75,
    latest: Duration::from_us(400),
    ..Poor::GOOD
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_path_delivers_exactly_the_bytes(
        config in configs(),
        bytes in 0_u64..150_000,
        poor in WORST.up_to(),
    ) {
        let pair = transfer(&config, bytes, poor.policy());
        assert_delivered(&pair, bytes);
        let window = config.receive_window.0;
        let mut acked = 0;
        for (_, from, _, packet, _) in &pair.log {
            let header = &packet.header;
            if *from == RECEIVER {
                acked = acked.max(header.ack);
            } else {
                let end = header.seq + u64::from(header.len);
                prop_assert!(end <= acked + window && end <= bytes);
            }
        }
    }
}
