//! A result folder: on disk, or in an object store whose calls Python makes.

use anabranch_results::storage::{Item, Kind, Locking, Who};
use anabranch_results::{Directory, Place, Planned, Storage, StoreError};
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pyo3::create_exception!(
    _core,
    FolderError,
    pyo3::exceptions::PyException,
    "A result folder that must not be written; the text has a hint."
);

pyo3::create_exception!(_core, SupersededError, FolderError, "The sweep of a worker is gone; another may write there.");

pyo3::create_exception!(_core, LockLostError, FolderError, "The lock of an object store was removed or taken.");

/// An object store: a Python object with the methods of `anabranch.running.objects.Objects`.
#[derive(Debug)]
struct Objects {
    calls: Py<PyAny>,
    /// Its URL.
    url: String,
}

impl Objects {
    /// Calls a method. What it raises is kept as it is; what is no error, as a `KeyboardInterrupt`, is an interruption.
    fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> pyo3::call::PyCallArgs<'py>,
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> io::Result<T> {
        Python::attach(|py| {
            self.calls.bind(py).call_method1(method, arguments).and_then(read).map_err(|raised| {
                let error = raised.is_instance_of::<PyException>(py);
                io::Error::new(if error { io::ErrorKind::Other } else { io::ErrorKind::Interrupted }, raised)
            })
        })
    }

    fn tell(&self, method: &str, arguments: impl for<'py> pyo3::call::PyCallArgs<'py>) -> io::Result<()> {
        self.call(method, arguments, |_| Ok(()))
    }
}

impl Storage for Objects {
    fn shown(&self, path: &str) -> String {
        if path.is_empty() { self.url.clone() } else { format!("{}/{path}", self.url) }
    }

    fn renames(&self) -> bool {
        false
    }

    fn lock(&self) -> io::Result<Locking> {
        let (user, host, since) = self.call("who", (), |who| who.extract())?;
        Ok(Locking::Object(Who { user, host, since }))
    }

    fn list(&self, _into: &dyn Fn(&str) -> bool) -> io::Result<Vec<Item>> {
        let paths: Vec<String> = self.call("find", (), |paths| paths.extract())?;
        Ok(paths.into_iter().map(|path| Item { path, kind: Kind::File }).collect())
    }

    fn read(&self, files: &[String]) -> io::Result<Vec<Option<Vec<u8>>>> {
        if files.is_empty() { Ok(Vec::new()) } else { self.call("read", (files,), |contents| contents.extract()) }
    }

    /// Objects appear in whole.
    fn ends_with(&self, _file: &str, _mark: &[u8]) -> bool {
        true
    }

    fn write(&self, file: &str, content: &[u8]) -> io::Result<()> {
        self.tell("write", (file, content))
    }

    fn create(&self, file: &str, content: &[u8]) -> io::Result<()> {
        self.tell("create", (file, content))
    }

    fn remove(&self, files: &[String]) -> io::Result<()> {
        if files.is_empty() { Ok(()) } else { self.tell("remove", (files,)) }
    }

    fn remove_folder(&self, _folder: &str) -> io::Result<()> {
        Ok(())
    }

    fn copy(&self, pairs: &[(String, String)]) -> io::Result<()> {
        if pairs.is_empty() { Ok(()) } else { self.tell("copy", (pairs,)) }
    }

    fn upload(&self, local: &Path, file: &str) -> io::Result<()> {
        self.tell("upload", (local, file))
    }
}

/// A folder of this machine by its path, or an object store by what makes its calls.
pub(crate) fn storage(place: Bound<'_, PyAny>) -> PyResult<Arc<dyn Storage>> {
    Ok(match place.extract::<PathBuf>() {
        Ok(path) => Arc::new(Directory::new(path)),
        Err(_) => Arc::new(Objects { url: place.getattr("url")?.extract()?, calls: place.unbind() }),
    })
}

/// The Python exception of an error: what Python raised below, if it did.
pub(crate) fn to_python(error: StoreError) -> PyErr {
    let text = error.to_string();
    match error {
        StoreError::Io { source, .. } => match source.downcast::<PyErr>() {
            Ok(raised) => raised,
            Err(_) => PyOSError::new_err(text),
        },
        StoreError::Encode { .. } => PyOSError::new_err(text),
        StoreError::Superseded(_) => SupersededError::new_err(text),
        StoreError::LockLost { .. } => LockLostError::new_err(text),
        _ => FolderError::new_err(text),
    }
}

/// What may be asked of a result folder without opening it.
#[pyclass(frozen)]
pub(crate) struct Folder(Place);

#[pymethods]
impl Folder {
    #[new]
    fn new(place: Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Place(storage(place)?)))
    }

    /// Checks that the runs of a plan, as JSON, may be made there; returns the finished runs.
    fn check(&self, py: Python<'_>, plan: &str, resume: bool, force: bool) -> PyResult<BTreeMap<String, String>> {
        let plan: Vec<Planned> =
            serde_json::from_str(plan).map_err(|e| PyValueError::new_err(format!("not the runs of a plan: {e}")))?;
        py.detach(|| self.0.check(&plan, resume, force)).map_err(to_python)
    }

    /// The finished runs: name to hash, empty where it is not known.
    fn finished(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        py.detach(|| self.0.finished()).map_err(to_python)
    }

    /// The entry of a run that a worker stored.
    fn stored(&self, py: Python<'_>, run: &str, hash: &str) -> PyResult<Option<String>> {
        py.detach(|| self.0.stored(run, hash)).map_err(to_python)
    }

    /// Stores a complete run; returns its entry.
    fn publish(&self, py: Python<'_>, draft: PathBuf, run: &str, hash: &str, token: Option<&str>) -> PyResult<String> {
        py.detach(|| self.0.publish(&draft, run, hash, token)).map_err(to_python)
    }
}
