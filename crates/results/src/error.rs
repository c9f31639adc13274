//! Why results could not be written.

use std::io;

/// Why results could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system or object store refused.
    #[error("cannot {act} {path}: {source}")]
    Io {
        /// `read` or `write`.
        act: &'static str,
        /// The file or folder, as people know it.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A table could not be encoded.
    #[error("cannot encode {path}: {message}")]
    Encode {
        /// The file.
        path: String,
        /// What the encoder said.
        message: String,
    },
    /// There is a file where the folder should be.
    #[error("{0} exists and is not a folder\n  hint: choose another with --out")]
    NoFolder(String),
    /// Something is in the way that is not ours.
    #[error(
        "{folder} holds '{found}', which is not part of an experiment, {why}; nothing was written\n  hint: choose another folder with --out, or move that file away"
    )]
    NotOurs {
        /// The folder.
        folder: String,
        /// What it holds, relative to it.
        found: String,
        /// Where it is.
        why: &'static str,
    },
    /// Finished runs would be deleted.
    #[error(
        "{folder} holds {finished} finished runs{origin}; {lost} would be deleted, and {why}; nothing was touched\n  hint: choose another folder with --out, or say --force to replace them"
    )]
    Lost {
        /// The folder.
        folder: String,
        /// Number of finished runs.
        finished: usize,
        /// Whose they are.
        origin: String,
        /// How many would go, with some names.
        lost: String,
        /// Why the experiment does not make them again.
        why: &'static str,
    },
    /// Another process writes there.
    #[error("another run is writing to {0}\n  hint: wait for it, or give another folder with --out")]
    Busy(String),
    /// The lock object of another client is there.
    #[error(
        "{folder}: another command writes there: {holder}; nothing was touched\n  hint: if that command no longer runs, remove its lock: {removal}"
    )]
    Locked {
        /// The folder.
        folder: String,
        /// Who it is.
        holder: String,
        /// A command that removes the lock.
        removal: String,
    },
    /// Another process takes over the same lock, and does not finish.
    #[error(
        "{folder}: its lock is of a process that has ended, and another process keeps {file} locked\n  hint: see who does, with `fuser {file}`; or remove the lock: {removal}"
    )]
    TakenOver {
        /// The folder.
        folder: String,
        /// The file that keeps processes of this machine apart.
        file: String,
        /// A command that removes the lock.
        removal: String,
    },
    /// The lock was held, and is not any more.
    #[error(
        "{folder}: the lock of this sweep {why}; this command has stopped, and what is finished is kept\n  hint: when no other command writes there, the same command with --resume runs the others"
    )]
    LockLost {
        /// The folder.
        folder: String,
        /// Removed, or taken by whom.
        why: String,
    },
    /// The command for which a worker made a run is gone.
    #[error("{0} is no longer locked by this sweep")]
    Superseded(String),
}

impl StoreError {
    /// Whether a person stopped it, with Ctrl-C: no trial is made again, and no error passed over.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::Interrupted)
    }

    pub(crate) fn write(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { act: "write", path, source }
    }

    pub(crate) fn read(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { act: "read", path, source }
    }
}
