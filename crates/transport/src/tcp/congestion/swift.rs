//! Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020): the window follows the
//! distance of the round trip from a target (Algorithm 1). The target grows with the switches on the path, and as the window shrinks: so many flows
//! may have a longer queue (§3.5). Below one packet the window becomes a pace (§3.6).

use super::{Acked, Control, Window};
use crate::tcp::flow::Flow;
use crate::tcp::{SwiftConfig, TcpConfig};
use crate::units::{Rate, Time};

/// State beyond the window.
#[derive(Clone, Debug)]
pub(crate) struct Swift {
    config: Box<SwiftConfig>,
    /// Full packets; fractions count.
    cwnd: f64,
    /// The last round trip, in seconds; 0 before the first.
    rtt: f64,
    /// It was below the target.
    is_short: bool,
    decreased: Option<Time>,
    /// Bits of a full packet.
    packet: f64,
}

impl Swift {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let cwnd = f64::from(config.initial_window);
        let packet = config.packet.0 as f64 * 8.0;
        let config = config.swift.clone().unwrap_or_default();
        Self { config, cwnd, rtt: 0.0, is_short: false, decreased: None, packet }
    }

    /// Seconds.
    fn target(&self, hops: u8) -> f64 {
        let config = &self.config;
        let range = config.scaling_range.as_secs_f64();
        let [least, most, here] = [config.scaling_min, config.scaling_max, self.cwnd].map(|cwnd| 1.0 / cwnd.sqrt());
        let scaling = range * ((here - most) / (least - most)).clamp(0.0, 1.0);
        config.base_target.as_secs_f64() + f64::from(hops) * config.hop_target.as_secs_f64() + scaling
    }

    /// To a share of the window, once in a round trip.
    fn decrease(&mut self, now: Time, share: f64) {
        if self.decreased.is_none_or(|last| now.since(last).as_secs_f64() >= self.rtt) {
            self.cwnd = (self.cwnd * share.max(1.0 - self.config.max_decrease)).max(self.config.min_window);
            self.decreased = Some(now);
        }
    }

    /// In bytes: never less than a segment, which then is paced.
    fn bytes(&self, window: &Window) -> u64 {
        (self.cwnd.max(1.0) * window.mss() as f64) as u64
    }
}

impl Control for Swift {
    fn samples_each(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
        let Some(rtt) = ack.rtt else { return };
        self.rtt = rtt.as_secs_f64();
        let target = self.target(flow.hops);
        self.is_short = self.rtt < target;
        if !self.is_short {
            self.decrease(ack.now, 1.0 - self.config.decrease * (self.rtt - target) / self.rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acked, _: &Flow) {
        if self.is_short && ack.rtt.is_some() {
            let packets = ack.bytes as f64 / window.mss() as f64;
            self.cwnd += self.config.additive_increase * packets / self.cwnd.max(1.0);
            self.cwnd = self.cwnd.min(self.config.max_window);
        }
        window.cwnd = self.bytes(window);
    }

    fn on_loss(&mut self, window: &Window, _: u64, flow: &Flow) -> u64 {
        self.decrease(flow.now, 0.0);
        self.bytes(window).max(window.floor())
    }

    fn pacing_rate(&self, _: &Window, _: &Flow) -> Option<Rate> {
        (self.cwnd < 1.0 && self.rtt > 0.0).then(|| Rate(((self.packet * self.cwnd / self.rtt) as u64).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    const MSS: u64 = 1460;

    fn swift(cwnd: f64) -> Swift {
        Swift { cwnd, ..Swift::new(&TcpConfig::default()) }
    }

    fn ack(at_us: u64, rtt_us: u64, packets: u64) -> Acked {
        let (now, rtt) = (Time::ZERO + Duration::from_us(at_us), Duration::from_us(rtt_us));
        Acked { now, bytes: packets * MSS, una: 0, nxt: 0, ece: false, srtt: rtt, rtt: Some(rtt) }
    }

    /// Both calls for an ACK while the window is full. The window in packets.
    fn acknowledge(swift: &mut Swift, ack: Acked) -> f64 {
        let mut window = Window::new(10 * MSS, MSS);
        let flow = Flow { hops: 5, ..Flow::NEW };
        swift.on_feedback(&ack, &flow);
        swift.on_ack(&mut window, &ack, &flow);
        assert_eq!(window.cwnd, (swift.cwnd.max(1.0) * MSS as f64) as u64);
        swift.cwnd
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, not {b}");
    }

    #[test]
    fn the_target_grows_with_hops_and_as_the_window_shrinks() {
        // 100 packets and more: 20 us, and 3.053 us for each switch.
        close(swift(100.0).target(0), 20e-6);
        close(swift(400.0).target(5), 35.265e-6);
        // 1/sqrt(4) = 0.5: (0.5 - 0.1) / (1/sqrt(0.1) - 0.1) of 100 us.
        close(swift(4.0).target(0), 20e-6 + 100e-6 * 0.4 / (10_f64.sqrt() - 0.1));
        // 0.1 packets and less: all of it.
        close(swift(0.1).target(0), 120e-6);
        close(swift(0.01).target(0), 120e-6);
    }

    #[test]
    fn below_the_target_a_window_gains_a_packet_in_a_round_trip() {
        // Of 10 packets two are acknowledged.
        close(acknowledge(&mut swift(10.0), ack(50, 20, 2)), 10.2);
        // Below one packet each counts in full.
        close(acknowledge(&mut swift(0.25), ack(50, 20, 1)), 1.25);
        close(acknowledge(&mut swift(1000.0), ack(50, 20, 2)), 1000.0);
    }

    #[test]
    fn above_it_the_window_shrinks_by_the_excess_once_in_a_round_trip() {
        // The target of 400 packets over five switches is 35.265 us: 400 * (1 - 0.8 * (50 - 35.265) / 50).
        let mut control = swift(400.0);
        let expected = 400.0 * (1.0 - 0.8 * 14.735 / 50.0);
        close(acknowledge(&mut control, ack(100, 50, 1)), expected);
        close(acknowledge(&mut control, ack(149, 50, 1)), expected);
        close(acknowledge(&mut control, ack(150, 50, 1)), expected * (1.0 - 0.8 * 14.735 / 50.0));
        // Never by more than half: 0.8 * (1000 - 35.265) / 1000 would be 0.77.
        close(acknowledge(&mut swift(400.0), ack(100, 1000, 1)), 200.0);
        let mut least = swift(0.0015);
        close(acknowledge(&mut least, ack(100, 5000, 1)), 0.001);
    }

    #[test]
    fn a_loss_halves_it_once_in_a_round_trip() {
        let mut control = swift(40.0);
        let window = Window::new(40 * MSS, MSS);
        let at = |us| Flow { now: Time::ZERO + Duration::from_us(us), ..Flow::NEW };
        control.rtt = 50e-6;
        assert_eq!(control.on_loss(&window, 0, &at(100)), 20 * MSS);
        assert_eq!(control.on_loss(&window, 0, &at(149)), 20 * MSS);
        assert_eq!(control.on_timeout(&window, 0, &at(150)), 10 * MSS);
        // Below two packets recovery has the sender's floor, and the window its own size.
        let mut small = swift(1.0);
        assert_eq!((small.on_loss(&window, 0, &at(1)), small.cwnd), (2 * MSS, 0.5));
    }

    #[test]
    fn below_one_packet_the_window_is_a_pace() {
        let mut control = swift(1.0);
        let window = Window::new(MSS, MSS);
        assert_eq!(control.pacing_rate(&window, &Flow::NEW), None);
        (control.cwnd, control.rtt) = (0.1, 150e-6);
        // 1500 B each 1.5 ms.
        let rate = control.pacing_rate(&window, &Flow::NEW).expect("a pace");
        assert!((7_999_999..=8_000_000).contains(&rate.bps()), "{rate:?}");
        // However small the window: a packet leaves some day.
        (control.cwnd, control.rtt) = (1e-300, 10.0);
        assert_eq!(control.pacing_rate(&window, &Flow::NEW), Some(Rate(1)));
    }
}
