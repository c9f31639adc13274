//! The send sequence space (RFC 9293 §3.3.1): what is acknowledged, what was sent, what the receiver has room for.

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

    /// Whether an ACK of everything before `ack` is possible and not old (RFC 9293 §3.10.7.4).
    #[inline]
    pub(super) fn accepts(&self, ack: u64) -> bool {
        (self.una..=self.max).contains(&ack)
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
        assert_eq!([9, 10, 30, 31].map(|ack| space.accepts(ack)), [false, true, true, false]);
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
