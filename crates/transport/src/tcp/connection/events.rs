//! What happened to a connection, until it is told.

use crate::endpoint::{Event, FailureReason};
use crate::units::Time;

/// Events that wait to be polled, one bit each, in the order in which they are told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Events {
    pending: u8,
    /// When the object was complete.
    completed_at: Time,
}

const CONNECTED: u8 = 1;
const COMPLETED: u8 = 2;
const CLOSED: u8 = 4;
const FAILED: u8 = 8;

impl Events {
    pub(super) fn on_connected(&mut self) {
        self.pending |= CONNECTED;
    }

    pub(super) fn on_completed(&mut self, now: Time) {
        self.pending |= COMPLETED;
        self.completed_at = now;
    }

    pub(super) fn on_closed(&mut self) {
        self.pending |= CLOSED;
    }

    pub(super) fn on_failed(&mut self) {
        self.pending |= FAILED;
    }

    /// The next. `may_close`: nothing has to leave any more, and so the end of the connection may be told.
    #[inline]
    pub(super) fn poll(&mut self, may_close: impl FnOnce() -> bool) -> Option<Event> {
        if self.pending == 0 {
            return None;
        }
        if self.take(CONNECTED) {
            return Some(Event::Connected);
        }
        if self.take(COMPLETED) {
            return Some(Event::Completed { at: self.completed_at });
        }
        if self.take(FAILED) {
            return Some(Event::Failed(FailureReason::TimedOut));
        }
        (may_close() && self.take(CLOSED)).then_some(Event::Closed)
    }

    fn take(&mut self, event: u8) -> bool {
        let was = self.pending & event != 0;
        self.pending &= !event;
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_the_end_last() {
        let mut events = Events::default();
        assert_eq!(events.poll(|| true), None);
        events.on_closed();
        events.on_completed(Time(7));
        events.on_connected();
        let told = [false, false, false, true, true].map(|may_close| events.poll(|| may_close));
        let expected = [Event::Connected, Event::Completed { at: Time(7) }];
        assert_eq!(told, [Some(expected[0]), Some(expected[1]), None, Some(Event::Closed), None]);
    }
}
