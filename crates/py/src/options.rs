//! Options that come from Python by name. `python/anabranch/running/options.py` describes them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// Declares a struct whose fields are read from a dict: a key that is no field is an error, a field without a key has its default.
macro_rules! options {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(crate) struct $name { $($(#[$doc])* pub(crate) $field: $type,)* }

        impl $name {
            pub(crate) fn of(given: &Bound<'_, PyDict>) -> PyResult<Self> {
                let mut options = Self::default();
                for (name, value) in given {
                    match name.extract::<String>()?.as_str() {
                        $(stringify!($field) => options.$field = value.extract()?,)*
                        name => return Err(PyTypeError::new_err(format!("{name}: the core has no such option"))),
                    }
                }
                Ok(options)
            }
        }
    };
}

options! {
    /// The options of runs.
    Options {
        /// Seeds of each sweep point, instead of the scenario's number.
        seeds: Option<u32>,
        /// Wall-clock time that a run may take.
        time_limit_wall_s: Option<f64>,
        /// Result folder.
        out: Option<String>,
        /// Threads; 0 for one per core.
        threads: usize,
        /// The command line, for the manifest.
        command: Vec<String>,
        /// Whether to keep finished runs of the folder.
        resume: bool,
        /// Whether to delete finished runs that are neither kept nor made again.
        force: bool,
    }
}

impl Options {
    pub(crate) fn time_limit(&self) -> PyResult<Option<Duration>> {
        let limit = self.time_limit_wall_s.map(Duration::try_from_secs_f64).transpose();
        limit.map_err(|e| PyValueError::new_err(format!("limit on the wall-clock time: {e}")))
    }
}
