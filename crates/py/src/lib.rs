//! Placeholder of the Python binding: lets the Python package build before the simulator is there.
//!
//! It knows its version and refuses everything else with a clear error.

use pyo3::prelude::*;

pyo3::create_exception!(_core, ScenarioError, pyo3::exceptions::PyException);

/// The extension module `anabranch._core`.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::ScenarioError;

    /// Version of the core.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
