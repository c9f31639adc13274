//! Permission bits of the file that is received: its sender is asked for them.
//!
//! They are asked for by messages that hosts of earlier builds drop, so such a host is not waited for long: who has not answered by then does not tell.

use anabranch_transport::Time;

use crate::session::repeat::Repeat;

/// Questions that must have gone unanswered before an object that is complete waits no longer: 300 ms.
const ENOUGH: u32 = 4;
/// Questions in all.
const MOST: u32 = 8;

/// What is known about the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    repeat: Repeat,
    mode: Option<u16>,
}

impl Attributes {
    /// The object is accepted: the sender is asked from now on.
    pub(super) fn start(&mut self, now: Time) {
        self.repeat.start(now);
    }

    /// Nothing need be asked any more.
    pub(super) fn stop(&mut self) {
        self.repeat.stop();
    }

    /// The permission bits, if a sender has told them.
    pub(super) fn mode(&self) -> Option<u16> {
        self.mode
    }

    /// A sender tells the permission bits. Of several, the first one counts.
    pub(super) fn on_mode(&mut self, mode: u16) {
        self.mode = self.mode.or(Some(mode));
        self.repeat.stop();
    }

    /// Whether a complete object need not wait for an answer.
    pub(super) fn is_settled(&self, now: Time) -> bool {
        self.mode.is_some()
            || self.repeat.times() >= ENOUGH && self.repeat.due().is_none_or(|due| due <= now)
            || self.repeat.times() > ENOUGH
    }

    /// The number of the question that is to be asked now, if one is.
    pub(super) fn take_question(&mut self, now: Time) -> Option<u32> {
        if !self.repeat.take(now) {
            return None;
        }
        let asked = self.repeat.times();
        if asked == MOST {
            self.repeat.stop();
        }
        Some(asked - 1)
    }

    /// When the next question is due, or nothing is waited for any more.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.repeat.due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::Duration;

    #[test]
    fn who_does_not_answer_is_asked_a_few_times_and_not_waited_for_long() {
        let mut attributes = Attributes::default();
        assert_eq!((attributes.take_question(Time::ZERO), attributes.poll_timeout()), (None, None));
        attributes.start(Time::ZERO);
        let (mut questions, mut settled) = (0, None);
        while let Some(due) = attributes.poll_timeout() {
            if attributes.is_settled(due) {
                settled.get_or_insert(due);
            }
            assert_eq!(attributes.take_question(due), Some(questions));
            questions += 1;
        }
        assert_eq!((questions, settled), (MOST, Some(Time::ZERO + Duration::from_ms(20 + 40 + 80 + 160))));
        assert!(attributes.is_settled(Time::ZERO) && attributes.mode().is_none());
    }

    #[test]
    fn the_first_answer_counts() {
        let mut attributes = Attributes::default();
        attributes.start(Time::ZERO);
        assert!(!attributes.is_settled(Time::ZERO) && attributes.take_question(Time::ZERO).is_some());
        attributes.on_mode(0o640);
        attributes.on_mode(0o777);
        assert_eq!((attributes.mode(), attributes.poll_timeout()), (Some(0o640), None));
        assert!(attributes.is_settled(Time::ZERO));
    }
}
