//! Errors that say where, what and what to do instead.

use super::path::Path;
use std::fmt;
use std::ops::Range;

/// A text that scenario values come from: the file, one override of the command line, or a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

/// A place in one of the sources of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// 0: the file; above: an override of the command line, or a preset.
    pub(super) source: usize,
    /// Bytes.
    pub(super) range: Range<usize>,
}

/// One thing wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// File name, `command line`, or `preset NAME`.
    pub file: String,
    /// Line, from 1; 0 where the error belongs to no line.
    pub line: usize,
    /// Column in characters, from 1; 0 where the error belongs to no line.
    pub column: usize,
    /// Dotted key, `workload[1].sizes.law`; empty for errors of syntax.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// A suggestion.
    pub hint: Option<String>,
    /// Allowed, but probably not what was meant.
    pub warning: bool,
    /// The line as it is written.
    snippet: String,
    /// How many characters of it are meant.
    width: usize,
}

impl ScenarioError {
    /// An error of a file as a whole.
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            key: String::new(),
            message: message.into(),
            hint: None,
            warning: false,
            snippet: String::new(),
            width: 0,
        }
    }

    /// An error at a place.
    pub(super) fn at(sources: &[Source], span: &Span, path: &Path, message: impl Into<String>) -> Self {
        let source = &sources[span.source];
        let start = floor_boundary(&source.text, span.range.start);
        let end = floor_boundary(&source.text, span.range.end.max(start));
        if span.range == (0..0) {
            // The document as a whole: its first line says nothing.
            return Self { line: 1, column: 1, key: path.to_string(), ..Self::of_file(&source.name, message) };
        }
        let line_start = source.text[..start].rfind('\n').map_or(0, |n| n + 1);
        let line_end = source.text[start..].find('\n').map_or(source.text.len(), |n| start + n);
        Self {
            line: source.text[..start].matches('\n').count() + 1,
            column: source.text[line_start..start].chars().count() + 1,
            key: path.to_string(),
            snippet: source.text[line_start..line_end].trim_end().to_owned(),
            width: source.text[start..end.min(line_end).max(start)].chars().count().max(1),
            ..Self::of_file(&source.name, message)
        }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

impl fmt::Display for ScenarioError {
    /// ```text
    /// error: demo.toml:12:8: transport.name: unknown value "scpd"; expected one of "scdp", "ndp"
    ///    |
    /// 12 | name = "scpd"
    ///    |        ^^^^^^
    /// hint: did you mean "scdp"?
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.warning { "warning" } else { "error" }, self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        if !self.snippet.is_empty() {
            let number = self.line.to_string();
            let gutter = " ".repeat(number.len());
            // Tabs stay tabs, so that the marker stays below what it marks.
            let before = self.snippet.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' });
            let before: String = before.collect();
            write!(f, "\n{gutter} |\n{number} | {}\n{gutter} | {before}{}", self.snippet, "^".repeat(self.width))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// Everything wrong with a scenario, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i > 0 { "\n\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}
