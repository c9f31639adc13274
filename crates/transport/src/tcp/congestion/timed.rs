//! For tests of the samples that a control is given: NewReno that keeps each of them.

use super::{Acked, Control};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;
use crate::units::Duration;

/// The samples so far.
#[derive(Clone, Debug)]
pub(crate) struct Timed(pub(crate) Vec<Duration>);

impl Timed {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self(Vec::new())
    }
}

impl Control for Timed {
    fn samples_each(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, ack: &Acked, _: &Flow) {
        self.0.extend(ack.rtt);
    }
}
