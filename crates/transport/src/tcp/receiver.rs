//! The passive end's data path: reassembly, and when and how to acknowledge.

use super::config::TcpConfig;
use super::segment::{Flags, MAX_SACK_BLOCKS, Segment};
use crate::endpoint::Stats;
use crate::ranges::RangeSet;
use crate::units::{Duration, Time};

/// Receive side of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// RCV.NXT: everything before it has arrived.
    next: u64,
    /// Offset of the FIN; `u64::MAX` until it is known.
    fin_at: u64,
    /// What arrived beyond `next`; empty normally.
    beyond: RangeSet,
    window: u32,
    /// An ACK must leave now.
    ack_due: bool,
    /// Segments that a delayed ACK still has to cover.
    unacked: u8,
    /// When the delayed ACK must leave; `Time::MAX` if none waits.
    delayed_until: Time,
    delay: Option<Duration>,
    /// Data segments that are still acknowledged at once.
    quick: u16,
    sack: bool,
    echo: Echo,
    /// Echo marks as RFC 8257 does.
    echo_per_packet: bool,
    /// An ACK for the packets before a change of the mark (RFC 8257 §3.2): its number, and its echo.
    early_ack: Option<(u64, bool)>,
    data_received: u64,
    marked_received: u64,
}

/// How congestion marks are echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    Off,
    /// RFC 3168 §6.1.3: every ACK from a mark until the sender says CWR.
    UntilReduced(bool),
    /// RFC 8257 §3.2: as the packets were marked.
    PerPacket(bool),
}

impl Receiver {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let mut receiver = Self {
            next: 0,
            fin_at: u64::MAX,
            beyond: RangeSet::default(),
            window: config.receive_window.0 as u32,
            ack_due: false,
            unacked: 0,
            delayed_until: Time::MAX,
            delay: config.delayed_ack.then_some(config.delayed_ack_timeout),
            quick: if config.delayed_ack { config.quick_acks } else { 0 },
            sack: false,
            echo: Echo::Off,
            echo_per_packet: config.congestion.needs_ecn(),
            early_ack: None,
            data_received: 0,
            marked_received: 0,
        };
        receiver.set_options(config.wants_ecn(), config.sack);
        receiver
    }

    /// What the handshake agreed on.
    pub(super) fn set_options(&mut self, ecn: bool, sack: bool) {
        self.sack = sack;
        self.echo = match (ecn, self.echo_per_packet) {
            (false, _) => Echo::Off,
            (true, false) => Echo::UntilReduced(false),
            (true, true) => Echo::PerPacket(false),
        };
    }

    /// Whether everything up to and including the FIN has arrived.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.next > self.fin_at
    }

    /// Payload bytes that arrived in order.
    pub(super) fn delivered(&self) -> u64 {
        self.next.min(self.fin_at)
    }

    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.delayed_until
    }

    pub(super) fn acknowledge_now(&mut self) {
        self.ack_due = true;
    }

    /// The delayed ACK's time has come, perhaps.
    pub(super) fn on_timeout(&mut self, now: Time) {
        if now >= self.delayed_until {
            self.ack_due = true;
        }
    }

    /// A segment with data, FIN or both.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, segment: &Segment, ce: bool) {
        self.data_received += 1;
        self.marked_received += u64::from(ce);
        let fin = segment.flags.has(Flags::FIN);
        let end = segment.seq + u64::from(segment.len) + u64::from(fin);
        let mark_changed = self.echo_mark(ce, segment.flags.has(Flags::CWR));
        if segment.seq == self.next && self.beyond.is_empty() {
            self.next = end;
            if fin {
                self.fin_at = end - 1;
            }
            // RFC 5681 §4.2: delay at most one full segment's ACK, and for a bounded time.
            if let Some(delay) = self.delay
                && self.unacked == 0
                && self.quick == 0
                && !fin
                && !mark_changed
            {
                self.unacked = 1;
                self.delayed_until = now + delay;
            } else {
                self.quick = self.quick.saturating_sub(1);
                self.ack_due = true;
            }
            return;
        }
        // RFC 5681 §4.2: duplicates, segments out of order and segments that fill a gap are acknowledged at once.
        self.ack_due = true;
        // Beyond the window is no sender of ours; it is answered, not stored (RFC 9293 §3.10.7.4).
        if end <= self.next || end > self.next + u64::from(self.window) + u64::from(fin) {
            return;
        }
        if fin {
            self.fin_at = end - 1;
        }
        if segment.seq > self.next {
            self.beyond.insert(segment.seq, end);
            return;
        }
        self.next = end;
        while let Some(reached) = self.beyond.take_reached(self.next) {
            self.next = self.next.max(reached);
        }
    }

    /// Takes note of a packet's mark. Whether an ACK must leave at once because the mark changed.
    #[inline]
    fn echo_mark(&mut self, ce: bool, cwr: bool) -> bool {
        match &mut self.echo {
            Echo::Off => false,
            Echo::UntilReduced(echo) => {
                *echo = (*echo && !cwr) || ce;
                false
            }
            Echo::PerPacket(echo) => {
                let changed = *echo != ce;
                if changed && self.unacked > 0 {
                    self.early_ack = Some((self.next, *echo));
                    self.unacked = 0;
                    self.delayed_until = Time::MAX;
                }
                *echo = ce;
                changed
            }
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            data_received: self.data_received,
            marked_received: self.marked_received,
            bytes_delivered: self.delivered(),
            ..Stats::default()
        }
    }

    /// For a person.
    pub(super) fn waiting_for(&self) -> String {
        let waiting = self.beyond.count_between(0, u64::MAX);
        format!("byte {}; {waiting} B beyond it have arrived, window {} B", self.delivered(), self.window)
    }

    /// The next ACK to send. Its FIN and `seq` are the connection's business.
    #[inline]
    pub(super) fn poll_ack(&mut self) -> Option<Segment> {
        if let Some((ack, echo)) = self.early_ack.take() {
            let flags = Flags::ACK | Flags::ECE.when(echo);
            return Some(Segment { ack, window: self.window, flags, ..Segment::default() });
        }
        if !self.ack_due {
            return None;
        }
        self.ack_due = false;
        self.unacked = 0;
        self.delayed_until = Time::MAX;
        let echo = matches!(self.echo, Echo::UntilReduced(true) | Echo::PerPacket(true));
        let flags = Flags::ACK | Flags::ECE.when(echo);
        let mut segment = Segment { ack: self.next, window: self.window, flags, ..Segment::default() };
        if self.sack && !self.beyond.is_empty() {
            self.report_blocks(&mut segment);
        }
        Some(segment)
    }

    /// RFC 2018 §4: the block that holds the latest segment first, then the most recently reported others.
    fn report_blocks(&self, segment: &mut Segment) {
        let mut latest = u32::MAX;
        for _ in 0..MAX_SACK_BLOCKS {
            let older = self.beyond.as_slice().iter().filter(|r| r.stamp < latest);
            let Some(range) = older.max_by_key(|r| r.stamp) else { return };
            segment.push_sack(range.start, range.end);
            latest = range.stamp;
        }
    }
}
