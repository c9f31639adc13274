//! Why the program stops: what is wrong and where, what to do about it, and the exit code.

use std::fmt::Display;
use std::path::Path;

use anabranch_net::NetError;

/// The task was not done: not all receivers have a file, an object could not be fetched, or the system returned an error.
pub(crate) const FAILED: u8 = 1;
/// The request is invalid: arguments, addresses, keys, missing files. Also the code of the argument parser.
pub(crate) const USAGE: u8 = 2;

/// An error for people.
#[derive(Debug)]
pub(crate) struct CliError {
    /// What is wrong, and where.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// The exit code of the program.
    pub(crate) code: u8,
}

impl CliError {
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, code: USAGE }
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, code: FAILED }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A file or folder that cannot be used.
    pub(crate) fn of_path(path: &Path, what: impl Display) -> Self {
        // Messages may have several lines, of which a name must not make one.
        let path = path.display().to_string().replace('\n', "\\u{a}");
        Self::usage(format!("{path}: {what}"))
    }
}

impl From<NetError> for CliError {
    fn from(error: NetError) -> Self {
        match &error {
            NetError::Socket { what, error: system } => {
                let hint = match system.kind() {
                    std::io::ErrorKind::AddrInUse => Some(
                        "another program has that port, perhaps another `scdp`: choose one with --bind ADDRESS:PORT",
                    ),
                    _ if what.starts_with("join") || what.starts_with("send multicast") || what.starts_with("use ") => {
                        Some(
                            "--interface takes the name or an address of an interface of this host that has addresses of the group's family; \
                         `scdp doctor` tells which carry multicast",
                        )
                    }
                    std::io::ErrorKind::AddrNotAvailable => {
                        Some("--bind takes an address of this host: `ip address` lists them")
                    }
                    _ => None,
                };
                let failed = Self::failed(&error);
                hint.map_or(Self::failed(&error), |hint| failed.hint(hint))
            }
            NetError::Open { path, error } => Self::of_path(path, error),
            _ => Self::failed(error),
        }
    }
}
