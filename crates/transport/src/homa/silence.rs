//! How long an end waits for the other one (Homa §3.7): a constant time, a number of times in a row.

use super::HomaConfig;
use crate::retries::Retries;
use crate::units::{Duration, Time};

/// The silence of the other end.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    timeout: Duration,
    since: Time,
    retries: Retries,
    most: u32,
}

impl Silence {
    /// Of a sender, which a receiver bears: it knows what it misses.
    pub(super) fn of_sender(config: &HomaConfig) -> Self {
        Self::new(config, config.resend_timeout)
    }

    /// Of a receiver, which a sender bears twice as long: a receiver that knows of the message speaks first.
    pub(super) fn of_receiver(config: &HomaConfig) -> Self {
        Self::new(config, config.resend_timeout * 2)
    }

    fn new(config: &HomaConfig, timeout: Duration) -> Self {
        Self { timeout, since: Time::ZERO, retries: Retries::default(), most: config.retries }
    }

    /// The other end has shown that it is there.
    pub(super) fn broken(&mut self, now: Time) {
        self.since = now;
        self.retries.on_answer();
    }

    /// From now on it is waited for.
    pub(super) fn begins(&mut self, now: Time) {
        self.since = self.since.max(now);
    }

    /// When it has lasted too long.
    pub(super) fn deadline(&self) -> Time {
        self.since + self.timeout
    }

    /// It has lasted too long. Returns whether the other end is given up.
    pub(super) fn is_final(&mut self, now: Time) -> bool {
        self.since = now;
        self.retries.on_timeout(self.most)
    }
}
