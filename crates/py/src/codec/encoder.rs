//! From an object to packets, row by row into one `bytes` object.

use std::num::NonZeroUsize;
use std::slice::ChunksExactMut;
use std::sync::{Mutex, PoisonError};

use anabranch_raptorq::{
    BlockEncoder, BlockLayout, ENCODING_SYMBOL_IDS, Encoder, EncoderError, LoadedBlocks, ObjectTransmissionInformation,
    PayloadId, PlanCache,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::memory::{Bytes, Object};
use super::{CodecError, codec_error, description, signals};

/// All packets of an object: of each block the source packets and then `repair` repair packets.
#[pyfunction]
pub(crate) fn codec_encode(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    config: &[u8],
    repair: u64,
) -> PyResult<Py<PyBytes>> {
    let (oti, object) = (description(config)?, Bytes::of(object)?);
    let (expected, found) = (oti.transfer_length(), object.len());
    if expected != found as u64 {
        return Err(codec_error(EncoderError::ObjectSize { expected, found }));
    }
    let blocks = selection(&oti, None)?;
    let repair = check_repair(&blocks, 0, repair)?.1;
    let count = u64::from(oti.source_symbols()) + blocks.len() as u64 * u64::from(repair);
    rows(py, &oti, count, |mut packets| {
        let plans = PlanCache::global();
        let (mut loaded, mut room) = (None, Vec::new());
        for layout in &blocks {
            Python::attach(signals)?;
            let bytes = layout.range().and_then(|range| object.part(range, &mut room));
            let bytes = bytes.ok_or_else(|| CodecError::new_err("the object became shorter while it was encoded"))?;
            encode_block(layout, bytes, repair, plans, &mut loaded, &mut packets).map_err(codec_error)?;
        }
        Ok(())
    })
}

/// Writes the packets of one block.
fn encode_block(
    layout: &BlockLayout,
    bytes: &[u8],
    repair: u32,
    plans: &PlanCache,
    loaded: &mut Option<BlockEncoder>,
    packets: &mut ChunksExactMut<'_, u8>,
) -> Result<(), EncoderError> {
    let k = layout.source_symbols();
    for (esi, packet) in (0..k).zip(packets.by_ref()) {
        let (id, symbol) = packet.split_at_mut(PayloadId::SIZE);
        id.copy_from_slice(&PayloadId::new(layout.number(), esi)?.serialize());
        layout.source_symbol_into(esi, bytes, symbol)?;
    }
    if repair == 0 {
        return Ok(());
    }
    let plan = plans.plan(k)?;
    let encoder = match loaded {
        Some(encoder) => {
            encoder.load(*layout, plan, bytes)?;
            encoder
        }
        none => none.insert(BlockEncoder::new(*layout, plan, bytes)?),
    };
    (k..k + repair).zip(packets.by_ref()).try_for_each(|(esi, packet)| encoder.packet_into(esi, packet))
}

/// Packets of one object, in any order.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct CodecEncoder {
    oti: ObjectTransmissionInformation,
    blocks: Mutex<LoadedBlocks<Box<Encoder<Object>>>>,
}

#[pymethods]
impl CodecEncoder {
    #[new]
    fn new(py: Python<'_>, object: &Bound<'_, PyAny>, config: &[u8], blocks_in_memory: NonZeroUsize) -> PyResult<Self> {
        let (oti, object) = (description(config)?, Bytes::of(object)?.keep(py)?);
        let encoder = py.detach(|| Encoder::new(object, oti)).map_err(codec_error)?;
        Ok(Self { oti, blocks: Mutex::new(LoadedBlocks::new(Box::new(encoder), blocks_in_memory)) })
    }

    /// Source packets of one block, or of all.
    fn source(&self, py: Python<'_>, block: Option<u8>) -> PyResult<Py<PyBytes>> {
        let blocks = selection(&self.oti, block)?;
        self.packets(py, &blocks, |layout| 0..layout.source_symbols())
    }

    /// `count` repair packets from number `first` on, of one block, or of each.
    fn repair(&self, py: Python<'_>, first: u64, count: u64, block: Option<u8>) -> PyResult<Py<PyBytes>> {
        let blocks = selection(&self.oti, block)?;
        let (first, count) = check_repair(&blocks, first, count)?;
        self.packets(py, &blocks, |layout| {
            let start = layout.source_symbols() + first;
            start..start + count
        })
    }
}

impl CodecEncoder {
    fn packets(
        &self,
        py: Python<'_>,
        blocks: &[BlockLayout],
        ids: impl Fn(&BlockLayout) -> std::ops::Range<u32> + Sync,
    ) -> PyResult<Py<PyBytes>> {
        let count = blocks.iter().map(|layout| ids(layout).len() as u64).sum();
        rows(py, &self.oti, count, |mut packets| {
            for layout in blocks {
                // A signal handler may use this encoder.
                Python::attach(signals)?;
                let mut loaded = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
                for (esi, packet) in ids(layout).zip(packets.by_ref()) {
                    let id = PayloadId::new(layout.number(), esi).map_err(codec_error)?;
                    loaded.packet_into(id, packet).map_err(codec_error)?;
                }
            }
            Ok(())
        })
    }
}

/// A `bytes` object of `count` packets, which `fill` writes with the interpreter released.
fn rows(
    py: Python<'_>,
    oti: &ObjectTransmissionInformation,
    count: u64,
    fill: impl FnOnce(ChunksExactMut<'_, u8>) -> PyResult<()> + Send,
) -> PyResult<Py<PyBytes>> {
    let size = PayloadId::SIZE + usize::from(oti.symbol_size());
    let total = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
    let total = total.filter(|&total| isize::try_from(total).is_ok());
    let total = total.ok_or_else(|| PyMemoryError::new_err(format!("{count} packets of {size} bytes")))?;
    PyBytes::new_with(py, total, |room| py.detach(|| fill(room.chunks_exact_mut(size)))).map(Bound::unbind)
}

/// One block, or all; those without symbols have no packets.
fn selection(oti: &ObjectTransmissionInformation, block: Option<u8>) -> PyResult<Vec<BlockLayout>> {
    let Some(number) = block else {
        return Ok(oti.blocks().filter(|layout| layout.source_symbols() > 0).collect());
    };
    match oti.block(number) {
        Some(layout) if layout.source_symbols() > 0 => Ok(vec![layout]),
        Some(_) => Err(codec_error(EncoderError::EmptyBlock { number })),
        None => Err(codec_error(EncoderError::NoSuchBlock { number, blocks: oti.source_blocks() })),
    }
}

/// That each block has repair packets `first` to `first + count`: encoding symbol IDs have 24 bits (RFC 6330 §3.2).
fn check_repair(blocks: &[BlockLayout], first: u64, count: u64) -> PyResult<(u32, u32)> {
    let largest = blocks.iter().map(BlockLayout::source_symbols).max().unwrap_or(0);
    let most = ENCODING_SYMBOL_IDS - largest;
    match (u32::try_from(first), u32::try_from(count)) {
        (Ok(start), Ok(number)) if start.checked_add(number).is_some_and(|end| end <= most) => Ok((start, number)),
        _ => Err(CodecError::new_err(format!(
            "{count} repair packets from number {first} on: a block of {largest} source symbols has {most}, numbered from 0"
        ))),
    }
}
