//! A file that is being received.
//!
//! It is written as `.NAME.ID.part` beside its final place, and gets its name once all of it is there, its hash matches and it is on the disk.
//! Bytes from a session are checked before they arrive here; the whole file is hashed if some of it was kept from an earlier session, since it may
//! have been damaged meanwhile. So a partial file never appears under the name, and an existing file of that name is left as it is. What has been
//! received of a large file when a session fails, or its process is killed, is kept for the next session ([`Begun`]).
//!
//! Zeros are not stored ([`Holes`]). Only its owner may read it while it is incomplete; then it gets the mode that its sender tells.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};

use anabranch_host::Manifest;
use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::{FallocateFlags, FileType, Mode, OFlags, RenameFlags, fstatvfs};
use rustix::io::Errno;
use rustix::process::geteuid;
use thiserror::Error;

use super::begun::Begun;
use super::holes::Holes;
use super::mode;
use super::parts::{self, is_at};
use super::regular::kind;

/// Maximum number of bytes that are read back for hashing while others arrive: some blocks.
const CATCH_UP: u64 = 4 << 20;

/// Why a file could not be received.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The system returned an error.
    #[error("cannot {what} {name}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file's name.
        name: String,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// A file of that name exists.
    #[error("{name} exists; it stays as it is unless overwriting is asked for")]
    Exists {
        /// The file's name.
        name: String,
    },
    /// Something that is no regular file has that name.
    #[error("{name} is a {kind} here: only regular files are replaced")]
    NoFile {
        /// The file's name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// The same object is being received in another session, perhaps of another process.
    #[error("{name} is being received already")]
    UnderWay {
        /// The file's name.
        name: String,
    },
    /// A file of that name could be mistaken for one that is being received.
    #[error("{name} is a name of files that are being received: send it under another")]
    Name {
        /// The file's name.
        name: String,
    },
    /// The bytes differ from what the sender announced.
    #[error("{name} does not have the hash that was announced: nothing was kept of it")]
    Hash {
        /// The file's name.
        name: String,
    },
}

/// A file in progress. Dropped before [`finish`](Self::finish), it leaves only what is worth [keeping](Self::kept).
#[derive(Debug)]
pub struct Output {
    directory: Dir,
    file: File,
    part: String,
    manifest: Manifest,
    overwrite: bool,
    begun: Begun,
    holes: Holes,
    /// What the sender says may be done with the file, and by whom.
    mode: Option<u16>,
    /// The content is of no use: it does not match the hash, or the disk is full.
    spoilt: bool,
    /// Present if part of the content is from an earlier session.
    hashing: Option<Hashing>,
    finished: bool,
}

/// The hash of the bytes up to `hashed`: blocks mostly arrive in order, and are then hashed while they are in the cache.
#[derive(Debug, Default)]
struct Hashing {
    hasher: blake3::Hasher,
    hashed: u64,
}

impl Output {
    /// Creates a file in `directory`.
    ///
    /// # Errors
    ///
    /// [`OutputError::Exists`] if the name is taken, unless `overwrite`, [`OutputError::NoFile`], [`OutputError::UnderWay`], [`OutputError::Name`],
    /// and [`OutputError::Io`], for example if the disk is full.
    pub fn create(directory: &Dir, manifest: &Manifest, overwrite: bool) -> Result<Self, OutputError> {
        let failed = |what, error| OutputError::Io { what, name: manifest.name.to_string(), error };
        let name = manifest.name.as_str();
        if parts::may_be(name) {
            return Err(OutputError::Name { name: name.to_owned() });
        }
        if let Ok(found) = directory.symlink_metadata(name) {
            // A link is replaced like a file, wherever it leads.
            match kind(FileType::from_raw_mode(found.mode())) {
                None | Some("link") if overwrite => {}
                None | Some("link") => return Err(OutputError::Exists { name: name.to_owned() }),
                Some(kind) => return Err(OutputError::NoFile { name: name.to_owned(), kind }),
            }
        }
        let directory = directory.try_clone().map_err(|e| failed("open the directory of", e))?;
        let part = parts::name(manifest);
        let file = parts::lock(&directory, &part).map_err(|e| failed("create", e))?;
        let file = file.ok_or_else(|| OutputError::UnderWay { name: name.to_owned() })?;
        let begun = Begun::open(&file, manifest).map_err(|e| failed("read what is there of", e))?;
        let mut holes = Holes::new();
        if file.metadata().map_err(|e| failed("read what is there of", e))?.len() > 0 {
            holes.fill();
        }
        let output = Self {
            directory,
            file,
            part,
            manifest: manifest.clone(),
            overwrite,
            hashing: (begun.bytes() > 0).then(Hashing::default),
            begun,
            holes,
            mode: None,
            spoilt: false,
            finished: false,
        };
        output.check_room().map_err(|error| failed("reserve the room for", error))?;
        Ok(output)
    }

    /// Finds out whether there is room for the file, as if it had no holes. Takes none: whoever offers it may not be there.
    fn check_room(&self) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.len() < self.manifest.size {
            // A file may be too long for the file system, or for the limits of the process.
            self.file.set_len(self.manifest.size)?;
        }
        let system = fstatvfs(&self.file)?;
        let free = if geteuid().is_root() { system.f_bfree } else { system.f_bavail };
        let needed = self.manifest.size.saturating_sub(found.blocks() * 512);
        // Some file systems do not tell.
        if system.f_blocks > 0 && needed > free.saturating_mul(system.f_frsize) {
            return Err(Errno::NOSPC.into());
        }
        Ok(())
    }

    /// Reserves the room for the file, now that its sender is there: if other files have taken it, this fails now, and not later. Not every file system
    /// can do that; on such ones, [`write_at`](Self::write_at) may fail.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`]: there is no room, and nothing is kept.
    pub fn reserve(&mut self) -> Result<(), OutputError> {
        // What is there from an earlier session has room, or holes.
        let (size, from) = (self.manifest.size, self.begun.bytes());
        let left = size.saturating_sub(from);
        let reserved = match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), from, left) {
            _ if left == 0 => Ok(()),
            Ok(()) => self.holes.on_reserved(&self.file),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        };
        reserved.map_err(|error| {
            self.spoilt = true;
            self.failed("reserve the room for", error)
        })
    }

    /// What the sender's file allows, and to whom: the complete file allows no more, and no more than the process's file mode creation mask. Without
    /// this, only its owner may read and write it.
    pub fn set_mode(&mut self, mode: Option<u16>) {
        self.mode = mode;
    }

    /// Bytes that are there from the beginning, possibly from an earlier session.
    pub fn begun(&self) -> u64 {
        self.begun.bytes()
    }

    /// Bytes that are kept for the next session if this one does not finish the file: all that is [begun](Self::begun), if it is enough.
    pub fn kept(&self) -> u64 {
        if self.spoilt { 0 } else { self.begun.kept() }
    }

    /// Writes bytes at an offset.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`].
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), OutputError> {
        let end = offset + bytes.len() as u64;
        let written =
            self.holes.write_at(&self.file, offset, bytes).and_then(|()| self.begun.add(&self.file, offset, end));
        if let Err(error) = written {
            // The room is more useful to others.
            self.spoilt = true;
            return Err(self.failed("write", error));
        }
        let Some(hashing) = &mut self.hashing else { return Ok(()) };
        if offset == hashing.hashed {
            hashing.hasher.update(bytes);
            hashing.hashed += bytes.len() as u64;
        }
        // Also hashes blocks that had arrived ahead of this one. What an earlier session has left may be too much to read back here.
        let begun = self.begun.bytes();
        if begun.saturating_sub(hashing.hashed) <= CATCH_UP { self.hash_up_to(begun) } else { Ok(()) }
    }

    /// Reads back the bytes that were not hashed when they arrived.
    fn hash_up_to(&mut self, end: u64) -> Result<(), OutputError> {
        let Some(hashing) = self.hashing.as_mut().filter(|hashing| hashing.hashed < end) else { return Ok(()) };
        let mut chunk = vec![0; (end - hashing.hashed).min(1 << 20) as usize];
        while hashing.hashed < end {
            let size = (end - hashing.hashed).min(chunk.len() as u64) as usize;
            if let Err(error) = self.file.read_exact_at(&mut chunk[..size], hashing.hashed) {
                return Err(self.failed("read back", error));
            }
            hashing.hasher.update(&chunk[..size]);
            hashing.hashed += size as u64;
        }
        Ok(())
    }

    /// Whether what an earlier session has left is intact, if there is any.
    fn is_right(&mut self) -> Result<bool, OutputError> {
        self.hash_up_to(self.manifest.size)?;
        let expected = blake3::Hash::from_bytes(self.manifest.hash);
        // In constant time, so that the time does not reveal how much of a hash matches.
        Ok(self.hashing.as_ref().is_none_or(|hashing| hashing.hasher.finalize() == expected))
    }

    /// All bytes are written, and were checked as they arrived: the file gets its name if its hash matches.
    ///
    /// # Errors
    ///
    /// [`OutputError::Hash`], [`OutputError::Exists`] if the name was taken meanwhile, and [`OutputError::Io`].
    pub fn finish(mut self) -> Result<(), OutputError> {
        if self.begun.bytes() < self.manifest.size || !self.is_right()? {
            self.spoilt = true;
            return Err(OutputError::Hash { name: self.manifest.name.to_string() });
        }
        self.file.set_len(self.manifest.size).map_err(|error| self.failed("write", error))?;
        if !is_at(&self.directory, &self.part, &self.file) {
            // Another process has moved it, or put another file in its place.
            return Err(self.failed("find", io::ErrorKind::NotFound.into()));
        }
        self.file.sync_data().map_err(|error| self.failed("write to the disk", error))?;
        mode::set(&self.file, self.mode);
        let flags = if self.overwrite { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let (directory, name) = (&self.directory, self.manifest.name.as_str());
        match rustix::fs::renameat_with(directory, self.part.as_str(), directory, name, flags) {
            Ok(()) => {}
            // The file system cannot do that in one step.
            Err(Errno::INVAL | Errno::NOSYS) if directory.symlink_metadata(name).is_err() => {
                let renamed = directory.rename(&self.part, directory, name);
                renamed.map_err(|error| self.failed("rename", error))?;
            }
            Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => {
                return Err(OutputError::Exists { name: self.manifest.name.to_string() });
            }
            Err(error) => return Err(self.failed("rename", error.into())),
        }
        self.finished = true;
        // The name should survive a loss of power, too, unless directories cannot be synchronised. The directory's descriptor here is only good for
        // looking up names.
        if let Ok(directory) =
            rustix::fs::openat(&self.directory, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        {
            let _ = rustix::fs::fsync(directory);
        }
        Ok(())
    }

    fn failed(&self, what: &'static str, error: io::Error) -> OutputError {
        OutputError::Io { what, name: self.manifest.name.to_string(), error }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // The next session opens it for writing, which the sender's mode may forbid.
        mode::make_private(&self.file);
        if self.kept() > 0 && self.begun.record(&self.file).is_ok() {
            return;
        }
        if is_at(&self.directory, &self.part, &self.file) {
            let _ = self.directory.remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    const CONTENT: &[u8] = b"all that there is to say about anabranches";

    fn manifest() -> Manifest {
        let name = anabranch_host::ObjectName::new("rivers.txt").expect("a name");
        Manifest { hash: *blake3::hash(CONTENT).as_bytes(), size: CONTENT.len() as u64, name, signature: None }
    }

    fn directory() -> (tempfile::TempDir, Dir) {
        let temporary = tempfile::tempdir().expect("a directory");
        let opened = Dir::open_ambient_dir(temporary.path(), ambient_authority()).expect("opened");
        (temporary, opened)
    }

    fn names(directory: &Dir) -> Vec<String> {
        let entry = |entry: io::Result<cap_std::fs::DirEntry>| entry.expect("an entry").file_name();
        directory.entries().expect("entries").map(|e| entry(e).into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let (_keep, dir) = directory();
        let mut output = Output::create(&dir, &manifest(), false).expect("room");
        output.write_at(20, &CONTENT[20..]).expect("written");
        assert!(dir.metadata("rivers.txt").is_err());
        output.write_at(0, &CONTENT[..20]).expect("written");
        output.finish().expect("the hash fits");
        assert_eq!(
            (dir.read("rivers.txt").expect("there"), names(&dir)),
            (CONTENT.to_vec(), vec!["rivers.txt".into()])
        );
    }

    #[test]
    fn nothing_is_left_of_a_file_that_is_wrong_or_given_up() {
        let (_keep, dir) = directory();
        let mut output = Output::create(&dir, &manifest(), false).expect("room");
        output.write_at(0, &CONTENT[..20]).expect("written");
        assert!(matches!(output.finish(), Err(OutputError::Hash { .. })), "half of it is missing");
        drop(Output::create(&dir, &manifest(), false).expect("room"));
        assert_eq!(names(&dir), Vec::<String>::new());
    }

    #[test]
    fn holes_of_an_earlier_session_stay_holes() {
        let (_keep, dir) = directory();
        let manifest = Manifest { size: 32 << 20, ..manifest() };
        let mut output = Output::create(&dir, &manifest, false).expect("room");
        output.reserve().expect("room");
        let zeros = vec![0; 1 << 20];
        (0..20).for_each(|part| output.write_at(part << 20, &zeros).expect("written"));
        let blocks =
            |dir: &Dir| -> u64 { names(dir).iter().map(|name| dir.metadata(name).expect("there").blocks()).sum() };
        let stored = blocks(&dir);
        drop(output);
        let mut output = Output::create(&dir, &manifest, false).expect("room");
        assert!(output.begun() >= 16 << 20);
        output.reserve().expect("room");
        let begun = output.begun();
        (begun >> 20..32).for_each(|part| output.write_at(part << 20, &zeros).expect("written"));
        assert!(blocks(&dir) <= stored, "{} and {stored}", blocks(&dir));
    }

    /// A file's permission bits.
    fn mode_of(dir: &Dir, name: &str) -> u32 {
        dir.metadata(name).expect("there").mode() & 0o7777
    }

    #[test]
    fn a_file_is_its_owners_alone_until_it_is_complete_and_then_has_the_senders_mode() {
        let umask = rustix::process::umask(Mode::empty());
        rustix::process::umask(umask);
        for (told, expected) in
            [(None, 0o600), (Some(0o600), 0o600), (Some(0o644), 0o644), (Some(0o755), 0o755), (Some(0o400), 0o400)]
        {
            let (_keep, dir) = directory();
            // A file that is replaced counts as little as what an earlier session has left with another mode.
            dir.write("rivers.txt", b"old").expect("written");
            let part = parts::name(&manifest());
            dir.write(&part, b"").expect("written");
            rustix::fs::chmodat(&dir, part.as_str(), Mode::from_raw_mode(0o666), rustix::fs::AtFlags::empty())
                .expect("changed");
            let mut output = Output::create(&dir, &manifest(), true).expect("room");
            assert_eq!(mode_of(&dir, &part), 0o600);
            output.write_at(0, CONTENT).expect("written");
            output.set_mode(told);
            assert_eq!(mode_of(&dir, &part), 0o600);
            output.finish().expect("the hash fits");
            assert_eq!(mode_of(&dir, "rivers.txt"), expected & !umask.as_raw_mode(), "{told:?}");
        }
    }

    #[test]
    fn a_partial_file_of_another_user_is_not_written_to() {
        let (path, dir) = directory();
        let part = parts::name(&manifest());
        dir.write(&part, b"").expect("written");
        if std::os::unix::fs::chown(path.path().join(&part), Some(65_534), None).is_err() {
            return eprintln!("skipped: only root can make a file of another user");
        }
        let theirs = dir.open(&part).expect("opened");
        let mut output = Output::create(&dir, &manifest(), false).expect("room");
        output.write_at(0, CONTENT).expect("written");
        output.finish().expect("the hash fits");
        assert_eq!(theirs.metadata().expect("there").len(), 0, "whoever had it open reads nothing");
    }

    #[test]
    fn room_is_looked_for_at_first_and_taken_when_it_is_asked_for() {
        let (path, dir) = directory();
        let size = 30_000_000;
        let large = Manifest { size, ..manifest() };
        let stored = || dir.metadata(parts::name(&large)).expect("there").blocks() * 512;
        let mut output = Output::create(&dir, &large, false).expect("room");
        assert!(stored() < 100_000, "nothing is taken yet: {}", stored());
        output.reserve().expect("room");
        let probe = tempfile::tempfile_in(path.path()).expect("a file");
        if rustix::fs::fallocate(&probe, FallocateFlags::empty(), 0, 4096).is_ok() {
            assert!(stored() >= size, "{} are reserved", stored());
        }
        drop(output);
        // Nobody has so much.
        let endless = Manifest { size: 1 << 60, ..manifest() };
        let error = Output::create(&dir, &endless, false).expect_err("no room");
        assert!(matches!(error, OutputError::Io { what: "reserve the room for", .. }), "{error}");
        assert_eq!(names(&dir), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_taken_stays_as_it_is() {
        let (_keep, dir) = directory();
        dir.write("rivers.txt", b"old").expect("written");
        assert!(matches!(Output::create(&dir, &manifest(), false), Err(OutputError::Exists { .. })));
        dir.rename("rivers.txt", &dir, "away").expect("renamed");
        let mut output = Output::create(&dir, &manifest(), false).expect("room");
        output.write_at(0, CONTENT).expect("written");
        dir.rename("away", &dir, "rivers.txt").expect("renamed");
        assert!(matches!(output.finish(), Err(OutputError::Exists { .. })), "taken meanwhile");
        assert_eq!(dir.read("rivers.txt").expect("there"), b"old");
        let mut output = Output::create(&dir, &manifest(), true).expect("room");
        output.write_at(0, CONTENT).expect("written");
        output.finish().expect("overwritten");
        assert_eq!(dir.read("rivers.txt").expect("there"), CONTENT);
    }

    #[test]
    fn one_at_a_time_receives_an_object_under_a_name() {
        let (_keep, dir) = directory();
        let mut first = Output::create(&dir, &manifest(), true).expect("room");
        first.write_at(0, &CONTENT[..5]).expect("written");
        assert!(matches!(Output::create(&dir, &manifest(), true), Err(OutputError::UnderWay { .. })));
        let name = anabranch_host::ObjectName::new("seas.txt").expect("a name");
        let other = Output::create(&dir, &Manifest { name, ..manifest() }, true).expect("another name");
        first.write_at(5, &CONTENT[5..]).expect("written");
        first.finish().expect("the hash fits");
        let mut second = Output::create(&dir, &manifest(), true).expect("room again");
        second.write_at(0, CONTENT).expect("written");
        second.finish().expect("the hash fits");
        drop(other);
        assert_eq!(
            (dir.read("rivers.txt").expect("there"), names(&dir)),
            (CONTENT.to_vec(), vec!["rivers.txt".into()])
        );
    }

    #[test]
    fn what_is_no_file_is_never_replaced_and_that_is_known_at_once() {
        let (path, dir) = directory();
        let at = path.path().join("rivers.txt");
        for overwrite in [false, true] {
            dir.create_dir("rivers.txt").expect("made");
            let refused = Output::create(&dir, &manifest(), overwrite);
            assert!(matches!(refused, Err(OutputError::NoFile { kind: "directory", .. })), "{refused:?}");
            dir.remove_dir("rivers.txt").expect("removed");
            rustix::fs::mkfifoat(rustix::fs::CWD, &at, Mode::RWXU).expect("made");
            let refused = Output::create(&dir, &manifest(), overwrite);
            assert!(matches!(refused, Err(OutputError::NoFile { kind: "named pipe", .. })), "{refused:?}");
            assert_eq!(names(&dir), ["rivers.txt"]);
            dir.remove_file("rivers.txt").expect("removed");
        }
    }

    #[test]
    fn what_a_killed_process_has_left_is_begun_anew() {
        let (_keep, dir) = directory();
        let mut killed = Output::create(&dir, &manifest(), false).expect("room");
        killed.write_at(0, b"garbage").expect("written");
        let part = killed.part.clone();
        // Its lock is released, and the file stays.
        rustix::fs::flock(&killed.file, rustix::fs::FlockOperation::Unlock).expect("unlocked");
        std::mem::forget(killed);
        let mut output = Output::create(&dir, &manifest(), false).expect("room");
        assert_eq!((&output.part, names(&dir).len()), (&part, 1));
        output.write_at(0, CONTENT).expect("written");
        output.finish().expect("the hash fits");
        assert_eq!(names(&dir), ["rivers.txt"]);
    }

    #[test]
    fn an_object_cannot_take_the_place_of_one_that_is_under_way() {
        let (_keep, dir) = directory();
        let mut output = Output::create(&dir, &manifest(), false).expect("room");
        let name = anabranch_host::ObjectName::new(&output.part).expect("a name");
        let other = Manifest { name, ..manifest() };
        assert!(matches!(Output::create(&dir, &other, true), Err(OutputError::Name { .. })));
        // Another process on this host can change the file: that is detected.
        output.write_at(0, CONTENT).expect("written");
        dir.write("other", b"other").expect("written");
        dir.rename("other", &dir, &output.part).expect("renamed");
        let part = output.part.clone();
        assert!(output.finish().is_err() && dir.read("rivers.txt").is_err());
        assert_eq!(dir.read(part).expect("left as it is"), b"other");
    }

    #[test]
    fn links_do_not_lead_out_of_the_directory() {
        let (outside, _) = directory();
        let (inside, dir) = directory();
        std::os::unix::fs::symlink(outside.path().join("target"), inside.path().join("rivers.txt")).expect("a link");
        assert!(matches!(Output::create(&dir, &manifest(), false), Err(OutputError::Exists { .. })));
        let mut output = Output::create(&dir, &manifest(), true).expect("room");
        output.write_at(0, CONTENT).expect("written");
        output.finish().expect("overwritten");
        assert!(!outside.path().join("target").exists(), "the link itself was replaced");
    }
}
