//! Why a datagram is rejected.

use thiserror::Error;

/// Why a datagram is rejected. All of these come from outside: the right reaction is to count them and stay silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Shorter than the header of its kind.
    #[error("shorter than its header")]
    Truncated,
    /// Another version of the format.
    #[error("version {found} of the wire format, not {ours}")]
    Version {
        /// That of the datagram.
        found: u8,
        /// That of this end.
        ours: u8,
    },
    /// An unknown kind, or not the one that is expected here.
    #[error("unexpected kind of packet: {0}")]
    Kind(u8),
    /// A flag that its kind does not have.
    #[error("unknown flags: {0:#04x}")]
    Flags(u8),
    /// Its size differs from the one that it declares.
    #[error("not of the declared length")]
    Length,
    /// One end uses a key and the other does not.
    #[error("{}", if *.sealed { "sealed with a key, and this end has none" } else { "without a key, and this end asks for one" })]
    Protection {
        /// Whether the datagram is sealed.
        sealed: bool,
    },
    /// Its MAC does not match: it is damaged, has another key, or is forged.
    #[error("wrong MAC")]
    Mac,
    /// Its number was used before, or is too old to tell.
    #[error("repeated, or too late")]
    Replayed,
    /// Its sealed part does not match the tag.
    #[error("wrong authentication tag")]
    Tag,
    /// A field has an impossible value.
    #[error("impossible value: {0}")]
    Field(&'static str),
}
