//! Tables, and the section of `benches/RESULTS.md`.

use std::fmt::Write as _;
use std::path::Path;

const BEGIN: &str = "<!-- codec: everything up to the next such line is replaced by `make bench-codec` -->";
const END: &str = "<!-- codec: end -->";

/// Begins a part of the report.
pub(crate) fn heading(title: &str) -> String {
    format!("\n### {title}\n\n")
}

/// A Markdown table; the first column is text, the others are numbers.
pub(crate) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|---|{}\n", head.join(" | "), "---:|".repeat(head.len() - 1));
    for row in rows {
        _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// The command line of this process.
pub(crate) fn command() -> String {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    // Where a file is on this machine is of no interest.
    let arguments = arguments.map(|argument| match Path::new(&argument) {
        path if path.is_absolute() => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        _ => argument,
    });
    let command = ["cargo bench --locked -p anabranch-raptorq --bench codec --".to_owned()];
    command.into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Puts a report into `benches/RESULTS.md`, and its main table into the crate's README.
pub(crate) fn record(report: &str) -> Result<(), String> {
    let start = report.find("### Symbols of 1280 bytes\n").ok_or("the report has no table of 1280-byte symbols")?;
    let is_row = |line: &&str| line.starts_with('|');
    let table: Vec<&str> = report[start..].lines().skip_while(|line| !is_row(line)).take_while(is_row).collect();
    replace("../../benches/RESULTS.md", report)?;
    replace("README.md", &format!("\n{}\n\n", table.join("\n")))
}

/// Puts `section` between the marks of a file.
fn replace(file: &str, section: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let said = |error: std::io::Error| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(&file).map_err(said)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(format!("{}: no lines {BEGIN:?} and {END:?} to put the results between", file.display()));
    };
    std::fs::write(&file, format!("{before}{BEGIN}\n{section}{END}{after}")).map_err(said)
}
