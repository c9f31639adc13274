//! The text of a lab file, and where in it a key is written.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::FileError;
use crate::suggest;

/// A lab file's name and text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    /// Decodes the whole text. The first error says its key and place.
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        let document = toml::Deserializer::parse(&self.text).map_err(|error| {
            let range = error.span();
            let written = range.clone().and_then(|range| self.text.get(range)).unwrap_or_default();
            // `time_limit = 10s`
            let quantity = written.starts_with(|c: char| c.is_ascii_digit()) && written.ends_with(char::is_alphabetic);
            FileError::new(&self.name, &self.text, range, "", format!("not TOML: {}", error.message()))
                .hint(quantity.then(|| format!("in quotes: {written:?}")))
        })?;
        serde_path_to_error::deserialize(document).map_err(|error| {
            let (key, inner) = (error.path().to_string(), error.inner());
            let key = if key == "." { String::new() } else { key };
            let (message, hint) = suggest::explained(inner.message());
            FileError::new(&self.name, &self.text, inner.span(), &key, message).hint(hint)
        })
    }

    /// An error about the value of a key: `["step", "0", "on"]`.
    pub(crate) fn error(&self, path: &[&str], message: impl Into<String>) -> FileError {
        FileError::new(&self.name, &self.text, self.locate(path), &dotted(path), message.into())
    }

    /// Where the value of a key is written; for a table with a heading its key; for what is not written, what is around it.
    fn locate(&self, path: &[&str]) -> Option<Range<usize>> {
        let document = DeTable::parse(&self.text).ok()?;
        let (mut table, mut list): (Option<&DeTable<'_>>, Option<&[Spanned<DeValue<'_>>]>) =
            (Some(document.get_ref()), None);
        let mut place = None;
        for part in path {
            let (key, value) = match (table, list) {
                (Some(table), _) => match table.iter().find(|(key, _)| key.get_ref() == part) {
                    Some((key, value)) => (Some(key.span()), value),
                    None => break,
                },
                (None, Some(list)) => match part.parse::<usize>().ok().and_then(|index| list.get(index)) {
                    Some(value) => (None, value),
                    None => break,
                },
                (None, None) => break,
            };
            (table, list) = match value.get_ref() {
                DeValue::Table(inner) => (Some(inner), None),
                DeValue::Array(items) => (None, Some(items.as_ref())),
                _ => (None, None),
            };
            let nested = table.is_some() || list.is_some();
            place = key.filter(|_| nested).or_else(|| Some(value.span()));
        }
        place
    }

    /// The keys of a table in the order of the file.
    pub(crate) fn keys(&self, table: &str) -> Vec<String> {
        let Ok(document) = DeTable::parse(&self.text) else { return Vec::new() };
        self.keys_of(document.get_ref().get(table))
    }

    /// The keys of a table in a table, in the order of the file.
    pub(crate) fn inner_keys(&self, table: &str, key: &str) -> Vec<String> {
        let Ok(document) = DeTable::parse(&self.text) else { return Vec::new() };
        match document.get_ref().get(table).map(Spanned::get_ref) {
            Some(DeValue::Table(outer)) => self.keys_of(outer.get(key)),
            _ => Vec::new(),
        }
    }

    #[allow(clippy::unused_self, reason = "beside the others")]
    fn keys_of(&self, value: Option<&Spanned<DeValue<'_>>>) -> Vec<String> {
        let Some(DeValue::Table(table)) = value.map(Spanned::get_ref) else { return Vec::new() };
        let mut keys: Vec<(usize, String)> =
            table.iter().map(|(key, _)| (key.span().start, key.get_ref().to_string())).collect();
        keys.sort();
        keys.into_iter().map(|(_, key)| key).collect()
    }
}

/// A path as people write it: `step[0].on`, `sweep."switch.loss"`.
pub(crate) fn dotted(path: &[&str]) -> String {
    let mut text = String::new();
    for part in path {
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let dot = if text.is_empty() { "" } else { "." };
        if !dot.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            text.extend(["[", part, "]"]);
        } else if plain {
            text.extend([dot, part]);
        } else {
            text.extend([dot, "\"", part, "\""]);
        }
    }
    text
}
