//! The pull queue that all receiver-driven sessions of a host share (NDP §3.2, SCDP §IV-C).
//!
//! It decides *whose* pull leaves next (the most urgent session that wants one, round robin among equals) and *when*
//! (paced, so that the packets pulled fill the host's incoming link and no more). It does not know what a pull looks like:
//! the driver asks the session for it with [`Endpoint::poll_pull`](crate::Endpoint::poll_pull).

use crate::demotion::MOST_THRESHOLDS;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// As many as there are priorities.
const URGENCIES: usize = MOST_THRESHOLDS + 1;

/// Paced queue of sessions that want to send pulls. `K` is the driver's handle of a session.
#[derive(Clone, Debug)]
pub struct PullQueue<K> {
    /// By urgency, the most urgent first; each session at most once.
    turns: [VecDeque<K>; URGENCIES],
    /// Bit `u` is set when somebody of urgency `u` waits.
    waiting: u8,
    interval: Duration,
    next_at: Time,
}

impl<K: Copy + PartialEq> PullQueue<K> {
    /// A queue that lets one pull leave every `interval`: the time that a full-size packet takes on the incoming link.
    pub fn new(interval: Duration) -> Self {
        Self { turns: Default::default(), waiting: 0, interval, next_at: Time::ZERO }
    }

    /// `session` wants pulls and is not in the queue yet: it joins at the end of the round of those that are as urgent, 0
    /// the most; from 7 on all are alike. If all have the same, they take turns, as the papers have it.
    pub fn push(&mut self, session: K, urgency: u8) {
        debug_assert!(self.turns.iter().all(|round| !round.contains(&session)), "a session queues once");
        let urgency = usize::from(urgency).min(URGENCIES - 1);
        self.turns[urgency].push_back(session);
        self.waiting |= 1 << urgency;
    }

    /// Whether no session waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// When the next pull may leave; `None` if nobody wants one.
    pub fn poll_timeout(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.next_at)
    }

    /// The session whose turn it is, if one may send now. The caller sends one pull of that session, and pushes it
    /// again if it wants more.
    pub fn poll(&mut self, now: Time) -> Option<K> {
        if now < self.next_at {
            return None;
        }
        let round = self.turns.get_mut(self.waiting.trailing_zeros() as usize)?;
        let session = round.pop_front()?;
        if round.is_empty() {
            self.waiting &= self.waiting - 1; // the lowest bit
        }
        self.next_at = now + self.interval;
        Some(session)
    }

    /// The session just granted a turn had nothing to send: the turn is not spent.
    pub fn refund(&mut self, now: Time) {
        self.next_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_take_turns_at_the_pace_of_the_link() {
        let pace = Duration::from_us(12);
        let mut q = PullQueue::new(pace);
        q.push('a', 0);
        q.push('b', 0);
        assert_eq!(q.poll(Time::ZERO), Some('a'));
        q.push('a', 0);
        assert_eq!(q.poll(Time::ZERO), None);
        assert_eq!(q.poll_timeout(), Some(Time::ZERO + pace));
        assert_eq!(q.poll(Time::ZERO + pace), Some('b'));
        assert_eq!(q.poll(Time::ZERO + pace * 2), Some('a'));
        assert_eq!(q.poll_timeout(), None);
    }

    #[test]
    fn the_urgent_go_first_and_equals_take_turns() {
        let mut q = PullQueue::new(Duration::ZERO);
        for (session, urgency) in [('d', 200), ('c', 7), ('a', 1), ('b', 1)] {
            q.push(session, urgency);
        }
        let order: Vec<char> = std::iter::from_fn(|| q.poll(Time::ZERO)).collect();
        assert_eq!(order, ['a', 'b', 'd', 'c'], "beyond the last urgency all are alike");
        assert!(q.is_empty());
    }
}
