//! Checks blocks against the hashes of the spans that they lie in, before the application gets them.
//!
//! A block overlaps two or three spans, and a span as many blocks; so a block waits until all blocks that share a span with it are complete. If a
//! span is wrong, all its blocks are fetched again, since any of them may be the wrong one. Once they are right, a comparison with the first copies
//! shows which senders' symbols were wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anabranch_raptorq::{PlanCache, SourceBlockEncoder};
use anabranch_transport::Time;
use anabranch_transport::scdp::{Evidence, Layout, Options};

use super::hashes::Hashes;
use crate::Manifest;
use crate::hash_tree::{SPAN, span_hash};
use crate::limits::LIVE_BLOCKS;

/// Wrong blocks that are kept as evidence until the right ones arrive, at most.
const KEPT_WRONG: usize = 8;

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// The block is right: its bytes and their offset, and the senders of wrong symbols of it, if it was wrong before.
    Right { block: u32, offset: u64, bytes: Vec<u8>, wrong_before: BTreeSet<usize> },
    /// One of them is wrong.
    Wrong { blocks: Vec<u32> },
}

/// Blocks of a session that are complete but not yet verified.
#[derive(Debug)]
pub(super) struct Checker {
    pub(super) hashes: Hashes,
    layout: Layout,
    options: Options,
    size: u64,
    /// The object is one block or one span: its hash covers all bytes directly.
    whole: bool,
    /// Bytes before this offset are here from an earlier session.
    from: u64,
    blocks: BTreeMap<u32, Vec<u8>>,
    /// Spans that are right, while they overlap blocks that are not yet verified.
    right: BTreeSet<u64>,
    /// For blocks that are fetched again: the parts that lie in spans that are right.
    kept: BTreeMap<u32, Vec<(u64, Vec<u8>)>>,
    /// For blocks that are fetched again: the first copy, and what it was decoded from.
    wrong: BTreeMap<u32, (Vec<u8>, Evidence)>,
}

impl Checker {
    /// For an object of which the bytes before `from`, a multiple of [`SPAN`], are here.
    pub(super) fn new(manifest: &Manifest, options: Options, from: u64) -> Self {
        let layout = Layout::from_options(&options).expect("checked when they came");
        Self {
            hashes: Hashes::new(manifest.size, manifest.hash),
            layout,
            options,
            size: manifest.size,
            whole: layout.blocks == 1 || manifest.size <= SPAN,
            from,
            blocks: BTreeMap::new(),
            right: BTreeSet::new(),
            kept: BTreeMap::new(),
            wrong: BTreeMap::new(),
        }
    }

    /// Blocks from `first` on are in flight: their hashes are needed, and those of blocks that wait to be checked.
    pub(super) fn need(&mut self, now: Time, first: u32) {
        let next = first.saturating_add(LIVE_BLOCKS as u32 - 1).min(self.layout.blocks - 1);
        let first = self
            .blocks
            .range(..first)
            .next()
            .map_or(first, |(&waits, _)| waits.max(first.saturating_sub(LIVE_BLOCKS as u32)));
        if self.whole || first >= self.layout.blocks && self.blocks.is_empty() {
            return;
        }
        let mut spans = Vec::new();
        if first < self.layout.blocks {
            spans.push(self.spans(first).start..self.spans(next).end);
        }
        // Blocks may wait for others that come much later.
        let apart = self.blocks.keys().filter(|&&block| block < first || block > next);
        spans.extend(apart.map(|&block| self.spans(block)));
        self.right.retain(|span| spans.iter().any(|needed| needed.contains(span)));
        self.hashes.need(now, &spans);
    }

    /// Whether no block waits for verification.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether a block is here that is not verified.
    pub(super) fn has(&self, block: u32) -> bool {
        self.blocks.contains_key(&block)
    }

    /// A block is complete.
    pub(super) fn on_block(&mut self, block: u32, mut bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let start = self.range(block).start;
        for (offset, right) in self.kept.remove(&block).unwrap_or_default() {
            bytes[(offset - start) as usize..][..right.len()].copy_from_slice(&right);
        }
        self.blocks.insert(block, bytes);
    }

    /// Checks the spans of a block that has arrived; with `None`, after more hashes have arrived, those of all blocks.
    pub(super) fn check(&mut self, block: Option<u32>) -> Vec<Checked> {
        let spans: BTreeSet<u64> = match block {
            Some(block) => self.spans(block).collect(),
            None => self.blocks.keys().flat_map(|&block| self.spans(block)).collect(),
        };
        let mut checked = Vec::new();
        for span in spans {
            let blocks = self.blocks_of(span);
            if self.right.contains(&span) || !blocks.clone().all(|block| self.blocks.contains_key(&block)) {
                continue;
            }
            match self.is_right(span, blocks.clone()) {
                None => {}
                Some(false) => checked.push(Checked::Wrong { blocks: blocks.collect() }),
                Some(true) => {
                    self.right.insert(span);
                    checked.extend(blocks.filter_map(|block| self.release(block)));
                }
            }
        }
        checked
    }

    /// A block is fetched again: what it was decoded from is evidence, if several senders may have sent it.
    pub(super) fn reject(&mut self, block: u32, evidence: Option<Evidence>) {
        let Some(bytes) = self.blocks.remove(&block) else { return };
        let range = self.range(block);
        let kept = self.spans(block).filter(|span| self.right.contains(span)).map(|span| {
            let (start, end) = ((span * SPAN).max(range.start), ((span + 1) * SPAN).min(range.end));
            (start, bytes[(start - range.start) as usize..(end - range.start) as usize].to_vec())
        });
        self.kept.insert(block, kept.collect());
        if let Some(evidence) = evidence
            && self.wrong.len() < KEPT_WRONG
        {
            self.wrong.entry(block).or_insert((bytes, evidence));
        }
    }

    /// Whether a span is right; `None` if its hash is not known.
    fn is_right(&self, span: u64, blocks: impl Iterator<Item = u32>) -> Option<bool> {
        let range = self.span_range(span);
        if range.start < self.from && !self.whole {
            return Some(true);
        }
        let expected = self.hashes.span(span).filter(|_| !self.whole);
        let expected = if self.whole { Some(self.hashes.root()) } else { expected }?;
        let pieces = blocks.map(|block| {
            let own = self.range(block);
            let (start, end) = (range.start.max(own.start), range.end.min(own.end));
            &self.blocks[&block][(start - own.start) as usize..(end - own.start) as usize]
        });
        Some(span_hash(range.start, self.whole, pieces) == expected)
    }

    /// Releases a block if all its spans are right.
    fn release(&mut self, block: u32) -> Option<Checked> {
        if !self.spans(block).all(|span| self.right.contains(&span)) {
            return None;
        }
        let mut bytes = self.blocks.remove(&block)?;
        let Range { start, end } = self.range(block);
        // The hash does not cover the padding of the last symbol, which is zeros: a server that was asked alone may have sent something else.
        bytes[(end - start) as usize..].fill(0);
        let wrong_before = self.wrong.remove(&block).map(|(old, evidence)| self.culprits(&bytes, &old, &evidence));
        bytes.truncate((end - start) as usize);
        // Bytes from an earlier session are not reported again.
        let known = self.from.clamp(start, end) - start;
        bytes.drain(..known as usize);
        Some(Checked::Right { block, offset: start + known, bytes, wrong_before: wrong_before.unwrap_or_default() })
    }

    /// The senders of wrong symbols of the block.
    fn culprits(&self, right: &[u8], old: &[u8], evidence: &Evidence) -> BTreeSet<usize> {
        let (size, lanes) = (usize::from(self.options.symbol_bytes), u32::from(self.options.lanes));
        let differs = |esi: u32| {
            let range = esi as usize * size..(esi as usize + 1) * size;
            right.get(range.clone()) != old.get(range)
        };
        let mut wrong: Vec<u32> = evidence.source.iter().copied().filter(|&esi| differs(esi)).collect();
        let k = (right.len() / size) as u32;
        let encoder = PlanCache::global().plan(k).ok().and_then(|plan| SourceBlockEncoder::new(plan, k, size).ok());
        if let Some(mut encoder) = encoder.filter(|_| !evidence.repair.is_empty())
            && encoder.load(right).is_ok()
        {
            let mut symbol = vec![0; size];
            let is_wrong =
                |(esi, old): &&(u32, Vec<u8>)| encoder.encode_into(*esi, &mut symbol).is_ok() && symbol != *old;
            wrong.extend(evidence.repair.iter().filter(is_wrong).map(|(esi, _)| *esi));
        }
        // Symbol numbers are assigned to senders in turn.
        wrong.into_iter().map(|esi| (esi % lanes) as usize).collect()
    }

    /// The bytes of the object that a block covers.
    fn range(&self, block: u32) -> Range<u64> {
        let offset = |block| (self.layout.symbols_before(block) * u64::from(self.options.symbol_bytes)).min(self.size);
        offset(block)..offset(block + 1)
    }

    fn span_range(&self, span: u64) -> Range<u64> {
        if self.whole { 0..self.size } else { span * SPAN..((span + 1) * SPAN).min(self.size) }
    }

    /// The spans that a block overlaps.
    fn spans(&self, block: u32) -> Range<u64> {
        if self.whole {
            return 0..1;
        }
        let range = self.range(block);
        range.start / SPAN..range.end.div_ceil(SPAN)
    }

    /// The blocks that a span overlaps.
    fn blocks_of(&self, span: u64) -> impl Iterator<Item = u32> + Clone + use<> {
        if self.whole {
            return 0..self.layout.blocks;
        }
        let (range, symbol) = (self.span_range(span), u64::from(self.options.symbol_bytes));
        let first = self.layout.blocks_before(range.start.max(self.from) / symbol);
        first..self.layout.blocks_before((range.end - 1) / symbol) + 1
    }
}
