//! Hosts: the transports that run on them and the choices a host makes for each packet.

pub mod application;
pub mod decode_table;
pub mod decoder;
pub mod protocol;
pub mod resequencer;
pub mod scdp;
pub mod stack;

use crate::fabric::routing::FlowPaths;
use anabranch_transport::Peer;
use application::Application;
use resequencer::Resequencer;

pub use crate::engine::arena::EndpointId;
pub use stack::Hosted;
use stack::{Header, Seen};

/// The other end of a connection, as an endpoint sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Host it runs on.
    pub host: u32,
    /// The endpoint there.
    pub endpoint: EndpointId,
    /// This endpoint's index among the remote's peers.
    pub from: Peer,
}

/// The other ends of an endpoint, by peer index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remotes {
    /// As nearly all have.
    One(Remote),
    /// The hub of a one-to-many or many-to-one session.
    Many(Box<[Remote]>),
}

impl Remotes {
    /// All of them.
    pub fn all(&self) -> &[Remote] {
        match self {
            Self::One(remote) => std::slice::from_ref(remote),
            Self::Many(remotes) => remotes,
        }
    }

    /// The remote end that the endpoint knows as `peer`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn get(&self, peer: Peer) -> Remote {
        match self {
            Self::One(remote) => *remote,
            Self::Many(remotes) => remotes[usize::from(peer)],
        }
    }
}

/// Who is told how much a receiver has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// A sender on the same host, which forwards it (daisy chain).
    Relay(EndpointId),
    /// The client that asks for the next block when this one is complete.
    Client,
}

/// Where an endpoint is, and how it is wired.
pub struct Place {
    /// Host it runs on.
    pub host: u32,
    /// The host's interface at which packets reach it: that of the last packet. Its pulls are paced there.
    pub interface: u32,
    /// The interface by which its last packet left, at which it waits for its next turn.
    pub leaves_by: u32,
    /// Session it belongs to.
    pub session: u32,
    /// For a receiving endpoint: which receiver of the session it is.
    pub receiver: Option<u16>,
    /// The other ends.
    pub remotes: Remotes,
    /// Who else is told what this receiver gets.
    pub feeds: Option<Feed>,
    /// Whether it has given up.
    pub failed: bool,
    /// Whether it waits for its turn at an interface.
    pub in_turn: bool,
    /// Whether it has received all that it was to receive.
    pub completed: bool,
    /// The application of a sender that gets its object little by little.
    pub application: Option<Box<Application>>,
    /// Multicast group that it may send to.
    pub group: Option<u32>,
    /// Class of its packets, where transports have queues of their own.
    pub class: u8,
    /// Chooses the path bits of each packet.
    pub paths: FlowPaths,
    /// In which interface's pull queue it waits for its turn, and how urgently, if it does.
    pub pulling: Option<(u32, u8)>,
    /// Puts packets with data in order before a receiver gets them, where hosts do.
    pub resequencer: Option<Box<Resequencer<(Header, Seen)>>>,
}
