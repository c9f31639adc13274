//! A file to send.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch_host::{HashTree, Manifest, Object, ObjectName, SigningKey};
use cap_std::fs::Dir;

use super::hash_cache::FileHash;
use super::hashing::{Hashing, changes, read};
use super::regular::{FileState, invalid, open, open_in};

/// A file that has been hashed, and can be sent. It is open only while it is sent: there may be more files than the system lets a process open.
#[derive(Clone, Debug)]
pub struct Input {
    source: Source,
    state: FileState,
    manifest: Manifest,
    /// Takes 1/4096 of the file's size.
    hash_tree: Option<Arc<HashTree>>,
}

/// Where the file is.
#[derive(Clone, Debug)]
enum Source {
    Path(PathBuf),
    Open(Arc<File>),
}

impl Input {
    /// Reads a file once to hash it. It is offered under its own name, or under `name`.
    ///
    /// # Errors
    ///
    /// Any error of the system, [`io::ErrorKind::InvalidInput`] if it is not a regular file or has no valid name, and
    /// [`io::ErrorKind::ResourceBusy`] if it changes meanwhile.
    pub fn open(path: &Path, name: Option<&str>) -> io::Result<Self> {
        let (file, state) = open(path)?;
        let own = || path.file_name().and_then(|name| name.to_str());
        let name = name.or_else(own).ok_or_else(|| invalid("has a name that is not UTF-8: give another"))?;
        Self::hashed(file, state, name, Source::Path(path.to_owned()))
    }

    /// As [`open`](Self::open), for a file that is already open and stays so.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn from_file(file: File, name: &str) -> io::Result<Self> {
        let state = FileState::of(&file)?;
        let source = Source::Open(Arc::new(file.try_clone()?));
        Self::hashed(file, state, name, source)
    }

    fn hashed(file: File, state: FileState, name: &str, source: Source) -> io::Result<Self> {
        let name = ObjectName::new(name).map_err(|error| invalid(&error.to_string()))?;
        let mut hashing = Hashing::new(file, state);
        // On all cores: nothing is sent before the hash is known.
        while hashing.step()? > 0 {}
        let FileHash { root, parts } = hashing.finish()?.hash;
        let manifest = Manifest { hash: root, size: state.size(), name, signature: None };
        Ok(Self { source, state, manifest, hash_tree: parts })
    }

    /// Signs its name, size and hash: receivers may require that ([`HostConfig::signers`](anabranch_host::HostConfig::signers)).
    pub fn sign(&mut self, key: &SigningKey) {
        self.manifest.sign(key);
    }

    /// The object's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Opens the file for a session.
    ///
    /// # Errors
    ///
    /// Any error of the system, and [`io::ErrorKind::ResourceBusy`] if the file is not the one that was hashed.
    pub(crate) fn reader(&self) -> io::Result<Reader> {
        let (file, state) = match &self.source {
            Source::Path(path) => {
                let (file, state) = open(path)?;
                (Arc::new(file), state)
            }
            Source::Open(file) => (Arc::clone(file), FileState::of(file)?),
        };
        Reader::new(file, state, self.state, self.hash_tree.clone())
    }
}

/// An open file that a session sends.
#[derive(Debug)]
pub(crate) struct Reader {
    file: Arc<File>,
    /// What is sent is the content in this state.
    state: FileState,
    /// Its permission bits when it was opened.
    mode: u16,
    hash_tree: Option<Arc<HashTree>>,
}

impl Reader {
    /// Opens a file in a folder that was hashed in this state.
    ///
    /// # Errors
    ///
    /// As of [`Input::reader`].
    pub(crate) fn open(folder: &Dir, name: &str, hashed: FileState, hash: &FileHash) -> io::Result<Self> {
        let (file, state) = open_in(folder, name)?;
        Self::new(Arc::new(file), state, hashed, hash.parts.clone())
    }

    fn new(file: Arc<File>, found: FileState, hashed: FileState, hash_tree: Option<Arc<HashTree>>) -> io::Result<Self> {
        let reader = Self { file, state: hashed, mode: found.mode(), hash_tree };
        if found.continues(&hashed) { Ok(reader) } else { Err(changes()) }
    }
}

impl Object for Reader {
    fn size(&self) -> u64 {
        self.state.size()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        read(&self.file, offset, bytes)?;
        // Other content than was announced would make receivers take this host for one that forges.
        if FileState::of(&self.file)?.continues(&self.state) { Ok(()) } else { Err(changes()) }
    }

    fn mode(&self) -> u16 {
        self.mode
    }

    fn hash_tree(&self) -> Option<Arc<HashTree>> {
        self.hash_tree.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hashing::{CHUNK, PIECE};
    use super::*;

    #[test]
    fn a_file_of_several_chunks_has_the_hash_of_its_bytes() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("rivers.bin");
        for size in [0, 1, PIECE - 1, PIECE + 1, 2 * CHUNK as usize + PIECE + 7] {
            let bytes: Vec<u8> = (0..size).map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as u8).collect();
            std::fs::write(&path, &bytes).expect("written");
            let input = Input::open(&path, None).expect("read");
            assert_eq!((input.manifest.size, input.manifest.hash), (size as u64, *blake3::hash(&bytes).as_bytes()));
            let mut read = vec![0; size];
            input.reader().expect("opened").read_at(0, &mut read).expect("read");
            assert!(read == bytes);
        }
    }

    #[test]
    fn a_file_of_which_the_system_does_not_tell_the_size_is_refused() {
        let error = Input::open(Path::new("/proc/version"), None).expect_err("it has bytes, and no size");
        assert!(error.to_string().contains("more bytes than the system says"), "{error}");
    }

    #[test]
    fn a_file_that_was_replaced_or_rewritten_is_not_sent_and_one_that_grows_is() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("rivers.bin");
        let write = |content: &str| std::fs::write(&path, content).expect("written");
        let mut read = [0; 6];
        for open in [false, true] {
            write("before");
            let input = if open {
                Input::from_file(File::open(&path).expect("there"), "rivers.bin")
            } else {
                Input::open(&path, None)
            };
            let input = input.expect("hashed");
            let reader = input.reader().expect("opened");
            reader.read_at(0, &mut read).expect("read");
            std::io::Write::write_all(&mut File::options().append(true).open(&path).expect("there"), b" and after")
                .expect("written");
            reader.read_at(0, &mut read).expect("its first bytes are the same");
            input.reader().expect("opened").read_at(0, &mut read).expect("its first bytes are the same");
            assert_eq!(&read, b"before");
            write("bef");
            for error in [reader.read_at(0, &mut read[..1]), input.reader().map(drop)] {
                assert_eq!(error.expect_err("changed").kind(), io::ErrorKind::ResourceBusy);
            }
        }
    }
}
