//! Puts what a wheel needs besides code below `OUT_DIR`, from where `[tool.maturin] include` takes it: the scenarios, and
//! the recorded times of the papers' experiments. The folders are as in the repository.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folder of the repository, and the end of the names of the files that go into the wheel.
const SHARED: &[(&str, &str)] = &[("scenarios", ""), ("docs/fidelity/data", ".cost.json")];

fn main() -> io::Result<()> {
    let repository = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../..");
    let share = PathBuf::from(variable("OUT_DIR")?).join("share");
    // Files that the repository no longer has would stay.
    match fs::remove_dir_all(&share) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for (folder, ending) in SHARED {
        println!("cargo::rerun-if-changed={}", repository.join(folder).display());
        copy(&repository.join(folder), &share.join(folder), ending)?;
    }
    Ok(())
}

fn variable(name: &str) -> io::Result<std::ffi::OsString> {
    env::var_os(name).ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
}

/// Copies the files of a folder, and of those in it, whose names end so.
fn copy(from: &Path, to: &Path, ending: &str) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(&name), ending)?;
        } else if name.to_string_lossy().ends_with(ending) {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}
