//! Sessions that carry real bytes: blocks decoded with RaptorQ.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anabranch_raptorq::{BlockError, PlanCache, SourceBlockDecoder};

use super::{BlockDecoder, Collected, Decode, Evidence};
use crate::Time;

/// Decodes the blocks of a session with RaptorQ (RFC 6330), as SCDP §IV does.
///
/// Symbols that cannot belong to the block, because their size or id is impossible, are refused: the block then stays
/// incomplete, and the receiver asks for more.
#[derive(Debug)]
pub struct RaptorQDecoder {
    symbol_size: usize,
    plans: PlanCache,
    blocks: BTreeMap<u32, SourceBlockDecoder>,
    /// Decoders of blocks that were taken, kept to reuse their memory.
    idle: Vec<SourceBlockDecoder>,
    /// Symbols that arrived for blocks that are not forgotten, if they are kept.
    evidence: Option<BTreeMap<u32, Evidence>>,
}

impl RaptorQDecoder {
    /// A decoder for symbols of `symbol_size` bytes. Sessions that share `plans` prepare each block size once.
    pub fn new(symbol_size: usize, plans: PlanCache) -> Self {
        Self { symbol_size, plans, blocks: BTreeMap::new(), idle: Vec::new(), evidence: None }
    }

    /// The same; repair symbols are kept until their blocks are forgotten, to find out which sender sent wrong symbols.
    #[must_use]
    pub fn keeping_evidence(mut self) -> Self {
        self.evidence = Some(BTreeMap::new());
        self
    }
}

impl BlockDecoder for RaptorQDecoder {
    fn symbol_bytes(&self) -> Option<usize> {
        Some(self.symbol_size)
    }

    fn symbol(&mut self, block: u32, source_symbols: u32, esi: u32, payload: &[u8]) -> bool {
        let decoder = match self.blocks.entry(block) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match open(&self.plans, self.idle.pop(), source_symbols, self.symbol_size) {
                Ok(decoder) => place.insert(decoder),
                // RaptorQ has no blocks of this size.
                Err(_) => return false,
            },
        };
        let taken = decoder.add_symbol(esi, payload).is_ok();
        if taken && let Some(evidence) = &mut self.evidence {
            let evidence = evidence.entry(block).or_default();
            if esi < source_symbols {
                evidence.source.push(esi);
            } else {
                evidence.repair.push((esi, payload.to_vec()));
            }
        }
        taken
    }

    fn try_decode(&mut self, now: Time, block: Collected) -> Decode {
        let decoded = self.blocks.get_mut(&block.block).is_some_and(|decoder| decoder.try_decode().is_ok());
        if decoded { Decode::Decoded { at: now } } else { Decode::NeedsMore }
    }

    fn take(&mut self, block: u32) -> Vec<u8> {
        let Some(mut decoder) = self.blocks.remove(&block) else { return Vec::new() };
        let bytes = decoder.try_decode().map(<[u8]>::to_vec).unwrap_or_default();
        self.idle.push(decoder);
        bytes
    }

    fn forget(&mut self, block: u32) {
        self.idle.extend(self.blocks.remove(&block));
        if let Some(evidence) = &mut self.evidence {
            evidence.remove(&block);
        }
    }

    fn evidence(&mut self, block: u32) -> Evidence {
        self.evidence.as_mut().and_then(|evidence| evidence.remove(&block)).unwrap_or_default()
    }
}

/// A decoder for another block, reusing the memory of an idle one if there is one.
fn open(
    plans: &PlanCache,
    idle: Option<SourceBlockDecoder>,
    source_symbols: u32,
    symbol_size: usize,
) -> Result<SourceBlockDecoder, BlockError> {
    let plan = plans.plan(source_symbols)?;
    let Some(mut decoder) = idle else { return SourceBlockDecoder::new(plan, source_symbols, symbol_size) };
    decoder.reset(plan, source_symbols, symbol_size)?;
    Ok(decoder)
}
