//! Round-trip samples, as the congestion control sees them.

use super::*;
use crate::tcp::flow::FlowSpec;
use crate::tcp::sender::Sender;
use crate::tcp::timer::RetransmissionTimer;

/// A sender and its timer.
struct Bench {
    sender: Sender,
    timer: RetransmissionTimer,
}

impl Bench {
    fn new(congestion: Algorithm) -> Self {
        let config = TcpConfig { congestion, initial_window: 8, sack: false, ..TcpConfig::default() };
        let timer = RetransmissionTimer::new(&config);
        Self { sender: Sender::new(&config, FlowSpec::of(None), Time::ZERO), timer }
    }

    /// Sends what it may, a segment each microsecond; returns how many.
    fn send(&mut self, us: u64) -> u64 {
        (0..u64::MAX).take_while(|i| self.sender.poll_transmit(&mut self.timer, at(us + i)).is_some()).count() as u64
    }

    fn ack(&mut self, us: u64, segments: u64) {
        let segment = Segment { ack: segments * MSS, window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
        self.sender.on_ack(&mut self.timer, at(us), &segment);
    }

    /// What its control has seen, in microseconds.
    fn samples(&self) -> Vec<u64> {
        let crate::tcp::congestion::Controller::Timed(control) = self.sender.window().control() else {
            panic!("another control")
        };
        control.0.iter().map(|rtt| rtt.0 / 1_000_000).collect()
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

#[test]
fn a_control_that_asks_gets_the_round_trip_of_each_ack() {
    let mut bench = Bench::new(Algorithm::Timed);
    assert_eq!(bench.send(0), 8);
    for (us, segments) in [(100, 1), (120, 2), (150, 3), (170, 5)] {
        bench.ack(us, segments);
    }
    // Segment n left n - 1 us after the start; an ACK of two times the newer one.
    assert_eq!(bench.samples(), [100, 119, 148, 166]);
    // One in a round trip is what the timer has.
    assert_eq!(bench.timer.srtt(), Duration::from_us(100));
}

#[test]
fn what_was_sent_twice_is_no_sample() {
    let mut bench = Bench::new(Algorithm::Timed);
    bench.send(0);
    bench.ack(100, 1);
    bench.sender.on_timeout(&bench.timer, at(5_000));
    assert!(bench.send(5_000) >= 1);
    bench.ack(5_100, 8);
    assert_eq!(bench.samples(), [100]);
    // What is sent for the first time afterwards is one again.
    let sent = bench.send(6_000);
    assert!(sent > 0, "{}", bench.sender.waiting_for(bench.timer.rto()));
    bench.ack(6_200, 8 + sent);
    assert_eq!(bench.samples().len(), 2);
}

#[test]
fn other_controls_have_the_timer_s_samples() {
    let mut bench = Bench::new(Algorithm::NewReno);
    bench.send(0);
    bench.ack(100, 1);
    assert_eq!(bench.timer.srtt(), Duration::from_us(100));
}
