//! The active end's data path: routes ACKs, timeouts and segments between the parts of a sender.
//!
//! [`Stream`] says what there is to send and what is outstanding, [`CongestionWindow`] how much may be in flight, [`Recovery`] what
//! is sent after a loss, [`Pacing`] when, [`Ecn`], [`Tagging`] and [`Samples`] what a segment carries and tells.

use super::config::TcpConfig;
use super::congestion::{Acked, Control};
use super::flow::{Flow, FlowSpec};
use super::outgoing::Outgoing;
use super::prr::Feedback;
use super::segment::{Flags, Segment};
use super::timer::RetransmissionTimer;
use crate::endpoint::Stats;
use crate::units::{Duration, Time};

mod buffer;
mod choice;
mod ecn;
mod pacing;
mod recovery;
mod samples;
mod space;
mod stream;
mod tagging;
mod view;
mod window;

use ecn::{Ecn, Marking};
use pacing::Pacing;
use recovery::{Meaning, Recovery};
use samples::Samples;
use space::News;
use stream::{Departure, Stream};
use tagging::Tagging;
use view::View;
use window::{Change, CongestionWindow};

/// Send side of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    stream: Stream,
    window: CongestionWindow,
    recovery: Recovery,
    ecn: Ecn,
    pacing: Pacing,
    samples: Samples,
    tagging: Tagging,
    view: View,
}

impl Sender {
    /// A sender of a flow that is opened now.
    pub(super) fn new(config: &TcpConfig, flow: FlowSpec, now: Time) -> Self {
        let window = CongestionWindow::new(config);
        Self {
            stream: Stream::new(flow.bytes, config.mss(), config.receive_window.0),
            recovery: Recovery::new(config, window.control()),
            ecn: Ecn::new(config),
            pacing: Pacing::new(config.header.0 as u32),
            samples: Samples::new(window.control().samples_each()),
            tagging: Tagging::new(config, flow.bytes),
            view: View::new(flow, now),
            window,
        }
    }

    /// One of several: its data is handed out to it by the segment, just when it can send one, and nothing so far. By the `size` of
    /// the whole flow priorities go.
    pub(super) fn wait_for_data(&mut self, config: &TcpConfig, size: Option<u64>) {
        self.stream.wait_for_data();
        self.tagging = Tagging::new(config, size);
    }

    /// What the handshake agreed on. `repeated`: it was, and so the initial window is one segment (RFC 5681 §3.1).
    pub(super) fn set_options(&mut self, ecn: bool, sack: bool, peer_window: u32, repeated: bool) {
        self.ecn.agree(ecn);
        self.stream.set_window(peer_window);
        if !sack {
            self.recovery.disable_sack();
        }
        if repeated {
            self.window.start_with_one_segment();
        }
    }

    /// What its congestion control may know.
    #[inline]
    fn flow(&self, timer: &RetransmissionTimer, now: Time) -> Flow {
        self.view.of(&self.stream, timer.srtt(), now)
    }

    /// An acknowledgement arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, timer: &mut RetransmissionTimer, now: Time, segment: &Segment) {
        // Only a full window grows (RFC 5681 §3.1 as refined by RFC 7661; RFC 9438 §5.8).
        if self.recovery.goes_by_time() {
            return self.on_ack_by_time(timer, now, segment);
        }
        let was_full = self.window.is_full(self.stream.space().in_flight());
        match self.stream.on_ack(segment) {
            News::Nothing => {}
            News::Progress(bytes) => self.on_progress(timer, now, segment, bytes, was_full),
            News::Duplicate => self.on_duplicate_ack(segment, &self.flow(timer, now)),
        }
    }

    /// The same with RACK-TLP.
    fn on_ack_by_time(&mut self, timer: &mut RetransmissionTimer, now: Time, segment: &Segment) {
        self.recovery.set_time(now);
        self.recovery.know_round_trip(timer.srtt());
        let was_full = self.window.is_full(self.recovery.in_flight(self.stream.space()));
        let news = self.stream.on_ack(segment);
        match news {
            News::Nothing => {}
            News::Progress(bytes) => self.on_progress(timer, now, segment, bytes, was_full),
            News::Duplicate => self.on_duplicate_ack(segment, &self.flow(timer, now)),
        }
        let acknowledged = if let News::Progress(bytes) = news { bytes } else { 0 };
        let is_progress = acknowledged > 0;
        if self.recovery.probe_has_repaired(segment, is_progress) {
            // RFC 8985 §7.4.2: the congestion control hears of it.
            let flow = self.flow(timer, now);
            self.window.on_loss(acknowledged + self.recovery.take_flight(self.stream.space()), &flow);
            self.ecn.on_reduced(self.stream.space().max());
        }
        if is_progress {
            // After that: the probe that this ACK answers is on its way no more.
            self.recovery.schedule_probe(timer, now);
        }
    }

    /// A time has come at which RACK-TLP has something to do, perhaps: it looks for losses (RFC 8985 §6.2), or sends a probe (§7.3).
    pub(super) fn on_wake(&mut self, timer: &mut RetransmissionTimer, now: Time) {
        if now < self.recovery.wake() {
            return;
        }
        self.recovery.set_time(now);
        if self.recovery.looks_for_losses() {
            // As if an ACK had told of a segment (Linux, tcp_rack_reo_timeout).
            self.begin_recovery(self.window.mss(), 0, &self.flow(timer, now));
        }
        if self.recovery.fires_probe(now) {
            timer.restart(now);
        }
    }

    #[inline]
    fn on_progress(
        &mut self,
        timer: &mut RetransmissionTimer,
        now: Time,
        segment: &Segment,
        bytes: u64,
        was_full: bool,
    ) {
        let (una, ece) = (segment.ack, segment.flags.has(Flags::ECE));
        timer.progress();
        self.window.on_progress();
        let rtt = self.samples.on_ack(una, now, timer);
        let acked = Acked { now, bytes, una, nxt: self.stream.space().nxt(), ece, srtt: timer.srtt(), rtt };
        let flow = self.flow(timer, now);
        self.window.observe(&acked, &flow);
        let was_open = self.recovery.is_open();
        let may_grow = was_full && !self.ecn.holds_window();
        if self.ecn.on_ack(una) {
            self.window.end_reduction();
        }
        let sacked = self.recovery.sacked();
        let (change, restart) = self.recovery.on_ack(segment, bytes, self.stream.space());
        self.window.apply(change);
        if self.recovery.finds_loss() {
            self.begin_recovery(bytes + self.recovery.sacked() - sacked, bytes, &flow);
        } else if was_open && ece {
            self.on_echo(&flow);
        } else if was_open && may_grow && !self.ecn.is_reducing() {
            self.window.grow(&acked, &flow);
        }
        if let Some(due) = self.ecn.take_step() {
            self.window.step_down(due, self.stream.space().in_flight());
        }
        self.reduce_for_echo(bytes + self.recovery.sacked() - sacked, true);
        if self.stream.space().outstanding() == 0 {
            timer.stop();
        } else if restart {
            timer.restart(now);
        }
    }

    /// RFC 3168 §6.1.2: the first echo in a window of data reduces the window; recovery has done so already.
    fn on_echo(&mut self, flow: &Flow) {
        let space = self.stream.space();
        if self.recovery.is_open() && self.ecn.heeds_echo(space.una()) {
            let cwnd = self.window.size();
            if self.ecn.descends() {
                self.window.begin_descent(flow);
            } else {
                self.window.on_echo(flow);
            }
            self.ecn.on_echo(space.max());
            if self.ecn.reduces_in_proportion() {
                self.ecn.begin_reduction(self.window.reduction(cwnd));
                // Linux, tcp_init_cwnd_reduction: what a probe would tell matters no more.
                self.recovery.forget_probe();
            }
        }
    }

    /// An ACK has told of `delivered` bytes, while the window falls in proportion for an echo. `safe`: of progress, too.
    #[inline]
    fn reduce_for_echo(&mut self, delivered: u64, safe: bool) {
        if self.ecn.is_reducing() {
            let in_flight = self.recovery.in_flight(self.stream.space());
            if let Some(may_send) = self.ecn.reduce(&Feedback { delivered, in_flight, safe }) {
                self.window.apply(Change::To(in_flight + may_send));
            }
        }
    }

    fn on_duplicate_ack(&mut self, segment: &Segment, flow: &Flow) {
        if segment.flags.has(Flags::ECE) {
            self.on_echo(flow);
        }
        let sacked = self.recovery.sacked();
        match self.recovery.on_duplicate_ack(segment, self.stream.space()) {
            Meaning::NoLoss(change) => {
                self.window.apply(change);
                self.reduce_for_echo(self.recovery.sacked() - sacked, false);
            }
            Meaning::Loss { newly_sacked } => self.begin_recovery(newly_sacked, 0, flow),
        }
    }

    /// A loss was found, by an ACK that has told of `delivered` bytes, and acknowledged so many, which were in flight until then.
    fn begin_recovery(&mut self, delivered: u64, acknowledged: u64, flow: &Flow) {
        let (space, first) = (self.stream.space(), self.stream.first_segment(self.window.segment_bytes()));
        let (cwnd, flight) = (self.window.size(), acknowledged + self.recovery.take_flight(space));
        if self.ecn.hears_losses() {
            self.window.on_loss(flight, flow);
        }
        let begun = self.ecn.take_reduction(self.window.ssthresh());
        let reduction =
            begun.or_else(|| self.ecn.reduces_in_proportion().then(|| Box::new(self.window.reduction(cwnd))));
        self.ecn.on_reduced(space.max());
        self.samples.on_loss();
        let change = self.recovery.begin(delivered, first.1, space, self.window.ssthresh(), reduction);
        self.window.apply(change);
    }

    /// The retransmission timer fired: go back to the first unacknowledged segment with a window of one
    /// (RFC 5681 §3.1, RFC 6582 §3.2 step 4).
    pub(super) fn on_timeout(&mut self, timer: &RetransmissionTimer, now: Time) {
        // Timeouts since the last progress, this one included.
        let consecutive = timer.consecutive();
        let flow = self.flow(timer, now);
        self.recovery.set_time(now);
        let space = self.stream.space();
        let in_network = self.recovery.in_network(space, self.window.ssthresh());
        let reducing = !self.recovery.is_open() || self.ecn.is_reducing();
        self.window.on_timeout(consecutive, in_network, reducing, &flow);
        self.tagging.on_timeout(consecutive, flow.sent);
        self.recovery.on_timeout(space);
        self.ecn.on_reduced(space.max());
        self.samples.on_loss();
        if !self.recovery.goes_by_time() {
            self.stream.go_back();
        }
    }

    /// The next data segment to send now, if window and recovery allow one.
    #[inline]
    pub(super) fn poll_transmit(&mut self, timer: &mut RetransmissionTimer, now: Time) -> Option<Outgoing> {
        if self.stream.is_idle() && self.pacing.idle(now) > timer.rto() {
            self.window.restart();
        }
        let flow = self.flow(timer, now);
        if self.pacing.holds(now, self.window.pacing_rate(&flow)) {
            return None;
        }
        let (seq, end) = choice::take_next(&mut self.stream, &mut self.recovery, &mut self.window, now)?;
        timer.start(now);
        let is_new = seq >= self.stream.space().max();
        let out = self.send(&flow, seq, end);
        if is_new && self.recovery.goes_by_time() {
            self.recovery.schedule_probe(timer, now);
        }
        Some(out)
    }

    #[inline]
    fn send(&mut self, flow: &Flow, seq: u64, end: u64) -> Outgoing {
        let now = flow.now;
        let demoted = self.tagging.priority(self.stream.sent());
        let priority = self.window.control().priority(flow).unwrap_or(demoted);
        let rank = self.window.control().rank(flow);
        let Departure { len, fin, is_new } = self.stream.on_sent(seq, end);
        if is_new {
            self.samples.on_sent(end, now, self.recovery.has_hole());
            self.window.on_sent(end, now);
        } else {
            self.samples.on_retransmission();
        }
        self.recovery.on_sent(seq, end);
        let Marking { ect, cwr } = self.ecn.on_sent(end - seq, !is_new);
        let flags = Flags::ACK | Flags::FIN.when(fin) | Flags::CWR.when(cwr);
        self.pacing.on_sent(now, len);
        Outgoing { segment: Segment { seq, len, flags, ..Segment::default() }, ect, priority, rank }
    }
}

/// What its connection asks of it.
impl Sender {
    #[inline]
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    pub(super) fn window(&self) -> &CongestionWindow {
        &self.window
    }

    pub(super) fn window_mut(&mut self) -> &mut CongestionWindow {
        &mut self.window
    }

    /// The window without what recovery inflates it by.
    pub(super) fn plain_window(&self) -> u64 {
        if self.recovery.is_open() { self.window.size() } else { self.window.ssthresh() }
    }

    /// Whether it may send another probe: their number is limited.
    pub(super) fn keeps_probing(&self) -> bool {
        self.window.keeps_probing()
    }

    /// Whether all that was handed out has been sent and a full segment more could leave now.
    pub(super) fn wants_data(&self) -> bool {
        choice::wants_data(&self.stream, &self.recovery, &self.window)
    }

    /// Its flow has sent so many bytes over other connections.
    pub(super) fn set_sent_elsewhere(&mut self, bytes: u64) {
        self.tagging.set_sent_elsewhere(bytes);
    }

    /// When it wants to go on without an ACK, but for the retransmission timer: a segment that is held back for pacing may leave, or
    /// RACK-TLP has something to do. [`Time::MAX`]: never.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.pacing.release().min(self.recovery.wake())
    }

    pub(super) fn stats(&self) -> Stats {
        let (data_sent, retransmitted) = self.stream.segments();
        Stats { data_sent, retransmitted, ..Stats::default() }
    }

    /// For a person.
    pub(super) fn waiting_for(&self, timeout: Duration) -> String {
        self.stream.waiting_for(self.window.size(), timeout)
    }
}
