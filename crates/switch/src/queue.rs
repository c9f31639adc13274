//! The queues of a port: one of whole packets, drop-tail or trimming, and one of headers before it.
//!
//! Without trimming there is one queue. With it, what is trimmed and what is small waits in the header queue, which has ten turns for each
//! of the data queue while both wait (NDP, SIGCOMM 2017 §3.1: weighted round robin 10:1). A packet that finds no room is trimmed
//! itself, as commodity switches do it; NDP's would trim the last one of the queue instead every other time.

use std::collections::VecDeque;

use anabranch_transport::Time;

use crate::counters::Counters;
use crate::frame::{ETHERNET, Ip, TCP};
use crate::mark::mark;
use crate::trim::trim;

/// Headers that leave for one whole packet while both wait (NDP §3.1).
const HEADERS_IN_ROW: u32 = 10;

/// What the queues of a port are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of whole packets.
    pub(crate) data: u64,
    /// Bytes of trimmed and small packets.
    pub(crate) headers: u64,
    /// Bytes that are kept of each IP packet, if packets are trimmed.
    pub(crate) trim: Option<u16>,
    /// DSCP of trimmed packets.
    pub(crate) trim_dscp: Option<u8>,
    /// Arrivals are marked while so many bytes wait.
    pub(crate) ecn: Option<u64>,
}

/// A frame that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) frame: Vec<u8>,
    /// When it came.
    pub(crate) arrival: Time,
    trimmed: bool,
}

#[derive(Clone, Debug, Default)]
struct Band {
    frames: VecDeque<Waiting>,
    bytes: u64,
}

impl Band {
    fn push(&mut self, waiting: Waiting, watermark: &mut u64) {
        self.bytes += waiting.frame.len() as u64;
        *watermark = self.bytes.max(*watermark);
        self.frames.push_back(waiting);
    }

    fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.frames.pop_front()?;
        self.bytes -= waiting.frame.len() as u64;
        Some(waiting)
    }

    fn admits(&self, frame: &[u8], limit: u64) -> bool {
        self.bytes + frame.len() as u64 <= limit
    }
}

/// The queues of a port.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    limits: Limits,
    data: Band,
    headers: Band,
    headers_in_row: u32,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, data: Band::default(), headers: Band::default(), headers_in_row: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.data.frames.is_empty() && self.headers.frames.is_empty()
    }

    /// Bytes that wait: whole packets, headers.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.data.bytes, self.headers.bytes)
    }

    /// Takes a frame, or what is left of it after trimming, or drops it.
    pub(crate) fn enqueue(&mut self, mut frame: Vec<u8>, arrival: Time, counters: &mut Counters) {
        if let Some(keep) = self.limits.trim {
            if goes_first(&frame, keep) {
                return self.enqueue_header(Waiting { frame, arrival, trimmed: false }, counters);
            }
            let whole = frame.len();
            if !self.data.admits(&frame, self.limits.data) && trim(&mut frame, keep, self.limits.trim_dscp) {
                counters.data_queue.trimmed_packets += 1;
                counters.data_queue.trimmed_bytes += (whole - frame.len()) as u64;
                return self.enqueue_header(Waiting { frame, arrival, trimmed: true }, counters);
            }
        }
        if !self.data.admits(&frame, self.limits.data) {
            counters.port.out_discards += 1;
            counters.data_queue.queue.dropped_packets += 1;
            counters.data_queue.queue.dropped_bytes += frame.len() as u64;
            return;
        }
        // RFC 8257 §3.1, and as the simulator does: what waits when a packet arrives decides, without the packet itself.
        if self.limits.ecn.is_some_and(|threshold| self.data.bytes >= threshold) && mark(&mut frame) {
            counters.data_queue.marked_packets += 1;
        }
        self.data.push(Waiting { frame, arrival, trimmed: false }, &mut counters.data_queue.queue.watermark_bytes);
    }

    fn enqueue_header(&mut self, waiting: Waiting, counters: &mut Counters) {
        let queue = &mut counters.header_queue;
        if self.headers.admits(&waiting.frame, self.limits.headers) {
            self.headers.push(waiting, &mut queue.watermark_bytes);
        } else {
            counters.port.out_discards += 1;
            queue.dropped_packets += 1;
            queue.dropped_bytes += waiting.frame.len() as u64;
            counters.data_queue.dropped_trimmed_packets += u64::from(waiting.trimmed);
        }
    }

    /// The frame whose turn it is.
    pub(crate) fn dequeue(&mut self, counters: &mut Counters) -> Option<Waiting> {
        let data_waits = !self.data.frames.is_empty();
        let header = !self.headers.frames.is_empty() && (!data_waits || self.headers_in_row < HEADERS_IN_ROW);
        self.headers_in_row = if header && data_waits { self.headers_in_row + 1 } else { 0 };
        let (band, queue) = if header {
            (&mut self.headers, &mut counters.header_queue)
        } else {
            (&mut self.data, &mut counters.data_queue.queue)
        };
        let waiting = band.pop()?;
        queue.packets += 1;
        queue.bytes += waiting.frame.len() as u64;
        counters.data_queue.sent_trimmed_packets += u64::from(waiting.trimmed);
        Some(waiting)
    }
}

/// Whether a frame waits with the headers: it is as small as one. Segments of TCP with data are not, so that a short one at the end of a
/// burst does not overtake those before it.
fn goes_first(frame: &[u8], keep: u16) -> bool {
    let Some(ip) = Ip::of(frame) else { return frame.len() <= ETHERNET + usize::from(keep) };
    let header = || usize::from(frame.get(ip.transport + 12).copied().unwrap_or(0) >> 4) * 4;
    ip.len() <= usize::from(keep) && (ip.protocol != TCP || ip.transport + header() >= ip.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Family, tcp, udp};

    fn queue(trim: Option<u16>, ecn: Option<u64>) -> Queue {
        Queue::new(Limits { data: 4000, headers: 1000, trim, trim_dscp: None, ecn })
    }

    fn datagram(payload: usize) -> Vec<u8> {
        udp(Family::V4, 1, 2, payload)
    }

    fn sizes(queue: &mut Queue, counters: &mut Counters) -> Vec<usize> {
        std::iter::from_fn(|| queue.dequeue(counters)).map(|waiting| waiting.frame.len()).collect()
    }

    #[test]
    fn without_trimming_the_tail_is_dropped() {
        let (mut queue, mut counters) = (queue(None, None), Counters::default());
        for payload in [1400, 1400, 1400, 1, 1] {
            queue.enqueue(datagram(payload), Time::ZERO, &mut counters);
        }
        let seen = counters.data_queue.queue;
        assert_eq!((seen.dropped_packets, seen.dropped_bytes, seen.watermark_bytes), (1, 1442, 2970));
        assert_eq!(counters.port.out_discards, 1);
        assert_eq!(sizes(&mut queue, &mut counters), [1442, 1442, 43, 43]);
    }

    #[test]
    fn with_trimming_headers_leave_first_but_not_always() {
        let (mut queue, mut counters) = (queue(Some(80), None), Counters::default());
        for _ in 0..2 {
            queue.enqueue(datagram(1400), Time::ZERO, &mut counters);
        }
        for _ in 0..12 {
            queue.enqueue(datagram(1400), Time::ZERO, &mut counters);
        }
        let seen = counters.data_queue;
        // 1000 bytes have room for ten headers of 94.
        assert_eq!((seen.trimmed_packets, seen.dropped_trimmed_packets, seen.trimmed_bytes), (12, 2, 12 * 1348));
        queue.enqueue(datagram(3), Time::ZERO, &mut counters);
        let mut expected = vec![94; 10];
        expected.extend([1442, 45, 1442]);
        assert_eq!(sizes(&mut queue, &mut counters), expected);
        assert_eq!(counters.data_queue.sent_trimmed_packets, 10);
        assert_eq!((counters.header_queue.packets, counters.header_queue.dropped_packets), (11, 2));
    }

    #[test]
    fn segments_are_dropped_and_keep_their_order() {
        let (mut queue, mut counters) = (queue(Some(128), None), Counters::default());
        for payload in [1400, 1400, 1400, 10, 0] {
            queue.enqueue(tcp(Family::V4, 1, 2, payload), Time::ZERO, &mut counters);
        }
        assert_eq!(counters.data_queue.queue.dropped_packets, 1);
        // An acknowledgement alone goes first.
        assert_eq!(sizes(&mut queue, &mut counters), [54, 1454, 1454, 64]);
    }

    #[test]
    fn what_waits_decides_on_marks() {
        let (mut queue, mut counters) = (queue(None, Some(1442)), Counters::default());
        for _ in 0..2 {
            let mut frame = datagram(1400);
            frame[15] = 2;
            queue.enqueue(frame, Time::ZERO, &mut counters);
        }
        let classes: Vec<u8> =
            std::iter::from_fn(|| queue.dequeue(&mut counters)).map(|waiting| waiting.frame[15]).collect();
        assert_eq!(classes, [2, 3]);
        assert_eq!(counters.data_queue.marked_packets, 1);
    }
}
