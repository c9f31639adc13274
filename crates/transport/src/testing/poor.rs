//! A channel that does whatever networks do to packets, drawn for each of them.

use super::{Fate, SENDER};
use crate::random::mix;
use crate::{Duration, Transmit};
use proptest::prelude::*;

/// More packets than any transfer of the tests takes.
const ENDLESS: u64 = 1_000_000;

/// The `n`-th of a seed's numbers: `SplitMix64`.
pub(crate) fn draw(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// What a channel does, each to so many of 256 packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poor {
    /// Decides which packets.
    pub(crate) seed: u64,
    /// Loses them: those that the first node sends, and those of the others.
    pub(crate) lose: u8,
    pub(crate) lose_back: u8,
    pub(crate) trim: u8,
    /// Sends them back, if the first node sends them.
    pub(crate) give_back: u8,
    pub(crate) late: u8,
    pub(crate) twice: u8,
    pub(crate) mark: u8,
    /// By how much they are late at most.
    pub(crate) latest: Duration,
}

impl Poor {
    /// It delivers everything.
    pub(crate) const GOOD: Self = Self {
        seed: 0,
        lose: 0,
        lose_back: 0,
        trim: 0,
        give_back: 0,
        late: 0,
        twice: 0,
        mark: 0,
        latest: Duration::ZERO,
    };

    /// It does all of it to so many packets.
    pub(crate) const fn all(share: u8, latest: Duration) -> Self {
        Self {
            seed: 0,
            lose: share,
            lose_back: share,
            trim: share,
            give_back: share,
            late: share,
            twice: share,
            mark: share,
            latest,
        }
    }

    /// One that is no worse than this one, and often without some of its faults.
    pub(crate) fn up_to(self) -> impl Strategy<Value = Self> {
        let share = |worst: u8| prop_oneof![Just(0), 0..=worst];
        let Self { lose, lose_back, trim, give_back, late, twice, mark, latest, .. } = self;
        let shares = [lose, lose_back, trim, give_back, late, twice, mark].map(share);
        (any::<u64>(), shares, prop_oneof![Just(latest.0), 0..=latest.0]).prop_map(
            |(seed, [lose, lose_back, trim, give_back, late, twice, mark], latest)| Self {
                seed,
                lose,
                lose_back,
                trim,
                give_back,
                late,
                twice,
                mark,
                latest: Duration(latest),
            },
        )
    }

    /// What becomes of each packet.
    pub(crate) fn policy<H>(self) -> impl FnMut(u64, usize, &Transmit<H>) -> Fate + 'static {
        move |n, from, _| {
            assert!(n < ENDLESS, "it does not end");
            let z = draw(self.seed, n);
            let hits = |place: u32, share: u8| ((z >> (8 * place)) as u8) < share;
            match () {
                () if hits(0, if from == SENDER { self.lose } else { self.lose_back }) => Fate::Drop,
                () if hits(1, self.trim) => Fate::Trim,
                () if hits(2, self.give_back) && from == SENDER => Fate::Return,
                () if hits(3, self.late) => Fate::Late(Duration(draw(z, 0) % (self.latest.0 + 1))),
                () if hits(4, self.twice) => Fate::Duplicate,
                () if hits(5, self.mark) => Fate::Mark,
                () => Fate::Deliver,
            }
        }
    }
}
