//! Which paths packets take: by an entropy that switches hash, chosen by what acknowledgements said of those before.
//!
//! After uet-htsim's `uec_mp.cpp`: the *bitmap* of EQDS, which skips congested entropies for some rounds, and *REPS* (Bonato et al. 2024),
//! which uses again what an acknowledgement without a mark has proven good.

use super::config::Spraying;
use crate::random::Draw;
use std::collections::VecDeque;

/// Most rounds that an entropy is skipped for.
const MOST_SKIPS: u8 = 15;

/// What an answer says of the path that a packet took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Good,
    Marked,
    Trimmed,
}

/// The entropies of a sender.
#[derive(Clone, Debug)]
pub(super) struct Entropies {
    spraying: Spraying,
    /// How many there are; a power of two.
    count: u16,
    /// Position in the round, and by what its order differs from counting.
    index: u16,
    xor: u16,
    /// Rounds that each is skipped for, if any is.
    skips: Box<[u8]>,
    /// Most of these; 1 in EQDS.
    most_skips: u8,
    /// Proven good, the oldest first.
    proven: VecDeque<u16>,
    draw: Draw,
}

impl Entropies {
    pub(super) fn new(spraying: Spraying, count: u16, most_skips: u8, seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let xor = draw.below(u32::from(count)) as u16;
        let most_skips = most_skips.min(MOST_SKIPS);
        Self { spraying, count, index: 0, xor, skips: Box::default(), most_skips, proven: VecDeque::new(), draw }
    }

    /// That of the next packet, from 1: 0 is no entropy.
    pub(super) fn next(&mut self) -> u16 {
        1 + match self.spraying {
            Spraying::Oblivious => self.turn(),
            Spraying::Bitmap => self.turn_by_skips(),
            Spraying::Reps => {
                let proven = self.proven.pop_front();
                proven.unwrap_or_else(|| self.draw.below(u32::from(self.count)) as u16)
            }
            Spraying::Mixed => self.proven.pop_front().unwrap_or_else(|| self.turn_by_skips()),
        }
    }

    /// What has become of a packet with this one.
    pub(super) fn learn(&mut self, entropy: u16, path: Path) {
        let Some(place) = entropy.checked_sub(1).filter(|&place| place < self.count) else { return };
        let recycles = matches!(self.spraying, Spraying::Reps | Spraying::Mixed);
        if recycles && path == Path::Good && self.proven.len() < usize::from(self.count) {
            self.proven.push_back(place);
        }
        let rounds = match path {
            Path::Good => 0,
            Path::Marked => 1,
            Path::Trimmed => 4,
        };
        if rounds > 0 && matches!(self.spraying, Spraying::Bitmap | Spraying::Mixed) {
            if self.skips.is_empty() {
                self.skips = vec![0; usize::from(self.count)].into();
            }
            let skips = &mut self.skips[usize::from(place)];
            *skips = (*skips + rounds).min(self.most_skips);
        }
    }

    /// All of them in turn, each round in another order.
    fn turn(&mut self) -> u16 {
        let place = self.index ^ self.xor;
        self.index += 1;
        if self.index == self.count {
            self.index = 0;
            self.xor = self.draw.below(u32::from(self.count)) as u16;
        }
        place
    }

    /// The same, but those that are to be skipped; when all are, the one whose turn it is.
    fn turn_by_skips(&mut self) -> u16 {
        let mut place = self.turn();
        for nth in 0..self.skips.len() {
            let skips = &mut self.skips[usize::from(place)];
            if *skips == 0 {
                break;
            }
            // Ultra Ethernet forgets one round of one of them with each packet; EQDS, which has one round of each, all that it passes.
            *skips -= u8::from(nth == 0 || self.most_skips == 1);
            place = self.turn();
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn round(entropies: &mut Entropies, count: usize) -> BTreeSet<u16> {
        (0..count).map(|_| entropies.next()).collect()
    }

    #[test]
    fn a_round_has_each_once_and_none_is_zero() {
        let mut entropies = Entropies::new(Spraying::Oblivious, 16, 1, 7);
        entropies.learn(3, Path::Trimmed);
        for _ in 0..3 {
            assert_eq!(round(&mut entropies, 16), (1..=16).collect());
        }
    }

    #[test]
    fn a_congested_one_is_skipped_for_as_many_rounds_as_it_deserves() {
        // Where it stands in each round when nothing is congested.
        let mut others = Entropies::new(Spraying::Oblivious, 8, 1, 7);
        let places: Vec<usize> = (0..6).map(|_| (0..8).filter(|_| others.next() == 5).count()).collect();
        assert_eq!(places, [1; 6]);
        let first = |most, path| {
            let mut entropies = Entropies::new(Spraying::Bitmap, 8, most, 7);
            entropies.learn(5, path);
            (0..100).position(|_| entropies.next() == 5).expect("it comes back")
        };
        // Seven others in each round that it is skipped.
        let at = |rounds: usize| {
            let mut others = Entropies::new(Spraying::Oblivious, 8, 1, 7);
            let order: Vec<u16> = (0..48).map(|_| others.next()).collect();
            rounds * 7 + order[rounds * 8..].iter().position(|&entropy| entropy == 5).expect("in each round")
        };
        assert_eq!(first(15, Path::Good), at(0));
        assert_eq!([first(15, Path::Marked), first(1, Path::Trimmed)], [at(1); 2]);
        assert_eq!(first(15, Path::Trimmed), at(4));
    }

    #[test]
    fn when_all_are_congested_packets_leave_all_the_same() {
        let mut entropies = Entropies::new(Spraying::Bitmap, 4, 15, 7);
        (1..=4).for_each(|entropy| entropies.learn(entropy, Path::Trimmed));
        assert!((0..100).map(|_| entropies.next()).all(|entropy| (1..=4).contains(&entropy)));
    }

    #[test]
    fn reps_uses_again_what_was_good_and_draws_when_nothing_is() {
        let mut entropies = Entropies::new(Spraying::Reps, 64, 15, 7);
        for entropy in [9, 4, 9] {
            entropies.learn(entropy, Path::Good);
        }
        entropies.learn(5, Path::Marked);
        entropies.learn(0, Path::Good);
        entropies.learn(65, Path::Good);
        assert_eq!([entropies.next(), entropies.next(), entropies.next()], [9, 4, 9]);
        assert!(round(&mut entropies, 500).len() > 60);
    }

    #[test]
    fn mixed_recycles_first_and_then_takes_turns() {
        let mut entropies = Entropies::new(Spraying::Mixed, 8, 15, 7);
        entropies.learn(2, Path::Good);
        entropies.learn(3, Path::Marked);
        assert_eq!(entropies.next(), 2);
        assert!(!round(&mut entropies, 7).contains(&3));
    }
}
