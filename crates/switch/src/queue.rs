//! The queues of a port: a data queue, with tail drop or trimming, and a header queue, which is served first.
//!
//! Without trimming there is one queue. With it, trimmed and small packets are queued in the header queue. Weighted round robin serves ten of its packets for each
//! of the data queue while neither is empty (NDP, SIGCOMM 2017 §3.1: 10:1). A packet that arrives at a full data queue is trimmed
//! itself, as commodity switches do it; NDP's trim the packet at the tail of the queue instead half of the time.

use std::collections::VecDeque;

use anabranch_transport::Time;

use crate::counters::Counters;
use crate::frame::{ETHERNET, Ip, TCP};
use crate::mark::mark;
use crate::trim::trim;

/// Weight of the header queue; that of the data queue is 1 (NDP §3.1).
const HEADER_WEIGHT: u32 = 10;

/// The limits of the queues of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of the data queue.
    pub(crate) data: u64,
    /// Bytes of the header queue.
    pub(crate) headers: u64,
    /// Bytes that are kept of each IP packet, if packets are trimmed.
    pub(crate) trim: Option<u16>,
    /// DSCP of trimmed packets.
    pub(crate) trim_dscp: Option<u8>,
    /// Arrivals are marked while the data queue has so many bytes.
    pub(crate) ecn: Option<u64>,
}

/// A frame in a queue.
#[derive(Clone, Debug)]
pub(crate) struct QueuedFrame {
    pub(crate) frame: Vec<u8>,
    /// When it arrived at the queue.
    pub(crate) arrival: Time,
    trimmed: bool,
}

#[derive(Clone, Debug, Default)]
struct Fifo {
    frames: VecDeque<QueuedFrame>,
    bytes: u64,
}

impl Fifo {
    fn push(&mut self, queued: QueuedFrame, watermark: &mut u64) {
        self.bytes += queued.frame.len() as u64;
        *watermark = self.bytes.max(*watermark);
        self.frames.push_back(queued);
    }

    fn pop(&mut self) -> Option<QueuedFrame> {
        let queued = self.frames.pop_front()?;
        self.bytes -= queued.frame.len() as u64;
        Some(queued)
    }

    fn admits(&self, frame: &[u8], limit: u64) -> bool {
        self.bytes + frame.len() as u64 <= limit
    }
}

/// The queues of a port.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    limits: Limits,
    data: Fifo,
    headers: Fifo,
    headers_since_data: u32,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, data: Fifo::default(), headers: Fifo::default(), headers_since_data: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.data.frames.is_empty() && self.headers.frames.is_empty()
    }

    /// Bytes in the data queue and in the header queue.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.data.bytes, self.headers.bytes)
    }

    /// Takes a frame, or what is left of it after trimming, or drops it.
    pub(crate) fn enqueue(&mut self, mut frame: Vec<u8>, arrival: Time, counters: &mut Counters) {
        if let Some(size) = self.limits.trim {
            if takes_header_queue(&frame, size) {
                return self.enqueue_header(QueuedFrame { frame, arrival, trimmed: false }, counters);
            }
            let whole = frame.len();
            if !self.data.admits(&frame, self.limits.data) && trim(&mut frame, size, self.limits.trim_dscp) {
                counters.data_queue.trimmed_packets += 1;
                counters.data_queue.trimmed_bytes += (whole - frame.len()) as u64;
                return self.enqueue_header(QueuedFrame { frame, arrival, trimmed: true }, counters);
            }
        }
        if !self.data.admits(&frame, self.limits.data) {
            counters.port.out_discards += 1;
            counters.data_queue.queue.dropped_packets += 1;
            counters.data_queue.queue.dropped_bytes += frame.len() as u64;
            return;
        }
        // RFC 8257 §3.1, and as the simulator does: the length of the queue when a packet arrives decides, without the packet itself.
        if self.limits.ecn.is_some_and(|threshold| self.data.bytes >= threshold) && mark(&mut frame) {
            counters.data_queue.marked_packets += 1;
        }
        self.data.push(QueuedFrame { frame, arrival, trimmed: false }, &mut counters.data_queue.queue.watermark_bytes);
    }

    fn enqueue_header(&mut self, queued: QueuedFrame, counters: &mut Counters) {
        let queue = &mut counters.header_queue;
        if self.headers.admits(&queued.frame, self.limits.headers) {
            self.headers.push(queued, &mut queue.watermark_bytes);
        } else {
            counters.port.out_discards += 1;
            queue.dropped_packets += 1;
            queue.dropped_bytes += queued.frame.len() as u64;
            counters.data_queue.dropped_trimmed_packets += u64::from(queued.trimmed);
        }
    }

    /// The frame that the scheduler serves next.
    pub(crate) fn dequeue(&mut self, counters: &mut Counters) -> Option<QueuedFrame> {
        let data_is_queued = !self.data.frames.is_empty();
        let header = !self.headers.frames.is_empty() && (!data_is_queued || self.headers_since_data < HEADER_WEIGHT);
        self.headers_since_data = if header && data_is_queued { self.headers_since_data + 1 } else { 0 };
        let (fifo, queue) = if header {
            (&mut self.headers, &mut counters.header_queue)
        } else {
            (&mut self.data, &mut counters.data_queue.queue)
        };
        let queued = fifo.pop()?;
        queue.packets += 1;
        queue.bytes += queued.frame.len() as u64;
        counters.data_queue.sent_trimmed_packets += u64::from(queued.trimmed);
        Some(queued)
    }
}

/// Whether a frame takes the header queue without being trimmed: it is as small as a header. Segments of TCP with data are not, so that a short one at the end of a
/// burst does not overtake those before it.
fn takes_header_queue(frame: &[u8], size: u16) -> bool {
    let Some(ip) = Ip::of(frame) else { return frame.len() <= ETHERNET + usize::from(size) };
    let header = || usize::from(frame.get(ip.transport + 12).copied().unwrap_or(0) >> 4) * 4;
    ip.len() <= usize::from(size) && (ip.protocol != TCP || ip.transport + header() >= ip.end)
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
        std::iter::from_fn(|| queue.dequeue(counters)).map(|queued| queued.frame.len()).collect()
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
    fn the_queue_length_decides_on_marks() {
        let (mut queue, mut counters) = (queue(None, Some(1442)), Counters::default());
        for _ in 0..2 {
            let mut frame = datagram(1400);
            frame[15] = 2;
            queue.enqueue(frame, Time::ZERO, &mut counters);
        }
        let classes: Vec<u8> =
            std::iter::from_fn(|| queue.dequeue(&mut counters)).map(|queued| queued.frame[15]).collect();
        assert_eq!(classes, [2, 3]);
        assert_eq!(counters.data_queue.marked_packets, 1);
    }
}
