//! Names that say whose they are: `scdplab-PID-START-HOST`, with the start of the process, so that another with its number is another.
//!
//! [`clean`] removes what belongs to labs that are gone.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::clock::Watch;
use crate::error::LabError;
use crate::tools;

const PREFIX: &str = "scdplab-";
/// Where `ip netns` keeps the names.
const NAMESPACES: &str = "/run/netns";

/// The beginning of all names of this process.
pub(crate) fn own() -> String {
    let pid = std::process::id();
    format!("{PREFIX}{pid}-{}-", start_of(pid).unwrap_or(0))
}

/// When a process has begun, in the kernel's ticks; none if there is no such process. `proc_pid_stat(5)`, field 22.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses that may contain anything. The state of a process that has ended is Z or X.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" { None } else { fields.nth(18)?.parse().ok() }
}

/// Whether a name is one of a lab that is gone, or of one that this process cannot see: of another user (`hidepid` of `proc(5)`) or
/// in another PID namespace. Locks tell them apart.
fn is_left(name: &str) -> bool {
    let Some((pid, rest)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else { return false };
    let (Ok(pid), Some(Ok(start))) = (pid.parse::<u32>(), rest.split('-').next().map(str::parse::<u64>)) else {
        return false;
    };
    start_of(pid) != Some(start)
}

fn left_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_left(name)).collect();
    names.sort();
    names
}

/// What [`clean`] has done.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Names of namespaces and paths of folders that are removed.
    pub removed: Vec<String>,
    /// What could not be removed, or not be looked at, and why.
    pub failed: Vec<LabError>,
}

impl Cleaned {
    /// Removes what nobody holds.
    fn remove(&mut self, name: String, lock: io::Result<Option<File>>, remove: impl FnOnce() -> Result<(), LabError>) {
        let result = match lock {
            // Held meanwhile, so that two that clean do not meet.
            Ok(Some(_lock)) => remove(),
            Ok(None) => return,
            // It is gone already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => Err(LabError::path(&name)(error)),
        };
        match result {
            Ok(()) => self.removed.push(name),
            Err(error) => self.failed.push(error),
        }
    }

    fn folders(&mut self, parent: &Path) {
        for name in left_in(parent) {
            let path = parent.join(&name);
            // A folder itself, and not what somebody else's link points at.
            if fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) {
                let lock = lock(&path, OFlags::DIRECTORY);
                let remove = || fs::remove_dir_all(&path).map_err(LabError::path(&path));
                self.remove(path.display().to_string(), lock, remove);
            }
        }
    }
}

/// Removes namespaces, their processes and folders of labs that were killed, and goes on where that fails. What a living lab has is left
/// alone, whether or not this process can see that one: it holds locks.
pub fn clean() -> Cleaned {
    let mut cleaned = Cleaned::default();
    for name in left_in(Path::new(NAMESPACES)) {
        let lock = lock(&Path::new(NAMESPACES).join(&name), OFlags::empty());
        cleaned.remove(name.clone(), lock, || delete(&name));
    }
    cleaned.folders(&std::env::temp_dir());
    cleaned
}

/// Takes the lock (`flock(2)`) of a folder or of the name of a namespace. None if another has it. The system gives it back when its owner
/// ends, however that does.
fn lock(path: &Path, flags: OFlags) -> io::Result<Option<File>> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The lock of what this process has just made.
fn own_lock(path: &Path, flags: OFlags) -> Result<File, LabError> {
    let locked = lock(path, flags).map_err(LabError::path(path))?;
    locked.ok_or_else(|| LabError::path(path)(io::Error::other("another process has locked it")))
}

/// Ends all processes in a namespace and removes it, with its interfaces.
pub(crate) fn delete(name: &str) -> Result<(), LabError> {
    let watch = Watch::start();
    // Until none is left: one may have started another meanwhile.
    while watch.elapsed() < Duration::from_secs(2) {
        let pids = tools::run("ip", &["netns", "pids", name], "").unwrap_or_default();
        let mut pids = pids.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).peekable();
        if pids.peek().is_none() {
            break;
        }
        for pid in pids {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(5));
    }
    tools::run("ip", &["netns", "del", name], "").map(drop)
}

/// A network namespace, which goes with its owner.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    /// Held as long as this lives, so that nobody takes it for left.
    _lock: File,
}

impl Namespace {
    /// Makes the namespace of a host.
    pub(crate) fn new(host: &str) -> Result<Self, LabError> {
        let name = own() + host;
        tools::run("ip", &["netns", "add", &name], "")?;
        match own_lock(&Path::new(NAMESPACES).join(&name), OFlags::empty()) {
            Ok(lock) => Ok(Self { name, _lock: lock }),
            Err(error) => {
                let _ = delete(&name);
                Err(error)
            }
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // `scdp lab --clean` finds what could not be removed.
        let _ = delete(&self.name);
    }
}

/// A folder in that of temporary files, which goes with its owner.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    pub(crate) path: PathBuf,
    /// Of a folder that goes. One that is kept has no name that [`clean`] knows.
    lock: Option<File>,
}

impl WorkFolder {
    /// A folder of its own, or one that is kept and must be new or empty.
    pub(crate) fn new(keep: Option<&Path>) -> Result<Self, LabError> {
        use std::os::unix::fs::DirBuilderExt;
        if let Some(path) = keep {
            let path = std::path::absolute(path).map_err(LabError::path(path))?;
            fs::create_dir_all(&path).map_err(LabError::path(&path))?;
            if fs::read_dir(&path).map_err(LabError::path(&path))?.next().is_some() {
                return Err(LabError::path(&path)(std::io::Error::other("the folder is not empty")));
            }
            return Ok(Self { path, lock: None });
        }
        // Unlike `create_dir_all`, this fails where another user has put something in the way.
        let path = std::env::temp_dir().join(own() + "work");
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(LabError::path(&path))?;
        let lock = own_lock(&path, OFlags::DIRECTORY)?;
        Ok(Self { path, lock: Some(lock) })
    }

    /// Removes what is in a folder inside, unless it is kept.
    pub(crate) fn forget(&self, inner: &Path) {
        if self.lock.is_some() {
            let _ = fs::remove_dir_all(inner);
        }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        self.forget(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_living_and_of_others_are_left_alone() {
        assert!(!is_left(&format!("{}a", own())));
        for other in ["scdplab", "scdplab-", "scdplab-x-1-a", "scdplab-1", "mine-1-1-a"] {
            assert!(!is_left(other), "{other}");
        }
    }

    #[test]
    fn another_process_with_the_same_number_is_another() {
        let pid = std::process::id();
        let start = start_of(pid).expect("this process is there");
        assert!(is_left(&format!("{PREFIX}{pid}-{}-a", start + 1)));
        // Above the largest that Linux gives (`proc_sys_kernel(5)`, `pid_max`).
        assert!(is_left(&format!("{PREFIX}4194305-1-a")));
    }

    /// What a process that nobody can see here would have made.
    fn unseen(parent: &Path, host: &str) -> PathBuf {
        let path = parent.join(format!("{PREFIX}4194305-1-{host}"));
        fs::create_dir(&path).expect("made");
        path
    }

    #[test]
    fn what_a_lab_holds_that_cannot_be_seen_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (held, left) = (unseen(folder.path(), "held"), unseen(folder.path(), "left"));
        let lock = own_lock(&held, OFlags::DIRECTORY).expect("nobody else has it");
        let mut cleaned = Cleaned::default();
        cleaned.folders(folder.path());
        assert_eq!(cleaned.removed, [left.display().to_string()]);
        assert!(cleaned.failed.is_empty() && held.exists() && !left.exists());
        drop(lock);
        cleaned.folders(folder.path());
        assert_eq!(cleaned.removed.last(), Some(&held.display().to_string()));
    }

    #[test]
    fn a_folder_of_a_living_lab_is_locked() {
        let work = WorkFolder::new(None).expect("made");
        assert!(lock(&work.path, OFlags::DIRECTORY).expect("it is there").is_none());
    }

    #[test]
    fn what_cannot_be_removed_does_not_end_it() {
        let mut cleaned = Cleaned::default();
        let lock = || File::open("/").map(Some);
        cleaned.remove("first".to_owned(), lock(), || Err(LabError::Stopped));
        cleaned.remove("second".to_owned(), Err(io::ErrorKind::PermissionDenied.into()), || Ok(()));
        cleaned.remove("third".to_owned(), lock(), || Ok(()));
        assert_eq!(cleaned.removed, ["third"]);
        let failed: Vec<String> = cleaned.failed.iter().map(ToString::to_string).collect();
        assert_eq!(failed, ["stopped", "second: permission denied"]);
    }
}
