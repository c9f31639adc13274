//! The active end's data path: routes ACKs, timeouts and segments between the parts of a sender.
//!
//! [`SendSpace`] says what is outstanding, [`SendBuffer`] what there is to send, [`CongestionWindow`] how much may be in flight,
//! [`Recovery`] what is sent after a loss, [`Pacing`] when, [`Ecn`], [`Tagging`] and [`Samples`] what a segment carries and tells.

use super::config::TcpConfig;
use super::congestion::{Acked, Control, Coupling};
use super::flow::{Flow, FlowSpec};
use super::segment::{Flags, Segment};
use super::timer::RetransmissionTimer;
use crate::endpoint::Stats;
use crate::units::{Duration, Time};
use std::ops::Range;

mod buffer;
mod ecn;
mod pacing;
mod recovery;
mod samples;
mod space;
mod tagging;
mod window;

use buffer::SendBuffer;
use ecn::{Ecn, Marking};
use pacing::Pacing;
use recovery::{Position, Recovery};
use samples::Samples;
use space::SendSpace;
use tagging::Tagging;
use window::CongestionWindow;

/// Send side of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    space: SendSpace,
    buffer: SendBuffer,
    window: CongestionWindow,
    recovery: Recovery,
    ecn: Ecn,
    pacing: Pacing,
    samples: Samples,
    tagging: Tagging,
    /// When the application wants its bytes to have arrived, if it says so.
    deadline: Option<Time>,
    port: u16,
    class: u8,
    data_sent: u64,
    retransmitted: u64,
}

/// A data segment and how it travels.
pub(super) struct Outgoing {
    pub(super) segment: Segment,
    /// Whether it may be marked.
    pub(super) ect: bool,
    pub(super) priority: u8,
    /// What remains of its flow, if it says so.
    pub(super) rank: u16,
}

impl Sender {
    /// A sender of a flow that is opened now.
    pub(super) fn new(config: &TcpConfig, flow: FlowSpec, now: Time) -> Self {
        let window = CongestionWindow::new(config);
        Self {
            space: SendSpace::new(config.receive_window.0),
            buffer: SendBuffer::new(flow.bytes, config.mss()),
            recovery: Recovery::new(config),
            ecn: Ecn::new(config),
            pacing: Pacing::new(config.header.0 as u32),
            samples: Samples::new(window.control().samples_each()),
            tagging: Tagging::new(config, flow.bytes),
            window,
            deadline: flow.deadline.map(|within| now + within),
            port: flow.port,
            class: flow.class,
            data_sent: 0,
            retransmitted: 0,
        }
    }

    /// What the handshake agreed on.
    pub(super) fn set_options(&mut self, ecn: bool, sack: bool, peer_window: u32) {
        self.ecn.agree(ecn);
        self.space.set_window(peer_window);
        if !sack {
            self.recovery.disable_sack();
        }
    }

    /// RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment.
    pub(super) fn start_with_one_segment(&mut self) {
        self.window.start_with_one_segment();
    }

    /// What its congestion control may know.
    #[inline]
    fn flow(&self, timer: &RetransmissionTimer, now: Time) -> Flow {
        Flow {
            now,
            srtt: timer.srtt(),
            to_send: self.buffer.size(),
            sent: self.sent(),
            acknowledged: self.acknowledged(),
            most_queued: self.buffer.most_queued(),
            deadline: self.deadline,
            port: self.port,
            class: self.class,
        }
    }

    /// An acknowledgement arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, timer: &mut RetransmissionTimer, now: Time, segment: &Segment) {
        if !self.space.accepts(segment.ack) {
            return;
        }
        let same_window = self.space.set_window(segment.window);
        if segment.ack > self.space.una() {
            self.on_new_ack(timer, now, segment);
        } else if self.space.outstanding() > 0
            && same_window
            && !segment.flags.has(Flags::SYN)
            && !segment.flags.has(Flags::FIN)
        {
            self.on_duplicate_ack(segment, &self.flow(timer, now));
        }
    }

    #[inline]
    fn on_new_ack(&mut self, timer: &mut RetransmissionTimer, now: Time, segment: &Segment) {
        let (una, ece) = (segment.ack, segment.flags.has(Flags::ECE));
        // Only a full window grows (RFC 5681 §3.1 as refined by RFC 7661; RFC 9438 §5.8).
        let was_full = self.window.is_full(self.space.in_flight());
        let bytes = self.space.acknowledge(una);
        timer.progress();
        self.window.on_progress();
        let rtt = self.samples.on_ack(una, now, timer);
        let acked = Acked { now, bytes, una, nxt: self.space.nxt(), ece, srtt: timer.srtt(), rtt };
        let flow = self.flow(timer, now);
        self.window.observe(&acked, &flow);
        let was_open = self.recovery.is_open();
        let restart = self.recovery.on_ack(segment, bytes, &self.space, &mut self.window);
        if was_open && ece {
            self.on_echo(&flow);
        } else if was_open && was_full {
            self.window.grow(&acked, &flow);
        }
        if self.space.outstanding() == 0 {
            timer.stop();
        } else if restart {
            timer.restart(now);
        }
    }

    /// RFC 3168 §6.1.2: the first echo in a window of data reduces the window; recovery has done so already.
    fn on_echo(&mut self, flow: &Flow) {
        if self.recovery.is_open() && self.ecn.heeds_echo(self.space.una()) {
            self.window.on_echo(flow);
            self.ecn.on_reduced(self.space.max());
        }
    }

    fn on_duplicate_ack(&mut self, segment: &Segment, flow: &Flow) {
        if segment.flags.has(Flags::ECE) {
            self.on_echo(flow);
        }
        let loss = self.recovery.on_duplicate_ack(segment, &self.space, &mut self.window);
        if let Some(newly_sacked) = loss {
            let first_end = self.first_segment().1;
            self.recovery.begin(newly_sacked, first_end, &self.space, &mut self.window, flow);
            self.ecn.on_reduced(self.space.max());
            self.samples.on_loss();
        }
    }

    /// The retransmission timer fired: go back to the first unacknowledged segment with a window of one
    /// (RFC 5681 §3.1, RFC 6582 §3.2 step 4).
    pub(super) fn on_timeout(&mut self, timer: &RetransmissionTimer, now: Time) {
        // Timeouts since the last progress, this one included.
        let consecutive = timer.consecutive();
        let in_network = self.recovery.in_network(&self.space, self.window.ssthresh());
        let flow = self.flow(timer, now);
        self.window.on_timeout(consecutive, in_network, !self.recovery.is_open(), &flow);
        self.tagging.on_timeout(consecutive, self.sent());
        self.recovery.on_timeout(&self.space);
        self.space.go_back();
        self.ecn.on_reduced(self.space.max());
        self.samples.on_loss();
    }

    /// Whether it may send another probe: their number is limited.
    pub(super) fn keeps_probing(&self) -> bool {
        self.window.keeps_probing()
    }

    /// The next data segment to send now, if window and recovery allow one.
    #[inline]
    pub(super) fn poll_transmit(&mut self, timer: &mut RetransmissionTimer, now: Time) -> Option<Outgoing> {
        if self.space.is_idle() && self.pacing.idle(now) > timer.rto() {
            self.window.restart();
        }
        let flow = self.flow(timer, now);
        if self.pacing.holds(now, self.window.pacing_rate(&flow)) {
            return None;
        }
        let (seq, end) = if self.recovery.take_first() {
            self.first_segment()
        } else if self.recovery.goes_by_sack() {
            self.next_by_sack()?
        } else {
            self.next_in_window(now)?
        };
        timer.start(now);
        Some(self.send(&flow, seq, end))
    }

    /// One past the last offset (FIN included) of a segment at `seq`.
    #[inline]
    fn segment_end(&self, seq: u64) -> u64 {
        self.buffer.segment_end(seq, self.window.segment_bytes(), &self.space)
    }

    /// The segment at SND.UNA, which was sent before.
    fn first_segment(&self) -> (u64, u64) {
        let una = self.space.una();
        (una, self.segment_end(una).min(self.space.max()))
    }

    /// RFC 6675 §5 step C: as long as the pipe leaves room for a segment.
    fn next_by_sack(&mut self) -> Option<(u64, u64)> {
        if !self.recovery.pipe_has_room(&self.window) {
            return None;
        }
        let max = self.space.max();
        let new = (!self.buffer.has_fin_before(max)).then(|| self.segment_end(max));
        let new = new.filter(|&end| self.space.has_room(self.buffer.data_before(end)) && self.buffer.is_available(end));
        let next = self.recovery.next_by_sack(&self.space, self.window.mss(), new, self.sent())?;
        // After a timeout SND.NXT may lie behind: recovery sends from the top.
        self.space.skip_to(max);
        Some(next)
    }

    /// The segment at SND.NXT, if the congestion window and the receive window have room for it.
    #[inline]
    fn next_in_window(&mut self, now: Time) -> Option<(u64, u64)> {
        let Position { seq, until, in_flight } = self.recovery.position(&self.space);
        self.space.skip_to(seq);
        if self.buffer.has_fin_before(seq) {
            return None;
        }
        let end = self.segment_end(seq).min(until);
        let (data_end, cwnd) = (self.buffer.data_before(end), self.window.size());
        let len = data_end - seq;
        let over = (in_flight + len).saturating_sub(cwnd);
        let is_offered = self.space.has_room(data_end) && self.buffer.is_available(end);
        let may_exceed = || seq >= self.space.max() && self.recovery.is_limited_transmit(len, over, self.window.mss());
        if over > 0 && !(is_offered && may_exceed()) {
            self.window.limits(now);
            return None;
        }
        if !is_offered {
            self.window.does_not_limit(now);
            return None;
        }
        if data_end > self.space.una().saturating_add(cwnd) {
            self.recovery.on_sent_beyond_window(len);
        }
        Some((seq, end))
    }

    #[inline]
    fn send(&mut self, flow: &Flow, seq: u64, end: u64) -> Outgoing {
        let now = flow.now;
        let retransmission = seq < self.space.max();
        let demoted = self.tagging.priority(self.sent());
        let priority = self.window.control().priority(flow).unwrap_or(demoted);
        let rank = self.window.control().rank(flow);
        self.data_sent += 1;
        if retransmission {
            self.retransmitted += 1;
            self.samples.on_retransmission();
        } else {
            if !self.recovery.has_hole() {
                self.samples.on_sent(end, now);
            }
            self.window.on_sent(end, now);
        }
        self.recovery.on_sent(end - seq);
        self.space.on_sent(end);
        let Marking { ect, cwr } = self.ecn.on_sent(retransmission);
        let fin = self.buffer.has_fin_before(end);
        let flags = Flags::ACK | Flags::FIN.when(fin) | Flags::CWR.when(cwr);
        let len = (end - seq - u64::from(fin)) as u16;
        self.pacing.on_sent(now, len);
        Outgoing { segment: Segment { seq, len, flags, ..Segment::default() }, ect, priority, rank }
    }
}

/// What its connection asks of it.
impl Sender {
    /// The application has provided the first `bytes` bytes.
    pub(super) fn set_available(&mut self, bytes: u64) {
        self.buffer.provide(bytes, self.acknowledged());
    }

    /// Whether the application has provided nothing yet.
    pub(super) fn has_nothing(&self) -> bool {
        self.buffer.has_nothing()
    }

    /// Bytes that were sent at least once.
    #[inline]
    pub(super) fn sent(&self) -> u64 {
        self.buffer.data_before(self.space.max())
    }

    #[inline]
    pub(super) fn acknowledged(&self) -> u64 {
        self.buffer.data_before(self.space.una())
    }

    /// Whether the FIN is acknowledged.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.buffer.has_fin_before(self.space.una())
    }

    /// When a segment that is held back for pacing may leave; [`Time::MAX`] if none is.
    #[inline]
    pub(super) fn release(&self) -> Time {
        self.pacing.release()
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.window.size()
    }

    pub(super) fn stats(&self) -> Stats {
        Stats { data_sent: self.data_sent, retransmitted: self.retransmitted, ..Stats::default() }
    }

    /// For a person.
    pub(super) fn waiting_for(&self, rto: Duration) -> String {
        let outstanding = self.space.outstanding();
        if let Some(provided) = self.buffer.provided().filter(|_| outstanding == 0) {
            return format!("the application, which has {provided} B so far, all of them sent and acknowledged");
        }
        format!(
            "an ACK beyond byte {} of {}; {outstanding} outstanding, window {} B, timeout {rto}",
            self.acknowledged(),
            self.buffer.size().map_or_else(|| "an endless stream".into(), |size| size.to_string()),
            self.cwnd()
        )
    }
}

/// One of several: its data is handed out to it by the segment, just when it can send one.
impl Sender {
    /// Nothing has been handed out yet of a flow of `size` bytes, by which priorities go.
    pub(super) fn wait_for_data(&mut self, config: &TcpConfig, size: Option<u64>) {
        self.buffer.wait_for_data();
        self.tagging = Tagging::new(config, size);
    }

    /// Whether data is handed out to it, and none has been so far.
    pub(super) fn waits_for_data(&self) -> bool {
        self.buffer.waits_for_data()
    }

    /// Whether all that was handed out has been sent and a full segment more could leave now.
    pub(super) fn wants_data(&self) -> bool {
        let max = self.space.max();
        self.buffer.wants_data(max)
            && !self.recovery.repeats_first()
            && self.space.has_room(max + self.window.mss())
            && self.recovery.lets_new_data_leave(&self.space, &self.window)
    }

    /// The stream's next bytes may be sent.
    pub(super) fn hand_out(&mut self, bytes: u64) {
        self.buffer.hand_out(bytes, self.acknowledged());
    }

    /// Nothing more will be handed out: the FIN follows.
    pub(super) fn finish(&mut self) {
        self.buffer.finish();
    }

    /// Sent at least once and not acknowledged.
    pub(super) fn unacknowledged(&self) -> Range<u64> {
        self.acknowledged()..self.sent()
    }

    /// The window without what recovery inflates it by.
    pub(super) fn plain_window(&self) -> u64 {
        if self.recovery.is_open() { self.window.size() } else { self.window.ssthresh() }
    }

    pub(super) fn set_sent_elsewhere(&mut self, bytes: u64) {
        self.tagging.set_sent_elsewhere(bytes);
    }

    pub(super) fn inter_loss(&self) -> u64 {
        self.window.control().inter_loss()
    }

    pub(super) fn set_coupling(&mut self, coupling: Coupling) {
        self.window.set_coupling(coupling);
    }
}

#[cfg(test)]
impl Sender {
    pub(super) fn leave_slow_start(&mut self) {
        self.window.leave_slow_start();
    }

    pub(super) fn most_queued(&self) -> u64 {
        self.buffer.most_queued()
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.window.size() < self.window.ssthresh()
    }

    pub(super) fn control(&self) -> &super::congestion::Controller {
        self.window.control()
    }
}
