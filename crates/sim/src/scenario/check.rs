//! Checks a document against the JSON Schema of a scenario.
//!
//! Decoding by serde stops at the first error and, inside tagged enums, forgets where it is. This walk finds every
//! unknown key, missing key, wrong type, unknown variant and malformed quantity, each with its place. It understands what
//! schemars writes for structs, options, lists, and plain, internally tagged and untagged enums; it is not a general
//! validator. What it lets through wrongly is still caught by serde.

use super::path::Path;
use super::suggest::nearest;
use super::tree::{Node, Value};
use super::window_rule::WindowRule;
use crate::fabric::buffer::BufferSize;
use crate::fabric::jitter::Jitter;
use anabranch_transport::{Bytes, Duration, Rate};
use serde_json::{Map, Value as Json};

/// Something wrong at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: Path,
    pub(super) kind: Kind,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// What is wrong: tells what to point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The value.
    Value,
    /// The key is unknown.
    UnknownKey,
    /// The key is not there.
    Missing,
}

/// A text that must read as a quantity: name of the schema, what to write, reader.
type Quantity = (&'static str, &'static str, fn(&str) -> Result<(), String>);

/// Types that are strings with a syntax of their own.
const QUANTITIES: &[Quantity] = &[
    ("Duration", "a time in quotes, like \"10us\"", |t| t.parse::<Duration>().map(drop).map_err(|e| e.to_string())),
    ("Rate", "a bit rate in quotes, like \"1Gbps\"", |t| t.parse::<Rate>().map(drop).map_err(|e| e.to_string())),
    ("Bytes", "a number of bytes in quotes, like \"1.5MB\"", |t| {
        t.parse::<Bytes>().map(drop).map_err(|e| e.to_string())
    }),
    ("WindowRule", "where windows come from, in quotes, like \"given\" or \"bdp\"", |t| {
        t.parse::<WindowRule>().map(drop)
    }),
    ("BufferSize", "a buffer size in quotes, like \"100 packets\" or \"150KB\"", |t| t.parse::<BufferSize>().map(drop)),
    ("Jitter", "a time or a number of packets in quotes, like \"1us\" or \"0.5 packets\"", |t| {
        t.parse::<Jitter>().map(drop)
    }),
];

/// Everything wrong with the document.
pub(super) fn check(document: &Node, schema: &Json) -> Vec<Finding> {
    let empty = Map::new();
    let defs = schema.get("$defs").and_then(Json::as_object).unwrap_or(&empty);
    let mut checker = Checker { defs, findings: Vec::new() };
    checker.check(document, schema, &Path::default());
    checker.findings
}

/// What a schema says, with references followed and parts put together.
#[derive(Default)]
struct Shape<'s> {
    /// Names of the definitions on the way.
    names: Vec<&'s str>,
    types: Vec<&'s str>,
    /// Allowed strings.
    values: Vec<&'s str>,
    properties: Vec<(&'s str, &'s Json)>,
    required: Vec<&'s str>,
    /// Whether other keys are an error, and the schema of those that are allowed.
    closed: bool,
    additional: Option<&'s Json>,
    /// One of these must hold.
    alternatives: Vec<&'s Json>,
    items: Option<&'s Json>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    multiple_of: Option<u64>,
}

struct Checker<'s> {
    defs: &'s Map<String, Json>,
    findings: Vec<Finding>,
}

impl<'s> Checker<'s> {
    fn gather(&self, schema: &'s Json, shape: &mut Shape<'s>) {
        let Some(map) = schema.as_object() else { return };
        let text = |key: &str| map.get(key).and_then(Json::as_str);
        if let Some(name) = text("$ref").and_then(|r| r.strip_prefix("#/$defs/"))
            && let Some(definition) = self.defs.get(name)
            && let Some((key, _)) = self.defs.get_key_value(name)
        {
            shape.names.push(key);
            self.gather(definition, shape);
        }
        for part in map.get("allOf").and_then(Json::as_array).into_iter().flatten() {
            self.gather(part, shape);
        }
        match map.get("type") {
            Some(Json::String(name)) => shape.types.push(name),
            Some(Json::Array(names)) => {
                shape.types.extend(names.iter().filter_map(Json::as_str).filter(|n| *n != "null"));
            }
            _ => {}
        }
        shape.values.extend(text("const"));
        shape.values.extend(map.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str));
        for (key, property) in map.get("properties").and_then(Json::as_object).into_iter().flatten() {
            shape.properties.push((key, property));
        }
        let required = map.get("required").and_then(Json::as_array);
        shape.required.extend(required.into_iter().flatten().filter_map(Json::as_str));
        for key in ["additionalProperties", "unevaluatedProperties"] {
            match map.get(key) {
                Some(Json::Bool(false)) => shape.closed = true,
                Some(other @ Json::Object(_)) => shape.additional = Some(other),
                _ => {}
            }
        }
        shape.items = shape.items.or(map.get("items"));
        shape.min_items = map.get("minItems").and_then(Json::as_u64).or(shape.min_items);
        shape.max_items = map.get("maxItems").and_then(Json::as_u64).or(shape.max_items);
        shape.minimum = map.get("minimum").and_then(Json::as_f64).or(shape.minimum);
        shape.maximum = map.get("maximum").and_then(Json::as_f64).or(shape.maximum).or(match text("format") {
            Some("uint8") => Some(f64::from(u8::MAX)),
            Some("uint16") => Some(f64::from(u16::MAX)),
            Some("uint32") => Some(f64::from(u32::MAX)),
            _ => None,
        });
        shape.multiple_of = map.get("multipleOf").and_then(Json::as_u64).or(shape.multiple_of);
        for key in ["oneOf", "anyOf"] {
            let Some(list) = map.get(key).and_then(Json::as_array) else { continue };
            let list: Vec<&Json> =
                list.iter().filter(|s| s.get("type").and_then(Json::as_str) != Some("null")).collect();
            let plain = |s: &&Json| s.get("const").is_some_and(Json::is_string) || s.get("enum").is_some();
            if list.len() == 1 || list.iter().all(plain) {
                for part in list {
                    self.gather(part, shape);
                }
            } else {
                shape.alternatives.extend(list);
            }
        }
    }

    fn shape(&self, schema: &'s Json) -> Shape<'s> {
        let mut shape = Shape::default();
        self.gather(schema, &mut shape);
        shape
    }

    fn find(&mut self, path: &Path, message: String, hint: Option<String>) {
        self.findings.push(Finding { path: path.clone(), kind: Kind::Value, message, hint });
    }

    fn find_missing(&mut self, path: Path, expected: &str, hint: Option<String>) {
        let message = format!("is missing; expected {expected}");
        self.findings.push(Finding { path, kind: Kind::Missing, message, hint });
    }

    fn check(&mut self, node: &Node, schema: &'s Json, path: &Path) {
        let mut shape = self.shape(schema);
        if let Some((_, expected, read)) = QUANTITIES.iter().find(|q| shape.names.contains(&q.0)) {
            match &node.value {
                Value::Str(text) => {
                    if let Err(message) = read(text) {
                        self.find(path, message, None);
                    }
                }
                other => self.find(path, format!("expected {expected}, found {}", describe(other)), None),
            }
            return;
        }
        if !shape.alternatives.is_empty() && !self.choose(node, &mut shape, path) {
            return;
        }
        if !shape.values.is_empty() && shape.properties.is_empty() {
            self.check_value(node, &shape, path);
        } else {
            self.check_type(node, &shape, path);
        }
    }

    /// Picks the alternative that is meant and adds it to the shape; false when there is nothing more to check.
    fn choose(&mut self, node: &Node, shape: &mut Shape<'s>, path: &Path) -> bool {
        let alternatives = std::mem::take(&mut shape.alternatives);
        if let Some(tag) = tag_of(&alternatives) {
            return self.choose_by_tag(node, &alternatives, tag, shape, path);
        }
        // Untagged: the first that fits, or else that of the right type with the fewest faults.
        let mut best: Option<Vec<Finding>> = None;
        let mut expected = Vec::new();
        for alternative in alternatives {
            let candidate = self.shape(alternative);
            expected.push(expectation(&candidate));
            if !fits(&node.value, &candidate) {
                continue;
            }
            let mut attempt = Checker { defs: self.defs, findings: Vec::new() };
            attempt.check(node, alternative, path);
            if best.as_ref().is_none_or(|b| attempt.findings.len() < b.len()) {
                best = Some(attempt.findings);
            }
        }
        if let Some(findings) = best {
            self.findings.extend(findings);
        } else {
            let message = format!("expected {}, found {}", expected.join(" or "), describe(&node.value));
            self.find(path, message, None);
        }
        false
    }

    fn choose_by_tag(
        &mut self,
        node: &Node,
        alternatives: &[&'s Json],
        tag: &'s str,
        shape: &mut Shape<'s>,
        path: &Path,
    ) -> bool {
        let variants: Vec<(&str, &'s Json)> =
            alternatives.iter().filter_map(|a| Some((a["properties"][tag]["const"].as_str()?, *a))).collect();
        let names = list(variants.iter().map(|v| v.0));
        let Value::Table(_) = &node.value else {
            let message = format!("expected a table with `{tag}`, found {}", describe(&node.value));
            let hint = match &node.value {
                Value::Str(text) if variants.iter().any(|v| v.0 == text) => Some(format!("{{ {tag} = {text:?} }}")),
                _ => None,
            };
            self.find(path, message, hint);
            return false;
        };
        let Some(entry) = node.get(tag) else {
            let near = match &node.value {
                Value::Table(entries) => nearest(tag, entries.iter().map(|e| e.key.as_str())).map(str::to_owned),
                _ => None,
            };
            let hint = near.map(|n| format!("did you mean `{tag}` by `{n}`?"));
            self.find_missing(path.join(tag), &format!("one of {names}"), hint);
            return false;
        };
        let Value::Str(text) = &entry.node.value else {
            let message = format!("expected one of {names}, found {}", describe(&entry.node.value));
            self.find(&path.join(tag), message, None);
            return false;
        };
        if let Some((_, chosen)) = variants.iter().find(|v| v.0 == text) {
            self.gather(chosen, shape);
            return true;
        }
        let hint = nearest(text, variants.iter().map(|v| v.0)).map(|n| format!("did you mean {n:?}?"));
        self.find(&path.join(tag), format!("unknown value {text:?}; expected one of {names}"), hint);
        false
    }

    fn check_value(&mut self, node: &Node, shape: &Shape<'s>, path: &Path) {
        let names = list(shape.values.iter().copied());
        match &node.value {
            Value::Str(text) if shape.values.contains(&text.as_str()) => {}
            Value::Str(text) => {
                let hint = nearest(text, shape.values.iter().copied()).map(|n| format!("did you mean {n:?}?"));
                self.find(path, format!("unknown value {text:?}; expected one of {names}"), hint);
            }
            other => self.find(path, format!("expected one of {names}, found {}", describe(other)), None),
        }
    }

    fn check_type(&mut self, node: &Node, shape: &Shape<'s>, path: &Path) {
        if !fits(&node.value, shape) {
            let hint = match (&node.value, shape.types.first()) {
                (Value::Str(text), Some(&("integer" | "number"))) if text.trim().parse::<f64>().is_ok() => {
                    Some(format!("without quotes: {}", text.trim()))
                }
                (Value::Str(text), Some(&"boolean")) if text == "true" || text == "false" => {
                    Some(format!("without quotes: {text}"))
                }
                (Value::Table(_), Some(&"array")) => {
                    path.0.last().map(|key| format!("write `[[{key}]]`, in double brackets"))
                }
                (_, Some(&"array")) => Some("write the values in square brackets".to_owned()),
                _ => None,
            };
            self.find(path, format!("expected {}, found {}", expectation(shape), describe(&node.value)), hint);
            return;
        }
        match &node.value {
            Value::Int(n) => {
                self.check_range(*n as f64, &n.to_string(), shape, path);
                if let Some(of) = shape.multiple_of.filter(|of| *of > 0 && n.unsigned_abs() % of != 0) {
                    let next = n.unsigned_abs().next_multiple_of(of);
                    let kind = if of == 2 { "even".to_owned() } else { format!("a multiple of {of}") };
                    self.find(path, format!("must be {kind}, not {n}"), Some(format!("the next is {next}")));
                }
            }
            Value::Float(x) if !x.is_finite() => self.find(path, format!("must be a finite number, not {x}"), None),
            Value::Float(x) => self.check_range(*x, &x.to_string(), shape, path),
            Value::Array(items) => {
                let count = items.len() as u64;
                let few = shape.min_items.filter(|min| count < *min).map(|min| format!("at least {min}"));
                let many = shape.max_items.filter(|max| count > *max).map(|max| format!("at most {max}"));
                if let Some(bound) = few.or(many) {
                    self.find(path, format!("expected {bound} elements, found {count}"), None);
                }
                for (i, item) in items.iter().enumerate() {
                    if let Some(schema) = shape.items {
                        self.check(item, schema, &path.join(i.to_string()));
                    }
                }
            }
            Value::Table(_) => self.check_table(node, shape, path),
            Value::Bool(_) | Value::Str(_) | Value::Datetime(_) => {}
        }
    }

    fn check_range(&mut self, x: f64, shown: &str, shape: &Shape<'s>, path: &Path) {
        if let Some(min) = shape.minimum.filter(|min| x < *min) {
            self.find(path, format!("must be at least {min}, not {shown}"), None);
        } else if let Some(max) = shape.maximum.filter(|max| x > *max) {
            self.find(path, format!("must be at most {max}, not {shown}"), None);
        }
    }

    fn check_table(&mut self, node: &Node, shape: &Shape<'s>, path: &Path) {
        let Value::Table(entries) = &node.value else { return };
        let known = || shape.properties.iter().map(|p| p.0);
        let mut suggested = Vec::new();
        let missing: Vec<&str> = shape.required.iter().copied().filter(|key| node.get(key).is_none()).collect();
        for entry in entries {
            let inner = path.join(entry.key.as_str());
            if let Some((_, schema)) = shape.properties.iter().find(|p| p.0 == entry.key) {
                self.check(&entry.node, schema, &inner);
            } else if let Some(schema) = shape.additional {
                self.check(&entry.node, schema, &inner);
            } else if shape.closed {
                // Missing keys are the first to be suggested: a slip in a required key is one mistake, not two.
                let near = nearest(&entry.key, missing.iter().copied()).or_else(|| nearest(&entry.key, known()));
                let mut names: Vec<&str> = known().collect();
                names.dedup();
                suggested.extend(near);
                let hint = elsewhere(&inner)
                    .or(near.map(|n| format!("did you mean `{n}`?")))
                    .or_else(|| self.deeper(&entry.key, shape, path));
                self.findings.push(Finding {
                    path: inner,
                    kind: Kind::UnknownKey,
                    message: format!("unknown key `{}`; expected one of {}", entry.key, names.join(", ")),
                    hint,
                });
            }
        }
        for key in missing.into_iter().filter(|key| !suggested.contains(key)) {
            if let Some((_, schema)) = shape.properties.iter().find(|p| p.0 == key) {
                let expected = expectation(&self.shape(schema));
                self.find_missing(path.join(key), &expected, None);
            }
        }
    }
}

/// Tables below that are searched for a key.
const DEPTH: usize = 2;

impl<'s> Checker<'s> {
    /// Where a key is that was written too far up: `transport.tcp.rto_min` for `transport.rto_min`.
    fn deeper(&self, key: &str, shape: &Shape<'s>, path: &Path) -> Option<String> {
        let mut homes = Vec::new();
        self.homes(key, shape, path, DEPTH, &mut homes);
        homes.sort();
        homes.dedup();
        (!homes.is_empty()).then(|| format!("it belongs to a table: {}", homes.join(", or ")))
    }

    fn homes(&self, key: &str, shape: &Shape<'s>, path: &Path, depth: usize, homes: &mut Vec<String>) {
        for (name, schema) in &shape.properties {
            let (inner, here) = (self.shape(schema), path.join(*name));
            let alternatives: Vec<Shape<'s>> = inner.alternatives.iter().map(|one| self.shape(one)).collect();
            for table in [&inner].into_iter().chain(&alternatives) {
                if table.properties.iter().any(|property| property.0 == key) {
                    homes.push(here.join(key).to_string());
                }
                if depth > 1 {
                    self.homes(key, table, &here, depth - 1, homes);
                }
            }
        }
    }
}

/// What says the same as a key that people look for where it is not.
fn elsewhere(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path.0.iter().map(String::as_str).collect();
    (parts == ["transport", "tcp", "congestion"])
        .then(|| "the transport's name is its congestion control: transport.name = \"cubic\"".to_owned())
}

/// The key by which tables choose among alternatives: a property with a constant in each.
fn tag_of<'s>(alternatives: &[&'s Json]) -> Option<&'s str> {
    let constants = |schema: &'s Json| {
        let properties = schema.get("properties").and_then(Json::as_object);
        properties
            .into_iter()
            .flatten()
            .filter(|(_, p)| p.get("const").is_some_and(Json::is_string))
            .map(|(k, _)| k.as_str())
    };
    let (first, rest) = alternatives.split_first()?;
    constants(first).find(|tag| rest.iter().all(|other| constants(other).any(|t| t == *tag)))
}

fn fits(value: &Value, shape: &Shape<'_>) -> bool {
    if QUANTITIES.iter().any(|q| shape.names.contains(&q.0)) {
        return matches!(value, Value::Str(_));
    }
    let fits_type = |name: &&str| match value {
        Value::Bool(_) => *name == "boolean",
        Value::Int(_) => *name == "integer" || *name == "number",
        Value::Float(_) => *name == "number",
        Value::Str(_) => *name == "string",
        Value::Array(_) => *name == "array",
        Value::Table(_) => *name == "object",
        Value::Datetime(_) => false,
    };
    shape.types.is_empty() || shape.types.iter().any(fits_type)
}

fn expectation(shape: &Shape<'_>) -> String {
    if let Some((_, expected, _)) = QUANTITIES.iter().find(|q| shape.names.contains(&q.0)) {
        return (*expected).to_owned();
    }
    if !shape.values.is_empty() && shape.properties.is_empty() {
        return format!("one of {}", list(shape.values.iter().copied()));
    }
    if let Some(tag) = tag_of(&shape.alternatives) {
        return format!("a table with `{tag}`");
    }
    let noun = |name: &&str| match *name {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "a table",
    };
    shape.types.iter().map(noun).collect::<Vec<_>>().join(" or ")
}

fn describe(value: &Value) -> String {
    match value {
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => format!("the number {n}"),
        Value::Float(x) => format!("the number {x}"),
        Value::Str(s) => format!("the string {s:?}"),
        Value::Datetime(d) => format!("the date {d}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")
}
