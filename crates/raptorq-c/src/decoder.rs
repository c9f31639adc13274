//! From packets to the object.
#![allow(unsafe_code, reason = "functions for C; every block says why it is sound")]

use anabranch_raptorq::{BlockStatus, DecoderLimits};

use crate::config::{Config, exactly};
use crate::failure::{Failure, Status, call};
use crate::pointers::{Handle, bytes, change, place, read, room};

/// How much memory and time a description and packets may make a decoder take. Twelve bytes can describe an object of
/// 942 GB, and one packet start a block of 3.7 GB: a receiver that cannot trust the sender sets what it expects.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest acceptable object (F), in bytes. Default: 1 GiB.
    pub object_bytes: u64,
    /// The largest acceptable block (K * T), in bytes; one in progress takes up to about three times that. Default: 256 MiB.
    pub block_bytes: u64,
    /// The largest acceptable K. Default: all that the RFC allows, 56403.
    pub source_symbols: u32,
    /// How many blocks may be in progress at once; packets of further ones are refused. Default: all, 255.
    pub blocks_in_progress: u32,
    /// How many symbols more than K a block may keep without being decodable. Default: 32.
    pub extra_symbols: u32,
}

impl From<DecoderLimits> for Limits {
    fn from(limits: DecoderLimits) -> Self {
        Self {
            object_bytes: limits.max_object_bytes,
            block_bytes: limits.max_block_bytes,
            source_symbols: limits.max_source_symbols,
            blocks_in_progress: u32::try_from(limits.max_blocks_in_progress).unwrap_or(u32::MAX),
            extra_symbols: limits.max_extra_symbols,
        }
    }
}

impl From<Limits> for DecoderLimits {
    fn from(limits: Limits) -> Self {
        Self::default()
            .object_bytes(limits.object_bytes)
            .block_bytes(limits.block_bytes)
            .source_symbols(limits.source_symbols)
            .blocks_in_progress(limits.blocks_in_progress as usize)
            .extra_symbols(limits.extra_symbols)
    }
}

/// What a packet did.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was kept; its block needs more.
    Collecting = 0,
    /// It completed its block, and other blocks are missing.
    BlockDecoded = 1,
    /// It completed the object.
    Complete = 2,
    /// It brought nothing new.
    Redundant = 3,
}

/// Collects packets of one object, and decodes each block as soon as that is possible.
#[derive(Debug)]
pub struct Decoder(Handle<anabranch_raptorq::Decoder>);

/// Writes the default limits.
///
/// Threads: any, at any time.
///
/// # Safety
///
/// `limits` is null, or limits can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_limits_default(limits: *mut Limits) -> Status {
    call(|| {
        // SAFETY: as this function's.
        unsafe { place(limits, "limits") }?.put(DecoderLimits::default().into());
        Ok(())
    })
}

/// Makes a decoder of the object that `config` describes, within `limits`; null means the default limits.
/// `ANB_RAPTORQ_STATUS_ERROR_LIMIT` if the object is beyond them.
///
/// Free `*decoder` by `anb_raptorq_decoder_free`. After an error there is nothing to free, and `*decoder` is unchanged.
///
/// Threads: any, at any time.
///
/// # Safety
///
/// `config` and `limits` are null or valid; `decoder` is null, or a pointer can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_decoder_new(
    config: *const Config,
    limits: *const Limits,
    decoder: *mut *mut Decoder,
) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let (config, place) = unsafe { (read(config, "config")?.check()?, place(decoder, "decoder")?) };
        // SAFETY: as this function's.
        let limits = unsafe { limits.as_ref() }.map_or_else(DecoderLimits::default, |&limits| limits.into());
        let inner = anabranch_raptorq::Decoder::with_limits(config, limits)?;
        place.put(Box::into_raw(Box::new(Decoder(Handle::new(inner)))));
        Ok(())
    })
}

/// Takes a packet as it was received, and decodes its block if that is possible now: 4 bytes of payload ID, and one symbol,
/// or several in a row (RFC 6330 §4.4.2). Packets may come in any order, several times, and from several senders.
///
/// What it did is written to `progress`, which may be null. `ANB_RAPTORQ_STATUS_ERROR_PACKET` if the bytes are no packet of
/// the object; `ANB_RAPTORQ_STATUS_ERROR_COMPLETE`, and nothing is written, if the object was complete before.
///
/// A packet with wrong bytes cannot be told from a right one, and spoils its block: compare a hash of the object.
///
/// Threads: one at a time with each decoder.
///
/// # Safety
///
/// `decoder` is null or a handle that was not freed, and no other thread uses it; `packet` is null, or `size` bytes can be
/// read from it; `progress` is null, or a progress can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_decoder_add(
    decoder: *mut Decoder,
    packet: *const u8,
    size: usize,
    progress: *mut Progress,
) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let (decoder, packet) = unsafe { (change(decoder, "decoder")?, bytes(packet, size, "packet")?) };
        let done = decoder.0.change(|decoder| {
            if decoder.is_complete() {
                let text = "the object is complete, and the packet was not looked at";
                return Err(Failure::new(Status::ErrorComplete, text));
            }
            Ok(decoder.add_packet(packet)?)
        })?;
        let done = match done {
            anabranch_raptorq::Progress::Complete => Progress::Complete,
            anabranch_raptorq::Progress::BlockDecoded { .. } => Progress::BlockDecoded,
            anabranch_raptorq::Progress::Redundant => Progress::Redundant,
            _ => Progress::Collecting,
        };
        if !progress.is_null() {
            // SAFETY: as this function's.
            unsafe { place(progress, "progress") }?.put(done);
        }
        Ok(())
    })
}

/// Tells how many more symbols must arrive at least, for all blocks together; 0 if and only if the object is complete.
///
/// Threads: several at a time with one decoder, as long as none adds packets to it or frees it.
///
/// # Safety
///
/// `decoder` is null or a handle that was not freed, and no other thread changes it; `missing` is null, or a number can be
/// written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_decoder_missing(decoder: *const Decoder, missing: *mut u64) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let (decoder, missing) = unsafe { (read(decoder, "decoder")?.0.look()?, place(missing, "missing")?) };
        missing.put(still_missing(decoder));
        Ok(())
    })
}

/// Writes the object to `object`, of exactly F bytes, as often as it is called.
/// `ANB_RAPTORQ_STATUS_ERROR_INCOMPLETE` if it is not complete.
///
/// Threads: several at a time with one decoder, as long as none adds packets to it or frees it.
///
/// # Safety
///
/// `decoder` is null or a handle that was not freed, and no other thread changes it; `object` is null (an object of no
/// bytes can be), or `size` bytes can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_decoder_result(decoder: *const Decoder, object: *mut u8, size: usize) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let decoder = unsafe { read(decoder, "decoder") }?.0.look()?;
        if !decoder.is_complete() {
            let missing = still_missing(decoder);
            let text = format_args!("the object is not complete: at least {missing} more symbols are needed");
            return Err(Failure::new(Status::ErrorIncomplete, text));
        }
        exactly("object", decoder.config().transfer_length(), size)?;
        // SAFETY: as this function's.
        let object = unsafe { room(object, size, "object") }?;
        Ok(decoder.try_result_into(object)?)
    })
}

/// Frees a decoder; null is none.
///
/// Threads: any, when no other uses the decoder.
///
/// # Safety
///
/// `decoder` is null or a handle that was not freed, and nobody uses it from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_decoder_free(decoder: *mut Decoder) {
    if !decoder.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller has no further use for it.
        call(|| {
            drop(unsafe { Box::from_raw(decoder) });
            Ok(())
        });
    }
}

fn still_missing(decoder: &anabranch_raptorq::Decoder) -> u64 {
    let blocks = decoder.config().blocks();
    blocks
        .map(|layout| match decoder.block_status(layout.number()) {
            Some(BlockStatus::Waiting) => u64::from(layout.source_symbols()),
            // 0 of a block that had no memory to be decoded in.
            Some(BlockStatus::Collecting { missing }) => u64::from(missing.max(1)),
            _ => 0,
        })
        .sum()
}
