//! The key that all hosts share: creates one, and finds the one to use.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anabranch_net::{Protection, Psk};
use clap::Args;
use zeroize::Zeroizing;

use crate::arguments::Secret;
use crate::failure::CliError;
use crate::output::{self, Output};
use crate::{key_file, signing};

/// The environment variable that names a key file.
const VARIABLE: &str = "SCDP_KEY_FILE";

/// Where a key is stored by default.
const DEFAULT: &str = "scdp.key";

#[derive(Debug, Args)]
pub(crate) struct Key {
    #[arg(
        help = "Where to put it, readable by its owner only; `-` prints it. A file that exists is never replaced [default: scdp.key, or \
        scdp-sign.key with --sign]"
    )]
    pub(crate) file: Option<PathBuf>,
    /// Make a key that signs files, and FILE.pub with its public half
    #[arg(long)]
    pub(crate) sign: bool,
}

pub(crate) fn run(arguments: &Key) -> Result<ExitCode, CliError> {
    if arguments.sign {
        return signing::make(arguments.file.as_deref());
    }
    let line = new_key()?;
    let text = Zeroizing::new(format!("{}\n", *line));
    let path = arguments.file.as_deref().unwrap_or(Path::new(DEFAULT));
    if path == Path::new("-") {
        output::print(&text);
        return Ok(ExitCode::SUCCESS);
    }
    key_file::create(path, &text, key_file::SECRET)?;
    output::print(&format!(
        "{}: a new key. Bring it to the other hosts on a way that nobody reads, such as scp.\n",
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn new_key() -> Result<Zeroizing<String>, CliError> {
    loop {
        if let Some(key) = Psk::new(*key_file::random()?) {
            return Ok(key.emit());
        }
    }
}

/// The requested key: from `--key`, from the environment, or none if the user asked for none.
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
    let text = key_file::read_secret(&path, output).map_err(|error| {
        let failure = CliError::of_path(&path, &error);
        if error.kind() == ErrorKind::NotFound {
            let file = path.to_string_lossy();
            // A command to paste: the shell must take the name for a name.
            failure.hint(format!("`scdp key {}` makes a key; all hosts need the same", shell_words::quote(&file)))
        } else {
            failure
        }
    })?;
    let key =
        Psk::parse(&text).map_err(|error| CliError::of_path(&path, error).hint("`scdp key FILE` makes a key file"))?;
    Ok(Protection::Psk(key))
}
