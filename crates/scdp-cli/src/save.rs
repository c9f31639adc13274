//! Result files: written completely or not at all, without harm to existing files of that name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

/// What a path leads to.
enum Target {
    /// A device or a pipe: written to directly.
    Stream,
    /// A file, existing or not, that is not a link.
    File(PathBuf),
}

/// Finds out what a path leads to and whether it can be written, before the work that produces the results.
///
/// # Errors
/// Errors of the system: no such folder, no permission to write in it, or the path is a folder.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match target(path)? {
        // Not opened: a pipe would wait for its reader.
        Target::Stream => Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?),
        Target::File(path) => {
            if path.exists() {
                accessat(CWD, &path, Access::WRITE_OK, AtFlags::EACCESS)?;
            }
            let (_, part) = create_beside(&path)?;
            fs::remove_file(part)
        }
    }
}

/// Writes a file, which appears when it is complete, with owner and permissions of the file that it replaces. A link stays, and its target is
/// replaced; a device or a pipe is written to directly.
///
/// # Errors
/// Errors of the system. An existing file is then unharmed; a device or a pipe may not be.
pub(crate) fn save(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = match target(path)? {
        Target::Stream => return File::options().write(true).open(path)?.write_all(content),
        Target::File(path) => path,
    };
    let (mut file, part) = create_beside(&path)?;
    let mut written = || {
        if let Ok(old) = fs::metadata(&path) {
            // Only root can give files away; for other users the owner is usually the same.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
            file.set_permissions(old.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&part, &path)
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

fn target(path: &Path) -> io::Result<Target> {
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(data) if !data.is_file() => Ok(Target::Stream),
        // Opened, so that the kernel rejects a link that another user has planted: `proc_sys_fs(5)`, `protected_symlinks`.
        Ok(_) => File::options().write(true).open(path).and_then(|_| fs::canonicalize(path)).map(Target::File),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                // A dangling link then leads to an empty file.
                File::options().write(true).create(true).truncate(false).open(path)?;
                return fs::canonicalize(path).map(Target::File);
            }
            Ok(Target::File(path.to_owned()))
        }
        Err(error) => Err(error),
    }
}

/// A new file in the folder of another, under an unpredictable name.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let part = path.with_file_name(format!(".scdp-{:016x}.part", u64::from_ne_bytes(random)));
    Ok((File::create_new(&part)?, part))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::thread;

    use super::*;

    fn listed(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("it is there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("read").file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_made_or_replaced_and_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, part) = (folder.path().join("x"), folder.path().join("x.part"));
        fs::write(&part, "mine").expect("written");
        for content in ["first", "second"] {
            check(&path).expect("it can be written");
            save(&path, content.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("there"), content);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        }
        save(&path, b"third").expect("written");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(&part).expect("there"), "mine");
        assert_eq!(listed(folder.path()), ["x", "x.part"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        symlink("file", &link).expect("made");
        // A dangling link at first.
        for content in ["first", "second"] {
            check(&link).expect("it can be written");
            save(&link, content.as_bytes()).expect("written");
            assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
            assert!(fs::symlink_metadata(&file).expect("there").is_file());
            assert_eq!(fs::read_to_string(&file).expect("there"), content);
        }
        assert_eq!(listed(folder.path()), ["file", "link"]);
    }

    #[test]
    fn devices_and_pipes_are_written_into() {
        let null = Path::new("/dev/null");
        check(null).expect("it can be written");
        save(null, b"x").expect("written");
        assert!(fs::metadata(null).expect("there").file_type().is_char_device());

        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("`mkfifo` is there");
        assert!(made.success());
        check(&pipe).expect("it can be written");
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).expect("read")
        });
        save(&pipe, b"x").expect("written");
        assert_eq!(reader.join().expect("read"), "x");
        assert!(fs::metadata(&pipe).expect("there").file_type().is_fifo());
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().to_owned(), folder.path().join("none/x"), Path::new("/proc/x").to_owned()] {
            assert!(check(&path).is_err(), "{}", path.display());
            assert!(save(&path, b"x").is_err(), "{}", path.display());
        }
        assert_eq!(listed(folder.path()), [""; 0]);
    }
}
