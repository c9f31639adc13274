//! Networks for users who are not root, where the kernel lets them have user namespaces.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::tools;

/// The environment variable that says so to a program in namespaces of its own.
pub(crate) const UNSHARED: &str = "SCDP_LAB_UNSHARED";

/// Becomes the same program in namespaces of its own (of users, networks and mounts), where a user who is not root may make networks.
/// Returns only if that fails: a system may forbid it.
///
/// # Errors
/// Why it failed, always.
pub fn unshare(program: &Path, arguments: &[std::ffi::OsString]) -> io::Error {
    // Names of namespaces are in /run, which is not the user's: a /run of its own.
    let script = "mount -t tmpfs tmpfs /run && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c", script])
        .arg(program)
        .args(arguments)
        .env(UNSHARED, "1");
    command.exec()
}

/// Whether [`unshare`] would work here.
pub fn can_unshare() -> bool {
    tools::run(
        "unshare",
        &["--user", "--map-root-user", "--net", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /run"],
        "",
    )
    .is_ok()
}
