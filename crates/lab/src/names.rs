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
/// From its making to its lock, a thing of a lab has far less time than this.
const SETTLE: Duration = Duration::from_secs(2);

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

/// What the name says of the process that has made it: its number and its start. None for names that are of no lab.
fn maker(name: &str) -> Option<(u32, u64)> {
    let (pid, rest) = name.strip_prefix(PREFIX)?.split_once('-')?;
    Some((pid.parse().ok()?, rest.split_once('-')?.0.parse().ok()?))
}

/// Something with the name of a lab: that of a namespace, or a folder.
#[derive(Debug)]
struct Thing {
    name: String,
    path: PathBuf,
    is_folder: bool,
}

impl Thing {
    /// All in a folder.
    fn all_in(parent: &Path, are_folders: bool) -> Vec<Self> {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let named =
            entries.filter_map(|entry| entry.file_name().into_string().ok().filter(|name| maker(name).is_some()));
        let mut things: Vec<Self> =
            named.map(|name| Self { path: parent.join(&name), name, is_folder: are_folders }).collect();
        // Folders themselves, and not what somebody else's link points at.
        things.retain(|thing| {
            !are_folders || fs::symlink_metadata(&thing.path).is_ok_and(|data| data.file_type().is_dir())
        });
        things.sort_by(|one, other| one.name.cmp(&other.name));
        things
    }

    /// Takes its lock (`flock(2)`). None if another has it. The system gives it back when its owner ends, however that does.
    fn lock(&self) -> io::Result<Option<File>> {
        let folder = if self.is_folder { OFlags::DIRECTORY } else { OFlags::empty() };
        let flags = folder | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options().read(true).custom_flags(flags.bits() as i32).open(&self.path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the lock of what this process has just made. One that cleans may try it at this moment.
    fn own_lock(&self) -> Result<File, LabError> {
        let watch = Watch::start();
        loop {
            if let Some(lock) = self.lock().map_err(LabError::path(&self.path))? {
                return Ok(lock);
            }
            if watch.elapsed() > SETTLE / 2 {
                return Err(LabError::path(&self.path)(io::Error::other("another process has locked it")));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether its maker is a process that this one can see.
    fn is_seen(&self) -> bool {
        maker(&self.name).is_some_and(|(pid, start)| start_of(pid) == Some(start))
    }

    fn remove(&self) -> Result<(), LabError> {
        if self.is_folder {
            fs::remove_dir_all(&self.path).map_err(LabError::path(&self.path))
        } else {
            delete(&self.name)
        }
    }
}

/// What [`clean`] has done.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Names of namespaces and paths of folders that are removed.
    pub removed: Vec<String>,
    /// What could not be removed, or not be looked at, and why.
    pub failed: Vec<LabError>,
}

/// Removes namespaces, their processes and folders of labs that were killed, and goes on where that fails. What a living lab has is left
/// alone, whether or not this process can see that one (it may be another user's, or in another PID namespace): it holds locks.
pub fn clean() -> Cleaned {
    let mut things = Thing::all_in(Path::new(NAMESPACES), false);
    things.extend(Thing::all_in(&std::env::temp_dir(), true));
    remove_left(things)
}

fn remove_left(mut things: Vec<Thing>) -> Cleaned {
    let mut cleaned = Cleaned::default();
    things.retain(|thing| !matches!(thing.lock(), Ok(None)));
    if things.is_empty() {
        return cleaned;
    }
    // Some may be so new that they are not locked yet.
    thread::sleep(SETTLE);
    for thing in things {
        let result = match thing.lock() {
            // Held meanwhile, so that two that clean do not meet.
            Ok(Some(_lock)) => thing.remove(),
            Ok(None) => continue,
            // It is gone already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // Of a living lab of somebody else.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && thing.is_seen() => continue,
            Err(error) => Err(LabError::path(&thing.path)(error)),
        };
        match result {
            Ok(()) if thing.is_folder => cleaned.removed.push(thing.path.display().to_string()),
            Ok(()) => cleaned.removed.push(thing.name),
            Err(error) => cleaned.failed.push(error),
        }
    }
    cleaned
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
        let thing = Thing { path: Path::new(NAMESPACES).join(&name), name: name.clone(), is_folder: false };
        match thing.own_lock() {
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
        let name = own() + "work";
        let path = std::env::temp_dir().join(&name);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(LabError::path(&path))?;
        let lock = Thing { name, path: path.clone(), is_folder: true }.own_lock()?;
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
    fn names_of_others_are_left_alone() {
        assert_eq!(maker(&format!("{}a-b", own())).map(|(pid, _)| pid), Some(std::process::id()));
        for other in ["scdplab", "scdplab-", "scdplab-x-1-a", "scdplab-1", "scdplab-1-1", "mine-1-1-a"] {
            assert_eq!(maker(other), None, "{other}");
        }
    }

    #[test]
    fn another_process_with_the_same_number_is_another() {
        let thing =
            |pid, start| Thing { name: format!("{PREFIX}{pid}-{start}-a"), path: PathBuf::new(), is_folder: true };
        let pid = std::process::id();
        let start = start_of(pid).expect("this process is there");
        assert!(thing(pid, start).is_seen() && !thing(pid, start + 1).is_seen());
    }

    /// A folder of a process that nobody sees here: its number is above the largest that Linux gives (`proc_sys_kernel(5)`, `pid_max`).
    fn unseen(parent: &Path, host: &str) -> Thing {
        let name = format!("{PREFIX}4194305-1-{host}");
        let path = parent.join(&name);
        fs::create_dir(&path).expect("made");
        Thing { name, path, is_folder: true }
    }

    #[test]
    fn what_a_lab_holds_that_cannot_be_seen_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (held, left) = (unseen(folder.path(), "held"), unseen(folder.path(), "left"));
        fs::create_dir(folder.path().join("other")).expect("made");
        let lock = held.own_lock().expect("nobody else has it");
        let cleaned = remove_left(Thing::all_in(folder.path(), true));
        assert_eq!(cleaned.removed, [left.path.display().to_string()]);
        assert!(cleaned.failed.is_empty() && held.path.exists() && !left.path.exists());
        drop(lock);
        let cleaned = remove_left(Thing::all_in(folder.path(), true));
        assert_eq!(cleaned.removed, [held.path.display().to_string()]);
    }

    #[test]
    fn a_folder_of_a_living_lab_is_locked() {
        let work = WorkFolder::new(None).expect("made");
        let thing = Thing { name: String::new(), path: work.path.clone(), is_folder: true };
        assert!(thing.lock().expect("it is there").is_none());
    }

    #[test]
    fn what_cannot_be_removed_does_not_end_it() {
        let folder = tempfile::tempdir().expect("a folder");
        // A file is no folder: it cannot be locked as one.
        let file = Thing { name: String::new(), path: folder.path().join("0"), is_folder: true };
        fs::write(&file.path, "").expect("written");
        let left = unseen(folder.path(), "left");
        let cleaned = remove_left(vec![file, left]);
        assert_eq!((cleaned.removed.len(), cleaned.failed.len()), (1, 1), "{cleaned:?}");
    }
}
