//! When a sender takes packets for lost, or takes it that its receiver knows nothing of it.

use crate::ndp::NdpConfig;
use crate::ndp::timer::{NEVER, RetransmissionTimer};
use crate::units::{Duration, Time};

/// When the last reply of the receiver came, against the last timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastReply {
    None,
    BeforeTimeout,
    SinceTimeout,
}

/// What a sender does after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Packets that time out are sent again at once (NDP §3.2).
    SendAgain,
    /// The receiver may know nothing of the connection. One packet is enough to open it, and whole windows would repeat the
    /// incast that may have caused the loss; the rest waits for pulls, which are paced.
    SendOne,
    GiveUp,
}

/// The timer of a sender, which runs for the oldest packet in flight; if none is, for the pull that should come.
#[derive(Clone, Debug)]
pub(super) struct ReplyTimer {
    timeout: RetransmissionTimer,
    deadline: Time,
    /// When the next packet can leave the host, if that is not at once.
    departure: Time,
    /// When a packet last left the host.
    sent_at: Time,
    last_reply: LastReply,
    /// When packets were last taken for lost; if rounds count, for lost anew.
    timed_out_at: Time,
    /// Whether packets that left one after the other, are sent again and time out again have then timed out twice in a row. Otherwise each
    /// that times out makes those that follow it soon part of the same loss, and they may go round so for good.
    counts_rounds: bool,
}

impl ReplyTimer {
    pub(super) fn new(config: &NdpConfig) -> Self {
        Self {
            timeout: RetransmissionTimer::new(config.rto, config.rto_initial, config.retries),
            deadline: NEVER,
            departure: Time::ZERO,
            sent_at: Time::ZERO,
            last_reply: LastReply::None,
            timed_out_at: Time::ZERO,
            counts_rounds: false,
        }
    }

    /// From now on each round of losses counts as a timeout.
    pub(super) fn count_rounds(&mut self) {
        self.counts_rounds = true;
    }

    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn stop(&mut self) {
        self.deadline = NEVER;
    }

    /// After how long a packet in flight is overdue.
    pub(super) fn interval(&self) -> Duration {
        self.timeout.timeout()
    }

    /// Whether the receiver has ever answered.
    pub(super) fn has_reply(&self) -> bool {
        self.last_reply != LastReply::None
    }

    pub(super) fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    /// When a packet that is handed over now leaves the host.
    pub(super) fn departure(&self, now: Time) -> Time {
        now.max(self.departure)
    }

    /// The receiver has answered. Whether the timeout had been backed off, and is short again.
    pub(super) fn on_reply(&mut self) -> bool {
        self.last_reply = LastReply::SinceTimeout;
        self.timeout.on_packet()
    }

    /// A round trip was measured. Whether it is the first: the timer was set for a time that nothing was known of.
    pub(super) fn sample(&mut self, round_trip: Duration) -> bool {
        self.timeout.sample(round_trip)
    }

    /// Sets the timer. `oldest`: when the oldest packet in flight left. If none is in flight, a pull should come, unless the sender
    /// waits for its application (`starved`). The receiver sees to pulls with a timer of its own, and many connections may share
    /// its pull queue, so that timeout is long.
    pub(super) fn arm(&mut self, now: Time, oldest: Option<Time>, starved: bool) {
        let interval = self.interval();
        self.deadline = match oldest {
            // The whole window, lest the rest of it be repeated at the first answer.
            Some(_) if self.last_reply == LastReply::None => self.sent_at + interval,
            Some(sent_at) => sent_at + interval,
            None if starved => NEVER,
            None => (self.sent_at + self.timeout.pull_wait()).max(now + interval),
        };
    }

    /// A packet leaves the host at `departure`.
    pub(super) fn on_sent(&mut self, departure: Time) {
        self.sent_at = departure;
        let deadline = departure + self.interval();
        self.deadline = if self.last_reply == LastReply::None { deadline } else { self.deadline.min(deadline) };
    }

    /// Whether a pull should have come since the last packet left.
    pub(super) fn pull_is_overdue(&self, now: Time) -> bool {
        now.since(self.sent_at) >= self.timeout.pull_wait()
    }

    /// Packets, or the next pull, are overdue.
    pub(super) fn on_timeout(&mut self, now: Time) -> Remedy {
        // Those that left one after the other time out so.
        let one_loss = self.last_reply == LastReply::BeforeTimeout && now.since(self.timed_out_at) < self.interval();
        if !(one_loss && self.counts_rounds) {
            self.timed_out_at = now;
        }
        if self.last_reply == LastReply::SinceTimeout || one_loss {
            self.last_reply = LastReply::BeforeTimeout;
            Remedy::SendAgain
        } else if self.timeout.back_off() {
            Remedy::GiveUp
        } else {
            Remedy::SendOne
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer() -> ReplyTimer {
        ReplyTimer::new(&NdpConfig { retries: 2, ..NdpConfig::default() })
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn before_any_reply_the_last_packet_of_the_window_counts_and_later_the_oldest() {
        let mut timer = timer();
        timer.on_sent(ms(1));
        timer.on_sent(ms(3));
        assert_eq!(timer.deadline(), ms(53), "rto_initial");
        timer.arm(ms(4), Some(ms(1)), false);
        assert_eq!(timer.deadline(), ms(53));
        timer.on_reply();
        timer.sample(Duration::from_us(10));
        timer.arm(ms(4), Some(ms(3)), false);
        assert_eq!(timer.deadline(), ms(4) + Duration::from_us(10));
        timer.arm(ms(4), None, true);
        assert_eq!(timer.deadline(), NEVER, "the application has to move");
        timer.arm(ms(4), None, false);
        assert!(
            timer.deadline() > ms(250) && timer.pull_is_overdue(timer.deadline()),
            "a round of the host's pull queue"
        );
    }

    #[test]
    fn packets_that_were_answered_before_are_sent_again_and_a_silent_receiver_gets_one() {
        let mut timer = timer();
        timer.on_reply();
        timer.sample(Duration::from_us(10));
        assert_eq!(timer.on_timeout(ms(10)), Remedy::SendAgain);
        assert_eq!(timer.on_timeout(ms(10) + Duration::from_us(500)), Remedy::SendAgain, "of the same loss");
        let later = [20, 40, 80].map(|at| timer.on_timeout(ms(at)));
        assert_eq!(later, [Remedy::SendOne, Remedy::SendOne, Remedy::GiveUp], "two retries");
        assert!(timer.on_reply(), "the timeout is short again");
    }

    /// Two packets, half a timeout apart, each of which is sent again when it times out.
    #[test]
    fn where_rounds_count_packets_that_time_out_in_turn_end_with_giving_up() {
        let mut timer = timer();
        timer.count_rounds();
        timer.on_reply();
        timer.sample(Duration::from_us(10));
        let mut due = [ms(10), ms(10) + timer.interval() / 2];
        let remedies = std::iter::from_fn(|| {
            let next = usize::from(due[0] > due[1]);
            let remedy = timer.on_timeout(due[next]);
            due[next] += timer.interval();
            Some(remedy)
        });
        let last = remedies.take(20).position(|remedy| remedy == Remedy::GiveUp);
        assert!(last.is_some_and(|last| (4..10).contains(&last)), "two retries, in {last:?} timeouts");
    }
}
