//! Impairments of a link: loss, one by one or in bursts, reordering, duplication, corruption.
//!
//! Each of these draws from a stream of its own that depends on the seed, the port's name and the purpose alone: what one of them does
//! is the same when another is turned on.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use crate::counters::LinkCounters;
use crate::frame::ETHERNET;
use crate::probability::Probability;

/// Loss in bursts: a link has a good and a bad state, and changes between them at random from frame to frame (Gilbert, Bell System Technical Journal 39, 1960;
/// Elliott, ibid. 42, 1963). The bad state lasts 1/`leave` frames on average, and `enter` / (`enter` + `leave`) of all frames are in it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability of the change from the good to the bad state, at each frame.
    pub enter: Probability,
    /// Probability of the change from the bad to the good state, at each frame.
    pub leave: Probability,
    /// Probability of loss in the bad state.
    #[serde(default = "always")]
    pub loss: Probability,
}

fn always() -> Probability {
    Probability::ALWAYS
}

/// The probability of each impairment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Impairments {
    pub(crate) loss: Probability,
    pub(crate) burst_loss: Option<BurstLoss>,
    pub(crate) reorder: Probability,
    pub(crate) duplicate: Probability,
    pub(crate) corrupt: Probability,
}

/// How a frame that is not lost is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) duplicated: bool,
    pub(crate) reordered: bool,
}

/// The impairments of a link and their random streams.
#[derive(Clone, Debug)]
pub(crate) struct ImpairmentProcess {
    impairments: Impairments,
    in_bad_state: bool,
    loss: Xoshiro256PlusPlus,
    burst: Xoshiro256PlusPlus,
    reorder: Xoshiro256PlusPlus,
    duplicate: Xoshiro256PlusPlus,
    corrupt: Xoshiro256PlusPlus,
}

impl ImpairmentProcess {
    pub(crate) fn new(impairments: Impairments, seed: u64, port: &str) -> Self {
        let stream = |purpose| stream(seed, purpose, port);
        Self {
            impairments,
            in_bad_state: false,
            loss: stream("loss"),
            burst: stream("burst loss"),
            reorder: stream("reorder"),
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
        }
    }

    /// How a frame is delivered, in which a bit may be changed; none if it is lost.
    pub(crate) fn apply(&mut self, frame: &mut [u8], counters: &mut LinkCounters) -> Option<Delivery> {
        // Both are sampled, so that the bursts do not depend on the other losses.
        let (in_burst, alone) = (self.loses_in_burst(), self.impairments.loss.sample(&mut self.loss));
        if in_burst || alone {
            counters.lost_packets += 1;
            counters.lost_bytes += frame.len() as u64;
            return None;
        }
        if self.impairments.corrupt.sample(&mut self.corrupt) && frame.len() > ETHERNET {
            // Behind the addresses: a receiver has to find it by a checksum of its own.
            let bits = (frame.len() - ETHERNET) as u64 * 8;
            let bit = ((u128::from(self.corrupt.next_u64()) * u128::from(bits)) >> 64) as usize;
            frame[ETHERNET + bit / 8] ^= 1 << (bit % 8);
            counters.corrupted_packets += 1;
        }
        let duplicated = self.impairments.duplicate.sample(&mut self.duplicate);
        counters.duplicated_packets += u64::from(duplicated);
        counters.duplicated_bytes += if duplicated { frame.len() as u64 } else { 0 };
        let reordered = self.impairments.reorder.sample(&mut self.reorder);
        counters.reordered_packets += u64::from(reordered);
        Some(Delivery { duplicated, reordered })
    }

    fn loses_in_burst(&mut self) -> bool {
        let Some(burst) = self.impairments.burst_loss else { return false };
        let change = if self.in_bad_state { burst.leave } else { burst.enter };
        self.in_bad_state ^= change.sample(&mut self.burst);
        self.in_bad_state && burst.loss.sample(&mut self.burst)
    }
}

/// The stream of a purpose at a port. As in the simulator (FNV-1a over the names), so that it depends on nothing else.
fn stream(seed: u64, purpose: &str, port: &str) -> Xoshiro256PlusPlus {
    let names = purpose.bytes().chain([0]).chain(port.bytes());
    let name = names.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mixed = Xoshiro256PlusPlus::seed_from_u64(seed).next_u64() ^ name;
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(text: &str) -> Probability {
        text.parse().expect("a probability")
    }

    /// What becomes of so many frames, and the counts.
    fn deliveries(
        impairments: Impairments,
        seed: u64,
        port: &str,
        frames: usize,
    ) -> (Vec<Option<Delivery>>, LinkCounters) {
        let (mut impair, mut counters) = (ImpairmentProcess::new(impairments, seed, port), LinkCounters::default());
        ((0..frames).map(|_| impair.apply(&mut [0; 100], &mut counters)).collect(), counters)
    }

    #[test]
    fn a_good_link_does_nothing() {
        let (deliveries, counters) = deliveries(Impairments::default(), 1, "a", 1000);
        assert!(deliveries.iter().all(|delivery| *delivery == Some(Delivery { duplicated: false, reordered: false })));
        assert_eq!(counters, LinkCounters::default());
    }

    #[test]
    fn the_seed_and_the_port_decide_and_nothing_else() {
        let lossy = Impairments { loss: percent("10%"), ..Impairments::default() };
        let lost = |impairments, seed, port| {
            deliveries(impairments, seed, port, 1000).0.iter().map(Option::is_none).collect::<Vec<_>>()
        };
        let once = lost(lossy, 1, "a");
        assert_eq!(once, lost(lossy, 1, "a"));
        assert_ne!(once, lost(lossy, 2, "a"));
        assert_ne!(once, lost(lossy, 1, "b"));
        let more = Impairments { duplicate: percent("20%"), reorder: percent("5%"), corrupt: percent("1%"), ..lossy };
        assert_eq!(once, lost(more, 1, "a"), "losses are the same on a link that is bad in other ways, too");
    }

    #[test]
    fn bursts_are_as_long_and_as_many_as_they_should() {
        let burst = BurstLoss { enter: percent("1%"), leave: percent("20%"), loss: Probability::ALWAYS };
        let (deliveries, counters) =
            deliveries(Impairments { burst_loss: Some(burst), ..Impairments::default() }, 1, "a", 200_000);
        let bursts = deliveries.windows(2).filter(|pair| pair[0].is_some() && pair[1].is_none()).count() as f64;
        let lost = counters.lost_packets as f64;
        // Means 5 frames a burst and a share of 1/21; about 1900 bursts make the standard errors 0.1 and 0.0012.
        assert!((lost / bursts - 5.0).abs() < 0.5, "{lost} in {bursts}");
        assert!((lost / 200_000.0 - 1.0 / 21.0).abs() < 0.006, "{lost}");
    }

    #[test]
    fn one_bit_is_changed_behind_the_addresses() {
        let mut impair =
            ImpairmentProcess::new(Impairments { corrupt: Probability::ALWAYS, ..Impairments::default() }, 1, "a");
        let mut counters = LinkCounters::default();
        for _ in 0..1000 {
            let mut frame = [0; 20];
            assert!(impair.apply(&mut frame, &mut counters).is_some());
            assert_eq!(frame.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
            assert!(frame[..ETHERNET].iter().all(|byte| *byte == 0));
        }
        assert!(impair.apply(&mut [0; 14], &mut counters).is_some());
        assert_eq!(counters.corrupted_packets, 1000);
    }

    #[test]
    fn duplicates_and_reordered_frames_are_counted() {
        let impairments = Impairments { duplicate: percent("50%"), reorder: percent("50%"), ..Impairments::default() };
        let (deliveries, counters) = deliveries(impairments, 3, "a", 1000);
        let count =
            |f: fn(&Delivery) -> bool| deliveries.iter().flatten().filter(|delivery| f(delivery)).count() as u64;
        assert_eq!(counters.duplicated_packets, count(|delivery| delivery.duplicated));
        assert_eq!(counters.duplicated_bytes, 100 * counters.duplicated_packets);
        assert_eq!(counters.reordered_packets, count(|delivery| delivery.reordered));
        assert!((400..600).contains(&counters.duplicated_packets) && (400..600).contains(&counters.reordered_packets));
    }
}
