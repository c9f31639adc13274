//! `anabranch.traffic.tails`: power laws. Numbers come as the bytes of a little-endian float64 array, results as JSON.

use anabranch_powerlaw::{
    Alternative, Comparison, DiscretePowerLaw, Effort, Inconclusive, PowerLaw, Sample, Uncertainty, XMin, goodness,
    goodness_discrete, uncertainty, uncertainty_discrete,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

fn sample(numbers: &[u8]) -> PyResult<Sample> {
    let (chunks, []) = numbers.as_chunks() else {
        return Err(PyValueError::new_err(format!("{} bytes: expected a multiple of 8", numbers.len())));
    };
    let numbers: Vec<f64> = chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect();
    Sample::new(&numbers).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn rule(x_min: Option<f64>) -> XMin {
    x_min.map_or(XMin::Fitted, XMin::At)
}

/// The result, or ``{"inconclusive": reason}``.
fn outcome<T>(result: Result<T, Inconclusive>, show: impl FnOnce(T) -> Value) -> Value {
    result.map_or_else(|reason| json!({"inconclusive": reason.to_string()}), show)
}

fn comparison(c: &Comparison) -> Value {
    let parameters: serde_json::Map<String, Value> =
        c.parameters.named().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    json!({
        "parameters": parameters, "ln_likelihood": c.ln_likelihood,
        "ratio": c.ratio, "normalised": c.normalised, "p": c.p,
    })
}

/// Fits a power law and compares it with the alternatives.
#[pyfunction]
pub(crate) fn powerlaw_fit(py: Python<'_>, numbers: &[u8], x_min: Option<f64>) -> PyResult<String> {
    let sample = sample(numbers)?;
    let result = py.detach(|| {
        outcome(sample.fit(rule(x_min)), |fit: PowerLaw| {
            let against: serde_json::Map<String, Value> = Alternative::ALL
                .iter()
                .map(|&a| (a.name().to_owned(), outcome(fit.compare(&sample, a), |c| comparison(&c))))
                .collect();
            json!({
                "alpha": fit.alpha, "x_min": fit.x_min, "distance": fit.distance, "n_tail": fit.n_tail,
                "sigma": fit.sigma(), "against": against,
            })
        })
    });
    Ok(result.to_string())
}

/// Fits the power law of whole numbers.
#[pyfunction]
pub(crate) fn powerlaw_fit_discrete(py: Python<'_>, numbers: &[u8], x_min: Option<f64>) -> PyResult<String> {
    let sample = sample(numbers)?;
    let result = py.detach(|| sample.fit_discrete(rule(x_min)));
    let show = |fit: DiscretePowerLaw| {
        json!({
            "alpha": fit.alpha, "x_min": fit.x_min, "distance": fit.distance, "n_tail": fit.n_tail, "sigma": fit.sigma(),
        })
    };
    Ok(outcome(result, show).to_string())
}

/// Refits resampled data.
#[pyfunction]
pub(crate) fn powerlaw_uncertainty(
    py: Python<'_>,
    numbers: &[u8],
    x_min: Option<f64>,
    replicates: usize,
    seed: u64,
    threads: usize,
    discrete: bool,
) -> PyResult<String> {
    let sample = sample(numbers)?;
    let effort = Effort { replicates, seed, threads };
    let found = py.detach(|| {
        if discrete {
            uncertainty_discrete(&sample, rule(x_min), effort)
        } else {
            Ok(uncertainty(&sample, rule(x_min), effort))
        }
    });
    let show = |u: Uncertainty| json!({"alpha": u.alpha, "x_min": u.x_min, "n_tail": u.n_tail, "failed": u.failed});
    Ok(outcome(found, show).to_string())
}

/// Tests whether a power law is plausible.
#[pyfunction]
pub(crate) fn powerlaw_goodness(
    py: Python<'_>,
    numbers: &[u8],
    x_min: Option<f64>,
    replicates: usize,
    seed: u64,
    threads: usize,
    discrete: bool,
) -> PyResult<String> {
    let sample = sample(numbers)?;
    let test = if discrete { goodness_discrete } else { goodness };
    let result = py.detach(|| test(&sample, rule(x_min), Effort { replicates, seed, threads }));
    let show = |g: anabranch_powerlaw::Goodness| json!({"p": g.p, "standard_error": g.standard_error, "replicates": g.replicates});
    Ok(outcome(result, show).to_string())
}
