//! What a receiver knows once the first symbol has arrived.

use crate::scdp::config::{ScdpConfig, WindowControl};
use crate::scdp::header::{Mode, Options, Symbol};
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

    /// Whether the sender has several receivers, or had when the session began.
    #[inline]
    pub(super) fn is_of_group(&self) -> bool {
        self.options.mode == Mode::OneToMany
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Three blocks of four symbols of eight bytes, of which the last has three bytes, from two senders.
    const OPTIONS: Options =
        Options { object_bytes: 91, symbol_bytes: 8, block_symbols: 4, window: 12, lanes: 2, mode: Mode::ManyToOne };

    fn session() -> Session {
        Session::new(&OPTIONS, &ScdpConfig::default()).unwrap()
    }

    fn symbol(block: u32, index: u32, esi: u32, options: Options) -> Symbol {
        Symbol { block, esi, index, options, syn: true }
    }

    #[test]
    fn a_symbol_has_the_place_that_its_sender_sends_it_in() {
        let session = session();
        let place = |index, esi, lane| session.place(&symbol(0, index, esi, OPTIONS), lane);
        assert_eq!((place(1, 2, 0), place(1, 3, 1), place(1, 2, 1)), (Some(2), Some(3), None));
        assert_eq!((place(2, 77, 1), place(2, 1, 1)), (Some(5), None), "a repair symbol may have any number");
    }

    #[test]
    fn what_belongs_to_another_object_or_is_cut_otherwise_has_none() {
        let session = session();
        let place = |options| session.place(&symbol(0, 0, 0, options), 0);
        assert_eq!(
            place(Options { window: 3, mode: Mode::Unicast, ..OPTIONS }),
            Some(0),
            "senders may differ in these"
        );
        let others = [
            Options { object_bytes: 92, ..OPTIONS },
            Options { symbol_bytes: 9, ..OPTIONS },
            Options { block_symbols: 5, ..OPTIONS },
            Options { lanes: 3, ..OPTIONS },
        ];
        assert_eq!(others.map(place), [None; 4]);
    }

    #[test]
    fn only_the_last_source_symbol_may_come_without_its_padding() {
        let session = session();
        let may_have = |block, esi, bytes| session.may_have(&symbol(block, 0, esi, OPTIONS), bytes);
        assert!(may_have(2, 3, 3) && may_have(2, 3, 8) && may_have(2, 7, 8));
        assert!(!may_have(2, 3, 4) && !may_have(1, 3, 3) && !may_have(2, 4, 3));
    }

    #[test]
    fn options_without_symbols_or_senders_are_no_session() {
        for options in [Options { lanes: 0, ..OPTIONS }, Options { symbol_bytes: 0, ..OPTIONS }] {
            assert!(Session::new(&options, &ScdpConfig::default()).is_none());
        }
    }
}
