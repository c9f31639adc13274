//! `scdp`: files to many hosts for the price of one uplink, and from many replicas at once.
//!
//! The user interface of [`anabranch_net`], which does the work: arguments, keys, progress, errors, exit codes. [`cli::Cli`] is all of its
//! input, and [`events::Event`] all of its output.

mod addresses;
mod arguments;
mod cli;
mod doctor;
mod events;
mod failure;
mod fetch;
mod figures;
mod key;
mod key_file;
mod lab;
mod output;
mod pages;
mod receive;
#[cfg(test)]
mod reference;
mod save;
mod send;
mod serve;
mod session;
mod signals;
mod signing;
mod switch;
mod table;
mod text;
mod time;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command};
use events::Event;
use failure::CliError;
use output::Output;

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => refuse(&error),
    };
    let output = Output::new(command.json(), command.timestamps());
    match run(&command, &output) {
        Ok(code) => code,
        Err(CliError { message, hint, code }) => {
            output.tell(&Event::Error { message, hint });
            ExitCode::from(code)
        }
    }
}

/// Says what is wrong with the arguments, or the help that was asked for. Arguments may be names that a shell has put for `*`, and could move or hide
/// text on a terminal: then it is said of the escaped ones.
fn refuse(error: &clap::Error) -> ! {
    let given: Vec<OsString> = std::env::args_os().collect();
    let shown: Vec<String> = given.iter().map(|one| text::printable(&one.to_string_lossy()).into_owned()).collect();
    if !error.use_stderr() || given.iter().zip(&shown).all(|(given, shown)| given == shown.as_str()) {
        error.exit();
    }
    if let Err(error) = Cli::try_parse_from(&shown) {
        error.exit();
    }
    // Escaped, they are right.
    eprintln!("{}", text::printable(&error.render().to_string()));
    std::process::exit(error.exit_code());
}

fn run(command: &Command, output: &Output) -> Result<ExitCode, CliError> {
    match command {
        Command::Key(arguments) => key::run(arguments),
        Command::Send(arguments) => send::run(arguments, output),
        Command::Receive(arguments) => receive::run(arguments, output),
        Command::Serve(arguments) => serve::run(arguments, output),
        Command::Fetch(arguments) => fetch::run(arguments, output),
        Command::Doctor(_) => Ok(doctor::run(output)),
        Command::Switch(arguments) => switch::run(arguments, output),
        Command::Lab(arguments) => lab::run(arguments, output),
        Command::Completions { shell } => pages::completions(*shell),
        Command::Man { directory } => pages::man(directory),
    }
}
