//! Keys: making one, and finding the one to use.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anabranch_net::{Protection, Psk};
use zeroize::Zeroizing;

use crate::arguments::{Key, Secret};
use crate::events::Event;
use crate::failure::CliError;
use crate::output::{self, Output};

/// The environment variable that names a key file.
const VARIABLE: &str = "SCDP_KEY_FILE";

/// Bytes of a key file that are read at most: one line and comments.
const MOST: u64 = 64 << 10;

pub(crate) fn run(arguments: &Key) -> Result<ExitCode, CliError> {
    let line = new_key()?;
    let text = Zeroizing::new(format!("{}\n", *line));
    if arguments.file == Path::new("-") {
        output::print(&text);
        return Ok(ExitCode::SUCCESS);
    }
    let path = &arguments.file;
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = created.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CliError::of_path(path, "exists").hint("keys are never replaced: give another name, or use that key")
        }
        _ => CliError::of_path(path, error),
    })?;
    if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()) {
        // Half a key is none.
        let _ = std::fs::remove_file(path);
        return Err(CliError::of_path(path, error));
    }
    output::print(&format!(
        "{}: a new key. Bring it to the other hosts on a way that nobody reads, such as scp.\n",
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn new_key() -> Result<Zeroizing<String>, CliError> {
    let mut bytes = Zeroizing::new([0; 32]);
    loop {
        getrandom::fill(&mut *bytes).map_err(|error| CliError::failed(format!("cannot draw random bytes: {error}")))?;
        if let Some(key) = Psk::new(*bytes) {
            return Ok(key.emit());
        }
    }
}

/// The key that is asked for: of `--key`, or of the environment, or none because that is asked for.
pub(crate) fn protection(secret: &Secret, output: &Output) -> Result<Protection, CliError> {
    if secret.insecure {
        return Ok(Protection::None);
    }
    let named =
        secret.key.clone().or_else(|| std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from));
    let path = named.ok_or_else(|| {
        CliError::usage(format!("no key: give --key FILE, or set {VARIABLE}"))
            .hint("`scdp key scdp.key` makes one, for all hosts; --insecure goes without")
    })?;
    let missing = |error: std::io::Error| {
        let failure = CliError::of_path(&path, &error);
        if error.kind() == ErrorKind::NotFound {
            failure.hint(format!("`scdp key {}` makes a key; all hosts need the same", path.display()))
        } else {
            failure
        }
    };
    let file = File::open(&path).map_err(missing)?;
    let mode = file.metadata().map_err(missing)?.mode();
    if mode & 0o077 != 0 {
        output.tell(&Event::Warning {
            message: format!("{}: other users can use this key (mode {:03o})", path.display(), mode & 0o777),
            hint: Some(format!("chmod 600 {}", path.display())),
        });
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MOST).read_to_string(&mut text).map_err(|error| CliError::of_path(&path, error))?;
    let key =
        Psk::parse(&text).map_err(|error| CliError::of_path(&path, error).hint("`scdp key FILE` makes a key file"))?;
    Ok(Protection::Psk(key))
}
