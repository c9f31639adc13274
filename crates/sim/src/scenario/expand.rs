//! From a file to runs: overrides, sweep points, presets, seeds.

use super::check::{Finding, Kind, check};
use super::error::{ScenarioError, ScenarioErrors, Source, Span};
use super::fabric::Fabrics;
use super::path::Path;
use super::tree::{Entry, Node, Value};
use super::{Remark, Scenario, presets};
use crate::workload::WorkloadError;
use serde_json::{Map, Value as Json};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

/// More runs than this are a mistake in the sweep.
const RUNS_MAX: u64 = 1_000_000;
/// Nobody reads more errors than this, and every point of a sweep may have its own.
const ERRORS_MAX: usize = 1000;

/// What a scenario file asks for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the file, as given.
    pub file: String,
    /// Exact text of the file, before overrides.
    pub text: String,
    /// Overrides of the command line.
    pub overrides: Vec<String>,
    /// Where relative file names of the scenario start.
    pub base: PathBuf,
    /// Key and values of everything that is swept, in order; keys that vary together follow each other.
    pub sweep: Vec<(String, Vec<Json>)>,
    /// All runs: sweep points in order, the seeds of each in order.
    pub runs: Vec<RunPlan>,
    /// What is allowed but probably not meant.
    pub warnings: Vec<ScenarioError>,
    pub(super) fabrics: Arc<Fabrics>,
    sources: Vec<Source>,
    /// The file with its overrides, and what varies: the document of a point is made when it is needed.
    document: Arc<Node>,
    axes: Arc<[Axis]>,
}

/// One run: a sweep point and a seed.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Number of the sweep point, from 0.
    pub index: u32,
    /// The values of the swept keys, in the order of the sweep.
    pub point: Map<String, Json>,
    /// Seed.
    pub seed: u64,
    /// The scenario of this point: overrides applied, `sweep` empty.
    pub scenario: Arc<Scenario>,
    /// Hash of all that the run depends on: resolved scenario, seed, data files. 32 hex digits.
    pub hash: String,
    /// What its author should know before trusting it; the same for all seeds of a point. None in a list.
    pub remarks: Arc<[Remark]>,
}

impl RunPlan {
    /// Name of the run's folder: `p003-s42`.
    pub fn name(&self) -> String {
        format!("p{:03}-s{}", self.index, self.seed)
    }
}

impl Plan {
    /// Points at the line of the scenario that is wrong in the fabric of a run.
    pub(super) fn fault_error(&self, run: &RunPlan, fault: &crate::workload::Fault) -> ScenarioError {
        fault_error(&self.sources, &self.document_of(run), &Path::default(), fault)
    }

    /// Points at the line of the scenario that makes a workload impossible in the fabric of a run.
    pub fn workload_error(&self, run: &RunPlan, error: &WorkloadError) -> ScenarioError {
        let path = Path(vec!["workload".to_owned(), error.workload.to_string()]);
        fault_error(&self.sources, &self.document_of(run), &path, &error.fault)
    }

    /// The document of a point that could be made.
    fn document_of(&self, run: &RunPlan) -> Node {
        self.point(u64::from(run.index)).unwrap_or_else(|_| (*self.document).clone())
    }

    /// The file with its overrides, the values of a point, and below them its presets.
    fn point(&self, index: u64) -> Result<Node, Vec<ScenarioError>> {
        let mut document = (*self.document).clone();
        for (axis, row) in self.axes.iter().zip(rows(&self.axes, index)) {
            for (path, value) in axis.paths.iter().zip(row) {
                document
                    .set(path, &axis.span, value.clone())
                    .map_err(|e| vec![ScenarioError::at(&self.sources, &axis.span, &sweep_path(axis), e)])?;
            }
        }
        presets::fill(&mut document, &self.sources, 1 + self.overrides.len())?;
        Ok(document)
    }
}

/// Reads a scenario file. `overrides` are `key=value` with a dotted key; the value is TOML, or else a string.
///
/// # Errors
/// Everything that is wrong with the file, with its place.
pub fn load(file: &FilePath, overrides: &[String]) -> Result<Plan, ScenarioErrors> {
    read(file, overrides, true)
}

/// The same without remarks, and without warnings of what they say: these take by far the longest, as they draw workloads.
///
/// # Errors
/// As [`load`].
pub fn list(file: &FilePath, overrides: &[String]) -> Result<Plan, ScenarioErrors> {
    read(file, overrides, false)
}

fn read(file: &FilePath, overrides: &[String], remarked: bool) -> Result<Plan, ScenarioErrors> {
    let name = file.display().to_string();
    let text = crate::input::read(file)
        .map_err(|e| ScenarioErrors(vec![ScenarioError::of_file(&name, format!("cannot read the file: {e}"))]))?;
    expand(&name, &text, overrides, remarked)
}

/// The same for a text that is there already; `file` is its name, whose folder is where data files are looked for.
///
/// # Errors
/// Everything that is wrong with the text, with its place.
pub fn parse(file: &str, text: &str, overrides: &[String]) -> Result<Plan, ScenarioErrors> {
    expand(file, text, overrides, true)
}

fn expand(file: &str, text: &str, overrides: &[String], remarked: bool) -> Result<Plan, ScenarioErrors> {
    let mut sources = vec![Source { name: file.to_owned(), text: text.to_owned() }];
    sources.extend(overrides.iter().map(|o| Source { name: "command line".to_owned(), text: o.clone() }));
    sources.extend(presets::sources());
    let mut document = Node::parse(&sources, 0).map_err(ScenarioErrors)?;
    let mut errors = Vec::new();
    let mut overridden = Vec::new();
    for source in 1..=overrides.len() {
        match apply_override(&mut document, &sources, source) {
            Ok(path) => overridden.push(path),
            Err(error) => errors.push(*error),
        }
    }
    let axes = document
        .remove("sweep")
        .map_or_else(Vec::new, |sweep| read_sweep(&sweep, &document, &sources, &overridden, &mut errors));
    let schema = super::schema();
    if !errors.is_empty() {
        // Whatever else is wrong is told as well, but a key that is missing may be one that the sweep would set.
        let others = check(&document, &schema).into_iter().filter(|f| f.kind != Kind::Missing);
        errors.extend(others.map(|f| finding_error(&sources, &document, &f)));
        return Err(finish(errors));
    }
    let points = axes.iter().fold(1_u64, |n, axis| n.saturating_mul(axis.values.len() as u64));
    if points > RUNS_MAX {
        let message = format!("the sweep has {points} points; the limit is {RUNS_MAX}");
        return Err(ScenarioErrors(vec![ScenarioError::at(&sources, &axes[0].span, &sweep_path(&axes[0]), message)]));
    }
    let base = FilePath::new(file).parent().unwrap_or(FilePath::new("")).to_owned();
    let mut plan = Plan {
        file: file.to_owned(),
        text: text.to_owned(),
        overrides: overrides.to_vec(),
        base,
        sweep: axes.iter().flat_map(Axis::columns).collect(),
        runs: Vec::new(),
        warnings: Vec::new(),
        fabrics: Arc::default(),
        sources,
        document: Arc::new(document),
        axes: axes.into(),
    };
    for index in 0..points {
        if let Err(found) = add_point(&mut plan, index, &schema, remarked) {
            errors.extend(found);
            if errors.len() > ERRORS_MAX {
                break;
            }
        }
    }
    plan.warnings = finish(std::mem::take(&mut plan.warnings)).0;
    if errors.is_empty() { Ok(plan) } else { Err(finish(errors)) }
}

/// In the order of the file, each once: every sweep point finds the same faults again.
fn finish(mut errors: Vec<ScenarioError>) -> ScenarioErrors {
    let place = |e: &ScenarioError| (e.file == "command line", e.line, e.column);
    errors.sort_by_key(place);
    let mut unique: Vec<ScenarioError> = Vec::new();
    for error in errors {
        if !unique.contains(&error) {
            unique.push(error);
        }
    }
    ScenarioErrors(unique)
}

fn apply_override(document: &mut Node, sources: &[Source], source: usize) -> Result<Path, Box<ScenarioError>> {
    let text = &sources[source].text;
    let whole = Span { source, range: 0..text.len() };
    let error = |span: &Span, message: String| Box::new(ScenarioError::at(sources, span, &Path::default(), message));
    let Some(equals) = unquoted_equals(text) else {
        let hint = Some("like transport.name=ndp".to_owned());
        return Err(Box::new(error(&whole, "expected `key=value`".to_owned()).hint(hint)));
    };
    let key_span = Span { source, range: 0..equals };
    let path = Path::parse(&text[..equals]).map_err(|e| error(&key_span, e))?;
    let path = document.canonical(&path);
    let spaces = text[equals + 1..].len() - text[equals + 1..].trim_start().len();
    let value = Node::parse_value(text, equals + 1 + spaces, source);
    document.set(&path, &key_span, value).map_err(|e| error(&key_span, e))?;
    Ok(path)
}

fn unquoted_equals(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(i, c)| {
        quoted ^= c == '"';
        (c == '=' && !quoted).then_some(i)
    })
}

/// Keys that vary together, and their values.
#[derive(Clone, Debug)]
struct Axis {
    /// As written, for the point of a run.
    keys: Vec<String>,
    paths: Vec<Path>,
    /// One value for each key.
    values: Vec<Vec<Node>>,
    span: Span,
}

impl Axis {
    fn columns(&self) -> Vec<(String, Vec<Json>)> {
        let column = |(i, key): (usize, &String)| (key.clone(), self.values.iter().map(|v| v[i].to_json()).collect());
        self.keys.iter().enumerate().map(column).collect()
    }
}

fn sweep_path(axis: &Axis) -> Path {
    Path(vec!["sweep".to_owned(), axis.keys.join(", ")])
}

fn read_sweep(
    sweep: &Entry,
    document: &Node,
    sources: &[Source],
    overridden: &[Path],
    errors: &mut Vec<ScenarioError>,
) -> Vec<Axis> {
    let at_sweep = Path(vec!["sweep".to_owned()]);
    let Value::Table(entries) = &sweep.node.value else {
        let hint = Some("[sweep] with lines like \"transport.name\" = [\"scdp\", \"ndp\"]".to_owned());
        errors.push(ScenarioError::at(sources, &sweep.node.span, &at_sweep, "expected a table of lists").hint(hint));
        return Vec::new();
    };
    let mut axes = Vec::new();
    let mut flat = Vec::new();
    flatten(entries, &Path::default(), &mut flat);
    for (key, entry) in flat {
        match read_axis(&key, entry, document, sources) {
            Ok(mut axis) => {
                // What the command line sets is not swept.
                let kept = |path: &Path| !overridden.contains(path);
                let keep: Vec<bool> = axis.paths.iter().map(kept).collect();
                if keep.iter().any(|k| !k) {
                    drop_columns(&mut axis, &keep);
                }
                if !axis.keys.is_empty() {
                    axes.push(axis);
                }
            }
            Err(error) => errors.push(*error),
        }
    }
    axes
}

/// Unquoted dotted keys make nested tables: `transport.name = [...]` is as good as `"transport.name" = [...]`.
fn flatten<'t>(entries: &'t [Entry], prefix: &Path, out: &mut Vec<(String, &'t Entry)>) {
    for entry in entries {
        let path = prefix.join(entry.key.as_str());
        match &entry.node.value {
            Value::Table(inner) if !inner.is_empty() => flatten(inner, &path, out),
            _ => out.push((path.0.join("."), entry)),
        }
    }
}

fn drop_columns(axis: &mut Axis, keep: &[bool]) {
    fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
        let mut keep = keep.iter();
        items.retain(|_| *keep.next().unwrap_or(&true));
    }
    retain(&mut axis.keys, keep);
    retain(&mut axis.paths, keep);
    axis.values.iter_mut().for_each(|row| retain(row, keep));
}

fn read_axis(key: &str, entry: &Entry, document: &Node, sources: &[Source]) -> Result<Axis, Box<ScenarioError>> {
    let at = Path(vec!["sweep".to_owned(), key.to_owned()]);
    let error = |span: &Span, message: String, hint: Option<&str>| {
        Box::new(ScenarioError::at(sources, span, &at, message).hint(hint.map(str::to_owned)))
    };
    let keys: Vec<String> = key.split(',').map(|k| k.trim().to_owned()).collect();
    let mut paths = Vec::new();
    for key in &keys {
        let path = Path::parse(key).map_err(|e| error(&entry.key_span, e, None))?;
        if path.0[0] == "sweep" || path.0[0] == "seed" || path.0[0] == "repeat" {
            let hint = Some("for several seeds: repeat = 5");
            return Err(error(&entry.key_span, format!("`{key}` cannot be swept"), hint));
        }
        paths.push(document.canonical(&path));
    }
    let Value::Array(items) = &entry.node.value else {
        let hint = Some("write the values in square brackets");
        return Err(error(&entry.node.span, "expected a list of values".to_owned(), hint));
    };
    if items.is_empty() {
        return Err(error(&entry.node.span, "the list is empty: at least one value is needed".to_owned(), None));
    }
    let mut values = Vec::new();
    for item in items {
        values.push(match (&item.value, keys.len()) {
            (_, 1) => vec![item.clone()],
            (Value::Array(row), n) if row.len() == n => row.clone(),
            (_, n) => return Err(error(&item.span, format!("expected a list of {n} values, one for each key"), None)),
        });
    }
    Ok(Axis { keys, paths, values, span: entry.key_span.clone() })
}

/// The values of each axis at a point.
fn rows(axes: &[Axis], index: u64) -> Vec<&Vec<Node>> {
    // The last axis varies fastest.
    let mut rest = index;
    let row = |axis: &'_ Axis| {
        let n = axis.values.len() as u64;
        let row = (rest % n) as usize;
        rest /= n;
        row
    };
    let numbers: Vec<usize> = axes.iter().rev().map(row).collect();
    axes.iter().zip(numbers.into_iter().rev()).map(|(axis, row)| &axis.values[row]).collect()
}

/// Checks and decodes one point and adds its runs.
fn add_point(plan: &mut Plan, index: u64, schema: &Json, remarked: bool) -> Result<(), Vec<ScenarioError>> {
    let document = plan.point(index)?;
    let rows = rows(&plan.axes, index);
    let varied = plan.axes.iter().zip(rows).flat_map(|(axis, row)| axis.keys.iter().zip(row));
    let point: Map<String, Json> = varied.map(|(key, value)| (key.clone(), value.to_json())).collect();
    let mut scenario = decode(&plan.sources, &document, schema)?;
    if scenario.name.is_empty() {
        scenario.name =
            FilePath::new(&plan.file).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    }
    let mut errors = Vec::new();
    for fault in
        scenario.read_tables(&plan.base, &plan.fabrics).into_iter().chain(scenario.check(&plan.base, &plan.fabrics))
    {
        let error = fault_error(&plan.sources, &document, &Path::default(), &fault);
        if fault.warning { &mut plan.warnings } else { &mut errors }.push(error);
    }
    if (plan.runs.len() as u64).saturating_add(u64::from(scenario.repeat)) > RUNS_MAX {
        let span = document.locate(&Path(vec!["repeat".to_owned()]));
        let message = format!("sweep and repetitions make more than {RUNS_MAX} runs");
        let error = ScenarioError::at(&plan.sources, &span, &Path(vec!["repeat".to_owned()]), message);
        errors.push(error.hint(Some("fewer seeds (`repeat`, --seeds) or a smaller sweep".to_owned())));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let remarks: Arc<[Remark]> =
        if remarked { scenario.remarks(&plan.base, &plan.fabrics).into() } else { Arc::default() };
    for Remark { fault, .. } in remarks.iter().filter(|remark| remark.grave) {
        let warning = fault_error(&plan.sources, &document, &Path::default(), fault);
        // The points of a sweep may each have their own: the first stands for all, which stand beside the results.
        if !plan.warnings.iter().any(|known| known.key == warning.key) {
            plan.warnings.push(warning);
        }
    }
    let hash = scenario.hashes(&scenario.hash_inputs(&plan.base));
    let scenario = Arc::new(scenario);
    for seed in scenario.seed..scenario.seed + u64::from(scenario.repeat) {
        plan.runs.push(RunPlan {
            index: index as u32,
            point: point.clone(),
            seed,
            hash: hash(seed),
            scenario: Arc::clone(&scenario),
            remarks: Arc::clone(&remarks),
        });
    }
    Ok(())
}

fn decode(sources: &[Source], document: &Node, schema: &Json) -> Result<Scenario, Vec<ScenarioError>> {
    let findings = check(document, schema);
    if !findings.is_empty() {
        return Err(findings.iter().map(|f| finding_error(sources, document, f)).collect());
    }
    // What the schema does not express: the error of serde, at the place of the value that it was reading.
    serde_path_to_error::deserialize(document.to_json()).map_err(|error| {
        let path = Path::parse(&error.path().to_string()).unwrap_or_default();
        let message = error.inner().to_string();
        vec![ScenarioError::at(sources, &document.locate(&path), &path, message)]
    })
}

fn finding_error(sources: &[Source], document: &Node, finding: &Finding) -> ScenarioError {
    let span = match finding.kind {
        Kind::UnknownKey => document.locate_key(&finding.path),
        Kind::Value | Kind::Missing => document.locate(&finding.path),
    };
    ScenarioError::at(sources, &span, &finding.path, finding.message.as_str()).hint(finding.hint.clone())
}

fn fault_error(sources: &[Source], document: &Node, parent: &Path, fault: &crate::workload::Fault) -> ScenarioError {
    let path = parent.join_dotted(&fault.key);
    let message = match &fault.at {
        Some((file, 0)) => format!("{}: {}", file.display(), fault.message),
        Some((file, line)) => format!("{}:{line}: {}", file.display(), fault.message),
        None => fault.message.clone(),
    };
    let mut error = ScenarioError::at(sources, &document.locate(&path), &path, message).hint(fault.hint.clone());
    error.warning = fault.warning;
    error
}
