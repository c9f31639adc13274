//! What a receiver asks for, compared with what it needs.
//!
//! An honest receiver asks for blocks in order, and for as many symbols of each as it has source symbols, plus those that were lost. Nothing makes
//! a receiver do so. One that asks for later blocks first, or never completes its first block, holds a group back although it has asked for more
//! than the others; one that asks for more and more symbols of a block has them all sent. So requests count in order, and those beyond what blocks
//! need are bounded.

use super::{Member, Sender};
use crate::scdp::straggler::Demand;
use crate::{Peer, Time};

/// A receiver of a group may ask for this many times the symbols of a block before it completes it: of 17 symbols, 16 were lost.
const TIMES_IN_GROUP: u32 = 16;
/// The same for a receiver that is served alone and holds nobody back.
const TIMES_ALONE: u32 = 64;

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

impl Sender {
    /// Symbols that a receiver may ask for beyond what its blocks need, before it completes one: a multiple of a block's, and a window, all of which may
    /// have been lost, so no more than its blocks in progress have. Without a limit where receivers are never given up
    /// for their silence: those are trusted, and one behind a link that is full for long may need many times the symbols of a block.
    #[inline]
    pub(super) fn surplus_limit(&self, receiver: Peer, block: u32) -> u32 {
        if self.config.give_up_after.is_none() {
            return u32::MAX;
        }
        let times = if self.members.len() > 1 { TIMES_IN_GROUP } else { TIMES_ALONE };
        let in_progress = self.members.get(usize::from(receiver)).map_or(0, |member| member.upto.len() as u32);
        let k = self.layout.source_symbols(block);
        (times * k).saturating_add(self.gap_limit.min(in_progress * k))
    }

    /// How far a receiver of the group is; `None` if it needs no more, has left the group, or has not come.
    pub(in crate::scdp) fn demand(&self, receiver: Peer) -> Option<Demand> {
        let member = self.members.get(usize::from(receiver)).filter(|member| member.counts())?;
        let complete = self.layout.symbols_before(member.base);
        let (mut in_order, mut open, mut is_ordered) = (complete, 0, true);
        for (block, &upto) in (member.base..).zip(&member.upto) {
            let k = self.layout.source_symbols(block);
            if is_ordered {
                in_order += u64::from(upto);
                is_ordered = upto >= k;
            }
            open += u64::from(upto);
        }
        Some(Demand { base: member.base, in_order, complete, open, exhausted: member.surplus.exhausted_at.is_some() })
    }

    /// A receiver of the group has all blocks before this one, or from where it joined to this one.
    pub fn base_of(&self, receiver: Peer) -> u32 {
        self.members.get(usize::from(receiver)).map_or(0, |member| member.base)
    }

    /// Nothing was sent to the group of blocks from this one on.
    pub fn reached(&self) -> u32 {
        self.base + self.emitted.iter().rposition(|&emitted| emitted > 0).map_or(0, |last| last as u32 + 1)
    }

    /// Whether a symbol that another has asked for waits until a receiver of the group asks for it, too, or completes blocks before it, and that receiver
    /// itself waits for no other.
    pub(super) fn is_waited_for(&self, receiver: Peer) -> bool {
        let Some(member) = self.members.get(usize::from(receiver)).filter(|member| member.counts()) else {
            return false;
        };
        let is_waiting =
            |member: &Member| (member.base..).zip(&member.upto).any(|(block, &asked)| asked > self.emitted(block));
        let others = self.members.iter().filter(|other| other.counts());
        let waits = others.flat_map(|other| (other.base..).zip(&other.upto)).any(|(block, &asked)| {
            let emitted = self.emitted(block);
            block >= member.base && asked > emitted && member.asked(block) <= emitted
        });
        waits && !is_waiting(member)
    }

    /// Whether a receiver, perhaps one that was given up, has asked for so much more than it needs that it got no more.
    pub fn is_exhausted(&self, receiver: Peer) -> bool {
        self.members.get(usize::from(receiver)).is_some_and(|member| member.surplus.exhausted_at.is_some())
    }

    /// Blocks that all receivers have completed in order, those outside the group included: it grows while any of them makes progress.
    pub fn completed_blocks(&self) -> u64 {
        let own = self.members.iter().map(|member| u64::from(member.base)).sum::<u64>();
        own + self.apart.as_ref().map_or(0, |apart| apart.completed_blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_not_granted_and_the_time_is_noted() {
        let mut surplus = Surplus::default();
        assert_eq!(surplus.allow(Time(1), 100, 90, 50), 90, "source symbols are free");
        assert_eq!(surplus.allow(Time(2), 100, 130, 50), 130);
        assert_eq!((surplus.allow(Time(3), 100, 120, 50), surplus.exhausted_at()), (120, None));
        assert_eq!((surplus.allow(Time(4), 100, 101, 50), surplus.exhausted_at()), (100, Some(Time(4))));
        assert_eq!((surplus.allow(Time(5), 7, u32::MAX, 50), surplus.exhausted_at()), (7, Some(Time(4))));
    }
}
