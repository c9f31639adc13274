//! Limits for what peers announce, and for block sizes: memory is bounded before the first symbol arrives.

use anabranch_transport::scdp::{self, Layout, MAX_BLOCK_SYMBOLS, Options};

use crate::Manifest;
use crate::wire::{Parameters, Reason, Refusal};

/// Blocks of a session in flight at once: the transport's, and the next one.
pub(crate) const LIVE_BLOCKS: u64 = scdp::LIVE_BLOCKS as u64 + 1;

/// Minimum bytes of a block, if there are several: the blocks that [may be in flight](LIVE_BLOCKS) must cover more than one [span](crate::SPAN), or
/// none of them could ever be checked.
const LEAST_BLOCK: u64 = 4096;

/// Bytes that a symbol takes besides its content, at both ends: bitmaps, and a plan of the codec (`EncodingPlan::bytes` of K = 56403 is below 400 B
/// for each symbol).
const SYMBOL_OVERHEAD: u64 = 16;
const PLAN_BYTES: u64 = 400;

/// A host's limits in bytes: for an object, for the blocks in flight of a session, for a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) object: u64,
    pub(crate) session: u64,
    pub(crate) symbol: u16,
}

impl Limits {
    /// The options of a session in which this host receives, if they are acceptable.
    ///
    /// # Errors
    ///
    /// The refusal for the peer that announces them.
    pub(crate) fn check(&self, manifest: &Manifest, parameters: &Parameters) -> Result<Options, Refusal> {
        if manifest.size > self.object {
            return Err(Refusal::new(
                Reason::TooLarge,
                &format!("larger than the {} B that this host takes", self.object),
            ));
        }
        if parameters.symbol_bytes > self.symbol {
            return Err(Refusal::new(Reason::Unsupported, "packets larger than this host takes"));
        }
        let options = parameters.options(manifest.size.max(1));
        let options = options.map_err(|_| Refusal::new(Reason::Unsupported, "parameters that this host cannot use"))?;
        let layout = Layout::from_options(&options);
        let smallest = layout.map_or(0, |layout| u64::from(layout.source_symbols(layout.blocks - 1)));
        if layout.is_some_and(|layout| layout.blocks > 1) && smallest * u64::from(options.symbol_bytes) < LEAST_BLOCK {
            return Err(Refusal::new(Reason::Unsupported, "blocks smaller than this host takes"));
        }
        let needed = session_bytes(&options);
        if needed > self.session {
            let most = self.session;
            let text = format!("blocks under way would take {needed} B, and this host has {most} B for a session");
            return Err(Refusal::new(Reason::Unsupported, &text));
        }
        Ok(options)
    }

    /// Symbols of a block, at most `wanted`, so that an object's blocks in flight fit; more, if such blocks would be smaller than receivers accept.
    pub(crate) fn block_symbols(&self, wanted: u32, object_bytes: u64, symbol_bytes: u16) -> u32 {
        // The blocks of an object differ by one symbol, and may be half the maximum size.
        let wanted = wanted.max((2 * LEAST_BLOCK).div_ceil(u64::from(symbol_bytes)) as u32);
        let fits = |k: u32| bytes_under_way(object_bytes, symbol_bytes, k) <= self.session;
        if fits(wanted) {
            return wanted;
        }
        // The largest that fits: more symbols per block take more memory, except for the last few blocks of an object.
        let (mut low, mut high) = (1, wanted.min(MAX_BLOCK_SYMBOLS));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }
}

/// Bytes that the blocks of a session may take at once.
fn session_bytes(options: &Options) -> u64 {
    bytes_under_way(options.object_bytes, options.symbol_bytes, u32::from(options.block_symbols))
}

fn bytes_under_way(object_bytes: u64, symbol_bytes: u16, block_symbols: u32) -> u64 {
    let Some(layout) = Layout::new(object_bytes, u64::from(symbol_bytes), block_symbols) else { return u64::MAX };
    let k = u64::from(layout.source_symbols(0));
    let blocks = u64::from(layout.blocks).min(LIVE_BLOCKS);
    blocks * k * (u64::from(symbol_bytes) + SYMBOL_OVERHEAD) + k * PLAN_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectName;
    use anabranch_raptorq::PlanCache;
    use anabranch_transport::scdp::Mode;

    const LIMITS: Limits = Limits { object: 1 << 40, session: 64 << 20, symbol: 1420 };

    fn check(size: u64, symbol_bytes: u16, block_symbols: u16) -> Option<Reason> {
        let name = ObjectName::new("a").expect("a name");
        let manifest = Manifest { hash: [0; 32], size, name, signature: None };
        let parameters = Parameters { symbol_bytes, block_symbols, window: 32, lanes: 1, mode: Mode::Unicast };
        LIMITS.check(&manifest, &parameters).err().map(|refusal| refusal.reason)
    }

    #[test]
    fn what_would_take_too_much_is_refused_with_the_right_reason() {
        for (size, symbol_bytes, block_symbols, expected) in [
            (1 << 40, 1420, 100, None),
            ((1 << 40) + 1, 1420, 100, Some(Reason::TooLarge)),
            (1 << 30, 1421, 100, Some(Reason::Unsupported)),
            (1 << 30, 1420, 700, None),
            (1 << 30, 1420, 750, Some(Reason::Unsupported)),
            // 56 MB in one block.
            (40_000 * 1000, 1000, 40_000, None),
            (40_000 * 1000 * 2, 1000, 40_000, Some(Reason::Unsupported)),
            (1 << 40, 1, 56_403, Some(Reason::Unsupported)),
            (1 << 40, 1, 1, Some(Reason::Unsupported)),
            (1 << 20, 1420, 2, Some(Reason::Unsupported)),
            (1 << 20, 1420, 6, None),
            (1420 * 4, 1420, 4, None),
        ] {
            assert_eq!(check(size, symbol_bytes, block_symbols), expected, "{size} {symbol_bytes} {block_symbols}");
        }
    }

    #[test]
    fn a_plan_takes_no_more_than_is_counted() {
        for k in [10, 100, 1000, 10_000] {
            let plan = PlanCache::new().plan(k).expect("a plan");
            assert!(plan.bytes() as u64 <= u64::from(k.max(100)) * PLAN_BYTES, "{k}: {}", plan.bytes());
        }
    }

    #[test]
    fn blocks_are_made_so_that_the_other_end_takes_them() {
        for size in [1, 1000, 1 << 20, 60 << 20, 70 << 20, 1 << 34, 1 << 40] {
            for wanted in [1, 10, 100, 1000, 56_403] {
                let k = LIMITS.block_symbols(wanted, size, 1420);
                // Blocks have at least some kilobytes.
                let wanted = wanted.max(6);
                assert!((1..=wanted).contains(&k) && bytes_under_way(size, 1420, k) <= LIMITS.session);
                let first = bytes_under_way(size, 1420, wanted) <= LIMITS.session;
                assert!(k == wanted || !first && k >= 10.min(wanted), "{size} {wanted} {k}");
            }
        }
    }
}
