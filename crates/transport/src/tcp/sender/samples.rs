//! Which segments are timed, and the round trips that they give.
//!
//! One at a time for the retransmission timer, and each for controls that go by delay. Never one that was sent twice (Karn's
//! algorithm, RFC 6298 §3), nor one whose ACK would wait for the repair of a loss.

use crate::tcp::timer::RetransmissionTimer;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The segments of one sender that are being timed.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    /// The segment that is timed for the retransmission timer ends here; 0 if none is.
    end: u64,
    sent_at: Time,
    /// Where each is: those outstanding that were sent once, with their ends, the oldest first.
    #[expect(clippy::box_collection, reason = "few senders have it, and all pay for its size")]
    each: Option<Box<VecDeque<(u64, Time)>>>,
}

impl Samples {
    /// `each`: whether each segment is timed.
    pub(super) fn new(each: bool) -> Self {
        Self { end: 0, sent_at: Time::ZERO, each: each.then(Box::default) }
    }

    /// A segment leaves for the first time; it ends at this offset. `hole`: the ACK of it may have to wait for a repair.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64, now: Time, hole: bool) {
        if hole {
            return;
        }
        if self.end == 0 {
            (self.end, self.sent_at) = (end, now);
        }
        if let Some(each) = &mut self.each {
            each.push_back((end, now));
        }
    }

    /// Something is sent again: whatever is outstanding may be acknowledged by that, or have waited for it.
    pub(super) fn on_retransmission(&mut self) {
        // A probe repeats where no loss was found (Karn's rule, RFC 6298 §3).
        self.end = 0;
        if let Some(each) = &mut self.each {
            each.clear();
        }
    }

    /// A loss was found: the ACK that the retransmission timer waits for has to wait for the repair.
    pub(super) fn on_loss(&mut self) {
        self.end = 0;
    }

    /// Everything before an offset is acknowledged: the round trip of the newest timed segment of it, which the
    /// retransmission timer learns.
    #[inline]
    pub(super) fn on_ack(&mut self, una: u64, now: Time, timer: &mut RetransmissionTimer) -> Option<Duration> {
        let mut round_trip = None;
        if self.end != 0 && una >= self.end {
            let timed = now.since(self.sent_at);
            timer.sample(timed);
            round_trip = Some(timed);
            self.end = 0;
        }
        let Some(each) = &mut self.each else { return round_trip };
        let mut newest = None;
        while each.front().is_some_and(|(end, _)| *end <= una) {
            newest = each.pop_front().map(|(_, at)| now.since(at));
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;

    /// Segments of one byte leave at these times; then everything before each offset is acknowledged.
    fn round_trips(samples: &mut Samples, sent: &[u64], acks: &[(u64, u64)]) -> (Vec<Option<u64>>, Duration) {
        let mut timer = RetransmissionTimer::new(&TcpConfig::default());
        for (end, at) in (1..).zip(sent) {
            samples.on_sent(end, Time(*at), false);
        }
        let each = acks.iter().map(|(una, at)| samples.on_ack(*una, Time(*at), &mut timer).map(|rtt| rtt.0));
        (each.collect(), timer.srtt())
    }

    #[test]
    fn the_timer_has_one_segment_at_a_time() {
        let mut samples = Samples::new(false);
        let (each, srtt) = round_trips(&mut samples, &[0, 10, 20], &[(1, 100), (2, 150), (3, 160)]);
        assert_eq!((each, srtt), (vec![Some(100), None, None], Duration(100)));
    }

    #[test]
    fn a_control_that_asks_has_the_newest_of_each_ack() {
        let mut samples = Samples::new(true);
        let (each, srtt) = round_trips(&mut samples, &[0, 10, 20], &[(1, 100), (3, 160)]);
        assert_eq!((each, srtt), (vec![Some(100), Some(140)], Duration(100)));
    }

    #[test]
    fn what_may_have_been_sent_twice_is_no_sample() {
        let mut samples = Samples::new(true);
        round_trips(&mut samples, &[0, 10], &[]);
        samples.on_loss();
        samples.on_retransmission();
        assert_eq!(round_trips(&mut samples, &[], &[(2, 100)]), (vec![None], Duration::ZERO));
    }
}
