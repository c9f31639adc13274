//! NewReno (RFC 6582): Reno's window; partial ACKs keep recovery going, which is the sender's work.

use super::Control;
use crate::tcp::TcpConfig;

/// No state beyond the window.
#[derive(Clone, Debug)]
pub(crate) struct NewReno;

impl NewReno {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self
    }
}

impl Control for NewReno {}
