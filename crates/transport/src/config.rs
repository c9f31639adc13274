//! What is wrong with a value in a transport's configuration.

use std::fmt;

/// A configuration value that cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key, as written in the scenario.
    pub field: &'static str,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}
impl std::error::Error for ConfigError {}
