//! What changes from outside while a run goes on, and when: failures and repairs, rates, the ends of sessions.

use super::session_group::SessionGroup;
use crate::fabric::graph::NodeId;
use crate::workload::Session;
use anabranch_transport::{Rate, Time};

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One link, both directions.
    Link(u32),
    /// All links of a switch.
    Switch(NodeId),
}

/// How it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Packets waiting and in flight are lost; routing avoids it from then on.
    Cut(Target),
    /// Back in service.
    Restore(Target),
    /// A new bit rate; routing does not react.
    Rate(Target, Rate),
    /// The application of a session stops it.
    End(u32),
}

/// The changes of a run, in order of time.
pub(super) struct Schedule {
    changes: Vec<(Time, Change)>,
    done: usize,
}

impl Schedule {
    /// These changes, in order of time, and the ends of sessions that stop after a time.
    pub(super) fn new(mut changes: Vec<(Time, Change)>, sessions: &[Session], groups: &[SessionGroup]) -> Self {
        for (session, spec) in sessions.iter().enumerate() {
            if let (Some(duration), None) = (groups[usize::from(spec.group)].duration, spec.size) {
                changes.push((spec.start + duration, Change::End(session as u32)));
            }
        }
        changes.sort_by_key(|c| c.0);
        Self { changes, done: 0 }
    }

    /// When the next change is due, if there is one.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.changes.get(self.done).map(|c| c.0)
    }

    /// Whether links are cut at a time, which is not after that of the next change: what is on its way there is lost.
    pub(super) fn cuts_at(&self, time: Time) -> bool {
        let due = self.changes[self.done..].iter().take_while(|change| change.0 <= time);
        due.into_iter().any(|change| matches!(change.1, Change::Cut(_)))
    }

    /// Takes the next change that is due by now.
    pub(super) fn take(&mut self, now: Time) -> Option<Change> {
        let &(_, change) = self.changes.get(self.done).filter(|c| c.0 <= now)?;
        self.done += 1;
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_in_order_of_time_and_once() {
        let at = |us: u64| Time(us * 1_000_000);
        let cut = |link| Change::Cut(Target::Link(link));
        let mut schedule = Schedule::new(vec![(at(9), cut(1)), (at(3), cut(2)), (at(9), cut(3))], &[], &[]);
        assert_eq!((schedule.next_time(), schedule.take(at(2))), (Some(at(3)), None));
        assert_eq!((schedule.take(at(3)), schedule.take(at(8))), (Some(cut(2)), None));
        assert_eq!((schedule.take(at(9)), schedule.take(at(9))), (Some(cut(1)), Some(cut(3))), "as they were given");
        assert_eq!((schedule.next_time(), schedule.take(at(99))), (None, None));
    }
}
