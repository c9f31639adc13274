//! The description of an object, which receivers need before its first packet (RFC 6330 §3.3).
#![allow(unsafe_code, reason = "functions for C; every block says why it is sound")]

use anabranch_raptorq::ObjectTransmissionInformation;

use crate::failure::{Failure, Status, call};
use crate::pointers::{bytes, place, read, room};

/// Bytes of a description as it is sent (RFC 6330 §3.3.2 and §3.3.3).
pub const CONFIG_SIZE: usize = 12;

/// The largest block that `anb_raptorq_config_default` makes, in bytes: as the Rust crate's own choice.
const WORKING_MEMORY: u64 = 10 << 20;

/// How an object is cut: the FEC object transmission information of RFC 6330 §3.3. Sender and receiver must have the same.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// F, bytes of the object: 0 to 942574504275.
    pub object_size: u64,
    /// T, bytes of a symbol: 1 to 65535, a multiple of `alignment`. A packet has 4 more.
    pub symbol_size: u16,
    /// N, sub-blocks of a block: 1 to 65535. With 1, each source symbol is T bytes in a row of the object.
    pub sub_blocks: u16,
    /// Z, blocks: 1 to 255. None may have more than 56403 source symbols.
    pub blocks: u8,
    /// Al: sub-blocks are cut at multiples of so many bytes, 1 to 255. 1 unless there are several of them.
    pub alignment: u8,
}

impl Config {
    pub(crate) fn check(&self) -> Result<ObjectTransmissionInformation, Failure> {
        let Self { object_size, symbol_size, sub_blocks, blocks, alignment } = *self;
        Ok(ObjectTransmissionInformation::new(object_size, symbol_size, blocks, sub_blocks, alignment)?)
    }
}

impl From<ObjectTransmissionInformation> for Config {
    fn from(oti: ObjectTransmissionInformation) -> Self {
        Self {
            object_size: oti.transfer_length(),
            symbol_size: oti.symbol_size(),
            sub_blocks: oti.sub_blocks(),
            blocks: oti.source_blocks(),
            alignment: oti.symbol_alignment(),
        }
    }
}

/// Chooses how to cut an object of `object_size` bytes into symbols of `symbol_size` bytes: as few blocks as have at most
/// 10 MiB each (RFC 6330 §4.3), with one sub-block.
///
/// `ANB_RAPTORQ_STATUS_ERROR_CONFIG` for an object that needs more than 255 of them: fill in the numbers yourself then.
///
/// Threads: any, at any time.
///
/// # Safety
///
/// `config` is null, or a description can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_config_default(object_size: u64, symbol_size: u16, config: *mut Config) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let config = unsafe { place(config, "config") }?;
        // A sub-symbol is at least a symbol, so there is one sub-block.
        let oti = ObjectTransmissionInformation::generate(object_size, symbol_size, WORKING_MEMORY, 1, symbol_size)?;
        config.put(oti.into());
        Ok(())
    })
}

/// Writes a description as it is sent, big endian, to `buffer` of exactly 12 bytes.
///
/// Threads: any, at any time.
///
/// # Safety
///
/// `config` is null or valid; `buffer` is null, or `size` bytes can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_config_write(config: *const Config, buffer: *mut u8, size: usize) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let written = unsafe { read(config, "config") }?.check()?.serialize();
        exactly("buffer", CONFIG_SIZE as u64, size)?;
        // SAFETY: as this function's.
        unsafe { room(buffer, size, "buffer") }?.copy_from_slice(&written);
        Ok(())
    })
}

/// Reads a description of exactly 12 bytes, and checks it.
///
/// Threads: any, at any time.
///
/// # Safety
///
/// `buffer` is null, or `size` bytes can be read from it; `config` is null, or a description can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_config_read(buffer: *const u8, size: usize, config: *mut Config) -> Status {
    call(|| {
        exactly("buffer", CONFIG_SIZE as u64, size)?;
        // SAFETY: as this function's.
        let (buffer, config) = unsafe { (bytes(buffer, size, "buffer")?, place(config, "config")?) };
        config.put(ObjectTransmissionInformation::deserialize(buffer)?.into());
        Ok(())
    })
}

/// Tells how many source symbols (K) block number `block` has: symbols below K are the block itself, those from K on are
/// for repair. 0 for the last blocks of an object with fewer symbols than blocks.
///
/// Threads: any, at any time.
///
/// # Safety
///
/// `config` is null or valid; `source_symbols` is null, or a number can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_config_source_symbols(
    config: *const Config,
    block: u8,
    source_symbols: *mut u32,
) -> Status {
    call(|| {
        // SAFETY: as this function's.
        let (config, found) = unsafe { (read(config, "config")?.check()?, place(source_symbols, "source_symbols")?) };
        let layout = config.block(block).ok_or_else(|| {
            let blocks = config.source_blocks();
            Failure::new(Status::ErrorNoSuchSymbol, format_args!("there is no block {block} in an object of {blocks}"))
        })?;
        found.put(layout.source_symbols());
        Ok(())
    })
}

/// That a buffer has the size that it must have, before anything is written to it.
pub(crate) fn exactly(what: &str, expected: u64, found: usize) -> Result<(), Failure> {
    if expected == found as u64 {
        return Ok(());
    }
    Err(Failure::new(Status::ErrorBufferSize, format_args!("{what} has {found} bytes; expected {expected}")))
}
