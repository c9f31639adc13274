//! A TOML document whose every key and value remembers where it was written.

use super::error::{ScenarioError, Source, Span};
use super::path::Path;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) span: Span,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Datetime(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key and its value; tables keep the order of the file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) node: Node,
}

impl Node {
    /// Reads a document, `sources[source]`. All errors of syntax are collected.
    pub(super) fn parse(sources: &[Source], source: usize) -> Result<Self, Vec<ScenarioError>> {
        let text = &sources[source].text;
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut found: Vec<ScenarioError> = errors
            .iter()
            .map(|e| {
                let span = Span { source, range: e.span().unwrap_or(0..0) };
                let written = text.get(span.range.clone()).unwrap_or_default();
                let quantity =
                    written.starts_with(|c: char| c.is_ascii_digit()) && written.ends_with(char::is_alphabetic);
                ScenarioError::at(sources, &span, &Path::default(), format!("not TOML: {}", e.message()))
                    .hint(quantity.then(|| format!("in quotes: {written:?}")))
            })
            .collect();
        if found.is_empty() {
            let range = table.span();
            let mut overflow = Vec::new();
            let node = convert_table(table.into_inner(), range, source, 0, &mut overflow);
            if overflow.is_empty() {
                return Ok(node);
            }
            found = overflow
                .into_iter()
                .map(|span| ScenarioError::at(sources, &span, &Path::default(), "the number is too large"))
                .collect();
        }
        Err(found)
    }

    /// Reads the value of an override, `text[from..]` of source `source`: TOML, or else a string.
    pub(super) fn parse_value(text: &str, from: usize, source: usize) -> Self {
        let whole = Span { source, range: from..text.len() };
        let mut overflow = Vec::new();
        if let Ok(value) = DeValue::parse(&text[from..]) {
            let node = convert(value, source, from, &mut overflow);
            // `2024-01-01` is a string here: no key of a scenario is a date.
            if overflow.is_empty() && !matches!(node.value, Value::Datetime(_)) {
                return Self { span: whole, ..node };
            }
        }
        Self { value: Value::Str(text[from..].to_owned()), span: whole }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key),
            _ => None,
        }
    }

    /// The index that one part of a path means in a list: a number, or the `name` of one of its tables.
    fn index(items: &[Self], part: &str) -> Option<usize> {
        let named = |item: &Self| matches!(item.get("name").map(|e| &e.node.value), Some(Value::Str(n)) if n == part);
        part.parse().ok().filter(|i| *i < items.len()).or_else(|| items.iter().position(named))
    }

    /// The path with names of list elements replaced by indices, as far as the tree goes.
    pub(super) fn canonical(&self, path: &Path) -> Path {
        let mut node = Some(self);
        let parts = path.0.iter().map(|part| match node {
            Some(Self { value: Value::Array(items), .. }) => {
                let index = Self::index(items, part);
                node = index.map(|i| &items[i]);
                index.map_or_else(|| part.clone(), |i| i.to_string())
            }
            Some(table) => {
                node = table.get(part).map(|e| &e.node);
                part.clone()
            }
            None => part.clone(),
        });
        Path(parts.collect())
    }

    /// Where the value at `path` is written; for a table its key; for what does not exist, the nearest table around it.
    pub(super) fn locate(&self, path: &Path) -> Span {
        let mut node = self;
        // A document as a whole is best pointed at by its first line.
        let mut place = Span { source: self.span.source, range: 0..0 };
        for part in &path.0 {
            if let Value::Array(items) = &node.value {
                let Some(index) = Self::index(items, part) else { return place };
                node = &items[index];
                place = node.span.clone();
            } else {
                let Some(entry) = node.get(part) else { return place };
                node = &entry.node;
                let table = matches!(node.value, Value::Table(_));
                place = if table { entry.key_span.clone() } else { node.span.clone() };
            }
        }
        place
    }

    /// Where the key at `path` is written.
    pub(super) fn locate_key(&self, path: &Path) -> Span {
        let mut node = self;
        let mut place = None;
        for part in &path.0 {
            match &node.value {
                Value::Array(items) => match Self::index(items, part) {
                    Some(index) => node = &items[index],
                    None => return self.locate(path),
                },
                _ => match node.get(part) {
                    Some(entry) => {
                        place = Some(entry.key_span.clone());
                        node = &entry.node;
                    }
                    None => return self.locate(path),
                },
            }
        }
        place.unwrap_or_else(|| self.locate(path))
    }

    /// Sets the value at `path`, making the tables on the way; `key_span` says where the key was written.
    pub(super) fn set(&mut self, path: &Path, key_span: &Span, value: Self) -> Result<(), String> {
        let mut node = self;
        for (depth, part) in path.0.iter().enumerate() {
            let so_far = Path(path.0[..depth].to_vec());
            node = match &mut node.value {
                Value::Array(items) => {
                    let count = items.len();
                    let Some(index) = Self::index(items, part) else {
                        return Err(format!("`{so_far}` has {count} elements, and none is numbered or named {part:?}"));
                    };
                    &mut items[index]
                }
                Value::Table(entries) => {
                    let position = entries.iter().position(|e| e.key == *part).unwrap_or_else(|| {
                        let table = Self { value: Value::Table(Vec::new()), span: key_span.clone() };
                        entries.push(Entry { key: part.clone(), key_span: key_span.clone(), node: table });
                        entries.len() - 1
                    });
                    &mut entries[position].node
                }
                _ => return Err(format!("`{so_far}` is not a table, so it has no `{part}`")),
            };
        }
        *node = value;
        Ok(())
    }

    /// Takes a top-level key out.
    pub(super) fn remove(&mut self, key: &str) -> Option<Entry> {
        match &mut self.value {
            Value::Table(entries) => entries.iter().position(|e| e.key == key).map(|i| entries.remove(i)),
            _ => None,
        }
    }

    /// As JSON, for decoding. Numbers that JSON does not have become null; the check against the schema refuses them.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Bool(b) => (*b).into(),
            Value::Int(n) => (*n).into(),
            Value::Float(x) => (*x).into(),
            Value::Str(s) | Value::Datetime(s) => s.as_str().into(),
            Value::Array(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(entries) => {
                serde_json::Value::Object(entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect())
            }
        }
    }
}

fn shift(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// `by` moves the places: the text of an override's value starts within the override.
fn convert(value: Spanned<DeValue<'_>>, source: usize, by: usize, overflow: &mut Vec<Span>) -> Node {
    let span = Span { source, range: shift(&value.span(), by) };
    let value = match value.into_inner() {
        DeValue::String(s) => Value::Str(s.into_owned()),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Datetime(d) => Value::Datetime(d.to_string()),
        DeValue::Integer(n) => Value::Int(i64::from_str_radix(n.as_str(), n.radix()).unwrap_or_else(|_| {
            overflow.push(span.clone());
            0
        })),
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(items) => {
            Value::Array(items.into_iter().map(|item| convert(item, source, by, overflow)).collect())
        }
        DeValue::Table(table) => return convert_table(table, span.range, source, by, overflow),
    };
    Node { value, span }
}

/// `range` is already moved by `by` for values, and `by` is 0 for documents.
fn convert_table(table: DeTable<'_>, range: Range<usize>, source: usize, by: usize, overflow: &mut Vec<Span>) -> Node {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: Span { source, range: shift(&key.span(), by) },
            key: key.into_inner().into_owned(),
            node: convert(value, source, by, overflow),
        })
        .collect();
    // The parser sorts keys by name; the order of the file is that of a sweep.
    entries.sort_by_key(|e| e.key_span.range.start);
    Node { value: Value::Table(entries), span: Span { source, range } }
}
