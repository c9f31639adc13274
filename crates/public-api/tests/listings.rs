//! The exports of the published crates are those that are written down, so that no change of them goes unnoticed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anabranch_public_api::listing;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Lines of one listing that the other lacks, with the items that they belong to.
fn only(here: &str, there: &str, sign: &str) -> String {
    fn lines(text: &str) -> Vec<(&str, &str)> {
        let mut item = "";
        let with_item = text.lines().map(|line| {
            item = if line.starts_with(' ') { item } else { line };
            (item, line)
        });
        with_item.collect()
    }
    let others = lines(there);
    let mut out = String::new();
    for (item, line) in lines(here).into_iter().filter(|line| !others.contains(line)) {
        let place = if line == item { String::new() } else { format!("{item}: ") };
        writeln!(out, "{sign} {place}{}", line.trim()).unwrap();
    }
    out
}

fn compare(name: &str) {
    let file = folder(name).join("public-api.txt");
    let found = listing(&folder(name)).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == kept,
        "the exports of crates/{name} are not those of its public-api.txt:\n{}{}\
         hint: if that is wanted, `UPDATE=1 cargo test -p anabranch-public-api` writes the file again; a change that breaks users \
         needs a new minor version (0.x) and a line in CHANGELOG.md",
        only(&kept, &found, "-"),
        only(&found, &kept, "+"),
    );
}

#[test]
fn the_codec_exports_what_is_written_down() {
    compare("raptorq");
}

#[test]
fn power_laws_export_what_is_written_down() {
    compare("powerlaw");
}

/// Links of a README to the documentation lead to pages and anchors that there are.
#[test]
fn links_to_documentation_name_exported_items() {
    for name in ["raptorq", "powerlaw"] {
        let text = fs::read_to_string(folder(name).join("README.md")).unwrap();
        let listed = listing(&folder(name)).unwrap();
        let start = format!("https://docs.rs/anabranch-{name}/latest/anabranch_{name}/");
        let links: Vec<&str> = text.lines().filter_map(|line| line.split_once(&start)).map(|(_, link)| link).collect();
        assert!(links.len() > 5, "{name}: {links:?}");
        for link in links.into_iter().filter(|link| *link != "guide/index.html") {
            let (page, method) = link.split_once("#method.").unwrap_or((link, ""));
            let page = page.trim_end_matches(".html");
            let (folders, page) =
                page.rsplit_once('/').map_or((String::new(), page), |(a, b)| (a.replace('/', "::") + "::", b));
            let (kind, item) = page.split_once('.').unwrap();
            let declared = format!("pub {kind} {folders}{item}");
            let is = |line: &str, start: &str| {
                line.contains(start) && !line.split(start).nth(1).unwrap_or("").starts_with(char::is_alphanumeric)
            };
            assert!(listed.lines().any(|line| is(line, &declared)), "{name}: {link}");
            assert!(method.is_empty() || listed.contains(&format!("fn {method}(")), "{name}: {link}");
        }
    }
}

/// A crate of these files, apart from others of that name.
fn written(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for (file, text) in files {
        let file = folder.join("src").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

#[test]
fn only_what_users_can_name_is_listed_and_by_the_names_they_use() {
    let folder = written(
        "exports",
        &[
            ("lib.rs", "mod inner;\npub mod open;\npub use inner::{Shown, deep::Thing as Renamed};\nfn own() {}\n"),
            (
                "inner/mod.rs",
                "use super::open::Open;\n#[cfg(feature = \"more\")] pub(crate) mod deep;\nmod never;\n\
                 #[derive(Debug, thiserror::Error)] #[non_exhaustive] pub enum Shown { One(#[from] u8), Two { a: Vec<u8> } }\n\
                 impl Shown { pub fn f(mut self, mut a: u8) {} fn g(&self) {} }\n\
                 impl<'a> From<&'a Shown> for u8 { fn from(_: &'a Shown) -> u8 { 0 } }\n\
                 impl Open for Shown { const A: u8 = 1; fn h(&self) {} }\n\
                 trait Own {}\nimpl Own for Shown {}\npub struct Hidden;\nimpl Hidden { pub fn nothing() {} }\n\
                 #[cfg(test)] mod tests { pub fn test() {} }\n",
            ),
            ("inner/deep.rs", "pub struct Thing { pub a: u8, b: u8 }\nimpl super::Shown { pub const B: u8 = 2; }\n"),
            ("inner/never.rs", "pub fn never() {}\n"),
            ("open.rs", "pub trait Open { const A: u8; fn h(&self) {} }\n"),
        ],
    );
    let expected = "\
#[cfg(feature = \"more\")] pub struct Renamed
    a: u8
    ..
#[non_exhaustive] pub enum Shown
    One
        #[from] 0: u8
    Two
        a: Vec<u8>
    derive Debug, Error
    #[cfg(feature = \"more\")] impl super::Shown
        pub const B: u8
    impl Open for Shown
        const A: u8
    impl Shown
        pub fn f(self, a: u8)
pub trait open::Open
    const A: u8;
    fn h(&self) { .. }
impl<'a> From<&'a Shown> for u8
";
    assert_eq!(listing(&folder).unwrap(), expected);
}

#[test]
fn what_cannot_be_listed_is_an_error() {
    let glob = written("glob", &[("lib.rs", "mod a { pub struct A; }\npub use a::*;\n")]);
    assert!(listing(&glob).unwrap_err().starts_with("pub use"));
    let exported = written("exported", &[("lib.rs", "#[macro_export] macro_rules! m { () => {} }\n")]);
    assert!(listing(&exported).unwrap_err().contains("macros"));
    let missing = written("missing", &[("lib.rs", "mod a;\n")]);
    assert!(listing(&missing).unwrap_err().contains("no file"));
}
