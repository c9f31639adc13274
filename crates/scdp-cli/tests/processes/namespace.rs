//! Network namespaces that the tests make themselves.

use std::path::Path;
use std::process::Command;

use super::program::Program;

/// A network namespace, deleted at the end.
pub(crate) struct Namespace(String);

impl Namespace {
    /// None, and the reason is printed, where none can be made. Tests that run at once have different names for it.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let name = format!("scdp-test-{}-{name}", std::process::id());
        match Command::new("ip").args(["netns", "add", &name]).output() {
            Ok(output) if output.status.success() => Some(Self(name)),
            Ok(output) => {
                eprintln!("skipped: no network namespace: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: no `ip`: {error}");
                None
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// Runs `ip` there, which must succeed.
    pub(crate) fn ip(&self, arguments: &str) {
        let output =
            Command::new("ip").args(["-n", &self.0]).args(arguments.split(' ')).output().expect("`ip` is there");
        assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The program there, with these arguments, separated by spaces, in a folder.
    pub(crate) fn start(&self, folder: &Path, arguments: &str) -> Program {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, env!("CARGO_BIN_EXE_scdp")]);
        Program::spawn(command.args(arguments.split_whitespace()).current_dir(folder))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).output();
    }
}
