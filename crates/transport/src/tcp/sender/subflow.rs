//! A sender that is one of several: its data is handed out to it by the segment, just when it can send one.

use super::super::config::TcpConfig;
use super::super::congestion::{Control, Coupling};
use super::super::scoreboard::Next;
use super::{Mode, Sender};
use crate::demotion::Demotion;
use std::ops::Range;

impl Sender {
    /// Nothing has been handed out yet, and nobody knows how much will be.
    pub(in super::super) fn wait_for_data(&mut self) {
        (self.available, self.pushed) = (0, true);
    }

    /// Whether data is handed out to it, and none has been so far.
    pub(in super::super) fn waits_for_data(&self) -> bool {
        self.pushed && self.available == 0
    }

    /// Whether all that was handed out has been sent and a full segment more could leave now.
    pub(in super::super) fn wants_data(&self) -> bool {
        let (mss, max) = (self.window.mss, self.max);
        if self.end != u64::MAX || self.retransmit_first || max < self.available {
            return false;
        }
        if max + mss > self.una + self.peer_window {
            return false;
        }
        if self.mode == Mode::SackRecovery {
            let Some(board) = &self.board else { return false };
            let next = board.next_segment(self.una, max, mss, true);
            return board.pipe() + mss <= self.window.cwnd && next == Some(Next::New);
        }
        let (mut nxt, mut in_flight) = (self.nxt, self.nxt - self.una);
        if let Some(board) = &self.board {
            nxt = board.gap_from(nxt).0;
            in_flight = nxt - self.una - board.count_between(self.una, nxt);
        }
        // After a timeout what was sent before comes first.
        let over = (in_flight + mss).saturating_sub(self.window.cwnd);
        nxt >= max && (over == 0 || self.is_limited_transmit(mss, over))
    }

    /// The stream's next bytes may be sent.
    pub(in super::super) fn hand_out(&mut self, bytes: u64) {
        self.set_available(self.available + bytes);
    }

    /// Nothing more will be handed out: the FIN follows.
    pub(in super::super) fn finish(&mut self) {
        self.end = self.end.min(self.available);
    }

    /// Sent at least once and not acknowledged.
    pub(in super::super) fn unacknowledged(&self) -> Range<u64> {
        self.acknowledged()..self.max.min(self.end)
    }

    /// The window without what recovery inflates it by.
    pub(in super::super) fn plain_window(&self) -> u64 {
        if self.mode == Mode::Open { self.window.cwnd } else { self.window.ssthresh }
    }

    /// The size of the flow, for what goes by it.
    pub(in super::super) fn set_size(&mut self, config: &TcpConfig, size: Option<u64>) {
        self.demotion = Demotion::new(&config.priority_thresholds, config.priority_by, size.unwrap_or(u64::MAX));
    }

    pub(in super::super) fn sent(&self) -> u64 {
        self.max.min(self.end)
    }

    pub(in super::super) fn set_sent_elsewhere(&mut self, bytes: u64) {
        self.sent_elsewhere = bytes;
    }

    pub(in super::super) fn inter_loss(&self) -> u64 {
        self.control.inter_loss()
    }

    pub(in super::super) fn set_coupling(&mut self, coupling: Coupling) {
        self.control.set_coupling(coupling);
    }
}
