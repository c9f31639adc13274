//! The distributions that are built in, and what the comments of their files say of them.

use super::CdfTable;
use crate::workload::sizes::Sizes as _;
use std::fmt::Write as _;
use std::path::Path;

macro_rules! built_in {
    ($($name:literal)*) => {
        /// Name and text of the distributions that are built in: the files of `data/workloads`.
        pub const BUILT_IN: &[(&str, &str)] = &[
            $( ($name, include_str!(concat!("../../../../data/workloads/", $name, ".csv"))), )*
        ];
    };
}

built_in! {
    "websearch_pfabric"
    "websearch_dctcp"
    "websearch_opera"
    "websearch_scdp"
    "datamining_pfabric"
    "datamining_vl2"
    "datamining_opera"
    "fb_hadoop_hpcc"
    "fb_keyvalue_tg"
    "imc10"
}

/// The names, for messages.
pub(super) fn names() -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// What the comment `# key: ...` at the top of a file says, with the comments behind it that have no key.
fn comment(text: &str, key: &str) -> String {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines().map_while(|line| line.strip_prefix("# ")) {
        let own = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(": "));
        let keyed = line.split_once(": ").is_some_and(|(word, _)| !word.contains(' '));
        inside = own.is_some() || (inside && !keyed);
        if inside {
            found.push(own.unwrap_or(line).trim());
        }
    }
    found.join(" ")
}

/// The distributions as a table in Markdown, for the reference.
pub(crate) fn markdown() -> String {
    let mut page = "| name | mean | read by | what | numbers from | licence |\n|---|---|---|---|---|---|\n".to_owned();
    for (name, text) in BUILT_IN {
        let mean = CdfTable::parse(text, Path::new(name)).ok().and_then(|table| table.mean()).unwrap_or_default();
        let cells = [
            format!("`{name}`"),
            mean_in_words(mean),
            comment(text, "interpolation").split_whitespace().next().unwrap_or_default().to_owned(),
            comment(text, "paper"),
            comment(text, "origin"),
            comment(text, "licence"),
        ];
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page
}

/// Bytes to four digits, in the largest unit that leaves at least one before the point.
fn mean_in_words(bytes: f64) -> String {
    let (size, unit) = match bytes {
        b if b >= 1e6 => (b / 1e6, "MB"),
        b if b >= 1e3 => (b / 1e3, "KB"),
        b => (b, "B"),
    };
    let decimals = 3_usize.saturating_sub(size.abs().max(1.0).log10() as usize);
    format!("{size:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_says_where_it_comes_from() {
        for (name, text) in BUILT_IN {
            for key in ["origin", "paper", "licence"] {
                assert!(!comment(text, key).is_empty(), "{name}: no comment `# {key}: ...`");
            }
        }
        let long = "# origin: a table, as\n# a script has it\n# paper: one\nsize_bytes,cdf\n# origin: no\n";
        assert_eq!(comment(long, "origin"), "a table, as a script has it");
        assert_eq!(comment(long, "paper"), "one");
    }

    #[test]
    fn every_file_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/workloads");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<String> = files
            .filter(|path| path.extension().is_some_and(|end| end == "csv"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        let mut known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(found, known);
    }

    #[test]
    fn means_are_those_that_the_files_state() {
        // Computed apart from this code, where the files were made.
        for (name, text) in BUILT_IN {
            let stated = comment(text, "interpolation");
            let stated: f64 = stated.split_whitespace().nth(2).unwrap().parse().unwrap();
            let mean = CdfTable::built_in(name).unwrap().mean().unwrap();
            assert!((mean / stated - 1.0).abs() < 1e-5, "{name}: {mean}, stated {stated}");
        }
    }

    #[test]
    fn means_are_told_to_four_digits() {
        assert_eq!(
            [342.235, 40_869.8, 1.711_25e6, 1.265_82e7].map(mean_in_words),
            ["342.2 B", "40.87 KB", "1.711 MB", "12.66 MB"]
        );
    }
}
