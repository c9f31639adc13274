//! One source block as its receiver sees it.

use crate::Time;
use std::collections::BTreeSet;

/// Decodes blocks: a codec, which stores the symbols of sessions that carry real bytes; or a model of one, for symbols without bytes.
pub trait BlockDecoder: std::fmt::Debug + Send {
    /// T: bytes of a symbol. `None` for a model: it is only asked to [`try_decode`](Self::try_decode).
    fn symbol_bytes(&self) -> Option<usize> {
        None
    }
    /// Takes a symbol of [`symbol_bytes`](Self::symbol_bytes), padding included, that had not arrived before, for an incomplete block of
    /// `source_symbols`. False if it cannot belong to the block: then it does not count.
    fn symbol(&mut self, _block: u32, _source_symbols: u32, _esi: u32, _payload: &[u8]) -> bool {
        true
    }
    /// Tries to decode a block from the symbols it has. Not called for a block whose source symbols have all arrived, nor again
    /// before [`Receiver::decoded`](super::Receiver::decoded) has answered for a block that is [`Decode::Pending`]; symbols of such a
    /// block that still arrive are passed to [`symbol`](Self::symbol) as before.
    fn try_decode(&mut self, now: Time, block: Collected) -> Decode;
    /// The source symbols of a complete block, one after the other, for the driver; the block is then forgotten.
    fn take(&mut self, _block: u32) -> Vec<u8> {
        Vec::new()
    }
    /// Forgets all symbols of a block that the application has [checked](super::Receiver::with_checks): it is right, or restarts.
    fn forget(&mut self, _block: u32) {}
    /// What a block was decoded from, if that is kept, for a block that was taken and is not [forgotten](Self::forget): to find out which
    /// sender sent wrong symbols.
    fn evidence(&mut self, _block: u32) -> Evidence {
        Evidence::default()
    }
}

/// What has arrived of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// SBN of the block.
    pub block: u32,
    /// K: its source symbols.
    pub source_symbols: u32,
    /// Different encoding symbols that have arrived.
    pub received: u32,
}

/// What a block was decoded from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// ESIs of the source symbols that arrived: they are in the block as received.
    pub source: Vec<u32>,
    /// Repair symbols as received: ESI and bytes.
    pub repair: Vec<(u32, Vec<u8>)>,
}

/// The result of trying to decode a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// Its source symbols are available at this time: now, or later if the decoder is a model that takes its time.
    Decoded {
        /// When.
        at: Time,
    },
    /// Its symbols are too few, or do not determine all source symbols.
    NeedsMore,
    /// Decoding runs elsewhere, perhaps on another thread: the driver reports the result with
    /// [`Receiver::decoded`](super::Receiver::decoded). Until then no more symbols of the block are requested.
    Pending,
}

/// What was requested from one sender for a block. Symbols are numbered within the lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockLane {
    /// Total number of symbols that the sender was asked to emit.
    pub(super) requested: u32,
    /// Of these, in flight as far as is known.
    pub(super) outstanding: u32,
    /// Missing symbols up to here have been counted as lost.
    pub(super) swept: u32,
    /// What had been requested when a pull was repeated after a timeout; 0: no loss is suspected.
    suspected: u32,
    /// Others send in its place: it is not asked for this block again.
    pub(super) overtaken: bool,
    /// Symbols requested from the sender in all blocks, before the first and after the last of this block.
    pub(super) first_asked: u64,
    pub(super) last_asked: u64,
}

/// A block that is being received.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    k: u32,
    /// Different symbols received whole.
    received: u32,
    source_received: u32,
    /// Symbols needed beyond K; 0 until one is lost.
    extra: u32,
    outstanding: u32,
    complete: bool,
    /// The application has confirmed it.
    confirmed: bool,
    /// The only sender whose symbols it accepts, if restricted to one.
    sole: Option<u32>,
    /// The number of symbols it is being decoded from.
    pending: Option<u32>,
    /// One bit for each symbol that has arrived, whole or trimmed, by its place among those of all senders.
    seen: Vec<u64>,
    /// Repair symbols that have arrived whole, where senders draw them independently.
    repairs: BTreeSet<u32>,
    lanes: Vec<BlockLane>,
}

impl Block {
    /// Makes a used block new, keeping its memory.
    pub(super) fn renew(&mut self, k: u32, lanes: u32) {
        self.seen.clear();
        self.repairs.clear();
        self.seen.resize((k as usize + 28).div_ceil(64), 0);
        self.lanes.clear();
        self.lanes.resize(lanes as usize, BlockLane::default());
        (self.k, self.received, self.source_received, self.extra, self.outstanding) = (k, 0, 0, 0, 0);
        (self.complete, self.confirmed, self.sole, self.pending) = (false, false, None, None);
    }

    pub(super) fn source_symbols(&self) -> u32 {
        self.k
    }
    pub(super) fn received(&self) -> u32 {
        self.received
    }
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed
    }
    pub(super) fn sole(&self) -> Option<u32> {
        self.sole
    }
    /// Whether symbols of a sender are accepted.
    #[inline]
    pub(super) fn takes(&self, lane: u32) -> bool {
        self.sole.is_none_or(|sole| sole == lane)
    }
    pub(super) fn lane(&self, lane: u32) -> &BlockLane {
        &self.lanes[lane as usize]
    }

    /// Symbols still missing, including those in flight.
    pub(super) fn missing(&self) -> u32 {
        if self.complete || self.pending.is_some() { 0 } else { (self.k + self.extra).saturating_sub(self.received) }
    }

    /// Symbols to ask for.
    #[inline]
    pub(super) fn need(&self) -> u32 {
        self.missing().saturating_sub(self.outstanding)
    }

    /// `count` more symbols were requested from a lane, which had been asked for `asked` symbols of all blocks before.
    #[inline]
    pub(super) fn request(&mut self, lane: u32, count: u32, asked: u64) -> u32 {
        let l = &mut self.lanes[lane as usize];
        if l.requested == 0 {
            l.first_asked = asked;
        }
        l.last_asked = asked + u64::from(count);
        l.requested += count;
        l.outstanding += count;
        self.outstanding += count;
        l.requested
    }

    /// A symbol or header of a lane arrived. True if one was in flight.
    #[inline]
    pub(super) fn arrived(&mut self, lane: u32) -> bool {
        let l = &mut self.lanes[lane as usize];
        if l.outstanding == 0 {
            return false;
        }
        l.outstanding -= 1;
        self.outstanding -= 1;
        true
    }

    /// Notes that a symbol has arrived; false if it had arrived before.
    #[inline]
    pub(super) fn note(&mut self, place: u32) -> bool {
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        new
    }

    /// Whether the block needs a symbol, which has not arrived before.
    pub(super) fn wants(&self, place: u32, esi: u32) -> bool {
        !self.complete && !self.has_seen(place) && (place == esi || !self.repairs.contains(&esi))
    }

    /// Whether a symbol has arrived, whole or trimmed.
    pub(super) fn has_seen(&self, place: u32) -> bool {
        self.seen.get(place as usize / 64).is_some_and(|w| w >> (place % 64) & 1 == 1)
    }

    /// Notes that a repair symbol has arrived whole; false if another sender's copy had arrived.
    pub(super) fn note_repair(&mut self, esi: u32) -> bool {
        self.repairs.insert(esi)
    }

    /// A new symbol has arrived whole.
    #[inline]
    pub(super) fn receive(&mut self, esi: u32) {
        self.received += 1;
        self.source_received += u32::from(esi < self.k);
    }

    /// A symbol was lost: from now on the block needs at least `overhead` beyond K.
    pub(super) fn lossy(&mut self, overhead: u32) {
        self.extra = self.extra.max(overhead);
    }

    /// Whether a symbol was lost, or decoding failed.
    #[inline]
    pub(super) fn is_lossy(&self) -> bool {
        self.extra > 0
    }

    /// Whether all source symbols have arrived: no decoding (SCDP §IV-G).
    #[inline]
    pub(super) fn has_all_source(&self) -> bool {
        self.source_received == self.k
    }

    /// Whether it is complete as it is, or there are enough symbols to try decoding, which is not under way.
    #[inline]
    pub(super) fn can_try(&self) -> bool {
        self.pending.is_none() && (self.has_all_source() || self.received >= self.k + self.extra)
    }

    /// Decoding has failed: one more symbol (Algorithm 2, line 53).
    pub(super) fn failed(&mut self) {
        self.extra = self.received - self.k + 1;
    }

    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Decoding has begun.
    pub(super) fn decode_later(&mut self) {
        self.pending = Some(self.received);
    }

    /// Decoding is over. Returns whether symbols have arrived since it began; `None` if it had not.
    pub(super) fn end_decoding(&mut self) -> Option<bool> {
        self.pending.take().map(|tried| self.received > tried)
    }

    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    pub(super) fn confirm(&mut self) {
        self.confirmed = true;
    }

    /// Discards its symbols; others are needed that have not arrived yet, from one sender or from all.
    pub(super) fn restart(&mut self, overhead: u32, sole: Option<u32>) {
        (self.received, self.source_received, self.extra) = (0, 0, overhead);
        (self.complete, self.confirmed, self.sole, self.pending) = (false, false, sole, None);
        self.repairs.clear();
    }

    /// Whether a symbol of a lane has arrived, whole or trimmed.
    pub(super) fn has_any_of(&self, lane: u32) -> bool {
        let requested = self.lanes[lane as usize].requested;
        self.unseen(lane, 0, requested) < requested
    }

    /// Notes the arrival of the `index`-th symbol of a lane. True if it was sent without being requested.
    pub(super) fn extend(&mut self, lane: u32, index: u32) -> bool {
        let l = &mut self.lanes[lane as usize];
        let unasked = index >= l.requested;
        l.requested = l.requested.max(index + 1);
        unasked
    }

    /// Gives up the symbols in flight from a lane; returns how many.
    pub(super) fn write_off(&mut self, lane: u32) -> u32 {
        self.lost(lane, self.lanes[lane as usize].outstanding)
    }

    /// Up to `most` symbols of a lane are no longer waited for; returns how many.
    pub(super) fn overtake(&mut self, lane: u32, most: u32) -> u32 {
        let l = &mut self.lanes[lane as usize];
        l.overtaken = true;
        let count = l.outstanding.min(most);
        self.lost(lane, count)
    }

    /// A pull is repeated: an answer to it will show that what has been requested until now is lost.
    pub(super) fn suspect_loss(&mut self, lane: u32) {
        let l = &mut self.lanes[lane as usize];
        l.suspected = if l.outstanding > 0 { l.requested } else { 0 };
    }

    /// Whether the `j`-th symbol of a lane was emitted after all symbols that are suspected to be lost.
    #[inline]
    pub(super) fn confirms_loss(&self, lane: u32, j: u32) -> bool {
        let suspected = self.lanes[lane as usize].suspected;
        suspected > 0 && j >= suspected
    }

    /// Counts the suspected symbols as lost, so that at most those requested since are in flight; returns how many.
    pub(super) fn confirm_loss(&mut self, lane: u32) -> u32 {
        let BlockLane { suspected, outstanding, requested, .. } = self.lanes[lane as usize];
        self.lanes[lane as usize].suspected = 0;
        if suspected == 0 || outstanding == 0 {
            return 0;
        }
        let coming = self.unseen(lane, suspected, requested);
        self.lost(lane, outstanding.saturating_sub(coming))
    }

    /// How many symbols of a lane in this range have not arrived.
    fn unseen(&self, lane: u32, from: u32, until: u32) -> u32 {
        let lanes = self.lanes.len() as u32;
        (from..until).filter(|&j| !self.has_seen(j * lanes + lane)).count() as u32
    }

    fn lost(&mut self, lane: u32, lost: u32) -> u32 {
        self.lanes[lane as usize].outstanding -= lost;
        self.outstanding -= lost;
        lost
    }

    /// Counts missing symbols among the first `until` of a lane as lost; returns how many.
    pub(super) fn sweep(&mut self, lane: u32, until: u32) -> u32 {
        let BlockLane { swept, outstanding, requested, .. } = self.lanes[lane as usize];
        let until = until.min(requested);
        if until <= swept {
            return 0;
        }
        self.lanes[lane as usize].swept = until;
        let missing = self.unseen(lane, swept, until);
        self.lost(lane, missing.min(outstanding))
    }
}
