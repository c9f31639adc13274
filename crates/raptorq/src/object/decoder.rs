//! From packets to the object.

mod state;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU64, Ordering};

use super::error::DecoderError;
use super::layout::BlockLayout;
use super::limits::DecoderLimits;
use super::oti::ObjectTransmissionInformation;
use super::packet::{PacketRef, PayloadId};
#[cfg(feature = "std")]
use super::plan_cache::PlanCache;
use super::plans::Plans;
use super::symbols::Symbols;
use crate::kernels::Kernels;
use crate::threads::Threads;
use crate::{BlockError, EncodingPlan, Level};
use state::{Collecting, State, buffer};

/// What a packet did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// It was kept; its block needs more.
    Collecting {
        /// How many more symbols must arrive before the block can perhaps be decoded. Zero if it only waits for
        /// [`Decoder::decode_ready`].
        missing: u32,
    },
    /// It completed its block, and other blocks are missing.
    BlockDecoded {
        /// The block's number (SBN).
        number: u8,
    },
    /// It completed the object.
    Complete,
    /// It brought nothing new: its symbols are known, or not needed any more.
    Redundant,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockStatus {
    /// Nothing arrived, and nothing is allocated.
    Waiting,
    /// Symbols are being collected.
    Collecting {
        /// How many more must arrive before the block can perhaps be decoded; 0 if it only waits for
        /// [`Decoder::decode_ready`].
        missing: u32,
    },
    /// The block's bytes are here.
    Decoded,
    /// The block's bytes were here and were [taken](Decoder::take_block).
    Taken,
}

/// Collects the packets of an object and decodes its blocks.
///
/// Packets may come in any order, several times, and from several senders. Nothing that a packet contains makes it panic
/// or use more memory than the [limits](DecoderLimits) allow. What a packet says is believed, though: one with a damaged
/// symbol spoils its block, so let a checksum below or a hash above guard against that.
///
/// A block's memory is allocated as its packets arrive. A decoded block keeps its bytes and nothing else; they
/// can be read at once ([`block`](Self::block)), or moved out to make room ([`take_block`](Self::take_block)). A clone copies all that was
/// received and decoded, and shares the plans.
///
/// ```
/// use anabranch_raptorq::{Decoder, Encoder};
///
/// let object: Vec<u8> = (0..20_000u32).map(|i| (i * i >> 8) as u8).collect();
/// let encoder = Encoder::with_defaults(&object, 100)?;
///
/// let mut decoder = Decoder::new(encoder.config())?;
/// let mut decoded = None;
/// for packet in encoder.packets(250)?.step_by(2) {
///     decoded = decoder.decode(&packet?.serialize())?;
///     if decoded.is_some() {
///         break;
///     }
/// }
/// assert_eq!(decoded, Some(object));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    oti: ObjectTransmissionInformation,
    limits: DecoderLimits,
    threads: Threads,
    plans: Plans,
    kernels: Kernels,
    blocks: Vec<State>,
    in_progress: usize,
    undecoded: usize,
    /// Whether the object was [taken](Self::take_object).
    handed_over: bool,
    /// What decoding the blocks that are decoded has taken.
    work: u64,
    /// A decoder that has done its work and can be used for the next block.
    spare: Option<Box<Collecting>>,
    /// Room to add the padding that a packet left out.
    padded: Vec<u8>,
}

impl Decoder {
    /// A decoder for the object that `oti` describes, within the [default limits](DecoderLimits::default).
    ///
    /// # Errors
    ///
    /// If the object is beyond the limits.
    pub fn new(oti: ObjectTransmissionInformation) -> Result<Self, DecoderError> {
        Self::with_limits(oti, DecoderLimits::default())
    }

    /// A decoder for the object that `oti` describes, within `limits`.
    ///
    /// # Errors
    ///
    /// If the object is beyond the limits.
    pub fn with_limits(oti: ObjectTransmissionInformation, limits: DecoderLimits) -> Result<Self, DecoderError> {
        limits.check(&oti)?;
        let state = |block: BlockLayout| match block.source_symbols() {
            0 => State::Decoded(Vec::new()),
            _ => State::Waiting,
        };
        let mut decoder = Self {
            oti,
            limits,
            threads: Threads::default(),
            plans: Plans::default(),
            kernels: Kernels::best(),
            blocks: oti.blocks().map(state).collect(),
            in_progress: 0,
            undecoded: 0,
            handed_over: false,
            work: 0,
            spare: None,
            padded: Vec::new(),
        };
        decoder.count();
        Ok(decoder)
    }

    /// Takes plans from `cache`, and makes missing ones there.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_cache(mut self, cache: &PlanCache) -> Self {
        self.plans.set_cache(cache);
        self
    }

    /// Shares the work on a block among up to `threads` threads, for blocks of which nothing has arrived yet; see
    /// [`SourceBlockDecoder::with_threads`](crate::SourceBlockDecoder::with_threads). For objects of one large block;
    /// [`decode_ready_on`](Self::decode_ready_on) does several blocks at once.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_threads(mut self, threads: core::num::NonZeroUsize) -> Self {
        self.threads = Threads::new(threads);
        self
    }

    /// Decodes all blocks with the instructions of `level` instead of the best ones. (Plans are made with the best ones all the same.)
    ///
    /// # Errors
    ///
    /// [`BlockError::Level`] when this processor lacks them.
    pub fn with_level(mut self, level: Level) -> Result<Self, DecoderError> {
        self.kernels = Kernels::of(level).ok_or(BlockError::Level(level))?;
        self.blocks.iter_mut().for_each(|state| state.use_kernels(self.kernels));
        Ok(self)
    }

    /// Whose instructions it uses.
    pub fn level(&self) -> Level {
        self.kernels.level()
    }

    /// Uses `plan` for the blocks that it fits. If no plan is given, the decoder makes one when it needs it.
    pub fn add_plan(&mut self, plan: &Arc<EncodingPlan>) {
        self.plans.offer(&self.oti, plan);
    }

    /// The plans that were given or made so far, to be re-used elsewhere.
    pub fn plans(&self) -> &[Arc<EncodingPlan>] {
        self.plans.as_slice()
    }

    /// What the decoder knows of the object.
    pub fn config(&self) -> ObjectTransmissionInformation {
        self.oti
    }

    /// What decoding has taken so far, for all blocks: see [`SourceBlockDecoder::work`](crate::SourceBlockDecoder::work). A
    /// block takes less than ten times the work of one that lost all its source symbols, whichever symbols arrive.
    pub fn work(&self) -> u64 {
        let collecting =
            self.blocks.iter().map(|state| if let State::Collecting(block) = state { block.work() } else { 0 });
        self.work + collecting.sum::<u64>()
    }

    /// Takes a packet as it was received, and decodes its block if that is possible now.
    ///
    /// The packet may hold several symbols with ESIs in a row, and the last source symbol without its padding (§4.4.2).
    ///
    /// # Errors
    ///
    /// If the packet does not fit the object, or a limit is reached. The packet is lost then, and nothing else.
    #[doc(alias = "add_new_packet")]
    pub fn add_packet(&mut self, packet: &[u8]) -> Result<Progress, DecoderError> {
        let packet = PacketRef::deserialize(packet)?;
        self.add_symbol(packet.payload_id(), packet.data())
    }

    /// As [`add_packet`](Self::add_packet), for a payload ID that was sent in another form.
    ///
    /// # Errors
    ///
    /// Those of [`add_packet`](Self::add_packet).
    pub fn add_symbol(&mut self, id: PayloadId, symbol: &[u8]) -> Result<Progress, DecoderError> {
        match self.collect_symbol(id, symbol)? {
            Progress::Collecting { missing: 0 } => self.decode_block(id.source_block_number()),
            progress => Ok(progress),
        }
    }

    /// As [`add_packet`](Self::add_packet), but leaves decoding to a later call of [`decode_ready`](Self::decode_ready),
    /// so that the time it takes does not depend on what the packet completes.
    ///
    /// # Errors
    ///
    /// Those of [`add_packet`](Self::add_packet).
    pub fn collect_packet(&mut self, packet: &[u8]) -> Result<Progress, DecoderError> {
        let packet = PacketRef::deserialize(packet)?;
        self.collect_symbol(packet.payload_id(), packet.data())
    }

    /// As [`collect_packet`](Self::collect_packet), for a payload ID that was sent in another form.
    ///
    /// # Errors
    ///
    /// Those of [`add_packet`](Self::add_packet).
    pub fn collect_symbol(&mut self, id: PayloadId, symbol: &[u8]) -> Result<Progress, DecoderError> {
        let (number, first) = (id.source_block_number(), id.encoding_symbol_id());
        let layout = self.layout(number)?;
        let symbols = Symbols::check(&layout, first, symbol)?;
        let state = &mut self.blocks[usize::from(number)];
        if let State::Decoded(_) | State::Taken = state {
            return Ok(Progress::Redundant);
        }
        if let State::Waiting = state {
            if self.in_progress >= self.limits.max_blocks_in_progress {
                return Err(DecoderError::TooManyBlocks { limit: self.limits.max_blocks_in_progress });
            }
            let means = (self.kernels, self.threads);
            let collecting = Collecting::start(&layout, &mut self.plans, means, self.spare.take())?;
            *state = State::Collecting(collecting);
            self.in_progress += 1;
        }
        let State::Collecting(collecting) = state else { return Ok(Progress::Redundant) };
        let mut news = false;
        for (esi, symbol) in symbols.iter() {
            match collecting.add(&layout, esi, symbol, &mut self.padded, self.limits.max_extra_symbols) {
                Ok(new) => news |= new,
                // Part of the packet was of use.
                Err(_) if news => break,
                Err(error) => return Err(error),
            }
        }
        let missing = collecting.missing();
        Ok(if news { Progress::Collecting { missing } } else { Progress::Redundant })
    }

    /// Decodes all blocks for which enough has been [collected](Self::collect_packet).
    ///
    /// # Errors
    ///
    /// If there is no memory for the bytes of a block. The call can be repeated.
    pub fn decode_ready(&mut self) -> Result<(), DecoderError> {
        for number in 0..self.oti.source_blocks() {
            if self.block_status(number) == Some(BlockStatus::Collecting { missing: 0 }) {
                self.decode_block(number)?;
            }
        }
        Ok(())
    }

    /// As [`decode_ready`](Self::decode_ready), on up to `threads` threads, each decoding one block after the other. Where there
    /// are fewer blocks than threads, several share the work on a block.
    ///
    /// # Errors
    ///
    /// If there is no memory for the bytes of a block. The call can be repeated.
    #[cfg(feature = "std")]
    pub fn decode_ready_on(&mut self, threads: core::num::NonZeroUsize) -> Result<(), DecoderError> {
        let oti = self.oti;
        let count = self.blocks.iter().filter(|state| state.is_ready()).count();
        let Some(at_once) = core::num::NonZeroUsize::new(threads.get().min(count)) else { return Ok(()) };
        let (own, each) = (self.threads, Threads::new(threads).split(at_once));
        let work = AtomicU64::new(0);
        let ready = oti.blocks().zip(&mut self.blocks).filter(|(_, state)| state.is_ready());
        let decoded = crate::threads::for_each(at_once, ready, |(layout, state)| {
            let State::Collecting(collecting) = state else { return Ok(()) };
            collecting.set_threads(each);
            let decoded = collecting.decode(&layout);
            collecting.set_threads(own);
            if let Some(bytes) = decoded? {
                work.fetch_add(collecting.work(), Ordering::Relaxed);
                *state = State::Decoded(bytes);
            }
            Ok(())
        });
        self.work += work.into_inner();
        self.count();
        decoded
    }

    /// Takes a packet, and hands the object over if that completes it: as [`add_packet`](Self::add_packet), and then
    /// [`take_object`](Self::take_object). After that, late packets bring `None`.
    ///
    /// An object of no bytes is complete before its first packet; see [`is_complete`](Self::is_complete).
    ///
    /// # Errors
    ///
    /// Those of [`add_packet`](Self::add_packet) and [`take_object`](Self::take_object).
    pub fn decode(&mut self, packet: &[u8]) -> Result<Option<Vec<u8>>, DecoderError> {
        self.add_packet(packet)?;
        if self.is_complete() && !self.handed_over { self.take_object().map(Some) } else { Ok(None) }
    }

    /// Whether all blocks are decoded.
    pub fn is_complete(&self) -> bool {
        self.undecoded == 0
    }

    /// The object.
    ///
    /// # Errors
    ///
    /// If it is not complete, a block of it was taken, or there is no memory for it.
    #[doc(alias = "get_result")]
    pub fn try_result(&self) -> Result<Vec<u8>, DecoderError> {
        let blocks = self.decoded_blocks()?;
        let mut object = buffer(self.oti.transfer_length())?;
        blocks.for_each(|block| object.extend_from_slice(block));
        Ok(object)
    }

    /// The object, moved out: without copying it if it is one block. Its blocks are [taken](BlockStatus::Taken) then.
    ///
    /// # Errors
    ///
    /// If it is not complete, a block of it was taken, or there is no memory for it. Then nothing has changed.
    pub fn take_object(&mut self) -> Result<Vec<u8>, DecoderError> {
        drop(self.decoded_blocks()?);
        let object = match &mut self.blocks[..] {
            [only] => core::mem::replace(only, State::Taken).into_bytes(),
            blocks => {
                let mut object = buffer(self.oti.transfer_length())?;
                for state in blocks {
                    object.extend_from_slice(&core::mem::replace(state, State::Taken).into_bytes());
                }
                object
            }
        };
        self.handed_over = true;
        Ok(object)
    }

    /// Writes the object to `object`, of F bytes.
    ///
    /// # Errors
    ///
    /// If it is not complete, a block of it was taken, or `object` has another size.
    pub fn try_result_into(&self, object: &mut [u8]) -> Result<(), DecoderError> {
        let blocks = self.decoded_blocks()?;
        let (expected, found) = (self.oti.transfer_length(), object.len());
        if expected != found as u64 {
            return Err(DecoderError::BufferSize { expected, found });
        }
        let mut rest = object;
        for block in blocks {
            // The blocks' sizes sum up to F, so there is always enough.
            let Some((part, after)) = rest.split_at_mut_checked(block.len()) else { break };
            part.copy_from_slice(block);
            rest = after;
        }
        Ok(())
    }

    /// The bytes of all blocks, in order.
    fn decoded_blocks(&self) -> Result<impl Iterator<Item = &[u8]>, DecoderError> {
        if self.undecoded > 0 {
            return Err(DecoderError::Incomplete { blocks: self.undecoded });
        }
        if let Some(taken) = self.blocks.iter().position(|state| matches!(state, State::Taken)) {
            return Err(DecoderError::Taken { number: taken as u8 });
        }
        Ok(self.blocks.iter().filter_map(State::bytes))
    }

    /// What is known of block `number`; `None` if there is no such block.
    pub fn block_status(&self, number: u8) -> Option<BlockStatus> {
        self.blocks.get(usize::from(number)).map(|state| match state {
            State::Waiting => BlockStatus::Waiting,
            State::Collecting(block) => BlockStatus::Collecting { missing: block.missing() },
            State::Decoded(_) => BlockStatus::Decoded,
            State::Taken => BlockStatus::Taken,
        })
    }

    /// The bytes of block `number`, without padding, if it is decoded. The block's
    /// [layout](ObjectTransmissionInformation::block) says where they belong.
    pub fn block(&self, number: u8) -> Option<&[u8]> {
        self.blocks.get(usize::from(number)).and_then(State::bytes)
    }

    /// Moves the bytes of block `number` out, if it is decoded, so that the decoder needs no memory for them. The block
    /// stays decoded: late packets of it are redundant.
    pub fn take_block(&mut self, number: u8) -> Option<Vec<u8>> {
        let state = self.blocks.get_mut(usize::from(number))?;
        match core::mem::replace(state, State::Taken) {
            State::Decoded(bytes) => Some(bytes),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Writes a source symbol, of T bytes with its padding, to `symbol` if it is known: because it was received, or
    /// because its block is decoded. Says whether it is.
    ///
    /// # Errors
    ///
    /// If the object has no such block, or `symbol` does not have T bytes.
    pub fn source_symbol_into(&self, id: PayloadId, symbol: &mut [u8]) -> Result<bool, DecoderError> {
        let layout = self.layout(id.source_block_number())?;
        let (expected, found) = (u64::from(layout.symbol_size()), symbol.len());
        if expected != found as u64 {
            return Err(DecoderError::BufferSize { expected, found });
        }
        Ok(match &self.blocks[usize::from(id.source_block_number())] {
            State::Waiting | State::Taken => false,
            State::Decoded(bytes) => layout.source_symbol_into(id.encoding_symbol_id(), bytes, symbol).is_ok(),
            State::Collecting(block) => match block.source_symbol(id.encoding_symbol_id()) {
                Some(known) => {
                    symbol.copy_from_slice(known);
                    true
                }
                None => false,
            },
        })
    }

    fn layout(&self, number: u8) -> Result<BlockLayout, DecoderError> {
        let blocks = self.oti.source_blocks();
        self.oti.block(number).ok_or(DecoderError::NoSuchBlock { number, blocks })
    }

    /// Decodes block `number`, which has enough symbols, if they are independent.
    fn decode_block(&mut self, number: u8) -> Result<Progress, DecoderError> {
        let layout = self.layout(number)?;
        let state = &mut self.blocks[usize::from(number)];
        let State::Collecting(collecting) = state else { return Ok(Progress::Redundant) };
        let Some(bytes) = collecting.decode(&layout)? else {
            return Ok(Progress::Collecting { missing: collecting.missing() });
        };
        if let State::Collecting(done) = core::mem::replace(state, State::Decoded(bytes)) {
            self.work += done.work();
            self.spare = Some(done);
        }
        self.count();
        Ok(if self.is_complete() { Progress::Complete } else { Progress::BlockDecoded { number } })
    }

    fn count(&mut self) {
        let collecting = self.blocks.iter().filter(|state| matches!(state, State::Collecting(_)));
        let waiting = self.blocks.iter().filter(|state| matches!(state, State::Waiting));
        self.in_progress = collecting.count();
        let waiting = waiting.count();
        self.undecoded = self.in_progress + waiting;
        if waiting == 0 {
            // No block will ever start again.
            self.spare = None;
        }
    }
}
