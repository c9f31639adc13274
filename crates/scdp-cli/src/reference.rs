//! docs/reference/scdp.md is generated from the program's own descriptions.

use std::fmt::Write;
use std::path::Path;

use clap::CommandFactory;
use schemars::schema_for;
use serde_json::Value;

use crate::cli::Cli;
use crate::events::Event;

const PAGE: &str = "docs/reference/scdp.md";

const INTRODUCTION: &str = "\
# The program `scdp`

<!-- Generated from the program by `UPDATE=1 cargo test -p scdp-cli reference`; do not edit. -->

`scdp` copies files to many hosts at once, and from many replicas at once. [A tutorial](../tutorial/replicate-a-file.md) shows how.
`make demo-net` tries it on one host.

Results go to stdout, what happens meanwhile to stderr. Progress bars are drawn on a terminal only. Ctrl-C tells the other hosts
before the program ends; a second one ends it at once.

| exit code | meaning |
|---|---|
| 0 | all was done: of `send`, all receivers, or `--quorum` of them, have compared the hash of every file |
| 1 | not all was done: the last line says what and why |
| 2 | wrong arguments: a file, a key or a name that is not there |
| 128 + n | stopped by signal n before all was done: 130 after Ctrl-C, 143 after `kill`. The last line says what was not complete. `receive` (without `--count`) and `serve` end by signals only: with 0 if no file was on its way |

No name, path or reason of a peer reaches a terminal as it is: characters that move or hide text (control characters, bidirectional controls, line separators, invisible
ones) are shown as `\\u{202e}`, in JSON as `\\u202e`.
";

fn page() -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut program = Cli::command().term_width(100);
    program.build();
    for command in program.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let help = command.clone().term_width(100).render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        write!(text, "\n## `scdp {}`\n\n```text\n{}\n```\n", command.get_name(), help.join("\n").trim_end())
            .expect("a string");
    }
    text + &events()
}

/// The lines of `--json`, generated from the descriptions in the code.
fn events() -> String {
    let schema = schema_for!(Event).to_value();
    let text = |value: &Value| value["description"].as_str().expect("all is described").replace('\n', " ");
    let mut page =
        format!("\n## Lines of `--json`\n\n{}\n\n| `event` | field | meaning |\n|---|---|---|\n", text(&schema));
    for event in schema["oneOf"].as_array().expect("events") {
        let fields = event["properties"].as_object().expect("fields");
        let required: Vec<&str> =
            event["required"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let name = fields["event"]["const"].as_str().expect("a name");
        writeln!(page, "| `{name}` | | {} |", text(event)).expect("a string");
        for (field, described) in fields.iter().filter(|(field, _)| *field != "event") {
            let maybe = if required.contains(&field.as_str()) { "" } else { "Optional. " };
            writeln!(page, "| | `{field}` | {maybe}{} |", text(described)).expect("a string");
        }
    }
    page
}

#[test]
fn the_reference_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let made = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).expect("the repository can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "{PAGE} is out of date: UPDATE=1 cargo test -p scdp-cli reference");
}

#[test]
fn the_arguments_make_sense() {
    Cli::command().debug_assert();
}
