//! A pacer: when the next packet may leave, where a rate is kept by timers that fire late.
//!
//! Timers fire late, by 50 to 100 us on an idle host and by many milliseconds on a busy one. A pacer that forgets that time keeps less than its rate;
//! one that makes up for any pause sends bursts after the application had nothing to send. So a [`Pacer`] knows the two apart: what a *timer* was late
//! by is made up for, up to a bound, and of other pauses little.

use crate::units::{Duration, Time};

/// What a pause for want of packets is made up for, at most. Little more than a timer of an idle host is late by: two packets that come together need
/// not be parted by a timer.
pub const IDLE: Duration = Duration::from_us(500);

/// When it is the next packet's turn. In any interval of length t the packets have turns of at most t, and the bounds for late timers and for pauses,
/// and one packet.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    next: Time,
    /// The turn that a timer waits for.
    awaited: Option<Time>,
    /// Lateness that has not been made up for.
    owed: Duration,
    /// When the last packet left, or the last timer fired.
    last: Time,
    /// The most that a late timer is made up for.
    late: Duration,
}

impl Pacer {
    /// Late timers are made up for up to `late`.
    pub fn new(late: Duration) -> Self {
        Self { next: Time::ZERO, awaited: None, owed: Duration::ZERO, last: Time::ZERO, late }
    }

    /// When it is the next packet's turn, unless that is now. Whoever asks must ask again at that time, by its timer: if it asks later, the timer was
    /// late.
    pub fn wait(&mut self, now: Time) -> Option<Time> {
        if self.next > now {
            self.awaited = Some(self.next);
        } else if let Some(awaited) = self.awaited.take() {
            self.owed = (self.owed + now.since(awaited)).min(self.late);
            self.last = now;
        }
        self.awaited
    }

    /// A packet leaves that takes `time`.
    pub fn spend(&mut self, now: Time, time: Duration) {
        let pause = now.since(std::mem::replace(&mut self.last, now));
        if self.owed > Duration::ZERO {
            // It is being made up for, as fast as packets come: their pauses are no idle time, unless they are long.
            self.owed = if pause > self.late { Duration::ZERO } else { (self.owed + pause).min(self.late) };
        }
        let earliest = Time(now.ps().saturating_sub((self.owed + IDLE).ps()));
        self.next = self.next.max(earliest) + time;
        self.owed = self.owed.min(now.since(self.next));
    }
}
