//! The hash of a file, computed in pieces.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anabranch_host::{HashTree, SPAN, TreeHash};
use rayon::prelude::*;

use super::hash_cache::FileHash;
use super::regular::{FileState, invalid, is_settled};

/// Bytes of a file that are hashed at a time, and the part of them that a core reads at a time.
pub(super) const CHUNK: u64 = 4 << 20;
pub(super) const PIECE: usize = 1 << 20;

/// A file that is being hashed. It must not change meanwhile.
#[derive(Debug)]
pub(super) struct Hashing {
    file: File,
    state: FileState,
    /// The state was settled before the first byte was read.
    settled: bool,
    offset: u64,
    chunk: Vec<u8>,
    spans: Vec<TreeHash>,
}

/// A file that has been hashed.
#[derive(Debug)]
pub(crate) struct Hashed {
    pub(crate) hash: FileHash,
    pub(crate) state: FileState,
    /// The hash may be kept: whoever changes the file from now on changes its state.
    pub(crate) settled: bool,
}

impl Hashing {
    /// Hashes a file that was opened in this state.
    pub(super) fn new(file: File, state: FileState) -> Self {
        let settled = is_settled(&state);
        Self { file, state, settled, offset: 0, chunk: Vec::new(), spans: Vec::new() }
    }

    /// Hashes the next bytes, on all threads of the current pool. Returns how many; none if that was all.
    ///
    /// # Errors
    ///
    /// Any error of the system, and [`io::ErrorKind::ResourceBusy`] if the file changes.
    pub(super) fn step(&mut self) -> io::Result<u64> {
        let (size, offset) = (self.state.size(), self.offset);
        let bytes = (size - offset).min(CHUNK);
        if bytes == 0 {
            return Ok(0);
        }
        // A file that is being written is given up early.
        self.check()?;
        let file = &self.file;
        self.chunk.resize(size.min(CHUNK) as usize, 0);
        let pieces = self.chunk[..bytes as usize].par_chunks_mut(PIECE).enumerate().map(|(n, piece)| {
            let start = offset + (n * PIECE) as u64;
            read(file, start, piece)?;
            let spans = piece.chunks(SPAN as usize).zip((start..).step_by(SPAN as usize));
            Ok(spans.map(|(span, start)| HashTree::span(size, start, span)).collect())
        });
        let pieces: Vec<Vec<TreeHash>> = pieces.collect::<io::Result<_>>()?;
        self.spans.extend(pieces.into_iter().flatten());
        self.offset += bytes;
        Ok(bytes)
    }

    /// The hash, once [`step`](Self::step) has returned 0.
    ///
    /// # Errors
    ///
    /// As of [`step`](Self::step), and [`io::ErrorKind::InvalidInput`] if the system does not know the file's size.
    pub(super) fn finish(self) -> io::Result<Hashed> {
        self.check()?;
        let size = self.state.size();
        if self.file.read_at(&mut [0], size)? > 0 {
            return Err(invalid("has more bytes than the system says: copy it, and send the copy"));
        }
        // An empty file has an empty span.
        let spans = if size == 0 { vec![HashTree::span(0, 0, &[])] } else { self.spans };
        let tree = HashTree::from_spans(spans);
        // Of a single span nobody needs parts.
        let hash = FileHash { root: tree.root(), parts: (size > SPAN).then(|| Arc::new(tree)) };
        Ok(Hashed { hash, state: self.state, settled: self.settled })
    }

    fn check(&self) -> io::Result<()> {
        if FileState::of(&self.file)? == self.state { Ok(()) } else { Err(changes()) }
    }
}

/// The error for a file that changes while it is read.
pub(super) fn changes() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "is being changed: try again when it is complete")
}

/// Reads bytes that the file had when its size was asked for.
pub(super) fn read(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
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
    use std::io::Write;

    fn hashing(path: &std::path::Path) -> Hashing {
        let (file, state) = super::super::regular::open(path).expect("opened");
        Hashing::new(file, state)
    }

    #[test]
    fn a_file_that_changes_is_given_up_at_the_next_piece() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("growing");
        std::fs::write(&path, vec![1; 3 * CHUNK as usize]).expect("written");
        let mut hashed = hashing(&path);
        while !hashed.settled {
            hashed = hashing(&path);
        }
        assert_eq!(hashed.step().expect("read"), CHUNK);
        let mut file = File::options().append(true).open(&path).expect("there");
        file.write_all(b"more").expect("written");
        assert_eq!(hashed.step().expect_err("it grows").kind(), io::ErrorKind::ResourceBusy);

        let mut hashed = hashing(&path);
        assert!(!hashed.settled, "it has just been written");
        while hashed.step().expect("read") > 0 {}
        assert!(!hashed.finish().expect("hashed").settled, "nobody would see that it is written once more");
    }
}
