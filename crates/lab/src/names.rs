//! Names that say whose they are: `scdplab-PID-START-HOST`, with the start of the process, so that another with its number is another.
//!
//! [`clean`] removes what belongs to labs that are gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

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

/// Whether a name is one of a lab that is gone.
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

/// Removes namespaces, their processes and folders of labs that were killed, and returns their names.
///
/// # Errors
/// Those of `ip netns`: [`LabError::Missing`], or [`LabError::Command`] without the rights to remove them.
pub fn clean() -> Result<Vec<String>, LabError> {
    let mut removed = Vec::new();
    for name in left_in(Path::new(NAMESPACES)) {
        delete(&name)?;
        removed.push(name);
    }
    let folder = std::env::temp_dir();
    for name in left_in(&folder) {
        let path = folder.join(&name);
        // A folder itself, and not what somebody else's link points at.
        if fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) {
            fs::remove_dir_all(&path).map_err(LabError::path(&path))?;
            removed.push(path.display().to_string());
        }
    }
    Ok(removed)
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
pub(crate) struct Namespace(pub(crate) String);

impl Namespace {
    /// Makes the namespace of a host.
    pub(crate) fn new(host: &str) -> Result<Self, LabError> {
        let name = own() + host;
        tools::run("ip", &["netns", "add", &name], "")?;
        Ok(Self(name))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // `scdp lab --clean` finds what could not be removed.
        let _ = delete(&self.0);
    }
}

/// A folder in that of temporary files, which goes with its owner.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    pub(crate) path: PathBuf,
    keep: bool,
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
            return Ok(Self { path, keep: true });
        }
        // Unlike `create_dir_all`, this fails where another user has put something in the way.
        let path = std::env::temp_dir().join(own() + "work");
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(LabError::path(&path))?;
        Ok(Self { path, keep: false })
    }

    /// Removes what is in a folder inside, unless it is kept.
    pub(crate) fn forget(&self, inner: &Path) {
        if !self.keep {
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
}
