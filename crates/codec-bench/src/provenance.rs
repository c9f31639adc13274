//! Where numbers were measured.

use anabranch_raptorq::Level;
use serde::Serialize;
use std::process::Command;

/// What a reader must know to repeat a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// Day, in UTC.
    pub date: String,
    /// Commit of the working tree that the program was built in, if it is still there.
    pub commit: String,
    /// Command line.
    pub command: String,
    /// Processor and number of cores.
    pub machine: String,
    /// Load of the machine over the last minute.
    pub load: String,
    /// Compiler, and whether it optimised.
    pub compiler: String,
    /// Instruction set of the codec.
    pub level: String,
}

impl Provenance {
    /// Of this process and this command, with the load of the machine right now.
    pub fn collect(command: String) -> Self {
        let changes = output("git", &["status", "--porcelain", "--", "../raptorq"]);
        let changed = !(changes.is_empty() || changes == UNKNOWN);
        let processor = first_line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            date: output("date", &["-u", "+%Y-%m-%d"]),
            commit: output("git", &["rev-parse", "--short", "HEAD"]) + if changed { " with local changes" } else { "" },
            command,
            machine: format!("{processor}, {cores} cores"),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            compiler: format!("{}{}", env!("COMPILER"), if cfg!(debug_assertions) { ", debug build" } else { "" }),
            level: Level::best().to_string(),
        }
    }
}

/// Stands for what a program could not tell.
const UNKNOWN: &str = "unknown";

/// What a program prints in the folder of this crate, or [`UNKNOWN`].
fn output(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    match done {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The value after the colon in the first line of a file that begins with `key`.
fn first_line_of(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}
