//! An egress port: its queues, the link's rate, and the frames in flight on the link.
//!
//! Time on the link is that of the frames and not that of the machine: when the driver wakes late, frames leave in the order and at the
//! distances at which they should have left, only later, and no rate is lost.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use anabranch_transport::{Duration, Rate, Time};

use crate::counters::Counters;
use crate::impair::ImpairmentProcess;
use crate::queue::{Limits, Queue};

/// Bytes in flight on one link, at most. What would be more stays in the queue.
const MAX_IN_FLIGHT: u64 = 64 << 20;

/// A frame in flight, ordered by arrival, the earliest as the greatest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InFlight {
    arrival: Time,
    sequence: u64,
    frame: Vec<u8>,
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.sequence).cmp(&(self.arrival, self.sequence))
    }
}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The link behind a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// None: no limit.
    pub(crate) rate: Option<Rate>,
    /// Bytes that each frame takes besides its own.
    pub(crate) overhead: u64,
    pub(crate) delay: Duration,
    /// How much later than others a reordered frame arrives.
    pub(crate) reorder_delay: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct Port {
    link: Link,
    queue: Queue,
    impairments: ImpairmentProcess,
    /// When the last bit of the last frame has been transmitted.
    link_free_at: Time,
    in_flight: BinaryHeap<InFlight>,
    bytes_in_flight: u64,
    sequence: u64,
    pub(crate) counters: Counters,
}

impl Port {
    pub(crate) fn new(link: Link, limits: Limits, impairments: ImpairmentProcess) -> Self {
        Self {
            link,
            queue: Queue::new(limits),
            impairments,
            link_free_at: Time::ZERO,
            in_flight: BinaryHeap::new(),
            bytes_in_flight: 0,
            sequence: 0,
            counters: Counters::default(),
        }
    }

    /// Queues a frame that arrived then, which may be a while ago: an idle link began to transmit it at that time.
    pub(crate) fn enqueue(&mut self, frame: Vec<u8>, arrival: Time) {
        self.advance(arrival);
        self.queue.enqueue(frame, arrival, &mut self.counters);
        self.advance(arrival);
    }

    /// Begins the transmission of the frames that the link's rate allows until `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        while self.link_free_at <= now && self.bytes_in_flight < MAX_IN_FLIGHT {
            let Some(queued) = self.queue.dequeue(&mut self.counters) else { break };
            let mut frame = queued.frame;
            let bytes = frame.len() as u64 + self.link.overhead;
            let time = self.link.rate.map_or(Duration::ZERO, |rate| rate.transmit_time(bytes));
            self.link_free_at = self.link_free_at.max(queued.arrival) + time;
            self.counters.port.count_out(&frame);
            if let Some(delivery) = self.impairments.apply(&mut frame, &mut self.counters.link) {
                let extra_delay = if delivery.reordered { self.link.reorder_delay } else { Duration::ZERO };
                let arrival = self.link_free_at + self.link.delay + extra_delay;
                if delivery.duplicated {
                    self.propagate(frame.clone(), arrival);
                }
                self.propagate(frame, arrival);
            }
        }
    }

    fn propagate(&mut self, frame: Vec<u8>, arrival: Time) {
        self.bytes_in_flight += frame.len() as u64;
        self.in_flight.push(InFlight { arrival, sequence: self.sequence, frame });
        self.sequence += 1;
    }

    /// The next frame that has arrived at the other end by `now`, and when.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<(Time, Vec<u8>)> {
        self.advance(now);
        if self.in_flight.peek()?.arrival > now {
            return None;
        }
        let InFlight { arrival, frame, .. } = self.in_flight.pop()?;
        self.bytes_in_flight -= frame.len() as u64;
        Some((arrival, frame))
    }

    /// When a frame arrives or the transmission of the next one can begin.
    pub(crate) fn next_event(&self) -> Option<Time> {
        let arrival = self.in_flight.peek().map(|first| first.arrival);
        let waits = !self.queue.is_empty() && self.bytes_in_flight < MAX_IN_FLIGHT;
        match (arrival, waits.then_some(self.link_free_at)) {
            (Some(arrival), Some(free)) => Some(arrival.min(free)),
            (arrival, free) => arrival.or(free),
        }
    }

    /// The counters, with the current occupancy of the queues.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.counters;
        let (data, headers) = self.queue.bytes();
        counters.data_queue.queue.occupancy_bytes = data;
        counters.header_queue.occupancy_bytes = headers;
        counters
    }

    #[cfg(test)]
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impair::Impairments;
    use crate::testing::{Family, udp};

    const LINK: Link =
        Link { rate: Some(Rate(8_000_000)), overhead: 0, delay: Duration::ZERO, reorder_delay: Duration::ZERO };
    const LIMITS: Limits = Limits { data: 100_000, headers: 100_000, trim: None, trim_dscp: None, ecn: None };

    fn port(link: Link, impairments: Impairments) -> Port {
        Port::new(link, LIMITS, ImpairmentProcess::new(impairments, 1, "a"))
    }

    /// A frame of 1000 bytes takes 1 ms at 8 Mbit/s.
    fn frame() -> Vec<u8> {
        udp(Family::V4, 1, 2, 1000 - 42)
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_ms(n)
    }

    fn arrivals(port: &mut Port, now: Time) -> Vec<Time> {
        std::iter::from_fn(|| port.transmit(now)).map(|(arrival, _)| arrival).collect()
    }

    #[test]
    fn frames_leave_at_the_rate_of_the_link() {
        let mut port = port(Link { delay: Duration::from_ms(10), ..LINK }, Impairments::default());
        for _ in 0..3 {
            port.enqueue(frame(), ms(5));
        }
        assert_eq!(port.next_event(), Some(ms(6)), "the second one begins");
        assert_eq!(arrivals(&mut port, ms(15)), []);
        assert_eq!(arrivals(&mut port, ms(16)), [ms(16)]);
        assert_eq!(port.next_event(), Some(ms(17)));
        assert_eq!(arrivals(&mut port, ms(18)), [ms(17), ms(18)]);
        assert_eq!(port.next_event(), None);
    }

    #[test]
    fn overhead_takes_time_as_well() {
        let mut port = port(Link { overhead: 1000, ..LINK }, Impairments::default());
        port.enqueue(frame(), ms(0));
        assert_eq!(arrivals(&mut port, ms(9)), [ms(2)]);
        assert_eq!(port.counters().port.out_octets, 1000);
    }

    #[test]
    fn a_late_driver_loses_no_rate() {
        // Every 10 ms the driver finds 10 frames, one of each millisecond: the link of one frame a millisecond has always been busy.
        let (mut port, mut seen) = (port(LINK, Impairments::default()), Vec::new());
        for now in (10..=100).step_by(10) {
            for arrival in now - 10..now {
                port.enqueue(frame(), ms(arrival));
            }
            seen.extend(arrivals(&mut port, ms(now)));
        }
        assert_eq!(seen, (1..=100).map(ms).collect::<Vec<_>>());
        // An idle link saves nothing up.
        for _ in 0..3 {
            port.enqueue(frame(), ms(500));
        }
        assert_eq!(arrivals(&mut port, ms(502)), [ms(501), ms(502)]);
    }

    #[test]
    fn reordered_frames_come_late_and_copies_together() {
        let impairments = Impairments { reorder: "30%".parse().expect("a probability"), ..Impairments::default() };
        let mut port = port(Link { reorder_delay: Duration::from_ms(5), ..LINK }, impairments);
        for _ in 0..50 {
            port.enqueue(frame(), ms(0));
        }
        let seen = arrivals(&mut port, ms(100));
        assert_eq!(seen.len(), 50);
        assert!(seen.is_sorted());
        let counted = port.counters().link.reordered_packets;
        // A frame that is late arrives with the fifth one after it.
        assert!(counted > 5 && seen.windows(2).any(|pair| pair[0] == pair[1]), "{counted} of {seen:?}");
        let always = Impairments { duplicate: crate::Probability::ALWAYS, ..Impairments::default() };
        let mut port = Port::new(LINK, LIMITS, ImpairmentProcess::new(always, 1, "a"));
        port.enqueue(frame(), ms(0));
        assert_eq!(arrivals(&mut port, ms(100)), [ms(1), ms(1)]);
    }

    #[test]
    fn a_link_holds_so_much_and_the_rest_waits() {
        let link = Link { rate: None, delay: Duration::from_secs(1), ..LINK };
        let limits = Limits { data: 10 << 20, ..LIMITS };
        let mut port = Port::new(link, limits, ImpairmentProcess::new(Impairments::default(), 1, "a"));
        let large = udp(Family::V4, 1, 2, 60_000);
        for _ in 0..1500 {
            port.enqueue(large.clone(), ms(0));
        }
        assert!(port.bytes_in_flight() < MAX_IN_FLIGHT + 65_536);
        let counters = port.counters();
        assert!(counters.data_queue.queue.occupancy_bytes > 10_000_000 && counters.port.out_discards > 0);
        assert!(arrivals(&mut port, ms(1000)).len() > 1000);
    }
}
