//! From packets to the object.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_raptorq::{BlockStatus, Decoder, DecoderLimits, PayloadId};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::memory::Bytes;
use super::{CodecError, decoder_error, description, signals};

/// Packets that are not in place are copied so many bytes at a time, and signals are noticed as often.
const PART: usize = 1 << 20;

/// `object_bytes`, `block_bytes`, `source_symbols`, `blocks_in_progress`, `extra_symbols`.
type Limits = (u64, u64, u32, usize, u32);

/// The limits that decoders have unless they are given others.
#[pyfunction]
pub(crate) fn codec_limits() -> Limits {
    let limits = DecoderLimits::default();
    (
        limits.max_object_bytes,
        limits.max_block_bytes,
        limits.max_source_symbols,
        limits.max_blocks_in_progress,
        limits.max_extra_symbols,
    )
}

/// Collects the packets of one object.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct CodecDecoder {
    decoder: Mutex<Decoder>,
}

#[pymethods]
impl CodecDecoder {
    #[new]
    fn new(config: &[u8], limits: Limits) -> PyResult<Self> {
        let (object, block, symbols, blocks, extra) = limits;
        let limits = DecoderLimits::default()
            .object_bytes(object)
            .block_bytes(block)
            .source_symbols(symbols)
            .blocks_in_progress(blocks)
            .extra_symbols(extra);
        let decoder = Decoder::with_limits(description(config)?, limits).map_err(decoder_error)?;
        Ok(Self { decoder: Mutex::new(decoder) })
    }

    /// Takes a packet; returns whether the object is complete.
    fn add(&self, py: Python<'_>, packet: &Bound<'_, PyAny>) -> PyResult<bool> {
        let packet = Bytes::of(packet)?;
        py.detach(|| {
            let mut room = Vec::new();
            let packet = packet.part(0..packet.len(), &mut room).unwrap_or_default();
            let mut decoder = self.lock();
            decoder.add_packet(packet).map_err(decoder_error)?;
            Ok(decoder.is_complete())
        })
    }

    /// Takes packets of 4 + T bytes, one after the other; returns whether the object is complete.
    fn add_many(&self, py: Python<'_>, packets: &Bound<'_, PyAny>) -> PyResult<bool> {
        let packets = Bytes::of(packets)?;
        py.detach(|| {
            let size = PayloadId::SIZE + usize::from(self.lock().config().symbol_size());
            if !packets.len().is_multiple_of(size) {
                let found = packets.len();
                return Err(CodecError::new_err(format!("{found} bytes: expected packets of 4 + T = {size} bytes")));
            }
            let (mut room, rows) = (Vec::new(), (PART / size).max(1));
            for first in (0..packets.len() / size).step_by(rows) {
                Python::attach(signals)?;
                let range = first * size..packets.len().min((first + rows) * size);
                let part = packets.part(range, &mut room).unwrap_or_default();
                let mut decoder = self.lock();
                for (index, packet) in (first..).zip(part.chunks_exact(size)) {
                    if decoder.is_complete() {
                        return Ok(true);
                    }
                    decoder.add_packet(packet).map_err(|error| at(index, decoder_error(error)))?;
                }
            }
            Ok(self.lock().is_complete())
        })
    }

    /// How many more symbols each block needs at least; 0 if it is decoded.
    fn missing(&self, py: Python<'_>) -> Vec<u32> {
        py.detach(|| {
            let decoder = self.lock();
            let blocks = decoder.config().blocks();
            blocks
                .map(|layout| match decoder.block_status(layout.number()) {
                    Some(BlockStatus::Waiting) => layout.source_symbols(),
                    Some(BlockStatus::Collecting { missing }) => missing.max(1),
                    _ => 0,
                })
                .collect()
        })
    }

    /// The object; it must be complete.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let size = py.detach(|| {
            let decoder = self.lock();
            if decoder.is_complete() { decoder.config().transfer_length() } else { 0 }
        });
        // An object that is complete has so many bytes in memory; of one that is not, nothing is asked for.
        let object = PyBytes::new_with(py, usize::try_from(size)?, |room| {
            py.detach(|| self.lock().try_result_into(room).map_err(decoder_error))
        });
        object.map(Bound::unbind)
    }
}

impl CodecDecoder {
    /// To be called with the interpreter released. What a thread that panicked leaves behind is a decoder all the same.
    fn lock(&self) -> MutexGuard<'_, Decoder> {
        self.decoder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says which packet an error is about.
fn at(index: usize, error: PyErr) -> PyErr {
    Python::attach(|py| {
        if error.is_instance_of::<CodecError>(py) {
            CodecError::new_err(format!("packet {index}: {}", error.value(py)))
        } else {
            error
        }
    })
}
