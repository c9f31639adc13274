//! What a bad link does to frames: loss, one by one or in bursts, reordering, duplication, corruption.
//!
//! Each of these draws from a stream of its own that depends on the seed, the port's name and the purpose alone: what one of them does
//! stays the same when another is turned on.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use crate::counters::LinkCounters;
use crate::frame::ETHERNET;
use crate::probability::Probability;

/// Loss in bursts: a link that is good or bad, and changes at random from frame to frame (Gilbert, Bell System Technical Journal 39, 1960;
/// Elliott, ibid. 42, 1963). A bad spell has 1/`leave` frames on average, and `enter` / (`enter` + `leave`) of all frames are in one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability that a good link is bad at the next frame.
    pub enter: Probability,
    /// Probability that a bad link is good at the next frame.
    pub leave: Probability,
    /// Loss while it is bad.
    #[serde(default = "always")]
    pub loss: Probability,
}

fn always() -> Probability {
    Probability::ALWAYS
}

/// How often each of them happens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Odds {
    pub(crate) loss: Probability,
    pub(crate) burst_loss: Option<BurstLoss>,
    pub(crate) reorder: Probability,
    pub(crate) duplicate: Probability,
    pub(crate) corrupt: Probability,
}

/// What becomes of a frame that is not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) twice: bool,
    pub(crate) late: bool,
}

/// A link, as bad as it is told to be.
#[derive(Clone, Debug)]
pub(crate) struct Impair {
    odds: Odds,
    is_bad: bool,
    loss: Xoshiro256PlusPlus,
    burst: Xoshiro256PlusPlus,
    reorder: Xoshiro256PlusPlus,
    duplicate: Xoshiro256PlusPlus,
    corrupt: Xoshiro256PlusPlus,
}

impl Impair {
    pub(crate) fn new(odds: Odds, seed: u64, port: &str) -> Self {
        let stream = |purpose| stream(seed, purpose, port);
        Self {
            odds,
            is_bad: false,
            loss: stream("loss"),
            burst: stream("burst loss"),
            reorder: stream("reorder"),
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
        }
    }

    /// What becomes of a frame, which may be changed; none if it is lost.
    pub(crate) fn judge(&mut self, frame: &mut [u8], counters: &mut LinkCounters) -> Option<Fate> {
        // Both are asked, so that the bursts do not depend on the other losses.
        let (in_burst, alone) = (self.loses_in_burst(), self.odds.loss.happens(&mut self.loss));
        if in_burst || alone {
            counters.lost_packets += 1;
            counters.lost_bytes += frame.len() as u64;
            return None;
        }
        if self.odds.corrupt.happens(&mut self.corrupt) && frame.len() > ETHERNET {
            // Behind the addresses: a receiver has to find it by a checksum of its own.
            let bits = (frame.len() - ETHERNET) as u64 * 8;
            let bit = ((u128::from(self.corrupt.next_u64()) * u128::from(bits)) >> 64) as usize;
            frame[ETHERNET + bit / 8] ^= 1 << (bit % 8);
            counters.corrupted_packets += 1;
        }
        let twice = self.odds.duplicate.happens(&mut self.duplicate);
        counters.duplicated_packets += u64::from(twice);
        counters.duplicated_bytes += if twice { frame.len() as u64 } else { 0 };
        let late = self.odds.reorder.happens(&mut self.reorder);
        counters.reordered_packets += u64::from(late);
        Some(Fate { twice, late })
    }

    fn loses_in_burst(&mut self) -> bool {
        let Some(burst) = self.odds.burst_loss else { return false };
        let change = if self.is_bad { burst.leave } else { burst.enter };
        self.is_bad ^= change.happens(&mut self.burst);
        self.is_bad && burst.loss.happens(&mut self.burst)
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
    fn fates(odds: Odds, seed: u64, port: &str, frames: usize) -> (Vec<Option<Fate>>, LinkCounters) {
        let (mut impair, mut counters) = (Impair::new(odds, seed, port), LinkCounters::default());
        ((0..frames).map(|_| impair.judge(&mut [0; 100], &mut counters)).collect(), counters)
    }

    #[test]
    fn a_good_link_does_nothing() {
        let (fates, counters) = fates(Odds::default(), 1, "a", 1000);
        assert!(fates.iter().all(|fate| *fate == Some(Fate { twice: false, late: false })));
        assert_eq!(counters, LinkCounters::default());
    }

    #[test]
    fn the_seed_and_the_port_decide_and_nothing_else() {
        let lossy = Odds { loss: percent("10%"), ..Odds::default() };
        let lost = |odds, seed, port| fates(odds, seed, port, 1000).0.iter().map(Option::is_none).collect::<Vec<_>>();
        let once = lost(lossy, 1, "a");
        assert_eq!(once, lost(lossy, 1, "a"));
        assert_ne!(once, lost(lossy, 2, "a"));
        assert_ne!(once, lost(lossy, 1, "b"));
        let more = Odds { duplicate: percent("20%"), reorder: percent("5%"), corrupt: percent("1%"), ..lossy };
        assert_eq!(once, lost(more, 1, "a"), "losses are the same on a link that is bad in other ways, too");
    }

    #[test]
    fn bursts_are_as_long_and_as_many_as_they_should() {
        let burst = BurstLoss { enter: percent("1%"), leave: percent("20%"), loss: Probability::ALWAYS };
        let (fates, counters) = fates(Odds { burst_loss: Some(burst), ..Odds::default() }, 1, "a", 200_000);
        let bursts = fates.windows(2).filter(|pair| pair[0].is_some() && pair[1].is_none()).count() as f64;
        let lost = counters.lost_packets as f64;
        // Means 5 frames a burst and a share of 1/21; about 1900 bursts make the standard errors 0.1 and 0.0012.
        assert!((lost / bursts - 5.0).abs() < 0.5, "{lost} in {bursts}");
        assert!((lost / 200_000.0 - 1.0 / 21.0).abs() < 0.006, "{lost}");
    }

    #[test]
    fn one_bit_is_changed_behind_the_addresses() {
        let mut impair = Impair::new(Odds { corrupt: Probability::ALWAYS, ..Odds::default() }, 1, "a");
        let mut counters = LinkCounters::default();
        for _ in 0..1000 {
            let mut frame = [0; 20];
            assert!(impair.judge(&mut frame, &mut counters).is_some());
            assert_eq!(frame.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
            assert!(frame[..ETHERNET].iter().all(|byte| *byte == 0));
        }
        assert!(impair.judge(&mut [0; 14], &mut counters).is_some());
        assert_eq!(counters.corrupted_packets, 1000);
    }

    #[test]
    fn copies_and_latecomers_are_counted() {
        let odds = Odds { duplicate: percent("50%"), reorder: percent("50%"), ..Odds::default() };
        let (fates, counters) = fates(odds, 3, "a", 1000);
        let count = |f: fn(&Fate) -> bool| fates.iter().flatten().filter(|fate| f(fate)).count() as u64;
        assert_eq!(counters.duplicated_packets, count(|fate| fate.twice));
        assert_eq!(counters.duplicated_bytes, 100 * counters.duplicated_packets);
        assert_eq!(counters.reordered_packets, count(|fate| fate.late));
        assert!((400..600).contains(&counters.duplicated_packets) && (400..600).contains(&counters.reordered_packets));
    }
}
