//! SCDP's ends on simulated hosts: symbols carry no bytes, and a model decodes them.

use super::decoder::{DecodeModel, ModelDecoder};
use super::stack::Stack;
use crate::random;
use anabranch_transport::Bytes;
use anabranch_transport::scdp::{Connection, Receiver, ScdpConfig, Sender, WindowControl};
use std::ops::Deref;
use std::sync::Arc;

/// The protocol's parameters, and the model of its decoder. All sessions of a workload share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScdpSettings {
    /// Of the protocol.
    pub protocol: Arc<ScdpConfig>,
    /// Of the decoder.
    pub decoding: Arc<DecodeModel>,
}

impl Deref for ScdpSettings {
    type Target = ScdpConfig;
    fn deref(&self) -> &ScdpConfig {
        &self.protocol
    }
}

/// With the model's defaults.
impl From<ScdpConfig> for ScdpSettings {
    fn from(protocol: ScdpConfig) -> Self {
        Self { protocol: protocol.into(), ..Self::default() }
    }
}

impl ScdpSettings {
    pub(super) fn unicast(&self, size: Option<u64>, seed: u64) -> (Connection, Connection) {
        let sender = Sender::unicast(Arc::clone(&self.protocol), size);
        (Connection::Sender(sender), Connection::Receiver(self.receiver(1, seed)))
    }

    pub(super) fn one_to_many(&self, size: Option<u64>, receivers: u16, seed: u64) -> (Stack, Vec<Stack>) {
        // Members that find their windows have them as those on real hosts do: a repair symbol leaves when one of them asks for it, and losses do not
        // take a window below the first.
        let finds_windows = self.window_control == WindowControl::Bbr;
        let sender = Sender::one_to_many(Arc::clone(&self.protocol), size, receivers);
        let sender = if finds_windows { sender.with_repairs_for_any() } else { sender };
        let receiver = |i: u16| {
            let receiver = self.receiver(1, random::mix(seed ^ u64::from(i)));
            of_receiver(if finds_windows { receiver.with_least_window(self.initial_window) } else { receiver })
        };
        (of_sender(sender), (0..receivers).map(receiver).collect())
    }

    pub(super) fn many_to_one(&self, size: Option<u64>, senders: u16, seed: u64) -> (Vec<Stack>, Stack) {
        let sender = |i: u16| {
            let sender = Sender::many_to_one(Arc::clone(&self.protocol), size, i, senders);
            of_sender(sender.with_repair_seed(random::mix(seed ^ random::mix(u64::from(i)))))
        };
        ((0..senders).map(sender).collect(), of_receiver(self.receiver(senders, seed)))
    }

    fn receiver(&self, senders: u16, seed: u64) -> Receiver {
        let decoder = ModelDecoder::new(Arc::clone(&self.decoding), Bytes(self.symbol_bytes()), seed);
        Receiver::new(Arc::clone(&self.protocol), senders, seed).with_decoder(Box::new(decoder))
    }
}

fn of_sender(sender: Sender) -> Stack {
    Stack::Scdp(Connection::Sender(sender))
}

fn of_receiver(receiver: Receiver) -> Stack {
    Stack::Scdp(Connection::Receiver(receiver))
}
