//! Sessions that carry real bytes: blocks decoded with RaptorQ.

use std::collections::BTreeMap;

use anabranch_raptorq::{PlanCache, SourceBlockDecoder};

use super::BlockDecoder;

/// Decodes the blocks of a session with RaptorQ (RFC 6330), as SCDP §IV does.
///
/// Symbols that cannot belong to the block, because their size or id is impossible, are dropped: the block then stays
/// incomplete, and the receiver asks for more.
#[derive(Debug)]
pub struct RaptorQDecoder {
    symbol_size: usize,
    plans: PlanCache,
    blocks: BTreeMap<u32, SourceBlockDecoder>,
    /// Decoders of blocks that were taken, whose memory serves the next ones.
    idle: Vec<SourceBlockDecoder>,
}

impl RaptorQDecoder {
    /// A decoder for symbols of `symbol_size` bytes. Sessions that share `plans` prepare each block size once.
    pub fn new(symbol_size: usize, plans: PlanCache) -> Self {
        Self { symbol_size, plans, blocks: BTreeMap::new(), idle: Vec::new() }
    }

    /// A decoder for another block; `None` if RaptorQ has no such blocks.
    fn open(&mut self, source_symbols: u32) -> Option<SourceBlockDecoder> {
        let plan = self.plans.plan(source_symbols).ok()?;
        match self.idle.pop() {
            None => SourceBlockDecoder::new(plan, source_symbols, self.symbol_size).ok(),
            Some(mut decoder) => {
                decoder.reset(plan, source_symbols, self.symbol_size).ok()?;
                Some(decoder)
            }
        }
    }
}

impl BlockDecoder for RaptorQDecoder {
    fn symbol(&mut self, block: u32, source_symbols: u32, esi: u32, payload: &[u8]) {
        if !self.blocks.contains_key(&block) {
            let Some(decoder) = self.open(source_symbols) else { return };
            self.blocks.insert(block, decoder);
        }
        if let Some(decoder) = self.blocks.get_mut(&block) {
            // What cannot belong to the block is dropped, as said above.
            let _ = decoder.add_symbol(esi, payload);
        }
    }

    fn try_decode(&mut self, block: u32) -> bool {
        self.blocks.get_mut(&block).is_some_and(|decoder| decoder.try_decode().is_ok())
    }

    fn take(&mut self, block: u32) -> Vec<u8> {
        let Some(mut decoder) = self.blocks.remove(&block) else { return Vec::new() };
        let bytes = decoder.try_decode().map(<[u8]>::to_vec).unwrap_or_default();
        self.idle.push(decoder);
        bytes
    }
}
