//! What a receiver asks for, compared with what it needs.
//!
//! An honest receiver asks for blocks in order, and for as many symbols of each as it has source symbols, plus those that were lost. Nothing makes
//! a receiver do so. One that asks for later blocks first, or never completes its first block, holds a group back although it has asked for more
//! than the others; one that asks for more and more symbols of a block has them all sent. So requests count in order, and those beyond what blocks
//! need are bounded.

use crate::Time;
use crate::scdp::config::{ScdpConfig, WindowControl};

/// A receiver of a group may ask for this many times the symbols of a block before it completes it: of 17 symbols, 16 were lost.
const TIMES_IN_GROUP: u32 = 16;
/// The same for a receiver that is served alone and holds nobody back.
const TIMES_ALONE: u32 = 64;

/// How much receivers get of what they ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most symbols by which a pull may be ahead of what was emitted.
    pub(super) ahead: u32,
    /// Times the symbols of a block that a receiver may ask for. `None` where receivers are never given up for their silence: those are trusted, and
    /// one behind a link that is full for long may need many times the symbols of a block.
    times: Option<u32>,
}

impl Limits {
    /// For so many receivers. Where receivers find their own windows, one receiver of a group may be ahead of another by a window.
    pub(super) fn new(config: &ScdpConfig, window: u32, receivers: usize) -> Self {
        let fixed = 4 * window.max(16);
        let ahead = if config.window_control == WindowControl::Fixed { fixed } else { fixed.max(config.window_limit) };
        let times = if receivers > 1 { TIMES_IN_GROUP } else { TIMES_ALONE };
        Self { ahead, times: config.give_up_after.map(|_| times) }
    }

    /// For one of them that is sent the rest alone.
    pub(super) fn for_one(self) -> Self {
        Self { times: self.times.map(|_| TIMES_ALONE), ..self }
    }

    /// Symbols that a receiver may ask for beyond what its blocks need, before it completes one of `k` symbols: a multiple of those, and a window, all
    /// of which may have been lost, so no more than its blocks in progress have.
    #[inline]
    pub(super) fn surplus(self, k: u32, in_progress: u32) -> u32 {
        self.times.map_or(u32::MAX, |times| (times * k).saturating_add(self.ahead.min(in_progress * k)))
    }
}

/// Symbols that a receiver has asked for since it last completed a block, beyond the source symbols of their blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Surplus {
    symbols: u32,
    exhausted_at: Option<Time>,
}

impl Surplus {
    /// It asks for `upto` symbols of a block in all, of which `free` do not count. Returns how many it gets.
    #[inline]
    pub(super) fn allow(&mut self, now: Time, free: u32, upto: u32, limit: u32) -> u32 {
        let more = upto.saturating_sub(free);
        if more == 0 {
            return upto;
        }
        let granted = more.min(limit.saturating_sub(self.symbols));
        self.symbols += granted;
        if granted < more {
            self.exhausted_at.get_or_insert(now);
        }
        free + granted
    }

    /// It is served alone from now on, where the limit is higher: what it has got still counts.
    pub(super) fn continued(self) -> Self {
        Self { exhausted_at: None, ..self }
    }

    /// Since when it has got no more.
    pub(super) fn exhausted_at(&self) -> Option<Time> {
        self.exhausted_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    #[test]
    fn what_is_beyond_the_limit_is_not_granted_and_the_time_is_noted() {
        let mut surplus = Surplus::default();
        assert_eq!(surplus.allow(Time(1), 100, 90, 50), 90, "source symbols are free");
        assert_eq!(surplus.allow(Time(2), 100, 130, 50), 130);
        assert_eq!((surplus.allow(Time(3), 100, 120, 50), surplus.exhausted_at()), (120, None));
        assert_eq!((surplus.allow(Time(4), 100, 101, 50), surplus.exhausted_at()), (100, Some(Time(4))));
        assert_eq!((surplus.allow(Time(5), 7, u32::MAX, 50), surplus.exhausted_at()), (7, Some(Time(4))));
    }

    #[test]
    fn only_those_are_limited_that_may_be_given_up() {
        assert_eq!(Limits::new(&ScdpConfig::default(), 12, 3).surplus(100, 2), u32::MAX);
        let bounded = ScdpConfig { give_up_after: Some(Duration::from_secs(1)), ..ScdpConfig::default() };
        let group = Limits::new(&bounded, 12, 3);
        assert_eq!(
            [group, group.for_one(), Limits::new(&bounded, 12, 1)].map(|l| l.surplus(100, 2)),
            [1664, 6464, 6464]
        );
        assert_eq!(group.surplus(10, 2), 180, "no more than its blocks have");
    }
}
