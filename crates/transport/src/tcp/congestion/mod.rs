//! Congestion controls: how the window grows, and what it shrinks to.
//!
//! To add one: write `congestion/<name>.rs` with a type that implements `Control` and has `new(&TcpConfig)`, and add
//! its line to the registry ([`Algorithm`]). The defaults of `Control` are Reno's (RFC 5681), so a file states only what differs.
//! Loss *detection* and recovery are not here: they are the sender's, the same for all (RFC 5681, 6582, 6675). Slow start is
//! the same for all, too: the standard one, or `hystart`.

use super::algorithm::{Algorithm, registry};
use super::config::{TcpConfig, WindowRules};
use super::flow::Flow;
use crate::units::{Duration, Rate, Time};
use hystart::HyStart;

mod hystart;
mod power;

/// Congestion window and slow-start threshold, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged in congestion avoidance since the window last grew; with the rules of Linux 3.2, ACKs.
    counted: u64,
    /// Payload of a full segment.
    mss: u32,
    rules: WindowRules,
    /// Present during the initial slow start, where it is asked for.
    hystart: Option<Box<HyStart>>,
}

impl Window {
    pub(super) fn new(initial: u64, mss: u64) -> Self {
        // RFC 5681 §3.1: the initial ssthresh SHOULD be arbitrarily high.
        Self { cwnd: initial, ssthresh: u64::MAX, counted: 0, mss: mss as u32, rules: WindowRules::Rfc, hystart: None }
    }

    /// Moved by these rules.
    pub(super) fn with_rules(self, rules: WindowRules) -> Self {
        Self { rules, ..self }
    }

    /// With `HyStart++`, if the configuration wants it.
    pub(super) fn with_hystart(mut self, config: &TcpConfig) -> Self {
        self.hystart = config.hystart.then(|| Box::new(HyStart::new(config)));
        self
    }

    #[inline]
    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    #[inline]
    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    #[inline]
    pub(super) fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    /// Whole segments of so many bytes, where the window counts in these.
    #[inline]
    fn whole(&self, bytes: u64) -> u64 {
        if self.rules == WindowRules::Rfc { bytes } else { bytes - bytes % self.mss() }
    }

    /// Of what a loss takes half when so many bytes are in flight: of these (RFC 5681 §3.1 eq. 4), or in Linux 6.1 of the window
    /// (`tcp_reno_ssthresh`).
    pub(super) fn before_loss(&self, flight: u64) -> u64 {
        if self.rules == WindowRules::Linux61 { self.cwnd } else { flight }
    }

    /// Whether a timeout leaves the threshold as it is while a reduction is under way (Linux 6.1, `tcp_enter_loss`).
    pub(super) fn reduces_once(&self) -> bool {
        self.rules == WindowRules::Linux61
    }

    /// A new segment leaves; it ends at this offset.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64, now: Time) {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_sent(end, now);
        }
    }

    /// Every ACK of new data, before the control has it.
    #[inline]
    pub(super) fn observe(&mut self, ack: &Acked) {
        let Some(hystart) = &mut self.hystart else { return };
        if self.ssthresh != u64::MAX {
            // RFC 9406 §4.3: a loss or a mark has ended the initial slow start.
            self.hystart = None;
        } else if hystart.on_ack(ack) {
            self.ssthresh = self.cwnd;
            self.hystart = None;
        }
    }

    #[inline]
    fn in_slow_start(&self) -> bool {
        // Linux 3.2, tcp_reno_cong_avoid: `snd_cwnd <= snd_ssthresh`, so that a reduced window first grows by a whole segment.
        self.cwnd < self.ssthresh || self.rules == WindowRules::Linux32 && self.cwnd == self.ssthresh
    }

    /// RFC 5681 §3.1 eq. 2: by the bytes acknowledged, at most one segment per ACK; or as `HyStart++` says.
    #[inline]
    fn slow_start(&mut self, acked: u64) {
        self.cwnd += match (&self.hystart, self.rules) {
            (Some(hystart), _) => hystart.growth(acked, self.mss()),
            (None, WindowRules::Rfc) => acked.min(self.mss()),
            (None, WindowRules::Linux32) => self.mss(),
            (None, WindowRules::Linux61) => return self.slow_start_by_segments(acked),
        };
    }

    /// Linux 6.1, `tcp_slow_start`: by all segments that are acknowledged, up to the threshold; the rest counts as it does beyond.
    fn slow_start_by_segments(&mut self, acked: u64) {
        let acked = acked.next_multiple_of(self.mss());
        let room = acked.min(self.ssthresh - self.cwnd);
        self.cwnd += room;
        if acked > room {
            self.additive_increase(acked - room);
        }
    }

    /// RFC 5681 §3.1: one segment per window of acknowledged bytes, counted in bytes.
    #[inline]
    fn additive_increase(&mut self, acked: u64) {
        match self.rules {
            WindowRules::Rfc => {}
            WindowRules::Linux32 => return self.additive_increase_by_acks(),
            WindowRules::Linux61 => return self.additive_increase_by_segments(acked),
        }
        self.counted += acked;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd += self.mss();
        }
    }

    /// Linux 3.2, `tcp_cong_avoid_ai`, without appropriate byte counting (`tcp_abc` = 0, the default): ACKs count, whatever they
    /// acknowledge, and the one after a whole window of them adds a segment.
    fn additive_increase_by_acks(&mut self) {
        if self.counted >= self.cwnd / self.mss() {
            self.cwnd += self.mss();
            self.counted = 0;
        } else {
            self.counted += 1;
        }
    }

    /// Linux 6.1, `tcp_cong_avoid_ai`: a segment for a window of segments that are acknowledged; what was counted towards a larger
    /// window is enough for one.
    fn additive_increase_by_segments(&mut self, acked: u64) {
        let window = self.cwnd;
        if self.counted >= window {
            self.counted = 0;
            self.cwnd += self.mss();
        }
        self.counted += acked.next_multiple_of(self.mss());
        self.cwnd += self.counted / window * self.mss();
        self.counted %= window;
    }

    /// The floor of every reduction (RFC 5681 §3.1 eq. 4).
    fn floor(&self) -> u64 {
        2 * self.mss()
    }

    /// Sets the window and forgets the bytes counted towards its growth.
    pub(super) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd;
        self.counted = 0;
    }

    pub(super) fn set_ssthresh(&mut self, ssthresh: u64) {
        // By Linux 3.2's rules, losses leave parts of segments.
        self.ssthresh = if self.rules == WindowRules::Linux61 { self.whole(ssthresh) } else { ssthresh };
    }

    /// No more than `most`; growth goes on from there.
    pub(super) fn limit(&mut self, most: u64) {
        self.cwnd = self.cwnd.min(most);
    }

    /// Larger for a time, by what has left the network.
    pub(super) fn inflate(&mut self, bytes: u64) {
        self.cwnd += bytes;
    }

    /// Smaller by `acknowledged`, larger by one segment if that is one at least; never less than one.
    pub(super) fn deflate(&mut self, acknowledged: u64) {
        let added = if acknowledged >= self.mss() { self.mss() } else { 0 };
        self.cwnd = (self.cwnd.saturating_sub(acknowledged) + added).max(self.mss());
    }

    /// Shrinks window and threshold without a loss. The progress towards the next segment keeps its proportion:
    /// DCTCP reduces in every round trip, and would never grow a small window if it started over each time.
    pub(super) fn shrink(&mut self, cwnd: u64) {
        // A window below the floor (an initial window of one segment) must not grow by being reduced.
        let cwnd = self.whole(cwnd.min(self.cwnd));
        // Linux starts over (tcp_enter_cwr: `snd_cwnd_cnt = 0`).
        self.counted = if self.rules == WindowRules::Rfc { self.counted * cwnd / self.cwnd } else { 0 };
        self.cwnd = cwnd;
        self.ssthresh = cwnd.max(self.floor());
    }

    /// Will shrink to so many bytes, in steps.
    pub(super) fn aim_at(&mut self, cwnd: u64) {
        self.counted = 0;
        self.ssthresh = self.whole(cwnd).max(self.floor());
    }

    /// A step there, of a segment if it is `due`, and never more than a segment beyond what is in flight.
    pub(super) fn step_down(&mut self, due: bool, in_flight: u64) {
        if due && self.cwnd > self.ssthresh {
            self.cwnd -= self.mss();
        }
        self.cwnd = self.cwnd.min(in_flight + self.mss());
    }
}

/// An ACK that acknowledged new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) now: Time,
    /// Bytes newly acknowledged.
    pub(super) bytes: u64,
    /// Everything before this offset is acknowledged (SND.UNA).
    pub(super) una: u64,
    /// The next offset to send (SND.NXT).
    pub(super) nxt: u64,
    /// The ACK carried the ECN echo.
    pub(super) ece: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub(super) srtt: Duration,
    /// The round trip of the newest segment that it acknowledges, where that was timed: all are for controls that
    /// [want each sample](Control::samples_each), otherwise one at a time, as the retransmission timer needs it (RFC 6298 §3).
    /// None of a segment that was sent twice (Karn's algorithm) or had to wait for the repair of a loss.
    #[allow(dead_code, reason = "for controls that are added")]
    pub(super) rtt: Option<Duration>,
}

/// What a coupled control knows of its connection's other subflows: with windows in bytes and round-trip times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coupling {
    /// Sum of all subflows' windows over their round-trip times.
    pub(crate) rate: f64,
    /// The largest window over the square of its round-trip time.
    pub(crate) best: f64,
    /// OLIA: what moves windows from this path to better ones.
    pub(crate) shift: f64,
}

/// A congestion control. The defaults are Reno's. Each method is told what is known of the [`Flow`].
pub(super) trait Control {
    /// Every ACK of new data, in recovery too: for controls that keep statistics.
    #[inline]
    fn on_feedback(&mut self, _ack: &Acked, _flow: &Flow) {}

    /// Whether each segment is timed, and not only one in each round trip: for controls that go by delay.
    fn samples_each(&self) -> bool {
        false
    }

    /// An ACK of new data outside recovery, without ECN echo, while the window was full: grow.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Acked, _flow: &Flow) {
        if window.in_slow_start() {
            window.slow_start(ack.bytes);
        } else {
            window.additive_increase(ack.bytes);
        }
    }

    /// From one time to the other the application or the receive window was the limit, and the congestion window was not full:
    /// for controls that grow with time (RFC 9438 §5.8).
    fn on_limited(&mut self, _from: Time, _to: Time) {}

    /// A loss was detected by duplicate or selective ACKs, with `flight` bytes outstanding: the new `ssthresh`
    /// (RFC 5681 §3.1 eq. 4). The caller moves the window there as its recovery demands.
    fn on_loss(&mut self, window: &Window, flight: u64, _flow: &Flow) -> u64 {
        (flight / 2).max(window.floor())
    }

    /// The retransmission timer fired for the first time for this segment: the new `ssthresh`.
    fn on_timeout(&mut self, window: &Window, flight: u64, flow: &Flow) -> u64 {
        self.on_loss(window, flight, flow)
    }

    /// The receiver echoed congestion, the first time in this window of data: the new window, and `ssthresh` too
    /// (RFC 3168 §6.1.2: the window is reduced as for a loss).
    fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
        self.on_loss(window, window.cwnd, flow)
    }

    /// Whether an ACK of only a part of what was outstanding keeps recovery going (RFC 6582).
    fn keeps_recovering_on_partial_ack(&self) -> bool {
        true
    }

    /// Whether duplicate and selective ACKs tell of losses, which then are repaired; otherwise only timeouts do.
    #[inline]
    fn heeds_duplicates(&self) -> bool {
        true
    }

    /// Whether, after so many timeouts without progress, the sender only asks whether anything gets through, with a segment of one
    /// byte for each further timeout, and starts anew once it does.
    fn probes_after(&self, _timeouts: u32) -> bool {
        false
    }

    /// The rate at which segments may leave, headers included; `None`: as fast as the window allows. Asked before each segment.
    #[inline]
    fn pacing_rate(&self, _window: &Window, _flow: &Flow) -> Option<Rate> {
        None
    }

    /// What remains of the flow, as [`rank`](crate::rank) writes it, for switches that go by it; 0: nothing is said.
    #[inline]
    fn rank(&self, _flow: &Flow) -> u16 {
        0
    }

    /// What is known of the connection's other subflows has changed: for controls that couple them.
    fn set_coupling(&mut self, _coupling: Coupling) {}

    /// OLIA: bytes acknowledged since the last loss, or between the last two if that is more.
    fn inter_loss(&self) -> u64 {
        0
    }

    /// Priority of the next segment, 0 the highest; `None`: as `priority_thresholds` say.
    #[inline]
    fn priority(&self, _flow: &Flow) -> Option<u8> {
        None
    }
}

macro_rules! controller {
    ($($(#[$doc:meta])* $variant:ident: $module:ident, ecn: $ecn:literal $(, only: $only:meta)?;)*) => {
        $($(#[$only])? mod $module;)*

        /// One of the registered controls, dispatched statically.
        #[derive(Clone, Debug)]
        pub(super) enum Controller {
            $($(#[$only])? $variant($module::$variant),)*
        }

        impl Controller {
            pub(super) fn new(config: &TcpConfig) -> Self {
                match config.congestion {
                    $($(#[$only])? Algorithm::$variant => Self::$variant($module::$variant::new(config)),)*
                }
            }
        }

        impl Control for Controller {
            #[inline]
            fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
                match self { $($(#[$only])? Self::$variant(c) => c.on_feedback(ack, flow),)* }
            }
            #[inline]
            fn on_ack(&mut self, window: &mut Window, ack: &Acked, flow: &Flow) {
                match self { $($(#[$only])? Self::$variant(c) => c.on_ack(window, ack, flow),)* }
            }
            fn samples_each(&self) -> bool {
                match self { $($(#[$only])? Self::$variant(c) => c.samples_each(),)* }
            }
            fn on_limited(&mut self, from: Time, to: Time) {
                match self { $($(#[$only])? Self::$variant(c) => c.on_limited(from, to),)* }
            }
            fn on_loss(&mut self, window: &Window, flight: u64, flow: &Flow) -> u64 {
                match self { $($(#[$only])? Self::$variant(c) => c.on_loss(window, flight, flow),)* }
            }
            fn on_timeout(&mut self, window: &Window, flight: u64, flow: &Flow) -> u64 {
                match self { $($(#[$only])? Self::$variant(c) => c.on_timeout(window, flight, flow),)* }
            }
            fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
                match self { $($(#[$only])? Self::$variant(c) => c.on_ecn(window, flow),)* }
            }
            fn keeps_recovering_on_partial_ack(&self) -> bool {
                match self { $($(#[$only])? Self::$variant(c) => c.keeps_recovering_on_partial_ack(),)* }
            }
            #[inline]
            fn heeds_duplicates(&self) -> bool {
                match self { $($(#[$only])? Self::$variant(c) => c.heeds_duplicates(),)* }
            }
            fn probes_after(&self, timeouts: u32) -> bool {
                match self { $($(#[$only])? Self::$variant(c) => c.probes_after(timeouts),)* }
            }
            fn set_coupling(&mut self, coupling: Coupling) {
                match self { $($(#[$only])? Self::$variant(c) => c.set_coupling(coupling),)* }
            }
            fn inter_loss(&self) -> u64 {
                match self { $($(#[$only])? Self::$variant(c) => c.inter_loss(),)* }
            }
            #[inline]
            fn rank(&self, flow: &Flow) -> u16 {
                match self { $($(#[$only])? Self::$variant(c) => c.rank(flow),)* }
            }
            #[inline]
            fn pacing_rate(&self, window: &Window, flow: &Flow) -> Option<Rate> {
                match self { $($(#[$only])? Self::$variant(c) => c.pacing_rate(window, flow),)* }
            }
            #[inline]
            fn priority(&self, flow: &Flow) -> Option<u8> {
                match self { $($(#[$only])? Self::$variant(c) => c.priority(flow),)* }
            }
        }
    };
}

registry!(controller);
