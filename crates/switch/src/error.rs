//! Why a switch cannot run.

use std::io;

use thiserror::Error;

use crate::config::ConfigError;

/// Why a switch cannot run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SwitchError {
    /// Its configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such interface.
    #[error("{interface}: no such network interface here; there are {found}")]
    NoInterface {
        /// Which.
        interface: String,
        /// Those that exist.
        found: String,
    },
    /// The interface is not of Ethernet.
    #[error("{interface}: is not an Ethernet interface")]
    NotEthernet {
        /// Which.
        interface: String,
    },
    /// The system forbids packet sockets.
    #[error("{interface}: this user may not open packet sockets")]
    NotAllowed {
        /// Which.
        interface: String,
    },
    /// The system refuses something else.
    #[error("{interface}: cannot {what}: {error}")]
    Interface {
        /// Which.
        interface: String,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// The system call that waits for frames failed.
    #[error("cannot wait for frames: {0}")]
    Wait(#[source] io::Error),
}
