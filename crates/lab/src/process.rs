//! A process in a group of its own, whose output goes to a file, and which ends with its owner.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid};

use crate::clock::Watch;

/// From the request to end until there is no choice.
const GRACE: Duration = Duration::from_secs(2);
/// How often a request to stop, and output that is waited for, are looked for.
const SLICE: Duration = Duration::from_millis(10);
/// Of a file of output, what is looked at: its end.
const TAIL: u64 = 256 << 10;
/// Lines of output that an error shows.
const LINES: usize = 12;

/// Asked whether to stop.
pub(crate) type Stop<'s> = &'s (dyn Fn() -> bool + 's);

/// A process. Dropping it ends it: SIGTERM to its group, SIGKILL 2 s later.
///
/// It is reaped only when it is dropped, after the last signal. Until then the system gives its number to no other process or group
/// (`fork(2)`), so that no signal reaches a stranger, however long ago it has ended.
#[derive(Debug)]
pub(crate) struct Process {
    /// How errors call it: `step 1 on a: "scdp send ..."`.
    pub(crate) name: String,
    /// Waited for by nobody before the drop.
    child: Child,
    log: PathBuf,
    end: Receiver<(Option<WaitIdStatus>, Duration)>,
    ended: Option<Ended>,
    /// Where to look for new output.
    seen: u64,
}

/// How it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Neither if the system does not tell.
    code: Option<i32>,
    signal: Option<i32>,
    /// From its start.
    pub(crate) after: Duration,
}

impl Ended {
    fn new(status: Option<WaitIdStatus>, after: Duration) -> Self {
        let code = status.as_ref().and_then(WaitIdStatus::exit_status);
        let signal = status.as_ref().and_then(WaitIdStatus::terminating_signal);
        Self { code, signal, after }
    }

    pub(crate) fn code(self) -> Option<i32> {
        self.code
    }

    /// `ended with 1`, `was killed by signal 9`.
    pub(crate) fn how(self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("ended with {code}"),
            (None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None) => "has ended".to_owned(),
        }
    }
}

/// Why waiting has ended without what was waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waited {
    /// The process has ended.
    Ended(Ended),
    /// The time is over.
    TooLong,
    /// Somebody asked to stop.
    Stopped,
}

impl Process {
    /// Starts a command, whose input is empty and whose output goes to `log`.
    pub(crate) fn start(name: String, command: &mut Command, log: &Path) -> io::Result<Self> {
        let out = File::options().append(true).create_new(true).open(log)?;
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out).process_group(0);
        let watch = Watch::start();
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let (sender, end) = channel();
        thread::spawn(move || {
            let status = wait_without_reaping(pid);
            // Nobody may be there to hear it.
            let _ = sender.send((status, watch.elapsed()));
        });
        Ok(Self { name, child, log: log.to_owned(), end, ended: None, seen: 0 })
    }

    /// How it has ended, if it has within this time.
    fn ended_within(&mut self, time: Duration) -> Option<Ended> {
        if self.ended.is_none() {
            self.ended = match self.end.recv_timeout(time) {
                Ok((status, after)) => Some(Ended::new(status, after)),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ended::new(None, Duration::ZERO)),
            };
        }
        self.ended
    }

    pub(crate) fn ended(&mut self) -> Option<Ended> {
        self.ended_within(Duration::ZERO)
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self, limit: Duration, stop: Stop<'_>) -> Waited {
        let watch = Watch::start();
        loop {
            let left = limit.saturating_sub(watch.elapsed());
            if let Some(ended) = self.ended_within(left.min(SLICE)) {
                return Waited::Ended(ended);
            }
            if stop() {
                return Waited::Stopped;
            }
            if left.is_zero() {
                return Waited::TooLong;
            }
        }
    }

    /// Waits for a line of output that contains a text, and returns that line.
    pub(crate) fn wait_for(&mut self, text: &str, limit: Duration, stop: Stop<'_>) -> Result<String, Waited> {
        let watch = Watch::start();
        let mut last = false;
        loop {
            if let Some(line) = self.new_line_with(text) {
                return Ok(line);
            }
            match (last, self.ended) {
                // What it said last was looked at.
                (true, Some(ended)) => return Err(Waited::Ended(ended)),
                _ if stop() => return Err(Waited::Stopped),
                _ if watch.elapsed() > limit => return Err(Waited::TooLong),
                _ => last = self.ended_within(SLICE).is_some(),
            }
        }
    }

    fn new_line_with(&mut self, text: &str) -> Option<String> {
        let mut file = File::open(&self.log).ok()?;
        file.seek(SeekFrom::Start(self.seen)).ok()?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes).ok()?;
        let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            // A line longer than what is looked at is no line.
            None if bytes.len() as u64 == TAIL => bytes.len(),
            None => return None,
        };
        self.seen += whole as u64;
        String::from_utf8_lossy(&bytes[..whole]).lines().find(|line| line.contains(text)).map(str::to_owned)
    }

    /// The last lines of its output.
    pub(crate) fn tail(&self) -> Vec<String> {
        let lines = tail(&self.log);
        lines[lines.len().saturating_sub(LINES)..].to_vec()
    }

    /// The JSON objects among its last lines.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        tail(&self.log)
            .iter()
            .filter(|line| line.starts_with('{'))
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Asks it to end, and makes it end.
    pub(crate) fn end(&mut self) {
        self.signal(Signal::TERM);
        if self.ended_within(GRACE).is_none() {
            self.signal(Signal::KILL);
            self.ended_within(GRACE);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // All of it may have ended.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.end();
        }
        // What it has started and left behind.
        self.signal(Signal::KILL);
        // Not waited for: what the kernel cannot end would hold the lab up. It keeps its number, and ends with the lab.
        let _ = self.child.try_wait();
    }
}

/// Waits for the end of a child, which stays a zombie and keeps its number. None if the system does not tell how it has ended.
pub(crate) fn wait_without_reaping(pid: Pid) -> Option<WaitIdStatus> {
    let wait = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    rustix::io::retry_on_intr(wait).ok().flatten()
}

/// Waits for the end of a child that shares the terminal. If somebody asks to stop, it is hung up (interactive shells take no SIGTERM),
/// killed 2 s later, and there is no status.
pub(crate) fn wait_for_child(child: &mut Child, stop: Stop<'_>) -> io::Result<Option<ExitStatus>> {
    let mut hung_up: Option<Watch> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(hung_up.is_none().then_some(status));
        }
        match &hung_up {
            // It is not reaped yet: the number is its own.
            None if stop() => {
                let _ = kill_process(Pid::from_child(child), Signal::HUP);
                hung_up = Some(Watch::start());
            }
            Some(watch) if watch.elapsed() > GRACE => child.kill()?,
            _ => {}
        }
        thread::sleep(SLICE);
    }
}

/// The last lines of a file.
fn tail(path: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).lines().map(str::to_owned).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The letter that `proc_pid_stat(5)` has for the state of a process; none if nobody has this number.
    fn state(pid: u32) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    fn started(folder: &Path, script: &str) -> Process {
        let log = folder.join("log");
        Process::start("it".to_owned(), Command::new("sh").args(["-c", script]), &log).expect("it starts")
    }

    #[test]
    fn a_number_stays_taken_as_long_as_signals_may_be_sent_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = started(folder.path(), "exit 7");
        let Waited::Ended(ended) = process.wait(Duration::from_secs(60), &|| false) else { panic!("it ends") };
        assert_eq!((ended.code(), ended.how().as_str()), (Some(7), "ended with 7"));
        let pid = process.child.id();
        assert_eq!(state(pid), Some('Z'), "it is reaped, and another process may get its number");
        drop(process);
        assert_eq!(state(pid), None, "it is not reaped");
    }

    #[test]
    fn what_a_process_leaves_behind_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = started(folder.path(), "sleep 600 & echo pid $!");
        let line = process.wait_for("pid", Duration::from_secs(60), &|| false).expect("it says so");
        let left: u32 = line.trim_start_matches("pid ").parse().expect("a number");
        let Waited::Ended(_) = process.wait(Duration::from_secs(60), &|| false) else { panic!("it ends") };
        assert!(state(left).is_some_and(|state| state != 'Z'), "it goes on in the background");
        drop(process);
        let watch = Watch::start();
        while state(left).is_some_and(|state| state != 'Z') {
            assert!(watch.elapsed() < Duration::from_secs(60), "process {left} goes on");
            thread::sleep(SLICE);
        }
    }

    #[test]
    fn signals_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = started(folder.path(), "kill -TERM $$");
        let Waited::Ended(ended) = process.wait(Duration::from_secs(60), &|| false) else { panic!("it ends") };
        assert_eq!((ended.code(), ended.how().as_str()), (None, "was killed by signal 15"));
    }
}
