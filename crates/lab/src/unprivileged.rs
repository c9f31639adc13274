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

/// The first of these paths that the program could not reach after [`unshare`]: it has a /run of its own.
pub fn hidden<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Option<&'p Path> {
    paths.into_iter().find(|path| is_below(path, Path::new("/run")))
}

/// Whether a path leads into a folder: links are followed as far as the path is there (`/var/run` is one on most systems).
fn is_below(path: &Path, folder: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let real = path.ancestors().find_map(|part| part.canonicalize().ok());
    path.starts_with(folder) || real.is_some_and(|real| real.starts_with(folder))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_own_run_would_cover_is_found() {
        let paths = ["/tmp/x", "/runner/x", "/run/user/1000/x", "/run/y"].map(Path::new);
        assert_eq!(hidden(paths), Some(paths[2]));
        assert_eq!(hidden([paths[0], paths[1]]), None);
    }

    #[test]
    fn links_are_followed_as_far_as_there_is_something() {
        let folder = tempfile::tempdir().expect("a folder");
        let covered = folder.path().canonicalize().expect("it is there").join("covered");
        std::fs::create_dir(&covered).expect("made");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&covered, &link).expect("made");
        assert!(is_below(&link.join("not/there/yet"), &covered));
        assert!(!is_below(&folder.path().join("x"), &covered));
    }
}
