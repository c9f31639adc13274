//! From packets to the object.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::layout::BlockLayout;
use super::limits::DecoderLimits;
use super::oti::ObjectTransmissionInformation;
use super::packet::{PacketError, PacketRef, PayloadId};
#[cfg(feature = "std")]
use super::plans::PlanCache;
use super::plans::Plans;
use super::symbols::Symbols;
use crate::{Added, BlockError, EncodingPlan, SourceBlockDecoder};

/// Why an object cannot be decoded, or a packet not be used.
///
/// After an error from a packet the decoder is as it was before that packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// The object is larger than the limits allow.
    #[error("the object has {size} bytes; the limit is {limit}")]
    ObjectTooLarge {
        /// F.
        size: u64,
        /// [`DecoderLimits::max_object_bytes`].
        limit: u64,
    },
    /// The object's blocks are larger than the limits, or the address space, allow.
    #[error("a block has {size} bytes; the limit is {limit}")]
    BlockTooLarge {
        /// K * T of the largest block.
        size: u64,
        /// [`DecoderLimits::max_block_bytes`], or what the address space allows.
        limit: u64,
    },
    /// The object's blocks have more symbols than the limits allow.
    #[error("a block has {symbols} source symbols; the limit is {limit}")]
    TooManySymbols {
        /// K of the largest block.
        symbols: u32,
        /// [`DecoderLimits::max_source_symbols`].
        limit: u32,
    },
    /// The packet would start a block while as many are in progress as the limits allow.
    #[error("{limit} blocks are in progress, which is the limit")]
    TooManyBlocks {
        /// [`DecoderLimits::max_blocks_in_progress`].
        limit: usize,
    },
    /// The block has so many more symbols than it needs, and still cannot be decoded, that they were chosen for that.
    #[error("the block has {limit} symbols more than it needs, which is the limit, and is not decodable")]
    TooManyExtraSymbols {
        /// [`DecoderLimits::max_extra_symbols`].
        limit: u32,
    },
    /// There is no memory for the decoded data.
    #[error("there is no memory for {bytes} bytes")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The bytes are not a packet.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// The object has fewer blocks.
    #[error("there is no block {number} in an object of {blocks}")]
    NoSuchBlock {
        /// SBN of the packet.
        number: u8,
        /// Z.
        blocks: u8,
    },
    /// The packet does not hold whole symbols, nor source symbols up to the padding of the last (§4.4.2).
    #[error("{found} bytes are not symbols of {symbol_size} bytes")]
    PacketSize {
        /// Bytes after the payload ID.
        found: usize,
        /// T.
        symbol_size: u16,
    },
    /// The packet holds source symbols and repair symbols, which §4.4.2 does not allow.
    #[error(
        "the packet begins with source symbol {esi}, and reaches into the repair symbols, which begin at {first_repair}"
    )]
    MixedPacket {
        /// ESI of the packet.
        esi: u32,
        /// K.
        first_repair: u32,
    },
    /// The padding of a source symbol is not zero, as §4.4.1.2 demands: the symbol is damaged.
    #[error("source symbol {esi} ends in padding that is not zero")]
    Padding {
        /// ESI of the symbol.
        esi: u32,
    },
    /// The object is not complete.
    #[error("{blocks} blocks are not decoded")]
    Incomplete {
        /// How many.
        blocks: usize,
    },
    /// A block was handed out by [`Decoder::take_block`], so the object cannot be put together here.
    #[error("block {number} was taken")]
    Taken {
        /// The block's number.
        number: u8,
    },
    /// The buffer does not have the size of what is to be written to it.
    #[error("{expected} bytes are to be written to {found}")]
    BufferSize {
        /// The size it must have.
        expected: u64,
        /// The size it has.
        found: usize,
    },
    /// The block's decoder refused.
    #[error(transparent)]
    Block(#[from] BlockError),
}

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
    BlockDecoded,
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

/// A block on its way.
#[derive(Debug, Default)]
pub(super) enum State {
    #[default]
    Waiting,
    Collecting(Box<Collecting>),
    Decoded(Vec<u8>),
    Taken,
}

/// A block whose symbols are being collected.
#[derive(Debug)]
pub(super) struct Collecting {
    decoder: SourceBlockDecoder,
    /// How many symbols must be there before decoding is tried: more than K after it failed.
    wanted: usize,
}

/// Collects the packets of an object and decodes its blocks.
///
/// Packets may come in any order, several times, and from several senders. Nothing that a packet contains makes it panic
/// or use more memory than the [limits](DecoderLimits) allow. What a packet says is believed, though: one with a damaged
/// symbol spoils its block, so let a checksum below or a hash above guard against that.
///
/// A block's memory is allocated when its first packet arrives. A decoded block keeps its bytes and nothing else; they
/// can be read at once ([`block`](Self::block)), or moved out to make room ([`take_block`](Self::take_block)).
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
#[derive(Debug)]
pub struct Decoder {
    oti: ObjectTransmissionInformation,
    limits: DecoderLimits,
    plans: Plans,
    blocks: Vec<State>,
    in_progress: usize,
    undecoded: usize,
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
            plans: Plans::default(),
            blocks: oti.blocks().map(state).collect(),
            in_progress: 0,
            undecoded: 0,
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
            let collecting = start(&layout, &mut self.plans, self.spare.take())?;
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

    /// As [`decode_ready`](Self::decode_ready), on several threads, each decoding one block after the other.
    ///
    /// # Errors
    ///
    /// If there is no memory for the bytes of a block. The call can be repeated.
    #[cfg(feature = "std")]
    pub fn decode_ready_on(&mut self, threads: core::num::NonZeroUsize) -> Result<(), DecoderError> {
        let oti = self.oti;
        let ready = oti.blocks().zip(&mut self.blocks).filter(|(_, state)| state.is_ready());
        let decoded = super::threads::for_each(threads, ready, |(layout, state)| {
            let State::Collecting(collecting) = state else { return Ok(()) };
            if let Some(bytes) = collecting.decode(&layout)? {
                *state = State::Decoded(bytes);
            }
            Ok(())
        });
        self.count();
        decoded
    }

    /// Takes a packet, and returns the object if it is complete.
    ///
    /// The simple way: each call on a complete object copies it once more, so stop at the first. An object of no bytes is
    /// complete before its first packet; see [`is_complete`](Self::is_complete).
    ///
    /// # Errors
    ///
    /// Those of [`add_packet`](Self::add_packet) and [`try_result`](Self::try_result).
    pub fn decode(&mut self, packet: &[u8]) -> Result<Option<Vec<u8>>, DecoderError> {
        self.add_packet(packet)?;
        if self.is_complete() { self.try_result().map(Some) } else { Ok(None) }
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
            State::Collecting(block) => match block.decoder.source_symbol(id.encoding_symbol_id()) {
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
            self.spare = Some(done);
        }
        self.count();
        Ok(if self.is_complete() { Progress::Complete } else { Progress::BlockDecoded })
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

impl State {
    fn bytes(&self) -> Option<&[u8]> {
        if let Self::Decoded(bytes) = self { Some(bytes) } else { None }
    }

    #[cfg(feature = "std")]
    fn is_ready(&self) -> bool {
        matches!(self, Self::Collecting(block) if block.missing() == 0)
    }
}

/// A decoder for the block at `layout`, in the memory of `spare` if there is one.
fn start(
    layout: &BlockLayout,
    plans: &mut Plans,
    spare: Option<Box<Collecting>>,
) -> Result<Box<Collecting>, DecoderError> {
    let (symbols, size) = (layout.source_symbols(), usize::from(layout.symbol_size()));
    let plan = plans.get(symbols)?;
    match spare {
        Some(mut spare) => {
            spare.decoder.reset(plan, symbols, size)?;
            spare.wanted = 0;
            Ok(spare)
        }
        None => Ok(Box::new(Collecting { decoder: SourceBlockDecoder::new(plan, symbols, size)?, wanted: 0 })),
    }
}

impl Collecting {
    /// How many symbols must arrive before decoding is worth a try.
    fn missing(&self) -> u32 {
        if self.decoder.is_complete() {
            return 0;
        }
        let wanted = self.wanted.saturating_sub(self.decoder.symbols_received());
        self.decoder.symbols_missing().max(wanted as u32) // as many as are asked for at once: a few
    }

    /// Adds one symbol, and says whether it was new.
    fn add(
        &mut self,
        layout: &BlockLayout,
        esi: u32,
        symbol: &[u8],
        padded: &mut Vec<u8>,
        max_extra: u32,
    ) -> Result<bool, DecoderError> {
        // Source symbols have their place in the block. Of the repair symbols, each takes memory.
        let most = layout.source_symbols() as usize + max_extra as usize;
        if esi >= layout.source_symbols() && self.wanted > 0 && self.decoder.symbols_received() >= most {
            return Err(DecoderError::TooManyExtraSymbols { limit: max_extra });
        }
        let size = usize::from(layout.symbol_size());
        let symbol = if symbol.len() == size {
            symbol
        } else {
            padded.clear();
            padded.extend_from_slice(symbol);
            padded.resize(size, 0);
            padded
        };
        Ok(self.decoder.add_symbol(esi, symbol)? == Added::New)
    }

    /// The bytes of the block, without padding, if the symbols suffice.
    fn decode(&mut self, layout: &BlockLayout) -> Result<Option<Vec<u8>>, DecoderError> {
        let received = self.decoder.symbols_received();
        let symbols = match self.decoder.try_decode() {
            Ok(symbols) => symbols,
            Err(not_yet) => {
                self.wanted = received + not_yet.more as usize;
                return Ok(None);
            }
        };
        let mut bytes = buffer(layout.size())?;
        let size = layout.size() as usize; // it fits, there being a buffer of that size
        if layout.sub_blocks() == 1 {
            bytes.extend(symbols.get(..size).unwrap_or(&[]));
        } else {
            bytes.resize(size, 0);
            // Sizes that do not fit would be a fault here, not in what was received.
            layout.deinterleave(symbols, &mut bytes).map_err(|_| DecoderError::Memory { bytes: layout.size() })?;
        }
        Ok(Some(bytes))
    }
}

/// An empty vector with room for `size` bytes.
fn buffer(size: u64) -> Result<Vec<u8>, DecoderError> {
    let mut bytes = Vec::new();
    let reserved = usize::try_from(size).ok().and_then(|size| bytes.try_reserve_exact(size).ok());
    reserved.map(|()| bytes).ok_or(DecoderError::Memory { bytes: size })
}
