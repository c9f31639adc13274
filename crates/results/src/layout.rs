//! Names in a result folder (`docs/reference/results.md`).

/// Folder of the runs.
pub(crate) const RUNS: &str = "runs";

/// Table of contents of the folder.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Nodes and links, for drawing.
pub(crate) const FABRIC: &str = "fabric.json";

/// The report, which another command writes.
pub(crate) const REPORT: &str = "report.html";

/// In the folder of a run: its entry in the manifest.
pub(crate) const ENTRY: &str = "run.json";

/// Tables of every run.
pub(crate) const TABLES: [&str; 2] = ["flows.parquet", "links.parquet"];

/// Files in the folder of a run.
const FILES: [&str; 7] =
    [TABLES[0], TABLES[1], "blocks.parquet", "ranks.parquet", "operations.parquet", "series.parquet", ENTRY];

/// In the folder of a run: that of its packet captures.
pub(crate) const CAPTURES: &str = "packets";

/// How captures end.
pub(crate) const CAPTURE: &str = ".pcapng";

/// How a whole Parquet file ends.
pub(crate) const TABLE_END: &[u8] = b"PAR1";

/// What earlier versions called drafts beside `runs`.
pub(crate) const OLD_DRAFTS: [&str; 2] = ["manifest.part", "fabric.part"];

/// What they called the draft of an entry, in the folder of a run.
const OLD_ENTRY_DRAFT: &str = "run.part";

/// What the names of files begin with by which workers know that they see the folder of their sweep; 32 digits follow.
const TOKEN: &str = ".sweep-";

/// The name of a file or of a run's folder until it is complete. What a killed program leaves begins with a dot.
pub(crate) fn draft_name(name: &str) -> String {
    format!(".{name}.part")
}

/// Whether a name is that of a sweep's token.
pub(crate) fn is_token(name: &str) -> bool {
    let digits = name.strip_prefix(TOKEN);
    digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether file managers and people pass over a name.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// The run to which a folder below `runs` belongs: `p003-s42` is its own; with dots in front it was moved aside or is a
/// draft, `.p003-s42.part`, or `.p003-s42.WRITER.part` where several machines write. `None` if it is no run's.
pub(crate) fn run_of(folder: &str) -> Option<&str> {
    let name = folder.trim_start_matches('.');
    let name = name.strip_suffix(".part").unwrap_or(name);
    let (run, writer) = name.split_once('.').unwrap_or((name, ""));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (point, seed) = run.strip_prefix('p')?.split_once("-s")?;
    let ours = number(point) && number(seed) && writer.bytes().all(|b| b.is_ascii_hexdigit());
    (ours && (is_hidden(folder) || writer.is_empty())).then_some(run)
}

/// Whether a file in the folder of a run may be one of a run.
pub(crate) fn is_of_run(file: &str) -> bool {
    match file.split_once('/') {
        Some((folder, name)) => folder == CAPTURES && name.ends_with(CAPTURE) && !name.contains('/'),
        None => FILES.contains(&file) || file == draft_name(ENTRY) || file == OLD_ENTRY_DRAFT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_a_folder_is_known_by_its_name() {
        let ours =
            ["p1-s2", ".p1-s2", "...p1-s2", ".p1-s2.part", "..p1-s2.part", ".p1-s2.0a1b2c3d.part", ".p1-s2.0a1b2c3d"];
        for folder in ours {
            assert_eq!(run_of(folder), Some("p1-s2"), "{folder}");
        }
        for folder in
            ["p1", "p1-s", "p-s2", "p1-sx", "p\u{663}-s1", "2024", "", ".", ".part", "p1-s2.backup", ".p1-s2.mine.part"]
        {
            assert_eq!(run_of(folder), None, "{folder}");
        }
    }

    #[test]
    fn tokens_are_known_by_their_names() {
        assert!(is_token(".sweep-0123456789abcdef0123456789abcdef"));
        for name in
            [".sweep-", ".sweep-1", ".sweep-0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef"]
        {
            assert!(!is_token(name), "{name}");
        }
    }

    #[test]
    fn files_of_a_run_are_known_by_their_names() {
        for file in ["flows.parquet", "run.json", ".run.json.part", "run.part", "packets/a.pcapng"] {
            assert!(is_of_run(file), "{file}");
        }
        for file in ["notes.txt", ".DS_Store", "packets/a.txt", "packets/b/a.pcapng", "plots/a.pcapng"] {
            assert!(!is_of_run(file), "{file}");
        }
    }
}
