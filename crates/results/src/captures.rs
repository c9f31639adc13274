//! Packet captures in the folder of a run: files that the simulator writes while it runs.

use crate::manifest::Capture;
use anabranch_sim::capture::Files;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at once: captures grow by a hundred bytes at a time.
const BUFFER: usize = 1 << 16;

/// Opens captures in a folder.
pub(crate) fn files(folder: PathBuf) -> Box<Files> {
    Box::new(move |name| {
        let file = File::create(folder.join(name))?;
        Ok(Box::new(BufWriter::with_capacity(BUFFER, file)) as Box<dyn Write + Send>)
    })
}

/// Whether the folder of a run has the captures that it should have.
pub(crate) fn all_there(run: &Path, captures: &[Capture]) -> bool {
    let mut files = captures.iter().flat_map(|capture| std::iter::once(&capture.file).chain(&capture.dropped_file));
    files.all(|file| run.join(file).is_file())
}
