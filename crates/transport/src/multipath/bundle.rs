//! The TCP connections of one end, and operations on all of them.

use crate::endpoint::{Endpoint, Stats, Transmit};
use crate::tcp::{Connection, Segment};
use crate::units::Time;

/// A set of subflows, one bit each.
pub(super) type Set = u64;

/// The members of a set, in order.
pub(super) fn members(mut set: Set) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            first
        })
    })
}

/// The first member of a set at or after `from`, wrapping around.
pub(super) fn next_of(set: Set, from: usize) -> Option<usize> {
    let behind = set & u64::MAX.checked_shl(from as u32).unwrap_or(0);
    members(if behind != 0 { behind } else { set }).next()
}

/// The connections, with their timers in one place.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    ends: Vec<Connection>,
    /// When each wants to be woken.
    deadlines: Vec<Time>,
    /// Connections that may have something to send.
    ready: Set,
    /// Closed connections.
    closed: Set,
    /// Until when packets that are handed over now may wait in the host's queue.
    departure: Time,
}

impl Bundle {
    pub(super) fn new(ends: Vec<Connection>) -> Self {
        let deadlines = vec![Time::MAX; ends.len()];
        let mut bundle = Self { deadlines, ready: 0, closed: 0, departure: Time::ZERO, ends };
        bundle.wake_all();
        (0..bundle.ends.len()).for_each(|i| bundle.refresh(i));
        bundle
    }

    pub(super) fn ends(&self) -> &[Connection] {
        &self.ends
    }

    pub(super) fn ends_mut(&mut self) -> &mut [Connection] {
        &mut self.ends
    }

    /// Connection `i`. Whoever changes it says so with [`touched`](Self::touched).
    pub(super) fn end_mut(&mut self, i: usize) -> &mut Connection {
        &mut self.ends[i]
    }

    pub(super) fn all(&self) -> Set {
        u64::MAX >> (64 - self.ends.len())
    }

    /// Something happened to connection `i`: it may want to send, and its timer may have moved.
    pub(super) fn touched(&mut self, i: usize) {
        self.ready |= 1 << i;
        self.refresh(i);
    }

    fn refresh(&mut self, i: usize) {
        self.deadlines[i] = self.ends[i].poll_timeout().unwrap_or(Time::MAX);
    }

    pub(super) fn wake_all(&mut self) {
        self.ready = self.all() & !self.closed;
    }

    pub(super) fn ready(&self) -> Set {
        self.ready
    }

    pub(super) fn is_closed(&self, i: usize) -> bool {
        self.closed & (1 << i) != 0
    }

    pub(super) fn closed(&self) -> Set {
        self.closed
    }

    pub(super) fn is_all_closed(&self) -> bool {
        self.closed == self.all()
    }

    /// Ends connection `i` here and now, without a word.
    pub(super) fn abort(&mut self, i: usize) {
        self.ends[i].abort();
        self.close(i);
    }

    /// Connection `i` is closed; it is not asked for packets any more.
    pub(super) fn close(&mut self, i: usize) {
        self.closed |= 1 << i;
        self.ready &= !(1 << i);
        self.deadlines[i] = Time::MAX;
    }

    pub(super) fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    /// The next packet of connection `i`.
    pub(super) fn poll(&mut self, i: usize, now: Time) -> Option<Transmit<Segment>> {
        self.ends[i].set_departure(self.departure);
        let out = self.ends[i].poll_transmit(now);
        if out.is_none() {
            self.ready &= !(1 << i);
        }
        self.refresh(i);
        out
    }

    /// The earliest of their timers.
    pub(super) fn deadline(&self) -> Time {
        self.deadlines.iter().copied().min().unwrap_or(Time::MAX)
    }

    /// Connections whose timers have expired.
    pub(super) fn due(&self, now: Time) -> Set {
        let due = self.deadlines.iter().enumerate().filter(|(_, at)| **at <= now);
        due.fold(0, |set, (i, _)| set | 1 << i)
    }

    /// A human-readable report of what each open connection waits for.
    pub(super) fn waiting_for(&self) -> String {
        let open = members(self.all() & !self.closed);
        let each: Vec<_> = open.map(|i| format!("subflow {i}: {}", self.ends[i].waiting_for())).collect();
        if each.is_empty() { "nothing: all subflows are closed".into() } else { each.join("; ") }
    }

    pub(super) fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        for end in &self.ends {
            sum += end.stats();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;

    #[test]
    fn what_is_aborted_is_closed_and_has_neither_packets_nor_a_timer() {
        let config = TcpConfig::default();
        let ends = (0..2).map(|_| Connection::connect(&config, Some(1000), Time::ZERO)).collect();
        let mut bundle = Bundle::new(ends);
        assert!(bundle.poll(0, Time::ZERO).is_some() && bundle.deadline() < Time::MAX);
        bundle.abort(0);
        assert_eq!((bundle.closed(), bundle.ready(), bundle.deadline()), (0b01, 0b10, Time::MAX));
        bundle.wake_all();
        assert!(!bundle.is_all_closed() && bundle.ready() == 0b10);
        bundle.abort(1);
        assert!(bundle.is_all_closed());
    }

    #[test]
    fn turns_go_round() {
        assert_eq!(members(0b1011).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!([next_of(0b1011, 0), next_of(0b1011, 2), next_of(0b1011, 4)], [Some(0), Some(3), Some(0)]);
        assert_eq!([next_of(0b1011, 64), next_of(0, 3)], [Some(0), None]);
    }
}
