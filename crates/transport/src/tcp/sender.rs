//! The active end's data path: sliding window, loss detection, timeouts. What follows a loss is in `recovery`.
//!
//! One of three modes: *open* (slow start or congestion avoidance; also go-back-N after a timeout), *fast recovery*
//! (RFC 5681 and 6582: the window is inflated by duplicate ACKs) and *SACK recovery* (RFC 6675: the scoreboard decides).
//! In either recovery proportional rate reduction (RFC 9937), if it is on, says how much may be sent.

use super::config::TcpConfig;
use super::congestion::{Acked, Control, Controller, Window};
use super::flow::{Flow, FlowSpec};
use super::pacer::Pacer;
use super::prr::ProportionalRateReduction;
use super::scoreboard::{DUP_THRESHOLD, Scoreboard};
use super::segment::{Flags, Segment};
use super::timer::RetransmissionTimer;
use crate::demotion::Demotion;
use crate::units::{Duration, Time};

mod recovery;
mod samples;
mod subflow;

use samples::SentTimes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Open,
    FastRecovery,
    SackRecovery,
}

/// Send side of a connection.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent conditions of a compact struct, one per connection")]
pub(super) struct Sender {
    /// SND.UNA: everything before it is acknowledged.
    una: u64,
    /// SND.NXT: the next offset to send; falls back to `una` after a timeout.
    nxt: u64,
    /// One past the highest offset ever sent.
    max: u64,
    /// Offset of the FIN: the object's size. `u64::MAX` for a stream without end.
    end: u64,
    /// The application has provided everything before this offset; `u64::MAX`: the whole object.
    available: u64,
    /// What has been provided is sent at once, whether or not it fills a segment.
    pushed: bool,
    /// The most that has been provided and not acknowledged.
    most_queued: u64,
    window: Window,
    initial_window: u64,
    /// When a data segment was last sent.
    sent_at: Time,
    /// Since when application or receive window, not the congestion window, are the limit; [`Time::MAX`] if they are not.
    limited_since: Time,
    /// Bytes that the receiver accepts beyond `una`.
    peer_window: u64,
    control: Controller,
    /// Holds segments back where the control asks for it.
    pacer: Pacer,
    /// [`Time::MAX`]: none.
    deadline: Time,
    port: u16,
    class: u8,
    mode: Mode,
    /// RFC 6582's `recover` and RFC 6675's `RecoveryPoint`: one past the highest offset sent when a loss was last
    /// detected; 0 before the first.
    recover: u64,
    dup_acks: u32,
    /// Bytes sent beyond the window on duplicate ACKs before recovery (RFC 3042; RFC 6675 §5 step 3).
    limited_sent: u64,
    /// Whether recoveries reduce the window in proportion.
    wants_prr: bool,
    /// Present during such a recovery.
    prr: Option<Box<ProportionalRateReduction>>,
    /// The segment at `una` must be retransmitted whatever the window says.
    retransmit_first: bool,
    /// The timer was restarted by a partial ACK of this recovery.
    seen_partial_ack: bool,
    limited_transmit: bool,
    /// Data packets are ECN-capable.
    ecn: bool,
    ecn_on_retransmissions: bool,
    /// The next new segment tells the receiver of a reduction (CWR).
    cwr_due: bool,
    /// A congestion echo counts only once this is exceeded: one reduction per window of data.
    reduced_until: u64,
    /// The segment being timed ends here; 0 if none is.
    timed_end: u64,
    timed_at: Time,
    /// Present where the control wants each sample.
    sent_times: Option<Box<SentTimes>>,
    demotion: Demotion,
    /// Timeouts in a row after which the flow is young again; 0: never.
    priority_reset: u8,
    /// Probes sent since the last progress; 0: data is sent as ever.
    probes: u16,
    /// Offset from which bytes count towards demotion.
    young_from: u64,
    /// Bytes that the flow has sent over its other connections, which count, too.
    sent_elsewhere: u64,
    /// Present when SACK is in use.
    board: Option<Box<Scoreboard>>,
    pub(super) data_sent: u64,
    pub(super) retransmitted: u64,
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
        let (mss, size) = (config.mss(), flow.bytes);
        let control = Controller::new(config);
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            end: size.unwrap_or(u64::MAX),
            available: u64::MAX,
            pushed: false,
            most_queued: size.unwrap_or(u64::MAX),
            window: Window::new(u64::from(config.initial_window) * mss, mss).with_hystart(config),
            initial_window: u64::from(config.initial_window) * mss,
            sent_at: Time::ZERO,
            limited_since: Time::MAX,
            peer_window: config.receive_window.0,
            sent_times: control.samples_each().then(Box::default),
            control,
            pacer: Pacer::new(config.header.0 as u32),
            deadline: flow.deadline.map_or(Time::MAX, |within| now + within),
            port: flow.port,
            class: flow.class,
            mode: Mode::Open,
            recover: 0,
            dup_acks: 0,
            limited_sent: 0,
            wants_prr: config.prr,
            prr: None,
            retransmit_first: false,
            seen_partial_ack: false,
            limited_transmit: config.limited_transmit,
            ecn: config.wants_ecn(),
            ecn_on_retransmissions: config.congestion.needs_ecn(),
            cwr_due: false,
            reduced_until: 0,
            timed_end: 0,
            timed_at: Time::ZERO,
            demotion: Demotion::new(&config.priority_thresholds, config.priority_by, size.unwrap_or(u64::MAX)),
            priority_reset: config.priority_reset,
            probes: 0,
            young_from: 0,
            sent_elsewhere: 0,
            board: config.sack.then(Box::default),
            data_sent: 0,
            retransmitted: 0,
        }
    }

    /// What the handshake agreed on.
    pub(super) fn set_options(&mut self, ecn: bool, sack: bool, peer_window: u32) {
        self.ecn = ecn;
        self.peer_window = u64::from(peer_window);
        if !sack {
            self.board = None;
        }
    }

    /// The application has provided the first `bytes` bytes.
    pub(super) fn set_available(&mut self, bytes: u64) {
        let before = if self.available == u64::MAX { 0 } else { self.most_queued };
        self.available = bytes;
        self.most_queued = before.max(bytes.min(self.end).saturating_sub(self.acknowledged()));
    }

    /// Whether the application has provided nothing yet.
    pub(super) fn has_nothing(&self) -> bool {
        !self.pushed && self.available < self.end.min(1)
    }

    /// Whether a new segment that ends at this offset (FIN included) may be made up: full, or the last (RFC 9293 §3.8.6.2.1).
    #[inline]
    fn is_available(&self, seq_end: u64) -> bool {
        seq_end.min(self.end) <= self.available
    }

    /// RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment.
    pub(super) fn start_with_one_segment(&mut self) {
        self.window.set(self.window.mss);
    }

    /// As after a loss at this window: growth is congestion avoidance's.
    #[cfg(test)]
    pub(super) fn leave_slow_start(&mut self) {
        self.window.ssthresh = self.window.cwnd;
    }

    #[cfg(test)]
    pub(super) fn most_queued(&self) -> u64 {
        self.most_queued
    }

    #[cfg(test)]
    pub(super) fn in_slow_start(&self) -> bool {
        self.window.cwnd < self.window.ssthresh
    }

    /// What its congestion control may know.
    #[inline]
    fn flow(&self, timer: &RetransmissionTimer, now: Time) -> Flow {
        Flow {
            now,
            srtt: timer.srtt(),
            to_send: (self.end != u64::MAX).then_some(self.end),
            sent: self.max.min(self.end),
            acknowledged: self.acknowledged(),
            most_queued: self.most_queued,
            deadline: (self.deadline != Time::MAX).then_some(self.deadline),
            port: self.port,
            class: self.class,
        }
    }

    /// When a segment that is held back for pacing may leave; [`Time::MAX`] if none is.
    #[inline]
    pub(super) fn release(&self) -> Time {
        self.pacer.release()
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.una.min(self.end)
    }

    pub(super) fn outstanding(&self) -> u64 {
        self.max - self.una
    }

    /// Whether the FIN is acknowledged.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.una > self.end
    }

    /// An acknowledgement arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, timer: &mut RetransmissionTimer, now: Time, segment: &Segment) {
        let ack = segment.ack;
        if ack > self.max || ack < self.una {
            return;
        }
        let same_window = self.peer_window == u64::from(segment.window);
        self.peer_window = u64::from(segment.window);
        let ece = segment.flags.has(Flags::ECE);
        if ack > self.una {
            self.on_new_ack(timer, now, segment, ece);
        } else if self.max > self.una && same_window && !segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::FIN)
        {
            let flow = self.flow(timer, now);
            self.on_duplicate_ack(segment, ece, &flow);
        }
    }

    #[inline]
    fn on_new_ack(&mut self, timer: &mut RetransmissionTimer, now: Time, segment: &Segment, ece: bool) {
        let ack = segment.ack;
        let bytes = ack - self.una;
        // Only a full window grows (RFC 5681 §3.1 as refined by RFC 7661; RFC 9438 §5.8).
        let was_full = self.nxt - self.una + self.window.mss > self.window.cwnd;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        timer.progress();
        if self.probes > 0 {
            self.probes = 0;
            self.window.set(self.window.mss);
        }
        let mut rtt = None;
        if self.timed_end != 0 && ack >= self.timed_end {
            rtt = Some(now.since(self.timed_at));
            timer.sample(now.since(self.timed_at));
            self.timed_end = 0;
        }
        if let Some(sent) = &mut self.sent_times {
            rtt = sent.acknowledged(ack, now);
        }
        let acked = Acked { now, bytes, una: ack, nxt: self.nxt, ece, srtt: timer.srtt(), rtt };
        self.window.observe(&acked);
        let flow = self.flow(timer, now);
        self.control.on_feedback(&acked, &flow);
        let mut restart = true;
        match self.mode {
            Mode::Open => {
                self.dup_acks = 0;
                self.limited_sent = 0;
                if self.board.is_some() {
                    self.update_board(segment);
                }
                if ece {
                    self.on_echo(&flow);
                } else if was_full {
                    self.control.on_ack(&mut self.window, &acked, &flow);
                }
            }
            Mode::FastRecovery => restart = self.on_ack_in_fast_recovery(bytes),
            Mode::SackRecovery => self.on_ack_in_sack_recovery(segment, bytes),
        }
        if self.una == self.max {
            timer.stop();
        } else if restart {
            timer.restart(now);
        }
    }

    /// RFC 3168 §6.1.2: the first echo in a window of data reduces the window; recovery has done so already.
    fn on_echo(&mut self, flow: &Flow) {
        if !self.ecn || self.mode != Mode::Open || self.una <= self.reduced_until {
            return;
        }
        let cwnd = self.control.on_ecn(&self.window, flow);
        self.window.shrink(cwnd);
        self.reduced_until = self.max;
        self.cwr_due = true;
    }

    fn on_duplicate_ack(&mut self, segment: &Segment, ece: bool, flow: &Flow) {
        if ece {
            self.on_echo(flow);
        }
        // With SACK an ACK is a duplicate when it tells of new octets (RFC 6675 §2).
        let before = self.sacked();
        let news = self.update_board(segment);
        let newly_sacked = self.sacked() - before;
        match self.mode {
            Mode::FastRecovery => match &mut self.prr {
                Some(prr) => {
                    let delivered = prr.on_duplicate();
                    self.reduce_proportionally(delivered, false);
                }
                // RFC 5681 §3.2 step 4: a segment has left the network.
                None => self.window.cwnd += self.window.mss,
            },
            Mode::SackRecovery => {
                self.measure_pipe();
                self.reduce_proportionally(newly_sacked, false);
            }
            Mode::Open if !self.control.heeds_duplicates() => {}
            Mode::Open => {
                self.dup_acks += u32::from(news);
                let lost = match &mut self.board {
                    Some(board) => board.assess_losses(self.window.mss) > self.una,
                    None => false,
                };
                if (self.dup_acks >= DUP_THRESHOLD || lost) && self.may_enter_recovery() {
                    self.enter_recovery(newly_sacked, flow);
                }
            }
        }
    }

    /// Bytes that may still be in the network. Recovery keeps sending for as long as duplicate ACKs come, so that all that
    /// was sent beyond a hole may be many windows; of these, `ssthresh` have not left. Counted otherwise, the loss of a
    /// retransmission would raise the threshold, which it MUST lower (RFC 5681 §4.3).
    fn in_network(&self) -> u64 {
        let sacked = self.board.as_ref().map_or(0, |board| board.count_between(self.una, self.nxt));
        let unsacked = self.nxt - self.una - sacked;
        if self.mode == Mode::Open { unsacked } else { unsacked.min(self.window.ssthresh) }
    }

    /// The window without what duplicate ACKs have added in recovery (RFC 5681 §3.2 steps 3 and 4).
    fn deflated(&self) -> Window {
        let mut window = self.window.clone();
        if self.mode != Mode::Open {
            window.set(window.ssthresh);
        }
        window
    }

    /// The retransmission timer fired: go back to the first unacknowledged segment with a window of one
    /// (RFC 5681 §3.1, RFC 6582 §3.2 step 4).
    pub(super) fn on_timeout(&mut self, timer: &RetransmissionTimer, now: Time) {
        // Timeouts since the last progress, this one included.
        let consecutive = timer.consecutive();
        // RFC 5681 §3.1: ssthresh stays when the same segment times out again.
        if consecutive == 1 {
            self.window.ssthresh = self.control.on_timeout(&self.deflated(), self.in_network(), &self.flow(timer, now));
        }
        self.window.set(self.window.mss);
        if self.control.probes_after(consecutive) {
            self.probes = self.probes.saturating_add(1);
            // The FIN takes no room in it.
            self.window.set(1);
        }
        if self.priority_reset > 0 && consecutive.is_multiple_of(self.priority_reset) {
            self.young_from = self.sent_elsewhere + self.max.min(self.end);
        }
        self.mode = Mode::Open;
        self.prr = None;
        self.nxt = self.una;
        self.recover = self.max;
        self.reduced_until = self.max;
        self.cwr_due = self.ecn;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.limited_since = Time::MAX; // as after a loss
        self.retransmit_first = false;
        self.timed_end = 0;
    }

    /// Whether it may send another probe: their number is limited.
    pub(super) fn keeps_probing(&self) -> bool {
        (1..u16::MAX).contains(&self.probes)
    }

    /// The next data segment to send now, if window and recovery allow one.
    #[inline]
    pub(super) fn poll_transmit(&mut self, timer: &mut RetransmissionTimer, now: Time) -> Option<Outgoing> {
        if self.una == self.max && self.max > 0 && now.since(self.sent_at) > timer.rto() {
            // RFC 5681 §4.1: after the application kept it idle, the window starts again.
            self.window.cwnd = self.window.cwnd.min(self.initial_window);
        }
        let flow = self.flow(timer, now);
        if self.pacer.holds(now, self.sent_at, self.control.pacing_rate(&self.window, &flow)) {
            return None;
        }
        let (seq, end) = if self.retransmit_first {
            self.retransmit_first = false;
            (self.una, self.segment_end(self.una).min(self.max))
        } else if self.mode == Mode::SackRecovery {
            self.next_in_sack_recovery()?
        } else {
            self.next_in_window(now)?
        };
        timer.start(now);
        Some(self.send(&flow, seq, end))
    }

    /// One past the last offset (FIN included) of a full segment at `seq`.
    #[inline]
    fn segment_end(&self, seq: u64) -> u64 {
        let last = seq.saturating_add(if self.probes > 0 { 1 } else { self.window.mss });
        if last >= self.end {
            self.end + 1
        } else if self.pushed && seq < self.available {
            last.min(self.available)
        } else if last > self.available && seq < self.available && self.is_cut_elsewhere(seq) {
            self.available
        } else {
            last
        }
    }

    /// A probe of one byte has shifted where segments are cut: what the application has provided in full ones no longer is. It
    /// goes when it was sent before, or when nothing is outstanding (RFC 896).
    fn is_cut_elsewhere(&self, seq: u64) -> bool {
        seq < self.max || seq == self.una && !seq.is_multiple_of(self.window.mss)
    }

    /// The segment at SND.NXT, if the congestion window and the receive window have room for it.
    #[inline]
    fn next_in_window(&mut self, now: Time) -> Option<(u64, u64)> {
        let (mut in_flight, mut bound) = (self.nxt - self.una, u64::MAX);
        if let Some(board) = &self.board
            && !board.is_empty()
        {
            // After a timeout what is SACKed need not be sent again; before one it has left the network.
            let (gap, until) = board.gap_from(self.nxt);
            self.nxt = gap;
            bound = until.unwrap_or(u64::MAX);
            in_flight = self.nxt - self.una - board.count_between(self.una, self.nxt);
        }
        if self.nxt > self.end {
            return None;
        }
        let seq_end = self.segment_end(self.nxt).min(bound);
        let len = seq_end.min(self.end) - self.nxt;
        let over = (in_flight + len).saturating_sub(self.window.cwnd);
        if self.nxt + len > self.una + self.peer_window || !self.is_available(seq_end) {
            if over > 0 {
                self.window_is_full(now);
            } else {
                self.limited_since = self.limited_since.min(now);
            }
            return None;
        }
        if over > 0 && !(self.nxt >= self.max && self.is_limited_transmit(len, over)) {
            self.window_is_full(now);
            return None;
        }
        // With SACK, what was SACKed makes room for it (RFC 6675 §5 step 3).
        if self.nxt + len > self.una.saturating_add(self.window.cwnd) {
            self.limited_sent += len;
        }
        Some((self.nxt, seq_end))
    }

    /// RFC 3042: one new segment beyond the window on each of the first two duplicate ACKs.
    fn is_limited_transmit(&self, len: u64, over: u64) -> bool {
        let allowed = u64::from(self.dup_acks.min(DUP_THRESHOLD - 1)) * self.window.mss;
        let limited = self.limited_transmit && self.mode == Mode::Open && self.board.is_none();
        limited && self.limited_sent + len <= allowed && over <= allowed
    }

    /// The congestion window is the limit, from now on if it was not before.
    #[inline]
    fn window_is_full(&mut self, now: Time) {
        if self.limited_since != Time::MAX {
            self.control.on_limited(self.limited_since, now);
            self.limited_since = Time::MAX;
        }
    }

    #[inline]
    fn send(&mut self, flow: &Flow, seq: u64, end: u64) -> Outgoing {
        let now = flow.now;
        let retransmission = seq < self.max;
        // PIAS tags by what the flow has sent, not by offset: what is sent again has the priority of what is new, and does
        // not count twice.
        let demoted = self.demotion.priority(self.sent_elsewhere + self.max.min(self.end) - self.young_from);
        let priority = self.control.priority(flow).unwrap_or(demoted);
        let rank = self.control.rank(flow);
        self.data_sent += 1;
        self.sent_at = now;
        if retransmission {
            self.retransmitted += 1;
            if let Some(sent) = &mut self.sent_times {
                sent.forget();
            }
        } else if self.mode == Mode::Open && self.dup_acks == 0 {
            // Not while a hole is open: the ACK would wait for its repair.
            if self.timed_end == 0 {
                self.timed_end = end;
                self.timed_at = now;
            }
            if let Some(sent) = &mut self.sent_times {
                sent.on_sent(end, now);
            }
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(end - seq);
        }
        if !retransmission {
            self.window.on_sent(end, now);
        }
        self.nxt = self.nxt.max(end);
        self.max = self.max.max(end);
        let fin = end > self.end;
        let cwr = self.cwr_due && !retransmission;
        self.cwr_due &= retransmission;
        let flags = Flags::ACK | Flags::FIN.when(fin) | Flags::CWR.when(cwr);
        let len = (end - seq - u64::from(fin)) as u16;
        self.pacer.on_sent(len);
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable; DCTCP's are, as in Linux.
        let ect = self.ecn && (!retransmission || self.ecn_on_retransmissions);
        Outgoing { segment: Segment { seq, len, flags, ..Segment::default() }, ect, priority, rank }
    }

    /// For a person.
    pub(super) fn waiting_for(&self, rto: Duration) -> String {
        if self.outstanding() == 0 && self.available < self.end {
            return format!(
                "the application, which has {} B so far, all of them sent and acknowledged",
                self.available
            );
        }
        format!(
            "an ACK beyond byte {} of {}; {} outstanding, window {} B, timeout {rto}",
            self.acknowledged(),
            if self.end == u64::MAX { "an endless stream".into() } else { self.end.to_string() },
            self.outstanding(),
            self.cwnd()
        )
    }
}
