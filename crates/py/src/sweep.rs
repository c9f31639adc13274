//! A scenario whose runs are made one by one, here or on other machines.

use crate::folder::storage;
use crate::options::Options;
use crate::{load, to_python, watched};
use anabranch_results::lab::{Book, run_one};
use anabranch_results::{Opening, RunEntry, StoreError};
use anabranch_sim::experiment::Progress;
use anabranch_sim::scenario::Plan;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The runs of a scenario, and its result folder while they end.
#[pyclass(frozen)]
pub(crate) struct Sweep {
    plan: Plan,
    time_limit: Option<Duration>,
    /// Name of a run to its number.
    numbers: BTreeMap<String, usize>,
    book: Mutex<Option<Book>>,
}

impl Sweep {
    fn number(&self, run: &str) -> PyResult<usize> {
        self.numbers.get(run).copied().ok_or_else(|| PyValueError::new_err(format!("{run}: the sweep has no such run")))
    }

    fn book(&self) -> MutexGuard<'_, Option<Book>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the book, without the interpreter: who has the book may be waiting for it, in an object store.
    fn with_book(&self, py: Python<'_>, act: impl FnOnce(&Book) -> Result<(), StoreError> + Send) -> PyResult<()> {
        py.detach(|| {
            let book = self.book();
            let book = book.as_ref().ok_or_else(|| PyValueError::new_err("no result folder is open"))?;
            act(book).map_err(|e| to_python(e.into()))
        })
    }
}

#[pymethods]
impl Sweep {
    #[new]
    fn new(py: Python<'_>, path: &str, overrides: Vec<String>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = Options::of(options)?;
        let time_limit = options.time_limit()?;
        py.detach(|| {
            let plan = load(path, overrides, options.seeds)?;
            let numbers = plan.runs.iter().enumerate().map(|(i, run)| (run.name(), i)).collect();
            Ok(Self { plan, time_limit, numbers, book: Mutex::new(None) })
        })
    }

    /// The files that the scenario names, relative to its own.
    fn data_files(&self) -> BTreeSet<String> {
        self.plan.runs.iter().flat_map(|run| run.scenario.data_files()).map(str::to_owned).collect()
    }

    /// The hash of a run.
    fn hash(&self, run: &str) -> PyResult<&str> {
        Ok(&self.plan.runs[self.number(run)?].hash)
    }

    /// Makes one run in a folder of its own; returns its entry.
    fn run_one(&self, py: Python<'_>, run: &str, folder: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
        let i = self.number(run)?;
        let view = Progress::new(self.plan.runs.len()).with_limit(self.time_limit);
        let made =
            watched(py, &self.plan, &view, progress.as_ref(), || run_one(&self.plan, i, Path::new(folder), &view))?;
        serde_json::to_string(&made).map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// Opens the result folder and returns the names of the runs that are to be made, the longest first.
    fn open(
        &self,
        py: Python<'_>,
        place: Bound<'_, PyAny>,
        command: Vec<String>,
        resume: bool,
        force: bool,
        token: String,
    ) -> PyResult<Vec<String>> {
        let storage = storage(place)?;
        py.detach(|| {
            let how = Opening { resume, force, token: Some(token) };
            let book = Book::open(&self.plan, storage, &how, &command).map_err(to_python)?;
            let missing = book.missing(&self.plan).map_err(to_python)?;
            *self.book() = Some(book);
            Ok(missing.into_iter().map(|i| self.plan.runs[i].name()).collect())
        })
    }

    /// Notes in the manifest how a run ended whose folder is in its place.
    fn enter(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        let entry: RunEntry =
            serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("not the entry of a run: {e}")))?;
        let i = self.number(&entry.run)?;
        self.with_book(py, |book| book.enter(i, entry))
    }

    /// Notes in the manifest that a run failed.
    fn fail(&self, py: Python<'_>, run: &str, message: String) -> PyResult<()> {
        let i = self.number(run)?;
        self.with_book(py, |book| book.fail(&self.plan, i, message))
    }

    /// Checks that no other client writes to an object store.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.with_book(py, Book::check)
    }

    /// Writes the manifest for the last time, and lets go of the folder.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = py.detach(|| self.book().take().map_or(Ok(()), |book| book.close().map(drop)));
        closed.map_err(|e| to_python(e.into()))
    }
}
