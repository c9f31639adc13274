//! Receivers of a group that come when the others have part of the object already.
//!
//! The group goes on without a receiver that has not come. When it comes, it takes the blocks that are still to be sent together with the others, from
//! a block on that the group has not begun: [`joins_at`](Member::joins_at). It says that it does so by its pulls, whose base is that block. When it has
//! those, it pulls the blocks before, which a sender of its own sends: what was sent to the others is sent once more to this receiver alone, and no more.

use super::super::stream::Stream;
use super::{Member, Place};
use crate::scdp::header::Pull;

/// What a pull means of a receiver that others did not wait for, or that came late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum LatePull {
    /// Nothing.
    Ignored,
    /// It has joined the others, who wait for it from now on. The pull is a member's like any other.
    Joined,
    /// It is with the others. The pull is a member's like any other.
    Together,
    /// It is sent what it lacks alone.
    Alone,
}

impl Member {
    /// The others go on without it until it comes.
    pub(in super::super) fn go_absent(&mut self) {
        self.place = Place::Absent;
    }

    /// A pull arrives of a member that [is late](Self::is_late). `others`: whether the group has members that are waited for.
    pub(in super::super) fn on_late_pull(&mut self, pull: &Pull, stream: &Stream, others: bool) -> LatePull {
        match (self.is_absent(), self.joins_at) {
            // It does not know yet where it joins, or does not understand.
            (true, Some(first)) if pull.base < first => LatePull::Ignored,
            // It has what all members have.
            (true, _) if pull.base >= stream.base() => {
                self.place = Place::Here;
                self.restart(pull.base);
                LatePull::Joined
            }
            (true, None) => {
                self.has_before(pull.base);
                // By the time it knows where it joins, what is in flight now has arrived, and as much is in flight again.
                let reached = stream.reached();
                let first = reached.saturating_add(reached - stream.base()).saturating_add(1);
                if first >= stream.blocks() || !others {
                    return LatePull::Alone;
                }
                self.joins_at = Some(first);
                LatePull::Ignored
            }
            // It has got to know of it so late that the group is far ahead again.
            (true, Some(_)) => LatePull::Alone,
            // The first turn is over when it has asked for the last block: other pulls for earlier ones are old, unless they are repeated.
            (false, Some(first)) if self.base >= first && pull.block < first && pull.base < first => {
                if self.end() < stream.blocks() && !pull.retry { LatePull::Ignored } else { LatePull::Alone }
            }
            (false, _) => LatePull::Together,
        }
    }

    /// It has left its group, and is sent blocks from `base` on alone, of which nothing was sent to it alone.
    pub(in super::super) fn alone_from(&self, base: u32) -> Self {
        let mut alone = self.alone();
        alone.restart(base);
        alone
    }

    /// The second turn begins of a receiver that had left its group before.
    pub(in super::super) fn begin_second_turn(&mut self, base: u32) {
        self.restart(base);
        self.joins_at = None;
    }

    /// It is sent the rest alone from where the others are: not for its second turn.
    pub(in super::super) fn forget_joining(&mut self) {
        self.joins_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::config::Repair;
    use crate::scdp::layout::Layout;
    use crate::scdp::sender::numbering::Numbering;

    /// The group has blocks before 20, of 100, and nothing was sent of those from 30 on.
    fn stream() -> Stream {
        let layout = Layout::new(10_000, 10, 10).expect("fits");
        let mut stream = Stream::from(20, Numbering::new(layout, 0, 1, Repair::Partitioned));
        stream.emit(29, 1, false);
        stream
    }

    fn pull(block: u32, base: u32) -> Pull {
        Pull { block, upto: 1, base, fin: false, retry: false, done: false }
    }

    fn absent() -> Member {
        let mut member = Member::default();
        member.go_absent();
        member
    }

    #[test]
    fn who_comes_late_is_told_where_to_join_and_gets_the_rest_alone() {
        let (stream, mut member) = (stream(), absent());
        assert_eq!(member.on_late_pull(&pull(0, 0), &stream, true), LatePull::Ignored);
        assert_eq!(member.joins_at(), Some(41), "ten blocks are in flight, and ten more until it knows");
        assert_eq!(member.on_late_pull(&pull(3, 0), &stream, true), LatePull::Ignored, "it does not know yet");
        assert_eq!(member.on_late_pull(&pull(41, 41), &stream, true), LatePull::Joined);
        assert!(member.counts() && member.base() == 41);
        assert_eq!(member.on_late_pull(&pull(42, 41), &stream, true), LatePull::Together);
        assert_eq!(member.on_late_pull(&pull(0, 0), &stream, true), LatePull::Ignored, "an old one");
        member.ask(99, 1);
        assert_eq!(member.on_late_pull(&pull(0, 0), &stream, true), LatePull::Alone, "its second turn");
    }

    #[test]
    fn who_cannot_join_gets_all_alone() {
        let stream = stream();
        assert_eq!(absent().on_late_pull(&pull(0, 0), &stream, false), LatePull::Alone, "nobody is left");
        let mut member = absent();
        member.on_late_pull(&pull(0, 0), &stream, true);
        let mut ahead = stream.clone();
        ahead.release(60, 60);
        assert_eq!(member.on_late_pull(&pull(41, 41), &ahead, true), LatePull::Alone, "it learned it too late");
        ahead.emit(90, 1, false);
        assert_eq!(absent().on_late_pull(&pull(0, 0), &ahead, true), LatePull::Alone, "too little is left");
        assert_eq!(absent().on_late_pull(&pull(60, 60), &ahead, true), LatePull::Joined, "it has what the others have");
    }
}
