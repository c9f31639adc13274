//! How datagrams come, besides their bytes.

use std::net::SocketAddr;

/// How a datagram came.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// From whom.
    pub from: SocketAddr,
    /// A switch marked congestion experienced (RFC 3168).
    pub ce: bool,
    /// It was sent to a multicast group.
    pub by_group: bool,
}
