//! Metadata of received datagrams.

use std::net::SocketAddr;

/// Metadata of a received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Source address.
    pub from: SocketAddr,
    /// A switch has marked it as having experienced congestion (RFC 3168).
    pub ce: bool,
    /// It was sent to a multicast group.
    pub by_group: bool,
}
