//! Keys that sign files, and keys that verify signatures.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anabranch_net::{PublicKey, SigningKey};
use zeroize::Zeroizing;

use crate::arguments::{Sign, SignedBy};
use crate::failure::CliError;
use crate::key_file;
use crate::output::{self, Output};

/// Where a key is stored by default.
const DEFAULT: &str = "scdp-sign.key";

/// Creates a key, and beside it the file with its public half.
pub(crate) fn make(path: Option<&Path>) -> Result<ExitCode, CliError> {
    let path = path.unwrap_or(Path::new(DEFAULT));
    let seed = key_file::random()?;
    let (secret, public) = (SigningKey::emit(&seed), SigningKey::from_seed(&seed).public().emit());
    // A user that has lost the other file finds the public half here.
    let text = Zeroizing::new(format!("# Signs files. For --signed-by: {public}\n{}\n", *secret));
    if path == Path::new("-") {
        output::print(&text);
        return Ok(ExitCode::SUCCESS);
    }
    let beside = beside(path);
    key_file::create(path, &text, key_file::SECRET)?;
    if let Err(error) = key_file::create(&beside, &format!("{public}\n"), key_file::PUBLIC) {
        // Its public half is not known to anyone.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    output::print(&format!(
        "{}: a new key that signs files, for --sign. Nobody else needs it.\n{}: its public half, for --signed-by at the hosts that receive:\n{public}\n",
        path.display(),
        beside.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The path of the file with the public half.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".pub");
    PathBuf::from(name)
}

/// The key that signs files, if one is requested.
pub(crate) fn key(arguments: &Sign, output: &Output) -> Result<Option<SigningKey>, CliError> {
    let Some(path) = &arguments.sign else { return Ok(None) };
    let file = path.to_string_lossy();
    let hint = format!("`scdp key --sign {}` makes a key that signs", shell_words::quote(&file));
    let failed = |error: &dyn std::fmt::Display| CliError::of_path(path, error).hint(hint.clone());
    let text = key_file::read_secret(path, output).map_err(|error| failed(&error))?;
    SigningKey::parse(&text).map(Some).map_err(|error| failed(&error))
}

/// The keys of which one must have signed what is received; empty if no signature is required.
pub(crate) fn signers(arguments: &SignedBy) -> Result<Vec<PublicKey>, CliError> {
    arguments.signed_by.iter().map(|named| signer(named)).collect()
}

/// A public key, given directly or by the file that contains it.
fn signer(named: &Path) -> Result<PublicKey, CliError> {
    const HINT: &str =
        "--signed-by takes scdp-verify-1:HEX or a file with it, which `scdp key --sign FILE` writes to FILE.pub";
    if let Some(text) = named.to_str().filter(|text| text.starts_with("scdp-verify-1:")) {
        return PublicKey::parse(text)
            .map_err(|error| CliError::usage(format!("--signed-by {text}: {error}")).hint(HINT));
    }
    let text = key_file::read_public(named).map_err(|error| {
        let failure = CliError::of_path(named, &error);
        if error.kind() == ErrorKind::NotFound { failure.hint(HINT) } else { failure }
    })?;
    PublicKey::parse(&text).map_err(|error| CliError::of_path(named, error).hint(HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signer_is_a_key_or_a_file_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let key = SigningKey::from_seed(&[3; 32]);
        let line = key.public().emit();
        let good = file("good", &format!("# Of the build host.\n{line}\n"));
        let named = SignedBy { signed_by: vec![PathBuf::from(&line), good.clone()] };
        assert_eq!(signers(&named).expect("keys"), [key.public(), key.public()]);
        assert_eq!(signers(&SignedBy { signed_by: Vec::new() }).expect("nobody"), []);
        let secret = file("secret", &SigningKey::emit(&[3; 32]));
        for (bad, expected) in [
            (PathBuf::from(&line[..40]), "a key has 64 hexadecimal digits, this one has 26"),
            (folder.path().join("none"), "No such file"),
            (secret, "line 1: expected `scdp-verify-1:`"),
            (file("two", &format!("{line}\n{line}\n")), "line 2: a second key"),
            (file("zeros", &format!("scdp-verify-1:{}", "0".repeat(64))), "a key of zeros"),
        ] {
            let error = signer(&bad).expect_err("no key");
            assert!(error.message.contains(expected) && error.hint.is_some(), "{error:?}");
        }
    }
}
