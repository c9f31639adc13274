//! How far a session is at its receiver, and when it closes.
//!
//! A sender that has not been told that the receiver has the whole object goes on to send. So a complete receiver stays for a while to answer,
//! and for as long again after each symbol that comes late.

use crate::Time;

/// How far the session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Receiving,
    /// The whole object is there, and late symbols are answered until the time at which the session closes; `None`: it has closed.
    Completed(Option<Time>),
    Failed,
}

impl State {
    /// Whether nothing more is asked for.
    #[inline]
    pub(super) fn is_over(self) -> bool {
        !matches!(self, Self::Receiving)
    }

    #[inline]
    pub(super) fn is_completed(self) -> bool {
        matches!(self, Self::Completed(_))
    }

    #[inline]
    pub(super) fn has_failed(self) -> bool {
        matches!(self, Self::Failed)
    }

    /// When it closes, if the object is complete and it has not closed.
    #[inline]
    pub(super) fn closes_at(self) -> Option<Time> {
        if let Self::Completed(at) = self { at } else { None }
    }

    /// A symbol has come late: it does not close before `at`. Returns whether the object is complete.
    pub(super) fn stay(&mut self, until: Time) -> bool {
        if let Self::Completed(Some(at)) = self {
            *at = (*at).max(until);
        }
        self.is_completed()
    }

    /// Closes if it is time. Returns whether it has closed now.
    pub(super) fn close(&mut self, now: Time) -> bool {
        let is_due = self.closes_at().is_some_and(|at| at <= now);
        if is_due {
            *self = Self::Completed(None);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_closes_once_and_not_before_late_symbols_are_answered() {
        let mut state = State::Completed(Some(Time(10)));
        assert!(state.stay(Time(5)) && !state.close(Time(9)));
        assert!(state.stay(Time(12)) && !state.close(Time(11)));
        assert_eq!(state.closes_at(), Some(Time(12)));
        assert!(state.close(Time(12)) && !state.close(Time(12)));
        assert!(state.stay(Time(20)) && state.is_completed(), "late symbols are answered still");
        assert_eq!(state.closes_at(), None);
    }

    #[test]
    fn only_what_is_complete_closes() {
        for mut state in [State::Receiving, State::Failed] {
            assert!(!state.stay(Time(9)) && !state.close(Time(9)) && state.closes_at().is_none());
            assert_eq!((state.is_over(), state.is_completed()), (state.has_failed(), false));
        }
    }
}
