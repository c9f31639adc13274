//! Segments: packets that leave one after the other at the rate of the link, and of which the last asks to be acknowledged. That gives a round
//! trip: from when the first packet leaves until the acknowledgement, without the time that the segment takes on the link (TIMELY, §4.1).
//!
//! The rate spaces segments: the next one begins as much later as this one takes at the rate (§4.3). What has been sent twice is not measured (Karn's
//! algorithm), nor a segment that is only acknowledged together with a later one.

use crate::units::{Duration, PS_PER_S, Rate, Time};
use std::collections::VecDeque;

/// A segment that is being sent, or is on its way.
#[derive(Clone, Copy, Debug)]
struct Segment {
    began: Time,
    /// Bytes of packets on the wire.
    size: u64,
    /// The first packet after it.
    end: u64,
    repeats: bool,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) psn: u64,
    /// Bytes on the wire, and of these headers.
    pub(super) size: u64,
    pub(super) header: u64,
    /// It has been sent before.
    pub(super) repeats: bool,
}

/// The segments of a connection.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// Bytes of a message in a segment, and those in the current one.
    full: u64,
    filled: u64,
    line: Rate,
    current: Option<Segment>,
    /// Those to be measured, the oldest first.
    sent: VecDeque<Segment>,
}

impl Segments {
    /// Of `full` bytes each, on a link of rate `line`.
    pub(super) fn new(full: u64, line: Rate) -> Self {
        Self { full, filled: 0, line, current: None, sent: VecDeque::new() }
    }

    /// A packet leaves. If a segment ends with it, because it is full or there is no `more` to send now: when the next one may begin at `rate`, in
    /// bits per second.
    pub(super) fn on_sent(&mut self, now: Time, packet: Packet, more: bool, rate: f64) -> Option<Time> {
        let new = Segment { began: now, size: 0, end: 0, repeats: false };
        let segment = self.current.get_or_insert(new);
        segment.size += packet.size;
        segment.end = packet.psn + 1;
        segment.repeats |= packet.repeats;
        self.filled += packet.size - packet.header;
        if self.filled < self.full && more {
            return None;
        }
        let segment = self.current.take()?;
        self.filled = 0;
        if !segment.repeats {
            self.sent.push_back(segment);
        }
        Some(segment.began + Duration((segment.size as f64 * 8.0 * PS_PER_S as f64 / rate).round() as u64))
    }

    /// All packets before this one are acknowledged: a round trip, if that is the end of a segment.
    pub(super) fn on_ack(&mut self, now: Time, expected: u64) -> Option<Duration> {
        let mut newest = None;
        while let Some(segment) = self.sent.front().copied().filter(|segment| segment.end <= expected) {
            self.sent.pop_front();
            newest = Some(segment);
        }
        let segment = newest.filter(|segment| segment.end == expected)?;
        let took = now.since(segment.began);
        Some(Duration(took.ps().saturating_sub(self.line.transmit_time(segment.size).ps())))
    }

    /// The sender goes back: nothing that is on its way will be acknowledged as it was sent.
    pub(super) fn on_go_back(&mut self) {
        self.sent.clear();
        (self.current, self.filled) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn packet(psn: u64) -> Packet {
        Packet { psn, size: 1000, header: 100, repeats: false }
    }

    /// Three packets a segment, at 1 Gbps: 8 us each.
    fn segments() -> Segments {
        Segments::new(2000, Rate::from_gbps(1))
    }

    #[test]
    fn the_rate_spaces_segments_and_the_last_packet_gives_the_round_trip() {
        let mut segments = segments();
        let sent = [0, 1, 2].map(|n| segments.on_sent(at(100 + 8 * n), packet(n), true, 500e6));
        // 3000 B take 48 us at 500 Mbps, from when the first left.
        assert_eq!(sent, [None, None, Some(at(148))]);
        let rtts = [(150, 1), (158, 2), (166, 3)].map(|(us, expected)| segments.on_ack(at(us), expected));
        // From 100 us to 166 us, less the 24 us of the segment.
        assert_eq!(rtts, [None, None, Some(Duration::from_us(42))]);
        assert_eq!(segments.on_ack(at(170), 3), None, "once");
    }

    #[test]
    fn a_segment_ends_where_there_is_no_more_to_send() {
        let mut segments = segments();
        assert_eq!(segments.on_sent(at(0), packet(0), false, 1e9), Some(at(8)));
        assert_eq!(segments.on_ack(at(30), 1), Some(Duration::from_us(22)));
    }

    #[test]
    fn what_is_sent_twice_or_acknowledged_with_others_is_no_sample() {
        let mut segments = segments();
        for n in 0..6 {
            segments.on_sent(at(8 * n), packet(n), true, 1e9);
        }
        assert_eq!(segments.on_ack(at(100), 4), None, "beyond the first, before the end of the second");
        assert_eq!(segments.on_ack(at(110), 6), Some(Duration::from_us(110 - 24 - 24)));
        for n in 6..11 {
            segments.on_sent(at(200 + 8 * n), packet(n), true, 1e9);
        }
        segments.on_go_back();
        for n in 6..9 {
            segments.on_sent(at(400 + 8 * n), Packet { repeats: n < 7, ..packet(n) }, true, 1e9);
        }
        assert_eq!(segments.on_ack(at(900), 9), None);
    }
}
