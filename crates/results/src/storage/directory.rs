//! A result folder on disk.

use super::{Item, Kind, Locking, Storage};
use crate::layout::draft_name;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::PathBuf;

/// A directory.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// The directory of this name, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn walk(&self, folder: &str, into: &dyn Fn(&str) -> bool, found: &mut Vec<Item>) -> io::Result<()> {
        // A worker may just have renamed or removed what is below the folder itself.
        let entries = fs::read_dir(self.root.join(folder));
        let entries = if folder.is_empty() { Some(entries?) } else { if_there(entries)? };
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
            let Some(kind) = if_there(entry.file_type())? else { continue };
            let kind = match (kind.is_file(), kind.is_dir()) {
                (true, _) => Kind::File,
                (_, true) => Kind::Folder,
                _ => Kind::Other,
            };
            found.push(Item { path: path.clone(), kind });
            if kind == Kind::Folder && into(&path) {
                self.walk(&path, into, found)?;
            }
        }
        Ok(())
    }
}

/// What was found, unless it is missing.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Nothing, if that which was to go is not there.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    if_there(removed).map(|_| ())
}

impl Storage for Directory {
    fn shown(&self, path: &str) -> String {
        let whole = if path.is_empty() { self.root.clone() } else { self.root.join(path) };
        whole.display().to_string()
    }

    fn renames(&self) -> bool {
        true
    }

    fn make(&self) -> io::Result<()> {
        fs::create_dir_all(self.root.join("runs"))
    }

    /// The lock is released when the file is closed, however that happens. Some file systems cannot lock folders: then
    /// nobody is kept out.
    fn lock(&self) -> io::Result<Locking> {
        let Ok(file) = File::open(&self.root) else { return Ok(Locking::Held(Box::new(()))) };
        Ok(match file.try_lock() {
            Ok(()) => Locking::Held(Box::new(file)),
            Err(TryLockError::WouldBlock) => Locking::Busy,
            Err(TryLockError::Error(_)) => Locking::Held(Box::new(())),
        })
    }

    fn list(&self, into: &dyn Fn(&str) -> bool) -> io::Result<Vec<Item>> {
        let mut found = Vec::new();
        match self.walk("", into, &mut found) {
            // Nor where there is a file above it: that it cannot be made is told then.
            Err(_) if self.root.symlink_metadata().is_err() => Ok(Vec::new()),
            // A link that leads nowhere.
            Err(e) if e.kind() == io::ErrorKind::NotFound && !self.root.exists() => {
                Err(io::ErrorKind::NotADirectory.into())
            }
            walked => walked.map(|()| found),
        }
    }

    fn read(&self, files: &[String]) -> io::Result<Vec<Option<Vec<u8>>>> {
        files.iter().map(|file| if_there(fs::read(self.root.join(file)))).collect()
    }

    fn ends_with(&self, file: &str, mark: &[u8]) -> bool {
        let read = || -> io::Result<Vec<u8>> {
            let (mut file, mut end) = (File::open(self.root.join(file))?, vec![0; mark.len()]);
            file.seek(io::SeekFrom::End(-(mark.len() as i64)))?;
            file.read_exact(&mut end)?;
            Ok(end)
        };
        read().is_ok_and(|end| end == mark)
    }

    fn write(&self, file: &str, content: &[u8]) -> io::Result<()> {
        let path = self.root.join(file);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = path.with_file_name(draft_name(&name));
        // A link of that name, in a folder that somebody else has packed, may lead to any file.
        let written = unless_missing(fs::remove_file(&draft))
            .and_then(|()| File::create_new(&draft))
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }

    fn create(&self, file: &str, content: &[u8]) -> io::Result<()> {
        match File::create_new(self.root.join(file)) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            file => file?.write_all(content),
        }
    }

    fn remove(&self, files: &[String]) -> io::Result<()> {
        files.iter().try_for_each(|file| unless_missing(fs::remove_file(self.root.join(file))))
    }

    fn remove_folder(&self, folder: &str) -> io::Result<()> {
        unless_missing(fs::remove_dir(self.root.join(folder)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder.
    fn folder(name: &str) -> Directory {
        let root = std::env::temp_dir().join(format!("anabranch-directory-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("runs/.p000-s1.part")).expect("it can be made");
        Directory::new(root)
    }

    #[test]
    fn a_link_with_the_name_of_a_draft_is_not_followed() {
        let here = folder("link");
        let theirs = here.root.join("theirs");
        fs::write(&theirs, "theirs").expect("it can be written");
        std::os::unix::fs::symlink(&theirs, here.root.join("runs/.run.json.part")).expect("it can be made");
        here.write("runs/run.json", b"ours").expect("it can be written");
        assert_eq!(fs::read(&theirs).expect("it is there"), b"theirs");
        let written = here.root.join("runs/run.json");
        assert!(written.symlink_metadata().expect("it is there").is_file());
        assert_eq!(fs::read(written).expect("it is there"), b"ours");
    }

    #[test]
    fn what_is_missing_is_passed_over_and_no_other_error() {
        assert_eq!(if_there(Ok(1)).expect("it is there"), Some(1));
        assert_eq!(if_there::<u8>(Err(io::ErrorKind::NotFound.into())).expect("it is no error"), None);
        let error = if_there::<u8>(Err(io::ErrorKind::PermissionDenied.into())).expect_err("it is one");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_folder_that_goes_while_it_is_listed_is_empty() {
        let here = folder("goes");
        fs::create_dir(here.root.join("runs/p000-s2")).expect("it can be made");
        let goes = |path: &str| {
            if path == "runs/.p000-s1.part" {
                fs::remove_dir(here.root.join(path)).expect("it is there");
            }
            true
        };
        let mut found: Vec<String> =
            here.list(&goes).expect("the others are there").into_iter().map(|item| item.path).collect();
        found.sort();
        assert_eq!(found, ["runs", "runs/.p000-s1.part", "runs/p000-s2"]);
    }
}
