//! Regular files, and what tells one state of a file from another.
//!
//! Anything may lie in a folder. Opening a named pipe waits for its other end, for ever perhaps, and opening a device may do something. So the kind is
//! looked at first, the file is opened without waiting, and the kind is looked at again in what was opened.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptionsExt};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat};

use crate::clock::{Wall, wall};

/// Opens neither wait nor make a terminal the controlling one.
const FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// After a change, further ones may get the same time stamp: for so long with the clock of the kernel (at least 100 ticks a second), and for two
/// seconds on file systems that keep whole seconds (FAT keeps even ones).
const TICK: Wall = Wall::from_ms(20);
const COARSE: Wall = Wall::from_ms(2000);

/// What the system says about a file, but for its content. A file whose state is the same has the same content, if the state was
/// [settled](Self::is_settled) when the content was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    mode: u16,
    modified: Wall,
    /// Nobody can set this time: it tells of writers that restore the time of modification.
    changed: Wall,
}

impl FileState {
    /// The state of an open file, which must be a regular one.
    ///
    /// # Errors
    ///
    /// Any error of the system, and [`io::ErrorKind::InvalidInput`] for another kind of file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Self::from_stat(&fstat(file)?)
    }

    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn from_stat(stat: &Stat) -> io::Result<Self> {
        refuse_others(FileType::from_raw_mode(stat.st_mode))?;
        Ok(Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size as u64,
            mode: (stat.st_mode & 0o777) as u16,
            modified: Wall::new(stat.st_mtime, stat.st_mtime_nsec as u64),
            changed: Wall::new(stat.st_ctime, stat.st_ctime_nsec as u64),
        })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Its permission bits: reading, writing and executing.
    pub(crate) fn mode(&self) -> u16 {
        self.mode
    }

    /// Whether each later change gets another time stamp.
    pub(crate) fn is_settled(&self, now: Wall) -> bool {
        let coarse = self.modified.is_whole_second() && self.changed.is_whole_second();
        self.changed + if coarse { COARSE } else { TICK } <= now
    }

    /// Whether this is the same file, and its first bytes may be the same: nobody has replaced or rewritten it, though bytes may have been
    /// appended, and its name or rights may have changed.
    pub(crate) fn continues(&self, earlier: &Self) -> bool {
        let same = (self.device, self.inode) == (earlier.device, earlier.inode);
        same && (self.size > earlier.size || self.size == earlier.size && self.modified == earlier.modified)
    }
}

/// The state of a file in a folder; links within the folder are followed.
///
/// # Errors
///
/// As of [`FileState::of`].
pub(crate) fn state_in(folder: &Dir, name: &str) -> io::Result<FileState> {
    use cap_std::fs::MetadataExt;
    let found = folder.metadata(name)?;
    refuse_others(FileType::from_raw_mode(found.mode()))?;
    Ok(FileState {
        device: found.dev(),
        inode: found.ino(),
        size: found.len(),
        mode: (found.mode() & 0o777) as u16,
        modified: Wall::new(found.mtime(), found.mtime_nsec() as u64),
        changed: Wall::new(found.ctime(), found.ctime_nsec() as u64),
    })
}

/// Opens a file in a folder for reading; links within the folder are followed.
///
/// # Errors
///
/// As of [`FileState::of`].
pub(crate) fn open_in(folder: &Dir, name: &str) -> io::Result<(File, FileState)> {
    // A device is not even opened.
    state_in(folder, name)?;
    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true).custom_flags(FLAGS.bits() as i32);
    let file = folder.open_with(name, &options)?.into_std();
    let state = FileState::of(&file)?;
    Ok((file, state))
}

/// Opens a file for reading.
///
/// # Errors
///
/// As of [`FileState::of`].
pub(crate) fn open(path: &Path) -> io::Result<(File, FileState)> {
    FileState::from_stat(&rustix::fs::stat(path)?)?;
    let file = File::from(rustix::fs::open(path, FLAGS | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    let state = FileState::of(&file)?;
    Ok((file, state))
}

/// Refuses everything but regular files, and says what it is.
pub(crate) fn refuse_others(found: FileType) -> io::Result<()> {
    match kind(found) {
        None => Ok(()),
        Some("directory") => Err(invalid("is no regular file: pack a directory, with tar for example")),
        Some(kind) => Err(invalid(&format!("is no regular file, but a {kind}"))),
    }
}

/// What something is in words, if it is no regular file.
pub(crate) fn kind(found: FileType) -> Option<&'static str> {
    match found {
        FileType::RegularFile => None,
        FileType::Directory => Some("directory"),
        FileType::Fifo => Some("named pipe"),
        FileType::Socket => Some("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("device"),
        FileType::Symlink => Some("link"),
        FileType::Unknown => Some("file of unknown kind"),
    }
}

pub(super) fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Whether the state is settled now.
pub(super) fn is_settled(state: &FileState) -> bool {
    state.is_settled(wall())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::io::{Seek, Write};
    use std::os::unix::fs::symlink;

    fn folder() -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().expect("a directory");
        let opened = Dir::open_ambient_dir(folder.path(), ambient_authority()).expect("opened");
        (folder, opened)
    }

    #[test]
    fn what_is_no_regular_file_is_named_and_nobody_waits_for_it() {
        let (path, folder) = folder();
        let at = |name: &str| path.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).expect("made");
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("made");
        std::fs::create_dir(at("folder")).expect("made");
        std::fs::write(at("file"), "content").expect("written");
        symlink("pipe", at("link to a pipe")).expect("made");
        symlink("file", at("link to a file")).expect("made");
        for (name, expected) in
            [("pipe", "named pipe"), ("socket", "socket"), ("folder", "directory"), ("link to a pipe", "named pipe")]
        {
            for error in [
                open_in(&folder, name).expect_err(name),
                open(&at(name)).expect_err(name),
                state_in(&folder, name).expect_err(name),
            ] {
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
                assert!(error.to_string().contains(expected), "{name}: {error}");
            }
        }
        assert!(open(Path::new("/dev/zero")).expect_err("a device").to_string().contains("device"));
        for name in ["file", "link to a file"] {
            let states = [open_in(&folder, name), open(&at(name))].map(|opened| opened.expect("opened").1);
            assert_eq!(states, [state_in(&folder, name).expect("there"); 2]);
        }
        assert_eq!(open_in(&folder, "none").expect_err("none").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_is_rewritten_is_another_state_although_size_and_time_are_restored() {
        let (path, folder) = folder();
        let at = path.path().join("file");
        std::fs::write(&at, "before").expect("written");
        let (mut before, time) = (state_in(&folder, "file").expect("there"), at.metadata().expect("there").modified());
        while !is_settled(&before) {
            std::thread::yield_now();
        }
        let mut file = File::options().write(true).open(&at).expect("there");
        file.write_all(b"after.").expect("written");
        file.set_modified(time.expect("a time")).expect("set");
        let after = state_in(&folder, "file").expect("there");
        assert_eq!((after.size, after.modified), (before.size, before.modified));
        assert_ne!(after, before);
        assert!(after.continues(&before), "nothing but the time of change tells it");

        before = after;
        file.seek(io::SeekFrom::End(0)).expect("there");
        file.write_all(b"more").expect("written");
        assert!(state_in(&folder, "file").expect("there").continues(&before), "the first bytes are the same");
        file.set_len(3).expect("cut");
        assert!(!state_in(&folder, "file").expect("there").continues(&before));
        std::fs::write(path.path().join("other"), "before").expect("written");
        std::fs::rename(path.path().join("other"), &at).expect("replaced");
        assert!(!state_in(&folder, "file").expect("there").continues(&before));
    }

    #[test]
    fn a_state_is_settled_once_the_clock_has_moved_on() {
        let at = |ms| Wall::from_ms(1_000_000) + Wall::from_ms(ms);
        let state = |changed| FileState { device: 1, inode: 1, size: 1, mode: 0o644, modified: at(0), changed };
        assert!(!state(at(7)).is_settled(at(26)) && state(at(7)).is_settled(at(27)));
        assert!(!state(at(0)).is_settled(at(1999)) && state(at(0)).is_settled(at(2000)), "whole seconds");
        assert!(!state(at(5007)).is_settled(at(0)), "of the future");
    }
}
