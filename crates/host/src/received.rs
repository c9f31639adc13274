//! How datagrams come and go, besides their bytes.

use std::net::SocketAddr;

/// The ECN codepoint of a datagram that leaves (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// A switch whose queue is too long drops it.
    #[default]
    NotEct,
    /// A switch may mark it instead: the receiver finds its window by itself, and takes notice.
    Ect0,
}

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
