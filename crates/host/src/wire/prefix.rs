//! The 8 bytes that every datagram begins with.

use super::{WireError, field};

/// Version of the wire format.
pub const VERSION: u8 = 2;

/// The version before. Only its opening packets are read, which look the same: they are refused in words that its hosts understand.
pub const PREVIOUS: u8 = 1;

/// Bytes of the prefix.
pub const PREFIX: usize = 8;

/// Maximum size of a datagram: the limit of UDP over IPv4.
pub const MAX_DATAGRAM_BYTES: usize = 65_507;

/// Flags. Each kind uses some of them; the others are 0.
pub mod flag {
    /// Symbols: part of the initial window.
    pub const SYN: u8 = 0x01;
    /// All but retries: protected by a key. Without it, MACs are checksums and nothing is encrypted.
    pub const SEALED: u8 = 0x02;
    /// Pulls: the symbols asked for are the last ones needed.
    pub const FIN: u8 = 0x04;
    /// Pulls: repeated after silence.
    pub const RETRY: u8 = 0x08;
    /// Pulls: the receiver has everything.
    pub const DONE: u8 = 0x10;
}

/// Kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An encoding symbol.
    Symbol = 1,
    /// A batch of pulls.
    Pull = 2,
    /// A message of an open session.
    Control = 3,
    /// Opens a session.
    Open = 4,
    /// Asks for a request again, with a cookie.
    Retry = 5,
    /// Accepts or refuses a session.
    Answer = 6,
    /// Hashes of an object's parts.
    Hashes = 7,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Symbol, Self::Pull, Self::Control, Self::Open, Self::Retry, Self::Answer, Self::Hashes];

    /// Bytes of its header, prefix included.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Symbol => 36,
            Self::Open | Self::Answer => 44,
            Self::Pull | Self::Control | Self::Retry | Self::Hashes => 24,
        }
    }

    /// The flags that it may have.
    pub const fn flags(self) -> u8 {
        match self {
            Self::Symbol => flag::SYN | flag::SEALED,
            Self::Pull => flag::SEALED | flag::FIN | flag::RETRY | flag::DONE,
            Self::Control | Self::Open | Self::Answer | Self::Hashes => flag::SEALED,
            Self::Retry => 0,
        }
    }
}

/// The prefix of every datagram: enough to find its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Version of the format: [`VERSION`], or [`PREVIOUS`] of a packet that opens a session or refuses one.
    pub version: u8,
    /// What kind of datagram it is.
    pub kind: Kind,
    /// The bits of [`flag`] that are set.
    pub flags: u8,
    /// Bytes after the kind's header, as they left the sender.
    pub length: u16,
    /// The session, by the number that its opener chose. It is meaningful only together with the peer's address.
    pub session: u32,
}

impl Prefix {
    /// Checks everything that can be checked without a key: version, kind, flags, and that the datagram has the declared length. The payload of a
    /// symbol may be shorter: then it was trimmed.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`Version`](WireError::Version), [`Kind`](WireError::Kind), [`Flags`](WireError::Flags),
    /// or [`Length`](WireError::Length).
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        if bytes.len() < PREFIX {
            return Err(WireError::Truncated);
        }
        let (version, kind) = (bytes[0] >> 4, bytes[0] & 15);
        if version != VERSION && (version, kind) != (PREVIOUS, Kind::Open as u8) {
            return Err(WireError::Version { found: version, ours: VERSION });
        }
        let kind = Kind::ALL.into_iter().find(|&k| k as u8 == kind).ok_or(WireError::Kind(kind))?;
        let flags = bytes[1];
        if flags & !kind.flags() != 0 {
            return Err(WireError::Flags(flags));
        }
        let length = u16::from_be_bytes(field(bytes, 2));
        let present = bytes.len().checked_sub(kind.header_bytes()).ok_or(WireError::Truncated)?;
        let matches = match kind {
            Kind::Symbol => length > 0 && present <= usize::from(length),
            _ => present == usize::from(length),
        };
        if !matches {
            return Err(WireError::Length);
        }
        Ok(Self { version, kind, flags, length, session: u32::from_be_bytes(field(bytes, 4)) })
    }

    /// Whether the datagram is protected by a key.
    pub fn sealed(&self) -> bool {
        self.flags & flag::SEALED != 0
    }

    /// The 8 bytes.
    pub fn emit(&self) -> [u8; PREFIX] {
        let mut bytes = [0; PREFIX];
        bytes[0] = self.version << 4 | self.kind as u8;
        bytes[1] = self.flags;
        bytes[2..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.session.to_be_bytes());
        bytes
    }
}

/// Parses the prefix of a datagram of the given kinds.
pub(crate) fn expect(bytes: &[u8], kinds: &[Kind]) -> Result<Prefix, WireError> {
    let prefix = Prefix::parse(bytes)?;
    if kinds.contains(&prefix.kind) { Ok(prefix) } else { Err(WireError::Kind(prefix.kind as u8)) }
}
