//! The JSON Schema of a scenario, and the reference page made from it.

use super::Scenario;
use crate::workload::built_in_table;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// JSON Schema (2020-12) of a scenario file, for editors and for other tools.
pub fn schema() -> Json {
    schemars::schema_for!(Scenario).to_value()
}

/// The reference of the scenario format in Markdown: `docs/reference/scenario.md`.
pub fn reference() -> String {
    let schema = schema();
    let empty = Map::new();
    let defs = schema["$defs"].as_object().unwrap_or(&empty);
    let mut page = Page { defs, done: BTreeSet::new(), text: INTRODUCTION.to_owned() };
    page.table("Top level", &schema, None, 2);
    for (key, property) in properties(&schema) {
        let (list, inner) = match property.get("items") {
            Some(items) if property["type"] == "array" => (true, items),
            _ => (false, property),
        };
        let definition = page.follow(inner);
        let structured = definition.get("properties").is_some() || definition.get("oneOf").is_some();
        if structured && key != "sweep" {
            let heading = if list { format!("`[[{key}]]`") } else { format!("`[{key}]`") };
            page.section(&heading, key, definition, 2);
        }
    }
    page.text + &super::presets::reference() + BUILT_IN + &built_in_table()
}

const BUILT_IN: &str = "\
## Distributions that are built in

For `sizes = { law = \"cdf\", name = ... }`. *linear*: sizes lie on straight lines between the points; *step*: only the sizes
of the points occur. Several digitisations of one measurement differ, so say which one was used.

";

const INTRODUCTION: &str = "\
# Scenario files

<!-- Generated from the JSON Schema by `UPDATE=1 cargo test -p anabranch-sim scenario_reference`; do not edit. -->

A scenario is one TOML file. `anabranch run FILE [key=value ...]` runs it; `key` is a dotted key of this page and `value`
is TOML, or else a string: `transport.name=ndp`, `workload.0.sessions=100`, `workload.web.arrivals.load=0.8` (an element of
a list of tables is named by its index or by its `name`).

Quantities carry their unit, in quotes:

| type | written | units |
|---|---|---|
| time | `\"10us\"`, `\"1.5 ms\"` | ps, ns, us, ms, s |
| bit rate | `\"1Gbps\"` | bps, kbps, Mbps, Gbps, Tbps |
| bytes | `\"1.5MB\"` | B, KB, MB, GB, TB (powers of 1000); KiB, MiB, GiB (powers of 1024) |
| buffer size | `\"100 packets\"`, `\"150KB\"`, `\"unlimited\"`, `\"auto\"` | packets, or bytes |

";

struct Page<'s> {
    defs: &'s Map<String, Json>,
    /// Definitions that have a section of their own already: topologies share theirs.
    done: BTreeSet<String>,
    text: String,
}

fn properties(schema: &Json) -> impl Iterator<Item = (&String, &Json)> {
    schema.get("properties").and_then(Json::as_object).into_iter().flatten()
}

fn description(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

impl<'s> Page<'s> {
    fn definition(&self, schema: &Json) -> Option<(&'s str, &'s Json)> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.defs.get_key_value(name).map(|(key, value)| (key.as_str(), value))
    }

    /// The schema behind references and `Option`.
    fn follow(&self, schema: &'s Json) -> &'s Json {
        if let Some((_, definition)) = self.definition(schema) {
            return self.follow(definition);
        }
        match optional(schema) {
            Some(inner) => self.follow(inner),
            None => schema,
        }
    }

    /// A struct, or an enum of tables with a table for each variant, and then the structs inside.
    fn section(&mut self, heading: &str, path: &str, schema: &'s Json, level: usize) {
        let alternatives: Vec<&Json> = schema.get("oneOf").and_then(Json::as_array).into_iter().flatten().collect();
        let tables: Vec<&Json> = alternatives.iter().copied().filter(|a| a.get("properties").is_some()).collect();
        if tables.is_empty() {
            self.table(heading, schema, Some(&description(schema)), level);
        } else {
            let _ = writeln!(self.text, "{} {heading}\n\n{}\n", "#".repeat(level), description(schema));
            for variant in tables {
                let tag = properties(variant).find_map(|(key, p)| Some((key, p.get("const")?.as_str()?)));
                let Some((key, value)) = tag else { continue };
                self.table(&format!("`{key} = \"{value}\"`"), variant, Some(&description(variant)), level + 1);
                self.nested(path, variant, level + 2);
            }
        }
        self.nested(path, schema, level + 1);
    }

    /// The structs inside a struct, those of lists among them.
    fn nested(&mut self, path: &str, schema: &'s Json, level: usize) {
        for (key, property) in properties(schema) {
            let listed = self.follow(property).get("items").filter(|items| items.is_object());
            let property = listed.unwrap_or(property);
            let inner = self.follow(property);
            let tagged = inner.get("oneOf").and_then(Json::as_array).is_some_and(|a| a[0].get("properties").is_some());
            if inner.get("properties").is_none() && !tagged {
                continue;
            }
            let name = self.definition(optional(property).unwrap_or(property)).map(|d| d.0);
            if name.is_none_or(|name| self.done.insert(name.to_owned())) {
                let path = format!("{path}.{key}");
                let heading = if listed.is_some() { format!("`[[{path}]]`") } else { format!("`{path}`") };
                self.section(&heading, &path, inner, level);
            }
        }
    }

    /// One line for each key.
    fn table(&mut self, heading: &str, schema: &'s Json, text: Option<&str>, level: usize) {
        let _ = writeln!(self.text, "{} {heading}\n", "#".repeat(level));
        if let Some(text) = text.filter(|t| !t.is_empty()) {
            let _ = writeln!(self.text, "{text}\n");
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let rows: Vec<String> = properties(schema)
            .filter(|(_, property)| property.get("const").is_none())
            .map(|(key, property)| {
                let default = match property.get("default") {
                    _ if required.contains(&key.as_str()) => "required".to_owned(),
                    Some(Json::Object(_) | Json::Null) | None => "-".to_owned(),
                    Some(value) => format!("`{value}`"),
                };
                let mut meaning = description(property);
                let variants = variants(self.follow(property));
                if !variants.is_empty() {
                    meaning = format!("{meaning} {variants}");
                }
                format!("| `{key}` | {} | {default} | {} |", self.type_of(property), meaning.trim())
            })
            .collect();
        if rows.is_empty() {
            self.text.push_str("No further keys.\n\n");
            return;
        }
        let _ = writeln!(self.text, "| key | type | default | meaning |\n|---|---|---|---|\n{}\n", rows.join("\n"));
    }

    fn type_of(&self, schema: &'s Json) -> String {
        if let Some((name, definition)) = self.definition(schema) {
            return match name {
                "Duration" => "time".to_owned(),
                "Rate" => "bit rate".to_owned(),
                "Bytes" => "bytes".to_owned(),
                "BufferSize" => "buffer size".to_owned(),
                "Jitter" => "time or packets".to_owned(),
                "WindowRule" => "given or bdp".to_owned(),
                "PresetNames" => "name or list of names".to_owned(),
                _ => self.type_of(definition),
            };
        }
        if let Some(inner) = optional(schema) {
            return self.type_of(inner);
        }
        if schema.get("oneOf").is_some() || schema.get("enum").is_some() {
            let table = schema["oneOf"][0].get("properties").is_some();
            return if table { "table" } else { "one of" }.to_owned();
        }
        if let Some(alternatives) = schema.get("anyOf").and_then(Json::as_array) {
            return alternatives.iter().map(|a| self.type_of(a)).collect::<Vec<_>>().join(" or ");
        }
        let name = match &schema["type"] {
            Json::Array(names) => names.iter().filter_map(Json::as_str).find(|n| *n != "null"),
            name => name.as_str(),
        };
        match name {
            Some("integer") => "whole number".to_owned(),
            Some("array") => format!("list of {}", plural(&self.type_of(&schema["items"]))),
            Some("object") => "table".to_owned(),
            Some(other) => other.to_owned(),
            None => "any".to_owned(),
        }
    }
}

/// The values of a plain enum with their meaning.
fn variants(schema: &Json) -> String {
    let alternatives = schema.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let shown = |a: &Json| Some(format!("`{}`: {}", a.get("const")?.as_str()?, lower_first(&description(a))));
    alternatives.filter_map(shown).collect::<Vec<_>>().join(" ")
}

/// The schema inside an `Option`.
fn optional(schema: &Json) -> Option<&Json> {
    let alternatives = schema.get("anyOf")?.as_array()?;
    let mut some = alternatives.iter().filter(|a| a["type"] != "null");
    some.next().filter(|_| some.next().is_none())
}

fn plural(name: &str) -> String {
    match name.strip_prefix("list of ") {
        Some(rest) => format!("lists of {rest}"),
        None if name.ends_with('s') => name.to_owned(),
        None => format!("{name}s"),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    // Acronyms and symbols of formulas keep their capitals.
    let symbol = !text.starts_with("A ") && text.chars().nth(1) == Some(' ');
    let acronym = symbol || text.chars().nth(1).is_some_and(char::is_uppercase);
    chars.next().map_or_else(String::new, |first| {
        let first = if acronym { first.to_string() } else { first.to_lowercase().to_string() };
        first + chars.as_str()
    })
}
