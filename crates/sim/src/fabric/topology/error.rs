//! Errors of topologies: what is wrong, where, and what was expected.

use crate::fabric::graph::GraphError;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Why no fabric can be built.
#[derive(Debug, Error)]
pub enum TopologyError {
    /// A field of the configuration has a value that cannot be used.
    #[error("`{field}` is {found}: expected {expected}{hint}")]
    Field {
        /// Key, dotted when nested: `layers.core.rate`.
        field: String,
        /// The value as given.
        found: String,
        /// What would be right.
        expected: String,
        /// What to do about it.
        hint: Hint,
    },
    /// The topology file has a line that cannot be used.
    #[error("{}:{line}: {found}: expected {expected}{hint}", path.display())]
    Line {
        /// The topology file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What the line says.
        found: String,
        /// What would be right.
        expected: String,
        /// What to do about it.
        hint: Hint,
    },
    /// The topology file cannot be read.
    #[error("cannot read the topology file {}: {source}{hint}", path.display())]
    Read {
        /// The file looked for.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
        /// What to do about it.
        hint: Hint,
    },
    /// The fabric breaks a rule that every fabric keeps.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// A suggestion; shown on a line of its own after the error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint(pub Option<String>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self(Some(text.into()))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

impl TopologyError {
    /// A field without a hint.
    pub fn field(field: impl Into<String>, found: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self::Field { field: field.into(), found: found.to_string(), expected: expected.into(), hint: Hint::default() }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<Hint>) -> Self {
        match &mut self {
            Self::Field { hint, .. } | Self::Line { hint, .. } | Self::Read { hint, .. } => *hint = text.into(),
            Self::Graph(_) => {}
        }
        self
    }

    /// The key at fault, if the error is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Field { field, .. } => Some(field),
            _ => None,
        }
    }
}
