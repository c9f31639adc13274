//! `anabranch codec bench`: the measurements of `anabranch-codec-bench`, one after the other.

use anabranch_codec_bench::latency::{Decode, Effort, SOURCE_SYMBOLS, encode, table};
use anabranch_codec_bench::provenance::Provenance;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Source symbols of a block at most: RFC 6330 §5.1.2.
const SOURCE_SYMBOLS_MAX: u32 = 56_403;

/// Measures the codec; returns a table of latencies as JSON.
#[pyfunction]
pub(crate) fn codec_bench(
    py: Python<'_>,
    symbol_size: u32,
    source_symbols: Option<Vec<u32>>,
    quick: bool,
    command: String,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let source_symbols = source_symbols.unwrap_or_else(|| SOURCE_SYMBOLS.to_vec());
    if !(1..=u32::from(u16::MAX)).contains(&symbol_size) {
        return Err(PyValueError::new_err(format!("symbols of {symbol_size} bytes: expected 1 to 65535")));
    }
    if let Some(k) = source_symbols.iter().find(|k| !(1..=SOURCE_SYMBOLS_MAX).contains(*k)) {
        return Err(PyValueError::new_err(format!("{k} source symbols: expected 1 to {SOURCE_SYMBOLS_MAX}")));
    }
    let symbol_size = symbol_size as usize;
    let effort = if quick { Effort::QUICK } else { Effort::FULL };
    let decodes: Vec<Decode> = source_symbols.iter().flat_map(|&k| Decode::all(symbol_size, k)).collect();
    let total = source_symbols.len() + decodes.len();
    // Between measurements, never during one.
    let tell = |done: usize| {
        py.check_signals()?;
        progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done, total)).map(drop))
    };
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    for (done, &k) in source_symbols.iter().enumerate() {
        tell(done)?;
        encoded.push(py.detach(|| encode(symbol_size, k, effort)));
    }
    for (done, decode) in decodes.iter().enumerate() {
        tell(encoded.len() + done)?;
        decoded.push(py.detach(|| decode.measure(effort)));
    }
    tell(total)?;
    Ok(table(&Provenance::collect(command), &encoded, &decoded).to_string())
}
