//! Packet captures in the folder of a run: files that the simulator writes while it runs.

use crate::manifest::Capture;
use anabranch_sim::capture::Files;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at once: captures grow by a hundred bytes at a time.
const BUFFER: usize = 1 << 16;

/// How captures end.
const ENDING: &str = ".pcapng";

/// Opens captures in a folder.
pub(crate) fn files(folder: PathBuf) -> Box<Files> {
    Box::new(move |name| {
        let file = File::create(folder.join(name))?;
        Ok(Box::new(BufWriter::with_capacity(BUFFER, file)) as Box<dyn Write + Send>)
    })
}

/// Something in a folder of captures that is none.
pub(crate) fn foreign(folder: &Path) -> io::Result<Option<PathBuf>> {
    for file in fs::read_dir(folder)? {
        let file = file?;
        if !file.file_type()?.is_file() || !file.file_name().to_string_lossy().ends_with(ENDING) {
            return Ok(Some(file.path()));
        }
    }
    Ok(None)
}

/// Removes captures, then their folder, which stays if it holds anything else. Nothing if there is none.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    let files = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for file in files {
        let file = file?;
        if file.file_name().to_string_lossy().ends_with(ENDING) {
            fs::remove_file(file.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Whether the folder of a run has the captures that it should have.
pub(crate) fn all_there(run: &Path, captures: &[Capture]) -> bool {
    let mut files = captures.iter().flat_map(|capture| std::iter::once(&capture.file).chain(&capture.dropped_file));
    files.all(|file| run.join(file).is_file())
}
