//! Blocks that the application checks, for instance against hashes: a wrong block is discarded and fetched again, from one sender alone.
//!
//! Symbols that have arrived once are not requested again. Since a sender's stream of symbols does not end, each sender can send a
//! block by itself: K symbols after all those it has already sent. If the block is still wrong, its sender is known to send wrong symbols.
//!
//! With one sender there is no other to ask: a wrong block ends the session. So its blocks are released when they are complete; other
//! receivers of its group that lack some may need symbols that only leave if no receiver waits for anything else. But few blocks are unchecked.
//!
//! A block that is requested from one sender alone must arrive in time: the other senders have it, too. Eventually all blocks wait for the
//! first that is not complete. A sender that is never silent, because it sends only headers, or a symbol now and then, could stall the session
//! forever. So it gets several times the time that the block should take; then the block is requested from another sender, one that has
//! withheld the fewest blocks. The time doubles with each block that a sender has withheld, so that a sender that is merely slow is waited for
//! if there is no better one.

use super::lanes::Lanes;
use super::live::LiveBlocks;
use crate::Time;

/// Complete but unchecked blocks of a single sender before no other is begun.
pub(super) const UNCHECKED: usize = 32;
/// Round trips for a block, besides twice those that its symbols take with the sender's window.
const ROUND_TRIPS: u32 = 8;
/// Maximum number of doublings.
const DOUBLINGS: u32 = 10;

/// Whether blocks are checked, and for how long one has been waited for.
#[derive(Debug)]
pub(super) struct Checks {
    /// The application checks complete blocks.
    on: bool,
    /// There are several senders.
    has_choice: bool,
    /// The first block that is not complete.
    awaited: u32,
    /// Since when it has been the first, or was requested anew.
    since: Time,
}

impl Checks {
    /// None, in a session of so many senders.
    pub(super) fn none(senders: u16) -> Self {
        Self { on: false, has_choice: senders > 1, awaited: 0, since: Time::ZERO }
    }

    /// The application checks blocks.
    pub(super) fn enable(&mut self) {
        self.on = true;
    }

    pub(super) fn are_on(&self) -> bool {
        self.on
    }

    /// Whether a block may be fetched again, and is kept until it is confirmed.
    #[inline]
    pub(super) fn may_fetch_again(&self) -> bool {
        self.on && self.has_choice
    }

    /// Blocks have completed, or are requested anew.
    #[inline]
    pub(super) fn watch(&mut self, now: Time, blocks: &LiveBlocks) {
        if self.may_fetch_again() {
            let first = blocks.first_incomplete();
            if self.awaited != first {
                (self.awaited, self.since) = (first, now);
            }
        }
    }

    /// A block restarts.
    pub(super) fn on_restart(&mut self, now: Time, block: u32) {
        if self.awaited == block {
            self.since = now;
        }
    }

    /// The receiver goes on at another block.
    pub(super) fn continue_at(&mut self, block: u32) {
        self.awaited = block;
    }

    /// The only sender that the first incomplete block is requested from, and when that sender has taken too long.
    #[inline]
    pub(super) fn deadline(&self, blocks: &LiveBlocks, lanes: &Lanes) -> Option<(u32, Time)> {
        if self.may_fetch_again() { self.deadline_of_sole_sender(blocks, lanes) } else { None }
    }

    fn deadline_of_sole_sender(&self, blocks: &LiveBlocks, lanes: &Lanes) -> Option<(u32, Time)> {
        let first = blocks.get(blocks.index_of(self.awaited)?);
        let first = first.filter(|first| !first.is_complete() && !first.is_pending())?;
        let sole = first.sole()?;
        let lane = lanes.at(sole as usize);
        let rounds = ROUND_TRIPS + 2 * (first.source_symbols() / lane.credits.window().symbols().max(1));
        // The fastest sender's timeout: a sender must not gain time by answering late.
        let round = lanes.least_timeout()?;
        Some((sole, self.since + round * (u64::from(rounds) << lane.withheld().min(DOUBLINGS))))
    }

    /// A sender has withheld the first incomplete block: whoever is asked now gets as much time.
    pub(super) fn on_withheld(&mut self, now: Time) {
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;
    use crate::scdp::ScdpConfig;
    use crate::scdp::header::{Mode, Options};
    use crate::scdp::receiver::blocks::Blocks;
    use crate::scdp::receiver::session::Session;
    use std::sync::Arc;

    /// Three blocks of ten symbols, of three senders; the first block is asked of sender 1 alone, at 5 ms.
    fn fetch() -> (Checks, Blocks, Lanes, Duration) {
        let config = ScdpConfig::default();
        let options = Options {
            object_bytes: 30,
            symbol_bytes: 1,
            block_symbols: 10,
            window: 5,
            lanes: 3,
            mode: Mode::ManyToOne,
        };
        let session = Session::new(&options, &config).unwrap();
        let (mut blocks, mut lanes) = (Blocks::new(&config), Lanes::new(Arc::new(config.clone()), 3, 1));
        blocks.establish(&session);
        blocks.reach(2, &session);
        (0..3).for_each(|lane| lanes.begin(Time::ZERO, lane, &session, 0));
        let mut checks = Checks::none(3);
        checks.enable();
        checks.watch(Time::ZERO, &blocks.live);
        blocks.live.restart(0, Some(1));
        checks.on_restart(at(5), 0);
        (checks, blocks, lanes, config.pull_timeout)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn one_sender_alone_has_eight_round_trips_and_twice_those_that_its_window_takes() {
        let (mut checks, blocks, mut lanes, timeout) = fetch();
        assert_eq!(checks.deadline(&blocks.live, &lanes), Some((1, at(5) + timeout * (8 + 2 * (10 / 5)))));
        lanes.at_mut(1).withholds();
        checks.on_withheld(at(100));
        assert_eq!(checks.deadline(&blocks.live, &lanes), Some((1, at(100) + timeout * 24)), "and twice as long again");
    }

    #[test]
    fn only_the_first_incomplete_block_is_waited_for() {
        let (mut checks, mut blocks, lanes, _) = fetch();
        blocks.live.complete(0);
        assert_eq!(checks.deadline(&blocks.live, &lanes), None);
        checks.watch(at(7), &blocks.live);
        assert_eq!(checks.deadline(&blocks.live, &lanes), None, "the next is asked of all");
        blocks.live.restart(1, Some(2));
        checks.on_restart(at(9), 2);
        let (sole, deadline) = checks.deadline(&blocks.live, &lanes).unwrap();
        checks.on_restart(at(9), 1);
        assert_eq!((sole, checks.deadline(&blocks.live, &lanes)), (2, Some((2, deadline + Duration::from_ms(2)))));
    }

    #[test]
    fn with_one_sender_or_without_checks_nothing_can_be_fetched_again() {
        let mut single = Checks::none(1);
        single.enable();
        assert!(single.are_on() && !single.may_fetch_again() && !Checks::none(3).may_fetch_again());
    }
}
