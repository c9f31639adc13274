//! Every key of a scenario does something.
//!
//! `keys.toml` says for each key of the schema in which scenario another value makes another run: other events, other
//! tables, other series, or other captures. A key that is missing there fails, and so does one whose value changes nothing.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::scenario::{parse, schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// `keys.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Probes {
    /// Keys that change no run on purpose, and why.
    without_effect: BTreeMap<String, String>,
    /// Scenarios, by name.
    scenario: BTreeMap<String, Scene>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    text: String,
    /// Key as [`keys`] writes it, its other value, and what else is set in both runs.
    probes: Vec<Vec<String>>,
}

/// The keys of the schema that hold values, not tables: `switch.weight`, `workload.sizes(fixed).size`.
fn keys() -> BTreeSet<String> {
    let schema = schema();
    let mut keys = BTreeSet::new();
    walk(&schema, schema["$defs"].as_object().expect("definitions"), "", &mut keys);
    keys
}

fn walk(schema: &Json, defs: &Map<String, Json>, path: &str, keys: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
        return walk(&defs[name], defs, path, keys);
    }
    let listed = |key: &str| schema[key].as_array().into_iter().flatten().filter(|s| s["type"] != "null");
    let options: Vec<&Json> = listed("anyOf").chain(listed("oneOf")).collect();
    if let [only] = options[..]
        && tag(only).is_none()
    {
        return walk(only, defs, path, keys);
    }
    if schema["type"] == "array" && !schema["items"]["$ref"].is_null() && is_table(&schema["items"], defs) {
        return walk(&schema["items"], defs, path, keys);
    }
    let mut leaf = true;
    for option in options.iter().filter(|option| is_table(option, defs)) {
        leaf = false;
        walk(option, defs, &tag(option).map_or(path.to_owned(), |tag| format!("{path}({tag})")), keys);
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        leaf = false;
        if property["const"].is_null() {
            let dot = if path.is_empty() { "" } else { "." };
            walk(property, defs, &format!("{path}{dot}{key}"), keys);
        }
    }
    if leaf && !path.ends_with(')') {
        keys.insert(path.to_owned());
    }
}

/// Whether a schema is that of tables with fixed keys, or of a choice among such.
fn is_table(schema: &Json, defs: &Map<String, Json>) -> bool {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
        return is_table(&defs[name], defs);
    }
    let choices = schema["oneOf"].as_array();
    schema["properties"].is_object() || choices.is_some_and(|all| all.iter().all(|one| tag(one).is_some()))
}

/// What tells a table from the others of a choice.
fn tag(table: &Json) -> Option<&str> {
    table["properties"].as_object().into_iter().flatten().find_map(|(_, p)| p["const"].as_str())
}

/// As a dotted key: `workload.sizes(fixed).size` is `workload.0.sizes.size`.
fn dotted(key: &str) -> String {
    let mut plain = String::new();
    for part in key.split('.') {
        let part = part.split('(').next().unwrap_or_default();
        plain += if plain.is_empty() { "" } else { "." };
        plain += part;
        let of_controllers = ["schedule", "thresholds", "buffers", "weights", "admission"];
        let listed = plain.strip_prefix("controller.0.").is_some_and(|key| of_controllers.contains(&key));
        if listed || ["workload", "failure", "controller", "workload.0.job.slow"].contains(&plain.as_str()) {
            plain += ".0";
        }
    }
    plain
}

/// All that the runs of a scenario leave behind, or what is wrong with it.
fn outcome(text: &str, overrides: &[String]) -> Result<String, String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys.toml");
    let plan = parse(file, text, overrides).map_err(|e| e.to_string())?;
    let mut all = String::new();
    for run in &plan.runs {
        let mut network = plan.network(run).map_err(|e| e.to_string())?;
        let captures = plan.captures(run, network.graph()).map_err(|e| e.to_string())?;
        let ending = network.run(|_| true);
        let record = RunRecord::take(&mut network, ending);
        let RunRecord { fingerprint, ending, flows, links, operations, series, .. } = record;
        let _ = writeln!(
            all,
            "{fingerprint:016x} {ending:?}\n{flows:?}\n{links:?}\n{operations:?}\n{series:?}\n{captures:?}"
        );
    }
    Ok(all)
}

/// Keys without which their scenario is no run: that there is one with them shows that they matter.
const IMPOSSIBLE_WITHOUT: &[&str] = &[
    "failure.switch",
    "fabric(file).parallel_links",
    "fabric(file).host_links",
    "workload.trace.format",
    "workload.job.format",
    "workload.job.ranks",
];

#[test]
fn every_key_of_a_scenario_changes_some_run() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys.toml");
    let probes: Probes = toml::from_str(&std::fs::read_to_string(&file).expect("readable")).expect("as told above");
    let keys = keys();
    let mut wrong = Vec::new();
    let mut probed: BTreeSet<&str> = probes.without_effect.keys().map(String::as_str).collect();
    for (name, scene) in &probes.scenario {
        let mut plain: BTreeMap<Vec<String>, Result<String, String>> = BTreeMap::new();
        for probe in &scene.probes {
            let [key, value, common @ ..] = &probe[..] else { panic!("{name}: {probe:?} needs a key and a value") };
            probed.insert(key);
            let mut changed = common.to_vec();
            changed.push(format!("{}={value}", dotted(key)));
            let before = plain.entry(common.to_vec()).or_insert_with(|| outcome(&scene.text, common));
            match (before, outcome(&scene.text, &changed)) {
                (Ok(before), Ok(after)) if *before == after => {
                    wrong.push(format!("{name}: {key} = {value} with {common:?} changes nothing"));
                }
                (Ok(_), Ok(_)) => {}
                (Err(_), Ok(_)) if IMPOSSIBLE_WITHOUT.contains(&key.as_str()) => {}
                (Err(error), Ok(_)) => wrong.push(format!("{name}: without {key} = {value}: {error}")),
                (_, Err(error)) => wrong.push(format!("{name}: {key} = {value}: {error}")),
            }
        }
    }
    let missing = keys.iter().filter(|key| !probed.contains(key.as_str()));
    wrong.extend(missing.map(|key| format!("{key}: nothing in tests/keys.toml shows what it does")));
    wrong.extend(probed.iter().filter(|key| !keys.contains(**key)).map(|key| format!("{key}: is no key")));
    assert!(wrong.is_empty(), "{} keys of {}:\n{}", wrong.len(), keys.len(), wrong.join("\n"));
}
