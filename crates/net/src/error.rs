//! What can go wrong.

use std::io;
use std::path::PathBuf;

use anabranch_host::{ConfigError, Failure};
use thiserror::Error;

use crate::OutputError;

/// Errors, besides the failure of a session for one of several receivers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// A socket cannot be created, or does not work.
    #[error("cannot {what}: {error}")]
    Socket {
        /// What was tried.
        what: String,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// The settings are out of range.
    #[error("{0}")]
    Config(ConfigError),
    /// A directory or a file cannot be opened.
    #[error("cannot open {path}: {error}", path = path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// A file could not be stored.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The session failed.
    #[error(transparent)]
    Session(#[from] Failure),
    /// The caller has stopped the operation.
    #[error("stopped")]
    Stopped,
}
