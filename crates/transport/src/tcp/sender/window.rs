//! The congestion window and the control that moves it: how much may be in flight.

use crate::tcp::config::TcpConfig;
use crate::tcp::congestion::{Acked, Control, Controller, Coupling, Window};
use crate::tcp::flow::Flow;
use crate::tcp::prr::ProportionalRateReduction;
use crate::units::{Rate, Time};

/// A sender's congestion window.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct CongestionWindow {
    window: Window,
    control: Controller,
    /// The window to begin with, in bytes.
    initial: u64,
    /// Since when application or receive window, not this one, are the limit; [`Time::MAX`] if they are not.
    limited_since: Time,
    /// Probes sent since the last progress; 0: data is sent as ever.
    probes: u16,
}

/// What a recovery does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    /// So large, in bytes.
    To(u64),
    /// Fast recovery: a segment has left the network (RFC 5681 §3.2 step 4).
    Inflate,
    /// Fast recovery: so many bytes were acknowledged and leave the window, and one segment more may be sent (RFC 6582 §3.2 step 3).
    Deflate(u64),
}

impl CongestionWindow {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let initial = u64::from(config.initial_window) * config.mss();
        Self {
            window: Window::new(initial, config.mss()).with_hystart(config).with_rules(config.window_rules),
            control: Controller::new(config),
            initial,
            limited_since: Time::MAX,
            probes: 0,
        }
    }

    /// Its size in bytes.
    #[inline]
    pub(in crate::tcp) fn size(&self) -> u64 {
        self.window.cwnd()
    }

    #[inline]
    pub(super) fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    /// Payload of a full segment.
    #[inline]
    pub(super) fn mss(&self) -> u64 {
        self.window.mss()
    }

    /// The most that a segment may carry now: one byte while the sender probes.
    #[inline]
    pub(super) fn segment_bytes(&self) -> u64 {
        if self.probes > 0 { 1 } else { self.mss() }
    }

    /// Whether it is the limit with this many bytes in flight: there is no room for a full segment more.
    #[inline]
    pub(super) fn is_full(&self, in_flight: u64) -> bool {
        in_flight + self.mss() > self.size()
    }

    /// What its control knows and wants to know.
    pub(in crate::tcp) fn control(&self) -> &Controller {
        &self.control
    }

    /// What is known of the connection's other subflows has changed.
    pub(in crate::tcp) fn set_coupling(&mut self, coupling: Coupling) {
        self.control.set_coupling(coupling);
    }

    /// RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment.
    pub(super) fn start_with_one_segment(&mut self) {
        self.window.set(self.mss());
    }

    /// RFC 5681 §4.1: after the application kept the connection idle, the window starts again.
    pub(super) fn restart(&mut self) {
        self.window.limit(self.initial);
    }

    /// Something new was acknowledged: probing is over.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        if self.probes > 0 {
            self.probes = 0;
            self.window.set(self.mss());
        }
    }

    /// Every ACK of new data, for the statistics of slow start and control.
    #[inline]
    pub(super) fn observe(&mut self, acked: &Acked, flow: &Flow) {
        self.window.observe(acked);
        self.control.on_feedback(acked, flow);
    }

    /// An ACK of new data without echo, outside recovery, while the window was full.
    #[inline]
    pub(super) fn grow(&mut self, acked: &Acked, flow: &Flow) {
        self.control.on_ack(&mut self.window, acked, flow);
    }

    /// The first congestion echo in a window of data.
    pub(super) fn on_echo(&mut self, flow: &Flow) {
        let cwnd = self.control.on_ecn(&self.window, flow);
        self.window.shrink(cwnd);
    }

    /// The same where the window falls little by little.
    pub(super) fn begin_descent(&mut self, flow: &Flow) {
        let cwnd = self.control.on_ecn(&self.window, flow);
        self.window.aim_at(cwnd);
    }

    /// An ACK on the way down, with so many bytes still in flight.
    pub(super) fn step_down(&mut self, due: bool, in_flight: u64) {
        self.window.step_down(due, in_flight);
    }

    /// How it falls from now on to its threshold in proportion to what arrives, as Linux 6.1 has it: from all of the window `from`, in
    /// segments.
    pub(super) fn reduction(&self, from: u64) -> ProportionalRateReduction {
        ProportionalRateReduction::new(from, self.ssthresh(), self.mss()).in_segments()
    }

    /// Recovery, or the reduction for an echo, is over.
    pub(super) fn end_reduction(&mut self) {
        self.window.set(self.ssthresh());
    }

    /// A loss was detected with `flight` bytes outstanding: the threshold falls, and the window to it.
    pub(super) fn on_loss(&mut self, flight: u64, flow: &Flow) {
        let ssthresh = self.control.on_loss(&self.window, self.window.before_loss(flight), flow);
        self.window.set_ssthresh(ssthresh);
        self.window.set(self.ssthresh());
        self.limited_since = Time::MAX; // a new epoch begins
    }

    /// The retransmission timer has fired for the `consecutive`-th time without progress, with `in_network` bytes that may not
    /// have left the network: a window of one segment, or of one byte to probe with. `reducing`: in a recovery, in which duplicate ACKs
    /// inflate the window, or a reduction in proportion.
    pub(super) fn on_timeout(&mut self, consecutive: u32, in_network: u64, reducing: bool, flow: &Flow) {
        // RFC 5681 §3.1: ssthresh stays when the same segment times out again.
        if consecutive == 1 && !(reducing && self.window.reduces_once()) {
            let mut window = self.window.clone();
            if reducing {
                // Without what duplicate ACKs have added (RFC 5681 §3.2 steps 3 and 4).
                window.set(window.ssthresh());
            }
            let ssthresh = self.control.on_timeout(&window, window.before_loss(in_network), flow);
            self.window.set_ssthresh(ssthresh);
        }
        self.window.set(self.mss());
        if self.control.probes_after(consecutive) {
            self.probes = self.probes.saturating_add(1);
            // The FIN takes no room in it.
            self.window.set(1);
        }
        self.limited_since = Time::MAX; // as after a loss
    }

    /// Whether it may send another probe: their number is limited.
    pub(super) fn keeps_probing(&self) -> bool {
        (1..u16::MAX).contains(&self.probes)
    }

    /// Recovery decides how large it is.
    #[inline]
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Nothing => {}
            Change::To(bytes) => self.window.set(bytes),
            Change::Inflate => self.window.inflate(self.mss()),
            Change::Deflate(acknowledged) => self.window.deflate(acknowledged),
        }
    }

    /// Whether a segment may leave that would exceed it by `over` bytes. `is_offered`: application and receive window let it;
    /// `may_exceed`: recovery does not mind the excess. What does not, is the limit, from now on if it was not before.
    #[inline]
    pub(super) fn admits(&mut self, now: Time, over: u64, is_offered: bool, may_exceed: impl FnOnce() -> bool) -> bool {
        if over > 0 && !(is_offered && may_exceed()) {
            self.limits(now);
            return false;
        }
        if !is_offered {
            self.limited_since = self.limited_since.min(now);
        }
        is_offered
    }

    #[inline]
    fn limits(&mut self, now: Time) {
        if self.limited_since != Time::MAX {
            self.control.on_limited(self.limited_since, now);
            self.limited_since = Time::MAX;
        }
    }

    /// The rate at which segments may leave; `None`: as fast as the window allows.
    #[inline]
    pub(super) fn pacing_rate(&self, flow: &Flow) -> Option<Rate> {
        self.control.pacing_rate(&self.window, flow)
    }

    /// A new segment leaves; it ends at this offset.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64, now: Time) {
        self.window.on_sent(end, now);
    }
}

#[cfg(test)]
impl CongestionWindow {
    /// As after a loss at this window: growth is congestion avoidance's.
    pub(in crate::tcp) fn leave_slow_start(&mut self) {
        self.window.set_ssthresh(self.size());
    }

    pub(in crate::tcp) fn in_slow_start(&self) -> bool {
        self.size() < self.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Algorithm;

    const MSS: u64 = 1460;

    fn window(congestion: Algorithm) -> CongestionWindow {
        CongestionWindow::new(&TcpConfig { congestion, initial_window: 10, probe_after: 2, ..TcpConfig::default() })
    }

    #[test]
    fn the_first_timeout_halves_what_is_in_the_network_and_later_ones_leave_it() {
        let mut window = window(Algorithm::NewReno);
        window.on_timeout(1, 8 * MSS, false, &Flow::NEW);
        assert_eq!((window.size(), window.ssthresh()), (MSS, 4 * MSS));
        window.on_timeout(2, 0, false, &Flow::NEW);
        assert_eq!((window.size(), window.ssthresh()), (MSS, 4 * MSS));
    }

    #[test]
    fn a_loss_brings_the_window_to_its_threshold() {
        let mut window = window(Algorithm::NewReno);
        window.on_loss(10 * MSS, &Flow::NEW);
        assert_eq!((window.size(), window.ssthresh()), (5 * MSS, 5 * MSS));
        window.apply(Change::Inflate);
        assert!(window.is_full(6 * MSS) && !window.is_full(5 * MSS));
        window.apply(Change::Deflate(2 * MSS));
        assert_eq!(window.size(), 5 * MSS, "two left, one may be sent");
        window.apply(Change::Deflate(MSS / 2));
        assert_eq!(window.size(), 5 * MSS - MSS / 2, "less than a segment adds none");
        window.apply(Change::Deflate(50 * MSS));
        assert_eq!(window.size(), MSS);
    }

    #[test]
    fn probes_carry_a_byte_until_something_is_acknowledged() {
        let mut window = window(Algorithm::Pfabric);
        for consecutive in 1..=2 {
            assert!(!window.keeps_probing());
            window.on_timeout(consecutive, MSS, false, &Flow::NEW);
        }
        assert_eq!((window.size(), window.segment_bytes(), window.keeps_probing()), (1, 1, true));
        window.on_progress();
        assert_eq!((window.size(), window.segment_bytes(), window.keeps_probing()), (MSS, MSS, false));
    }

    #[test]
    fn an_idle_connection_starts_again_and_never_with_more_than_it_had() {
        let mut window = window(Algorithm::NewReno);
        window.apply(Change::To(30 * MSS));
        window.restart();
        assert_eq!(window.size(), 10 * MSS);
        window.apply(Change::To(3 * MSS));
        window.restart();
        assert_eq!(window.size(), 3 * MSS);
    }

    #[test]
    fn who_holds_a_segment_back_is_the_limit() {
        let mut window = window(Algorithm::Cubic);
        assert!(window.admits(Time(1), 0, true, || false) && window.admits(Time(1), 5, true, || true));
        assert_eq!(window.limited_since, Time::MAX);
        assert!(!window.admits(Time(2), 0, false, || false) && !window.admits(Time(3), 0, false, || false));
        assert_eq!(window.limited_since, Time(2), "the application, since it first had nothing");
        assert!(window.admits(Time(4), 0, true, || false) && window.limited_since == Time(2));
        assert!(!window.admits(Time(5), 5, false, || true) && window.limited_since == Time::MAX);
    }
}
