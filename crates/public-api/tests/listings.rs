//! The exports of the published crates are those that are written down, so that no change of them goes unnoticed.

use std::fs;
use std::path::{Path, PathBuf};

use anabranch_public_api::listing;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn compare(name: &str) {
    let file = folder(name).join("public-api.txt");
    let found = listing(&folder(name)).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let only = |here: &str, there: &str, sign: &str| -> String {
        let lines = here.lines().filter(|line| !there.lines().any(|other| other == *line));
        lines.map(|line| format!("{sign} {line}\n")).collect()
    };
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
            let (folders, page) = page.rsplit_once('/').map_or((String::new(), page), |(a, b)| (a.replace('/', "::") + "::", b));
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
