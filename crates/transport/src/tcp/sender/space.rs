//! The send sequence space (RFC 9293 §3.3.1): what is acknowledged, what was sent, what the receiver has room for.

use crate::tcp::segment::{Flags, Segment};

/// Offsets of one connection's stream, FIN included.
#[derive(Clone, Debug)]
pub(super) struct SendSpace {
    /// SND.UNA: everything before it is acknowledged.
    una: u64,
    /// SND.NXT: the next offset to send; falls back to `una` after a timeout.
    nxt: u64,
    /// One past the highest offset ever sent.
    max: u64,
    /// SND.WND: bytes that the receiver accepts beyond `una`.
    window: u64,
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    /// So many offsets have arrived of which that was not known.
    Progress(u64),
    /// The receiver got a segment, but still waits for the first one that is outstanding (RFC 5681 §2).
    Duplicate,
}

impl SendSpace {
    pub(super) fn new(window: u64) -> Self {
        Self { una: 0, nxt: 0, max: 0, window }
    }

    #[inline]
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    #[inline]
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Sent at least once and not acknowledged.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.max - self.una
    }

    /// Not acknowledged before SND.NXT.
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Whether something was sent, and all of it is acknowledged.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.una == self.max && self.max > 0
    }

    /// An acknowledgement arrived. One that is old, or of what was never sent, tells nothing (RFC 9293 §3.10.7.4).
    #[inline]
    pub(super) fn on_ack(&mut self, segment: &Segment) -> News {
        if !(self.una..=self.max).contains(&segment.ack) {
            return News::Nothing;
        }
        let same_window = self.set_window(segment.window);
        if segment.ack > self.una {
            return News::Progress(self.acknowledge(segment.ack));
        }
        let is_bare = !segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::FIN);
        if self.outstanding() > 0 && same_window && is_bare { News::Duplicate } else { News::Nothing }
    }

    /// Everything before `ack` has arrived. Returns how many offsets that is news of.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u64) -> u64 {
        let bytes = ack - self.una;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        bytes
    }

    /// The receiver accepts `window` bytes beyond what it acknowledges. Whether it did before.
    #[inline]
    pub(super) fn set_window(&mut self, window: u32) -> bool {
        std::mem::replace(&mut self.window, u64::from(window)) == u64::from(window)
    }

    /// Whether the receiver has room for everything before `end`.
    #[inline]
    pub(super) fn has_room(&self, end: u64) -> bool {
        end <= self.una + self.window
    }

    /// What was sent before this offset need not be sent again: SND.NXT moves there.
    #[inline]
    pub(super) fn skip_to(&mut self, offset: u64) {
        self.nxt = offset;
    }

    /// Everything that is outstanding is sent again (go-back-N).
    pub(super) fn go_back(&mut self) {
        self.nxt = self.una;
    }

    /// A segment that ends at this offset leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64) {
        self.nxt = self.nxt.max(end);
        self.max = self.max.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_forgets_nothing_that_was_sent() {
        let mut space = SendSpace::new(50);
        assert!(!space.is_idle(), "nothing was sent");
        space.on_sent(30);
        assert_eq!((space.acknowledge(10), space.in_flight(), space.outstanding()), (10, 20, 20));
        space.go_back();
        assert_eq!((space.nxt(), space.in_flight(), space.outstanding()), (10, 0, 20));
        space.on_sent(20);
        assert_eq!((space.nxt(), space.max()), (20, 30));
        // An ACK beyond SND.NXT: the first copies have arrived after all.
        assert_eq!((space.acknowledge(30), space.nxt(), space.is_idle()), (20, 30, true));
    }

    #[test]
    fn acks_of_what_was_never_sent_and_old_ones_are_refused() {
        let mut space = SendSpace::new(50);
        space.on_sent(30);
        space.acknowledge(10);
        let ack = |ack| Segment { ack, window: 50, flags: Flags::ACK, ..Segment::default() };
        let news = [9, 10, 30, 31].map(|at| space.clone().on_ack(&ack(at)));
        assert_eq!(news, [News::Nothing, News::Duplicate, News::Progress(20), News::Nothing]);
        assert!([9, 31].iter().all(|&at| space.on_ack(&Segment { window: 7, ..ack(at) }) == News::Nothing));
        assert!(space.has_room(60), "nor do they move the window");
    }

    #[test]
    fn a_duplicate_says_nothing_else() {
        let mut space = SendSpace::new(50);
        let ack = Segment { window: 50, flags: Flags::ACK, ..Segment::default() };
        assert_eq!(space.on_ack(&ack), News::Nothing, "nothing is outstanding");
        space.on_sent(30);
        assert_eq!(space.on_ack(&ack), News::Duplicate);
        assert_eq!(space.on_ack(&Segment { flags: Flags::ACK | Flags::FIN, ..ack }), News::Nothing);
        assert_eq!(space.on_ack(&Segment { window: 60, ..ack }), News::Nothing, "a window update");
        assert_eq!(space.on_ack(&Segment { window: 60, ..ack }), News::Duplicate);
    }

    #[test]
    fn the_receive_window_counts_from_what_is_acknowledged() {
        let mut space = SendSpace::new(50);
        assert!(space.has_room(50) && !space.has_room(51));
        space.on_sent(30);
        space.acknowledge(30);
        assert!(space.has_room(80) && !space.has_room(81));
        assert_eq!((space.set_window(50), space.set_window(20), space.has_room(51)), (true, false, false));
    }
}
