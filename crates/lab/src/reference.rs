//! The JSON Schema of a lab file, and the reference page made from it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::file::LabFile;

/// JSON Schema (2020-12) of a lab file, for editors.
pub fn schema() -> Value {
    schemars::schema_for!(LabFile).to_value()
}

/// The reference of lab files in Markdown: `docs/reference/lab.md`.
pub fn reference() -> String {
    let schema = schema();
    let mut page = INTRODUCTION.to_owned();
    table(&mut page, "Top level", &schema);
    for (heading, definition) in [
        ("`[hosts.NAME]`", "HostConfig"),
        ("`[files.NAME]`", "FileConfig"),
        ("`[[program]]`", "ProgramConfig"),
        ("`[[step]]`", "StepConfig"),
        ("`[[check]]`", "CheckConfig"),
    ] {
        table(&mut page, heading, &schema["$defs"][definition]);
    }
    page + PLACEHOLDERS
}

const INTRODUCTION: &str = "\
# Lab files

<!-- Generated from the format by `UPDATE=1 cargo test -p anabranch-lab reference`; do not edit. -->

A lab file says hosts around one switch, what runs in them, and what varies. `scdp lab FILE` runs it: [how to](../how-to/run-a-lab.md).

Quantities carry their unit, in quotes: times `\"10us\"` to `\"1.5s\"`, bit rates `\"100Mbps\"`, bytes `\"1.5MB\"` (powers of 1000) or `\"16MiB\"`
(powers of 1024).

Each run has a network of its own, which is gone after it. Hosts know each other's Ethernet addresses, so that no ARP request can be lost, and
have no IPv6. A link's `rate` holds for both directions: the switch limits what goes to the host, and the lab (with tbf, and 20 ms of queue)
what comes from it, unless `uplink` has the switch do both. No packet is larger than `mtu`: the kernel does not put several into one, unless `offload`
lets it.

";

const PLACEHOLDERS: &str = "\
## Placeholders

In commands and checks. A brace that is meant is written twice: `{{`.

| written | is |
|---|---|
| `{address}`, `{host}` | address and name of the host that the command runs in |
| `{dir}` | a folder of that host, empty at the beginning of each run. Commands start in it |
| `{NAME}`, `{NAME.dir}` | for a host: its address, and its folder |
| `{NAME}`, `{NAME.dir}` | for a file: its path, and the folder that it is alone in |
| `{NAME}` | for a variable: its text, which is split into words with the command |
| `{seed}` | the seed of the run |
| `{lab}` | the folder of the lab file, with a slash at its end |

Commands start without a shell: `[\"sh\", \"-c\", \"...\"]` where one is needed. `scdp` is the program that runs the lab.
";

/// One line for each key.
fn table(page: &mut String, heading: &str, schema: &Value) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let _ = writeln!(
        page,
        "## {heading}\n\n{}\n\n| key | type | default | meaning |\n|---|---|---|---|",
        description(schema)
    );
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let default = match &property["default"] {
            _ if required.contains(&key.as_str()) => "required".to_owned(),
            Value::Object(_) | Value::Array(_) | Value::Null => "-".to_owned(),
            Value::String(text) if text.is_empty() => "-".to_owned(),
            value => format!("`{value}`"),
        };
        let _ = writeln!(page, "| `{key}` | {} | {default} | {} |", kind(property), description(property));
    }
    page.push('\n');
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        let named = match name {
            "Duration" => "time",
            "Bytes" => "bytes",
            "Hosts" | "Words" => "text or list",
            _ => "table",
        };
        return named.to_owned();
    }
    if let Some(some) = schema["anyOf"].as_array().and_then(|any| any.iter().find(|any| any["type"] != "null")) {
        return kind(some);
    }
    let name = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("any");
    match name {
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" if schema["items"].get("$ref").is_none() => "list".to_owned(),
        "array" => "tables".to_owned(),
        "object" if schema["additionalProperties"].get("$ref").is_some() => "tables, by name".to_owned(),
        "object" => "table".to_owned(),
        other => other.to_owned(),
    }
}

#[test]
fn the_reference_is_what_the_format_says() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lab.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&page, reference()).expect("the repository can be written");
    }
    let kept = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(kept == reference(), "out of date: UPDATE=1 cargo test -p anabranch-lab reference");
}
