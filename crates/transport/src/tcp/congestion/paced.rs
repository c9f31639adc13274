//! For tests of what a control may ask of the sender: NewReno whose segments leave at a fixed rate, the last ones with priority.

use super::{Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;
use crate::units::Rate;

/// A tenth of the link of the tests.
pub(crate) const RATE: Rate = Rate::from_mbps(100);

/// No state beyond the window.
#[derive(Clone, Debug)]
pub(crate) struct Paced;

impl Paced {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self
    }
}

impl Control for Paced {
    fn pacing_rate(&self, _: &Window, _: &Flow) -> Option<Rate> {
        Some(RATE)
    }

    /// By remaining size, as pFabric has it (SIGCOMM 2013).
    fn priority(&self, flow: &Flow) -> Option<u8> {
        Some(if flow.to_send? - flow.acknowledged > 10_000 { 5 } else { 1 })
    }
}
