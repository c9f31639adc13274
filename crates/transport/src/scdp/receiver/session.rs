//! What a receiver knows once the first symbol has arrived.

use crate::scdp::config::{ScdpConfig, WindowControl};
use crate::scdp::header::{Options, Symbol};
use crate::scdp::layout::{Layout, place};

/// A session, as its symbols describe it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) layout: Layout,
    /// Senders.
    pub(super) lanes: u32,
    pub(super) symbol_bytes: u64,
    pub(super) object_bytes: u64,
    /// Symbols that each sender pushes unasked.
    pub(super) window: u32,
    /// Whether senders take over what blocks wait for too long.
    pub(super) takes_over: bool,
    /// The options that all this was derived from.
    options: Options,
}

impl Session {
    /// What a symbol's options say; `None` if they are invalid.
    pub(super) fn new(options: &Options, config: &ScdpConfig) -> Option<Self> {
        Some(Self {
            layout: Layout::from_options(options)?,
            lanes: u32::from(options.lanes),
            symbol_bytes: u64::from(options.symbol_bytes),
            object_bytes: options.object_bytes,
            window: u32::from(options.window),
            takes_over: options.lanes > 1 && config.window_control != WindowControl::Fixed,
            options: *options,
        })
    }

    /// Whether a symbol that carries its options belongs to this object, cut in this way. Senders may push different windows, and a
    /// sender that detaches a receiver continues in another mode.
    fn is_of(&self, options: &Options) -> bool {
        let Options { window, mode, .. } = self.options;
        self.options == Options { window, mode, ..*options }
    }

    /// The place of a symbol among those of all senders of its block; `None` if it is not of this session, or cannot be this sender's.
    #[inline]
    pub(super) fn place(&self, symbol: &Symbol, lane: u32) -> Option<u32> {
        if symbol.syn && !self.is_of(&symbol.options) {
            return None;
        }
        place(symbol, self.layout.source_symbols(symbol.block), lane, self.lanes)
    }

    /// Bytes that a symbol may come with: T, or fewer for the object's last source symbol, whose padding need not be sent
    /// (RFC 6330 §4.4.2).
    pub(super) fn may_have(&self, symbol: &Symbol, bytes: usize) -> bool {
        let is_last = || self.layout.is_last(symbol.block, symbol.esi);
        bytes as u64 == self.symbol_bytes
            || is_last() && bytes as u64 == self.layout.last_symbol_bytes(self.object_bytes, self.symbol_bytes)
    }
}
