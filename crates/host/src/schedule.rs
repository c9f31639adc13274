//! Which sessions may have something to send, and when the others are due.
//!
//! A session is either *ready* or waits for its timer, so that datagrams and wake-ups cost nothing for sessions that they do not concern, however
//! many a peer has opened.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use anabranch_transport::Time;

use crate::event::SessionId;

/// Datagrams of one session in a row, before another may send: as many as the kernel takes in one call.
const BURST: u32 = 64;

/// Sessions that have ended and are still in the queue, at most, besides as many as are ready.
const STALE: usize = 64;

/// Sessions by what they wait for.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// In order of their turns; those that are not in `ready` have ended.
    queue: VecDeque<SessionId>,
    ready: HashSet<SessionId>,
    /// Datagrams that the first session has sent in a row.
    burst: u32,
    /// Among those that are due at once, whoever has sent longest ago is first: sessions that keep a rate together take turns.
    timers: BTreeSet<(Time, u64, SessionId)>,
    due: HashMap<SessionId, (Time, u64)>,
    /// How many datagrams had been sent when each session sent its last one.
    last_sent: HashMap<SessionId, u64>,
    sent: u64,
}

impl Schedule {
    /// Something has happened to a session: it may have something to send.
    pub(crate) fn make_ready(&mut self, id: SessionId) {
        if self.ready.insert(id) {
            self.queue.push_back(id);
            self.clear_timer(id);
        }
    }

    /// A session has nothing to send until `due`.
    pub(crate) fn wait(&mut self, id: SessionId, due: Option<Time>) {
        self.leave(id);
        if let Some(due) = due {
            let last = self.last_sent.get(&id).copied().unwrap_or(0);
            self.timers.insert((due, last, id));
            self.due.insert(id, (due, last));
        }
    }

    /// A session has ended.
    pub(crate) fn remove(&mut self, id: SessionId) {
        self.leave(id);
        self.last_sent.remove(&id);
    }

    fn leave(&mut self, id: SessionId) {
        self.clear_timer(id);
        if self.ready.remove(&id) {
            if self.queue.front() == Some(&id) {
                self.end_turn();
                self.queue.pop_front();
            } else if self.queue.len() > 2 * self.ready.len() + STALE {
                self.queue.retain(|other| self.ready.contains(other));
            }
        }
    }

    fn clear_timer(&mut self, id: SessionId) {
        if let Some((due, last)) = self.due.remove(&id) {
            self.timers.remove(&(due, last, id));
        }
    }

    /// The session whose turn it is to send.
    pub(crate) fn turn(&mut self) -> Option<SessionId> {
        loop {
            let first = *self.queue.front()?;
            if !self.ready.contains(&first) {
                self.queue.pop_front();
                self.burst = 0;
            } else if self.burst >= BURST && self.queue.len() > 1 {
                self.end_turn();
                self.queue.rotate_left(1);
            } else {
                return Some(first);
            }
        }
    }

    /// The session whose turn it is has sent a datagram.
    pub(crate) fn sent(&mut self) {
        self.burst += 1;
        self.sent += 1;
    }

    /// The turn of the first session is over.
    fn end_turn(&mut self) {
        if let Some(&first) = self.queue.front().filter(|_| self.burst > 0) {
            self.last_sent.insert(first, self.sent);
        }
        self.burst = 0;
    }

    /// Sessions that may have something to send, in turn.
    pub(crate) fn ready(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.queue.iter().copied().filter(|id| self.ready.contains(id))
    }

    /// When the first waiting session is due.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(due, ..)| *due)
    }

    /// The waiting sessions that are due.
    pub(crate) fn due(&self, now: Time) -> impl Iterator<Item = SessionId> + '_ {
        self.timers.iter().take_while(move |(due, ..)| *due <= now).map(|(.., id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Time {
        Time(ps)
    }

    #[test]
    fn a_session_is_ready_or_waits_and_each_has_its_turn() {
        let mut schedule = Schedule::default();
        let ids: Vec<SessionId> = (0..3).map(SessionId).collect();
        for &id in &ids {
            schedule.wait(id, Some(at(10 + id.0)));
        }
        assert_eq!((schedule.next_timer(), schedule.turn()), (Some(at(10)), None));
        assert_eq!(schedule.due(at(11)).collect::<Vec<_>>(), ids[..2]);
        for &id in ids.iter().chain(&ids) {
            schedule.make_ready(id);
        }
        assert_eq!((schedule.next_timer(), schedule.ready().count()), (None, 3), "each once");
        let mut sent = [0; 3];
        for _ in 0..3 * BURST {
            sent[schedule.turn().expect("ready").0 as usize] += 1;
            schedule.sent();
        }
        assert_eq!(sent, [BURST; 3]);
        schedule.remove(ids[0]);
        schedule.wait(ids[1], None);
        assert_eq!((schedule.turn(), schedule.next_timer()), (Some(ids[2]), None));
    }

    #[test]
    fn of_those_that_are_due_at_once_the_one_that_has_waited_longest_is_first() {
        let mut schedule = Schedule::default();
        let mut order = Vec::new();
        (0..3).for_each(|id| schedule.wait(SessionId(id), Some(at(0))));
        for n in 0..9 {
            schedule.due(at(n)).collect::<Vec<_>>().into_iter().for_each(|id| schedule.make_ready(id));
            // Only one may send, and then nobody.
            order.push(schedule.turn().expect("ready").0);
            schedule.sent();
            while let Some(id) = schedule.turn() {
                schedule.wait(id, Some(at(n + 1)));
            }
        }
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn sessions_that_end_before_their_turn_leave_nothing() {
        let mut schedule = Schedule::default();
        schedule.make_ready(SessionId(0));
        for n in 1..10_000 {
            schedule.make_ready(SessionId(n));
            schedule.remove(SessionId(n));
            assert!(schedule.queue.len() <= 2 + STALE + 1);
        }
        assert_eq!(schedule.turn(), Some(SessionId(0)));
        schedule.remove(SessionId(0));
        assert_eq!(schedule.turn(), None);
        assert!(schedule.queue.is_empty() && schedule.timers.is_empty() && schedule.due.is_empty());
        assert!(schedule.last_sent.is_empty());
    }
}
