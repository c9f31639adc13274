//! Whatever the path does: everything arrives, exactly once, within the window, and both ends close.

use super::*;
use crate::Bytes;
use proptest::prelude::*;

/// A number below 1000 for the n-th packet: splitmix64.
fn dice(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % 1000
}

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_path_delivers_exactly_the_bytes(
        config in configs(),
        bytes in 0_u64..150_000,
        seed: u64,
        (loss, late, duplicate, marked) in (0_u64..300, 0_u64..200, 0_u64..100, 0_u64..300),
        lateness_us in 1_u64..400,
    ) {
        let pair = transfer(&config, bytes, move |n, _, _| {
            let roll = dice(seed, n);
            match () {
                () if roll < loss => if roll.is_multiple_of(8) { Fate::Trim } else { Fate::Drop },
                () if roll < loss + late => Fate::Late(Duration::from_us(1 + roll % lateness_us)),
                () if roll < loss + late + duplicate => Fate::Duplicate,
                () if roll < loss + late + duplicate + marked => Fate::Mark,
                () => Fate::Deliver,
            }
        });
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
