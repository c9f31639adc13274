//! A slow sender costs no more than its share: others send what blocks wait for in its place.
//!
//! Any symbols complete a block. Yet the blocks in progress are bounded, and all may wait for what was asked of the slowest sender; so do the
//! last blocks. A sender that could send more, while there is nothing else to ask for, takes over: the first blocks no longer wait
//! for symbols of senders that take much longer to answer, are overdue, or have sent later symbols, and so need others. None of those is asked
//! for the same block again. What still comes from them is at most their share of the link, and soon less ([`Pace`](super::pace::Pace)).
//!
//! Only where receivers find their windows themselves: fixed ones are for fabrics that trim, in which round trips are alike (SCDP §IV-E).

use super::{Lane, Receiver, Session};
use crate::scdp::block::Block;
use crate::{Duration, Peer, Time};

/// A sender is slow if it takes this many times as long to answer as the fastest, and the timeout for pulls more.
const SLOW: u64 = 2;

impl Lane {
    /// Symbols that were asked for and have neither arrived nor are known to be lost, whether a block waits for them or not.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.pace.as_ref().map_or(0, |pace| pace.in_flight(self.asked)).max(self.outstanding)
    }

    /// The most symbols that may be in flight.
    #[inline]
    fn most(&self) -> u32 {
        let window = self.window.symbols();
        self.pace.as_ref().map_or(window, |pace| pace.bound(window))
    }

    /// Pulls that may be sent.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.most().saturating_sub(self.in_flight())
    }

    /// Whether it is asked for fewer symbols than its window allows.
    pub(super) fn is_held_back(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.is_held_back())
    }

    /// How long its sender takes to answer, if that is known and matters.
    fn response(&self) -> Option<Duration> {
        self.pace.as_ref()?.response()
    }

    fn is_slower_than(&self, bar: Duration) -> bool {
        self.response().is_some_and(|response| response > bar)
    }
}

impl Receiver {
    /// The longest that a sender may take to answer that is not slow, compared with the fastest of these.
    fn bar(&self, lanes: impl Fn(&Lane) -> bool) -> Option<Duration> {
        let fastest = self.lanes.iter().filter(|lane| lanes(lane)).filter_map(Lane::response).min()?;
        Some(fastest * SLOW + self.config.pull_timeout)
    }

    /// Whether a sender takes much longer to answer than another, or has not answered in time.
    pub fn is_slow(&self, sender: Peer) -> bool {
        let Some(lane) = self.lanes.get(usize::from(sender)).filter(|lane| lane.pace.is_some()) else { return false };
        lane.timeouts > 0 || self.bar(|lane| self.in_touch(lane)).is_some_and(|bar| lane.is_slower_than(bar))
    }

    /// Whether a sender may be asked for symbols of a block: not if others send in its place.
    #[inline]
    pub(super) fn may_ask(&self, index: usize, lane: usize) -> bool {
        self.in_use(&self.lanes[lane]) && !self.blocks.get(index).is_some_and(|block| self.is_replaced(block, lane))
    }

    /// Whether others do not wait for a sender to send its share of a block.
    pub(super) fn is_passed_over(&self, index: usize, lane: usize) -> bool {
        self.is_slow(lane as Peer) || self.blocks.get(index).is_some_and(|block| self.is_replaced(block, lane))
    }

    /// While there is nothing else to ask for: the next sender, and the first block of which another holds more than it can send in time.
    pub(super) fn in_place_of_a_slow_one(&self, session: Session, first: usize) -> Option<(usize, usize)> {
        let bar = self.bar(|lane| self.in_use(lane))?;
        let takes_long = |index: usize, lane: usize| {
            let held = self.held(session, index, lane).min(self.blocks[index].need());
            let l = &self.lanes[lane];
            let taken = l.response().map(|response| response + response * u64::from(held) / u64::from(l.most().max(1)));
            held > 0 && taken.is_some_and(|taken| taken > bar)
        };
        (first..self.blocks.len()).filter(|&index| self.blocks[index].need() > 0).find_map(|index| {
            let waits =
                self.blocks[index].sole().is_none() && (0..self.lanes.len()).any(|lane| takes_long(index, lane));
            Some((self.turn(index).filter(|_| waits)?, index))
        })
    }

    fn is_replaced(&self, block: &Block, lane: usize) -> bool {
        let is_overtaken = |lane: usize| block.lane(lane as u32).overtaken;
        is_overtaken(lane)
            && (0..self.lanes.len()).any(|other| self.in_touch(&self.lanes[other]) && !is_overtaken(other))
    }

    /// If senders could send more while there is nothing to ask for: the longest that others may take.
    #[inline]
    fn idle(&self) -> Option<Duration> {
        let session = self.session.as_ref().filter(|session| session.takes_over)?;
        if self.credits == 0 || self.over() {
            return None;
        }
        let bar = self.bar(|lane| self.in_use(lane))?;
        self.choose(*session).is_none().then_some(bar)
    }

    /// Since when a block has waited too long for a sender, if it waits for it and others may take over.
    fn late_since(&self, block: &Block, lane: usize, bar: Duration) -> Option<Time> {
        let awaited = block.lane(lane as u32);
        if awaited.outstanding == 0 || block.missing() == 0 || block.sole().is_some() {
            return None;
        }
        let is_fast = |(other, l): (usize, &Lane)| {
            other != lane && self.in_use(l) && l.response().is_some_and(|response| response <= bar)
        };
        if !self.lanes.iter().enumerate().any(is_fast) {
            return None;
        }
        let lane = &self.lanes[lane];
        let asked_at = lane.pace.as_ref()?.asked_at(awaited.last_asked);
        let in_time = asked_at.filter(|_| !lane.is_slower_than(bar));
        Some(in_time.map_or(Time::ZERO, |at| at + lane.response().unwrap_or_default() + bar))
    }

    /// When senders may have to take over.
    #[inline]
    pub(super) fn next_take_over(&self) -> Option<Time> {
        let bar = self.idle()?;
        let lanes = 0..self.lanes.len();
        self.blocks
            .iter()
            .flat_map(|block| lanes.clone().filter_map(move |lane| self.late_since(block, lane, bar)))
            .min()
    }

    /// Lets senders take over what blocks have waited for too long, as much as they may be asked for.
    #[inline]
    pub(super) fn take_over(&mut self, now: Time) {
        let Some(bar) = self.idle() else { return };
        let idle = self.lanes.iter().filter(|lane| self.in_use(lane) && !lane.is_slower_than(bar));
        let mut room = idle.map(|lane| lane.credits).sum::<u32>();
        for index in 0..self.blocks.len() {
            for lane in 0..self.lanes.len() {
                if room > 0 && self.late_since(&self.blocks[index], lane, bar).is_some_and(|since| since <= now) {
                    room -= self.stop_waiting(index, lane, room);
                }
            }
        }
    }

    /// A block no longer waits for up to `most` symbols of a sender. Returns for how many.
    fn stop_waiting(&mut self, index: usize, lane: usize, most: u32) -> u32 {
        let number = self.blocks[index].lane(lane as u32).last_asked;
        let count = self.change(index, |block| block.overtake(lane as u32, most));
        let l = &mut self.lanes[lane];
        if let Some(pace) = l.pace.as_mut().filter(|pace| pace.asked_at(number).is_some()) {
            pace.on_late(number, l.asked, l.window.symbols());
        }
        self.credit(lane as u32, count);
        count
    }
}
