//! Whatever the channel does short of losing everything, the object arrives once and both ends close.

use super::*;
use proptest::prelude::*;

/// What a channel does, in packets of 256.
#[derive(Clone, Copy, Debug)]
struct Channel {
    seed: u64,
    lose_data: u8,
    lose_control: u8,
    trim: u8,
    back: u8,
    late: u8,
    twice: u8,
    latest: Duration,
}

/// A well-mixed function of its arguments (splitmix64).
fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Channel {
    fn fate(&self, n: u64, from: usize) -> Fate {
        let z = mix(self.seed, n);
        let dice = |shift: u32| (z >> shift) as u8;
        if from == SENDER {
            if dice(0) < self.lose_data {
                return Fate::Drop;
            }
            if dice(8) < self.trim {
                return Fate::Trim;
            }
            if dice(16) < self.back {
                return Fate::Return;
            }
        } else if dice(0) < self.lose_control {
            return Fate::Drop;
        }
        if dice(24) < self.late {
            return Fate::Late(Duration(mix(z, 0) % (self.latest.0 + 1)));
        }
        if dice(32) < self.twice { Fate::Duplicate } else { Fate::Deliver }
    }
}

fn channel(worst: u8) -> impl Strategy<Value = Channel> {
    let share = || prop_oneof![Just(0), 0..=worst];
    (any::<u64>(), share(), share(), share(), share(), share(), share(), 0u64..5_000).prop_map(
        |(seed, lose_data, lose_control, trim, back, late, twice, latest)| Channel {
            seed,
            lose_data,
            lose_control,
            trim,
            back,
            late,
            twice,
            latest: Duration::from_us(latest),
        },
    )
}

fn transfer(object: u64, window: u32, return_to_sender: bool, c: Channel) -> Pair<Connection> {
    let cfg = config(|cfg| (cfg.initial_window, cfg.return_to_sender) = (window, return_to_sender));
    let mut p = pair_with(&cfg, Some(object), DELAY, move |n, from, _| c.fate(n, from));
    finish(&mut p, object);
    p
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_transfer_over_a_poor_channel_completes(
        object in 0u64..100 * PAYLOAD, window in 1u32..40, rts in any::<bool>(), c in channel(128),
    ) {
        transfer(object, window, rts, c);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn even_over_a_wretched_one(object in 0u64..30 * PAYLOAD, rts in any::<bool>(), c in channel(215)) {
        transfer(object, 12, rts, c);
    }
}

proptest! {
    #[test]
    fn trimming_and_reordering_alone_need_no_timeout_and_resend_just_what_was_trimmed(
        packets in 1u64..200, trim in 0u8..128, late in 0u8..128, seed in any::<u64>(),
    ) {
        // Late by less than the timeouts.
        let latest = Duration::from_us(200);
        let c = Channel { seed, lose_data: 0, lose_control: 0, trim, back: 0, late, twice: 0, latest };
        let p = transfer(packets * PAYLOAD, 12, false, c);
        let (s, r) = stats(&p);
        prop_assert_eq!((s.timeouts, r.timeouts), (0, 0));
        prop_assert_eq!((s.retransmitted, r.data_received), (r.trimmed_received, packets));
    }
}
