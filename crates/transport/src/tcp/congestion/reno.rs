//! Reno (RFC 5681): the defaults of [`Control`], and a recovery that the first new ACK ends (§3.2 step 6).

use super::Control;
use crate::tcp::TcpConfig;

/// No state beyond the window.
#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl Reno {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self
    }
}

impl Control for Reno {
    fn keeps_recovering_on_partial_ack(&self) -> bool {
        false
    }
}
