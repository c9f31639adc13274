//! Keeps the version of the compiler, which belongs to every measurement.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    println!("cargo::rustc-env=COMPILER={}", version.filter(|v| !v.is_empty()).unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo::rerun-if-changed=build.rs");
}
