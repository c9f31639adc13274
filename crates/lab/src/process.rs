//! A process in a group of its own, whose output goes to a file, and which ends with its owner.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

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
#[derive(Debug)]
pub(crate) struct Process {
    /// How errors call it: `step 1 on a: "scdp send ..."`.
    pub(crate) name: String,
    pid: Pid,
    log: PathBuf,
    end: Receiver<(io::Result<ExitStatus>, Duration)>,
    ended: Option<Ended>,
    /// Where to look for new output.
    seen: u64,
}

/// How it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// None if the system does not tell.
    status: Option<ExitStatus>,
    /// From its start.
    pub(crate) after: Duration,
}

impl Ended {
    pub(crate) fn code(self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// `ended with 1`, `was killed by signal 9`.
    pub(crate) fn how(self) -> String {
        match (self.code(), self.status.and_then(|status| status.signal())) {
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
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let (sender, end) = channel();
        thread::spawn(move || {
            let status = child.wait();
            // Nobody may be there to hear it.
            let _ = sender.send((status, watch.elapsed()));
        });
        Ok(Self { name, pid, log: log.to_owned(), end, ended: None, seen: 0 })
    }

    /// How it has ended, if it has within this time.
    fn ended_within(&mut self, time: Duration) -> Option<Ended> {
        if self.ended.is_none() {
            self.ended = match self.end.recv_timeout(time) {
                Ok((status, after)) => Some(Ended { status: status.ok(), after }),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ended { status: None, after: Duration::ZERO }),
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
        // It may be gone.
        let _ = kill_process_group(self.pid, signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.end();
        }
        // What it has started and left behind.
        self.signal(Signal::KILL);
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
