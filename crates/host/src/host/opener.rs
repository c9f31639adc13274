//! The origin of a packet that opens a session.

use std::net::SocketAddr;

use anabranch_transport::Time;

use crate::Unsealer;
use crate::wire::{Request, Salt};

/// Where an opening packet comes from, and what its answer refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener {
    pub(super) peer: SocketAddr,
    pub(super) session: u32,
    pub(super) salt: Salt,
    /// For an offer: the index of this host among its receivers.
    pub(super) index: u16,
}

/// A request that the application has not answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) opener: Opener,
    pub(super) unsealer: Unsealer,
    pub(super) request: Request,
    /// Size of the datagram that carried it.
    pub(super) bytes: usize,
    /// The address is validated.
    pub(super) validated: bool,
    /// When it is refused for lack of an answer.
    pub(super) until: Time,
}
