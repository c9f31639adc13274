//! `transport.preset`: parameters as in a paper or in its authors' program, by name.
//!
//! A preset is data: `presets/NAME.toml` says what it is, where its numbers come from, for which transports it is, for links of which rate,
//! and the keys. These go below what a scenario says itself, before anything is checked: what is given wins, and a run depends on the values
//! alone, not on where they come from.
//!
//! To add one: a file, and a line in the registry of `preset_names.rs`.

use super::error::{ScenarioError, Source, Span};
use super::path::Path;
use super::preset_names::FILES;
use super::remarks::Remark;
use super::suggest::nearest;
use super::tree::{Entry, Node, Value};
use super::{Scenario, TransportName};
use crate::fabric::graph::Graph;
use anabranch_transport::Rate;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Keys that say which others are read: a preset that chooses there cannot give way, since the rest of it would say nothing.
const CHOICES: &[&str] = &["switch.queue", "transport.dcqcn.constants", "transport.dcqcn.rules"];

/// Constants are taken to hold on links of up to so many times their rate, and down to that part of it.
const WITHIN: f64 = 2.0;

/// What a preset's file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportPreset {
    /// As in scenarios: `transport.preset`.
    #[serde(default)]
    pub name: String,
    /// What it is.
    pub summary: String,
    /// Where its numbers come from.
    pub source: String,
    /// For which transports it is.
    pub transports: Vec<TransportName>,
    /// The rate of hosts' links that they are made for; `None` if they depend on none.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The keys, as in a scenario.
    pub keys: Json,
}

/// All presets, in the order of the registry.
pub(super) fn presets() -> Vec<TransportPreset> {
    let read = |&(name, text): &(&str, &str)| {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        File::read(&[source], 0, name).preset
    };
    FILES.iter().map(read).collect()
}

/// The presets for a transport.
pub(super) fn presets_of(name: TransportName) -> Vec<TransportPreset> {
    presets().into_iter().filter(|preset| preset.transports.contains(&name)).collect()
}

/// A preset and its keys with their places.
struct File {
    preset: TransportPreset,
    keys: Node,
}

impl File {
    /// Reads `sources[index]`. Panics if it is no preset, which a test excludes.
    fn read(sources: &[Source], index: usize, name: &str) -> Self {
        let fault = |why: &dyn std::fmt::Display| -> ! { panic!("presets/{name}.toml: {why}") };
        let node = Node::parse(sources, index).unwrap_or_else(|errors| fault(&errors[0]));
        let preset: TransportPreset = serde_json::from_value(node.to_json()).unwrap_or_else(|error| fault(&error));
        let keys = node.get("keys").map_or_else(|| fault(&"no keys"), |entry| entry.node.clone());
        Self { preset: TransportPreset { name: name.to_owned(), ..preset }, keys }
    }
}

/// The texts of all presets, for errors that point into them.
pub(super) fn sources() -> impl Iterator<Item = Source> {
    FILES.iter().map(|(name, text)| Source { name: format!("preset {name}"), text: (*text).to_owned() })
}

/// Puts the presets that a document names below what it says itself. Those of `sources` from `first` on are [`sources`].
pub(super) fn fill(document: &mut Node, sources: &[Source], first: usize) -> Result<(), Vec<ScenarioError>> {
    let at = Path(vec!["transport".to_owned(), "preset".to_owned()]);
    let Some(named) = document.get("transport").and_then(|transport| transport.node.get("preset")) else {
        return Ok(());
    };
    // What is neither a name nor a list of names, the check of all keys tells.
    let names: Vec<(String, Span)> = match &named.node.value {
        Value::Array(items) => items.iter().filter_map(name_of).collect(),
        _ => name_of(&named.node).into_iter().collect(),
    };
    let used = transports_of(document);
    let mut errors = Vec::new();
    for (name, span) in names {
        let error = |message: String, hint: Option<String>| ScenarioError::at(sources, &span, &at, message).hint(hint);
        let Some(index) = FILES.iter().position(|file| file.0 == name) else {
            let hint = nearest(&name, FILES.iter().map(|file| file.0)).map(|n| format!("did you mean {n:?}?"));
            errors.push(error(format!("unknown preset {name:?}; {}", applicable(&used)), hint));
            continue;
        };
        let file = File::read(sources, first + index, &name);
        if !used.iter().any(|transport| file.preset.transports.contains(transport)) {
            let own = listed(file.preset.transports.iter().map(|transport| transport.name()));
            let message = format!("{name:?} is for {own}, which nothing here uses; {}", applicable(&used));
            errors.push(error(message, None));
            continue;
        }
        let mut filling = Filling { sources, first, preset: &name, errors: Vec::new() };
        filling.merge(document, &file.keys, &Path::default());
        errors.extend(filling.errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn name_of(node: &Node) -> Option<(String, Span)> {
    if let Value::Str(name) = &node.value { Some((name.clone(), node.span.clone())) } else { None }
}

/// The transports that a document names, for all workloads and for single ones.
fn transports_of(document: &Node) -> Vec<TransportName> {
    let default = document.get("transport").and_then(|transport| transport.node.get("name"));
    let workloads = match document.get("workload").map(|entry| &entry.node.value) {
        Some(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    let own = workloads.iter().filter_map(|workload| workload.get("transport"));
    let names = default.into_iter().chain(own);
    names.filter_map(|entry| serde_json::from_value(entry.node.to_json()).ok()).collect()
}

/// Which presets there are for these.
fn applicable(used: &[TransportName]) -> String {
    let all = presets();
    let fit = all.iter().filter(|preset| used.iter().any(|name| preset.transports.contains(name)));
    let names: Vec<&str> = fit.map(|preset| preset.name.as_str()).collect();
    let of = listed(used.iter().map(|name| name.name()));
    if names.is_empty() { format!("there is none for {of}") } else { format!("for {of}: {}", names.join(", ")) }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A preset on its way into a document.
struct Filling<'a> {
    sources: &'a [Source],
    first: usize,
    preset: &'a str,
    errors: Vec<ScenarioError>,
}

impl Filling<'_> {
    fn merge(&mut self, into: &mut Node, keys: &Node, path: &Path) {
        let (Value::Table(entries), Value::Table(below)) = (&mut into.value, &keys.value) else { return };
        for key in below {
            let path = path.join(key.key.as_str());
            match entries.iter_mut().find(|entry| entry.key == key.key) {
                None => entries.push(key.clone()),
                Some(entry) if matches!(key.node.value, Value::Table(_)) => {
                    self.merge(&mut entry.node, &key.node, &path);
                }
                Some(entry) => self.check_given(entry, &key.node, &path),
            }
        }
    }

    /// What is given wins; but two presets cannot both, and a choice decides what the rest of a preset says.
    fn check_given(&mut self, given: &Entry, own: &Node, path: &Path) {
        let (value, wanted) = (given.node.to_json(), own.to_json());
        if value == wanted {
            return;
        }
        let by_preset = given.node.span.source.checked_sub(self.first).map(|index| FILES[index].0);
        let (message, hint) = match by_preset {
            Some(other) => {
                (format!("{other:?} has {value}, and {:?} has {wanted}", self.preset), format!("give {path} yourself"))
            }
            None if CHOICES.contains(&path.to_string().as_str()) => (
                format!("preset {:?} is for {wanted}, not {value}", self.preset),
                format!("leave out {path}, or the preset"),
            ),
            None => return,
        };
        self.errors.push(ScenarioError::at(self.sources, &given.node.span, path, message).hint(Some(hint)));
    }
}

/// The presets as a section of the reference.
pub(super) fn reference() -> String {
    let mut text = "\
## Presets

For `transport.preset`. The keys of a preset are those of a scenario; `anabranch transports NAME` lists them, too, by transport.

| preset | transports | links of | what it is | source | keys |
|---|---|---|---|---|---|
"
    .to_owned();
    for preset in presets() {
        let TransportPreset { name, summary, source, transports, rate, keys } = preset;
        let (of, rate) =
            (transports.iter().map(|one| one.name()), rate.map_or("any rate".to_owned(), |r| r.to_string()));
        let mut lines = Vec::new();
        flatten("", &keys, &mut lines);
        let keys = lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join("<br>");
        let _ = writeln!(text, "| `{name}` | {} | {rate} | {summary} | {source} | {keys} |", listed(of));
    }
    text + "\n"
}

/// Dotted keys with their values, as on the command line.
fn flatten(path: &str, keys: &Json, lines: &mut Vec<String>) {
    match keys {
        Json::Object(table) if !table.is_empty() => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, lines);
            }
        }
        value => lines.push(format!("{path} = {value}")),
    }
}

impl Scenario {
    /// Presets whose rate is not that of the hosts' links.
    pub(super) fn misfits_of_presets(&self, graph: &Graph) -> Vec<Remark> {
        let names = &self.transport.preset.0;
        if names.is_empty() {
            return Vec::new();
        }
        let of_hosts = graph.links.iter().filter(|link| graph.is_host(link.a) || graph.is_host(link.b));
        let rates: Vec<Rate> = of_hosts.map(|link| link.rate).collect();
        let (Some(least), Some(most)) = (rates.iter().min(), rates.iter().max()) else { return Vec::new() };
        let fits = |rate: Rate| {
            let factor = |own: Rate| own.bps() as f64 / rate.bps().max(1) as f64;
            factor(*most) <= WITHIN && factor(*least) >= 1.0 / WITHIN
        };
        let remark = |preset: TransportPreset| {
            let rate = preset.rate.filter(|rate| !fits(*rate))?;
            let hosts = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let text = format!("{}: its numbers are for links of {rate}, and hosts have {hosts}", preset.name);
            let others = presets().into_iter().filter(|other| other.rate.is_some_and(fits));
            let others = others.filter(|other| other.transports.iter().any(|name| preset.transports.contains(name)));
            let others: Vec<String> = others.map(|other| other.name).collect();
            let own = "give those that depend on the rate yourself";
            let hint = if others.is_empty() { own.to_owned() } else { format!("{}, or {own}", others.join(", ")) };
            Some(Remark::new("transport.preset", text, &hint, true))
        };
        let named = presets().into_iter().filter(|preset| names.contains(&preset.name));
        named.filter_map(remark).collect()
    }
}

#[cfg(test)]
mod tests;
