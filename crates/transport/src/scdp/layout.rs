//! How an object is cut into source blocks and symbols (RFC 6330 §4.4.1), and how symbols are shared among senders.

use super::header::{Options, Symbol};
use crate::random::mix;

/// Repair symbols of a block that each sender can send, of the 2^24 symbols that RFC 6330 can number (§3.2). This is so
/// many that only invalid input exceeds it; both ends reject that.
const REPAIR_LIMIT: u32 = 1 << 16;

/// Blocks in progress at once; more are not begun, which bounds the memory of both ends.
pub const LIVE_BLOCKS: usize = 64;

/// An object without end.
const ENDLESS: u64 = u64::MAX;

/// Blocks and symbols of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Total number of source symbols: Kt.
    pub symbols: u64,
    /// Number of blocks: Z.
    pub blocks: u32,
    /// The first `large_blocks` blocks have `large` symbols, the others `small`.
    large: u32,
    small: u32,
    large_blocks: u32,
}

impl Layout {
    /// The layout of `object_bytes` (at least 1) in symbols of `symbol_bytes`, with at most `block_symbols` to a block.
    /// `None` if the object needs more than 2^32 - 1 blocks.
    pub fn new(object_bytes: u64, symbol_bytes: u64, block_symbols: u32) -> Option<Self> {
        if object_bytes == ENDLESS {
            let (large, small) = (block_symbols, block_symbols);
            return Some(Self { symbols: ENDLESS, blocks: u32::MAX, large, small, large_blocks: u32::MAX });
        }
        let symbols = object_bytes.max(1).div_ceil(symbol_bytes);
        let blocks = u32::try_from(symbols.div_ceil(u64::from(block_symbols))).ok().filter(|&z| z < u32::MAX)?;
        // RFC 6330 §4.4.1.2, Partition[Kt, Z].
        let large = symbols.div_ceil(u64::from(blocks)) as u32;
        let small = (symbols / u64::from(blocks)) as u32;
        let large_blocks = (symbols - u64::from(small) * u64::from(blocks)) as u32;
        Some(Self { symbols, blocks, large, small, large_blocks })
    }

    /// The layout that the options of a symbol describe; `None` if they are invalid.
    pub fn from_options(options: &Options) -> Option<Self> {
        if options.symbol_bytes == 0 || options.block_symbols == 0 || options.lanes == 0 || options.window == 0 {
            return None;
        }
        Self::new(options.object_bytes, u64::from(options.symbol_bytes), u32::from(options.block_symbols))
    }

    /// Whether the object has no end.
    pub fn endless(&self) -> bool {
        self.symbols == ENDLESS
    }

    /// Source symbols of all blocks before this one.
    pub fn symbols_before(&self, block: u32) -> u64 {
        let large = block.min(self.large_blocks);
        u64::from(large) * u64::from(self.large) + u64::from(block - large) * u64::from(self.small)
    }

    /// How many blocks the first `symbols` source symbols fill: the inverse of [`symbols_before`](Self::symbols_before), rounded down.
    pub fn blocks_before(&self, symbols: u64) -> u32 {
        let large = u64::from(self.large_blocks) * u64::from(self.large);
        let blocks = match symbols.checked_sub(large) {
            None => symbols / u64::from(self.large),
            Some(rest) => u64::from(self.large_blocks) + rest / u64::from(self.small.max(1)),
        };
        blocks.min(u64::from(self.blocks)) as u32
    }

    /// Whether a symbol is the object's last source symbol, of which the padding need not be sent (RFC 6330 §4.4.2).
    #[inline]
    pub fn is_last(&self, block: u32, esi: u32) -> bool {
        block + 1 == self.blocks && esi + 1 == self.source_symbols(block)
    }

    /// Bytes of the object in that symbol.
    pub fn last_symbol_bytes(&self, object_bytes: u64, symbol_bytes: u64) -> u64 {
        if self.endless() { symbol_bytes } else { object_bytes - (self.symbols - 1) * symbol_bytes }
    }

    /// K: source symbols of a block.
    #[inline]
    pub fn source_symbols(&self, block: u32) -> u32 {
        if block < self.large_blocks { self.large } else { self.small }
    }
}

/// The first ESI of a block with `k` source symbols and `lanes` senders that no end sends or accepts.
#[inline]
pub(super) fn esi_limit(k: u32, lanes: u32) -> u32 {
    REPAIR_LIMIT.saturating_mul(lanes).saturating_add(k).min(1 << 24)
}

/// ESI of the first repair symbol that a sender emits for a block with `k` source symbols, if senders draw their repair
/// symbols independently: anywhere in the number space of RFC 6330, far enough from its end for the sender's stream to fit.
pub(super) fn repair_start(k: u32, seed: u64, block: u32) -> u32 {
    let last = (1 << 24) - k - 2 * REPAIR_LIMIT;
    k + (mix(seed ^ mix(u64::from(block))) % u64::from(last)) as u32
}

/// The position of a symbol among those of all senders, which take turns. It equals the ESI, unless senders draw their repair
/// symbols independently. `None` if no sender sends such a symbol.
#[inline]
pub(super) fn place(symbol: &Symbol, k: u32, lane: u32, lanes: u32) -> Option<u32> {
    let place = symbol.index.checked_mul(lanes)?.checked_add(lane)?;
    let possible = if place < k { symbol.esi == place } else { symbol.esi >= k && symbol.esi < 1 << 24 };
    (possible && place < esi_limit(k, lanes)).then_some(place)
}

/// Source symbols, out of the `k` of a block, that fall to lane `lane` of `lanes`.
#[inline]
pub(super) fn lane_source(k: u32, lane: u32, lanes: u32) -> u32 {
    if lanes == 1 { k } else { (k + lanes - 1).saturating_sub(lane) / lanes }
}

/// The blocks whose first symbols a sender pushes unasked: calls `push(block, count)`, in order, for source symbols only.
pub(super) fn initial_window(layout: &Layout, lane: u32, lanes: u32, window: u32, mut push: impl FnMut(u32, u32)) {
    let mut left = window;
    for block in 0..layout.blocks.min(LIVE_BLOCKS as u32) {
        if left == 0 {
            return;
        }
        let count = lane_source(layout.source_symbols(block), lane, lanes).min(left);
        if count > 0 {
            push(block, count);
            left -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_differ_by_one_symbol_at_most() {
        let l = Layout::new(1436 * 250 + 1, 1436, 100).expect("fits");
        assert_eq!((l.symbols, l.blocks), (251, 3));
        assert_eq!((0..3).map(|b| l.source_symbols(b)).collect::<Vec<_>>(), [84, 84, 83]);
        assert_eq!((l.is_last(2, 82), l.is_last(1, 82), l.is_last(2, 83)), (true, false, false));
        assert_eq!(l.last_symbol_bytes(1436 * 250 + 1, 1436), 1);
        let l = Layout::new(1, 1436, 100).expect("fits");
        assert_eq!((l.symbols, l.blocks, l.source_symbols(0)), (1, 1, 1));
        assert!(l.is_last(0, 0) && !l.is_last(0, 1));
    }

    #[test]
    fn blocks_are_counted_both_ways() {
        for symbols in 1..300 {
            for most in 1..40 {
                let layout = Layout::new(10 * symbols, 10, most).expect("fits");
                for block in 0..layout.blocks {
                    let before = layout.symbols_before(block);
                    assert_eq!(layout.blocks_before(before), block);
                    assert_eq!(layout.blocks_before(before + u64::from(layout.source_symbols(block)) - 1), block);
                }
                assert_eq!(layout.blocks_before(symbols), layout.blocks);
                assert_eq!(layout.blocks_before(u64::MAX), layout.blocks);
            }
        }
    }

    #[test]
    fn lanes_share_every_symbol_once() {
        for k in 1..40 {
            for lanes in 1..6 {
                assert_eq!((0..lanes).map(|s| lane_source(k, s, lanes)).sum::<u32>(), k);
                for lane in 0..lanes {
                    let counted = (0..k).filter(|esi| esi % lanes == lane).count() as u32;
                    assert_eq!(lane_source(k, lane, lanes), counted);
                }
            }
        }
    }
}
