//! What is wrong with a request, and what to do about it.

use std::fmt;

/// Why a question about routing has no answer. Shown as `message`, then `hint: ...` on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingError {
    /// What is wrong, where, and what was expected.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl RoutingError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// An exact result that does not fit into 128 bits.
    pub fn overflow() -> Self {
        Self::new("the exact fractions do not fit into 128 bits")
            .hint("compute in floating point: `--float` on the command line, `exact=False` in Python")
    }
}

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for RoutingError {}

/// Result of anything that may fail here.
pub type RoutingResult<T> = Result<T, RoutingError>;

/// The name among `known` that `name` is likely to mean.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|k| (strsim::jaro_winkler(&k.to_lowercase(), &name.to_lowercase()), k))
        .filter(|&(score, _)| score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}
