//! What is wrong with a job.

use thiserror::Error;

/// What is wrong with a job or the file that describes it, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JobError {
    /// Line of the file, from 1; 0: no single line.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
    /// A suggestion.
    pub hint: Option<String>,
}

impl JobError {
    /// Something wrong in a line, from 1; 0: in the file as a whole.
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), hint: None }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
