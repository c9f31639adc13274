//! One receiver, as its sender sees it: what it has and asks for, how long it has been silent, and whether others wait for it.

use super::silence::Silence;
use super::stream::Stream;
use super::surplus::Surplus;
use crate::Time;
use crate::scdp::config::ScdpConfig;
use crate::scdp::layout::Layout;
use crate::scdp::straggler::Demand;
use std::collections::VecDeque;

mod late;

pub(super) use late::LatePull;

/// Where a receiver is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// With the others, who wait for it.
    #[default]
    Here,
    /// The others go on without it until it comes.
    Absent,
    /// It has the whole object.
    Complete,
    /// It has left the group: for a session of its own, or because it was given up.
    Left,
}

/// One receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    /// It has all blocks before this one.
    base: u32,
    /// Symbols it has asked for in all, for each block in progress, from its own base on.
    upto: VecDeque<u32>,
    /// What it asks for beyond what its blocks need.
    pub(super) surplus: Surplus,
    pub(super) silence: Silence,
    place: Place,
    /// It came late, and was asked to take the blocks from this one on first.
    joins_at: Option<u32>,
}

impl Member {
    /// Whether the others wait for it.
    #[inline]
    pub(super) fn counts(&self) -> bool {
        self.place == Place::Here
    }

    /// Whether it needs nothing more of its group.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        matches!(self.place, Place::Complete | Place::Left)
    }

    /// Whether it has got the whole object in its group.
    pub(super) fn is_complete(&self) -> bool {
        self.place == Place::Complete
    }

    pub(super) fn has_left(&self) -> bool {
        self.place == Place::Left
    }

    /// Whether the others go on without it, until it comes.
    pub(super) fn is_absent(&self) -> bool {
        self.place == Place::Absent
    }

    /// Whether others did not wait for it, or did not once.
    #[inline]
    pub(super) fn is_late(&self) -> bool {
        self.is_absent() || self.joins_at.is_some()
    }

    /// Where it has joined the others, or is to, if it came late.
    pub(super) fn joins_at(&self) -> Option<u32> {
        self.joins_at
    }

    /// It has all blocks before this one.
    #[inline]
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// It has asked for nothing of blocks from this one on.
    pub(super) fn end(&self) -> u32 {
        self.base + self.in_progress()
    }

    /// Blocks in progress.
    #[inline]
    pub(super) fn in_progress(&self) -> u32 {
        self.upto.len() as u32
    }

    /// Symbols that it has asked for in a block.
    #[inline]
    pub(super) fn asked(&self, block: u32) -> u32 {
        block.checked_sub(self.base).and_then(|index| self.upto.get(index as usize)).copied().unwrap_or(0)
    }

    /// What it has asked for in each block in progress.
    pub(super) fn requests(&self) -> impl Iterator<Item = (u32, u32)> {
        (self.base..).zip(self.upto.iter().copied())
    }

    /// Symbols that it has asked for in all its blocks in progress.
    pub(super) fn under_way(&self) -> u64 {
        self.upto.iter().map(|&upto| u64::from(upto)).sum()
    }

    /// It asks for `upto` symbols of a block in all, if that is more than before.
    #[inline]
    pub(super) fn ask(&mut self, block: u32, upto: u32) {
        let Some(index) = block.checked_sub(self.base) else { return };
        let index = index as usize;
        if index >= self.upto.len() {
            self.upto.resize(index + 1, 0);
        }
        self.upto[index] = self.upto[index].max(upto);
    }

    /// The same, of which `free` do not count as [`Surplus`].
    #[inline]
    pub(super) fn request(&mut self, now: Time, block: u32, upto: u32, free: u32, limit: u32) {
        let free = free.max(self.asked(block));
        let allowed = self.surplus.allow(now, free, upto, limit);
        self.ask(block, allowed);
    }

    /// All of a block that was emitted has left, and it waits. Returns how many symbols are to be emitted.
    pub(super) fn replace(&mut self, now: Time, emitted: u32, limit: u32) -> u32 {
        self.surplus.allow(now, emitted, emitted + 1, limit)
    }

    /// It has all blocks before `base`. Returns whether that is news.
    #[inline]
    pub(super) fn has_before(&mut self, base: u32) -> bool {
        let new = base.saturating_sub(self.base);
        if new == 0 {
            return false;
        }
        self.upto.drain(..(new as usize).min(self.upto.len()));
        self.base += new;
        self.surplus = Surplus::default();
        true
    }

    /// It has all blocks before `base`, and has asked for nothing.
    fn restart(&mut self, base: u32) {
        self.base = base;
        self.upto.clear();
    }

    /// It has the whole object.
    pub(super) fn complete(&mut self) {
        self.finish(Place::Complete);
    }

    /// It leaves the group.
    pub(super) fn leave(&mut self) {
        self.finish(Place::Left);
    }

    fn finish(&mut self, place: Place) {
        self.place = place;
        self.upto.clear();
        self.silence.end();
    }

    /// As it is sent the rest alone.
    pub(super) fn alone(&self) -> Self {
        Self { surplus: self.surplus.continued(), place: Place::Here, ..self.clone() }
    }

    /// When it is to be probed, if the last symbol for all left at `sent_at`. A receiver ahead of the group need not answer what leaves.
    #[inline]
    pub(super) fn probe_at(&self, config: &ScdpConfig, stream: &Stream, sent_at: Time) -> Option<Time> {
        if self.is_done() {
            return None;
        }
        let is_ahead = stream.emitted(self.base) == 0;
        self.silence.probe_at(config, if is_ahead { Time::ZERO } else { sent_at })
    }

    /// When it is given up: if it stays silent, or asks for too much and completes nothing.
    #[inline]
    pub(super) fn give_up_at(&self, config: &ScdpConfig) -> Option<Time> {
        if self.is_done() { None } else { self.silence.give_up_at(config, self.surplus.exhausted_at()) }
    }

    /// How far it is; `None` if it needs no more, has left the group, or has not come.
    pub(super) fn demand(&self, layout: &Layout) -> Option<Demand> {
        if !self.counts() {
            return None;
        }
        let complete = layout.symbols_before(self.base);
        let (mut in_order, mut open, mut is_ordered) = (complete, 0, true);
        for (block, upto) in self.requests() {
            if is_ordered {
                in_order += u64::from(upto);
                is_ordered = upto >= layout.source_symbols(block);
            }
            open += u64::from(upto);
        }
        Some(Demand { base: self.base, in_order, complete, open, exhausted: self.surplus.exhausted_at().is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(base: u32, asked: &[u32]) -> Member {
        Member { base, upto: asked.iter().copied().collect(), ..Member::default() }
    }

    #[test]
    fn requests_only_grow_until_their_blocks_are_complete() {
        let mut member = member(2, &[]);
        for (block, upto) in [(3, 5), (3, 4), (1, 9), (2, 7)] {
            member.ask(block, upto);
        }
        assert_eq!([1, 2, 3, 4].map(|block| member.asked(block)), [0, 7, 5, 0]);
        assert_eq!((member.end(), member.under_way()), (4, 12));
        assert!(!member.has_before(2) && member.has_before(3));
        assert_eq!((member.asked(2), member.asked(3), member.end()), (0, 5, 4));
        assert!(member.has_before(9) && member.end() == 9, "it skips blocks that others have sent it");
    }

    #[test]
    fn its_demand_is_counted_in_order() {
        let layout = Layout::new(1000, 10, 10).expect("fits");
        let demand = |asked: &[u32]| {
            let demand = member(2, asked).demand(&layout).expect("it counts");
            (demand.complete, demand.in_order, demand.open)
        };
        assert_eq!(demand(&[]), (20, 20, 0));
        assert_eq!(demand(&[12, 4, 9]), (20, 36, 25), "nothing counts behind an incomplete block");
        let mut left = member(2, &[5]);
        left.leave();
        assert_eq!((left.demand(&layout), left.under_way()), (None, 0));
    }

    #[test]
    fn what_is_asked_without_need_is_forgiven_when_a_block_is_complete() {
        let mut member = member(0, &[]);
        member.request(Time(1), 0, 30, 10, 15);
        assert_eq!((member.asked(0), member.surplus.exhausted_at()), (25, Some(Time(1))));
        assert_eq!(member.replace(Time(2), 25, 15), 25, "nor is anything replaced");
        assert_eq!(member.alone().surplus.exhausted_at(), None, "alone it may ask for more");
        member.has_before(1);
        assert_eq!((member.surplus.exhausted_at(), member.replace(Time(3), 4, 15)), (None, 5));
    }
}
