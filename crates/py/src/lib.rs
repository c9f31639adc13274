//! Python binding: the extension module `anabranch._core`.
//!
//! Thin on purpose: text in, JSON out; bytes in and out for the codec. What the functions promise is written in `python/anabranch/_core.pyi`.

#![expect(clippy::needless_pass_by_value, reason = "arguments of Python functions arrive by value")]

mod codec;
mod folder;
mod options;
mod powerlaw;
mod routing;
mod sweep;
mod traffic;

use anabranch_results::Remark;
use anabranch_results::lab::{self, LabError, Request};
use anabranch_sim::experiment::Progress;
use anabranch_sim::scenario::{self, Plan, ScenarioErrors};
use anabranch_sim::workload::{Fault, JobConfig, ServerConfig};
use options::Options;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pyo3::create_exception!(
    _core,
    ScenarioError,
    pyo3::exceptions::PyException,
    "The scenario cannot be read or run; the text names file, line, key and a suggestion."
);

pyo3::create_exception!(
    _core,
    RunPanic,
    pyo3::exceptions::PyRuntimeError,
    "A run panicked, a fault of the simulator; the text names the run."
);

/// How often progress is told.
const TICK: Duration = Duration::from_millis(200);

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::codec::{
        CodecDecoder, CodecEncoder, CodecError, codec_bench, codec_choose, codec_describe, codec_encode, codec_limits,
        codec_read, codec_source_symbols,
    };
    #[pymodule_export]
    use super::folder::{Folder, FolderError, LockLostError, SupersededError};
    #[pymodule_export]
    use super::powerlaw::{powerlaw_fit, powerlaw_fit_discrete, powerlaw_goodness, powerlaw_uncertainty};
    #[pymodule_export]
    use super::routing::{RoutingError, routing};
    #[pymodule_export]
    use super::sweep::Sweep;
    #[pymodule_export]
    use super::traffic::{TrafficError, traffic_bin};
    #[pymodule_export]
    use super::{RunPanic, ScenarioError, identity, job, plan, reference, run, runs, schema, transports, version};
}

/// Version of the core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// What decides the results of runs, as JSON: version, version of the model, hash of the sources.
#[pyfunction]
fn identity() -> String {
    let identity =
        json!({"version": version(), "model": anabranch_sim::MODEL.to_string(), "sources": env!("ANABRANCH_SOURCES")});
    identity.to_string()
}

/// JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    scenario::schema().to_string()
}

/// Scenario reference as Markdown.
#[pyfunction]
fn reference() -> String {
    scenario::reference()
}

/// All transports, as JSON.
#[pyfunction]
fn transports() -> String {
    json!(scenario::transports()).to_string()
}

/// What a job is, as JSON; `config` and `server` are the tables `job` and `host.server` of a scenario in JSON.
#[pyfunction]
fn job(config: &str, base: &str, server: Option<&str>) -> PyResult<String> {
    let wrong = |error: serde_json::Error| ScenarioError::new_err(error.to_string());
    let config: JobConfig = serde_json::from_str(config).map_err(wrong)?;
    let server: Option<ServerConfig> = server.map(serde_json::from_str).transpose().map_err(wrong)?;
    let told = |faults: Vec<Fault>| {
        let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
        ScenarioError::new_err(lines.join("\n"))
    };
    let summary = config.summary(Path::new(base), server.as_ref()).map_err(told)?;
    Ok(json!(summary).to_string())
}

type Read = fn(&Path, &[String]) -> Result<Plan, ScenarioErrors>;

fn load(path: &str, overrides: Vec<String>, seeds: Option<u32>) -> PyResult<Plan> {
    read(scenario::load, path, overrides, seeds)
}

fn read(read: Read, path: &str, mut overrides: Vec<String>, seeds: Option<u32>) -> PyResult<Plan> {
    overrides.extend(seeds.map(|n| format!("repeat={n}")));
    read(Path::new(path), &overrides).map_err(|e| ScenarioError::new_err(e.to_string()))
}

fn to_python(error: LabError) -> PyErr {
    match error {
        LabError::Scenario(e) => ScenarioError::new_err(e.to_string()),
        LabError::Store(e) => folder::to_python(e),
        panic @ LabError::Panic { .. } => RunPanic::new_err(panic.to_string()),
    }
}

/// The runs of a scenario, as JSON, without running any.
#[pyfunction]
fn plan(py: Python<'_>, path: &str, overrides: Vec<String>, seeds: Option<u32>) -> PyResult<String> {
    py.detach(|| {
        let plan = load(path, overrides, seeds)?;
        let estimates = plan.estimates().map_err(|e| to_python(e.into()))?;
        let mut runs = Vec::with_capacity(plan.runs.len());
        for (run, estimate) in plan.runs.iter().zip(estimates) {
            runs.push(json!({
                "run": run.name(), "point": run.point, "seed": run.seed,
                "transport": run.scenario.transport.name.name(), "hash": run.hash,
                "decode_latency": run.scenario.decode_latency(), "remarks": Remark::all(run),
                "hosts": estimate.hosts, "sessions": estimate.sessions, "packets": estimate.packets,
                "samples": estimate.samples, "memory_bytes": estimate.memory_bytes,
            }));
        }
        let warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
        Ok(json!({"runs": runs, "warnings": warnings}).to_string())
    })
}

/// The runs of a scenario, as JSON, without looking at what they will take: quick.
#[pyfunction]
fn runs(py: Python<'_>, path: &str, overrides: Vec<String>, seeds: Option<u32>) -> PyResult<String> {
    py.detach(|| {
        let plan = read(scenario::list, path, overrides, seeds)?;
        let runs: Vec<_> = plan
            .runs
            .iter()
            .map(|run| json!({"run": run.name(), "point": run.point, "seed": run.seed, "hash": run.hash}))
            .collect();
        let parts: BTreeMap<&str, u32> = plan.runs.iter().flat_map(|run| run.scenario.model_parts()).collect();
        Ok(json!({"runs": runs, "parts": parts}).to_string())
    })
}

/// Runs a scenario and writes its results; returns the manifest as JSON.
#[pyfunction]
fn run(
    py: Python<'_>,
    path: &str,
    overrides: Vec<String>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options = Options::of(options)?;
    let plan = load(path, overrides, options.seeds)?;
    let view = Progress::new(plan.runs.len()).with_limit(options.time_limit()?);
    let Options { out, threads, command, resume, force, .. } = options;
    let out = out.ok_or_else(|| PyValueError::new_err("out: a run needs a result folder"))?;
    let request = Request { out: Path::new(&out), threads, command, resume, force };
    let manifest = watched(py, &plan, &view, progress.as_ref(), || lab::run(&plan, &request, &view))?;
    serde_json::to_string(&manifest).map_err(|e| PyOSError::new_err(e.to_string()))
}

/// Does the work without holding the interpreter, and tells `progress` how far it is.
fn watched<T: Send>(
    py: Python<'_>,
    plan: &Plan,
    view: &Progress,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let ended = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let caller = std::thread::current();
            let worker = scope.spawn(move || {
                // Also when it panics.
                let _wake = Wake(ended, caller);
                work()
            });
            let mut told = Ok(());
            let clock = clock();
            let mut say = || {
                if told.is_ok() {
                    told = tell(plan, view, clock, progress);
                    if told.is_err() {
                        view.interrupt();
                    }
                }
            };
            while !ended.load(Ordering::Acquire) {
                std::thread::park_timeout(TICK);
                say();
            }
            // What is told last is all.
            say();
            match worker.join() {
                Ok(result) => told.and(result.map_err(to_python)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
}

/// Wakes the thread that waits for an end.
struct Wake<'a>(&'a AtomicBool, std::thread::Thread);

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is told in wall-clock time")]
fn clock() -> Instant {
    Instant::now()
}

/// Tells Python how far the experiment is, and asks whether to go on. Signals (Ctrl-C) are noticed here too.
fn tell(plan: &Plan, view: &Progress, since: Instant, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        let (done, total) = (view.runs_done(), plan.runs.len());
        let seconds = since.elapsed().as_secs_f64();
        let running = view.running();
        let simulated = running.iter().map(|r| r.1).max().unwrap_or(0) as f64 / 1e3;
        let ran = done - view.runs_kept();
        let eta = (ran > 0).then(|| seconds / ran as f64 * (total - done) as f64);
        let current: Vec<String> = running.iter().map(|&(i, _)| plan.runs[i].name()).collect();
        let text = json!({
            "runs_done": done, "runs_kept": view.runs_kept(), "runs_total": total, "simulated_ns": simulated, "events": view.events(),
            "events_per_s": view.events() as f64 / seconds, "eta_s": eta, "current": current,
            "on_several_threads": view.shared(),
        });
        if !progress.call1(py, (text.to_string(),))?.is_truthy(py)? {
            view.interrupt();
        }
        Ok(())
    })
}
