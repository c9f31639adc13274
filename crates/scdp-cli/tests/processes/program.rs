//! A process of the program, and what it says.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// For how long nothing may be said: far more than anything here takes, so that a slow machine is not a failure.
const LIMIT: Duration = Duration::from_secs(60);
/// Lines of one process, at most: progress comes ten times a second.
const MOST_LINES: usize = 5000;

/// A process, killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    lines: Receiver<(Stream, String)>,
    said: Vec<(Stream, String)>,
}

/// Where a line was printed. Lines of one stream come in their order; of two, in any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stream {
    Out,
    Err,
}

/// How a process has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; none if it was killed.
    pub(crate) code: Option<i32>,
    /// What it said: first all of stdout, then all of stderr.
    pub(crate) text: String,
}

impl Program {
    /// The program with these arguments, separated by spaces, in a folder.
    pub(crate) fn start(folder: &Path, arguments: &str) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_scdp")).args(arguments.split_whitespace()).current_dir(folder))
    }

    /// A command that becomes the program.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let streams = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = streams.env_remove("SCDP_KEY_FILE").process_group(0).spawn().expect("the program starts");
        let (sender, lines) = channel();
        follow(Stream::Out, child.stdout.take().expect("a pipe"), sender.clone());
        follow(Stream::Err, child.stderr.take().expect("a pipe"), sender);
        Self { child, lines, said: Vec::new() }
    }

    /// A receiver or server in a folder, and the address that it picked.
    pub(crate) fn listen(folder: &Path, arguments: &str) -> (Self, String) {
        let mut program = Self::start(folder, &format!("{arguments} --bind 127.0.0.1:0"));
        let address = program.address();
        (program, address)
    }

    /// The address that it says it listens on.
    pub(crate) fn address(&mut self) -> String {
        let line = self.wait_for("listening");
        let start = line.find("127.0.0.1:").unwrap_or_else(|| panic!("an address in {line}"));
        let end = line[start..].find(|c: char| c != '.' && c != ':' && !c.is_ascii_digit());
        line[start..end.map_or(line.len(), |end| start + end)].to_owned()
    }

    /// Waits for a line with this text.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        while self.said.len() < MOST_LINES {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line.1.contains(text) {
                        return line.1;
                    }
                }
                Err(error) => panic!("no {text:?} ({error}) in:\n{}", self.said().join("\n")),
            }
        }
        panic!("no {text:?} in {MOST_LINES} lines:\n{}", self.said().join("\n"));
    }

    /// Waits until some of a file, but not all of it, is here: with `--json`.
    pub(crate) fn wait_for_progress(&mut self) {
        loop {
            let line: serde_json::Value = serde_json::from_str(&self.wait_for("\"progress\"")).expect("JSON");
            let of = |field: &str| line[field].as_u64().expect("a number");
            assert!(of("size_bytes") == 0 || of("bytes") < of("size_bytes"), "it was too fast: {line}");
            if of("bytes") > 0 {
                return;
            }
        }
    }

    /// All that it has said, as it came.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.said.iter().map(|line| line.1.as_str()).collect()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is there");
    }

    /// The number of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as the kernel does when memory is short.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the process is there");
        self.child.wait().expect("it ends");
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        while self.said.len() < MOST_LINES {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().expect("it ends");
                    // Stable: each stream stays in its order.
                    self.said.sort_by_key(|line| line.0);
                    return Ended { code: status.code(), text: self.said().join("\n") };
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        panic!("it does not end:\n{}", self.said().join("\n"));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(which: Stream, stream: impl Read + Send + 'static, lines: Sender<(Stream, String)>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if lines.send((which, line)).is_err() {
                break;
            }
        }
    });
}

/// Runs the program until it ends.
pub(crate) fn run(folder: &Path, arguments: &str) -> Ended {
    Program::start(folder, arguments).end()
}

/// A folder with a key and a file, and folders `a`, `b` and `c`.
#[derive(Debug)]
pub(crate) struct Place {
    keep: TempDir,
    /// The content of `rivers.bin`.
    pub(crate) content: Vec<u8>,
}

impl Place {
    pub(crate) fn new(size: usize) -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        for name in ["a", "b", "c"] {
            fs::create_dir(keep.path().join(name)).expect("made");
        }
        let place = Self { keep, content: content(size as u64, size) };
        fs::write(place.path().join("rivers.bin"), &place.content).expect("written");
        assert_eq!(run(place.path(), "key k").code, Some(0));
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.keep.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Whether `rivers.bin` is in this folder, and nothing else.
    pub(crate) fn has(&self, folder: &str) -> bool {
        names(&self.file(folder)) == ["rivers.bin"]
            && fs::read(self.file(folder).join("rivers.bin")).expect("there") == self.content
    }
}

/// Names of all files in a folder, hidden ones too.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// Bytes that no two seeds share.
pub(crate) fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Whether the loopback of this host carries multicast; says so if not.
pub(crate) fn multicast_loops(folder: &Path) -> bool {
    let doctor = run(folder, "doctor --json").text;
    let loops = doctor.lines().any(|line| line.contains("\"check\":\"multicast\"") && line.contains("\"ok\":true"));
    if !loops {
        println!("skipped: the loopback of this host carries no multicast, says `scdp doctor`");
    }
    loops
}
