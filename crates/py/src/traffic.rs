//! `anabranch.traffic.bin_files`: captures to volume series. A request as JSON in, a header as JSON and buffers out.

use crate::TICK;
use anabranch_traffic::{IngestError, Ingested, Request, Series, Watch};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};

pyo3::create_exception!(
    _core,
    TrafficError,
    pyo3::exceptions::PyException,
    "A capture or table cannot be read, or the request makes no sense; the text names file, place and a suggestion."
);

/// Bytes and packets as little-endian 64-bit integers, and a byte for each bin that is 1 if the bin is unknown.
type Buffers = (Py<PyBytes>, Option<Py<PyBytes>>, Py<PyBytes>);

/// Reads captures and tables into volume series.
#[pyfunction]
pub(crate) fn traffic_bin(
    py: Python<'_>,
    request: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<Buffers>)> {
    let request: Request = serde_json::from_str(request).map_err(|e| TrafficError::new_err(e.to_string()))?;
    let shared = Arc::new((request, Watch::new()));
    let (sender, receiver) = mpsc::channel();
    let worker = Arc::clone(&shared);
    // Not scoped: after Ctrl-C nobody waits for a reader that hangs on a pipe.
    std::thread::spawn(move || {
        let (request, watch) = &*worker;
        // Without a receiver there is nobody to tell.
        let _ = sender.send(anabranch_traffic::ingest(request, watch));
    });
    let (request, watch) = &*shared;
    let ingested = py.detach(move || {
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(ingested) => return ingested.map_err(to_python),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = tell(watch, request.files.len(), progress.as_ref()) {
                        watch.interrupt();
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(TrafficError::new_err("the reader has failed")),
            }
        }
    })?;
    let buffers = ingested.series.iter().map(|series| buffers(py, series)).collect::<PyResult<_>>()?;
    Ok((header(&ingested).to_string(), buffers))
}

fn to_python(error: IngestError) -> PyErr {
    match error {
        // What the system said, with its number, so that the message is the usual one.
        IngestError::Io { path, source } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, source.to_string(), path)),
            None => TrafficError::new_err(format!("{path}: {source}")),
        },
        other => TrafficError::new_err(other.to_string()),
    }
}

fn header(ingested: &Ingested) -> Value {
    let series = ingested.series.iter().map(|one| json!({"bins": one.bytes.len(), "series": one})).collect::<Vec<_>>();
    json!({"series": series, "files": ingested.files})
}

fn buffers(py: Python<'_>, series: &Series) -> PyResult<Buffers> {
    let integers = |values: &[i64]| {
        let bytes = PyBytes::new_with(py, values.len() * 8, |room| {
            for (slot, value) in room.as_chunks_mut::<8>().0.iter_mut().zip(values) {
                *slot = value.to_le_bytes();
            }
            Ok(())
        });
        bytes.map(Bound::unbind)
    };
    let missing: Vec<u8> = series.missing.iter().map(|&missing| u8::from(missing)).collect();
    let packets = series.packets.as_deref().map(integers).transpose()?;
    Ok((integers(&series.bytes)?, packets, PyBytes::new(py, &missing).unbind()))
}

/// Tells Python how far the reading is, and asks whether to go on. Signals (Ctrl-C) are noticed here too.
fn tell(watch: &Watch, files: usize, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        let state = json!({
            "files_done": watch.files_done(), "files_total": files,
            "bytes_read": watch.bytes_read(), "bytes_total": watch.bytes_total(),
        });
        if !progress.call1(py, (state.to_string(),))?.is_truthy(py)? {
            watch.interrupt();
        }
        Ok(())
    })
}
