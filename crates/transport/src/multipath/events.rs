//! What happened to a transfer over several connections, until it is told.

use crate::endpoint::{Event, FailureReason};
use crate::units::Time;

/// Events of one end that wait to be polled.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    connected: bool,
    /// The first connection, or the failure that ends all.
    event: Option<Event>,
    completion: Option<Time>,
    /// Whether the end has been told, or a failure takes its place.
    closed_told: bool,
}

impl Events {
    /// A connection is established. Whether it is the first.
    pub(super) fn on_connected(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.connected, true);
        if first {
            self.event = Some(Event::Connected);
        }
        first
    }

    /// The object was complete at this time.
    pub(super) fn on_completed(&mut self, at: Time) {
        self.completion = Some(at);
    }

    pub(super) fn on_failed(&mut self, reason: FailureReason) {
        (self.event, self.closed_told) = (Some(Event::Failed(reason)), true);
    }

    /// The next. `over`: nothing more will happen, and nothing has to leave.
    pub(super) fn poll(&mut self, over: bool) -> Option<Event> {
        if let Some(event) = self.event.take() {
            return Some(event);
        }
        if let Some(at) = self.completion.take() {
            return Some(Event::Completed { at });
        }
        (over && !std::mem::replace(&mut self.closed_told, true)).then_some(Event::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_the_end_last() {
        let mut events = Events::default();
        assert!(events.on_connected() && !events.on_connected());
        events.on_completed(Time(7));
        let told = [true, true, false, true, true].map(|over| events.poll(over));
        assert_eq!(
            told,
            [Some(Event::Connected), Some(Event::Completed { at: Time(7) }), None, Some(Event::Closed), None]
        );
    }

    #[test]
    fn a_failure_is_the_end() {
        let mut events = Events::default();
        events.on_failed(FailureReason::TimedOut);
        assert_eq!([events.poll(true), events.poll(true)], [Some(Event::Failed(FailureReason::TimedOut)), None]);
    }
}
