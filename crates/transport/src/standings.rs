//! Who comes first among the ends on one host, for schemes that rank all of them: shortest remaining first.
//!
//! An end that wants to be considered has a *claim*: the bytes that remain. The host ranks the claims and tells the first few their
//! *standing*; what they do with it is theirs. Homa's receivers grant by it and Homa's senders send by it (SIGCOMM 2018 §3.2 to §3.5).
//! A claim is changed or withdrawn with [`Endpoint::poll_claim`](crate::Endpoint::poll_claim); who withdraws has no standing any more.

use smallvec::SmallVec;

/// A claim has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimChange {
    /// What remained by the claim before; `None`: there was no claim.
    pub was: Option<u64>,
    /// What remains now; `None`: the claim is withdrawn.
    pub remaining: Option<u64>,
    /// How many ends may have a standing at once, from 1: the same for all on a host. Of no account if the claim is withdrawn.
    pub places: u8,
}

/// An end's place among those that stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// 0: the least remains.
    pub place: u8,
    /// How many stand.
    pub of: u8,
}

/// What an end has told its host of its claim.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claim {
    told: Option<u64>,
}

impl Claim {
    /// What the host knows.
    #[inline]
    pub(crate) fn told(self) -> Option<u64> {
        self.told
    }

    /// What to tell the host, if `wish` is another claim than it knows.
    #[inline]
    pub(crate) fn poll(&mut self, wish: Option<u64>, places: u8) -> Option<ClaimChange> {
        let was = std::mem::replace(&mut self.told, wish);
        (was != wish).then_some(ClaimChange { was, remaining: wish, places })
    }
}

/// A claim, in the order of the list: the most first, so that the best come and go at its end. Of equals the older end goes first.
type Claimed<K> = (u64, K, u32);

/// The ranking of one host. `K` is the driver's handle of an end: older ends have smaller ones.
#[derive(Clone, Debug)]
pub struct Standings<K> {
    claims: Vec<Claimed<K>>,
    /// Those that stand, as they were told.
    told: SmallVec<[(K, Standing); 8]>,
    places: u8,
}

impl<K> Default for Standings<K> {
    fn default() -> Self {
        Self { claims: Vec::new(), told: SmallVec::new(), places: 1 }
    }
}

impl<K: Copy + Ord> Standings<K> {
    /// The claim of `who` changes. `peer` is the host of its other end: of several ends with the same, only the best stands (Homa grants to one
    /// message of each sender).
    pub fn update(&mut self, who: K, peer: u32, change: ClaimChange) {
        let place = |claims: &[Claimed<K>], remaining: u64| {
            claims.partition_point(|&(other, end, _)| (other, end) > (remaining, who))
        };
        if let Some(was) = change.was {
            let at = place(&self.claims, was);
            debug_assert!(self.claims.get(at).is_some_and(|claim| claim.1 == who), "it has told of this claim");
            self.claims.remove(at);
        }
        match change.remaining {
            Some(remaining) => {
                self.places = change.places;
                self.claims.insert(place(&self.claims, remaining), (remaining, who, peer));
            }
            None => self.told.retain(|told| told.0 != who),
        }
    }

    /// The next end whose standing is another than it was told, and what it is now; `None` when all know theirs.
    pub fn next_change(&mut self) -> Option<(K, Option<Standing>)> {
        let first = self.first();
        if let Some(at) = self.told.iter().position(|(end, _)| !first.contains(end)) {
            return Some((self.told.remove(at).0, None));
        }
        let of = first.len() as u8;
        for (place, end) in (0..).zip(first) {
            let standing = Standing { place, of };
            match self.told.iter_mut().find(|told| told.0 == end) {
                Some((_, old)) if *old == standing => {}
                Some((_, old)) => {
                    *old = standing;
                    return Some((end, Some(standing)));
                }
                None => {
                    self.told.push((end, standing));
                    return Some((end, Some(standing)));
                }
            }
        }
        None
    }

    /// The best claims of different peers, the best first.
    fn first(&self) -> SmallVec<[K; 8]> {
        let mut first = SmallVec::new();
        let mut peers: SmallVec<[u32; 8]> = SmallVec::new();
        for &(_, end, peer) in self.claims.iter().rev() {
            if first.len() == usize::from(self.places) {
                break;
            }
            if !peers.contains(&peer) {
                peers.push(peer);
                first.push(end);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn changes(board: &mut Standings<char>) -> Vec<(char, Option<(u8, u8)>)> {
        let next = || board.next_change();
        std::iter::from_fn(next).map(|(end, standing)| (end, standing.map(|s| (s.place, s.of)))).collect()
    }

    fn claim(board: &mut Standings<char>, who: char, peer: u32, was: Option<u64>, remaining: Option<u64>) {
        board.update(who, peer, ClaimChange { was, remaining, places: 2 });
    }

    #[test]
    fn the_least_remaining_stand_and_are_told_once() {
        let mut board = Standings::default();
        claim(&mut board, 'a', 1, None, Some(500));
        assert_eq!(changes(&mut board), [('a', Some((0, 1)))]);
        claim(&mut board, 'b', 2, None, Some(300));
        assert_eq!(changes(&mut board), [('b', Some((0, 2))), ('a', Some((1, 2)))]);
        claim(&mut board, 'c', 3, None, Some(400));
        assert_eq!(changes(&mut board), [('a', None), ('c', Some((1, 2)))]);
        claim(&mut board, 'c', 3, Some(400), Some(350));
        assert_eq!(changes(&mut board), []);
        claim(&mut board, 'b', 2, Some(300), None);
        assert_eq!(changes(&mut board), [('c', Some((0, 2))), ('a', Some((1, 2)))], "b knows");
    }

    #[test]
    fn only_the_best_of_one_peer_stands_and_of_equals_the_older() {
        let mut board = Standings::default();
        for (who, peer, remaining) in [('a', 1, 10), ('b', 1, 10), ('c', 2, 30)] {
            claim(&mut board, who, peer, None, Some(remaining));
        }
        assert_eq!(changes(&mut board), [('a', Some((0, 2))), ('c', Some((1, 2)))]);
        claim(&mut board, 'b', 1, Some(10), Some(5));
        assert_eq!(changes(&mut board), [('a', None), ('b', Some((0, 2)))]);
    }

    proptest! {
        /// What ends know is what a full sort says.
        #[test]
        fn agrees_with_a_sort(steps in prop::collection::vec((0..12_u32, prop::option::of(0..40_u64)), 1..200), places in 1..5_u8) {
            let mut board = Standings::default();
            let (mut claims, mut known) = (BTreeMap::new(), BTreeMap::new());
            for (who, remaining) in steps {
                let was = claims.get(&who).copied();
                if was == remaining {
                    continue;
                }
                board.update(who, who / 2, ClaimChange { was, remaining, places });
                claims.remove(&who);
                claims.extend(remaining.map(|remaining| (who, remaining)));
                if remaining.is_none() {
                    known.remove(&who);
                }
                while let Some((end, standing)) = board.next_change() {
                    match standing {
                        Some(standing) => known.insert(end, standing),
                        None => known.remove(&end),
                    };
                }
                let mut sorted: Vec<(u64, u32)> = claims.iter().map(|(&who, &remaining)| (remaining, who)).collect();
                sorted.sort_unstable();
                let mut first: Vec<u32> = Vec::new();
                for (_, who) in sorted {
                    if first.iter().all(|other| other / 2 != who / 2) {
                        first.push(who);
                    }
                }
                first.truncate(usize::from(places));
                let of = first.len() as u8;
                let right: BTreeMap<u32, Standing> = (0..).zip(first).map(|(place, who)| (who, Standing { place, of })).collect();
                prop_assert_eq!(&known, &right);
            }
        }
    }
}
