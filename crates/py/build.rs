//! Puts what a wheel needs besides code below `OUT_DIR`, from where `[tool.maturin] include` takes it: the scenarios, and
//! the records of the papers' experiments. The folders are as in the repository. Tells the code a hash of the sources
//! that decide what a run gives, by which machines that share a sweep know that they have the same simulator.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folder of the repository, and the end of the names of the files that go into the wheel.
const SHARED: &[(&str, &str)] = &[("scenarios", ""), ("docs/fidelity/data", ".json")];

/// What decides the bytes of results: its sources, whatever machine they are compiled on.
const SOURCES: &[&str] = &["raptorq", "transport", "job", "sim", "results", "py"];

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
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for file in SOURCES.iter().map(|name| format!("crates/{name}/src")).chain(["Cargo.lock".to_owned()]) {
        println!("cargo::rerun-if-changed={}", repository.join(&file).display());
        digest(&repository.join(file), &mut hash)?;
    }
    println!("cargo::rustc-env=ANABRANCH_SOURCES={hash:016x}");
    Ok(())
}

/// Folds the files of a folder, and of those in it, into a hash (FNV-1a, 64 bits), in order of their names.
fn digest(path: &Path, hash: &mut u64) -> io::Result<()> {
    if path.is_dir() {
        let mut inner = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        inner.sort();
        return inner.iter().try_for_each(|path| digest(path, hash));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for byte in name.into_bytes().into_iter().chain(fs::read(path)?) {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
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
