//! What SCDP packets say (SCDP §IV-A, Figure 3).
//!
//! A trimmed symbol is not a type of its own: switches do not rewrite type fields, so a symbol *is* trimmed when its
//! payload is shorter than the header declares (T, or what F leaves for the last source symbol), which the driver tells. All that is needed to act on a trimmed symbol is in its header.

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

/// The options that symbols of the initial window carry, from which a receiver learns what it will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// F: bytes of the object; `u64::MAX` for an object without end.
    pub object_bytes: u64,
    /// T: bytes of a symbol, at least 1.
    pub symbol_bytes: u16,
    /// Symbols of a block at most, from which Z follows.
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
    /// How many symbols of this block its sender had emitted before: by this a receiver sees gaps.
    pub index: u32,
    /// The options, with the flag *syn*. Only the initial window has it on the wire; here every symbol can show it.
    pub options: Options,
    /// *syn*: belongs to the initial window (or repeats some of it for a receiver that has not answered).
    pub syn: bool,
}

/// A pull packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// SBN: the block that symbols are wanted of.
    pub block: u32,
    /// Sequence number: how many symbols of this block the sender shall have emitted in all.
    pub upto: u32,
    /// All blocks before this one are complete.
    pub base: u32,
    /// *fin*: the symbol asked for is the last one needed.
    pub fin: bool,
    /// Repeated after silence: if all that is asked for was emitted already, it is lost.
    pub retry: bool,
    /// The receiver has everything.
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
