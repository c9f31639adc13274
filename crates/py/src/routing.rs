//! `anabranch.routing`: questions about oblivious routing as JSON, answers as JSON.

use anabranch_routing::answer::answer;
use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    RoutingError,
    pyo3::exceptions::PyException,
    "A question about routing that has no answer; the text says what is wrong and what was expected."
);

/// Answers a question about loads, worst cases, bounds or the fabric itself.
#[pyfunction]
pub(crate) fn routing(py: Python<'_>, question: &str) -> PyResult<String> {
    py.detach(|| answer(question)).map_err(|e| RoutingError::new_err(e.to_string()))
}
