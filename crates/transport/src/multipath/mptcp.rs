//! MPTCP's data level at the sender (RFC 8684 §3.3): which data is sent next, within the receive window of the connection, and which
//! is sent again on another subflow.

use super::bundle::{Set, members, next_of};
use super::config::MptcpScheduler;
use crate::ranges::RangeSet;
use crate::tcp::Connection;
use std::ops::Range;

/// A sender's data under MPTCP.
#[derive(Clone, Debug)]
pub(super) struct DataLevel {
    scheduler: MptcpScheduler,
    /// Bytes provided by the application.
    available: u64,
    /// The next byte that was never handed out.
    next: u64,
    /// Data ACK: everything before it has arrived.
    una: u64,
    /// Bytes that the receiver accepts beyond `una` (§3.3.4: shared by all subflows, relative to the data ACK).
    window: u64,
    segment: u64,
    /// Data unacknowledged on a subflow that does not get through, to be sent on another (§3.3.6).
    again: RangeSet,
    /// Segments of `again` that were handed out.
    pub(super) reinjected: u64,
    /// Whether the oldest bytes of a full window are sent again; and the end of those for which that was tried.
    opportunistic: bool,
    tried: u64,
}

impl DataLevel {
    pub(super) fn new(scheduler: MptcpScheduler, opportunistic: bool, segment: u64, window: u64) -> Self {
        Self {
            scheduler,
            available: 0,
            next: 0,
            una: 0,
            window,
            segment,
            again: RangeSet::default(),
            reinjected: 0,
            opportunistic,
            tried: 0,
        }
    }

    pub(super) fn provide(&mut self, end: u64) {
        self.available = self.available.max(end);
    }

    /// A data ACK arrived, with a window. Returns whether more may be sent than before.
    pub(super) fn on_ack(&mut self, ack: u64, window: u64) -> bool {
        if ack < self.una || ack > self.next {
            return false;
        }
        let before = self.una + self.window;
        (self.una, self.window) = (ack, window);
        self.again.remove_below(ack);
        self.una + self.window > before
    }

    /// Everything before this has arrived.
    pub(super) fn acknowledged(&self) -> u64 {
        self.una
    }

    /// These bytes are to be sent on another subflow, unless they have arrived.
    pub(super) fn send_again(&mut self, data: &Range<u64>) {
        let start = data.start.max(self.una);
        if start < data.end {
            self.again.insert(start, data.end);
        }
    }

    /// The subflow that gets the next segment, out of those that could send one. A subflow that does not get through is not among them: after a
    /// timeout its window is one segment, which is in flight.
    pub(super) fn choose(&self, candidates: Set, ends: &[Connection], turn: usize) -> Option<usize> {
        match self.scheduler {
            MptcpScheduler::RoundRobin => next_of(candidates, turn),
            MptcpScheduler::MinRtt => members(candidates).min_by_key(|&i| ends[i].smoothed_rtt()),
        }
    }

    /// The next segment.
    pub(super) fn take(&mut self) -> Option<Range<u64>> {
        if let Some(first) = self.again.as_slice().first().copied() {
            let end = first.end.min(first.start + self.segment);
            self.again.remove_below(end);
            self.reinjected += 1;
            return Some(first.start..end);
        }
        let end = self.available.min(self.next + self.segment);
        if end <= self.next || end > self.una + self.window {
            return None;
        }
        let piece = self.next..end;
        self.next = end;
        Some(piece)
    }

    /// If the receive window is full, only the oldest unacknowledged bytes can open it: returns these, once, for a subflow with room that has not
    /// sent them itself (Raiciu et al. 2012, §4.2, mechanism 1: opportunistic retransmission).
    pub(super) fn take_oldest(&mut self, sent_by_it: impl Fn(u64) -> bool) -> Option<Range<u64>> {
        let full = self.available > self.next && self.available.min(self.next + self.segment) > self.una + self.window;
        if !self.opportunistic || !full || self.tried > self.una || self.next == self.una || sent_by_it(self.una) {
            return None;
        }
        let end = self.next.min(self.una + self.segment);
        self.tried = end;
        self.reinjected += 1;
        Some(self.una..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_counts_from_the_data_ack() {
        let mut data = DataLevel::new(MptcpScheduler::MinRtt, true, 10, 25);
        data.provide(1000);
        assert_eq!([data.take(), data.take(), data.take()], [Some(0..10), Some(10..20), None]);
        assert!(data.on_ack(10, 25));
        assert_eq!([data.take(), data.take()], [Some(20..30), None]);
        assert!(!data.on_ack(500, 25), "what was never sent");
        assert!(!data.on_ack(0, 25), "an old one");
        assert!(!data.on_ack(20, 15), "as far as before");
    }

    #[test]
    fn a_full_window_has_its_oldest_bytes_sent_again_once() {
        for opportunistic in [true, false] {
            let mut data = DataLevel::new(MptcpScheduler::MinRtt, opportunistic, 10, 25);
            data.provide(1000);
            assert_eq!(data.take_oldest(|_| false), None, "the window is not full");
            (0..2).for_each(|_| assert!(data.take().is_some()));
            assert_eq!(data.take_oldest(|byte| byte == 0), None, "it has sent them itself");
            assert_eq!(data.take_oldest(|_| false), opportunistic.then_some(0..10));
            assert_eq!(data.take_oldest(|_| false), None, "once");
            data.on_ack(10, 15);
            assert_eq!(data.take_oldest(|_| false), opportunistic.then_some(10..20), "the next are the oldest now");
        }
    }

    #[test]
    fn what_is_sent_again_comes_first_and_only_once() {
        let mut data = DataLevel::new(MptcpScheduler::MinRtt, true, 10, 100);
        data.provide(1000);
        (0..5).for_each(|_| assert!(data.take().is_some()));
        data.on_ack(10, 100);
        for again in [0..20, 30..35] {
            data.send_again(&again);
        }
        assert_eq!([data.take(), data.take(), data.take()], [Some(10..20), Some(30..35), Some(50..60)]);
        data.send_again(&(30..50));
        data.on_ack(45, 100);
        assert_eq!([data.take(), data.take()], [Some(45..50), Some(60..70)], "what has arrived meanwhile is not sent");
    }
}
