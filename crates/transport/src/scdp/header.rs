//! SCDP packet headers (SCDP §IV-A, Figure 3).
//!
//! A trimmed symbol is not a type of its own: switches do not rewrite type fields, so a symbol *is* trimmed when its
//! payload is shorter than the header declares (T, or what F leaves for the last source symbol), which the driver reports. The header
//! of a trimmed symbol has all that is needed to act on it.

/// How the ends of a session relate: the option M of Figure 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One sender, one receiver.
    Unicast,
    /// One sender, several receivers.
    OneToMany,
    /// Several senders, one receiver.
    ManyToOne,
}

/// The options that symbols of the initial window carry, which describe the object to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// F: bytes of the object; `u64::MAX` for an object without end.
    pub object_bytes: u64,
    /// T: bytes of a symbol, at least 1.
    pub symbol_bytes: u16,
    /// Maximum number of symbols of a block, from which Z follows.
    pub block_symbols: u16,
    /// Initial window of each sender, in symbols.
    pub window: u16,
    /// Number of senders.
    pub lanes: u16,
    /// M.
    pub mode: Mode,
}

/// A symbol packet, or what a switch left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// SBN: number of the source block. RFC 6330 has 8 bits, enough for 256 blocks; pipelining small blocks needs more.
    pub block: u32,
    /// ESI: source symbols first, repair symbols from K on.
    pub esi: u32,
    /// How many symbols of this block its sender had emitted before: shows gaps to a receiver.
    pub index: u32,
    /// The options, with the flag *syn*. On the wire only the initial window has them; here every symbol can carry them.
    pub options: Options,
    /// *syn*: belongs to the initial window (or repeats some of it for a receiver that has not answered).
    pub syn: bool,
}

/// A pull packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// SBN: the block of which symbols are wanted.
    pub block: u32,
    /// Sequence number: how many symbols of this block the sender is to have emitted in all.
    pub upto: u32,
    /// All blocks before this one are complete.
    pub base: u32,
    /// *fin*: the symbol asked for is the last one needed.
    pub fin: bool,
    /// Repeated after silence: if all requested symbols were already emitted, they are lost.
    pub retry: bool,
    /// The receiver has the whole object.
    pub done: bool,
}

/// Any SCDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A symbol.
    Symbol(Symbol),
    /// A pull.
    Pull(Pull),
    /// The sender of a one-to-many session has given this receiver up. Not in the paper, which leaves stragglers to the
    /// application.
    GivenUp,
}
