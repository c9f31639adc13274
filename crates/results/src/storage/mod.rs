//! What a result folder asks of the place where it is: a directory, or an object store.
//!
//! Paths are relative to the folder, with `/` between their parts. Each call that changes something may be the last one
//! before the process is killed; [`Folder`](crate::Folder) orders them so that this costs nothing.

mod directory;

pub use directory::Directory;

use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::path::Path;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or an object.
    File,
    /// A folder. Object stores have none.
    Folder,
    /// A symbolic link, a socket, a device.
    Other,
}

/// Something in a folder.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its path, relative to the folder.
    pub path: String,
    /// What it is.
    pub kind: Kind,
}

/// How a place keeps a second command out.
#[derive(Debug)]
pub enum Locking {
    /// The system does, as long as this value lives.
    Held(Box<dyn Any + Send + Sync>),
    /// Another command holds it.
    Busy,
    /// It has no locks: a lock object does, which names its holder.
    Object(Who),
}

/// Who writes, for the messages of others.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// The user's name.
    pub user: String,
    /// The machine's name.
    pub host: String,
    /// The time, for people.
    pub since: String,
}

/// A place for results.
pub trait Storage: Debug + Send + Sync {
    /// A path as people know it; the empty one is the folder itself.
    fn shown(&self, path: &str) -> String;

    /// Whether a folder can be given another name in one step. Where not, its files are copied.
    fn renames(&self) -> bool;

    /// Keeps other commands out.
    ///
    /// # Errors
    /// If the system refuses.
    fn lock(&self) -> io::Result<Locking>;

    /// All that is in the folder, without what is below folders for which `into` is false. Nothing if it does not exist.
    ///
    /// # Errors
    /// If it cannot be listed; [`io::ErrorKind::NotADirectory`] if it is no folder.
    fn list(&self, into: &dyn Fn(&str) -> bool) -> io::Result<Vec<Item>>;

    /// The content of files; `None` for one that is missing.
    ///
    /// # Errors
    /// If one cannot be read. That it is missing must be certain: runs without an entry are removed.
    fn read(&self, files: &[String]) -> io::Result<Vec<Option<Vec<u8>>>>;

    /// Whether the system may have lost the end of a file that ought to end with these bytes, as after a power failure.
    fn ends_with(&self, file: &str, mark: &[u8]) -> bool;

    /// Writes a file, or replaces it: it is there in whole or as it was.
    ///
    /// # Errors
    /// If the system refuses.
    fn write(&self, file: &str, content: &[u8]) -> io::Result<()>;

    /// Creates a file unless there is one, which is no error. A store without conditional writes may replace it.
    ///
    /// # Errors
    /// If the system refuses.
    fn create(&self, file: &str, content: &[u8]) -> io::Result<()>;

    /// Removes files. It is no error if they are missing.
    ///
    /// # Errors
    /// If one cannot be removed.
    fn remove(&self, files: &[String]) -> io::Result<()>;

    /// Removes an empty folder, where there are folders.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn remove_folder(&self, folder: &str) -> io::Result<()>;

    /// Makes the folder, if it is missing, where it [`renames`](Self::renames).
    ///
    /// # Errors
    /// If the system refuses.
    fn make(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a folder another name, which must be free, where it [`renames`](Self::renames).
    ///
    /// # Errors
    /// If the system refuses.
    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Copies files, where it does not [`rename`](Self::renames).
    ///
    /// # Errors
    /// If the system refuses.
    fn copy(&self, _pairs: &[(String, String)]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Stores a file of this machine, where it does not [`rename`](Self::renames).
    ///
    /// # Errors
    /// If it cannot be read or stored.
    fn upload(&self, _local: &Path, _file: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
