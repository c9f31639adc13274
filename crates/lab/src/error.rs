//! Why a lab does not run.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// Something wrong in a lab file: where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file as it was named.
    pub file: String,
    /// None where no place is to blame.
    pub place: Option<Box<Place>>,
    /// Dotted key, `step[0].on`; empty for errors of syntax.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// A suggestion.
    pub hint: Option<String>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line as it is written.
    pub snippet: String,
    /// How many characters of it are meant.
    pub width: usize,
}

impl FileError {
    /// An error at `range` (bytes) of a text.
    pub(crate) fn new(file: &str, text: &str, range: Option<Range<usize>>, key: &str, message: String) -> Self {
        let floor = |index: usize| (0..=index.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let place = range.filter(|range| *range != (0..0)).map(|range| {
            let (start, end) = (floor(range.start), floor(range.end.max(range.start)));
            let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let to = text[start..].find('\n').map_or(text.len(), |at| start + at);
            Box::new(Place {
                line: text[..start].matches('\n').count() + 1,
                column: text[from..start].chars().count() + 1,
                snippet: text[from..to].trim_end().to_owned(),
                width: text[start..end.clamp(start, to)].chars().count().max(1),
            })
        });
        Self { file: file.to_owned(), place, key: key.to_owned(), message, hint: None }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

impl fmt::Display for FileError {
    /// ```text
    /// demo.toml:12:6: step[0].on: there is no host "d"
    ///    |
    /// 12 | on = "d"
    ///    |      ^^^
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        let Some(place) = &self.place else { return Ok(()) };
        let Place { line, column, snippet, width } = &**place;
        let gutter = " ".repeat(line.to_string().len());
        // Tabs stay tabs, so that the marker stays below what it marks.
        let before: String = snippet.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "\n{gutter} |\n{line} | {snippet}\n{gutter} | {before}{}", "^".repeat(*width))
    }
}

impl std::error::Error for FileError {}

/// Why a lab does not run, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The lab file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file or folder cannot be used.
    #[error("{}: {error}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// This system or this user cannot have network namespaces.
    #[error("{what}")]
    NotPermitted {
        /// What is missing.
        what: String,
        /// How to get it.
        hint: String,
    },
    /// A program that sets up the network is not installed.
    #[error("`{program}` is missing")]
    Missing {
        /// Which.
        program: String,
        /// Where to get it.
        hint: String,
    },
    /// A command that sets up the network failed.
    #[error("`{command}` failed: {said}")]
    Command {
        /// The command with its arguments.
        command: String,
        /// What it said.
        said: String,
    },
    /// The switch does not start or has ended.
    #[error("{what}")]
    Switch {
        /// What happened, with what the switch said.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The switch does not take its settings.
    #[error("{what}")]
    Settings {
        /// In its own words.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A command of the lab file failed.
    #[error("{0}")]
    Failed(Failure),
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    pub(crate) fn path(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Path { path, error }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint.clone(),
            Self::NotPermitted { hint, .. } | Self::Missing { hint, .. } => Some(hint.clone()),
            Self::Switch { hint, .. } | Self::Settings { hint, .. } => hint.clone(),
            _ => None,
        }
    }

    /// Whether what was asked makes no sense, as opposed to something that went wrong.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::File(_) | Self::Settings { .. })
    }
}

/// What of a run failed: a command, a check, and the last that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What, on which host, and how: `step 1 on a: "scdp send ..." ended with 1`.
    pub what: String,
    /// The last lines of its output.
    pub output: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.output.iter().try_for_each(|line| write!(f, "\n  | {line}"))
    }
}
