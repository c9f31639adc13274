//! CUBIC (RFC 9438), in segments and seconds as the RFC writes it.
//!
//! Only additions, multiplications and divisions of `f64`: IEEE 754 rounds them the same everywhere, so a run stays a
//! pure function of its input. Slow start, standard or `HyStart++`, is [`Window`]'s.

use super::{Acked, Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;
use crate::units::Time;

/// §4.6: multiplicative decrease.
const BETA: f64 = 0.7;
/// §5: aggressiveness in segments per second cubed.
const C: f64 = 0.4;
/// §4.3: additive increase that is as fair to Reno as its halving.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of §4.1.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    /// Window before the last reduction, after fast convergence, in segments.
    w_max: f64,
    /// Time from the start of the epoch until the curve reaches `w_max`, in seconds.
    k: f64,
    /// What Reno would have, in segments.
    w_est: f64,
    /// Window before the last reduction, in segments.
    cwnd_prior: f64,
    /// Start of the current congestion avoidance stage, later by the time in which the window was not the limit; `Time::MAX`
    /// before its first ACK.
    epoch: Time,
    /// The part of a byte that the window could not take yet.
    carry: f64,
}

impl Cubic {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self { w_max: 0.0, k: 0.0, w_est: 0.0, cwnd_prior: 0.0, epoch: Time::MAX, carry: 0.0 }
    }

    /// §4.2 eq. 1, `t` in seconds since the start of the epoch.
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * d * d * d + self.w_max
    }

    fn begin_epoch(&mut self, now: Time, cwnd: f64) {
        self.epoch = now;
        self.w_est = cwnd;
        self.carry = 0.0;
        if cwnd < self.w_max {
            // §4.2 eq. 2.
            self.k = cube_root((self.w_max - cwnd) / C);
        } else {
            // §4.8 after a timeout, §4.10 after slow start without loss: start on the plateau.
            self.k = 0.0;
            self.w_max = cwnd;
        }
    }

    /// §4.6: the threshold after a reduction.
    fn reduced(&mut self, window: &Window, flight: u64) -> u64 {
        self.epoch = Time::MAX;
        self.cwnd_prior = window.cwnd as f64 / f64::from(window.mss);
        ((flight as f64 * BETA) as u64).max(window.floor())
    }
}

impl Control for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Acked, _: &Flow) {
        if window.in_slow_start() {
            // After an idle time (RFC 5681 §4.1) another stage of congestion avoidance follows: §4.2's t is its time.
            self.epoch = Time::MAX;
            window.slow_start(ack.bytes);
            return;
        }
        let mss = f64::from(window.mss);
        let cwnd = window.cwnd as f64 / mss;
        if self.epoch == Time::MAX {
            self.begin_epoch(ack.now, cwnd);
        }
        let acked = ack.bytes as f64 / mss;
        // §4.3 eq. 4; alpha is 1 once the estimate has reached the window before the reduction.
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        self.w_est += alpha * acked / cwnd;
        let t = ack.now.since(self.epoch).as_secs_f64();
        let next = if self.w_cubic(t) < self.w_est {
            // §4.3: the Reno-friendly region.
            self.w_est.max(cwnd)
        } else {
            // §4.4 and §4.5: (target - cwnd) / cwnd per acknowledged segment, the target within §4.2's bounds.
            let target = self.w_cubic(t + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        let growth = (next - cwnd) * mss + self.carry;
        let whole = growth as u64;
        self.carry = growth - whole as f64;
        window.cwnd += whole;
    }

    /// §4.2: t must not include periods in which the flow was limited by the application, or idle; §5.8 counts the receive
    /// window to these.
    fn on_limited(&mut self, from: Time, to: Time) {
        if self.epoch != Time::MAX {
            self.epoch += to.since(from.max(self.epoch));
        }
    }

    fn on_loss(&mut self, window: &Window, flight: u64, _: &Flow) -> u64 {
        let ssthresh = self.reduced(window, flight);
        // §4.7: fast convergence: a window that fell short of the last maximum leaves room for newer flows.
        self.w_max = if self.cwnd_prior < self.w_max { self.cwnd_prior * (1.0 + BETA) / 2.0 } else { self.cwnd_prior };
        ssthresh
    }

    /// §4.8: the stage after a timeout begins on the plateau, whatever the maximum was.
    fn on_timeout(&mut self, window: &Window, flight: u64, _: &Flow) -> u64 {
        self.w_max = 0.0;
        self.reduced(window, flight)
    }
}

/// Newton's iteration from above, where it falls monotonically until rounding stops it.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut y = x.max(1.0);
    loop {
        let next = (2.0 * y + x / (y * y)) / 3.0;
        if next >= y {
            return y;
        }
        y = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    const MSS: u64 = 1000;

    #[test]
    fn cube_root_inverts_the_cube() {
        for x in [1e-9, 0.001, 0.5, 1.0, 2.0, 27.0, 750.0, 1e6, 3.3e12] {
            let y = cube_root(x);
            assert!((y * y * y / x - 1.0).abs() < 1e-14, "{x} {y}");
        }
    }

    /// Feeds one ACK per segment, a window per round trip; returns the window in segments at the end.
    fn run(control: &mut Cubic, window: &mut Window, from: Time, rtt: Duration, rounds: u64) -> f64 {
        let mut una = 0;
        for round in 0..rounds {
            let segments = window.cwnd / MSS;
            for i in 0..segments {
                una += MSS;
                let now = from + rtt * round + Duration(rtt.0 / segments * i);
                let ack = Acked { now, bytes: MSS, una, nxt: una, ece: false, srtt: rtt , rtt: None };
                control.on_ack(window, &ack, &Flow::NEW);
            }
        }
        window.cwnd as f64 / MSS as f64
    }

    /// After a loss at 1000 segments the window must follow `0.4 (t - K)^3 + 1000`, K = cbrt(300 / 0.4): concave up
    /// to K = 9.085 s, convex behind it. The curve is evaluated here from the RFC's equation, not by the code above.
    #[test]
    fn follows_the_curve_of_the_rfc() {
        let rtt = Duration::from_ms(100);
        for (seconds, tolerance) in [(1, 0.005), (3, 0.005), (6, 0.005), (9, 0.005), (12, 0.01), (15, 0.01)] {
            let mut control = Cubic::new(&TcpConfig::default());
            let mut window = Window::new(1000 * MSS, MSS);
            let ssthresh = control.on_loss(&window, 1000 * MSS, &Flow::NEW);
            assert_eq!(ssthresh, 700 * MSS);
            window.ssthresh = ssthresh;
            window.set(ssthresh);
            let got = run(&mut control, &mut window, Time::ZERO, rtt, seconds * 10);
            let t = seconds as f64;
            let k = 9.085_602_964_160_698_f64;
            let expected = 0.4 * (t - k).powi(3) + 1000.0;
            let growth = (got - 700.0) / (expected - 700.0);
            assert!((growth - 1.0).abs() < tolerance, "t = {t}: {got} instead of {expected}");
        }
    }

    /// With a 1 ms round trip the cubic curve is flat and the Reno-friendly region governs (§4.3): from 70 segments,
    /// ALPHA segments a round trip until 100, one a round trip above.
    #[test]
    fn short_round_trips_grow_like_reno() {
        let mut control = Cubic::new(&TcpConfig::default());
        let mut window = Window::new(100 * MSS, MSS);
        let ssthresh = control.on_loss(&window, 100 * MSS, &Flow::NEW);
        window.ssthresh = ssthresh;
        window.set(ssthresh);
        let rtt = Duration::from_ms(1);
        let got = run(&mut control, &mut window, Time::ZERO, rtt, 40);
        let expected = 70.0 + 40.0 * 9.0 / 17.0;
        assert!((got - expected).abs() < 1.0, "{got} instead of {expected}");
        // 100 is reached after 30 / (9 / 17) = 56.7 round trips, 16.7 from here; 43.3 remain.
        let got = run(&mut control, &mut window, Time::ZERO + rtt * 40, rtt, 60);
        assert!((got - 143.3).abs() < 2.0, "{got}");
    }

    /// §4.2: however long the epoch has lasted, a round trip grows the window by half at most.
    #[test]
    fn the_target_is_bounded() {
        let mut control = Cubic::new(&TcpConfig::default());
        let mut window = Window::new(10 * MSS, MSS);
        window.ssthresh = 10 * MSS;
        let rtt = Duration::from_ms(1);
        run(&mut control, &mut window, Time::ZERO, rtt, 1);
        let before = window.cwnd;
        let late = Time::ZERO + Duration::from_secs(100);
        let ack = Acked { now: late, bytes: MSS, una: MSS, nxt: MSS, ece: false, srtt: rtt , rtt: None };
        control.on_ack(&mut window, &ack, &Flow::NEW);
        assert!(window.cwnd - before <= MSS / 2 && window.cwnd - before >= MSS / 2 - 1);
    }

    #[test]
    fn fast_convergence_and_timeouts_set_the_plateau() {
        let mut control = Cubic::new(&TcpConfig::default());
        let mut window = Window::new(100 * MSS, MSS);
        control.on_loss(&window, 100 * MSS, &Flow::NEW);
        assert!((control.w_max - 100.0).abs() < 1e-12);
        window.set(80 * MSS);
        control.on_loss(&window, 80 * MSS, &Flow::NEW);
        assert!((control.w_max - 68.0).abs() < 1e-12, "80 * 1.7 / 2");
        assert_eq!(control.on_timeout(&window, 80 * MSS, &Flow::NEW), 56 * MSS);
        window.set(56 * MSS);
        window.ssthresh = 56 * MSS;
        let ack = Acked { now: Time(1), bytes: MSS, una: MSS, nxt: MSS, ece: false, srtt: Duration::from_ms(1) , rtt: None };
        control.on_ack(&mut window, &ack, &Flow::NEW);
        assert!(control.k == 0.0 && (control.w_max - 56.0).abs() < 1e-12);
    }
}
