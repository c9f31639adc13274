//! The example in C compiles without a warning, links to both libraries, and gets its file back; and the header is C++.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// What a static library of Rust needs besides: `cargo rustc -p anabranch-raptorq-c -- --print native-static-libs`.
const SYSTEM: &[&str] = if cfg!(target_os = "linux") { &["-lgcc_s", "-lpthread", "-lm", "-ldl"] } else { &[] };

fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Where cargo has put the libraries: beside this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a compiler; `None`, with the reason, if there is none.
fn compile(compiler: &str, arguments: &[&str]) -> Option<()> {
    match Command::new(compiler).args(arguments).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no compiler `{compiler}` here");
            None
        }
        done => {
            succeeded(&done.unwrap());
            Some(())
        }
    }
}

fn succeeded(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{}\n{said}\n{}", done.status, String::from_utf8_lossy(&done.stderr));
    said
}

/// Builds the example with `link`, and runs it on files of several sizes.
fn roundtrip(name: &str, link: &[&str]) {
    let (include, source) = (repository("include"), repository("examples/roundtrip.c"));
    let folder = folder(name);
    let program = folder.join("roundtrip");
    let paths =
        ["-std=c11", "-I", include.to_str().unwrap(), source.to_str().unwrap(), "-o", program.to_str().unwrap()];
    let arguments: Vec<&str> = WARNINGS.iter().chain(&paths).chain(link).copied().collect();
    if compile("cc", &arguments).is_none() {
        return;
    }
    // Nothing, less than a symbol, and several blocks, of which the last has padding.
    for (size, blocks) in [(0u64, 1), (1, 1), (12_345_678, 2)] {
        let file = folder.join(format!("{size}"));
        fs::write(&file, (0..size).map(|i| ((i * i) >> 7) as u8).collect::<Vec<u8>>()).unwrap();
        let said = succeeded(&Command::new(&program).arg(&file).output().unwrap());
        assert!(said.starts_with(&format!("{size} bytes in {blocks} blocks: ")), "{said}");
        assert!(said.ends_with("0 symbols missing, same\n"), "{said}");
    }
    let failed = Command::new(&program).arg(folder.join("no such file")).output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn the_example_runs_with_the_static_library() {
    let library = libraries().join("libanabranch_raptorq_c.a");
    let link: Vec<&str> = [library.to_str().unwrap()].iter().chain(SYSTEM).copied().collect();
    roundtrip("static", &link);
}

#[test]
fn the_example_runs_with_the_shared_library() {
    let libraries = libraries();
    assert!(libraries.join(format!("{DLL_PREFIX}anabranch_raptorq_c{DLL_SUFFIX}")).is_file());
    let path = libraries.to_str().unwrap();
    roundtrip("shared", &["-L", path, &format!("-Wl,-rpath,{path}"), "-lanabranch_raptorq_c"]);
}

#[test]
fn the_header_is_c_and_cplusplus_by_itself() {
    let folder = folder("header");
    let include = repository("include");
    for (compiler, standard, language) in [("cc", "-std=c11", "c"), ("c++", "-std=c++17", "c++")] {
        let source = folder.join(format!("main.{language}"));
        // What C++ calls must have the name that C has.
        fs::write(&source, "#include <anabranch_raptorq.h>\nint main(void) { return !anb_raptorq_version(); }\n")
            .unwrap();
        let (library, program) =
            (libraries().join("libanabranch_raptorq_c.a"), folder.join(language.replace('+', "p")));
        let arguments = [standard, "-x", language, "-I", include.to_str().unwrap(), source.to_str().unwrap()];
        let output = ["-x", "none", library.to_str().unwrap(), "-o", program.to_str().unwrap()];
        let all: Vec<&str> = WARNINGS.iter().chain(&arguments).chain(&output).chain(SYSTEM).copied().collect();
        if compile(compiler, &all).is_some() {
            succeeded(&Command::new(&program).output().unwrap());
        }
    }
}
