//! From an object to packets.
#![allow(unsafe_code, reason = "functions for C; every block says why it is sound")]

use std::num::NonZeroUsize;

use anabranch_raptorq::{EncoderError, LoadedBlocks, PayloadId};

use crate::config::{Config, exactly};
use crate::failure::{Status, call};
use crate::pointers::{Handle, bytes, change, place, read, room};

/// Blocks that an object has at most (RFC 6330 §3.3.3).
const MOST_BLOCKS: NonZeroUsize = NonZeroUsize::new(255).unwrap();

/// Makes packets of one object, any of them, in any order, as often as needed.
#[derive(Debug)]
pub struct Encoder(Handle<LoadedBlocks<Box<anabranch_raptorq::Encoder<&'static [u8]>>>>);

/// Makes an encoder of `object`, which is not copied: until the encoder is freed, its `size` bytes must stay where they are
/// and as they are.
///
/// `blocks_in_memory` encoded blocks are kept for further repair packets, at least one, 0 for all. Each takes somewhat more
/// memory than the block has bytes; a repair packet of a block that is not kept costs encoding it.
///
/// Free `*encoder` by `anb_raptorq_encoder_free`. After an error there is nothing to free, and `*encoder` is unchanged.
///
/// Threads: any, at any time. Two encoders of one object share nothing but the object.
///
/// # Safety
///
/// `object` is null (an object of no bytes can be), or `size` bytes can be read from it until the encoder is freed, and
/// nobody writes to them. `config` is null or valid; `encoder` is null, or a pointer can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_encoder_new(
    object: *const u8,
    size: usize,
    config: *const Config,
    blocks_in_memory: usize,
    encoder: *mut *mut Encoder,
) -> Status {
    call(|| {
        // SAFETY: as this function's. Only the encoder refers to the object, and the caller keeps it as long as that.
        let (object, config, place): (&'static [u8], _, _) =
            unsafe { (bytes(object, size, "object")?, read(config, "config")?.check()?, place(encoder, "encoder")?) };
        let inner = Box::new(anabranch_raptorq::Encoder::new(object, config)?);
        let capacity = NonZeroUsize::new(blocks_in_memory).unwrap_or(MOST_BLOCKS);
        let made = Encoder(Handle::new(LoadedBlocks::new(inner, capacity)));
        place.put(Box::into_raw(Box::new(made)));
        Ok(())
    })
}

/// Writes the packet of symbol `esi` of block number `block` to `packet`, of exactly 4 + T bytes: 4 bytes of payload ID, T
/// of symbol. `esi` is below 2^24; below K it is a source symbol, from K on a repair symbol.
///
/// Threads: one at a time with each encoder.
///
/// # Safety
///
/// `encoder` is null or a handle that was not freed, and no other thread uses it; `packet` is null, or `size` bytes can be
/// written to it, which are not part of the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_encoder_packet(
    encoder: *mut Encoder,
    block: u8,
    esi: u32,
    packet: *mut u8,
    size: usize,
) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let encoder = unsafe { change(encoder, "encoder") }?;
        encoder.0.change(|blocks| {
            let config = blocks.encoder().config();
            let id = PayloadId::new(block, esi).map_err(EncoderError::from)?;
            let Some(layout) = config.block(block) else {
                return Err(EncoderError::NoSuchBlock { number: block, blocks: config.source_blocks() }.into());
            };
            if layout.source_symbols() == 0 {
                return Err(EncoderError::EmptyBlock { number: block }.into());
            }
            exactly("packet", PayloadId::SIZE as u64 + u64::from(config.symbol_size()), size)?;
            // SAFETY: as this function's.
            let packet = unsafe { room(packet, size, "packet") }?;
            Ok(blocks.packet_into(id, packet)?)
        })
    })
}

/// Frees an encoder; null is none. The object can be changed from then on.
///
/// Threads: any, when no other uses the encoder.
///
/// # Safety
///
/// `encoder` is null or a handle that was not freed, and nobody uses it from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_encoder_free(encoder: *mut Encoder) {
    if !encoder.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller has no further use for it.
        call(|| {
            drop(unsafe { Box::from_raw(encoder) });
            Ok(())
        });
    }
}
