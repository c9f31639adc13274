//! What holds several connections asks of each (`multipath`).

use super::super::config::TcpConfig;
use super::super::congestion::{Control, Coupling};
use super::super::flow::FlowSpec;
use super::super::sender::Sender;
use super::lifecycle::State;
use super::{Connection, Half};
use crate::units::Time;
use std::ops::Range;

impl Connection {
    /// The active end of one of several connections: data is [handed out](Self::hand_out) to it later.
    pub(crate) fn subflow(config: &TcpConfig, flow: FlowSpec, now: Time) -> Self {
        let mut connection = Self::connect_with(config, FlowSpec { bytes: None, ..flow }, now);
        if let Some(sender) = connection.sender_mut() {
            sender.wait_for_data(config, flow.bytes);
        }
        connection
    }

    /// Whether all that was handed out to it has been sent and a full segment more could leave now.
    pub(crate) fn wants_data(&self) -> bool {
        self.life.is_established() && self.sender().is_some_and(Sender::wants_data)
    }

    /// The next bytes of its stream may be sent.
    pub(crate) fn hand_out(&mut self, bytes: u64) {
        if let Some(sender) = self.sender_mut() {
            sender.stream_mut().hand_out(bytes);
        }
    }

    /// Bytes of its stream that have been sent at least once.
    pub(crate) fn sent(&self) -> u64 {
        self.sender().map_or(0, |sender| sender.stream().sent())
    }

    /// Its flow has sent so many bytes over other connections.
    pub(crate) fn set_sent_elsewhere(&mut self, bytes: u64) {
        if let Some(sender) = self.sender_mut() {
            sender.set_sent_elsewhere(bytes);
        }
    }

    /// Nothing more will be handed out: its FIN follows.
    pub(crate) fn finish(&mut self) {
        if let Some(sender) = self.sender_mut() {
            sender.stream_mut().finish();
        }
    }

    /// Ends it here and now, without a word.
    pub(crate) fn abort(&mut self) {
        self.life.abort();
        if let Half::Active(end) = &mut self.half {
            end.abort();
        }
    }

    /// Whether its handshake is not over.
    pub(crate) fn is_opening(&self) -> bool {
        self.life.is_opening()
    }

    /// Whether it waits for a SYN.
    pub(crate) fn is_listening(&self) -> bool {
        self.life.state() == State::Listen
    }

    /// Whether data flows.
    pub(crate) fn is_established(&self) -> bool {
        self.life.is_established()
    }

    /// Offsets of its stream that were sent and are not acknowledged.
    pub(crate) fn unacknowledged(&self) -> Range<u64> {
        self.sender().map_or(0..0, |sender| sender.stream().unacknowledged())
    }

    /// Bytes of its stream that are acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.sender().map_or(0, |sender| sender.stream().acknowledged())
    }

    /// Timeouts since the last progress.
    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.life.timer().consecutive()
    }

    /// The congestion window without what recovery inflates it by.
    pub(crate) fn plain_window(&self) -> u64 {
        self.sender().map_or(0, Sender::plain_window)
    }

    /// What its control knows of the distance of losses; see [`Coupling`].
    pub(crate) fn inter_loss(&self) -> u64 {
        self.sender().map_or(0, |sender| sender.window().control().inter_loss())
    }

    /// Tells its control of the others.
    pub(crate) fn set_coupling(&mut self, coupling: Coupling) {
        if let Some(sender) = self.sender_mut() {
            sender.window_mut().set_coupling(coupling);
        }
    }
}
