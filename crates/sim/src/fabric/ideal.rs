//! The completion time of a transfer that is alone on the idle fabric.

use anabranch_transport::{Duration, Rate};
use std::collections::BTreeMap;

/// What an ideal completion time depends on, besides the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdealPath {
    /// Rate and delay of the links on one shortest path.
    pub links: Vec<(Rate, Duration)>,
    /// How many such paths there are that share no link.
    pub disjoint: u32,
}

/// The ideal paths of many flows, each kept once: most flows of a fabric have one of a few.
#[derive(Clone, Debug, Default)]
pub struct IdealPaths {
    known: Vec<IdealPath>,
    numbers: BTreeMap<IdealPath, u32>,
}

impl IdealPaths {
    /// The number of a path.
    pub fn number(&mut self, path: IdealPath) -> u32 {
        *self.numbers.entry(path).or_insert_with_key(|path| {
            self.known.push(path.clone());
            (self.known.len() - 1) as u32
        })
    }

    /// The path with a number.
    pub fn get(&self, number: u32) -> &IdealPath {
        &self.known[number as usize]
    }
}

/// The packets of an object on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// How many.
    pub count: u64,
    /// Bytes on the wire of all but the last.
    pub full: u64,
    /// Bytes on the wire of the last.
    pub last: u64,
}

/// The time from the sender's first bit to the receiver's last, over store-and-forward links of these rates and delays,
/// when the sender sends at line rate and nobody else does.
///
/// Packets of equal size leave the j-th link of a tandem at `sum of transmission times + delays before + (n - 1) x the
/// slowest transmission so far`; the last packet, which may be shorter, follows the one before it link by link.
pub fn completion_time(path: &[(Rate, Duration)], packets: &Packets) -> Duration {
    let mut ahead = Duration::ZERO; // the last but one packet leaves this link
    let mut last = Duration::ZERO; // the last packet arrives at this link
    let (mut sum, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for &(rate, delay) in path {
        let full = rate.transmit_time(packets.full);
        sum = sum + full;
        slowest = slowest.max(full);
        if packets.count > 1 {
            ahead = sum + slowest * (packets.count - 2);
        }
        last = last.max(ahead) + rate.transmit_time(packets.last) + delay;
        sum = sum + delay;
    }
    last
}

/// The same when the packets are dealt in turn to `disjoint` paths like this one that share no link: 1 where hosts have
/// one link. 0 paths count as 1.
pub fn completion_time_over(disjoint: u32, path: &[(Rate, Duration)], packets: &Packets) -> Duration {
    let paths = u64::from(disjoint.max(1));
    let most = packets.count.div_ceil(paths);
    if paths == 1 || packets.count <= 1 {
        return completion_time(path, packets);
    }
    // The last packet of the object takes the path of the first ones; if others carry as many, its length does not matter.
    let full = |count| completion_time(path, &Packets { count, last: packets.full, ..*packets });
    if packets.count % paths == 1 {
        completion_time(path, &Packets { count: most, ..*packets }).max(full(most - 1))
    } else {
        full(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GBPS: Rate = Rate::from_gbps(1);
    const US: fn(u64) -> Duration = Duration::from_us;

    #[test]
    fn one_packet_is_stored_and_forwarded() {
        let path = [(GBPS, US(10)), (GBPS, US(10))];
        assert_eq!(completion_time(&path, &Packets { count: 1, full: 1500, last: 1500 }), US(2 * 22));
        assert_eq!(completion_time(&path, &Packets { count: 10, full: 1500, last: 1500 }), US(2 * 22 + 9 * 12));
    }

    #[test]
    fn several_paths_share_the_packets() {
        let path = [(GBPS, US(10)), (GBPS, US(10))];
        let packets = |count, last| Packets { count, full: 1500, last };
        let one_path = |count, last| completion_time(&path, &packets(count, last));
        for (paths, count, last, expected) in [
            (1, 9, 100, one_path(9, 100)),
            (0, 9, 100, one_path(9, 100)),
            (2, 1, 100, one_path(1, 100)),
            (2, 2, 100, one_path(1, 1500)),
            (2, 9, 100, one_path(5, 100)),
            (2, 10, 100, one_path(5, 1500)),
            (3, 9, 100, one_path(3, 1500)),
            (3, 10, 1500, one_path(4, 1500)),
            (5, 3, 100, one_path(1, 1500)),
        ] {
            assert_eq!(completion_time_over(paths, &path, &packets(count, last)), expected, "{count} over {paths}");
        }
    }

    proptest! {
        /// Against a packet-by-packet computation.
        #[test]
        fn agrees_with_following_every_packet(
            path in prop::collection::vec((1u64..40, 0u64..20), 1..6),
            count in 1u64..40,
            last in 64u64..=1500,
        ) {
            let path: Vec<_> = path.into_iter().map(|(g, d)| (Rate::from_gbps(g), US(d))).collect();
            let packets = Packets { count, full: 1500, last };
            let mut free = vec![Duration::ZERO; path.len()];
            let mut end = Duration::ZERO;
            for n in 0..count {
                let size = if n + 1 == count { last } else { 1500 };
                let mut at = Duration::ZERO;
                for (link, &(rate, delay)) in path.iter().enumerate() {
                    let left = at.max(free[link]) + rate.transmit_time(size);
                    free[link] = left;
                    at = left + delay;
                }
                end = at;
            }
            prop_assert_eq!(completion_time(&path, &packets), end);
        }
    }
}
