//! `ip` and `tc` of iproute2, with time limits; and what this user may.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;

use crate::error::LabError;
use crate::process;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(10);

/// Runs `ip` or `tc`, which must succeed, and returns what it prints.
pub(crate) fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, LabError> {
    let mut command = Command::new(program);
    // A group of its own: Ctrl-C on the terminal is for the lab, which takes the network down in order.
    command.args(arguments).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = || std::iter::once(program).chain(arguments.iter().copied()).collect::<Vec<_>>().join(" ");
    let failed = |said: String| LabError::Command { command: shown(), said };
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => LabError::Missing {
            program: program.to_owned(),
            hint: "a lab needs Linux with iproute2: `apt install iproute2`, `dnf install iproute-tc`".to_owned(),
        },
        _ => failed(error.to_string()),
    })?;
    let mut stdin = child.stdin.take();
    if let Some(Err(error)) = stdin.as_mut().map(|stdin| stdin.write_all(input.as_bytes())) {
        // It says itself why it does not read.
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            return Err(failed(error.to_string()));
        }
    }
    drop(stdin);
    let (code, out, err) = finish(child).map_err(failed)?;
    if code == Some(0) {
        return Ok(out);
    }
    // Of a batch, the number of the line says little: show the line.
    let line = err.rsplit_once("failed -:").and_then(|(_, number)| number.trim().parse::<usize>().ok());
    let line = line.and_then(|number| input.lines().nth(number - 1));
    let said = err.trim().lines().next().unwrap_or("it says nothing").to_owned();
    Err(match line {
        Some(line) => LabError::Command { command: format!("{} ({line})", shown()), said },
        None => failed(said),
    })
}

fn finish(mut child: Child) -> Result<(Option<i32>, String, String), String> {
    let pid = Pid::from_child(&child);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (sender, end) = channel();
    thread::spawn(move || {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        // Both say little: neither pipe fills while the other is read.
        let _ = stdout.map(|mut pipe| pipe.read_to_end(&mut out));
        let _ = stderr.map(|mut pipe| pipe.read_to_end(&mut err));
        // Reaped below, so that its number is its own as long as it may be killed.
        process::wait_without_reaping(pid);
        let _ = sender.send((out, err));
    });
    let Ok((out, err)) = end.recv_timeout(LIMIT) else {
        let _ = child.kill();
        return Err(format!("no answer in {} s", LIMIT.as_secs()));
    };
    let status = child.wait().map_err(|error| error.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((status.code(), text(out), text(err)))
}

/// Whether this process may make network namespaces: `CAP_NET_ADMIN` and `CAP_SYS_ADMIN`.
pub fn permitted() -> bool {
    const NET_ADMIN: u64 = 1 << 12;
    const SYS_ADMIN: u64 = 1 << 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    effective & (NET_ADMIN | SYS_ADMIN) == NET_ADMIN | SYS_ADMIN
}

/// Whether programs can be told to die with the lab, even if it is killed.
pub(crate) fn pdeathsig() -> bool {
    run("setpriv", &["--pdeathsig", "KILL", "true"], "").is_ok()
}
