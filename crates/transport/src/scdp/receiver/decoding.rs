//! The decoder, and the complete blocks that the application has not taken.

use super::session::Session;
use crate::Time;
use crate::scdp::block::{BlockDecoder, Collected, Decode};
use crate::scdp::header::Symbol;
use std::collections::BTreeSet;

/// Complete blocks that the application has not taken, or not checked.
#[derive(Debug)]
struct Untaken {
    blocks: BTreeSet<u32>,
    limit: usize,
}

/// Where symbols go, and blocks come from.
#[derive(Debug, Default)]
pub(super) struct Decoding {
    /// Without one, any K symbols of a block suffice, and decoding takes no time.
    decoder: Option<Box<dyn BlockDecoder>>,
    /// Symbols carry bytes, which the decoder gets.
    carries_bytes: bool,
    untaken: Option<Untaken>,
    /// When all blocks that have been decoded are available.
    available: Time,
}

impl Decoding {
    pub(super) fn set_decoder(&mut self, decoder: Box<dyn BlockDecoder>) {
        self.carries_bytes = decoder.symbol_bytes().is_some();
        self.decoder = Some(decoder);
    }

    /// While `limit` complete blocks (at least 1) are not taken, no other is begun.
    pub(super) fn limit_untaken(&mut self, limit: usize) {
        self.untaken = Some(Untaken { blocks: BTreeSet::new(), limit: limit.max(1) });
    }

    pub(super) fn decoder(&mut self) -> Option<&mut (dyn BlockDecoder + 'static)> {
        self.decoder.as_deref_mut()
    }

    /// Whether symbols carry bytes, which the decoder gets.
    #[inline]
    pub(super) fn carries_bytes(&self) -> bool {
        self.carries_bytes
    }

    /// Whether the application may be slow to take blocks.
    pub(super) fn is_limited(&self) -> bool {
        self.untaken.is_some()
    }

    /// Whether the application has to take blocks before others are begun.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.untaken.as_ref().is_some_and(|untaken| untaken.blocks.len() >= untaken.limit)
    }

    /// When all blocks that have been decoded are available.
    pub(super) fn available(&self) -> Time {
        self.available
    }

    /// Whether the decoder, if there is one, was made for symbols of this size.
    pub(super) fn takes_symbols_of(&self, session: &Session) -> bool {
        let expected = self.decoder.as_ref().and_then(|decoder| decoder.symbol_bytes());
        expected.is_none_or(|bytes| bytes as u64 == session.symbol_bytes)
    }

    /// Gives a symbol that is of use to the decoder. False if it cannot be what its header says: then it does not count.
    pub(super) fn take_in(&mut self, session: &Session, symbol: &Symbol, payload: &[u8]) -> bool {
        let (size, k) = (session.symbol_bytes as usize, session.layout.source_symbols(symbol.block));
        let Some(decoder) = self.decoder.as_mut().filter(|_| session.may_have(symbol, payload.len())) else {
            return false;
        };
        if payload.len() == size {
            return decoder.symbol(symbol.block, k, symbol.esi, payload);
        }
        let mut padded = payload.to_vec();
        padded.resize(size, 0);
        decoder.symbol(symbol.block, k, symbol.esi, &padded)
    }

    /// Tries to decode a block.
    pub(super) fn try_decode(&mut self, now: Time, block: Collected) -> Decode {
        let decoder = self.decoder.as_mut();
        let decode = decoder.map_or(Decode::Decoded { at: now }, |decoder| decoder.try_decode(now, block));
        if let Decode::Decoded { at } = decode {
            self.available = self.available.max(at);
        }
        decode
    }

    /// A block is complete. Whether the application is to take it.
    pub(super) fn complete(&mut self, block: u32) -> bool {
        if let Some(untaken) = self.untaken.as_mut().filter(|_| self.carries_bytes) {
            untaken.blocks.insert(block);
        }
        self.carries_bytes
    }

    /// The application takes a block, which no longer counts unless it is still to be checked (`keep`).
    pub(super) fn take(&mut self, block: u32, keep: bool) -> Vec<u8> {
        if !keep {
            self.on_taken(block);
        }
        self.decoder.as_mut().map_or_else(Vec::new, |decoder| decoder.take(block))
    }

    /// The application has taken, or checked, a block.
    pub(super) fn on_taken(&mut self, block: u32) {
        if let Some(untaken) = &mut self.untaken {
            untaken.blocks.remove(&block);
        }
    }

    /// Nothing of a block is needed any more.
    pub(super) fn forget(&mut self, block: u32) {
        if let Some(decoder) = &mut self.decoder {
            decoder.forget(block);
        }
    }

    /// A block restarts.
    pub(super) fn restart(&mut self, block: u32) {
        self.forget(block);
        self.on_taken(block);
    }

    /// Blocks before `first`, and those that share a span of hashes with them, can only be checked in the second turn.
    pub(super) fn lay_aside(&mut self, first: u32) {
        if let Some(untaken) = &mut self.untaken {
            untaken.blocks.retain(|block| *block >= first);
            untaken.limit *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::header::{Mode, Options};
    use crate::scdp::{RaptorQDecoder, ScdpConfig};
    use anabranch_raptorq::PlanCache;

    /// Three blocks of four symbols of eight bytes, of which the last has three bytes.
    const OPTIONS: Options =
        Options { object_bytes: 91, symbol_bytes: 8, block_symbols: 4, window: 12, lanes: 1, mode: Mode::Unicast };

    fn session() -> Session {
        Session::new(&OPTIONS, &ScdpConfig::default()).unwrap()
    }

    fn symbol(block: u32, esi: u32) -> Symbol {
        Symbol { block, esi, index: esi, options: OPTIONS, syn: false }
    }

    fn decoding() -> Decoding {
        let mut decoding = Decoding::default();
        decoding.set_decoder(Box::new(RaptorQDecoder::new(8, PlanCache::default())));
        decoding
    }

    #[test]
    fn a_symbol_of_another_size_is_refused_but_for_the_padding_of_the_last() {
        let mut decoding = decoding();
        let session = session();
        assert!(decoding.takes_symbols_of(&session) && decoding.carries_bytes());
        for (block, esi, bytes, taken) in
            [(0, 0, 8, true), (0, 1, 7, false), (2, 3, 3, true), (2, 3, 4, false), (2, 2, 3, false)]
        {
            assert_eq!(
                decoding.take_in(&session, &symbol(block, esi), &[7; 8][..bytes]),
                taken,
                "{block} {esi} {bytes}"
            );
        }
        let other = Options { symbol_bytes: 9, ..OPTIONS };
        let other = Session::new(&other, &ScdpConfig::default()).unwrap();
        assert!(!decoding.takes_symbols_of(&other));
    }

    #[test]
    fn without_a_decoder_blocks_are_available_at_once_and_nothing_is_to_be_taken() {
        let mut decoding = Decoding::default();
        decoding.limit_untaken(1);
        let collected = Collected { block: 0, source_symbols: 4, received: 4 };
        assert_eq!(decoding.try_decode(Time(5), collected), Decode::Decoded { at: Time(5) });
        assert_eq!((decoding.available(), decoding.complete(0), decoding.is_full()), (Time(5), false, false));
        assert!(decoding.take(0, false).is_empty());
    }

    #[test]
    fn no_more_blocks_are_begun_while_as_many_as_allowed_are_not_taken() {
        let mut decoding = decoding();
        assert!(!decoding.is_limited());
        decoding.limit_untaken(2);
        assert!(decoding.complete(0) && !decoding.is_full() && decoding.complete(1) && decoding.is_full());
        decoding.take(0, true);
        assert!(decoding.is_full(), "it is still to be checked");
        decoding.on_taken(0);
        assert!(!decoding.is_full());
        decoding.complete(5);
        decoding.lay_aside(3);
        decoding.complete(6);
        assert!(!decoding.is_full(), "twice as many, and only those from 3 on");
        decoding.restart(6);
        assert!(decoding.complete(7) && decoding.complete(8) && !decoding.is_full());
        assert!(decoding.complete(9) && decoding.is_full());
    }
}
