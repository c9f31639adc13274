//! The lock of a result folder whose system has no locks: an object that can only be created where there is none.
//!
//! S3 does that with `If-None-Match: *`, GCS with a generation of 0. A store that ignores the condition is still checked
//! before and after, which leaves a gap of one round trip. A client that is killed leaves its lock. The next client removes
//! it if the process is known to be dead, which it can know on the same machine only; otherwise a person has to.

use crate::StoreError;
use crate::storage::{Storage, Who};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The lock's object in the result folder.
pub(crate) const NAME: &str = ".anabranch-lock";

/// How often a client looks whether others that take over the same lock have finished: for 10 s.
const TRIES: u32 = 200;

/// Time between two of these looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Who holds a lock: the content of its object, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    /// Unique to the sweep.
    token: String,
    user: String,
    host: String,
    pid: i32,
    since: String,
    command: String,
    /// Boot and process namespace, within which `pid` and `started` name one process; empty where not known.
    #[serde(default)]
    machine: String,
    /// Start of the process, in ticks since boot.
    #[serde(default)]
    started: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, host, pid, since, command, .. } = self;
        write!(f, "{user} on {host}, process {pid}, since {since}")?;
        if command.is_empty() { Ok(()) } else { write!(f, " ({command})") }
    }
}

impl Holder {
    /// This process.
    fn new(token: String, who: &Who, command: &[String]) -> Self {
        let pid = std::process::id().cast_signed();
        let Who { user, host, since } = who.clone();
        let command = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        Self { token, user, host, pid, since, command, machine: machine(), started: started(pid).unwrap_or_default() }
    }

    /// Who holds the lock of a folder; `None` if nobody does.
    fn read(storage: &dyn Storage) -> Result<Option<Self>, StoreError> {
        let mut found = storage.read(&[NAME.to_owned()]).map_err(StoreError::read(storage.shown(NAME)))?;
        let unknown = || {
            let [user, host, since] = ["somebody", "an unknown host", "an unknown time"].map(str::to_owned);
            Self { user, host, since, ..Self::default() }
        };
        Ok(found.pop().flatten().map(|text| serde_json::from_slice(&text).unwrap_or_else(|_| unknown())))
    }

    /// Whether the process is known to have ended; one of which this user may see nothing is taken to be alive.
    fn is_dead(&self) -> bool {
        // Anybody may have written the number.
        let pid = Some(self.pid).filter(|&pid| pid > 0 && !self.machine.is_empty()).and_then(Pid::from_raw);
        let Some(pid) = pid else { return false };
        self.machine == machine()
            && (test_kill_process(pid) == Err(Errno::SRCH)
                || started(self.pid).is_some_and(|started| !self.started.is_empty() && started != self.started))
    }
}

/// The token of who holds the lock of a folder.
pub(crate) fn token(storage: &dyn Storage) -> Result<Option<String>, StoreError> {
    Ok(Holder::read(storage)?.map(|holder| holder.token))
}

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct LockObject {
    storage: Arc<dyn Storage>,
    token: String,
    held: AtomicBool,
}

impl LockObject {
    /// Creates the lock.
    ///
    /// # Errors
    /// If another client holds it, or the storage refuses.
    pub(crate) fn acquire(
        storage: Arc<dyn Storage>,
        token: String,
        who: &Who,
        command: &[String],
    ) -> Result<Self, StoreError> {
        let mine = serde_json::to_vec_pretty(&Holder::new(token.clone(), who, command)).unwrap_or_default();
        let lock = Self { storage, token, held: AtomicBool::new(false) };
        let storage = &*lock.storage;
        let create = || {
            // There may be one from now on, even if no answer comes.
            lock.held.store(true, Ordering::Release);
            storage.create(NAME, &mine).map_err(StoreError::write(storage.shown(NAME)))
        };
        match Holder::read(storage)? {
            None => create()?,
            Some(dead) if dead.is_dead() => {
                let _alone = alone(storage, TRIES)?;
                // Another command may have taken it over meanwhile: on this machine, where alone its end is known.
                if Holder::read(storage)? == Some(dead) {
                    storage.remove(&[NAME.to_owned()]).map_err(StoreError::write(storage.shown(NAME)))?;
                    create()?;
                }
            }
            Some(_) => {}
        }
        match Holder::read(storage)? {
            Some(holder) if holder.token == lock.token => Ok(lock),
            other => Err(StoreError::Locked {
                folder: storage.shown(""),
                holder: other.map_or_else(|| "it has just ended".to_owned(), |holder| holder.to_string()),
                removal: removal(storage),
            }),
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// Checks that the lock is still there. A store that does not answer may be back at the next check.
    ///
    /// # Errors
    /// If it was removed, or is another client's; if the check was interrupted.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let why = match Holder::read(&*self.storage) {
            Ok(None) => "was removed".to_owned(),
            Ok(Some(holder)) if holder.token != self.token => format!("was taken by another command: {holder}"),
            Err(error) if error.is_interruption() => return Err(error),
            _ => return Ok(()),
        };
        if self.held.swap(false, Ordering::AcqRel) {
            return Err(StoreError::LockLost { folder: self.storage.shown(""), why });
        }
        Ok(())
    }

    /// Removes the lock, if it is held. A store that refuses is asked once more.
    ///
    /// # Errors
    /// If it refuses again, or the removal was interrupted.
    pub(crate) fn release(&self) -> Result<(), StoreError> {
        if !self.is_held() {
            return Ok(());
        }
        let removed = match self.remove() {
            Err(error) if error.is_interruption() => return Err(error),
            Err(_) => self.remove(),
            removed => removed,
        };
        self.held.store(false, Ordering::Release);
        removed
    }

    /// Removes the lock unless it is another client's.
    fn remove(&self) -> Result<(), StoreError> {
        if token(&*self.storage)?.as_deref() != Some(&self.token) {
            return Ok(());
        }
        self.storage.remove(&[NAME.to_owned()]).map_err(StoreError::write(self.storage.shown(NAME)))
    }
}

impl Drop for LockObject {
    /// After an error, or an interruption, which say more than that the lock cannot be removed.
    fn drop(&mut self) {
        let _ = self.release();
    }
}

/// Keeps other processes of this machine out, of any user, as long as the file is open. Any user can lock it, and must not
/// stop this command for ever.
fn alone(storage: &dyn Storage, tries: u32) -> Result<OwnedFd, StoreError> {
    let path = exclusion(storage);
    let open = |flags| rustix::fs::open(&path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::from_raw_mode(0o644));
    let file = match open(OFlags::CREATE) {
        // Another user's, in a folder where such files are not opened to be created.
        Err(Errno::ACCESS | Errno::PERM) => open(OFlags::empty()),
        file => file,
    };
    let file = file.map_err(|e| StoreError::write(path.display().to_string())(e.into()))?;
    for _ in 0..tries {
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(file);
        }
        std::thread::sleep(PAUSE);
    }
    let file = quoted(&path.display().to_string());
    Err(StoreError::TakenOver { folder: storage.shown(""), file, removal: removal(storage) })
}

/// The file that keeps processes of this machine apart.
fn exclusion(storage: &dyn Storage) -> PathBuf {
    let plain: String = storage.shown("").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    // Two folders with one file wait for each other, and no more.
    std::env::temp_dir().join(format!("anabranch-{}.lock", &plain[plain.len().saturating_sub(150)..]))
}

/// The command that removes a lock, to paste into a shell, which takes any name of the folder for a name.
fn removal(storage: &dyn Storage) -> String {
    let file = quoted(&storage.shown(NAME));
    format!("python -c 'import sys, upath; upath.UPath(sys.argv[1]).unlink()' {file}")
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r#"'"'"'"#))
    }
}

/// Boot and process namespace; empty where the system does not tell.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = fs::read_link("/proc/self/ns/pid");
    boot.ok().zip(space.ok()).map_or_else(String::new, |(boot, space)| format!("{} {}", boot.trim(), space.display()))
}

/// Start of a process, in ticks since boot (proc(5), field 22 of `stat`); empty if it ended, `None` if unknown.
fn started(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let state = fields.first()?;
    Some(if ["Z", "X"].contains(state) { String::new() } else { (*fields.get(19)?).to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directory;

    fn holder(token: &str) -> Holder {
        let who = Who { user: "ann".to_owned(), host: "login1".to_owned(), since: "noon".to_owned() };
        Holder::new(token.to_owned(), &who, &["run".to_owned(), "a b.toml".to_owned()])
    }

    /// An empty folder, which serves as a store that has no locks.
    fn store(name: &str) -> Arc<dyn Storage> {
        let root = std::env::temp_dir().join(format!("anabranch-lock-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).expect("it can be made");
        Arc::new(Directory::new(root))
    }

    fn acquire(storage: &Arc<dyn Storage>, token: &str) -> Result<LockObject, StoreError> {
        LockObject::acquire(Arc::clone(storage), token.to_owned(), &Who::default(), &[])
    }

    #[test]
    fn only_a_process_that_is_known_to_be_dead_has_ended() {
        let mine = holder("mine");
        assert!(!mine.is_dead());
        assert_eq!(mine.to_string(), format!("ann on login1, process {}, since noon (run 'a b.toml')", mine.pid));
        let mut child = std::process::Command::new("true").spawn().expect("there is one");
        let ended = Holder { pid: child.id().cast_signed(), ..mine.clone() };
        child.wait().expect("it ends");
        if !mine.machine.is_empty() {
            assert!(ended.is_dead());
            assert!(Holder { started: "1".to_owned(), ..mine.clone() }.is_dead(), "another process has its number");
        }
        // Of another machine nothing is known, nor where the system does not tell.
        for machine in ["elsewhere", ""] {
            assert!(!Holder { machine: machine.to_owned(), ..ended.clone() }.is_dead());
        }
        assert!(!Holder { pid: -1, ..ended.clone() }.is_dead() && !Holder { pid: 0, ..ended }.is_dead());
    }

    #[test]
    fn a_lock_is_held_by_one_until_it_is_let_go_or_its_process_is_dead() {
        let store = store("held");
        let first = acquire(&store, "first").expect("nobody has it");
        let refused = acquire(&store, "second").expect_err("the first has it").to_string();
        assert!(refused.contains("another command writes there: ") && refused.contains(NAME), "{refused}");
        first.check().expect("it has it");
        first.release().expect("it can be removed");
        let dead = Holder { started: "1".to_owned(), ..holder("dead") };
        let text = serde_json::to_vec(&dead).expect("it is JSON");
        store.write(NAME, &text).expect("it can be written");
        if !dead.machine.is_empty() {
            let second = acquire(&store, "second").expect("the process is dead");
            // Somebody removes it, and another one takes it.
            store.remove(&[NAME.to_owned()]).expect("it is there");
            let third = acquire(&store, "third").expect("nobody has it");
            let lost = second.check().expect_err("another one has it").to_string();
            assert!(lost.contains("was taken by another command: "), "{lost}");
            assert!(!second.is_held());
            drop(second);
            third.check().expect("it has it still");
        }
        store.write(NAME, b"not a lock of ours").expect("it can be written");
        let unknown = acquire(&store, "third").expect_err("somebody has it").to_string();
        assert!(unknown.contains("somebody on an unknown host"), "{unknown}");
    }

    #[test]
    fn whoever_keeps_others_from_taking_over_a_lock_does_not_stop_them_for_ever() {
        let store = store("stuck");
        let first = alone(&*store, 1).expect("nobody else is there");
        let refused = alone(&*store, 2).expect_err("the first is there").to_string();
        assert!(refused.contains("another process keeps") && refused.contains("fuser"), "{refused}");
        drop(first);
        assert!(alone(&*store, 1).is_ok());
    }

    #[test]
    fn a_command_to_paste_takes_any_name_for_a_name() {
        let told = removal(&Directory::new("s3/$(reboot)'s"));
        assert!(told.ends_with(r#" 's3/$(reboot)'"'"'s/.anabranch-lock'"#), "{told}");
    }
}
