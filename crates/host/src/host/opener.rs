//! Who has opened a session, and with what.

use std::net::SocketAddr;

use anabranch_transport::Time;

use crate::Unsealer;
use crate::wire::{Request, Salt};

/// Where a packet that opens a session comes from, and what its answer refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener {
    pub(super) peer: SocketAddr,
    pub(super) session: u32,
    pub(super) salt: Salt,
    /// Of an offer, which of its receivers this host is.
    pub(super) index: u16,
}

/// A request that the application has not answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) opener: Opener,
    pub(super) unsealer: Unsealer,
    pub(super) request: Request,
    /// Of the datagram that it came in.
    pub(super) bytes: usize,
    /// The address is known to be that of who asks.
    pub(super) validated: bool,
    /// Later than this it is refused.
    pub(super) until: Time,
}
