//! Partial files: their names, and when they are removed.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use anabranch_host::Manifest;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, OFlags, flock, fstat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::mode;
use crate::clock::{Wall, wall};

/// Hexadecimal digits that tell partial files of one name, or of names that begin alike, from each other.
const DIGITS: usize = 12;

/// The name of the partial file of an object.
pub(super) fn name(manifest: &Manifest) -> String {
    let mut id = blake3::Hasher::new();
    id.update(&manifest.hash).update(manifest.name.as_str().as_bytes());
    // The longest names leave no room for the suffix: a file system allows 255 bytes.
    let stem: String = manifest.name.as_str().chars().take(48).collect();
    format!(".{stem}.{}.part", &id.finalize().to_hex()[..DIGITS])
}

/// Whether a file in progress may have this name.
pub(super) fn may_be(name: &str) -> bool {
    let extension = std::path::Path::new(name).extension();
    name.starts_with('.') && extension.is_some_and(|extension| extension.eq_ignore_ascii_case("part"))
}

/// Whether this is a name that [`name`] makes, or an earlier version made (with a number after the digits).
pub(super) fn is_ours(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".part")) else { return false };
    let is_id = |id: &str| id.len() == DIGITS && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let mut pieces = rest.rsplit('.');
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(id), Some(_), _) if is_id(id) => true,
        (Some(number), Some(id), Some(_)) => is_id(id) && number.len() <= 2 && number.parse::<u8>().is_ok(),
        _ => false,
    }
}

/// Whether that name refers to this open file.
pub(super) fn is_at(folder: &Dir, name: &str, file: impl AsFd) -> bool {
    let found = folder.symlink_metadata(name).map(|found| (found.dev(), found.ino()));
    let own = fstat(file).map(|own| (own.st_dev, own.st_ino));
    matches!((found, own), (Ok(found), Ok(own)) if found == own)
}

/// Opens a partial file, or makes it, and locks it: while it is open, nobody else writes to it or removes it. `None` if somebody has locked it. Only its
/// owner may read it, who is this process's user: one that another user has left is replaced, and one that has another name, too.
pub(super) fn lock(folder: &Dir, name: &str) -> io::Result<Option<std::fs::File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(mode::PRIVATE.into());
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    // Its previous owner may rename or remove it between the two steps.
    for _ in 0..3 {
        // What this call makes is ours, whatever owner the file system shows.
        let (file, is_new) = match folder.open_with(name, options.clone().create_new(true)) {
            Ok(made) => (made.into_std(), true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if folder.symlink_metadata(name).is_ok_and(|found| !found.is_file()) {
                    return Err(super::regular::invalid("something else has the name of the partial file"));
                }
                match folder.open_with(name, &options) {
                    Ok(found) => (found.into_std(), false),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Err(super::regular::invalid("something else has the name of the partial file"));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_at(folder, name, &file) => {
                // Another name for it may be somebody's file, or a copy that is kept.
                let found = file.metadata()?;
                if is_new || found.uid() == geteuid().as_raw() && found.nlink() == 1 {
                    mode::make_private(&file);
                    return Ok(Some(file));
                }
                folder.remove_file(name)?;
            }
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Removes a partial file that nobody has locked, and that nobody has written to for so long.
pub(super) fn remove_if_old(folder: &Dir, name: &str, keep: Duration) {
    let is_old = |found: &cap_std::fs::Metadata| {
        let written = Wall::new(found.mtime(), found.mtime_nsec() as u64);
        found.is_file() && written <= wall() && written.until(wall()) >= keep
    };
    if !folder.symlink_metadata(name).is_ok_and(|found| is_old(&found)) {
        return;
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    let Ok(file) = folder.open_with(name, &options) else { return };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && file.metadata().is_ok_and(|found| is_old(&found))
        && is_at(folder, name, &file)
    {
        // If that fails, the next one tries again.
        let _ = folder.remove_file(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_host::ObjectName;
    use cap_std::ambient_authority;
    use std::time::SystemTime;

    fn manifest(name: &str, hash: u8) -> Manifest {
        Manifest { hash: [hash; 32], size: 1, name: ObjectName::new(name).expect("a name"), signature: None }
    }

    #[test]
    fn each_object_of_each_name_has_a_partial_file_of_its_own() {
        let long = |last: char| "é".repeat(100) + &last.to_string();
        let names = [manifest("a.b", 1), manifest("a.b", 2), manifest(&long('x'), 1), manifest(&long('y'), 1)];
        let names = names.map(|manifest| name(&manifest));
        for (n, part) in names.iter().enumerate() {
            assert!(is_ours(part) && may_be(part) && part.len() <= 255, "{part}");
            assert!(!names[..n].contains(part), "{part}");
        }
        assert_eq!(names[0], name(&manifest("a.b", 1)), "and always the same one");
        assert!(is_ours(".model.bin.0123456789ab.0.part") && is_ours(".m.0123456789ab.63.part"));
        for other in [
            "m.0123456789ab.part",
            ".0123456789ab.part",
            ".m.0123456789.part",
            ".m.0123456789AB.part",
            ".m.0123456789ab.PART",
            ".m.0123456789ab.part~",
            ".m.part",
            ".m.0123456789ab.x.part",
            ".m.0123456789ab.640.part",
            ".scdp-0123456789abcdef.part",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn what_is_old_and_ours_is_removed_unless_somebody_writes_to_it() {
        let path = tempfile::tempdir().expect("a directory");
        let folder = Dir::open_ambient_dir(path.path(), ambient_authority()).expect("opened");
        let hour = Duration::from_secs(3600);
        #[allow(clippy::disallowed_methods, reason = "times of files")]
        let past = SystemTime::now() - 2 * hour;
        let put = |name: &str, old: bool| {
            let file = std::fs::File::create(path.path().join(name)).expect("made");
            if old {
                file.set_modified(past).expect("set");
            }
        };
        for (name, old) in
            [(".a.0123456789ab.part", true), (".b.0123456789ab.part", false), (".c.0123456789ab.part", true)]
        {
            put(name, old);
        }
        let locked = lock(&folder, ".c.0123456789ab.part").expect("opened").expect("free");
        locked.set_modified(past).expect("set");
        assert!(lock(&folder, ".c.0123456789ab.part").expect("opened").is_none(), "it has an owner");
        let clean = || {
            for n in ["a", "b", "c"] {
                remove_if_old(&folder, &format!(".{n}.0123456789ab.part"), hour);
            }
            let mut left: Vec<_> = folder.entries().expect("listed").map(|e| e.expect("one").file_name()).collect();
            left.sort();
            left
        };
        assert_eq!(clean(), [".b.0123456789ab.part", ".c.0123456789ab.part"]);
        drop(locked);
        assert_eq!(clean(), [".b.0123456789ab.part"]);
    }

    #[test]
    fn a_pipe_of_that_name_is_refused_and_left_alone() {
        let path = tempfile::tempdir().expect("a directory");
        let folder = Dir::open_ambient_dir(path.path(), ambient_authority()).expect("opened");
        let name = ".m.0123456789ab.part";
        rustix::fs::mkfifoat(rustix::fs::CWD, path.path().join(name), rustix::fs::Mode::RWXU).expect("made");
        assert_eq!(lock(&folder, name).expect_err("a pipe").kind(), io::ErrorKind::InvalidInput);
        remove_if_old(&folder, name, Duration::ZERO);
        assert!(folder.symlink_metadata(name).is_ok());
    }
}
