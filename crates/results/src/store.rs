//! A result folder on disk.

use crate::captures;
use crate::manifest::CAPTURES;
use crate::{Manifest, RunEntry, tables};
use anabranch_sim::capture::Files;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::measure::RunRecord;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde_json::json;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// Why results could not be written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table could not be encoded.
    #[error("cannot encode {path}: {message}")]
    Encode {
        /// The file.
        path: PathBuf,
        /// What the encoder said.
        message: String,
    },
    /// The folder holds something else.
    #[error("{folder} is not a result folder: it holds {found}\n  hint: give another folder with --out")]
    NotOurs {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        found: PathBuf,
    },
    /// A run would have to go, and something else with it.
    #[error(
        "{0} is not part of a run, and that run has to be written again; nothing was touched\n  hint: move it away, or give another folder with --out"
    )]
    InRun(PathBuf),
    /// Another process writes there.
    #[error("another run is writing to {0}\n  hint: wait for it, or give another folder with --out")]
    Busy(PathBuf),
}

/// In the folder of a run: its entry in the manifest.
const ENTRY: &str = "run.json";

/// What earlier versions called a draft of [`ENTRY`].
const OLD_DRAFT: &str = "run.part";

/// What earlier versions called drafts beside `runs`.
const OLD_DRAFTS: [&str; 2] = ["manifest.part", "fabric.part"];

/// Everything in the folder of a run.
const FILES: [&str; 5] = ["flows.parquet", "links.parquet", "blocks.parquet", "series.parquet", ENTRY];

/// Whether a folder below `runs` has the name of a run, `p003-s42`, or of the draft of one: `.p003-s42.part`, or
/// `.p003-s42.WRITER.part` where several machines write.
fn is_run(name: &str) -> bool {
    // The draft of a draft has two dots: a run that was moved aside when the program ended.
    let name = name.trim_start_matches('.');
    let name = name.strip_suffix(".part").map_or(name, |draft| draft.split_once('.').map_or(draft, |(run, _)| run));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = name.strip_prefix('p').and_then(|rest| rest.split_once("-s"));
    parts.is_some_and(|(point, seed)| number(point) && number(seed))
}

/// Whether a folder is a result folder: it has runs, or the manifest of an experiment, a usual name elsewhere, too.
fn is_ours(root: &Path) -> bool {
    let has_run = |runs: fs::ReadDir| runs.flatten().any(|run| is_run(&run.file_name().to_string_lossy()));
    let has_manifest = || {
        let text = fs::read_to_string(root.join("manifest.json")).ok()?;
        let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(manifest.get("anabranch_version").is_some() && manifest.get("runs").is_some())
    };
    fs::read_dir(root.join("runs")).is_ok_and(has_run) || has_manifest() == Some(true)
}

/// Something in a folder that is no result folder: it is not ours. Hidden files, drafts and an empty `runs` are in nobody's way.
fn in_the_way(root: &Path) -> io::Result<Option<PathBuf>> {
    let visible = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let empty = |runs: fs::ReadDir| !runs.flatten().any(|run| visible(&run));
        let begun = name == "runs" && fs::read_dir(entry.path()).is_ok_and(empty);
        if visible(&entry) && !begun && !OLD_DRAFTS.iter().any(|&draft| name == draft) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Something in the folder of a run, or in its place, that no run has: the folder is not ours to remove.
fn foreign(run: &Path) -> io::Result<Option<PathBuf>> {
    if !run.symlink_metadata()?.is_dir() {
        return Ok(Some(run.to_owned()));
    }
    for file in fs::read_dir(run)? {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name == CAPTURES && file.file_type()?.is_dir() {
            if let Some(path) = captures::foreign(&file.path())? {
                return Ok(Some(path));
            }
        } else if !FILES.contains(&&*name) && name != draft_name(ENTRY) && name != OLD_DRAFT {
            return Ok(Some(file.path()));
        }
    }
    Ok(None)
}

/// Removes the folders of runs; none, if one of them holds anything else.
fn remove_runs(folders: &[PathBuf]) -> Result<(), StoreError> {
    for folder in folders {
        match foreign(folder) {
            Ok(None) => {}
            Ok(Some(path)) => return Err(StoreError::InRun(path)),
            Err(source) => return Err(StoreError::Io { path: folder.clone(), source }),
        }
    }
    folders.iter().try_for_each(|folder| remove_run(folder))
}

/// Whether the folder of a run has the tables that every run has, each with the mark that ends a whole Parquet file.
fn has_tables(run: &Path) -> bool {
    let whole = |name: &str| -> io::Result<bool> {
        let (mut file, mut mark) = (File::open(run.join(name))?, [0; 4]);
        file.seek(io::SeekFrom::End(-4))?;
        file.read_exact(&mut mark)?;
        Ok(&mark == b"PAR1")
    };
    ["flows.parquet", "links.parquet"].into_iter().all(|name| whole(name).unwrap_or(false))
}

/// Removes the folder of a run: the files that a run has, then the folder, which stays if it holds anything else.
fn remove_run(path: &Path) -> Result<(), StoreError> {
    let io = |path: &Path, source| StoreError::Io { path: path.to_owned(), source };
    let folder = path.join(CAPTURES);
    captures::remove(&folder).map_err(|e| io(&folder, e))?;
    for name in FILES.iter().map(|&name| name.to_owned()).chain([draft_name(ENTRY), OLD_DRAFT.to_owned()]) {
        let file = path.join(name);
        match fs::remove_file(&file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(io(&file, e)),
            _ => {}
        }
    }
    match fs::remove_dir(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io(path, e)),
        _ => Ok(()),
    }
}

/// The name of a file until it is complete. What a killed program leaves begins with a dot.
fn draft_name(name: &str) -> String {
    format!(".{name}.part")
}

/// A result folder that is being written.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// Keeps others from writing there as long as this is open.
    _lock: Option<File>,
}

impl Store {
    /// Opens a folder for results, making it if need be. Results of an earlier experiment in it are removed.
    ///
    /// # Errors
    /// If the folder holds anything but earlier results, or cannot be written.
    pub fn create(root: &Path) -> Result<Self, StoreError> {
        Self::open(root, false)
    }

    /// Opens a folder for results, making it if need be. Runs in it that came to their end are kept, complete or not: they
    /// would end in the same way again. Their entries come back; all else of an earlier experiment is removed.
    ///
    /// # Errors
    /// If the folder holds anything but earlier results, or cannot be read or written.
    pub fn resume(root: &Path) -> Result<(Self, Vec<RunEntry>), StoreError> {
        let store = Self::open(root, true)?;
        let (mut kept, mut useless) = (Vec::new(), Vec::new());
        let folder = root.join("runs");
        let io = |source| StoreError::Io { path: folder.clone(), source };
        for found in fs::read_dir(&folder).map_err(io)? {
            let name = found.map_err(io)?.file_name();
            if !is_run(&name.to_string_lossy()) {
                continue;
            }
            let entry = fs::read_to_string(folder.join(&name).join(ENTRY)).ok();
            match entry.and_then(|text| serde_json::from_str::<RunEntry>(&text).ok()) {
                Some(entry)
                    if entry.is_final()
                        && has_tables(&folder.join(&name))
                        && captures::all_there(&folder.join(&name), &entry.captures) =>
                {
                    kept.push(RunEntry { run: name.to_string_lossy().into_owned(), ..entry });
                }
                // A draft, a run that was cut short or has lost a table, or of a version that wrote no entries.
                _ => useless.push(folder.join(&name)),
            }
        }
        remove_runs(&useless)?;
        Ok((store, kept))
    }

    /// Removes folders of runs: all, or none if one of them holds anything else.
    ///
    /// # Errors
    /// If one does, or the file system refuses.
    pub fn remove_runs(&self, runs: &[&str]) -> Result<(), StoreError> {
        let folders: Vec<PathBuf> = runs.iter().map(|run| self.root.join("runs").join(run)).collect();
        remove_runs(&folders)
    }

    /// Gives a run's folder another name.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn rename_run(&self, run: &str, name: &str) -> Result<(), StoreError> {
        let (path, place) = (self.root.join("runs").join(run), self.root.join("runs").join(name));
        fs::rename(&path, place).map_err(|source| StoreError::Io { path, source })
    }

    /// Whether there is anything of a name where runs are.
    pub fn has_run(&self, run: &str) -> bool {
        self.root.join("runs").join(run).symlink_metadata().is_ok()
    }

    /// Writes the entry of a run into its folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_entry(&self, entry: &RunEntry) -> Result<(), StoreError> {
        self.write_json(&format!("runs/{}/{ENTRY}", entry.run), entry)
    }

    fn open(root: &Path, keep_runs: bool) -> Result<Self, StoreError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        let runs = root.join("runs");
        let look = |root: &Path| -> Result<(), StoreError> {
            if root.exists()
                && !is_ours(root)
                && let Some(path) = in_the_way(root).map_err(io(root))?
            {
                return Err(StoreError::NotOurs { folder: root.to_owned(), found: path });
            }
            Ok(())
        };
        look(root)?;
        fs::create_dir_all(root).map_err(io(root))?;
        let lock = lock(root)?;
        // What was there before the lock may be another command's doing.
        look(root)?;
        fs::create_dir_all(&runs).map_err(io(&runs))?;
        // A resumed experiment keeps its table of contents until there is another: it may be killed before.
        let stale: &[&str] =
            if keep_runs { &["report.html"] } else { &["manifest.json", "fabric.json", "report.html"] };
        if !keep_runs {
            let mut old = Vec::new();
            for run in fs::read_dir(&runs).map_err(io(&runs))? {
                let run = run.map_err(io(&runs))?;
                if is_run(&run.file_name().to_string_lossy()) {
                    old.push(run.path());
                }
            }
            remove_runs(&old)?;
        }
        // Drafts are of a program that was killed: the lock is ours.
        let drafts = ["manifest.json", "fabric.json"].map(draft_name);
        let drafts = drafts.iter().map(String::as_str).chain(OLD_DRAFTS);
        for name in stale.iter().copied().chain(drafts) {
            let path = root.join(name);
            if path.exists() {
                fs::remove_file(&path).map_err(io(&path))?;
            }
        }
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    /// The folder of a run until it is complete.
    pub fn draft(&self, run: &str) -> Draft {
        Draft::at(self.root.join("runs").join(draft_name(run)))
    }

    /// Gives the draft of a run its name: it is complete.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn finish(&self, run: &str, draft: &Draft) -> Result<(), StoreError> {
        let place = self.root.join("runs").join(run);
        fs::rename(&draft.folder, &place).map_err(|source| {
            draft.abandon();
            StoreError::Io { path: place, source }
        })
    }

    /// Writes `manifest.json`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        self.write_json("manifest.json", manifest)
    }

    /// Writes `fabric.json`, for drawing.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_fabric(&self, graph: &Graph) -> Result<(), StoreError> {
        let nodes: Vec<_> =
            graph.nodes.iter().map(|n| json!({"name": n.name, "level": n.level.name(), "pod": n.pod})).collect();
        let links: Vec<_> = graph
            .links
            .iter()
            .map(|l| json!({"a": l.a, "b": l.b, "rate_bps": l.rate.bps(), "delay_ns": l.delay.ps() as f64 / 1e3}))
            .collect();
        self.write_json("fabric.json", &json!({"nodes": nodes, "links": links}))
    }

    fn write_json(&self, name: &str, value: &impl serde::Serialize) -> Result<(), StoreError> {
        let path = self.root.join(name);
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = path.with_file_name(draft_name(&file));
        let io = |source| StoreError::Io { path: path.clone(), source };
        let written = write_json(&draft, value).and_then(|()| fs::rename(&draft, &path).map_err(io));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

/// The folder of a run that is being written. It gets the run's name when it is complete ([`Store::finish`]).
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
        let io = |source| StoreError::Io { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(io)?;
        let begun = begin(captures::files(folder.clone())).map_err(io);
        if begun.is_err() {
            self.abandon();
        }
        begun
    }

    /// Why captures could not be written.
    pub fn capture_failed(&self, source: io::Error) -> StoreError {
        StoreError::Io { path: self.folder.join(CAPTURES), source }
    }

    /// Writes the tables of the run and its entry.
    ///
    /// # Errors
    /// If a file cannot be written; then nothing is left.
    pub fn write(&self, entry: &RunEntry, record: &RunRecord) -> Result<(), StoreError> {
        if entry.captures.is_empty() {
            self.remove()?; // of a program that was killed
        }
        let io = |source| StoreError::Io { path: self.folder.clone(), source };
        if !captures::all_there(&self.folder, &entry.captures) {
            return Err(io(io::Error::new(io::ErrorKind::NotFound, "its packet captures are gone")));
        }
        let written =
            fs::create_dir_all(&self.folder).map_err(io).and_then(|()| write_files(&self.folder, entry, record));
        if written.is_err() {
            self.abandon(); // The disk may be full: leave nothing that has no use.
        }
        written
    }

    /// Removes what there is of a run that will not be written.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn remove(&self) -> Result<(), StoreError> {
        remove_run(&self.folder)
    }

    /// Removes it after an error, which says more than that it cannot be removed.
    fn abandon(&self) {
        let _ = self.remove();
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
    if !record.series.is_empty() {
        files.push(("series.parquet", tables::series(run, &record.series)));
    }
    for (name, batch) in files {
        let path = folder.join(name);
        let encode = |message: String| StoreError::Encode { path: path.clone(), message };
        write_parquet(&path, &batch.map_err(|e| encode(e.to_string()))?)?;
    }
    write_json(&folder.join(ENTRY), entry)
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { path: path.to_owned(), source };
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| StoreError::Encode { path: path.to_owned(), message: e.to_string() })?;
    let mut file = File::create(path).map_err(io)?;
    file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(io)
}

fn write_parquet(path: &Path, batch: &RecordBatch) -> Result<(), StoreError> {
    let encode = |e: ParquetError| {
        let path = path.to_owned();
        match e {
            // A full disk is no fault of the encoder.
            ParquetError::External(source) if source.is::<io::Error>() => match source.downcast::<io::Error>() {
                Ok(source) => StoreError::Io { path, source: *source },
                Err(other) => StoreError::Encode { path, message: other.to_string() },
            },
            other => StoreError::Encode { path, message: other.to_string() },
        }
    };
    let file = File::create(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
    // The same rows give the same bytes: nothing of the environment goes into the file.
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(encode)?;
    writer.write(batch).map_err(encode)?;
    writer.close().map_err(encode)?;
    Ok(())
}

/// Locks a folder, where the system can lock folders: it is released when the file is closed, however that happens.
fn lock(folder: &Path) -> Result<Option<File>, StoreError> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(folder.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}
