//! Key files: created for their owner only, never replaced, and read with a warning if others can read them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use crate::events::Event;
use crate::failure::CliError;
use crate::output::Output;

/// Maximum number of bytes that are read of a key file: one line and comments.
const MOST: u64 = 64 << 10;

/// Permissions of a file with a secret, and of a public one.
pub(crate) const SECRET: u32 = 0o600;
pub(crate) const PUBLIC: u32 = 0o644;

/// The random bytes of a key.
pub(crate) fn random() -> Result<Zeroizing<[u8; 32]>, CliError> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes).map_err(|error| CliError::failed(format!("cannot draw random bytes: {error}")))?;
    Ok(bytes)
}

/// Creates a file with these permissions.
///
/// # Errors
/// Errors of the system, also if the file exists.
pub(crate) fn create(path: &Path, text: &str, rights: u32) -> Result<(), CliError> {
    let created = OpenOptions::new().write(true).create_new(true).mode(rights).open(path);
    let mut file = created.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CliError::of_path(path, "exists").hint("keys are never replaced: give another name, or use that key")
        }
        _ => CliError::of_path(path, error),
    })?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        // Half a key is useless.
        let _ = std::fs::remove_file(path);
        CliError::of_path(path, error)
    })
}

/// The text of a file with a secret. Warns if others can read it.
///
/// # Errors
/// Errors of the system.
pub(crate) fn read_secret(path: &Path, output: &Output) -> io::Result<Zeroizing<String>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.mode();
    if mode & 0o077 != 0 {
        output.tell(&Event::Warning {
            message: format!("{}: other users can use this key (mode {:03o})", path.display(), mode & 0o777),
            hint: Some(format!("chmod 600 {}", path.display())),
        });
    }
    text(file)
}

/// The text of a public file.
///
/// # Errors
/// Errors of the system.
pub(crate) fn read_public(path: &Path) -> io::Result<Zeroizing<String>> {
    // The user may have named a secret file by mistake.
    text(File::open(path)?)
}

fn text(file: File) -> io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    file.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}
