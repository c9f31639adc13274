//! The tables of one run, in a folder of this machine.

use crate::captures;
use crate::folder::json;
use crate::layout::{CAPTURES, ENTRY, is_of_run};
use crate::storage::{Kind, Storage as _};
use crate::{Directory, RunEntry, StoreError, tables};
use anabranch_sim::capture::Files;
use anabranch_sim::measure::RunRecord;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of a run that is being written. It gets the run's name when it is complete ([`Folder::finish`](crate::Folder::finish)).
#[derive(Debug)]
pub struct Draft {
    folder: PathBuf,
}

impl Draft {
    /// A draft in this folder, which need not exist.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes the place for packet captures, which are written while the run goes on: `begin` is given what opens them.
    ///
    /// # Errors
    /// If a file cannot be opened or written.
    pub fn begin_captures(&self, begin: impl FnOnce(Box<Files>) -> io::Result<()>) -> Result<(), StoreError> {
        self.remove()?; // of a program that was killed
        let folder = self.folder.join(CAPTURES);
        let io = || StoreError::write(folder.display().to_string());
        fs::create_dir_all(&folder).map_err(io())?;
        let begun = begin(captures::files(folder.clone())).map_err(io());
        if begun.is_err() {
            let _ = self.remove(); // The error says more.
        }
        begun
    }

    /// Why captures could not be written.
    pub fn capture_failed(&self, source: io::Error) -> StoreError {
        StoreError::write(self.folder.join(CAPTURES).display().to_string())(source)
    }

    /// Writes the tables of the run and its entry.
    ///
    /// # Errors
    /// If a file cannot be written; then nothing is left.
    pub fn write(&self, entry: &RunEntry, record: &RunRecord) -> Result<(), StoreError> {
        if entry.captures.is_empty() {
            self.remove()?; // of a program that was killed
        }
        let io = StoreError::write(self.folder.display().to_string());
        if !captures::all_there(&self.folder, &entry.captures) {
            return Err(io(io::Error::new(io::ErrorKind::NotFound, "its packet captures are gone")));
        }
        let written =
            fs::create_dir_all(&self.folder).map_err(io).and_then(|()| write_files(&self.folder, entry, record));
        if written.is_err() {
            let _ = self.remove(); // The disk may be full: leave nothing that has no use.
        }
        written
    }

    /// Removes what there is of a run that will not be written.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn remove(&self) -> Result<(), StoreError> {
        let here = Directory::new(&self.folder);
        let remove = || {
            let (files, folders): (Vec<_>, Vec<_>) =
                here.list(&|path| path == CAPTURES)?.into_iter().partition(|item| item.kind == Kind::File);
            let files: Vec<String> = files.into_iter().map(|item| item.path).filter(|file| is_of_run(file)).collect();
            here.remove(&files)?;
            if folders.iter().any(|folder| folder.path == CAPTURES) {
                here.remove_folder(CAPTURES)?;
            }
            here.remove_folder("")
        };
        remove().map_err(StoreError::write(self.folder.display().to_string()))
    }
}

/// Writes the tables of a run and its entry into a folder.
fn write_files(folder: &Path, entry: &RunEntry, record: &RunRecord) -> Result<(), StoreError> {
    let run = entry.run.as_str();
    let mut files = vec![
        ("flows.parquet", tables::flows(run, &record.flows)),
        ("links.parquet", tables::links(run, &record.links)),
    ];
    if !record.blocks.is_empty() {
        files.push(("blocks.parquet", tables::blocks(run, &record.blocks)));
    }
    if !record.ranks.is_empty() {
        files.push(("ranks.parquet", tables::ranks(run, &record.ranks)));
    }
    if !record.operations.is_empty() {
        files.push(("operations.parquet", tables::operations(run, &record.operations)));
    }
    if !record.series.is_empty() {
        files.push(("series.parquet", tables::series(run, &record.series)));
    }
    for (name, batch) in files {
        let path = folder.join(name);
        let encode = |message: String| StoreError::Encode { path: path.display().to_string(), message };
        write_parquet(&path, &batch.map_err(|e| encode(e.to_string()))?)?;
    }
    let path = folder.join(ENTRY);
    let shown = || path.display().to_string();
    fs::write(&path, json(entry, shown)?).map_err(StoreError::write(shown()))
}

fn write_parquet(path: &Path, batch: &RecordBatch) -> Result<(), StoreError> {
    let encode = |e: ParquetError| {
        let path = path.display().to_string();
        match e {
            // A full disk is no fault of the encoder.
            ParquetError::External(source) if source.is::<io::Error>() => match source.downcast::<io::Error>() {
                Ok(source) => StoreError::write(path)(*source),
                Err(other) => StoreError::Encode { path, message: other.to_string() },
            },
            other => StoreError::Encode { path, message: other.to_string() },
        }
    };
    let file = File::create(path).map_err(StoreError::write(path.display().to_string()))?;
    // The same rows give the same bytes: nothing of the environment goes into the file.
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(encode)?;
    writer.write(batch).map_err(encode)?;
    writer.close().map_err(encode)?;
    Ok(())
}
