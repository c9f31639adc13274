//! What is wrong with a workload, and where.

use anabranch_job::JobError;
use std::fmt;
use std::path::{Path, PathBuf};

/// Something wrong with one value of a configuration, or with a file that it names.
///
/// The key is relative to whoever reports it (`senders`); each level above puts its own name in front
/// (`placement.senders`), so that the scenario file can be pointed at in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Dotted key, relative.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// A suggestion.
    pub hint: Option<String>,
    /// Allowed, but probably not what was meant.
    pub warning: bool,
    /// The data file and its line (0: the file as a whole), where the fault is in one.
    pub at: Option<(PathBuf, usize)>,
}

impl Fault {
    /// A fault of the value at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), hint: None, warning: false, at: None }
    }

    /// A fault in line `line` (from 1; 0 for the whole file) of a data file.
    pub fn in_file(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { at: Some((file.to_owned(), line)), ..Self::new("", message) }
    }

    /// What is wrong with the file of a job.
    pub(crate) fn of_job(file: &Path, error: JobError) -> Self {
        Self { hint: error.hint, ..Self::in_file(file, error.line, error.message) }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Makes it a warning.
    #[must_use]
    pub fn warn(mut self) -> Self {
        self.warning = true;
        self
    }

    /// The same fault seen from the table `parent` in which it lies.
    #[must_use]
    pub fn under(mut self, parent: &str) -> Self {
        self.key = match (parent.is_empty(), self.key.is_empty()) {
            (true, _) => self.key,
            (false, true) => parent.to_owned(),
            (false, false) => format!("{parent}.{}", self.key),
        };
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.at {
            write!(f, "{}", file.display())?;
            if *line > 0 {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// A workload that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workload {workload}: {fault}")]
pub struct WorkloadError {
    /// Which `[[workload]]`, from 0.
    pub workload: usize,
    /// What is wrong; the key is relative to the `[[workload]]`.
    pub fault: Fault,
}
