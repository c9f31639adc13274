//! How far the reading is, and whether it should stop: seen from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of an ingest, shared with the thread that shows it.
#[derive(Debug, Default)]
pub struct Watch {
    read: AtomicU64,
    total: AtomicU64,
    files: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes read from the files so far, compressed where they are.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes of all files; 0 before they are opened. Pipes count as nothing.
    pub fn bytes_total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Files read to their end.
    pub fn files_done(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Asks the readers to stop: `ingest` then returns [`IngestError::Interrupted`](crate::IngestError::Interrupted).
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn file_done(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }
}
