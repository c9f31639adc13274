//! A file to send.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use anabranch_host::{HashTree, Manifest, Object, ObjectName, SPAN, SigningKey, TreeHash};
use rayon::prelude::*;

/// Bytes of a file that are hashed at a time, and the part of them that a core reads at a time.
const CHUNK: u64 = 4 << 20;
const PIECE: usize = 1 << 20;

/// A file that is read at random offsets, and must not change meanwhile. Clones share it.
#[derive(Clone, Debug)]
pub struct Input {
    file: Arc<File>,
    manifest: Manifest,
    /// Takes 1/4096 of the file's size.
    hash_tree: Arc<HashTree>,
}

impl Input {
    /// Opens a file, and reads it once to hash it. It is offered under its own name, or under `name`.
    ///
    /// # Errors
    ///
    /// Any error of the system, and [`io::ErrorKind::InvalidInput`] if it is not a regular file or has no valid name.
    pub fn open(path: &Path, name: Option<&str>) -> io::Result<Self> {
        let file = regular(File::open(path)?)?;
        let own = || path.file_name().and_then(|name| name.to_str());
        let name = name.or_else(own).ok_or_else(|| invalid("has a name that is not UTF-8: give another"))?;
        Self::hashed(file, name)
    }

    /// As [`open`](Self::open), for a file that is already open.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn from_file(file: File, name: &str) -> io::Result<Self> {
        Self::hashed(regular(file)?, name)
    }

    fn hashed(file: File, name: &str) -> io::Result<Self> {
        let name = ObjectName::new(name).map_err(|error| invalid(&error.to_string()))?;
        let size = file.metadata()?.len();
        let mut chunk = vec![0; size.min(CHUNK) as usize];
        // An empty file has an empty span.
        let mut spans = if size == 0 { vec![HashTree::span(0, 0, &[])] } else { Vec::new() };
        for offset in (0..size).step_by(CHUNK as usize) {
            let chunk = &mut chunk[..(size - offset).min(CHUNK) as usize];
            // Both use all cores: nothing is sent before the hash is known.
            let pieces = chunk.par_chunks_mut(PIECE).enumerate().map(|(n, piece)| {
                let start = offset + (n * PIECE) as u64;
                read(&file, start, piece)?;
                let spans = piece.chunks(SPAN as usize).zip((start..).step_by(SPAN as usize));
                Ok(spans.map(|(span, start)| HashTree::span(size, start, span)).collect())
            });
            let pieces: Vec<Vec<TreeHash>> = pieces.collect::<io::Result<_>>()?;
            spans.extend(pieces.into_iter().flatten());
        }
        if file.read_at(&mut [0], size)? > 0 {
            return Err(invalid("has more bytes than the system says: copy it, and send the copy"));
        }
        let hash_tree = Arc::new(HashTree::from_spans(spans));
        let manifest = Manifest { hash: hash_tree.root(), size, name, signature: None };
        Ok(Self { file: Arc::new(file), manifest, hash_tree })
    }

    /// Signs its name, size and hash: receivers may require that ([`HostConfig::signers`](anabranch_host::HostConfig::signers)).
    pub fn sign(&mut self, key: &SigningKey) {
        self.manifest.sign(key);
    }

    /// The object's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(invalid("is no regular file: pack a directory, with tar for example"))
    }
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

impl Object for Input {
    fn size(&self) -> u64 {
        self.manifest.size
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        read(&self.file, offset, bytes)
    }

    fn hash_tree(&self) -> Option<Arc<HashTree>> {
        Some(Arc::clone(&self.hash_tree))
    }
}

fn read(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(bytes, offset).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "the file has fewer bytes than it had, or than the system says")
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
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
        }
    }

    #[test]
    fn a_file_of_which_the_system_does_not_tell_the_size_is_refused() {
        let error = Input::open(Path::new("/proc/version"), None).expect_err("it has bytes, and no size");
        assert!(error.to_string().contains("more bytes than the system says"), "{error}");
    }
}
