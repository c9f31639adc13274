//! What holds several connections asks of each (`multipath`).

use super::super::config::TcpConfig;
use super::super::congestion::Coupling;
use super::super::flow::FlowSpec;
use super::{Connection, Half, Owed, State};
use crate::units::Time;
use std::ops::Range;

impl Connection {
    /// The active end of one of several connections: data is [handed out](Self::hand_out) to it later.
    pub(crate) fn subflow(config: &TcpConfig, flow: FlowSpec, now: Time) -> Self {
        let mut connection = Self::connect_with(config, FlowSpec { bytes: None, ..flow }, now);
        if let Half::Sender(sender) = &mut connection.half {
            sender.wait_for_data(config, flow.bytes);
        }
        connection
    }

    /// Whether all that was handed out to it has been sent and a full segment more could leave now.
    pub(crate) fn wants_data(&self) -> bool {
        self.state == State::Established && matches!(&self.half, Half::Sender(sender) if sender.wants_data())
    }

    /// The next bytes of its stream may be sent.
    pub(crate) fn hand_out(&mut self, bytes: u64) {
        if let Half::Sender(sender) = &mut self.half {
            sender.hand_out(bytes);
        }
    }

    /// Bytes of its stream that have been sent at least once.
    pub(crate) fn sent(&self) -> u64 {
        match &self.half {
            Half::Sender(sender) => sender.sent(),
            Half::Receiver(_) => 0,
        }
    }

    /// Its flow has sent so many bytes over other connections.
    pub(crate) fn set_sent_elsewhere(&mut self, bytes: u64) {
        if let Half::Sender(sender) = &mut self.half {
            sender.set_sent_elsewhere(bytes);
        }
    }

    /// Nothing more will be handed out: its FIN follows.
    pub(crate) fn finish(&mut self) {
        if let Half::Sender(sender) = &mut self.half {
            sender.finish();
        }
    }

    /// Ends it here and now, without a word.
    pub(crate) fn abort(&mut self) {
        (self.state, self.owed) = (State::Closed, Owed::Nothing);
        self.handshake.stop();
        self.timer.stop();
    }

    /// Whether its handshake is not over.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.state, State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether it waits for a SYN.
    pub(crate) fn is_listening(&self) -> bool {
        self.state == State::Listen
    }

    /// Whether data flows.
    pub(crate) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Offsets of its stream that were sent and are not acknowledged.
    pub(crate) fn unacknowledged(&self) -> Range<u64> {
        match &self.half {
            Half::Sender(sender) => sender.unacknowledged(),
            Half::Receiver(_) => 0..0,
        }
    }

    /// Bytes of its stream that are acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        match &self.half {
            Half::Sender(sender) => sender.acknowledged(),
            Half::Receiver(_) => 0,
        }
    }

    /// Timeouts since the last progress.
    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.timer.consecutive()
    }

    /// The congestion window without what recovery inflates it by.
    pub(crate) fn plain_window(&self) -> u64 {
        match &self.half {
            Half::Sender(sender) => sender.plain_window(),
            Half::Receiver(_) => 0,
        }
    }

    /// What its control knows of the distance of losses; see [`Coupling`].
    pub(crate) fn inter_loss(&self) -> u64 {
        match &self.half {
            Half::Sender(sender) => sender.inter_loss(),
            Half::Receiver(_) => 0,
        }
    }

    /// Tells its control of the others.
    pub(crate) fn set_coupling(&mut self, coupling: Coupling) {
        if let Half::Sender(sender) = &mut self.half {
            sender.set_coupling(coupling);
        }
    }
}
