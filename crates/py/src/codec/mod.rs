//! `anabranch.codec`: the RaptorQ codec, and its measurements (`bench`).
//!
//! Bytes in, `bytes` out. The interpreter is released while symbols are computed. A description of an object is the 12 bytes
//! of RFC 6330 §3.3. Not here: what a Python program sees; that is `python/anabranch/codec`.

mod bench;
mod decoder;
mod encoder;
mod memory;

use std::fmt::Display;

use anabranch_raptorq::{DecoderError, ObjectTransmissionInformation, OtiError};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

pub(crate) use bench::codec_bench;
pub(crate) use decoder::{CodecDecoder, codec_limits};
pub(crate) use encoder::{CodecEncoder, codec_encode};

pyo3::create_exception!(
    _core,
    CodecError,
    pyo3::exceptions::PyException,
    "An object cannot be encoded, or a packet not be used; the text says what is wrong and what was expected."
);

/// The largest block that the choice of parameters makes, in bytes: what the crate's own choice uses.
const WORKING_MEMORY: u64 = 10 << 20;

fn codec_error(error: impl Display) -> PyErr {
    CodecError::new_err(error.to_string())
}

/// An error of the decoder, with what to do about it.
fn decoder_error(error: DecoderError) -> PyErr {
    let hint = match error {
        DecoderError::Memory { bytes } => {
            return PyMemoryError::new_err(format!("the decoder has no memory for {bytes} bytes"));
        }
        DecoderError::ObjectTooLarge { .. } => "if the sender can be trusted, raise `Limits.object_bytes`",
        DecoderError::BlockTooLarge { .. } => "if the sender can be trusted, raise `Limits.block_bytes`",
        DecoderError::TooManySymbols { .. } => "if the sender can be trusted, raise `Limits.source_symbols`",
        DecoderError::TooManyBlocks { .. } => "send block by block, or raise `Limits.blocks_in_progress`",
        DecoderError::PacketSize { .. } => "a packet is 4 bytes of payload ID and one symbol, or several in a row",
        _ => return codec_error(error),
    };
    CodecError::new_err(format!("{error}\nhint: {hint}"))
}

/// Notices Ctrl-C.
fn signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

fn description(bytes: &[u8]) -> PyResult<ObjectTransmissionInformation> {
    ObjectTransmissionInformation::deserialize(bytes).map_err(codec_error)
}

/// Chooses the blocks of an object in symbols of `symbol_size` bytes (RFC 6330 §4.3); returns its description.
#[pyfunction]
pub(crate) fn codec_choose(object_size: u64, symbol_size: u16) -> PyResult<[u8; ObjectTransmissionInformation::SIZE]> {
    // A sub-symbol is at least a symbol, so there is one sub-block.
    let chosen = ObjectTransmissionInformation::generate(object_size, symbol_size, WORKING_MEMORY, 1, symbol_size);
    chosen.map(|oti| oti.serialize()).map_err(|error| match error {
        OtiError::SourceBlocks { blocks } => CodecError::new_err(format!(
            "{object_size} bytes are {blocks} blocks of {} MiB, expected at most 255\n\
             hint: choose larger blocks: Config({object_size}, {symbol_size}, blocks=255)",
            WORKING_MEMORY >> 20
        )),
        error => codec_error(error),
    })
}

/// Checks the numbers of a description, which are in range each, against each other; returns its 12 bytes.
#[pyfunction]
pub(crate) fn codec_describe(
    object_size: u64,
    symbol_size: u16,
    blocks: u8,
    sub_blocks: u16,
    alignment: u8,
) -> PyResult<[u8; ObjectTransmissionInformation::SIZE]> {
    let oti = ObjectTransmissionInformation::new(object_size, symbol_size, blocks, sub_blocks, alignment);
    oti.map(|oti| oti.serialize()).map_err(codec_error)
}

/// Reads a description: F, T, Z, N, Al.
#[pyfunction]
pub(crate) fn codec_read(config: &[u8]) -> PyResult<(u64, u16, u8, u16, u8)> {
    let oti = description(config)?;
    Ok((oti.transfer_length(), oti.symbol_size(), oti.source_blocks(), oti.sub_blocks(), oti.symbol_alignment()))
}

/// Source symbols (K) of each block.
#[pyfunction]
pub(crate) fn codec_source_symbols(config: &[u8]) -> PyResult<Vec<u32>> {
    Ok(description(config)?.blocks().map(|block| block.source_symbols()).collect())
}
