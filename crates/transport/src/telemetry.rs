//! In-band telemetry (INT): what switches write into a data packet when they send it on, for congestion controls that go by the state of
//! each link (HPCC: Li et al., SIGCOMM 2019).
//!
//! The fields have the widths and the units of its authors' simulator (`int-header.h`): 24 bits of nanoseconds and 20 bits of 128 B, which wrap,
//! and a queue in units of 80 B. The rate of the link has 12 bits here, three significant digits up to 255, instead of a number for each of five rates.

use crate::units::{Bytes, Duration, Rate};
use std::fmt;

/// The most switches that a packet has room for.
pub const MAX_HOPS: usize = 5;
const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 16;
const SENT_UNIT: u64 = 128;
/// Nanoseconds after which a time comes back.
const ROUND: u64 = 1 << TIME_BITS;
const QUEUE_UNIT: u64 = 80;
/// Digits of a rate that are kept, in 8 bits.
const MANTISSA: u64 = 255;
/// Of a packet that has come by more switches than it has room for.
const TOO_MANY: u8 = u8::MAX;

/// The rate of a link in 12 bits: digits, up to 255, and a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateCode(u16);

impl RateCode {
    /// That of a rate: exact up to three digits that make 255 at most, otherwise rounded to within 2 %.
    pub fn of(rate: Rate) -> Self {
        let (mut digits, mut power) = (rate.bps().min(MANTISSA * 10_u64.pow(15)), 0);
        while digits > MANTISSA {
            digits = digits / 10 + u64::from(digits % 10 >= 5);
            power += 1;
        }
        Self(power << 8 | digits as u16)
    }

    /// The rate.
    pub fn rate(self) -> Rate {
        Rate(u64::from(self.0 & 0xff).saturating_mul(10_u64.saturating_pow(u32::from(self.0 >> 8))))
    }
}

/// One link, when it began to send a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The rate of the link.
    pub rate: RateCode,
    /// When, in nanoseconds modulo 2^24.
    time: u32,
    /// Bytes that it had sent before, in units of 128 B modulo 2^20.
    sent: u32,
    /// Bytes that waited behind the packet, rounded down to a multiple of 80 B, 5.2 MB at most.
    pub queue: Bytes,
}

impl Hop {
    /// Of a link of this rate that has sent `sent` bytes by `ps`, in picoseconds, and where `queue` bytes wait.
    pub fn new(rate: RateCode, ps: u64, sent: u64, queue: u64) -> Self {
        let queue = (queue / QUEUE_UNIT).min((1 << QUEUE_BITS) - 1) * QUEUE_UNIT;
        Self {
            rate,
            time: (ps / 1000) as u32 & ((1 << TIME_BITS) - 1),
            sent: (sent / SENT_UNIT) as u32 & ((1 << SENT_BITS) - 1),
            queue: Bytes(queue),
        }
    }

    /// What the link has sent since an earlier packet, and in which time, which is about as long as `elapsed`: it may be longer than what
    /// the field can say, so that it comes round. So do the bytes, of which nothing tells how often.
    pub fn since(&self, earlier: &Self, elapsed: Duration) -> (Bytes, Duration) {
        let sent = self.sent.wrapping_sub(earlier.sent) & ((1 << SENT_BITS) - 1);
        let time = u64::from(self.time.wrapping_sub(earlier.time) & ((1 << TIME_BITS) - 1));
        let rounds = (elapsed.ps() / 1000).saturating_sub(time).saturating_add(ROUND / 2) / ROUND;
        (Bytes(u64::from(sent) * SENT_UNIT), Duration::from_ns(time + rounds * ROUND))
    }

    fn packed(self) -> [u8; 9] {
        let queue = self.queue.0 / QUEUE_UNIT;
        let rest = u64::from(self.time) | u64::from(self.sent) << TIME_BITS | queue << (TIME_BITS + SENT_BITS);
        let bits = u128::from(rest) | u128::from(self.rate.0) << (TIME_BITS + SENT_BITS + QUEUE_BITS);
        let mut packed = [0; 9];
        packed.copy_from_slice(&bits.to_le_bytes()[..9]);
        packed
    }

    fn of(packed: [u8; 9]) -> Self {
        let mut bytes = [0; 16];
        bytes[..9].copy_from_slice(&packed);
        let bits = u128::from_le_bytes(bytes);
        let field = |shift: u32, width: u32| (bits >> shift) as u32 & ((1 << width) - 1);
        Self {
            time: field(0, TIME_BITS),
            sent: field(TIME_BITS, SENT_BITS),
            queue: Bytes(u64::from(field(TIME_BITS + SENT_BITS, QUEUE_BITS)) * QUEUE_UNIT),
            rate: RateCode(field(TIME_BITS + SENT_BITS + QUEUE_BITS, 12) as u16),
        }
    }
}

/// What switches have written into a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Telemetry {
    hops: [[u8; 9]; MAX_HOPS],
    count: u8,
    /// Which links, as a sum of their numbers.
    path: u8,
}

impl Telemetry {
    /// Of a packet that has come by no switch.
    pub const EMPTY: Self = Self { hops: [[0; 9]; MAX_HOPS], count: 0, path: 0 };
    const OVERFULL: Self = Self { count: TOO_MANY, ..Self::EMPTY };

    /// A switch sends the packet by a port of this number.
    pub fn push(&mut self, port: u32, hop: Hop) {
        let Some(place) = self.hops.get_mut(usize::from(self.count)) else {
            *self = Self::OVERFULL;
            return;
        };
        *place = hop.packed();
        self.count += 1;
        self.path = self.path.wrapping_add((port.wrapping_mul(0x9e37_79b1) >> 24) as u8);
    }

    /// What has been written since.
    pub fn append(&mut self, later: &Self) {
        let before = usize::from(self.count);
        let count = before + usize::from(later.count);
        let Some(places) = self.hops.get_mut(before..count) else {
            *self = Self::OVERFULL;
            return;
        };
        places.copy_from_slice(&later.hops[..usize::from(later.count)]);
        self.count = count as u8;
        self.path = self.path.wrapping_add(later.path);
    }

    /// Each link on the way, the first one first; `None` if there were more than there is room for.
    pub fn hops(&self) -> Option<impl ExactSizeIterator<Item = Hop> + '_> {
        Some(self.hops.get(..usize::from(self.count))?.iter().map(|&packed| Hop::of(packed)))
    }

    /// Whether it has come by no switch.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether another packet came by the same links, as far as 8 bits can tell.
    pub fn has_same_path(&self, other: &Self) -> bool {
        (self.count, self.path) == (other.count, other.path)
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hops() {
            Some(hops) => f.debug_list().entries(hops).finish(),
            None => f.write_str("more than there is room for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_rates_are_exact_and_others_close() {
        for mbps in [1, 10, 100, 1000, 2500, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000] {
            let rate = Rate::from_mbps(mbps);
            assert_eq!(RateCode::of(rate).rate(), rate);
        }
        for bps in [1, 255, 256, 1234, 9_876_543_210, 1 << 57] {
            let found = RateCode::of(Rate(bps)).rate().bps() as f64;
            assert!((found / bps as f64 - 1.0).abs() < 0.021, "{bps} {found}");
        }
    }

    #[test]
    fn differences_survive_that_fields_wrap() {
        let rate = RateCode::of(Rate::from_gbps(100));
        let earlier = Hop::new(rate, ((1 << 24) - 10) * 1000, ((1 << 20) - 2) * 128, 79);
        let later = Hop::new(rate, ((1 << 24) + 90) * 1000 + 999, ((1 << 20) + 3) * 128 + 127, 160);
        let since = |elapsed_ns| later.since(&earlier, Duration::from_ns(elapsed_ns));
        assert_eq!(since(100), (Bytes(5 * 128), Duration::from_ns(100)));
        // The clock decides how often the time came round, and need not be exact.
        for (elapsed, rounds) in [(0, 0), (ROUND / 2, 0), (ROUND / 2 + 200, 1), (ROUND, 1), (7 * ROUND + 1_000_000, 7)]
        {
            assert_eq!(since(elapsed).1, Duration::from_ns(100 + rounds * ROUND), "{elapsed}");
        }
        assert_eq!((earlier.queue, later.queue), (Bytes(0), Bytes(160)));
        assert_eq!(Hop::new(rate, 0, 0, u64::MAX).queue, Bytes(65_535 * 80));
    }

    #[test]
    fn a_sixth_switch_is_one_too_many() {
        let hop = |n| Hop::new(RateCode::of(Rate::from_gbps(n)), n, n, n);
        let mut telemetry = Telemetry::EMPTY;
        assert!(telemetry.is_empty());
        for n in 1..=5_u32 {
            telemetry.push(n, hop(u64::from(n)));
        }
        let rates: Vec<u64> =
            telemetry.hops().expect("five").map(|hop| hop.rate.rate().bps() / 1_000_000_000).collect();
        assert_eq!(rates, [1, 2, 3, 4, 5]);
        telemetry.push(6, hop(6));
        assert!(telemetry.hops().is_none() && !telemetry.is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bps: u64, ps: u64, sent: u64, queue: u64) {
            let hop = Hop::new(RateCode::of(Rate(bps)), ps, sent, queue);
            prop_assert_eq!(Hop::of(hop.packed()), hop);
        }

        /// In pieces as at once.
        #[test]
        fn pieces_make_the_whole(ports in prop::collection::vec(any::<u32>(), 0..8), cut in 0..8_usize) {
            let mut all = Telemetry::EMPTY;
            let mut pieces = [Telemetry::EMPTY; 2];
            for (n, &port) in ports.iter().enumerate() {
                let hop = Hop::new(RateCode::of(Rate(u64::from(port))), u64::from(port), u64::from(port), 0);
                all.push(port, hop);
                pieces[usize::from(n >= cut)].push(port, hop);
            }
            let [mut first, second] = pieces;
            first.append(&second);
            prop_assert_eq!(first, all);
            prop_assert!(first.has_same_path(&all));
        }
    }
}
