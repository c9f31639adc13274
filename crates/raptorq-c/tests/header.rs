//! The header is what cbindgen makes of the source.

use std::path::Path;

/// The files with something for C. Named one by one: cbindgen would ask `cargo metadata` for a crate as a whole.
const SOURCES: [&str; 5] = ["src/failure.rs", "src/messages.rs", "src/config.rs", "src/encoder.rs", "src/decoder.rs"];

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let builder = SOURCES.iter().fold(cbindgen::Builder::new(), |builder, file| builder.with_src(folder.join(file)));
    let mut made = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut made);
    // The heading that Rust asks for says nothing in C.
    let made = String::from_utf8(made).unwrap().replace("// # Safety\n//\n// ", "// Required: ");
    let header = folder.join("include/anabranch_raptorq.h");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&header).unwrap();
    assert!(committed == made, "hint: UPDATE=1 cargo test -p anabranch-raptorq-c --test all header::\n{made}");
    // Every function of the source is in it.
    let source: String = SOURCES.iter().map(|file| std::fs::read_to_string(folder.join(file)).unwrap()).collect();
    for function in source.split("extern \"C\" fn ").skip(1).map(|rest| rest.split('(').next().unwrap()) {
        assert!(made.contains(&format!("{function}(")), "{function} is not in the header");
    }
}
