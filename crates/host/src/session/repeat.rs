//! A message that is repeated until it is answered, with exponential backoff.

use anabranch_transport::{Duration, Time, back_off};

/// The first pause: some round trips of a data centre, and longer than host timers are late.
const FIRST: Duration = Duration::from_ms(20);
/// The longest pause.
const LONGEST: Duration = Duration::from_ms(1000);

/// When a message is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeat {
    first: Duration,
    due: Option<Time>,
    began: Option<Time>,
    times: u32,
}

impl Default for Repeat {
    fn default() -> Self {
        Self::with_first(FIRST)
    }
}

impl Repeat {
    /// For a message that is repeated after such a pause, if not after the usual one.
    pub(super) fn with_first(first: Duration) -> Self {
        Self { first, due: None, began: None, times: 0 }
    }

    /// The message is due from now on.
    pub(super) fn start(&mut self, now: Time) {
        *self = Self { due: Some(now), began: Some(now), ..Self::with_first(self.first) };
    }

    /// There was a sign of life: what is asked for may take longer.
    pub(super) fn extend(&mut self, now: Time) {
        self.began = self.began.map(|_| now);
    }

    /// The message has been answered.
    pub(super) fn stop(&mut self) {
        self.due = None;
    }

    /// Whether the message has been sent more than once.
    pub(super) fn is_repeated(&self) -> bool {
        self.times > 1
    }

    /// How often the message has been sent.
    pub(super) fn times(&self) -> u32 {
        self.times
    }

    /// If the message is to be repeated, it is due now.
    pub(super) fn hurry(&mut self, now: Time) {
        self.due = self.due.map(|due| due.min(now));
    }

    /// Since when the message has been sent, if it was sent just once.
    pub(super) fn since(&self) -> Option<Time> {
        self.began.filter(|_| !self.is_repeated())
    }

    /// How long ago the message was first due.
    pub(super) fn age(&self, now: Time) -> Duration {
        self.began.map_or(Duration::ZERO, |began| now.since(began))
    }

    /// When the message is due, if it is.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Whether the message is to be sent now; it is then due again after a pause.
    pub(super) fn take(&mut self, now: Time) -> bool {
        if self.due.is_none_or(|due| now < due) {
            return false;
        }
        self.due = Some(now + back_off(self.first, LONGEST, self.times));
        self.times += 1;
        true
    }

    /// Whether the message has gone unanswered for `limit`.
    pub(super) fn lasts(&self, now: Time, limit: Duration) -> bool {
        self.due.is_some() && self.began.is_some_and(|began| began + limit <= now)
    }

    /// When it will have gone unanswered for `limit`.
    pub(super) fn ends(&self, limit: Duration) -> Option<Time> {
        self.due.and(self.began).map(|began| began + limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_second_until_the_answer() {
        let mut repeat = Repeat::default();
        assert!(!repeat.take(Time::ZERO));
        repeat.start(Time::ZERO);
        let (mut now, mut pauses) = (Time::ZERO, Vec::new());
        for _ in 0..8 {
            assert!(repeat.take(now) && !repeat.take(now));
            let next = repeat.due().expect("it is repeated");
            pauses.push((next - now).ps() / 1_000_000_000);
            now = next;
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000]);
        let limit = Duration::from_ms(2000);
        assert!(repeat.lasts(now, limit) && !repeat.lasts(Time::ZERO + Duration::from_ms(1999), limit));
        repeat.extend(now);
        assert!(!repeat.lasts(now + Duration::from_ms(1999), limit) && repeat.lasts(now + limit, limit));
        repeat.stop();
        assert!(!repeat.take(now) && !repeat.lasts(now, limit) && repeat.ends(limit).is_none());
    }
}
